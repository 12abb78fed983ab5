//! The made-up census is what it says, and releases of it are consistent.

#[path = "../reports/census/population.rs"]
mod population;

use pg_dp::charge::Receipt;
use pg_dp::coco::Coco;
use pg_dp::hierarchy::{Mechanism, ReleaseRequest, Tree};
use pg_dp::noise::words_from_system;
use population::Census;
use std::num::NonZeroUsize;

fn tree(census: &Census) -> (Tree, Vec<Coco>) {
    Tree::from_leaves(census.levels - 1, census.leaves()).unwrap()
}

fn small() -> Census {
    Census { states: 4, counties: 5, groups: 20_000, max_size: 30, ..Census::default() }
}

#[test]
fn the_nation_has_its_regions_groups_and_shares() {
    let (tree, leaves) = tree(&Census::default());
    let levels: Vec<usize> = (0..3).map(|level| tree.level(level).len()).collect();
    assert_eq!(levels, [1, 52, 3144]);

    let nation = &tree.sums(leaves)[0];
    assert_eq!(nation.groups(), 117_630_445);
    assert!(nation.runs().iter().all(|run| (1..=1000).contains(&run.size)));
    let share = |from: u64, to: u64| {
        let runs = nation.runs().iter().filter(|run| (from..=to).contains(&run.size));
        runs.map(|run| run.groups).sum::<u64>() as f64 / nation.groups() as f64
    };
    // published in percent: 26.7, 32.8, 16.1, 13.4, 6.5, 2.6, 1.9
    let published = [0.267, 0.328, 0.161, 0.134, 0.065, 0.026];
    for (size, published) in (1..).zip(published) {
        assert!((share(size, size) / published - 1.0).abs() < 0.05, "size {size}");
    }
    assert!((share(7, 1000) / 0.021 - 1.0).abs() < 0.1);
    // group quarters, far beyond any household
    assert!(share(100, 1000) > 1e-4 && share(500, 1000) > 1e-5);
}

#[test]
fn a_seed_makes_one_census() {
    let leaves = small().leaves();
    assert_eq!(leaves, small().leaves());
    assert_ne!(leaves, Census { seed: 1, ..small() }.leaves());
}

#[test]
fn two_levels_are_three_summed_up() {
    let (three, counties) = tree(&small());
    let (two, states) = tree(&Census { levels: 2, ..small() });
    assert_eq!((three.depth(), three.leaves().len()), (3, 20));
    assert_eq!((two.depth(), two.leaves().len()), (2, 4));
    assert_eq!(three.sums(counties)[three.level(1)], states);
}

/// The combinations of `estimators` and `consistency` that release something consistent.
const METHODS: [(&str, &str); 9] = [
    ("cut", "matching"),
    ("Hc", "matching"),
    ("Hg", "matching_unweighted"),
    ("Hc", "bottom_up"),
    ("H", "pgsr"),
    ("Hc_l2", "pgsr"),
    ("Hc_l2", "cumulative"),
    ("Hc_l2", "chain"),
    ("H", "topdown"),
];

#[test]
fn releases_of_small_ones_add_up() {
    let (words, threads) = (&mut words_from_system().unwrap(), NonZeroUsize::MIN);
    for levels in [2, 3] {
        let census = Census { levels, ..small() };
        let (tree, leaves) = tree(&census);
        for (estimator, consistency) in METHODS {
            for epsilon in [0.1, 1.0] {
                let request = ReleaseRequest::new(levels, epsilon)
                    .by(&[estimator], consistency)
                    .up_to(census.max_size as i64);
                let receipt = Receipt::uncharged(Mechanism::new(&request).unwrap());
                let released =
                    receipt.release(&tree, leaves.clone(), words, threads, &mut ()).unwrap();
                let released: Vec<Coco> =
                    released.histograms.iter().map(|region| region.histogram().clone()).collect();
                assert_eq!(released[0].groups(), census.groups, "{estimator}, {consistency}");
                let sums = tree.sums(released[tree.leaves()].to_vec());
                assert_eq!(released, sums, "{estimator}, {consistency}");
            }
        }
    }
}
