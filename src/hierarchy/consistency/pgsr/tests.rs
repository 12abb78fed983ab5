//! Against brute force, the paper's tables and exchanges of single units; and what the tests of
//! other dense methods share.

use super::allocation::*;
use super::relaxation::*;
use super::*;
use crate::hierarchy::consistency::noisy_counts::{LARGEST_SUM, NoisyTarget, Weights};
use crate::hierarchy::tree::Tree;
use crate::path::Path;
use crate::work::watched;
use proptest::prelude::*;
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;

pub(in crate::hierarchy) fn tree(depth: usize, leaves: impl IntoIterator<Item = Vec<u16>>) -> Tree {
    let named = |path: Vec<u16>| path.iter().map(|name| format!("{name:05}")).collect::<Path>();
    let leaves = leaves.into_iter().map(|path| (named(path), ())).collect();
    Tree::from_leaves(depth, leaves).unwrap().0
}

/// A root with so many children, each with so many, and so on.
pub(in crate::hierarchy) fn regular_tree(fan_outs: &[u16]) -> Tree {
    let mut paths = vec![vec![]];
    for &fan_out in fan_outs {
        let longer = |path: &Vec<u16>, name| path.iter().copied().chain([name]).collect();
        paths = paths.iter().flat_map(|p| (0..fan_out).map(move |name| longer(p, name))).collect();
    }
    tree(fan_outs.len(), paths)
}

pub(in crate::hierarchy) fn check_constraints(
    noisy: &NoisyCounts,
    counts: &[u64],
    total: Option<u64>,
) {
    assert_eq!(counts.len(), noisy.values.len());
    let count = |region: usize, size: usize| counts[noisy.cell(region, size)];
    for (region, parent) in noisy.tree.regions().iter().enumerate() {
        if !noisy.tree.leaves().contains(&region) {
            for size in 0..noisy.sizes {
                let children = parent.children.clone();
                let sum: u64 = children.map(|child| count(child, size)).sum();
                assert_eq!(count(region, size), sum);
            }
        }
    }
    if let Some(total) = total {
        assert_eq!((0..noisy.sizes).map(|size| count(0, size)).sum::<u64>(), total);
    }
}

/// By how much the best exchange of a single unit changes the cost, relative to the largest
/// term that occurs in it or 1: at least 0 for an optimum.
fn best_exchange(noisy: &NoisyCounts, counts: &[u64], total: Option<u64>) -> f64 {
    let tree = noisy.tree;
    let mut best = f64::INFINITY;
    let mut roots = vec![];
    let mut largest = 1.0f64;
    let least = |moves: &[Moves]| {
        moves.iter().fold(Moves { up: f64::INFINITY, down: f64::INFINITY }, |a, b| a.or(*b))
    };
    for size in 0..noisy.sizes {
        let mut moves = vec![Moves { up: 0.0, down: 0.0 }; tree.regions().len()];
        for region in (0..moves.len()).rev() {
            let (x, target) = (counts[noisy.cell(region, size)], noisy.target(region, size));
            let below = if tree.leaves().contains(&region) {
                Moves { up: 0.0, down: if x == 0 { f64::INFINITY } else { 0.0 } }
            } else {
                let below = least(&moves[tree.regions()[region].children.clone()]);
                best = best.min(below.up + below.down);
                below
            };
            let own = target.moves(x);
            largest = largest.max(own.up.abs());
            moves[region] = own.plus(below);
        }
        roots.push(moves[0]);
    }
    let root = least(&roots);
    best.min(if total.is_some() { root.up + root.down } else { root.up.min(root.down) }) / largest
}

/// Every assignment of counts to the leaves whose sum is at most `limit`.
pub(in crate::hierarchy) fn for_each_assignment(
    leaves: &mut [u64],
    from: usize,
    limit: u64,
    f: &mut dyn FnMut(&[u64]),
) {
    if from == leaves.len() {
        return f(leaves);
    }
    for x in 0..=limit {
        leaves[from] = x;
        for_each_assignment(leaves, from + 1, limit - x, f);
    }
}

/// The least cost of one size for each root count up to `limit`, over all assignments.
fn costs_by_brute_force(noisy: &NoisyCounts, size: usize, limit: u64) -> Vec<f64> {
    let tree = noisy.tree;
    let mut least = vec![f64::INFINITY; limit as usize + 1];
    let mut x = vec![0; tree.regions().len()];
    for_each_assignment(&mut vec![0; tree.leaves().len()], 0, limit, &mut |leaves| {
        x[tree.leaves()].copy_from_slice(leaves);
        for region in (0..tree.leaves().start).rev() {
            x[region] = tree.regions()[region].children.clone().map(|child| x[child]).sum();
        }
        let cost = (0..x.len()).map(|region| noisy.target(region, size).cost(x[region])).sum();
        let least = &mut least[x[0] as usize];
        *least = least.min(cost);
    });
    least
}

