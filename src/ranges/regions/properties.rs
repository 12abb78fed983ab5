//! What releases of all regions promise, against dense linear algebra on small ones.

use super::combination::Combination;
use super::plan::{RegionPlan, RegionRequest};
use super::release::{RegionRelease, of_parents};
use super::shapes::Shapes;
use super::tree::RegionTree;
use crate::charge::Costs;
use crate::charge::Receipt;
use crate::noise::{SystemWords, words_from_system};
use crate::privacy::{Epsilon, composed_epsilon};
use crate::ranges::measurements::difference;
use crate::ranges::properties::{close, cost, least_squares, strategy};
use crate::ranges::{
    AmountBounds, Loss, MethodChoice, RangeMethod, RangePlan, RangePlanError, RangeRequest,
    SignedSums, Spread, TargetRanges, Workload,
};
use proptest::prelude::*;
use std::ops::Range;

pub(super) fn tree(fan_outs: &[&[usize]]) -> RegionTree {
    let fan_outs: Vec<Vec<usize>> = fan_outs.iter().map(|fan_outs| fan_outs.to_vec()).collect();
    RegionTree::new(&fan_outs).unwrap()
}

/// So many children of each region of a level.
fn even_tree(fan_outs: &[usize]) -> RegionTree {
    let mut regions = 1;
    let level = |&fan_out: &usize| {
        let level = vec![fan_out; regions];
        regions *= fan_out;
        level
    };
    RegionTree::new(&fan_outs.iter().map(level).collect::<Vec<_>>()).unwrap()
}

fn some_trees() -> Vec<RegionTree> {
    vec![
        tree(&[]),
        tree(&[&[1]]),
        tree(&[&[3]]),
        tree(&[&[2], &[3, 1]]),
        tree(&[&[1], &[2], &[2, 1]]),
        tree(&[&[3], &[1, 2, 2], &[1, 3, 1, 2, 1]]),
    ]
}

pub(super) fn asked(bins: usize, epsilon: f64, delta: f64, method: &str) -> RangeRequest {
    let method = MethodChoice::parse(method).unwrap();
    RangeRequest { bins: bins as i64, epsilon, delta, rows_per_unit: 1, method }
}

pub(super) fn plan(ranges: RangeRequest, tree: &RegionTree, shares: Option<&[f64]>) -> RegionPlan {
    let shares = shares.map(<[f64]>::to_vec);
    RegionPlan::new(RegionRequest { ranges, tree: tree.clone(), shares }).unwrap()
}

pub(super) fn counted(counts: &[u64]) -> SignedSums {
    SignedSums { above: counts.to_vec(), below: None }
}

/// Falling from the leaves up.
pub(super) fn uneven_shares(levels: usize) -> Vec<f64> {
    let sum = levels * (levels + 1) / 2;
    (1..=levels).map(|part| part as f64 / sum as f64).collect()
}

/// Every form of a release over small trees and lines.
pub(super) fn cases() -> Vec<(String, RegionTree, RegionPlan)> {
    let mut cases = Vec::new();
    for tree in some_trees() {
        for (method, delta) in [
            ("flat", 0.0),
            ("tree_consistent:3", 0.0),
            ("tree_consistent:2:geometric", 0.0),
            ("wavelet", 0.0),
            ("gaussian", 1e-6),
            ("tree_consistent:2", 1e-6),
            ("cascade:2", 1e-6),
            ("optimal", 1e-6),
        ] {
            let uneven = uneven_shares(tree.levels());
            for shares in [None, Some(uneven.as_slice())] {
                for bins in [1, 5] {
                    let plan = plan(asked(bins, 0.7, delta, method), &tree, shares);
                    let name = format!("{method} over {bins}, {tree:?}, {shares:?}");
                    cases.push((name, tree.clone(), plan));
                }
            }
        }
    }
    cases
}

