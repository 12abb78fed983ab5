//! What every mechanism promises, against dense linear algebra on small ones.

use super::asked::{self, equal, gaussian, laplace, uneven};
use super::*;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::privacy::rho_of_pure;
use std::ops::Range;

pub(super) struct RangeCase {
    pub(super) name: String,
    pub(super) mechanism: Box<dyn RangeMechanism>,
    consistent: bool,
}

/// Every mechanism over so many bins, with equal and with uneven noise.
pub(super) fn cases(bins: usize) -> Vec<RangeCase> {
    let mut cases = Vec::new();
    let mut add = |name: String, mechanism: Box<dyn RangeMechanism>, consistent: bool| {
        cases.push(RangeCase { name: format!("{name} over {bins}"), mechanism, consistent });
    };
    for branching in 2..=(bins + 1).clamp(2, 7) {
        let shape = TreeShape::new(bins, branching);
        let levels = shape.height();
        for (kind, noise) in [("equal", equal(laplace(0.4), levels)), ("uneven", uneven(levels))] {
            let name = |method: &str| format!("{method}, b = {branching}, {kind} noise");
            add(name("tree"), Box::new(RawTree::new(shape, &noise).unwrap()), false);
            add(name("consistent"), Box::new(ConsistentTree::new(shape, &noise).unwrap()), true);
        }
    }
    let levels = Wavelet::groups_over(bins);
    let even = Wavelet::new(bins, &equal(gaussian(2.0), levels)).unwrap();
    add("wavelet".into(), Box::new(even), true);
    add("uneven wavelet".into(), Box::new(Wavelet::new(bins, &uneven(levels)).unwrap()), true);
    // a budget whose noise is a few units wide, and one where discrete and continuous noise differ
    for rho in [0.02435, 1.7] {
        let name = |method: &str| format!("{method}, rho = {rho}");
        let noise = &Calibration::together(rho);
        for tree in some_trees(bins) {
            let described = format!("cascade {:?}", fan_outs(&tree));
            add(name(&described), Box::new(Cascade::new(tree, noise).unwrap()), true);
        }
        add(name("prefix"), Box::new(PrefixFactorisation::new(bins, noise).unwrap()), true);
        for workload in [Workload::All, Workload::Prefix] {
            let root = WeightedRoot::new(workload, bins, noise).unwrap();
            add(name(&format!("minimax {workload:?}")), Box::new(root), true);
            let strategy = SineStrategy::new(workload, bins, noise).unwrap();
            add(name(&format!("optimal {workload:?}")), Box::new(strategy), true);
            // of many bins; that there is nothing in the others, estimates make no use of
            let strategy = SineStrategy::of_order(bins + 3, workload, bins, noise).unwrap();
            add(name(&format!("optimal {workload:?} of larger order")), Box::new(strategy), false);
        }
        // any workload: short ranges, and one half of the bins
        let short = Workload::All.ranges(bins).filter(|range| range.len() <= 3);
        let gram = gram_of_ranges(bins, short.chain(std::iter::once(0..bins.div_ceil(2))));
        add(name("dense"), Box::new(DenseStrategy::new(bins, &gram, noise).unwrap()), true);
    }
    cases
}

fn fan_outs(tree: &TreeOverBins) -> Vec<usize> {
    (0..tree.nodes()).map(|node| tree.children(node).len()).collect()
}

/// Balanced ones, and one whose leaves are on many levels: every inner node has a leaf as its last
/// child.
fn some_trees(bins: usize) -> Vec<TreeOverBins> {
    let comb = (1..bins).flat_map(|_| [2, 0]).chain([0]);
    let comb = if bins == 1 { vec![0] } else { [2].into_iter().chain(comb.skip(1)).collect() };
    let balanced = [2, 3, 5].map(|fan_out| TreeOverBins::balanced(bins, fan_out).unwrap());
    let listed = (bins <= 9).then(|| TreeOverBins::from_fan_outs(comb).unwrap());
    balanced.into_iter().chain(listed).collect()
}

