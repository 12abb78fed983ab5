//! What every mechanism promises, against dense linear algebra on small ones.

use super::*;
use std::ops::Range;

fn laplace(epsilon: f64) -> Noise {
    Noise::new(NoiseParameter::Laplace { sensitivity: 1, epsilon }).unwrap()
}

fn gaussian(sigma: f64) -> Noise {
    Noise::new(NoiseParameter::Gaussian { sigma }).unwrap()
}

/// Different for every level, and of both distributions.
fn uneven(levels: usize) -> Vec<Noise> {
    let one = |i: usize| {
        if i.is_multiple_of(2) { laplace(0.3 + 0.17 * i as f64) } else { gaussian(7.0 / i as f64) }
    };
    (0..levels).map(one).collect()
}

struct Case {
    name: String,
    mechanism: Box<dyn RangeMechanism>,
    consistent: bool,
}

/// Every mechanism over so many bins, with equal and with uneven noise.
fn cases(bins: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, mechanism: Box<dyn RangeMechanism>, consistent: bool| {
        cases.push(Case { name: format!("{name} over {bins}"), mechanism, consistent });
    };
    for branching in 2..=(bins + 1).clamp(2, 7) {
        let shape = TreeShape::new(bins, branching);
        let levels = shape.height();
        for (kind, noise) in [("equal", vec![laplace(0.4); levels]), ("uneven", uneven(levels))] {
            let name = |method: &str| format!("{method}, b = {branching}, {kind} noise");
            add(name("tree"), Box::new(RawTree::new(shape, noise.clone())), false);
            add(name("consistent"), Box::new(ConsistentTree::new(shape, noise)), true);
        }
    }
    let levels = Wavelet::groups_over(bins);
    add("wavelet".into(), Box::new(Wavelet::new(bins, vec![gaussian(2.0); levels])), true);
    add("uneven wavelet".into(), Box::new(Wavelet::new(bins, uneven(levels))), true);
    cases
}

/// The measurements as a matrix, one row each, with the variances of their noise.
fn strategy(mechanism: &dyn RangeMechanism) -> (Vec<Vec<f64>>, Vec<f64>) {
    let bins = mechanism.bins();
    let columns: Vec<Vec<i64>> = (0..bins)
        .map(|bin| {
            let mut counts = vec![0; bins];
            counts[bin] = 1;
            mechanism.measure(&counts, &mut || {}).unwrap()
        })
        .collect();
    let rows = (0..columns[0].len())
        .map(|row| columns.iter().map(|column| column[row] as f64).collect())
        .collect();
    let variances = mechanism
        .groups()
        .into_iter()
        .flat_map(|group| vec![group.noise.variance(); group.measurements])
        .collect();
    (rows, variances)
}

/// The matrix of the answers to all ranges in terms of the measurements, one row per range.
fn answers(mechanism: &dyn RangeMechanism, measurements: usize) -> Vec<(Range<usize>, Vec<f64>)> {
    let columns: Vec<Vec<f64>> = (0..measurements)
        .map(|row| {
            let mut noisy = vec![0; measurements];
            noisy[row] = 1;
            mechanism.reconstruct(&noisy, &mut || {})
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
fn least_squares(strategy: &[Vec<f64>], variances: &[f64]) -> Vec<Vec<f64>> {
    let bins = strategy[0].len();
    let entry = |i: usize, j: usize| {
        strategy.iter().zip(variances).map(|(row, variance)| row[i] * row[j] / variance).sum()
    };
    inverse((0..bins).map(|i| (0..bins).map(|j| entry(i, j)).collect()).collect())
}

fn close(a: f64, b: f64) -> bool {
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
    }
}

#[test]
fn means_and_maxima_are_those_of_all_variances() {
    for case in (1..=40).flat_map(cases) {
        for workload in [Workload::All, Workload::Prefix, Workload::Nodes] {
            let ranges = workload.ranges(case.mechanism.bins());
            let summed = Spread::of(ranges.map(|range| case.mechanism.variance(range)));
            let stated = case.mechanism.spread(workload, &mut || {});
            assert!(
                close(summed.mean, stated.mean) && close(summed.max, stated.max),
                "{}, {workload:?}: {summed:?} {stated:?}",
                case.name
            );
        }
    }
}

#[test]
fn no_bin_moves_a_group_further_than_declared_and_some_bin_does_so_far() {
    for case in SIZES.into_iter().flat_map(cases) {
        let mechanism = case.mechanism.as_ref();
        let counts: Vec<u64> = (0..mechanism.bins() as u64).map(|bin| 3 + bin * bin).collect();
        let before = mechanism.measure(&counts, &mut || {}).unwrap();
        let mut furthest = vec![0.0f64; mechanism.groups().len()];
        for bin in 0..counts.len() {
            for change in [-1, 1] {
                let mut neighbour = counts.clone();
                neighbour[bin] = neighbour[bin].saturating_add_signed(change);
                let after = mechanism.measure(&neighbour, &mut || {}).unwrap();
                let mut first = 0;
                for (group, furthest) in mechanism.groups().iter().zip(&mut furthest) {
                    let own = first..first + group.measurements;
                    first = own.end;
                    let moved = before[own.clone()].iter().zip(&after[own]);
                    let moved = moved.map(|(a, b)| (a - b).abs() as f64);
                    let distance = match group.noise {
                        Noise::Laplace(_) => moved.sum::<f64>(),
                        Noise::Gaussian(_) => moved.map(|d| d * d).sum::<f64>().sqrt(),
                    };
                    assert!(distance <= group.sensitivity, "{}, bin {bin}", case.name);
                    *furthest = furthest.max(distance);
                }
                assert_eq!(first, after.len(), "{}", case.name);
            }
        }
        let declared: Vec<f64> = mechanism.groups().iter().map(|g| g.sensitivity).collect();
        assert_eq!(furthest, declared, "{}", case.name);
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