/// The leaves of each region.
fn leaves_of(tree: &RegionTree) -> Vec<Range<usize>> {
    let first = tree.leaves().start;
    let mut leaves: Vec<Range<usize>> =
        (0..tree.regions()).map(|region| region..region + 1).collect();
    for (_, region) in tree.parents().rev() {
        let children = tree.children(region);
        leaves[region] = leaves[children.start].start..leaves[children.end - 1].end;
    }
    leaves.into_iter().map(|leaves| leaves.start - first..leaves.end - first).collect()
}

/// Unbiased, of the stated variance, and, where the levels' noise differs by a factor alone and the
/// estimates of a line are least squares, of the least variance that linear estimates can have.
#[test]
fn answers_are_unbiased_with_exactly_the_stated_variances() {
    for (name, tree, plan) in cases() {
        let bins = plan.mechanism(tree.levels() - 1).unwrap().bins();
        let leaves = leaves_of(&tree);
        let cells = tree.leaves().len() * bins;
        let width = bins + 1;
        // what is measured, as rows over the cells; and what becomes of a unit of each
        let (mut rows, mut noise, mut effects) = (vec![], vec![], vec![]);
        for level in 0..tree.levels() {
            let Some(mechanism) = plan.mechanism(level) else { continue };
            let (of_line, variances) = strategy(mechanism);
            for region in tree.level(level) {
                for (i, row) in of_line.iter().enumerate() {
                    let mut over_cells = vec![0.0; cells];
                    for leaf in leaves[region].clone() {
                        over_cells[leaf * bins..(leaf + 1) * bins].copy_from_slice(row);
                    }
                    rows.push(over_cells);
                    const UNIT: i64 = 1 << 40; // the roundoff of convolutions is one of the result
                    let mut noisy = vec![0; of_line.len()];
                    noisy[i] = UNIT;
                    let mut estimates = vec![0.0; tree.regions() * width];
                    let own = mechanism.reconstruct(&noisy);
                    let own = own.iter().map(|value| value / UNIT as f64).collect::<Vec<_>>();
                    estimates[region * width..(region + 1) * width].copy_from_slice(&own);
                    plan.combination().combine(&mut estimates, width);
                    effects.push(estimates);
                }
                noise.extend(&variances);
            }
        }
        let is_best = ["flat", "gaussian", "tree_consistent:3", "tree_consistent:2 ", "cascade"]
            .iter()
            .any(|word| name.starts_with(word));
        let best = is_best.then(|| least_squares(&rows, &noise));
        let mut words = words_from_system().unwrap();
        let release = Receipt::uncharged(plan).release(counted(&vec![0; cells]), &mut words);
        for range in Workload::All.ranges(bins) {
            let of_levels = release.level_variances(range.clone());
            for region in 0..tree.regions() {
                let value =
                    |e: &Vec<f64>| e[region * width + range.end] - e[region * width + range.start];
                let coefficients: Vec<f64> = effects.iter().map(value).collect();
                let inside = |cell: usize| {
                    leaves[region].contains(&(cell / bins)) && range.contains(&(cell % bins))
                };
                for cell in 0..cells {
                    let weight: f64 =
                        coefficients.iter().zip(&rows).map(|(c, row)| c * row[cell]).sum();
                    let wanted = f64::from(u8::from(inside(cell)));
                    assert!(close(weight, wanted), "{name}: {weight} of {cell} in {region}");
                }
                let of_answer: f64 = coefficients.iter().zip(&noise).map(|(c, v)| c * c * v).sum();
                let stated = release.variance(region, &of_levels);
                assert!(close(of_answer, stated), "{name}, {region}: {of_answer} {stated}");
                if let Some(best) = &best {
                    let within = || (0..cells).filter(|cell| inside(*cell));
                    let best: f64 = within()
                        .flat_map(|i| within().map(move |j| (i, j)))
                        .map(|(i, j)| best[i][j])
                        .sum();
                    assert!(close(best, stated), "{name}, {region}: {best} {stated}");
                }
            }
        }
    }
}