/// The measurements as a matrix, one row each, with the variances of their noise.
pub(super) fn strategy(mechanism: &dyn RangeMechanism) -> (Vec<Vec<f64>>, Vec<f64>) {
    let bins = mechanism.bins();
    let columns: Vec<Vec<i64>> = (0..bins)
        .map(|bin| {
            let mut counts = vec![0; bins];
            counts[bin] = 1;
            mechanism.measure(&counts)
        })
        .collect();
    let rows = (0..columns[0].len())
        .map(|row| columns.iter().map(|column| column[row] as f64).collect())
        .collect();
    let variances = mechanism
        .measurements()
        .groups()
        .iter()
        .flat_map(|group| vec![group.noise.variance(); group.measurements])
        .collect();
    (rows, variances)
}

const UNIT: i64 = 1 << 40;

/// The matrix of the answers to all ranges in terms of the measurements, one row per range.
fn answers(mechanism: &dyn RangeMechanism, measurements: usize) -> Vec<(Range<usize>, Vec<f64>)> {
    let columns: Vec<Vec<f64>> = (0..measurements)
        .map(|row| {
            let mut noisy = vec![0; measurements];
            // not 1, for the roundoff of convolutions is one of the result's size
            noisy[row] = UNIT;
            let mut column = mechanism.reconstruct(&noisy);
            column.iter_mut().for_each(|value| *value /= UNIT as f64);
            column
        })
        .collect();
    Workload::All
        .ranges(mechanism.bins())
        .map(|range| {
            let row = columns.iter().map(|c| mechanism.answer(c, range.clone())).collect();
            (range, row)
        })
        .collect()
}

/// By Gauss and Jordan, with pivots.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for column in 0..n {
        let key = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..n).max_by(|a, b| key(a).total_cmp(&key(b))).unwrap();
        matrix.swap(column, pivot);
        let divisor = matrix[column][column];
        matrix[column].iter_mut().for_each(|value| *value /= divisor);
        let pivot_row = matrix[column].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = row[column];
            row.iter_mut().zip(&pivot_row).for_each(|(value, p)| *value -= factor * p);
        }
    }
    matrix.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// The covariance of the weighted least-squares estimates of the bins, by the normal equations.
pub(super) fn least_squares(strategy: &[Vec<f64>], variances: &[f64]) -> Vec<Vec<f64>> {
    let bins = strategy[0].len();
    let entry = |i: usize, j: usize| {
        strategy.iter().zip(variances).map(|(row, variance)| row[i] * row[j] / variance).sum()
    };
    inverse((0..bins).map(|i| (0..bins).map(|j| entry(i, j)).collect()).collect())
}

pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs().max(b.abs()))
}

const SIZES: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 25, 27, 33];

#[test]
fn answers_are_unbiased_with_exactly_the_stated_variances() {
    for case in SIZES.into_iter().flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let (strategy, noise) = strategy(mechanism);
        assert_eq!(strategy.len(), noise.len(), "{}", case.name);
        let covariance = case.consistent.then(|| least_squares(&strategy, &noise));
        for (range, row) in answers(mechanism, strategy.len()) {
            for bin in 0..mechanism.bins() {
                let weight: f64 = row.iter().zip(&strategy).map(|(a, s)| a * s[bin]).sum();
                let wanted = f64::from(u8::from(range.contains(&bin)));
                assert!(close(weight, wanted), "{}, {range:?}: {weight} of {bin}", case.name);
            }
            let of_answer: f64 = row.iter().zip(&noise).map(|(a, v)| a * a * v).sum();
            let stated = mechanism.variance(range.clone());
            assert!(close(of_answer, stated), "{}, {range:?}: {of_answer} {stated}", case.name);
            if let Some(covariance) = &covariance {
                let best: f64 =
                    covariance[range.clone()].iter().flat_map(|row| &row[range.clone()]).sum();
                assert!(close(best, stated), "{}, {range:?}: {best} {stated}", case.name);
            }
        }
        assert_eq!(mechanism.variance(0..0), 0.0);
        let linear = answers(mechanism, strategy.len());
        let splits = mechanism.splits();
        let bins = mechanism.bins();
        assert_eq!(splits.len(), bins + 1, "{}", case.name);
        for (at, split) in splits.into_iter().enumerate() {
            let none = vec![0.0; noise.len()];
            let row = |range: Range<usize>| {
                linear.iter().find(|(other, _)| *other == range).map_or(&none, |(_, row)| row)
            };
            let (before, after) = (row(0..at), row(at..bins));
            let products = before.iter().zip(after).zip(&noise);
            let covariance: f64 = products.map(|((a, b), v)| a * b * v).sum();
            let whole = mechanism.variance(0..bins);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * (1.0 + whole);
            assert!(
                near(covariance, split.covariance),
                "{}, {at}: {covariance} {split:?}",
                case.name
            );
            assert!(
                near(mechanism.variance(0..at), split.before),
                "{}, {at}: {split:?}",
                case.name
            );
            assert!(
                near(mechanism.variance(at..bins), split.after),
                "{}, {at}: {split:?}",
                case.name
            );
        }
        for width in 1..=bins + 1 {
            let variances = mechanism.variances_of_blocks(width).into_iter();
            let blocks = (0..bins).step_by(width).map(|start| start..bins.min(start + width));
            for (block, variance) in blocks.clone().zip(variances.clone()) {
                let wanted = mechanism.variance(block.clone());
                assert!(close(variance, wanted), "{}, {block:?}", case.name);
            }
            assert_eq!(blocks.len(), variances.len(), "{}", case.name);
        }
        check_covariances(&case, &linear, &noise);
    }
}

