//! What holds for every hierarchy, estimator and consistency method.

use super::*;
use crate::charge::Receipt;
use crate::coco::{Coco, Estimator, Run, emd};
use crate::noise::words_from_system;
use proptest::prelude::*;
use std::num::NonZeroUsize;

const ESTIMATORS: [&str; 6] = ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:3"];
const MAX_SIZE: i64 = 12;

/// Leaf paths of one depth with histograms; some leaves have no groups, some groups no entities.
fn hierarchies(
    depths: std::ops::Range<usize>,
) -> impl Strategy<Value = (usize, Vec<(Vec<String>, Coco)>)> {
    depths.prop_flat_map(|depth| {
        let path = prop::collection::vec((0..3u8).prop_map(|name| name.to_string()), depth);
        let runs = prop::collection::vec((0..20u64, 1..6u64), 0..5);
        prop::collection::btree_map(path, runs, if depth == 0 { 1..2 } else { 0..12 }).prop_map(
            move |leaves| {
                let histogram = |runs: Vec<(u64, u64)>| {
                    runs.into_iter().map(|(size, groups)| Run { size, groups }).collect::<Coco>()
                };
                (depth, leaves.into_iter().map(|(path, runs)| (path, histogram(runs))).collect())
            },
        )
    })
}

/// Every estimator with every consistency method that takes it, of those asked for.
fn combinations(
    methods: fn(Consistency) -> bool,
) -> impl Strategy<Value = (&'static str, &'static str)> {
    let all = ESTIMATORS.iter().flat_map(|estimator| {
        let parsed = Estimator::parse(estimator).unwrap();
        let takes = move |c: &Consistency| methods(*c) && c.takes(parsed);
        Consistency::ALL.into_iter().filter(takes).map(|method| (*estimator, method.name()))
    });
    prop::sample::select(all.collect::<Vec<_>>())
}