/// The least sum over all ways to split the total among the sizes, or over all totals.
fn split_by_brute_force(costs: &[Vec<f64>], total: Option<u64>) -> f64 {
    let Some((first, rest)) = costs.split_first() else {
        return if total.unwrap_or(0) == 0 { 0.0 } else { f64::INFINITY };
    };
    match total {
        None => {
            first.iter().copied().fold(f64::INFINITY, f64::min) + split_by_brute_force(rest, None)
        }
        Some(total) => (0..=total)
            .map(|x| first[x as usize] + split_by_brute_force(rest, Some(total - x)))
            .fold(f64::INFINITY, f64::min),
    }
}

/// The paper's algorithm 1 without the region's own cost: the children's tables joined, for
/// counts up to `limit`, from where each has its minimum, along their slopes in order.
fn merged_tables(children: &[Vec<f64>], limit: usize) -> Vec<f64> {
    let mut merged = vec![f64::INFINITY; limit + 1];
    let minimum =
        |table: &Vec<f64>| (0..table.len()).min_by(|&a, &b| table[a].total_cmp(&table[b])).unwrap();
    let start: Vec<usize> = children.iter().map(minimum).collect();
    for upwards in [true, false] {
        let mut steps = vec![];
        for (child, table) in children.iter().enumerate() {
            if upwards {
                let from = start[child] + 1..table.len();
                steps.extend(from.map(|v| (table[v] - table[v - 1], child)));
            } else {
                steps.extend((0..start[child]).rev().map(|v| (table[v] - table[v + 1], child)));
            }
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut at = start.clone();
        let mut enter = |at: &[usize]| {
            if let Some(entry) = merged.get_mut(at.iter().sum::<usize>()) {
                *entry = children.iter().zip(at).map(|(table, &v)| table[v]).sum();
            }
        };
        enter(&at);
        for (_, child) in steps {
            if upwards {
                at[child] += 1
            } else {
                at[child] -= 1
            }
            enter(&at);
        }
    }
    merged
}

/// The paper's dynamic program: a cost table per region and size; the sizes are the children of
/// a region without a cost of its own.
fn cost_by_tables(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
    let tree = noisy.tree;
    let mut roots = vec![];
    for size in 0..noisy.sizes {
        let mut tables = vec![vec![]; tree.regions().len()];
        for region in (0..tables.len()).rev() {
            let mut table = if tree.leaves().contains(&region) {
                vec![0.0; limit as usize + 1]
            } else {
                let children = tree.regions()[region].children.clone();
                merged_tables(&tables[children], limit as usize)
            };
            for (x, cost) in table.iter_mut().enumerate() {
                *cost += noisy.target(region, size).cost(x as u64);
            }
            tables[region] = table;
        }
        roots.push(tables.swap_remove(0));
    }
    let all = merged_tables(&roots, limit as usize * noisy.sizes);
    match total {
        Some(total) => all[total as usize],
        None => all.into_iter().fold(f64::INFINITY, f64::min),
    }
}

#[derive(Debug, Clone)]
pub(in crate::hierarchy) struct Case {
    pub(in crate::hierarchy) depth: usize,
    pub(in crate::hierarchy) leaves: BTreeSet<Vec<u16>>,
    pub(in crate::hierarchy) sizes: usize,
    pub(in crate::hierarchy) values: Vec<f64>,
    pub(in crate::hierarchy) weights: Vec<f64>,
    pub(in crate::hierarchy) total: u64,
}

/// More values and weights than any of the small trees has cells.
const CELLS: usize = 4 * 16;

/// Trees of 1 to 4 levels with 1 to 5 leaves, 1 to 4 sizes.
pub(in crate::hierarchy) fn cases(
    value: impl Strategy<Value = f64> + 'static,
) -> impl Strategy<Value = Case> {
    let weight = prop_oneof![
        Just(1.0),
        (1u8..5).prop_map(f64::from),
        0.01f64..10.0,
        (-6i32..=6).prop_map(|exponent| 10f64.powi(exponent)),
    ];
    let values = prop::collection::vec(value, CELLS);
    let weights = prop::collection::vec(weight, CELLS);
    let leaves = (0usize..4).prop_flat_map(|depth| {
        let path = prop::collection::vec(0u16..3, depth);
        let leaves = prop::collection::btree_set(path, if depth == 0 { 1..2 } else { 1..6 });
        (Just(depth), leaves)
    });
    (leaves, 1usize..5, values, weights, 0u64..10).prop_map(
        |((depth, leaves), sizes, values, weights, total)| Case {
            depth,
            leaves,
            sizes,
            values,
            weights,
            total,
        },
    )
}

/// Integers, halves (every tie there is) and arbitrary fractions, also below zero.
pub(in crate::hierarchy) fn small_values() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3i8..5).prop_map(f64::from),
        (-6i8..9).prop_map(|twice| f64::from(twice) / 2.0),
        -3.0f64..4.5,
    ]
}

