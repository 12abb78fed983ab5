use super::contrasts::contrast_weight;
use crate::noise::DiscreteGaussian;
use crate::ranges::{
    Calibration, Cascade, CountMechanism, MeasurementNoise, RangeMechanism, TreeOverBins,
};
use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::{One, Zero};
use proptest::prelude::*;
use std::ops::Range;

type Exact = Ratio<BigInt>;

fn exact(value: Ratio<u64>) -> Exact {
    Ratio::new(BigInt::from(*value.numer()), BigInt::from(*value.denom()))
}

fn whole(value: i64) -> Exact {
    Ratio::from(BigInt::from(value))
}

fn binary(height: u32) -> TreeOverBins {
    TreeOverBins::balanced(1 << height, 2).unwrap()
}

fn with_sigma(tree: TreeOverBins, sigma: f64) -> Cascade {
    let square = tree.sensitivity_squared();
    let square = *square.numer() as f64 / *square.denom() as f64;
    Cascade::new(tree, &Calibration::together(square / (2.0 * sigma * sigma))).unwrap()
}

/// The strategy: row i has what a row of the data in each bin adds to integer i.
fn strategy(cascade: &Cascade) -> Vec<Vec<i64>> {
    let bins = cascade.tree().bins();
    let column = |bin| {
        let mut counts = vec![0; bins];
        counts[bin] = 1;
        cascade.measure(&counts)
    };
    let columns: Vec<_> = (0..bins).map(column).collect();
    (0..bins).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
}

/// The noise of each integer, as what the documentation says of its variance over s^2.
fn weights(tree: &TreeOverBins) -> Vec<Exact> {
    let mut weights = vec![Exact::one()];
    let most = (0..tree.nodes()).map(|node| tree.children(node).len()).max().unwrap();
    for m in 2..=most {
        let nodes = (0..tree.nodes()).filter(|&node| tree.children(node).len() == m).count();
        weights.extend((1..m).flat_map(|j| vec![exact(contrast_weight(m, j)); nodes]));
    }
    weights
}