fn run(
    depth: usize,
    leaves: Vec<(Vec<String>, Coco)>,
    epsilon: f64,
    estimators: &[&str],
    consistency: &str,
) -> (Tree, Vec<Coco>, Vec<Coco>) {
    let (tree, leaves) = Tree::from_leaves(depth, leaves).unwrap();
    let request =
        ReleaseRequest::new(depth + 1, epsilon).by(estimators, consistency).up_to(MAX_SIZE);
    let receipt = Receipt::uncharged(Mechanism::new(&request).unwrap());
    let truth = tree.sums(leaves.clone());
    let mut words = words_from_system().unwrap();
    let threads = NonZeroUsize::MIN;
    let released = receipt.release(&tree, leaves, &mut words, threads, &mut ()).unwrap();
    (tree, truth, released.histograms.into_iter().map(|h| h.histogram().clone()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Non-negative integers are the type's promise; the rest is checked: public totals, sizes up
    /// to max_size, children that sum to parents.
    #[test]
    fn consistent_releases_keep_totals_and_add_up(
        (depth, leaves) in hierarchies(0..5),
        epsilon in prop::sample::select(vec![0.05, 0.5, 5.0]),
        picks in prop_oneof![
            prop::collection::vec(0..ESTIMATORS.len(), 5),
            (0..ESTIMATORS.len()).prop_map(|one| vec![one; 5]),
        ],
        method in prop::sample::select(
            vec!["matching", "matching_unweighted", "bottom_up", "cumulative"]),
    ) {
        let takes = |pick: &usize| {
            let estimator = Estimator::parse(ESTIMATORS[*pick]).unwrap();
            Consistency::parse(method).unwrap().takes(estimator)
        };
        let picks: Vec<usize> = picks.into_iter().map(|pick| if takes(&pick) { pick } else { 1 }).collect();
        let estimators: Vec<&str> = (0..=depth).map(|level| ESTIMATORS[picks[level]]).collect();
        let (tree, truth, released) = run(depth, leaves, epsilon, &estimators, method);
        prop_assert_eq!(released.len(), truth.len());
        for (region, histogram) in released.iter().enumerate() {
            prop_assert_eq!(histogram.groups(), truth[region].groups());
            prop_assert!(histogram.runs().iter().all(|run| run.size <= MAX_SIZE as u64));
            let children = tree.regions()[region].children.clone();
            if !tree.leaves().contains(&region) {
                let sum: Coco =
                    released[children].iter().flat_map(|child| child.runs().to_vec()).collect();
                prop_assert_eq!(&sum, histogram);
            }
        }
    }

    /// Most dense methods know one public total, the root's.
    #[test]
    fn dense_methods_add_up_to_the_roots_total(
        (depth, leaves) in hierarchies(0..5),
        epsilon in prop::sample::select(vec![0.05, 0.5, 5.0]),
        (estimator, method) in combinations(Consistency::is_dense),
    ) {
        let (tree, truth, released) = run(depth, leaves, epsilon, &[estimator], method);
        prop_assert_eq!(released.len(), truth.len());
        prop_assert_eq!(released[0].groups(), truth[0].groups());
        for histogram in &released {
            prop_assert!(histogram.runs().iter().all(|run| run.size <= MAX_SIZE as u64));
        }
        for (region, histogram) in released.iter().enumerate().take(tree.leaves().start) {
            let children = tree.regions()[region].children.clone();
            let sum: Coco =
                released[children].iter().flat_map(|child| child.runs().to_vec()).collect();
            prop_assert_eq!(&sum, histogram);
        }
    }

    /// With noise that is always 0 (probability of anything else below 1e-7000) every method gives
    /// the truth, sizes capped.
    #[test]
    fn a_huge_epsilon_gives_the_truth(
        (depth, leaves) in hierarchies(0..5),
        (estimator, method) in combinations(|_| true),
    ) {
        let (_, truth, released) = run(depth, leaves, 1e6, &[estimator], method);
        for (exact, histogram) in truth.iter().zip(released) {
            let capped: Coco = exact
                .runs()
                .iter()
                .map(|run| Run { size: run.size.min(MAX_SIZE as u64), ..*run })
                .collect();
            prop_assert_eq!(histogram, capped);
        }
    }
}

#[test]
fn ten_levels_work() {
    let path: Vec<String> = (1..MAX_LEVELS).map(|level| level.to_string()).collect();
    let mut other = path.clone();
    other[8] = "other".into();
    let histogram = |size| -> Coco { [Run { size, groups: 9 }].into_iter().collect() };
    let leaves = vec![(path, histogram(3)), (other, histogram(5))];
    let (tree, truth, released) = run(MAX_LEVELS - 1, leaves, 10.0, &["Hc"], "matching");
    assert_eq!(tree.depth(), MAX_LEVELS);
    assert!(truth.iter().zip(&released).all(|(t, r)| t.groups() == r.groups()));
}

/// Matching uses what all levels measured: with the same epsilon per level it must beat the leaf
/// estimates alone (consistency "none") at the leaves, which is the point of the paper.
#[test]
fn matching_improves_the_leaves() {
    let leaf = |i: u64| -> (Vec<String>, Coco) {
        let sizes = (1..=8u64).map(|size| Run { size, groups: 4000 >> size });
        let tail = (0..5).map(|k| Run { size: 9 + (k * (i + 3)) % 4, groups: 1 });
        (vec![i.to_string()], sizes.chain(tail).collect())
    };
    let leaves: Vec<_> = (0..20).map(leaf).collect();
    let mean_leaf_emd = |method: &str| -> f64 {
        let total: u64 = (0..20)
            .flat_map(|_| {
                let (tree, truth, released) = run(1, leaves.clone(), 0.2, &["Hc"], method);
                let at_leaves = tree.leaves();
                at_leaves.map(move |leaf| emd(&truth[leaf], &released[leaf]).unwrap())
            })
            .sum();
        total as f64 / 400.0
    };
    let (own, matched) = (mean_leaf_emd("none"), mean_leaf_emd("matching"));
    assert!(matched < own, "matched {matched}, own estimates {own}");
}