/// The integers that are measured of all regions, each level's with its groups.
pub(super) fn measured(
    plan: &RegionPlan,
    tree: &RegionTree,
    sums: &SignedSums,
) -> Vec<Vec<Vec<i64>>> {
    let bins = sums.above.len() / tree.leaves().len();
    let mut sums = sums.clone();
    let mut all = Vec::new();
    for level in (0..tree.levels()).rev() {
        if level + 1 < tree.levels() {
            sums = sums.map(|below| of_parents(tree, tree.level(level), below, bins));
        }
        let line = |of: usize| of * bins..(of + 1) * bins;
        let below = |of: usize| sums.below.as_ref().map(|below| &below[line(of)]);
        let regions = 0..tree.level(level).len();
        all.push(match plan.mechanism(level) {
            Some(mechanism) => {
                regions.map(|of| difference(mechanism, &sums.above[line(of)], below(of))).collect()
            }
            None => vec![],
        });
    }
    all.reverse();
    all
}

/// Every choice of up to three rows of one unit, in any leaves and bins, costs at most what is
/// charged; and some choice costs nearly that.
#[test]
fn no_unit_costs_more_than_is_charged_and_some_unit_costs_it() {
    let trees = [tree(&[]), tree(&[&[2]]), tree(&[&[2], &[2, 1]])];
    for tree in trees {
        for (method, delta) in
            [("flat", 0.0), ("tree_consistent:2", 0.0), ("gaussian", 1e-6), ("cascade:2", 1e-6)]
        {
            for rows in 1..=3 {
                let bins = 3;
                let asked = RangeRequest { rows_per_unit: rows, ..asked(bins, 0.7, delta, method) };
                let plan = plan(asked, &tree, Some(&uneven_shares(tree.levels())));
                let cells = tree.leaves().len() * bins;
                let before: Vec<u64> = (0..cells as u64).map(|cell| 2 + cell * cell % 5).collect();
                let measured_before = measured(&plan, &tree, &counted(&before));
                let mut tables = vec![before];
                for _ in 0..rows {
                    let one_more = |table: &Vec<u64>| {
                        let table = table.clone();
                        (0..cells).map(move |cell| {
                            let mut table = table.clone();
                            table[cell] += 1;
                            table
                        })
                    };
                    tables = tables.iter().flat_map(one_more).collect();
                }
                let cost_of = |table: &Vec<u64>| {
                    cost_of(&plan, &measured_before, &measured(&plan, &tree, &counted(table)))
                };
                let largest = tables.iter().map(cost_of).fold(0.0, f64::max);
                let ratio = largest / charged(&plan);
                assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{method}, {rows} rows: {ratio}");
            }
        }
    }
}

/// Of all levels and regions.
pub(super) fn cost_of(plan: &RegionPlan, before: &[Vec<Vec<i64>>], after: &[Vec<Vec<i64>>]) -> f64 {
    let mut sum = 0.0;
    for (level, (before, after)) in before.iter().zip(after).enumerate() {
        let Some(mechanism) = plan.mechanism(level) else { continue };
        let groups = mechanism.measurements().groups();
        sum += before.iter().zip(after).map(|(b, a)| cost(groups, b, a)).sum::<f64>();
    }
    sum
}

pub(super) fn charged(plan: &RegionPlan) -> f64 {
    if plan.delta() > 0.0 { plan.rho() } else { plan.epsilon().value() }
}

