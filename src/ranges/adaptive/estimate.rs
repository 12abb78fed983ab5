//! The posterior's mean of the bins, all together.
//!
//! Let x^ be the unbiased estimates of the bins, C the covariance of their noise, H the differences
//! and P what is taken for known of them: that they are independent with these variances, and
//! nothing else is known. Then the posterior of the bins, if noise were normal, has the mean
//!
//! x = x^ - C H' (P + H C H')^-1 H x^
//!
//! and the covariance C - C H' (P + H C H')^-1 H C. (This form is that of kriging; the other one, with
//! C's inverse, needs what strategies of trees do not have.) A product with C takes a few transforms
//! or a run over the tree, so the equations are solved by conjugate gradients.

use super::differences::Differences;
use super::monotone::make_monotone;
use super::prior::{Learned, Measured, Observed, learned};
use crate::ranges::combined::CombinedMechanism;
use crate::work::{Paced, poll};
use std::ops::Range;

/// What is left of the equations' residual, in units of the right side.
const TOLERANCE: f64 = 1e-6;
/// For a variance, of which the error is of the order of the residual's square, and upwards.
const VARIANCE_TOLERANCE: f64 = 1e-2;

/// In squared rows: what is known better is taken for known so well.
const LEAST_VARIANCE: f64 = 1e-9;

/// More than releases need: some 20, and where bins are very unevenly wide some 50.
const MOST_STEPS: usize = 200;

/// The estimates of the bins that see their shape, with their variances.
pub(in crate::ranges) struct AdaptiveEstimate<'a> {
    mechanism: &'a CombinedMechanism,
    differences: Differences,
    /// What the variances of sums are made of.
    spread: Prior,
    /// The sums of the first 0 ..= N bins, each at least the one before.
    sums: Vec<f64>,
}

impl<'a> AdaptiveEstimate<'a> {
    /// `unbiased`: of the bins. `widths`: theirs. None for a mechanism whose answers do not add
    /// up, and for estimates that no release has.
    pub(in crate::ranges) fn new(
        mechanism: &'a CombinedMechanism,
        unbiased: &[f64],
        widths: &[f64],
    ) -> Option<AdaptiveEstimate<'a>> {
        let differences = Differences::new(widths);
        let (mean, spread) = priors(&differences, mechanism, unbiased);
        let mut estimate = AdaptiveEstimate { mechanism, differences, spread, sums: Vec::new() };
        let of_noise = estimate.solve(&mean, estimate.differences.of(unbiased), TOLERANCE)?;
        let noise = mechanism.covariances(&estimate.differences.transposed(&of_noise))?;
        let mut sum = 0.0;
        estimate.sums.push(sum);
        for (unbiased, noise) in unbiased.iter().zip(noise) {
            sum += unbiased - noise;
            estimate.sums.push(sum);
        }
        // of a forged release they may be no numbers
        if !estimate.sums.iter().all(|sum| sum.is_finite()) {
            return None;
        }
        make_monotone(&mut estimate.sums[1..]);
        Some(estimate)
    }

    /// N.
    pub(in crate::ranges) fn bins(&self) -> usize {
        self.mechanism.bins()
    }

    /// Of a range within 0 .. N.
    pub(in crate::ranges) fn sum(&self, range: Range<usize>) -> f64 {
        self.sums[range.end] - self.sums[range.start]
    }

    /// Of the truth of a range within 0 .. N, after all that was measured, but that no count is below 0.
    pub(in crate::ranges) fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let weights: Vec<f64> =
            (0..self.mechanism.bins()).map(|bin| f64::from(range.contains(&bin))).collect();
        let learned = self.mechanism.covariances(&weights).map(|noise| self.learned(&noise));
        (self.mechanism.variance(range) - learned.unwrap_or(0.0)).max(0.0)
    }

    /// The same of the sum of the bins, each times its weight.
    pub(in crate::ranges) fn variance_of(&self, weights: &[f64]) -> f64 {
        // there are covariances, or there were no estimate
        let noise = self.mechanism.covariances(weights);
        noise.map_or(0.0, |noise| (dot(weights, &noise) - self.learned(&noise)).max(0.0))
    }

    /// What a variance is less for what is taken for known. `noise`: the covariances of the bins'
    /// noise with that of the sum.
    fn learned(&self, noise: &[f64]) -> f64 {
        let noise = self.differences.of(noise);
        let solution = self.solve(&self.spread, noise.clone(), VARIANCE_TOLERANCE);
        solution.map_or(0.0, |solution| dot(&noise, &solution))
    }

    /// (P + H C H') y = `right`, by conjugate gradients, its diagonal as the preconditioner. None if
    /// that is beyond what floating point has, of a forged release.
    fn solve(&self, prior: &Prior, right: Vec<f64>, tolerance: f64) -> Option<Vec<f64>> {
        let mut solution = vec![0.0; right.len()];
        let precondition = |residual: &[f64]| -> Vec<f64> {
            residual.iter().zip(&prior.diagonal).map(|(r, d)| r / d).collect()
        };
        let mut residual = right;
        let mut conditioned = precondition(&residual);
        let mut direction = conditioned.clone();
        let mut square = dot(&residual, &conditioned);
        let enough = square * tolerance * tolerance;
        for _ in 0..MOST_STEPS {
            if square <= enough {
                break;
            }
            if !square.is_finite() {
                return None;
            }
            poll();
            let product = self.times(prior, &direction)?;
            let step = square / dot(&direction, &product);
            add(&mut solution, step, &direction);
            add(&mut residual, -step, &product);
            conditioned = precondition(&residual);
            let next = dot(&residual, &conditioned);
            let kept = next / square;
            direction.iter_mut().zip(&conditioned).for_each(|(d, c)| *d = c + kept * *d);
            square = next;
        }
        Some(solution)
    }

    fn times(&self, prior: &Prior, vector: &[f64]) -> Option<Vec<f64>> {
        let noise = self.mechanism.covariances(&self.differences.transposed(vector))?;
        let mut product = self.differences.of(&noise);
        product
            .iter_mut()
            .zip(vector)
            .zip(&prior.variances)
            .for_each(|((value, v), p)| *value += p * v);
        Some(product)
    }
}

