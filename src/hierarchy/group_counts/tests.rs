use super::*;
use crate::coco::of_sizes;
use crate::hierarchy::distance::tests::multisets;
use crate::hierarchy::plan::{PlanError, ReleasePlan, ReleaseRequest};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A tree of two levels below the root, of leaves with so many groups each.
fn tree(leaves: &[u64]) -> (Tree, Vec<Coco>) {
    let path = |leaf: usize| vec![(leaf % 3).to_string(), leaf.to_string()];
    let leaf = |(place, groups): (usize, &u64)| (path(place), Coco::default().with_groups(*groups));
    let (tree, leaves) =
        Tree::from_leaves(2, leaves.iter().enumerate().map(leaf).collect()).unwrap();
    let truth = tree.sums(leaves);
    (tree, truth)
}

fn released(tree: &Tree, truth: &[Coco], epsilon: f64, seed: u64) -> Vec<u64> {
    let words = &mut ChaCha20Rng::seed_from_u64(seed);
    let counts = GroupCounts::new(tree.depth(), 1, epsilon).unwrap();
    counts.release(tree, truth.iter().map(Coco::groups), words)
}

proptest! {
    #[test]
    fn released_numbers_add_up(
        leaves in prop::collection::vec(0u64..50, 0..12),
        epsilon in prop::sample::select(vec![1e-4, 0.05, 1.0]),
        seed: u64,
    ) {
        let (tree, truth) = tree(&leaves);
        let numbers = released(&tree, &truth, epsilon, seed);
        prop_assert_eq!(numbers.len(), truth.len());
        for region in 0..tree.leaves().start {
            let children = tree.regions()[region].children.clone();
            prop_assert_eq!(numbers[children].iter().sum::<u64>(), numbers[region]);
        }
    }

    /// With noise that is always 0.
    #[test]
    fn a_huge_epsilon_gives_the_true_numbers(leaves in prop::collection::vec(0u64..50, 0..12)) {
        let (tree, truth) = tree(&leaves);
        let numbers = released(&tree, &truth, 1e6, 1);
        prop_assert_eq!(numbers, truth.iter().map(Coco::groups).collect::<Vec<_>>());
    }
}

/// All small histograms, all neighbours of theirs, and all numbers of groups that may be released.
#[test]
fn completed_histograms_of_neighbours_are_an_entity_apart() {
    let mut farthest = 0;
    for sizes in multisets(3) {
        let mut neighbours = vec![[&[0], &sizes[..]].concat(), [&sizes[..], &[1]].concat()];
        for group in 0..sizes.len() {
            let mut more = sizes.clone();
            more[group] += 1;
            neighbours.push(more);
        }
        for neighbour in neighbours {
            for groups in 0..=5 {
                let completed =
                    [&sizes, &neighbour].map(|sizes| of_sizes(sizes).with_groups(groups));
                let listed = completed.each_ref().map(|histogram| {
                    assert_eq!(histogram.groups(), groups);
                    let runs = histogram.runs().iter();
                    runs.flat_map(|run| vec![run.size; run.groups as usize]).collect::<Vec<_>>()
                });
                let [one, other] = &listed;
                let apart: u64 = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).sum();
                assert!(apart <= 1, "{sizes:?} {neighbour:?} {groups}: {listed:?}");
                farthest = farthest.max(apart);
            }
        }
    }
    assert_eq!(farthest, 1);
}

/// What the levels above are measured for: leaves without groups, each at 0 at least, add up to too
/// many.
#[test]
fn empty_leaves_do_not_add_up_to_many_groups() {
    let (tree, truth) = tree(&[0; 600]);
    let root = |seed| released(&tree, &truth, 0.1, seed)[0];
    let mean = (0..20).map(root).sum::<u64>() / 20;
    // the sum of the leaves alone: half a scale of each
    let alone = (600.0 * 0.5 / 0.1) as u64;
    assert!(mean * 10 < alone, "{mean} of {alone}");
}

#[test]
fn what_has_no_meaning_with_private_groups_is_refused() {
    let private = ReleaseRequest { groups_per_unit: Some(1), ..ReleaseRequest::new(2, 1.0) };
    assert!(ReleasePlan::new(&private).is_ok());
    let kept = ReleaseRequest { keep_measurements: true, ..private.clone() };
    assert!(matches!(ReleasePlan::new(&kept), Err(PlanError::PrivateGroups { .. })));
    let faint = ReleaseRequest { epsilon: 1e-4, ..private.clone() };
    assert!(matches!(ReleasePlan::new(&faint), Err(PlanError::GroupsLost { .. })));
    let choice = private.by(&["select:Hc|Hg"], "matching");
    let refused = crate::hierarchy::Mechanism::new(&choice);
    assert!(matches!(refused, Err(PlanError::PrivateGroups { .. })));
}