/// Every amount that a row can have, within its bounds and beyond, in any leaf and bin, costs at most
/// what is charged for its weight; and some amount costs nearly that.
#[test]
fn no_amount_costs_more_than_is_charged_and_some_amount_costs_it() {
    let (bins, tree) = (3, tree(&[&[2], &[2, 1]]));
    let places = tree.leaves().len() * bins;
    for (least, most) in [(0, 4), (-3, 2), (2, 3), (-2, -1)] {
        let amounts = AmountBounds::new(least, most).unwrap();
        let weight = amounts.weight(1).unwrap();
        let with = |sums: &SignedSums, place: usize, amount: i64| {
            let mut sums = sums.clone();
            sums.add(place, amounts.clamped(amount));
            sums
        };
        let none = SignedSums::empty(places, amounts);
        let some = (0..places).fold(none, |sums, place| with(&sums, place, 5 - place as i64));
        for (method, delta) in
            [("flat", 0.0), ("tree_consistent:2", 0.0), ("gaussian", 1e-6), ("cascade:2", 1e-6)]
        {
            let asked = RangeRequest { rows_per_unit: weight, ..asked(bins, 0.7, delta, method) };
            let plan = plan(asked, &tree, Some(&uneven_shares(tree.levels())));
            let before = measured(&plan, &tree, &some);
            let rows = (0..places).flat_map(|place| (-6..=6).map(move |amount| (place, amount)));
            let largest = rows
                .map(|(place, amount)| measured(&plan, &tree, &with(&some, place, amount)))
                .map(|after| cost_of(&plan, &before, &after))
                .fold(0.0, f64::max);
            let ratio = largest / charged(&plan);
            assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{method}, {least} to {most}: {ratio}");
        }
    }
}

#[test]
fn no_plan_spends_more_than_it_charges() {
    let tree = tree(&[&[2], &[3, 1]]);
    let words = RangeMethod::ALL.iter().filter(|method| method.adds_up()).map(|m| m.word());
    for word in words.chain(["auto", "tree_consistent:4:geometric", "optimal:nodes"]) {
        for (epsilon, delta) in [(1.0, 0.0), (0.3, 1e-7), (5.0, 1e-3)] {
            for (rows, shares) in [(1, None), (3, None), (3, Some(vec![0.2, 0.3, 0.5]))] {
                let ranges =
                    RangeRequest { rows_per_unit: rows, ..asked(37, epsilon, delta, word) };
                let request = RegionRequest { ranges, tree: tree.clone(), shares };
                let plan = match RegionPlan::new(request) {
                    Ok(plan) => plan,
                    Err(RangePlanError::DeltaMissing { .. }) if delta == 0.0 => continue,
                    Err(error) => panic!("{word}: {error}"),
                };
                let k = f64::from(rows);
                let (mut of_epsilon, mut of_rho) = (0.0, 0.0);
                for level in 0..tree.levels() {
                    match plan.mechanism(level).map(|m| m.measurements().loss()) {
                        Some(Loss::Epsilon(loss)) => {
                            of_epsilon += k * loss;
                            of_rho += crate::privacy::rho_of_pure(k * loss);
                        }
                        Some(Loss::Rho(loss)) => of_rho += k * k * loss,
                        None => {}
                    }
                }
                assert_eq!(plan.epsilon().decimal(), Epsilon::new(epsilon).unwrap().decimal());
                if of_epsilon > 0.0 {
                    assert_eq!(plan.delta(), 0.0);
                    let spent = of_epsilon / epsilon;
                    assert!((1.0 - 1e-12..=1.0).contains(&spent), "{word}: {spent}");
                    assert!(plan.rho() <= of_rho * (1.0 + 1e-12), "{word}");
                } else {
                    assert_eq!(plan.delta(), delta);
                    let ratio = of_rho / plan.rho();
                    assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{word}: {ratio}");
                    let spent = composed_epsilon(&plan.cost().loss, delta).unwrap();
                    assert!(spent <= epsilon * (1.0 + 1e-10), "{word}: {spent}");
                }
            }
        }
    }
}