/// What is taken for known of the differences before anything is measured: they are independent.
struct Prior {
    variances: Vec<f64>,
    /// And what is measured of it, with noise: that together, of each alone.
    diagonal: Vec<f64>,
}

impl Prior {
    /// `parts`: of the noise's variances.
    fn new(measured: &[Measured], parts: impl Iterator<Item = f64>) -> Prior {
        let variances = measured.iter().zip(parts).map(|(measured, part)| measured.variance * part);
        let variances: Vec<f64> = variances.collect();
        let diagonal = variances.iter().zip(measured).map(|(p, m)| p + m.variance).collect();
        Prior { variances, diagonal }
    }
}

/// What the mean is made with, and what variances are.
///
/// Level by level from the root down: how large a difference may be depends on its node's size, which
/// is what the levels above make of it. The unbiased estimate of the size would not do where there are
/// few rows. Its square is larger than that of the size by the noise's variance, of which most nodes
/// then have nearly nothing else; and taken for the size, that allows for differences that no node of
/// few rows can have, so that they are drawn too little towards each other and intervals are too wide.
fn priors(
    differences: &Differences,
    mechanism: &CombinedMechanism,
    unbiased: &[f64],
) -> (Prior, Prior) {
    let measured = measured(differences, mechanism, unbiased);
    let total = Size::new(unbiased.iter().sum(), mechanism.variance(0..unbiased.len()));
    let mut sizes = vec![total];
    // the rows of the last level come first here
    let mut levels = Vec::with_capacity(differences.levels().len());
    for level in differences.levels().iter().rev() {
        poll();
        let rows = measured[level.rows.clone()].iter().zip(&sizes);
        let rows = rows.map(|(measured, size)| measured.of(size.square())).collect::<Vec<_>>();
        let of_level = learned(&rows);
        sizes = halves(&sizes, &rows, &of_level, &level.weights);
        levels.push(of_level);
    }
    let of_all: Vec<Learned> = levels.into_iter().rev().flatten().collect();
    let prior = |part: fn(Learned) -> f64| Prior::new(&measured, of_all.iter().map(|l| part(*l)));
    (prior(Learned::for_mean), prior(Learned::for_variance))
}

/// What is known of the sum of a node's bins from the levels above, which is not below 0.
#[derive(Debug, Clone, Copy)]
struct Size {
    mean: f64,
    variance: f64,
}

