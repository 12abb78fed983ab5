//! Correlated noise of equal variance on every node of a tree over the bins, with node sums that
//! are the sums of their children (Dharangutte, Gao, Gong, Wang 2025), in exact integers.
//!
//! # The noise
//!
//! The root has noise X of variance s^2. Where a node has m children and noise X, child i has
//! X/m + w_i, the w of covariance ((m+1)/m) (I - J/m) s^2, J all ones: they sum to X, and each has
//! variance s^2/m^2 + ((m+1)/m) (1 - 1/m) s^2 = s^2. For m = 2 that is X/2 +- sqrt(3)/2 Y; an only
//! child has its parent's noise.
//!
//! # The measurement
//!
//! The same, from integers: the total with noise of variance s^2 and, at every node, the Helmert
//! contrasts x_1 + ... + x_j - j x_{j+1} of the children's sums, j = 1 .. m - 1, with noise of
//! variance ((m+1)/m) j (j+1) s^2 each. Those are n integers for n bins. They determine the bins, going down, by
//! quotients with m and j (j+1): with the contrasts' vectors h_j, which are orthogonal, of
//! square length j (j+1) and orthogonal to the ones, child i is X/m + sum_j h_j[i] c_j / (j (j+1)),
//! and the noise of the second term has covariance ((m+1)/m) s^2 sum_j h_j h_j^T / |h_j|^2, where
//! the sum is the projection I - J/m.
//!
//! # The sensitivity
//!
//! A row in a bin adds 1 to the total, and at every ancestor h_j[i] to contrast j, i being the
//! child on the way. In units of the noise's variance over s^2 the square of the distance is
//!   1 + sum over ancestors of (m/(m+1)) sum_j h_j[i]^2 / (j (j+1)),
//! where sum_j h_j[i]^2 / |h_j|^2 = 1 - 1/m, again the projection's diagonal: whatever i is, an
//! ancestor adds (m-1)/(m+1). For a perfect binary tree of height k that is 1 + k/3.

mod spread;
mod streaming;
#[cfg(test)]
mod tests;
mod tree;

pub use streaming::{MAX_HEIGHT, StreamError, StreamingCascade};
pub use tree::{MAX_DEPTH, MAX_FAN_OUT, Tree, TreeError};

use super::{TooManyRows, check_total};
use crate::noise::{DiscreteGaussian, ScaleError};
use crate::privacy::gaussian_sigma;
use num_rational::Ratio;
use std::iter::once;
use std::ops::Range;

/// The cascade over one tree, with its noise.
#[derive(Debug, Clone)]
pub struct Cascade {
    tree: Tree,
    /// The total's noise, then that of the contrasts 1 .. m - 1 for each number of children m.
    laws: Vec<DiscreteGaussian>,
    /// Of the laws.
    variances: Vec<f64>,
    /// By number of children m, the law of contrast 1.
    first_law: Vec<usize>,
}

/// The variance of contrast j of m children, in units of the total's.
fn contrast_weight(m: usize, j: usize) -> Ratio<u64> {
    Ratio::new(((m + 1) * j * (j + 1)) as u64, m as u64)
}

