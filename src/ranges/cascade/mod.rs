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

pub use streaming::{StreamError, StreamingCascade};
pub use tree::{MAX_FAN_OUT, Tree, TreeError};

use crate::noise::ScaleError;
use crate::privacy::gaussian_sigma;
use crate::ranges::mechanism::{
    CHECKPOINT_PASS, Group, Loss, MEASURED_LIMIT, RangeMechanism, Workload,
};
use crate::ranges::noise::Noise;
use crate::ranges::tree::running_sums;
use num_rational::Ratio;
use std::ops::Range;

/// The cascade over one tree, with its noise.
///
/// What is measured comes in the order of the laws: the total, then, for each number of children m
/// that a node has and each j = 1 .. m - 1, contrast j of all nodes with m children, breadth first.
#[derive(Debug, Clone)]
pub struct Cascade {
    tree: Tree,
    /// The total's noise, then that of the contrasts 1 .. m - 1 for each number of children m.
    laws: Vec<Group>,
    /// Of the laws.
    variances: Vec<f64>,
    /// By number of children m, the law of contrast 1; as long as the most children need.
    first_law: Vec<usize>,
}

/// The variance of contrast j of m children, in units of the total's.
fn contrast_weight(m: usize, j: usize) -> Ratio<u64> {
    Ratio::new(((m + 1) * j * (j + 1)) as u64, m as u64)
}

/// Where the next contrasts of nodes with each number of children are among the measurements.
struct Places<'a> {
    cascade: &'a Cascade,
    /// of each law, its first measurement
    firsts: Vec<usize>,
    /// by number of children, the nodes that were passed
    passed: Vec<usize>,
}

impl Places<'_> {
    /// The places of the contrasts 1 .. m - 1 of the next node, breadth first, which has m children.
    fn next(&mut self, m: usize) -> impl Iterator<Item = usize> {
        let node = self.passed[m];
        self.passed[m] += 1;
        let law = self.cascade.first_law[m];
        self.firsts[law..law + m.saturating_sub(1)].iter().map(move |first| first + node)
    }
}

impl Cascade {
    /// A release is `rho`-zCDP.
    ///
    /// Errors: a noise that cannot be sampled.
    pub fn new(tree: Tree, rho: f64) -> Result<Cascade, ScaleError> {
        let most = (0..tree.nodes()).map(|node| tree.children(node).len()).max().unwrap_or(0);
        let mut nodes_with = vec![0; most + 1];
        (0..tree.nodes()).for_each(|node| nodes_with[tree.children(node).len()] += 1);
        let mut kinds = vec![(Ratio::from(1), 1)];
        let mut first_law = Vec::with_capacity(nodes_with.len());
        for (m, nodes) in nodes_with.into_iter().enumerate() {
            first_law.push(kinds.len());
            if nodes > 0 {
                kinds.extend((1..m).map(|j| (contrast_weight(m, j), nodes)));
            }
        }
        let square = tree.sensitivity_squared();
        let group = |(weight, measurements)| {
            let sigma = gaussian_sigma(square * weight, rho);
            Ok(Group { measurements, noise: Noise::gaussian(sigma)? })
        };
        let laws = kinds.into_iter().map(group).collect::<Result<Vec<_>, ScaleError>>()?;
        let variances = laws.iter().map(|law| law.noise.variance()).collect();
        Ok(Cascade { tree, laws, variances, first_law })
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    fn places(&self) -> Places<'_> {
        let firsts = self.laws.iter().scan(0, |next, law| {
            *next += law.measurements;
            Some(*next - law.measurements)
        });
        let firsts = firsts.collect();
        Places { cascade: self, firsts, passed: vec![0; self.first_law.len()] }
    }