/// What is said beforehand is what the answers have.
#[test]
fn spreads_are_those_of_the_answers() {
    for (name, tree, plan) in cases() {
        let bins = plan.mechanism(tree.levels() - 1).unwrap().bins();
        for workload in [Workload::All, Workload::Prefix, Workload::Nodes] {
            let stated = plan.spreads(workload);
            let squares = plan.combination().coefficients();
            let variance = |region: usize, range: Range<usize>| -> f64 {
                let of_level =
                    |level: usize| plan.mechanism(level).map_or(0.0, |m| m.variance(range.clone()));
                (0..tree.levels()).map(|l| squares[region * tree.levels() + l] * of_level(l)).sum()
            };
            for (level, stated) in stated.into_iter().enumerate() {
                let all = tree
                    .level(level)
                    .flat_map(|region| workload.ranges(bins).map(move |range| (region, range)));
                let own = Spread::of(all.map(|(region, range)| variance(region, range)));
                assert!(close(own.mean, stated.mean), "{name}, {level}: {own:?} {stated:?}");
                let largest = own.max * (1.0 - 1e-9)..own.max * 1.02;
                assert!(largest.contains(&stated.max), "{name}, {level}: {own:?} {stated:?}");
            }
        }
    }
}

/// The mean over all regions and ranges, against the better of the two that need no combination:
/// one release per level with equal shares, and the leaves alone. By the best method for each. And
/// the root is often much better than leaves that are added up.
#[test]
fn the_mean_is_at_most_that_of_levels_by_themselves_and_of_bottom_up() {
    let trees: [&[usize]; 9] =
        [&[2], &[16], &[500], &[2, 2], &[4, 16], &[53, 59], &[60, 2], &[3, 3, 3], &[2, 2, 2, 2]];
    let mut gained = 0;
    for fan_outs in trees {
        let tree = even_tree(fan_outs);
        let levels = tree.levels();
        for (bins, method) in
            [(1, "auto"), (8, "auto"), (64, "auto"), (64, "auto:prefix"), (300, "auto:nodes")]
        {
            for (epsilon, delta) in [(0.1, 0.0), (1.0, 0.0), (10.0, 0.0), (0.1, 1e-9), (1.0, 1e-6)]
            {
                let target = MethodChoice::parse(method).unwrap().target;
                let mean = |part: f64| {
                    let plan = RangePlan::new(asked(bins, epsilon * part, delta, method)).unwrap();
                    plan.mechanism().mean_over(&target)
                };
                let of_levels = mean(1.0 / levels as f64);
                // with Gaussian noise it is the rho that is divided
                let whole = RangePlan::new(asked(bins, epsilon, delta, method)).unwrap();
                let (_, parts) = whole.divided(&vec![1.0; levels], 1);
                let part = crate::ranges::Parameters::mechanism(parts[0].as_ref().unwrap());
                let of_levels = of_levels.min(part.unwrap().mean_over(&target));
                let bottom_up = mean(1.0) * (levels * tree.leaves().len()) as f64;
                let rival = of_levels.min(bottom_up / tree.regions() as f64);
                let own = plan(asked(bins, epsilon, delta, method), &tree, None);
                let ratio = own.mean_variance() / rival;
                // a variance is taken to grow with the noise, which Laplace noise does but nearly
                assert!(ratio <= 1.01, "{fan_outs:?} {bins} {epsilon} {delta}: {ratio}");
                if let TargetRanges::Workload(workload) = target {
                    let of_leaves = mean(1.0) * tree.leaves().len() as f64;
                    gained += usize::from(own.spreads(workload)[0].mean < 0.1 * of_leaves);
                }
            }
        }
    }
    assert!(gained > 30, "{gained}");
}

