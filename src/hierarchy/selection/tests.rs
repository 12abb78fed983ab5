use super::*;
use crate::coco::{Run, of_sizes};
use crate::hierarchy::distance::tests::multisets;
use crate::noise::words_from_system;
use crate::privacy::rho_of_pure;

fn mechanism(
    epsilon: f64,
    estimators: &[&str],
    rows_per_unit: u32,
) -> Result<Mechanism, PlanError> {
    let request = ReleaseRequest::new(2, epsilon).by(estimators, "matching").up_to(10);
    Mechanism::new(&ReleaseRequest { rows_per_unit, ..request })
}

fn selection(epsilon: f64, estimators: &str, rows: u32) -> Selection {
    match mechanism(epsilon, &[estimators], rows).unwrap() {
        Mechanism::Selection(selection) => selection,
        Mechanism::Plan(plan) => panic!("{plan:?}"),
    }
}

fn tree(leaves: [&[u64]; 2]) -> (Tree, Vec<Coco>) {
    let leaf = |(name, sizes): (&str, &[u64])| (vec![name.to_string()], of_sizes(sizes));
    Tree::from_leaves(1, ["a", "b"].into_iter().zip(leaves).map(leaf).collect()).unwrap()
}

/// All neighbours of all small trees, and whatever was released of them: the total error moves by
/// the number of levels at most, and does so.
#[test]
fn an_entity_changes_the_total_error_by_at_most_the_levels() {
    let mut largest = 0;
    let small = multisets(2);
    for (a, b) in small.iter().flat_map(|a| small.iter().map(move |b| (a, b))) {
        let (own, leaves) = tree([a, b]);
        let truth = own.sums(leaves);
        let mut neighbours = Vec::new();
        for group in 0..a.len() + b.len() {
            let (mut a, mut b) = (a.clone(), b.clone());
            match group.checked_sub(a.len()) {
                None => a[group] += 1,
                Some(group) => b[group] += 1,
            }
            neighbours.push(own.sums(tree([&a, &b]).1));
        }
        for root in multisets(3) {
            for (left, right) in small.iter().flat_map(|l| small.iter().map(move |r| (l, r))) {
                let released = [&root, left, right].map(|sizes| DpCoco::new(of_sizes(sizes)));
                let here = total_error(&own, &released, &truth);
                for neighbour in &neighbours {
                    let there = total_error(&own, &released, neighbour);
                    largest = largest.max(here.abs_diff(there));
                }
            }
        }
    }
    assert_eq!(largest, 2);
}

#[test]
fn all_parts_stay_within_epsilon_and_are_charged() {
    let Selection { candidates, noise, .. } = selection(1.0, "select:cut|Hc/Hg|H", 3);
    let epsilon_of_errors = noise.epsilon();
    let of_candidates: f64 = candidates.iter().map(|plan| plan.epsilon().value()).sum();
    let all = of_candidates + epsilon_of_errors;
    assert!(all <= 1.0 && all > 1.0 - 1e-14, "{all}");
    // three errors, two levels, three rows
    assert_eq!(noise.sensitivity(), 18);
    let mechanism = mechanism(1.0, &["select:cut|Hc/Hg|H"], 3).unwrap();
    assert_eq!(mechanism.epsilon().value(), 1.0);
    let description = mechanism.describe();
    assert_eq!(description["errors"]["sensitivity"], 18);
    assert_eq!(description["selection"][1]["levels"][1]["estimator"], "Hg");
    let parts: f64 = candidates.iter().map(|plan| plan.loss().rho()).sum();
    let rho = mechanism.loss().rho() - parts;
    let expected = 3.0 * rho_of_pure(epsilon_of_errors / 3.0);
    assert!((expected..expected * (1.0 + 1e-9)).contains(&rho), "{rho} {expected}");
}

#[test]
fn without_a_choice_a_mechanism_is_its_plan() {
    let request = ReleaseRequest::new(2, 1.0).by(&["Hc"], "matching").up_to(10);
    let plan = ReleasePlan::new(&request).unwrap();
    assert_eq!(mechanism(1.0, &["Hc"], 1).unwrap().cost(), plan.cost());
}

#[test]
fn choices_that_are_none() {
    let many = format!("select:{}Hc", "Hc|".repeat(MAX_CANDIDATES));
    for words in [&["select:Hc"][..], &["select:"], &["select:cut|Hc", "Hc"], &[&many]] {
        let error = mechanism(1.0, words, 1).unwrap_err();
        assert!(matches!(error, PlanError::Selection { .. }), "{error}");
    }
    let error = mechanism(1.0, &["select:cut|Hx"], 1).unwrap_err();
    assert_eq!(error, PlanError::Estimator { name: "Hx".into() });
    let error = mechanism(1.0, &["select:cut|select:Hc"], 1).unwrap_err();
    assert!(matches!(error, PlanError::Estimator { .. }));
    let error = mechanism(f64::NAN, &["select:cut|Hc"], 1).unwrap_err();
    assert!(matches!(error, PlanError::Epsilon { .. }));
    // the errors' noise has the largest scale: 1.6e9 where that of a level is below 1e8
    let error = mechanism(5e-8, &["select:cut|Hc"], 1).unwrap_err();
    assert!(matches!(error, PlanError::Scale { .. }), "{error}");
}

#[test]
fn leaves_that_are_not_the_trees_are_refused() {
    let (tree, _) = tree([&[1], &[2]]);
    let mechanism = mechanism(1.0, &["select:cut|Hc"], 1).unwrap();
    let mut words = words_from_system().unwrap();
    let error = Receipt::uncharged(mechanism).release(
        &tree,
        vec![],
        &mut words,
        NonZeroUsize::MIN,
        &mut (),
    );
    assert_eq!(error, Err(ReleaseError::Leaves { got: 0, leaves: 2 }));
}

/// Of two sizes Hc finds nearly all groups; H takes some twenty for groups of any of 2000 sizes,
/// which makes hundreds of times the scale of the errors' noise. That is 40, and the noise of an
/// error exceeds 740 with a probability below 1e-8.
#[test]
fn the_better_candidate_is_published() {
    let sizes = |size, groups| [Run { size, groups }].into_iter().collect::<Coco>();
    let leaves = vec![(vec!["a".into()], sizes(3, 5000)), (vec!["b".into()], sizes(1500, 5000))];
    let (tree, leaves) = Tree::from_leaves(1, leaves).unwrap();
    let request = ReleaseRequest::new(2, 3.0).by(&["select:H|Hc|H"], "matching").up_to(2000);
    let receipt = Receipt::uncharged(Mechanism::new(&request).unwrap());
    let mut words = words_from_system().unwrap();
    let truth = tree.sums(leaves.clone());
    let released = receipt.release(&tree, leaves, &mut words, NonZeroUsize::MIN, &mut ()).unwrap();
    let names: Vec<&str> = released.errors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["H", "Hc", "H"]);
    let error = total_error(&tree, &released.histograms, &truth);
    assert!((error - released.errors[1].1).abs() < 740, "{error} {:?}", released.errors);
    assert!(released.errors[1].1 < released.errors[0].1.min(released.errors[2].1));
}
