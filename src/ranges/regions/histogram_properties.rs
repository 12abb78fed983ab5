//! What the histogram of a region by itself promises, and what it is counted from.

use super::plan::RegionPlan;
use super::properties::{
    asked, cases, charged, cost_of, counted, measured, plan, random_tree, tree, uneven_shares,
};
use super::release::RegionRelease;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::ranges::properties::close;
use crate::ranges::{AmountBounds, BinBounds, Bins, DpRanges, RangeRequest, SignedSums, Workload};
use proptest::prelude::*;
use std::ops::Range;

fn bounds(bins: usize) -> BinBounds {
    BinBounds::new(-3, bins as i64 - 3).unwrap()
}

fn released(plan: RegionPlan, cells: usize) -> RegionRelease {
    let counts: Vec<u64> = (0..cells as u64).map(|cell| cell * cell % 101).collect();
    Receipt::uncharged(plan).release(counted(&counts), &mut words_from_system().unwrap())
}

/// As it is and as it is stored: the same sums, and exactly the same variances.
#[test]
fn a_region_by_itself_answers_as_the_release_does() {
    for (name, tree, plan) in cases() {
        let bins = plan.mechanism(tree.levels() - 1).unwrap().bins();
        let release = released(plan, tree.leaves().len() * bins);
        for region in 0..tree.regions() {
            let own = release.of_region(region, bounds(bins));
            let (bytes, text) = (own.to_bytes(), own.to_text());
            let stored = DpRanges::from_bytes(&bytes).unwrap();
            let parsed = DpRanges::parse(&text).unwrap();
            assert_eq!((stored.to_bytes(), parsed.to_text()), (bytes, text));
            for own in [&own, &stored, &parsed] {
                assert_eq!(own.bounds(), bounds(bins));
                let own = own.release();
                for range in Workload::All.ranges(bins) {
                    let variance =
                        release.variance(region, &release.level_variances(range.clone()));
                    assert_eq!(own.sum(range.clone()), release.sum(region, range.clone()));
                    assert_eq!(own.variance(range), Some(variance), "{name}, {region}");
                }
            }
        }
    }
}

/// What is made of variances and covariances, for quantiles and adaptive estimates.
#[test]
fn covariances_of_a_region_are_those_of_its_variances() {
    for (name, tree, plan) in cases() {
        let bins = plan.mechanism(tree.levels() - 1).unwrap().bins();
        let release = released(plan, tree.leaves().len() * bins);
        for region in 0..tree.regions() {
            let own = release.of_region(region, bounds(bins));
            let own = own.release();
            let variance = |range: Range<usize>| own.variance(range).unwrap();
            let of_bins = own.variances_of_bins().unwrap();
            for (bin, of_bin) in of_bins.iter().enumerate() {
                assert!(close(*of_bin, variance(bin..bin + 1)), "{name}, {region}");
            }
            for (bin, split) in own.splits().unwrap().into_iter().enumerate() {
                let (before, after) = (variance(0..bin), variance(bin..bins));
                let covariance = (variance(0..bins) - before - after) / 2.0;
                assert!(close(split.before, before) && close(split.after, after), "{name}");
                assert!(close(split.covariance, covariance), "{name}, {region}");
            }
            let all = own.mechanism().unwrap().covariances(&vec![1.0; bins]).unwrap();
            assert!(close(all.iter().sum(), variance(0..bins)), "{name}, {region}");
            let adaptive = own.adaptive(&vec![1.0; bins]).unwrap();
            for range in Workload::All.ranges(bins) {
                let most = variance(range.clone()) * (1.0 + 1e-9);
                assert!((0.0..=most).contains(&adaptive.variance(range)), "{name}, {region}");
            }
        }
    }
}