/// 3,000 releases: no mean of an answer's errors is 7 of its standard deviations off (probability
/// below 1e-11), no mean of their squares 7 of its own (as in the tests of a line).
#[test]
fn errors_are_as_stated() {
    let (bins, releases) = (7, 3_000);
    let tree = tree(&[&[2], &[3, 1]]);
    let ranges = [0..7, 0..1, 2..5, 6..7];
    let counts: Vec<u64> = (0..4 * bins as u64).map(|cell| cell * cell % 11).collect();
    let leaves = leaves_of(&tree);
    let mut words = words_from_system().unwrap();
    for (method, delta, spread) in [
        ("flat", 0.0, 5.5f64),
        ("tree_consistent:3", 0.0, 5.5),
        ("optimal", 1e-6, 2.0),
        ("cascade", 1e-6, 2.0),
    ] {
        let mut moments = vec![(0.0, 0.0); tree.regions() * ranges.len()];
        for _ in 0..releases {
            let plan = plan(asked(bins, 1.0, delta, method), &tree, Some(&[0.2, 0.3, 0.5]));
            let release = Receipt::uncharged(plan).release(counted(&counts), &mut words);
            for (i, range) in ranges.iter().enumerate() {
                let of_levels = release.level_variances(range.clone());
                for region in 0..tree.regions() {
                    let own = leaves[region].clone();
                    let truth: u64 = own
                        .map(|leaf| {
                            let line = &counts[leaf * bins..(leaf + 1) * bins];
                            line[range.clone()].iter().sum::<u64>()
                        })
                        .sum();
                    let deviation = release.variance(region, &of_levels).sqrt();
                    let error = (release.sum(region, range.clone()) - truth as f64) / deviation;
                    let (sum, squares) = &mut moments[region * ranges.len() + i];
                    *sum += error;
                    *squares += error * error;
                }
            }
        }
        let releases = f64::from(releases);
        for (sum, squares) in moments {
            assert!(sum.abs() < 7.0 * releases.sqrt(), "{method}: {sum}");
            let off = squares / releases - 1.0;
            assert!(off.abs() < 7.0 * (spread / releases).sqrt(), "{method}: {off}");
        }
    }
}

#[test]
fn what_cannot_be_planned_is_refused_by_the_name_of_its_argument() {
    let refused = |bins, method: &str, fan_outs: &[usize], shares: Option<Vec<f64>>| {
        let ranges = asked(bins, 1.0, 0.0, method);
        let request = RegionRequest { ranges, tree: even_tree(fan_outs), shares };
        RegionPlan::new(request).err().unwrap().to_string()
    };
    for (message, error) in [
        (
            "method \"tree\" has no meaning for regions: its answers to adjacent ranges do not \
             add up",
            refused(4, "tree", &[2], None),
        ),
        (
            "budget_shares must hold one share for each of the 2 levels, got 1",
            refused(4, "auto", &[2], Some(vec![1.0])),
        ),
        (
            "budget_shares must be positive, finite numbers, got 0",
            refused(4, "auto", &[2], Some(vec![0.0, 1.0])),
        ),
        (
            "budget_shares must sum to 1, got a sum of 1.5",
            refused(4, "auto", &[2], Some(vec![0.5, 1.0])),
        ),
        (
            "the number of regions times that of ranges must be at most 16777216, got 1001 times \
             20000",
            refused(20_000, "auto", &[1000], None),
        ),
    ] {
        assert_eq!(error, message);
    }
}

fn released(plan: RegionPlan, counts: &[u64], words: &mut SystemWords) -> RegionRelease {
    Receipt::uncharged(plan).release(counted(counts), words)
}