/// Against the answers' own: of the bins, with the sum of all of them, each times a weight.
fn check_covariances(case: &RangeCase, linear: &[(Range<usize>, Vec<f64>)], noise: &[f64]) {
    let bins = case.mechanism.bins();
    let weights: Vec<f64> = (0..bins).map(|bin| (bin * bin % 7) as f64 - 2.0).collect();
    let Some(covariances) = case.mechanism.covariances(&weights) else {
        assert!(case.name.starts_with("tree"), "{}", case.name);
        return;
    };
    let row = |bin: usize| {
        let of_bin = linear.iter().find(|(range, _)| *range == (bin..bin + 1));
        &of_bin.expect("a range of one bin").1
    };
    let mut sum = vec![0.0; noise.len()];
    for (bin, weight) in weights.iter().enumerate() {
        sum.iter_mut().zip(row(bin)).for_each(|(value, part)| *value += weight * part);
    }
    let dot = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).zip(noise).map(|((a, b), variance)| a * b * variance).sum()
    };
    let scale = 1.0 + dot(&sum, &sum);
    for (bin, covariance) in covariances.into_iter().enumerate() {
        let wanted = dot(row(bin), &sum);
        let is_near = (covariance - wanted).abs() <= 1e-9 * scale;
        assert!(is_near, "{}, {bin}: {covariance} {wanted}", case.name);
    }
}

#[test]
fn means_and_maxima_are_those_of_all_variances() {
    for case in (1..=40).flat_map(cases) {
        for workload in [Workload::All, Workload::Prefix, Workload::Nodes] {
            let ranges = workload.ranges(case.mechanism.bins());
            let summed = Spread::of(ranges.map(|range| case.mechanism.variance(range)));
            let stated = case.mechanism.spread(workload);
            assert!(
                close(summed.mean, stated.mean) && close(summed.max, stated.max),
                "{}, {workload:?}: {summed:?} {stated:?}",
                case.name
            );
        }
    }
}

/// What the step from one measurement to another costs, in the kind of loss that the mechanism
/// declares.
pub(super) fn cost(groups: &[MeasurementGroup], before: &[i64], after: &[i64]) -> f64 {
    let mut moved = before.iter().zip(after).map(|(a, b)| (a - b).abs() as f64);
    let pure = groups.iter().all(|group| matches!(group.noise, MeasurementNoise::Laplace(_)));
    let of_group = |group: &MeasurementGroup| -> f64 {
        let moved = moved.by_ref().take(group.measurements);
        match (&group.noise, pure) {
            (MeasurementNoise::Laplace(law), true) => moved.sum::<f64>() / law.scale().as_f64(),
            (MeasurementNoise::Laplace(law), false) => {
                moved.map(|d| rho_of_pure(d / law.scale().as_f64())).sum()
            }
            (MeasurementNoise::Gaussian(law), _) => {
                moved.map(|d| (d / law.sigma()).powi(2) / 2.0).sum()
            }
        }
    };
    groups.iter().map(of_group).sum()
}