/// 3,000 releases, with and without a delta, of levels that differ: no mean of the errors is 7 of its
/// standard deviations off (probability below 1e-11), nor one of their squares: the square of a sum of
/// many noises has a variance of 2 to 5.5, and 6 of its standard deviations are 1e-7 rare, or 1e-9.
#[test]
fn errors_of_stored_answers_are_as_stated() {
    const RELEASES: u32 = 3_000;
    let (bins, tree) = (6, tree(&[&[2], &[3, 1]]));
    let leaves = tree.leaves().len();
    let counts: Vec<u64> = (0..(leaves * bins) as u64).map(|cell| cell * 7 % 23).collect();
    // of the root, of a region between, of the last leaf
    let regions = [(0, 0..leaves), (1, 0..3), (tree.regions() - 1, leaves - 1..leaves)];
    let questions = [0..bins, 1..4, 5..6];
    let truth = |leaves: &Range<usize>, range: &Range<usize>| -> u64 {
        leaves.clone().flat_map(|leaf| counts[leaf * bins..][range.clone()].iter()).sum()
    };
    let mut words = words_from_system().unwrap();
    for (method, delta, spread) in
        [("flat", 0.0, 5.5f64), ("tree_consistent:3", 0.0, 5.5), ("optimal", 1e-6, 2.0)]
    {
        let plan = || plan(asked(bins, 0.7, delta, method), &tree, Some(&uneven_shares(3)));
        let mut moments = vec![(0.0, 0.0); regions.len() * questions.len()];
        for _ in 0..RELEASES {
            let release = Receipt::uncharged(plan()).release(counted(&counts), &mut words);
            let mut moments = moments.iter_mut();
            for (region, leaves) in &regions {
                let own = release.of_region(*region, bounds(bins));
                for range in &questions {
                    let (sum, squares) = moments.next().unwrap();
                    let stddev = own.release().variance(range.clone()).unwrap().sqrt();
                    let off = own.release().sum(range.clone()) - truth(leaves, range) as f64;
                    *sum += off / stddev;
                    *squares += (off / stddev).powi(2);
                }
            }
        }
        let releases = f64::from(RELEASES);
        for (place, (sum, squares)) in moments.into_iter().enumerate() {
            assert!(sum.abs() < 7.0 * releases.sqrt(), "{method}, {place}: {sum}");
            let off = squares / releases - 1.0;
            assert!(off.abs() < 7.0 * (spread / releases).sqrt(), "{method}, {place}: {off}");
        }
    }
}

/// Each row that there can be, added to bins of any bounds and largest amount, in any leaf, costs at
/// most what is charged; and some row costs that.
#[test]
fn no_row_of_bins_counted_elsewhere_costs_more_than_is_charged() {
    let (here, tree) = (BinBounds::new(0, 3).unwrap(), tree(&[&[2], &[2, 1]]));
    let leaves = tree.leaves().len();
    let sums_of = |of_leaves: &[Bins], most: u32| {
        let mut sums = SignedSums::empty(leaves * here.bins(), AmountBounds::COUNTED);
        for (leaf, bins) in of_leaves.iter().enumerate() {
            for (bin, count) in bins.to_filled().counted_in(here, most) {
                sums.add(leaf * here.bins() + bin, count as i64);
            }
        }
        sums
    };
    for most in 1..=3 {
        for (method, delta) in [("flat", 0.0), ("tree_consistent:2", 0.0), ("cascade:2", 1e-6)] {
            let asked = RangeRequest { rows_per_unit: most, ..asked(3, 0.7, delta, method) };
            let plan = plan(asked, &tree, Some(&uneven_shares(3)));
            let mut largest = 0.0f64;
            for (lo, hi) in [(0, 3), (-2, 1), (1, 5), (-4, 9), (7, 9)] {
                let there = BinBounds::new(lo, hi).unwrap();
                for declared in 1..=4 {
                    let full = i64::MAX as u64 - 1;
                    let counts = [2, 0, 7, full, 1];
                    let bins = |leaf: usize| {
                        let mut bins = Bins::of_amounts(there, declared);
                        (lo..hi).for_each(|bin| bins.add(bin, counts[(bin + 9) as usize % 5]));
                        bins.add(lo, leaf as u64);
                        bins
                    };
                    let before: Vec<Bins> = (0..leaves).map(bins).collect();
                    let of_before = measured(&plan, &tree, &sums_of(&before, most));
                    for leaf in 0..leaves {
                        for (bin, amount) in (lo - 1..=hi).flat_map(|bin| [(bin, 1), (bin, 9)]) {
                            let mut after = before.clone();
                            after[leaf].add_row(bin, amount);
                            let of_after = measured(&plan, &tree, &sums_of(&after, most));
                            let cost = cost_of(&plan, &of_before, &of_after);
                            assert!(declared <= most || cost == 0.0, "{declared} of {most}");
                            largest = largest.max(cost);
                        }
                    }
                }
            }
            let ratio = largest / charged(&plan);
            assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{method}, {most}: {ratio}");
        }
    }
}