pub(super) fn random_tree() -> impl Strategy<Value = RegionTree> {
    let fan_outs = prop::collection::vec(prop::collection::vec(1usize..5, 64), 0..4);
    fan_outs.prop_map(|fan_outs| {
        let mut regions = 1;
        let level = |fan_outs: Vec<usize>| {
            let level = fan_outs[..regions].to_vec();
            regions = level.iter().sum();
            level
        };
        RegionTree::new(&fan_outs.into_iter().map(level).collect::<Vec<_>>()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Children add up to their parent, adjacent ranges to both together, whatever the noise.
    #[test]
    fn answers_add_up_over_regions_and_ranges(
        tree in random_tree(),
        bins in 1usize..12,
        (method, delta) in prop::sample::select(vec![
            ("auto", 0.0), ("flat", 0.0), ("tree_consistent:3:geometric", 0.0), ("quad", 0.0),
            ("wavelet", 0.0), ("gaussian", 1e-6), ("cascade:2", 1e-6), ("optimal", 1e-6),
            ("prefix", 1e-6), ("auto", 1e-6),
        ]),
        chosen in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let shares = uneven_shares(tree.levels());
        let shares = if chosen { None } else { Some(shares.as_slice()) };
        let plan = plan(asked(bins, 0.5, delta, method), &tree, shares);
        let cells = (tree.leaves().len() * bins) as u64;
        let counts: Vec<u64> = (0..cells).map(|c| (c + 1) * u64::from(seed) % 1009).collect();
        let release = released(plan, &counts, &mut words_from_system().unwrap());
        for range in Workload::All.ranges(bins) {
            for (_, region) in tree.parents() {
                let own = release.sum(region, range.clone());
                let below: f64 =
                    tree.children(region).map(|child| release.sum(child, range.clone())).sum();
                prop_assert!(close(own, below), "{own} {below}");
            }
            let middle = (range.start + range.end) / 2;
            for region in 0..tree.regions() {
                let parts = release.sum(region, range.start..middle)
                    + release.sum(region, middle..range.end);
                let own = release.sum(region, range.clone());
                prop_assert!(close(own, parts), "{own} {parts}");
            }
        }
    }

    /// What shares are chosen by is the mean of the exact variances, also where levels are not
    /// measured.
    #[test]
    fn shapes_have_the_mean_variance_of_their_regions(
        tree in random_tree(),
        precisions in prop::collection::vec(prop::option::of(1e-6f64..1e6), 4),
        of_leaves in 1e-6f64..1e6,
    ) {
        let mut precisions: Vec<f64> =
            precisions[..tree.levels()].iter().map(|p| p.unwrap_or(0.0)).collect();
        precisions[tree.levels() - 1] = of_leaves;
        let squares = Combination::new(&tree, precisions.clone()).coefficients();
        let variances = precisions.iter().map(|p| if *p > 0.0 { 1.0 / p } else { 0.0 });
        let variances: Vec<f64> = variances.collect();
        let sum: f64 = squares.iter().zip(variances.iter().cycle()).map(|(s, v)| s * v).sum();
        let mean = Shapes::of(&tree).mean_variance(&precisions);
        let ratio = mean * tree.regions() as f64 / sum;
        prop_assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    }
}

/// Whether answers to adjacent ranges add up is what a method says of itself.
#[test]
fn methods_know_whether_they_add_up() {
    let mut words = words_from_system().unwrap();
    for method in RangeMethod::ALL {
        let delta = if method.is_pure() { 0.0 } else { 1e-6 };
        let request = RangeRequest {
            method: MethodChoice { branching: Some(2), ..MethodChoice::of(*method) },
            ..asked(37, 0.5, delta, "auto")
        };
        let plan = RangePlan::new(request).unwrap();
        let release = Receipt::uncharged(plan).release(&[1; 37], &mut words);
        let adds_up = (1..37)
            .all(|end| close(release.sum(0..end) + release.sum(end..37), release.sum(0..37)));
        assert_eq!(adds_up, method.adds_up(), "{method:?}");
    }
}

/// All of the budget goes to the leaves where nothing else helps.
#[test]
fn shares_are_chosen_by_the_shape_of_the_tree() {
    let shares = |fan_outs: &[usize], delta: f64| {
        let target = MethodChoice::parse("auto").unwrap();
        assert_eq!(target.target, TargetRanges::ALL);
        plan(asked(8, 1.0, delta, "auto"), &even_tree(fan_outs), None).shares().to_vec()
    };
    assert_eq!(shares(&[], 0.0), [1.0]);
    assert_eq!(shares(&[1], 0.0), [0.0, 1.0]);
    assert_eq!(shares(&[2], 0.0), [0.0, 1.0]);
    let wide = shares(&[1000], 0.0);
    assert!(wide[0] > 0.0 && wide[1] > wide[0], "{wide:?}");
}
