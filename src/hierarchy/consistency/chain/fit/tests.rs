//! Against brute force and the paper's tables.

use super::*;
use crate::hierarchy::consistency::chain::running_totals;
use crate::hierarchy::consistency::pgsr::tests::*;
use crate::work::watched;
use proptest::prelude::*;
use std::iter::once;

/// What [`chain`] minimises. With a total, the last cell of every level is not measured.
fn cost(noisy: &NoisyCounts, counts: &[u64], total: Option<u64>) -> f64 {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let totals = running_totals(tree, counts);
    let ends_a_level =
        |region: usize| (0..tree.depth()).any(|level| tree.level(level).end == region + 1);
    let mut sum = 0.0;
    for region in 0..tree.regions().len() {
        for size in 0..sizes {
            let public = total.is_some() && size + 1 == sizes && ends_a_level(region);
            if !public {
                sum += noisy.target(region, size).cost(totals[noisy.cell(region, size)]);
            }
        }
    }
    sum
}

/// The regions in post-order, each with its level.
fn post_order(tree: &Tree, region: usize, level: usize) -> Vec<(usize, usize)> {
    let children = tree.regions()[region].children.clone();
    let below = children.flat_map(|child| post_order(tree, child, level + 1));
    below.chain(once((region, level))).collect()
}

/// The paper's dynamic program, equations 6a and 6b: the least cost of all cells up to one, for
/// every running total up to `limit` that it can have. A cell equals the one before it where
/// that is of a deeper level, its last child's, and is no less where it is not.
fn cost_by_tables(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
    let regions = post_order(noisy.tree, 0, 0);
    let mut table = vec![0.0; limit as usize + 1];
    let mut previous_level = 0;
    for size in 0..noisy.sizes {
        let last_size = size + 1 == noisy.sizes;
        for (i, &(region, level)) in regions.iter().enumerate() {
            if previous_level <= level {
                let mut least = f64::INFINITY;
                for cost in &mut table {
                    least = least.min(*cost);
                    *cost = least;
                }
            }
            previous_level = level;
            let public = total
                .filter(|_| last_size && regions[i + 1..].iter().all(|(_, later)| *later < level));
            for (x, cost) in (0..).zip(&mut table) {
                match public {
                    Some(total) if x != total => *cost = f64::INFINITY,
                    Some(_) => {}
                    None => *cost += noisy.target(region, size).cost(x),
                }
            }
        }
    }
    table.into_iter().fold(f64::INFINITY, f64::min)
}

/// The least cost over all counts at the leaves that sum to at most `limit`, or to the total.
fn cost_by_brute_force(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let mut least = f64::INFINITY;
    let cells = tree.leaves().len() * sizes;
    for_each_assignment(&mut vec![0; cells], 0, limit, &mut |leaves| {
        if total.is_none_or(|total| leaves.iter().sum::<u64>() == total) {
            let mut counts = vec![0; noisy.values.len()];
            for (i, &groups) in leaves.iter().enumerate() {
                counts[noisy.cell(tree.leaves().start + i / sizes, i % sizes)] = groups;
            }
            for region in (0..tree.leaves().start).rev() {
                for size in 0..sizes {
                    let children = tree.regions()[region].children.clone();
                    counts[noisy.cell(region, size)] =
                        children.map(|child| counts[noisy.cell(child, size)]).sum();
                }
            }
            least = least.min(cost(noisy, &counts, total));
        }
    });
    least
}