    /// The estimate of every node's sum, breadth first, from the noisy integers.
    ///
    /// Unbiased, and equal to the sum of the children's up to the roundoff of `f64`. In binary
    /// trees of depth k the quotients are dyadic, and exact while integers are below 2^(52 - k).
    fn node_estimates(&self, noisy: &[i64], checkpoint: &mut dyn FnMut()) -> Vec<f64> {
        let tree = &self.tree;
        let mut estimates = vec![0.0; tree.nodes()];
        estimates[0] = noisy[0] as f64;
        let mut places = self.places();
        let mut contrasts = Vec::new();
        for node in 0..tree.nodes() {
            if node.is_multiple_of(CHECKPOINT_PASS) {
                checkpoint();
            }
            let children = tree.children(node);
            contrasts.clear();
            contrasts.extend(places.next(children.len()).map(|place| noisy[place] as f64));
            let share = estimates[node] / children.len() as f64;
            // child j has h_j = -j, and 1 in all the contrasts after it
            let mut after = 0.0;
            for (j, child) in children.enumerate().rev() {
                estimates[child] = share + after;
                if j > 0 {
                    estimates[child] -= contrasts[j - 1] / (j + 1) as f64;
                    after += contrasts[j - 1] / (j * (j + 1)) as f64;
                }
            }
        }
        estimates
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

impl RangeMechanism for Cascade {
    fn bins(&self) -> usize {
        self.tree.bins()
    }

    fn groups(&self) -> Vec<Group> {
        self.laws.clone()
    }

    /// Of all integers together, see the module's documentation: the sensitivity in units of the
    /// total's noise.
    fn loss(&self) -> Loss {
        let square = self.tree.sensitivity_squared();
        let square = *square.numer() as f64 / *square.denom() as f64;
        Loss::Rho(square * self.laws[0].noise.rho())
    }

    fn largest_count(&self) -> u64 {
        // contrast j is the difference of j sums and j times another one
        let bins = self.tree.bins() as u64;
        MEASURED_LIMIT / (bins * self.first_law.len() as u64)
    }

    fn measure(&self, counts: &[u64], checkpoint: &mut dyn FnMut()) -> Vec<i64> {
        let tree = &self.tree;
        let mut sums = vec![0i64; tree.nodes()];
        for node in (0..tree.nodes()).rev() {
            if node.is_multiple_of(CHECKPOINT_PASS) {
                checkpoint();
            }
            sums[node] = match tree.children(node) {
                leaf if leaf.is_empty() => counts[tree.first_bin(node)] as i64,
                children => sums[children].iter().sum(),
            };
        }
        let mut measured = vec![0; tree.bins()];
        measured[0] = sums[0];
        let mut places = self.places();
        for node in 0..tree.nodes() {
            if node.is_multiple_of(CHECKPOINT_PASS) {
                checkpoint();
            }
            let children = &sums[tree.children(node)];
            let mut before = 0;
            for (j, place) in (1..).zip(places.next(children.len())) {
                before += children[j - 1];
                measured[place] = before - j as i64 * children[j];
            }
        }
        measured
    }

    fn reconstruct(&self, noisy: &[i64], checkpoint: &mut dyn FnMut()) -> Vec<f64> {
        let nodes = self.node_estimates(noisy, checkpoint);
        let mut bins = vec![0.0; self.tree.bins()];
        for (node, estimate) in nodes.into_iter().enumerate() {
            if self.tree.is_leaf(node) {
                bins[self.tree.first_bin(node)] = estimate;
            }
        }
        running_sums(bins.into_iter(), checkpoint)
    }

    /// Exact for the discrete noise. Time: fan-out times depth.
    fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let mut variance = 0.0;
        let share = self.share_of(0, 0..self.tree.bins(), &range, &mut variance);
        variance + share * share * self.variances[0]
    }

    fn mean_over_all(&self, checkpoint: &mut dyn FnMut()) -> f64 {
        let bins = self.tree.bins();
        // a range is a difference of two of the n + 1 prefixes P, the empty one among them:
        // the sum of Var(P_i - P_j) over pairs is (n + 1) sum Var(P_i) - Var(sum P_i)
        let prefixes = self.spread(Workload::Prefix, checkpoint).mean * bins as f64;
        let weights: Vec<f64> = (1..=bins).rev().map(|count| count as f64).collect();
        let total = (bins + 1) as f64 * prefixes - self.weighted_variance(&weights);
        total / (bins as f64 * (bins + 1) as f64 / 2.0)
    }

    fn max_over_all(&self, checkpoint: &mut dyn FnMut()) -> f64 {
        self.worst_range(checkpoint)
    }
}