/// Every step of one row, up and down, in a table with rows everywhere.
#[test]
fn no_neighbour_costs_more_than_the_loss_and_some_neighbour_costs_it() {
    for case in SIZES.into_iter().flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let groups = mechanism.measurements().groups();
        let counts: Vec<u64> = (0..mechanism.bins() as u64).map(|bin| 3 + bin * bin).collect();
        let before = mechanism.measure(&counts);
        let of_step = |bin: usize, change: i64| -> f64 {
            let mut neighbour = counts.clone();
            neighbour[bin] = neighbour[bin].saturating_add_signed(change);
            cost(groups, &before, &mechanism.measure(&neighbour))
        };
        let costs = (0..counts.len()).flat_map(|bin| [of_step(bin, 1), of_step(bin, -1)]);
        let largest = costs.fold(0.0, f64::max);
        let (Loss::Epsilon(declared) | Loss::Rho(declared)) = mechanism.measurements().loss();
        let ratio = largest / declared;
        assert!((1.0 - 1e-12..=1.0 + 1e-14).contains(&ratio), "{}: {ratio}", case.name);
        let measurements: usize = groups.iter().map(|group| group.measurements).sum();
        assert_eq!(before.len(), measurements, "{}", case.name);
    }
}

/// Every choice of up to k bins for the rows of one unit, more than once if need be.
#[test]
fn the_rows_of_a_unit_cost_at_most_k_times_an_epsilon_and_k_squared_times_a_rho() {
    for case in (1..=6).flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let groups = mechanism.measurements().groups();
        let bins = mechanism.bins();
        let empty = mechanism.measure(&vec![0; bins]);
        let laplace =
            |group: &MeasurementGroup| matches!(group.noise, MeasurementNoise::Laplace(_));
        let mixed =
            matches!(mechanism.measurements().loss(), Loss::Rho(_)) && groups.iter().any(laplace);
        // the tables that have so many rows, each once
        let mut tables = vec![vec![0u64; bins]];
        for rows in 1..=3 {
            let after_last = |table: &Vec<u64>| {
                let last = table.iter().rposition(|count| *count > 0).unwrap_or(0);
                (last..bins).map(|bin| (table.clone(), bin)).collect::<Vec<_>>()
            };
            let one_more = |(mut table, bin): (Vec<u64>, usize)| {
                table[bin] += 1;
                table
            };
            tables = tables.iter().flat_map(after_last).map(one_more).collect();
            let costs = tables.iter().map(|unit| cost(groups, &empty, &mechanism.measure(unit)));
            let largest = costs.fold(0.0, f64::max);
            let allowed = match mechanism.measurements().loss() {
                Loss::Epsilon(epsilon) => epsilon * f64::from(rows),
                Loss::Rho(rho) => rho * f64::from(rows * rows),
            };
            let ratio = largest / allowed;
            assert!(ratio <= 1.0 + 1e-14, "{}: {rows} {ratio}", case.name);
            // the rho of discrete Laplace noise grows less than with the square
            assert!(mixed || ratio >= 1.0 - 1e-12, "{}: {rows} {ratio}", case.name);
        }
    }
}

/// Questions of up to two ranges, every row: what is measured are cells, of which a row moves one
/// by 1, and a limit for the counts moves none further.
#[test]
fn a_row_moves_one_cell_by_one() {
    let bounds = BinBounds::new(-2, 3).unwrap();
    let ends: Vec<Range<usize>> =
        Workload::All.ranges(bounds.bins()).chain(std::iter::once(0..0)).collect();
    let rows = (-9..9).chain([i64::MIN, i64::MAX]);
    for row in rows {
        for before in [0, 1, u64::MAX >> 4] {
            let mut bins = Bins::empty(bounds);
            (bounds.lo()..bounds.hi()).for_each(|bin| bins.add(bin, before));
            let mut neighbour = bins.clone();
            neighbour.add(row, 1);
            for (i, first) in ends.iter().enumerate() {
                for second in &ends[i..] {
                    let cells = RangeCells::of(&[first.clone(), second.clone()], bounds.bins());
                    let distances = |limit: u64| -> Vec<u64> {
                        let sums = [&bins, &neighbour].map(|bins| cells.sums(bins.counts()));
                        let [here, there] = &sums;
                        let pairs = here.iter().zip(there);
                        pairs
                            .map(|(a, b)| b.min(&limit) - a.min(&limit))
                            .filter(|d| *d > 0)
                            .collect()
                    };
                    assert_eq!(distances(u64::MAX), [1], "{row} {first:?} {second:?}");
                    for limit in 0..4 {
                        assert!(distances(limit).iter().sum::<u64>() <= 1);
                    }
                }
            }
        }
    }
}