#[test]
fn what_was_not_combined_of_one_strategy_is_refused() {
    let tree = tree(&[&[2]]);
    let plan = plan(asked(4, 0.7, 0.0, "tree_consistent:2"), &tree, Some(&[0.5, 0.5]));
    let own = released(plan, 8).of_region(1, bounds(4));
    let good: serde_json::Value = serde_json::from_str(&own.to_text()).unwrap();
    assert_eq!(good["parameters"].as_array().map(Vec::len), Some(2));
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = good.clone();
        change(&mut value["parameters"]);
        DpRanges::parse(&value.to_string()).is_err()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|parts| parts[0]["weight"] = (-0.1).into()));
    assert!(refused(&|parts| parts[1]["parameters"]["branching"] = 3.into()));
    assert!(refused(&|parts| parts[1]["parameters"]["bins"] = 5.into()));
    assert!(refused(&|parts| parts[0]["parameters"]["method"] = "Flat".into()));
    assert!(refused(&|parts| *parts = serde_json::json!([])));
    assert!(refused(&|parts| {
        let many = vec![parts[0].clone(); 33];
        *parts = many.into();
    }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of what is stored: children add up to their parent, adjacent ranges to both together.
    #[test]
    fn stored_histograms_add_up_over_regions_and_ranges(
        tree in random_tree(),
        bins in 1usize..12,
        (method, delta) in prop::sample::select(vec![
            ("auto", 0.0), ("flat", 0.0), ("tree_consistent:3:geometric", 0.0), ("wavelet", 0.0),
            ("gaussian", 1e-6), ("optimal", 1e-6), ("prefix", 1e-6), ("auto", 1e-6),
        ]),
    ) {
        let plan = plan(asked(bins, 0.5, delta, method), &tree, None);
        let release = released(plan, tree.leaves().len() * bins);
        let stored = |region| {
            let own = release.of_region(region, bounds(bins));
            DpRanges::from_bytes(&own.to_bytes()).unwrap()
        };
        let all: Vec<DpRanges> = (0..tree.regions()).map(stored).collect();
        let sum = |region: usize, range: &Range<usize>| all[region].release().sum(range.clone());
        for range in Workload::All.ranges(bins) {
            for (_, region) in tree.parents() {
                let below: f64 = tree.children(region).map(|child| sum(child, &range)).sum();
                prop_assert!(close(sum(region, &range), below));
            }
            let middle = (range.start + range.end) / 2;
            for region in 0..tree.regions() {
                let parts = sum(region, &(range.start..middle)) + sum(region, &(middle..range.end));
                prop_assert!(close(sum(region, &range), parts));
            }
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_answer(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in 0usize..3,
        (method, delta) in prop::sample::select(vec![("tree_consistent:3", 0.0), ("optimal", 1e-6)]),
    ) {
        let plan = plan(asked(9, 0.5, delta, method), &tree(&[&[2]]), Some(&[0.4, 0.6]));
        let mut stored = released(plan, 18).of_region(0, bounds(9)).to_bytes();
        let at = at.index(stored.len());
        stored[at] = byte;
        stored.truncate(stored.len() - cut);
        if let Ok(value) = DpRanges::from_bytes(&stored) {
            let bins = value.bounds().bins();
            let variance = value.release().variance(0..bins).unwrap_or(0.0);
            prop_assert!(variance >= 0.0);
        }
    }
}