impl Size {
    fn new(mean: f64, variance: f64) -> Size {
        Size { mean: mean.max(0.0), variance }
    }

    /// The mean of the size's square.
    fn square(self) -> f64 {
        self.mean * self.mean + self.variance
    }
}

/// The sizes of the nodes one level below: with l + r = s and a l - b r = d, where a + b = 2, the
/// halves are (b s + d) / 2 and (a s - d) / 2. That s and d are correlated, mostly a little, is left out.
fn halves(
    nodes: &[Size],
    rows: &[Observed],
    learned: &[Learned],
    weights: &[(f64, f64)],
) -> Vec<Size> {
    let mut halves = Vec::with_capacity(2 * nodes.len());
    for (((size, row), learned), (a, b)) in nodes.iter().zip(rows).zip(learned).zip(weights).paced()
    {
        let (mean, variance) = learned.difference(row);
        let half = |weight: f64, mean: f64| {
            let variance = weight * weight * size.variance + variance;
            Size::new((weight * size.mean + mean) / 2.0, variance / 4.0)
        };
        halves.extend([half(*b, mean), half(*a, -mean)]);
    }
    // the last node may be its only half
    halves.extend(nodes.get(rows.len()));
    halves
}

/// The differences of the estimates, with their noise. `unbiased`: of the bins.
fn measured(
    differences: &Differences,
    mechanism: &CombinedMechanism,
    unbiased: &[f64],
) -> Vec<Measured> {
    let estimates = differences.of(unbiased);
    let mut measured = Vec::with_capacity(estimates.len());
    let mut halves = mechanism.variances_of_blocks(1);
    for level in differences.levels() {
        let nodes = mechanism.variances_of_blocks(level.bins);
        let rows = estimates[level.rows.clone()].iter().zip(&level.weights).enumerate();
        for (node, (difference, (a, b))) in rows {
            let (left, right, both) = (halves[2 * node], halves[2 * node + 1], nodes[node]);
            // the covariance of the halves is (both - left - right) / 2
            let variance = a * a * left + b * b * right - a * b * (both - left - right);
            let variance = variance.max(LEAST_VARIANCE);
            measured.push(Measured { difference: *difference, variance });
        }
        halves = nodes;
    }
    measured
}

pub(in crate::ranges) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(vector: &mut [f64], factor: f64, other: &[f64]) {
    vector.iter_mut().zip(other).for_each(|(value, other)| *value += factor * other);
}

#[cfg(test)]
mod dense {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    impl AdaptiveEstimate<'_> {
        /// By the formulas, with whole matrices: the sums of the first bins, and the covariances of all.
        pub(in crate::ranges::adaptive) fn dense(
            &self,
            unbiased: &[f64],
        ) -> (Vec<f64>, Vec<Vec<f64>>) {
            let bins = self.bins();
            let unit = |bin: usize| -> Vec<f64> {
                (0..bins).map(|other| f64::from(u8::from(other == bin))).collect()
            };
            let noise = |bin| self.mechanism.covariances(&unit(bin)).expect("an estimate");
            let c = DMatrix::from_fn(bins, bins, |i, j| noise(j)[i]);
            let rows = self.differences.len();
            let h = DMatrix::from_fn(rows, bins, |i, j| self.differences.of(&unit(j))[i]);
            let learned = |prior: &Prior| {
                let p = DMatrix::from_diagonal(&DVector::from_column_slice(&prior.variances));
                let inverse = (p + &h * &c * h.transpose()).try_inverse().expect("definite");
                &c * h.transpose() * inverse * &h
            };
            let x = DVector::from_column_slice(unbiased);
            let (mean, spread) = priors(&self.differences, self.mechanism, unbiased);
            let mean = &x - learned(&mean) * &x;
            let covariance = &c - learned(&spread) * &c;
            let rows = covariance.row_iter().map(|row| row.iter().copied().collect());
            let mut sum = 0.0;
            let mut sums: Vec<f64> = std::iter::once(0.0)
                .chain(mean.iter().map(|bin| {
                    sum += bin;
                    sum
                }))
                .collect();
            make_monotone(&mut sums[1..]);
            (sums, rows.collect())
        }
    }
}