fn inverse(matrix: &[Vec<Exact>]) -> Vec<Vec<Exact>> {
    let n = matrix.len();
    let unit = |i: usize, j| if i == j { Exact::one() } else { Exact::zero() };
    let mut rows: Vec<Vec<Exact>> = (0..n)
        .map(|i| matrix[i].iter().cloned().chain((0..n).map(|j| unit(i, j))).collect())
        .collect();
    for column in 0..n {
        let pivot = (column..n).find(|&row| !rows[row][column].is_zero()).unwrap();
        rows.swap(column, pivot);
        let lead = rows[column][column].clone();
        let pivot_row: Vec<Exact> = rows[column].iter().map(|entry| entry / &lead).collect();
        for row in (0..n).filter(|&row| row != column) {
            let factor = rows[row][column].clone();
            if !factor.is_zero() {
                for (entry, pivot) in rows[row].iter_mut().zip(&pivot_row) {
                    *entry -= &factor * pivot;
                }
            }
        }
        rows[column] = pivot_row;
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// In units of s^2, and exact: B^-1 W B^-T for the strategy B and the noise's weights W.
fn covariance(cascade: &Cascade) -> Vec<Vec<Exact>> {
    let strategy: Vec<Vec<Exact>> =
        strategy(cascade).into_iter().map(|row| row.into_iter().map(whole).collect()).collect();
    let (inverse, weights) = (inverse(&strategy), weights(cascade.tree()));
    let entry = |a: &[Exact], b: &[Exact]| {
        let products = a.iter().zip(b).zip(&weights);
        products.map(|((a, b), weight)| a * b * weight).sum::<Exact>()
    };
    inverse.iter().map(|a| inverse.iter().map(|b| entry(a, b)).collect()).collect()
}

fn sum_over(covariance: &[Vec<Exact>], range: Range<usize>) -> Exact {
    covariance[range.clone()].iter().flat_map(|row| &row[range.clone()]).sum()
}

/// Definition 3.1: two copies of the next smaller matrix, and -1/2 over the square of the half's
/// size, all ones, between them.
fn definition(height: u32) -> Vec<Vec<Exact>> {
    let Some(below) = height.checked_sub(1) else { return vec![vec![Exact::one()]] };
    let (half, size) = (definition(below), 1usize << below);
    let apart = Ratio::new(BigInt::from(-1), BigInt::from(2 * size * size));
    let entry = |i: usize, j: usize| {
        if i / size == j / size { half[i % size][j % size].clone() } else { apart.clone() }
    };
    (0..2 * size).map(|i| (0..2 * size).map(|j| entry(i, j)).collect()).collect()
}

fn some_trees() -> Vec<TreeOverBins> {
    let balanced = [(1, 2), (2, 2), (3, 2), (5, 2), (7, 3), (16, 4), (17, 16), (23, 5), (12, 16)];
    let listed: [&[u32]; 4] = [
        &[3, 0, 2, 1, 0, 0, 0],
        &[1, 1, 2, 0, 3, 0, 0, 0],
        &[2, 2, 2, 2, 0, 0, 0, 0, 0],
        &[2, 5, 0, 0, 1, 4, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    let balanced = balanced.map(|(bins, fan_out)| TreeOverBins::balanced(bins, fan_out).unwrap());
    let listed =
        listed.map(|listing| TreeOverBins::from_fan_outs(listing.iter().copied()).unwrap());
    balanced.into_iter().chain(listed).collect()
}

#[test]
fn the_covariance_is_the_papers() {
    for height in 0..=6 {
        let cascade = with_sigma(binary(height), 1.0);
        assert_eq!(covariance(&cascade), definition(height), "{height}");
        let sensitivity = cascade.tree().sensitivity_squared();
        assert_eq!(sensitivity, Ratio::new(3 + u64::from(height), 3));
    }
}

#[test]
fn every_node_of_every_tree_has_the_same_variance() {
    for tree in some_trees() {
        let covariance = covariance(&with_sigma(tree.clone(), 1.0));
        for span in tree.node_bins() {
            assert!(sum_over(&covariance, span).is_one(), "{tree:?}");
        }
    }
}

#[test]
fn variances_are_those_of_the_covariance() {
    let sigma = 1e4; // where the discrete Gaussian's variance is sigma^2
    for tree in some_trees().into_iter().chain([binary(6)]) {
        let cascade = with_sigma(tree, sigma);
        let covariance = covariance(&cascade);
        let bins = cascade.tree().bins();
        for (lo, hi) in (0..bins).flat_map(|lo| (lo + 1..=bins).map(move |hi| (lo, hi))) {
            let sum = sum_over(&covariance, lo..hi);
            let dense = sum.numer().to_string().parse::<f64>().unwrap()
                / sum.denom().to_string().parse::<f64>().unwrap();
            let structured = cascade.variance(lo..hi) / (sigma * sigma);
            assert!((structured - dense).abs() < 1e-12 * dense, "{lo}..{hi} {structured} {dense}");
        }
    }
}

/// rho, computed with integers from the sigmas that are sampled, is at most what was given.
#[test]
fn the_noise_keeps_the_budget() {
    let rational = |value: f64| {
        let bits = value.to_bits();
        let mantissa = BigInt::from((bits & ((1 << 52) - 1)) | (1 << 52));
        Ratio::new(mantissa, BigInt::one() << (1075 - (bits >> 52)))
    };
    for (tree, rho) in
        some_trees().into_iter().zip([0.003, 0.7, 0.024350000001, 2.0].iter().cycle())
    {
        let cascade = Cascade::new(tree, &Calibration::together(*rho)).unwrap();
        let strategy = strategy(&cascade);
        let laws: Vec<DiscreteGaussian> = cascade
            .measurements()
            .groups()
            .iter()
            .flat_map(|group| match &group.noise {
                MeasurementNoise::Gaussian(law) => vec![law.clone(); group.measurements],
                MeasurementNoise::Laplace(_) => vec![],
            })
            .collect();
        assert_eq!(laws.len(), strategy.len());
        let losses = (0..cascade.tree().bins()).map(|bin| {
            let terms = strategy.iter().zip(&laws).map(|(row, law)| {
                let ratio = whole(row[bin]) / rational(law.sigma());
                &ratio * &ratio / whole(2)
            });
            terms.sum::<Exact>()
        });
        let largest = losses.max().unwrap();
        assert!(largest <= rational(*rho));
        assert!(largest * whole(1 << 40) >= rational(*rho) * whole((1 << 40) - 1));
    }
}

proptest! {
    #[test]
    fn estimates_of_nodes_are_the_sums_of_their_bins(
        counts in prop::collection::vec(0u64..1_000_000, 1..60), fan_out in 2u32..9,
        seed in any::<u32>(),
    ) {
        let tree = TreeOverBins::balanced(counts.len(), fan_out).unwrap();
        let cascade = with_sigma(tree, 1.0);
        let mut noisy = cascade.measure(&counts);
        for (i, value) in noisy.iter_mut().enumerate() {
            *value += (i as i64 * i64::from(seed)) % 1001 - 500;
        }
        let nodes = cascade.contrasts.node_estimates(&noisy);
        let sums = cascade.reconstruct(&noisy);
        for (node, span) in cascade.tree().node_bins().into_iter().enumerate() {
            let sum: f64 = sums[span.end] - sums[span.start];
            // the quotients of a binary tree are exact
            let tolerance = if fan_out == 2 { 0.0 } else { 1e-6 };
            prop_assert!((nodes[node] - sum).abs() <= tolerance);
        }
    }
}