/// A limit that no optimum exceeds.
fn limit(noisy: &NoisyCounts, total: Option<u64>) -> u64 {
    total.unwrap_or(noisy.values.iter().copied().fold(0.0, f64::max).ceil() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn the_cost_is_the_least_by_brute_force_and_by_the_papers_tables(
        case in cases(small_values()),
    ) {
        case.for_each_variant(|noisy, total| {
            let counts = chain(noisy, total);
            check_constraints(noisy, &counts, total);
            let (cost, limit) = (cost(noisy, &counts, total), limit(noisy, total));
            let by_tables = cost_by_tables(noisy, total, limit);
            prop_assert!(close(cost, by_tables), "{counts:?} {cost}, by tables {by_tables}");
            if noisy.tree.leaves().len() * noisy.sizes <= 5 {
                let least = cost_by_brute_force(noisy, total, limit);
                prop_assert!(close(cost, least), "{counts:?} costs {cost}, not {least}");
            }
            Ok(())
        })?;
    }

    /// Everything is decided in exact arithmetic; here the cost is an integer.
    #[test]
    fn integers_without_weights_give_the_very_optimum(
        case in cases((-40i8..60).prop_map(f64::from)),
        total in 0u64..60,
    ) {
        Case { total, ..case }.for_each_variant(|noisy, total| {
            if matches!(noisy.weights, Weights::Equal) {
                let counts = chain(noisy, total);
                let by_tables = cost_by_tables(noisy, total, limit(noisy, total));
                prop_assert_eq!(cost(noisy, &counts, total), by_tables);
            }
            Ok(())
        })?;
    }

    #[test]
    fn huge_values_of_any_sign(
        case in cases((0i32..17, -1.0f64..1.0).prop_map(|(e, x)| (x * 10f64.powi(e)).round())),
        total in prop_oneof![0..10u64, 0..1u64 << 62],
    ) {
        Case { total, ..case }.for_each_variant(|noisy, total| {
            check_constraints(noisy, &chain(noisy, total), total);
            Ok(())
        })?;
    }

    /// The running totals of consistent counts lead back to them.
    #[test]
    fn without_noise_the_counts_come_back(case in cases(small_values()), weighted: bool) {
        case.for_each_variant(|noisy, total| {
            let counts = chain(noisy, total);
            let totals = running_totals(noisy.tree, &counts);
            let values: Vec<f64> = totals.into_iter().map(|total| total as f64).collect();
            let weights = if weighted { noisy.weights } else { Weights::Equal };
            let exact = NoisyCounts::new(noisy.tree, noisy.sizes, &values, weights);
            let root = (0..noisy.sizes).map(|size| counts[noisy.cell(0, size)]).sum();
            for total in [None, Some(root)] {
                prop_assert_eq!(&chain(&exact, total), &counts);
            }
            Ok(())
        })?;
    }
}

/// The paper's table 6, size 1: GA 3, NY 3, US 2 become 3, 3, 3.
#[test]
fn the_papers_example() {
    let tree = regular_tree(&[2]);
    let noisy = NoisyCounts::new(&tree, 1, &[2.0, 3.0, 3.0], Weights::Equal); // US, GA, NY
    let counts = chain(&noisy, None);
    assert_eq!(running_totals(&tree, &counts), [3, 3, 3]);
    assert_eq!(cost(&noisy, &counts, None), 1.0);
}

#[test]
fn a_root_without_leaves_holds_nothing() {
    let tree = tree(2, []);
    let noisy = NoisyCounts::new(&tree, 2, &[3.0, 4.0], Weights::Equal);
    assert_eq!(chain(&noisy, None), [0, 0]);
    assert_eq!(chain(&noisy, Some(0)), [0, 0]);
    assert!(chain(&NoisyCounts::new(&tree, 0, &[], Weights::Equal), Some(0)).is_empty());
}

#[test]
fn the_largest_values_and_the_most_different_weights() {
    let tree = regular_tree(&[2, 3]);
    let largest = NoisyCounts::largest(&tree);
    let values: Vec<f64> = (0..18).map(|i| [largest, 1.5, -largest][i % 3]).collect();
    for shift in 0..9 {
        let weights: Vec<f64> =
            (0..18).map(|i| if (i + shift) % 3 == 0 { 1e-100 } else { 1e100 }).collect();
        for weights in [Weights::Equal, Weights::OfCells(&weights)] {
            let noisy = NoisyCounts::new(&tree, 2, &values, weights);
            for total in [None, Some(0), Some(1), Some(LARGEST_SUM)] {
                check_constraints(&noisy, &chain(&noisy, total), total);
            }
        }
    }
}

#[test]
fn fitting_polls_throughout() {
    let tree = regular_tree(&[1000]);
    let values = vec![0.0; 1_001_000];
    let noisy = NoisyCounts::new(&tree, 1000, &values, Weights::Equal);
    let mut calls = 0;
    watched(&mut || calls += 1, || chain(&noisy, None));
    assert!(calls >= 40, "{calls}"); // four passes over a million cells
}