pub(in crate::hierarchy) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

impl Case {
    /// With equal weights, those of regions and those of cells, with and without a total.
    pub(in crate::hierarchy) fn for_each_variant(
        &self,
        mut f: impl FnMut(&NoisyCounts, Option<u64>) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let tree = tree(self.depth, self.leaves.clone());
        let cells = tree.regions().len() * self.sizes;
        for weights in [
            Weights::Equal,
            Weights::OfRegions(&self.weights[..tree.regions().len()]),
            Weights::OfCells(&self.weights[..cells]),
        ] {
            let noisy = NoisyCounts::new(&tree, self.sizes, &self.values[..cells], weights);
            for total in [None, Some(self.total)] {
                f(&noisy, total)?;
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn the_cost_is_the_least_by_brute_force_and_by_the_papers_tables(
        case in cases(small_values()),
    ) {
        case.for_each_variant(|noisy, total| {
            let counts = pgsr(noisy, total);
            check_constraints(noisy, &counts, total);
            let cost = noisy.cost(&counts);
            // no leaf of an optimum is above every noisy value on its path, rounded up
            let largest = noisy.values.iter().copied().fold(0.0, f64::max).ceil() as u64;
            let limit = total.unwrap_or(largest * noisy.tree.leaves().len() as u64);
            let costs: Vec<Vec<f64>> =
                (0..noisy.sizes).map(|size| costs_by_brute_force(noisy, size, limit)).collect();
            let least = split_by_brute_force(&costs, total);
            prop_assert!(close(cost, least), "{counts:?} costs {cost}, not {least}");
            let by_tables = cost_by_tables(noisy, total, limit);
            prop_assert!(close(cost, by_tables), "{cost}, by tables {by_tables}");
            prop_assert!(best_exchange(noisy, &counts, total) >= -1e-12);
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
                let counts = pgsr(noisy, total);
                check_constraints(noisy, &counts, total);
                prop_assert!(best_exchange(noisy, &counts, total) >= 0.0);
                let limit = total.unwrap_or(60 * noisy.tree.leaves().len() as u64);
                prop_assert_eq!(noisy.cost(&counts), cost_by_tables(noisy, total, limit));
            }
            Ok(())
        })?;
    }

    /// The problem is convex, so prices prove an optimum: the marginal costs on the path to a
    /// leaf sum to the root's price where the leaf has groups, and to no less where it has none.
    #[test]
    fn the_relaxed_optimum_has_one_price(case in cases(small_values())) {
        case.for_each_variant(|noisy, total| {
            let counts = pgsr_relaxed(noisy, total);
            let (tree, sizes) = (noisy.tree, noisy.sizes);
            let sum: f64 = (0..sizes).map(|size| counts[noisy.cell(0, size)]).sum();
            prop_assert!(total.is_none_or(|total| (sum - total as f64).abs() < 1e-6));
            let integers = pgsr(noisy, total);
            let regions = tree.regions().len();
            let cells = 0..counts.len();
            let target = |cell: usize| noisy.target(cell % regions, cell / regions);
            let cost: f64 = cells.clone().map(|cell| {
                target(cell).weight * (counts[cell] - noisy.values[cell]).powi(2)
            }).sum();
            prop_assert!(cost <= noisy.cost(&integers) * (1.0 + 1e-9) + 1e-9);

            // the marginal cost along the path to each cell, and what rounding may do to it
            let mut paths = vec![(0.0, 0.0); counts.len()];
            for cell in cells.clone() {
                let (region, size, target) = (cell % regions, cell / regions, target(cell));
                paths[cell].0 += target.slope(counts[cell]);
                paths[cell].1 += 1e-12 * target.weight; // counts are small
                let children = tree.regions()[region].children.clone();
                children.clone().for_each(|child| paths[noisy.cell(child, size)] = paths[cell]);
                let below: f64 = children.map(|child| counts[noisy.cell(child, size)]).sum();
                let leaf = tree.leaves().contains(&region);
                prop_assert!(counts[cell] >= 0.0 && (leaf || counts[cell] == below));
            }
            let leaves = cells.filter(|cell| tree.leaves().contains(&(cell % regions)));
            let price = match total {
                None => 0.0,
                Some(_) => leaves
                    .clone()
                    .map(|cell| paths[cell].0 + paths[cell].1)
                    .fold(f64::INFINITY, f64::min),
            };
            for cell in leaves {
                let (marginal, slack) = paths[cell];
                prop_assert!(marginal + slack >= price);
                prop_assert!(counts[cell] < 1e-9 || marginal - slack <= price);
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_integer_response_is_near_the_real_one(
        case in cases(prop_oneof![small_values(), -1e4..1e6]),
        price in prop_oneof![-20.0..20.0, -1e6..1e6],
    ) {
        case.for_each_variant(|noisy, _| {
            let targets = noisy.targets(0);
            let mut relaxation = Relaxation::new(noisy.tree);
            relaxation.fit(0, &targets);
            let prices = relaxation.prices(&targets, relaxation.root(), price);
            let tournament = Tournament::new(noisy.tree);
            let integers =
                Allocation::responding(&tournament, &targets, &prices);
            let bound = noisy.tree.leaves().len() as f64 / 2.0;
            let (real, _) = respond(relaxation.root(), targets[0], price);
            let apart = (integers.counts[0] as f64 - real).abs();
            prop_assert!(apart <= bound + 1e-9 * (1.0 + real), "{apart} > {bound}");
            Ok(())
        })?;
    }

    #[test]
    fn huge_counts_of_any_sign(
        case in cases((0i32..16, -1.0f64..1.0).prop_map(|(e, x)| (x * 10f64.powi(e)).round())),
        total in prop_oneof![0..10u64, 0..1u64 << 50],
    ) {
        Case { total, ..case }.for_each_variant(|noisy, total| {
            let counts = pgsr(noisy, total);
            check_constraints(noisy, &counts, total);
            prop_assert!(best_exchange(noisy, &counts, total) >= -1e-14);
            Ok(())
        })?;
    }

    /// Also where the count is so large that rounding the real response would miss it.
    #[test]
    fn a_leaf_responds_exactly(count in 0u64..1 << 53, price in -10.0..10.0) {
        let (tree, targets) = (regular_tree(&[]), [NoisyTarget { value: count as f64, weight: 1.0 }]);
        let tournament = Tournament::new(&tree);
        let leaf = Allocation::responding(&tournament, &targets, &[price]);
        prop_assert!(leaf.moves[0].up > price && -leaf.moves[0].down <= price);
    }
}

fn solve(tree: &Tree, sizes: usize, values: &[f64], total: Option<u64>) -> (Vec<u64>, f64) {
    let noisy = NoisyCounts::new(tree, sizes, values, Weights::Equal);
    let counts = pgsr(&noisy, total);
    check_constraints(&noisy, &counts, total);
    let cost = noisy.cost(&counts);
    (counts, cost)
}

/// The paper's tables 5 and figure 4: noisy counts of size 1. (US 2, GA 2 costs 1 as well.)
#[test]
fn the_papers_example() {
    let tree = regular_tree(&[2]);
    let noisy = [2.0, 3.0, 0.0]; // US, GA, NY
    assert_eq!(solve(&tree, 1, &noisy, None), (vec![3, 3, 0], 1.0));
    for (total, cost) in [(2, 1.0), (3, 1.0), (4, 5.0), (5, 11.0)] {
        assert_eq!(solve(&tree, 1, &noisy, Some(total)).1, cost);
    }
}

#[test]
fn a_root_alone_shares_its_total_among_the_sizes() {
    let tree = regular_tree(&[]);
    assert_eq!(solve(&tree, 3, &[1.4, -3.0, 2.6], None).0, [1, 0, 3]);
    assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(5)).0, [2, 0, 3]);
    assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(13)).1, 57.0);
    assert_eq!(solve(&tree, 3, &[1.0, -3.0, 2.0], Some(0)).0, [0, 0, 0]);
    assert_eq!(solve(&tree, 2, &[-7.0, -8.0], Some(1)).0, [1, 0]);
}

#[test]
fn a_root_without_leaves_holds_nothing() {
    let tree = tree(2, []);
    assert_eq!(solve(&tree, 2, &[3.0, 4.0], None).0, [0, 0]);
    assert_eq!(solve(&tree, 2, &[3.0, 4.0], Some(0)).0, [0, 0]);
    assert_eq!(solve(&regular_tree(&[2]), 0, &[], Some(0)).0, [0u64; 0]);
}

/// The optimum is no rounding of the real one up or down: there the light leaf has 99.6.
#[test]
fn the_integer_optimum_can_be_far_from_the_real_one() {
    let tree = regular_tree(&[101]);
    let mut values = vec![0.4; 102];
    (values[0], values[1]) = (140.0, 99.6);
    let mut weights = vec![1.0; 102];
    (weights[0], weights[1]) = (1e6, 1e-6);
    let noisy = NoisyCounts::new(&tree, 1, &values, Weights::OfCells(&weights));
    let counts = pgsr(&noisy, None);
    let mut expected = vec![0; 102];
    (expected[0], expected[1]) = (140, 140);
    assert_eq!(counts, expected);
}

#[test]
fn the_largest_values_and_the_most_different_weights() {
    let tree = regular_tree(&[2, 3]);
    let largest = NoisyCounts::largest(&tree);
    for sign in [1.0, -1.0] {
        let values: Vec<f64> = (0..9).map(|i| if i % 2 == 0 { largest } else { sign }).collect();
        for shift in 0..9 {
            let weights: Vec<f64> =
                (0..9).map(|i| if (i + shift) % 3 == 0 { 1e-100 } else { 1e100 }).collect();
            for weights in [Weights::Equal, Weights::OfCells(&weights)] {
                let noisy = NoisyCounts::new(&tree, 1, &values, weights);
                for total in [None, Some(0), Some(LARGEST_SUM)] {
                    check_constraints(&noisy, &pgsr(&noisy, total), total);
                }
            }
        }
    }
}

/// Noisy counts like a census's: most groups are small, leaves differ by orders of magnitude.
pub(in crate::hierarchy) fn census(
    tree: &Tree,
    sizes: usize,
    scale: f64,
    seed: u64,
) -> (Vec<f64>, u64) {
    let mut words = ChaCha20Rng::seed_from_u64(seed);
    let mut uniform = || (words.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let regions = tree.regions().len();
    let mut truth = vec![0u64; regions * sizes];
    for leaf in tree.leaves() {
        let groups = 10f64.powf(2.0 + 4.0 * uniform());
        for size in 0..sizes {
            let share = 0.6 * 0.55f64.powi(size as i32) + 1e-4 / (1.0 + size as f64);
            truth[size * regions + leaf] = (groups * share * 2.0 * uniform()) as u64;
        }
    }
    for truth in truth.chunks_exact_mut(regions) {
        for region in (0..tree.leaves().start).rev() {
            truth[region] = truth[tree.regions()[region].children.clone()].iter().sum();
        }
    }
    let mut noise = || {
        let u = uniform() - 0.5;
        -scale * u.signum() * (1.0 - 2.0 * u.abs()).ln()
    };
    let noisy = truth.iter().map(|&x| (x as f64 + noise()).round()).collect();
    (noisy, truth.iter().step_by(regions).sum())
}

#[test]
fn no_exchange_improves_a_larger_tree() {
    let tree = regular_tree(&[7, 6, 6]);
    let sizes = 200;
    let (values, total) = census(&tree, sizes, 60.0, 1);
    let fractions: Vec<f64> =
        values.iter().enumerate().map(|(i, y)| y + (i as f64).sin()).collect();
    let weights: Vec<f64> = (0..values.len()).map(|i| 1.0 + (i % 7) as f64).collect();
    for values in [&values, &fractions] {
        for weights in [Weights::Equal, Weights::OfCells(&weights)] {
            let noisy = NoisyCounts::new(&tree, sizes, values, weights);
            for total in [None, Some(total), Some(total / 2), Some(1_000_000_000_000)] {
                let mut checks = 0;
                let counts = watched(&mut || checks += 1, || pgsr(&noisy, total));
                check_constraints(&noisy, &counts, total);
                assert!(best_exchange(&noisy, &counts, total) >= -1e-15);
                assert!(checks > sizes);
            }
        }
    }
}

#[test]
#[should_panic(expected = "too large")]
fn values_must_be_numbers() {
    NoisyCounts::new(&regular_tree(&[]), 1, &[f64::NAN], Weights::Equal);
}

#[test]
#[should_panic(expected = "not positive and finite")]
fn weights_must_be_positive() {
    NoisyCounts::new(&regular_tree(&[]), 1, &[1.0], Weights::OfCells(&[0.0]));
}

#[test]
#[should_panic(expected = "without a place")]
fn a_total_needs_leaves() {
    solve(&tree(1, []), 1, &[0.0], Some(1));
}