#[test]
fn the_largest_counts_are_measured_without_an_overflow() {
    for case in SIZES.into_iter().flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let largest = mechanism.largest_count();
        assert!(largest >= 1 << 24, "{}: {largest}", case.name);
        let bins = mechanism.bins();
        let one = |bin| {
            let mut counts = vec![0; bins];
            counts[bin] = largest;
            mechanism.measure(&counts)
        };
        let columns: Vec<Vec<i64>> = (0..bins).map(one).collect();
        let all = mechanism.measure(&vec![largest; bins]);
        for (row, &measured) in all.iter().enumerate() {
            let sum: i128 = columns.iter().map(|column| i128::from(column[row])).sum();
            assert_eq!(sum, i128::from(measured), "{}", case.name);
            let magnitudes: i128 = columns.iter().map(|c| i128::from(c[row]).abs()).sum();
            assert!(magnitudes <= 1 << 62, "{}: {magnitudes}", case.name);
        }
    }
}

/// 3,000 releases: of each mechanism over 64 bins and 20 ranges, no mean of the errors is 7 of its
/// standard deviations off (probability below 1e-11), no mean of their squares is 7 sqrt(2 / 3000)
/// off (below 1e-7 by the chi-squared distribution's tail exp(-1500 (d - ln(1 + d))), d = 0.18, for
/// noise whose kurtosis is a Gaussian's; sums with discrete Laplace noise have up to 6 for 3).
#[test]
fn errors_are_as_stated() {
    let (bins, releases) = (64, 3_000);
    let ranges: Vec<Range<usize>> = [0..64, 0..1, 63..64, 31..33, 0..32, 0..33, 5..60, 17..18]
        .into_iter()
        .chain((0..12).map(|i| i * 5..(i * 5 + 3 + i * i % 37).min(64)))
        .collect();
    let mut words = words_from_system().unwrap();
    let counts: Vec<u64> =
        (0..bins as u64).map(|bin| 1 + bin * bin % 7 + 1_000 * u64::from(bin == 2)).collect();
    let words_of = ["flat", "tree", "tree:3", "tree_consistent:3", "tree_consistent", "quad"];
    let pure = words_of.into_iter().chain(["wavelet"]).map(|word| (word, 0.0));
    let gaussian = RangeMethod::ALL.iter().filter(|method| method.is_gaussian());
    let gaussian = gaussian.map(|method| method.word()).chain([
        "cascade:3",
        "optimal:prefix",
        "minimax:prefix",
    ]);
    for (word, delta) in pure.chain(gaussian.map(|word| (word, 1e-6))) {
        let plan = || RangePlan::new(asked::ranges(bins, 1.0, delta, word).unwrap()).unwrap();
        let variances: Vec<f64> =
            ranges.iter().map(|range| plan().mechanism().variance(range.clone())).collect();
        let mut moments = vec![(0.0, 0.0); ranges.len()];
        for _ in 0..releases {
            let release = Receipt::uncharged(plan()).release(&counts, &mut words);
            for ((range, variance), (sum, squares)) in
                ranges.iter().zip(&variances).zip(&mut moments)
            {
                let truth: u64 = counts[range.clone()].iter().sum();
                let error = (release.sum(range.clone()) - truth as f64) / variance.sqrt();
                *sum += error;
                *squares += error * error;
            }
        }
        let releases = f64::from(releases);
        // the variance of a square is 2 for a Gaussian, and up to 5 for a discrete Laplace draw
        let spread: f64 = if delta > 0.0 { 2.0 } else { 5.5 };
        for (range, (sum, squares)) in ranges.iter().zip(moments) {
            assert!(sum.abs() < 7.0 * releases.sqrt(), "{word} {range:?}: sum {sum}");
            let off = squares / releases - 1.0;
            let limit = 7.0 * (spread / releases).sqrt();
            assert!(off.abs() < limit, "{word} {delta} {range:?}: {off}");
        }
    }
}

#[test]
fn the_nodes_are_those_of_a_binary_tree() {
    let nodes: Vec<Range<usize>> = Workload::Nodes.ranges(5).collect();
    let expected = [0..1, 1..2, 2..3, 3..4, 4..5, 0..2, 2..4, 4..5, 0..4, 4..5, 0..5];
    assert_eq!(nodes, expected);
    assert!(Workload::Nodes.ranges(1).eq(std::iter::once(0..1)));
    assert_eq!(Workload::Nodes.ranges(1024).count(), 2047);
}