impl Cascade {
    /// A release is `rho`-zCDP.
    ///
    /// Errors: a noise that cannot be sampled.
    pub fn new(tree: Tree, rho: f64) -> Result<Cascade, ScaleError> {
        let mut used = [false; MAX_FAN_OUT as usize + 1];
        (0..tree.nodes()).for_each(|node| used[tree.children(node).len()] = true);
        let mut weights = vec![Ratio::from(1)];
        let first_law = used.iter().enumerate().map(|(m, &used)| {
            let first = weights.len();
            weights.extend((1..m).filter(|_| used).map(|j| contrast_weight(m, j)));
            first
        });
        let first_law = first_law.collect();
        let square = tree.sensitivity_squared();
        let laws = weights.iter().map(|w| DiscreteGaussian::new(gaussian_sigma(square * w, rho)));
        let laws: Vec<_> = laws.collect::<Result<_, _>>()?;
        let variances = laws.iter().map(DiscreteGaussian::variance).collect();
        Ok(Cascade { tree, laws, variances, first_law })
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The integers that noise is added to, one per bin of the tree: the total, then every node's
    /// contrasts, breadth first.
    ///
    /// `counts`: as many as the tree has bins. Errors: so many rows that a contrast could overflow.
    pub fn measure(&self, counts: &[u64]) -> Result<Vec<i64>, TooManyRows> {
        // a contrast is at most 1024 times the total, and noise needs room, too
        check_total(counts, 1 << 52)?;
        let tree = &self.tree;
        let mut sums = vec![0i64; tree.nodes()];
        for node in (0..tree.nodes()).rev() {
            sums[node] = match tree.children(node) {
                leaf if leaf.is_empty() => counts[tree.first_bin(node)] as i64,
                children => sums[children].iter().sum(),
            };
        }
        let mut measured = Vec::with_capacity(tree.bins());
        measured.push(sums[0]);
        for node in 0..tree.nodes() {
            let mut before = 0;
            for (j, &sum) in sums[tree.children(node)].iter().enumerate() {
                if j > 0 {
                    measured.push(before - j as i64 * sum);
                }
                before += sum;
            }
        }
        Ok(measured)
    }

    /// The noise of each integer that is measured, in their order.
    pub fn noise(&self) -> impl Iterator<Item = &DiscreteGaussian> {
        let contrasts = (0..self.tree.nodes()).flat_map(|node| {
            let m = self.tree.children(node).len();
            let first = self.first_law[m];
            &self.laws[first..first + m.saturating_sub(1)]
        });
        once(&self.laws[0]).chain(contrasts)
    }

    /// The estimate of every node's sum, breadth first, from the noisy integers.
    ///
    /// Unbiased, and equal to the sum of the children's up to the roundoff of `f64`. In binary
    /// trees of depth k the quotients are dyadic, and exact while integers are below 2^(52 - k).
    pub fn node_estimates(&self, noisy: &[i64]) -> Vec<f64> {
        let tree = &self.tree;
        let mut estimates = vec![0.0; tree.nodes()];
        estimates[0] = noisy[0] as f64;
        let mut rest = &noisy[1..];
        for node in 0..tree.nodes() {
            let children = tree.children(node);
            let (contrasts, later) = rest.split_at(children.len().saturating_sub(1));
            rest = later;
            let share = estimates[node] / children.len() as f64;
            // child j has h_j = -j, and 1 in all the contrasts after it
            let mut after = 0.0;
            for (j, child) in children.enumerate().rev() {
                estimates[child] = share + after;
                if j > 0 {
                    let contrast = contrasts[j - 1] as f64;
                    estimates[child] -= contrast / (j + 1) as f64;
                    after += contrast / (j * (j + 1)) as f64;
                }
            }
        }
        estimates
    }

    /// The estimates of the bins, from the noisy integers.
    pub fn estimates(&self, noisy: &[i64]) -> Vec<f64> {
        let nodes = self.node_estimates(noisy);
        let mut bins = vec![0.0; self.tree.bins()];
        for (node, estimate) in nodes.into_iter().enumerate() {
            if self.tree.is_leaf(node) {
                bins[self.tree.first_bin(node)] = estimate;
            }
        }
        bins
    }

    /// The variance of the estimate of the sum over `range`, exact for the discrete noise; parts
    /// outside of the bins count nothing. Time: fan-out times depth.
    pub fn variance(&self, range: Range<usize>) -> f64 {
        let bins = 0..self.tree.bins();
        let range = range.start..range.end.min(bins.end);
        if range.is_empty() {
            return 0.0;
        }
        let mut variance = 0.0;
        let share = self.share_of(0, bins, &range, &mut variance);
        variance + share * share * self.variances[0]
    }

    /// The part of the estimates in `range` that a node hands down to them, as a multiple of its
    /// own estimate; what the contrasts below it add to the variance goes to `variance`.
    ///
    /// Those are independent of the node's estimate and of one another.
    fn share_of(
        &self,
        node: usize,
        span: Range<usize>,
        range: &Range<usize>,
        variance: &mut f64,
    ) -> f64 {
        if range.start <= span.start && span.end <= range.end {
            return 1.0;
        }
        if range.end <= span.start || span.end <= range.start {
            return 0.0;
        }
        let shares = self
            .tree
            .spans(node, span.end)
            .map(|(c, span)| self.share_of(c, span, range, variance));
        let shares: Vec<f64> = shares.collect();
        self.combine(&shares, variance)
    }

    /// The share of a node from its children's.
    fn combine(&self, shares: &[f64], variance: &mut f64) -> f64 {
        let laws = self.first_law[shares.len()]..;
        let mut before = shares[0];
        for ((j, share), law) in (1..).zip(&shares[1..]).zip(laws) {
            // h_j . shares / |h_j|^2
            let factor = (before - j as f64 * share) / (j * (j + 1)) as f64;
            *variance += factor * factor * self.variances[law];
            before += share;
        }
        before / shares.len() as f64
    }

    /// The variance of the sum of the bins' estimates times `weights`.
    fn weighted_variance(&self, weights: &[f64]) -> f64 {
        let mut shares = vec![0.0; self.tree.nodes()];
        let mut variance = 0.0;
        for node in (0..self.tree.nodes()).rev() {
            shares[node] = match self.tree.children(node) {
                leaf if leaf.is_empty() => weights[self.tree.first_bin(node)],
                children => self.combine(&shares[children], &mut variance),
            };
        }
        variance + shares[0] * shares[0] * self.variances[0]
    }
}
