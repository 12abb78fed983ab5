//! Privelet: noisy Haar coefficients (Xiao, Wang, Gehrke 2011).

use crate::ranges::mechanism::{CHECKPOINT_PASS, Group, MEASURED_LIMIT, RangeMechanism, signed};
use crate::ranges::methods::tree::running_sums;
use crate::ranges::noise::Noise;
use crate::ranges::trees::covariance::{PerNode, TreeCovariance};
use crate::ranges::trees::shape::TreeShape;
use crate::work::poll;
use std::ops::Range;

/// The Haar wavelet of a binary tree over the bins, in integers: each inner node's coefficient is
/// its left child's count minus its right child's, and last comes the total.
///
/// A row lies in one node of each level, so it moves one coefficient per level and the total, by 1.
/// Privelet's own coefficients are halves of differences of means, m/2 bins a side, with noise in
/// inverse proportion to m, so that its generalised sensitivity is 1 + log2 N: times m they are
/// these, with equal noise.
///
/// A tree that stops at N < 2^h has nodes without a right child: its count would be 0, so the
/// coefficient would repeat the left child's, and it is not measured.
#[derive(Debug, Clone)]
pub struct Wavelet {
    shape: TreeShape,
    /// of the coefficients of levels 1 ..= h, then of the total
    noise: Vec<Noise>,
    covariance: TreeCovariance,
}

impl Wavelet {
    /// `noise`: of the coefficients of levels 1 ..= h, from the leaves' parents up, and of the
    /// total; the total's alone for one bin.
    ///
    /// # Panics
    /// If it is that of another number of groups than [`Wavelet::groups_over`].
    pub fn new(bins: usize, noise: Vec<Noise>) -> Wavelet {
        assert_eq!(noise.len(), Wavelet::groups_over(bins));
        let shape = TreeShape::new(bins, 2);
        let variances: Vec<f64> = noise.iter().map(Noise::variance).collect();
        let total = variances[noise.len() - 1];
        // left and right are (sum + C)/2 and (sum - C)/2; a node with one child hands its sum on,
        // whatever the slack
        let halves = (0..shape.height()).map(|level| variances[level] / 2.0);
        let slacks = halves.map(|half| PerNode { regular: half, last: half }).collect();
        Wavelet { shape, noise, covariance: TreeCovariance::new(shape, slacks, total) }
    }

    /// How many groups of measurements there are, the total's included.
    pub fn groups_over(bins: usize) -> usize {
        if bins == 1 { 1 } else { TreeShape::new(bins, 2).height() + 1 }
    }

    /// The number of a level's nodes with two children.
    fn coefficients(&self, level: usize) -> usize {
        self.shape.nodes(level - 1) / 2
    }
}

impl RangeMechanism for Wavelet {
    fn bins(&self) -> usize {
        self.shape.bins()
    }

    fn groups(&self) -> Vec<Group> {
        let last = self.noise.len() - 1;
        let groups = self.noise.iter().enumerate();
        groups
            .map(|(i, noise)| Group {
                measurements: if i == last { 1 } else { self.coefficients(i + 1) },
                noise: noise.clone(),
            })
            .collect()
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.bins() as u64
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let mut sums = signed(counts);
        let mut measured = Vec::with_capacity(self.shape.bins());
        while sums.len() > 1 {
            // the sums of the next level take the place of the ones that they are made of
            for node in 0..sums.len().div_ceil(2) {
                if node.is_multiple_of(CHECKPOINT_PASS) {
                    poll();
                }
                let left = sums[2 * node];
                let right = sums.get(2 * node + 1).copied();
                measured.extend(right.map(|right| left - right));
                sums[node] = left + right.unwrap_or(0);
            }
            sums.truncate(sums.len().div_ceil(2));
        }
        measured.extend(sums);
        measured
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        let (mut rest, total) = noisy.split_at(noisy.len() - 1);
        let mut sums: Vec<f64> = total.iter().map(|total| *total as f64).collect();
        sums.reserve(self.shape.bins());
        for level in (1..self.noise.len()).rev() {
            let coefficients;
            (rest, coefficients) = rest.split_at(rest.len() - self.coefficients(level));
            let parents = sums.len();
            sums.resize(self.shape.nodes(level - 1), 0.0);
            // from the right, so that no parent is overwritten before its turn
            for node in (0..parents).rev() {
                if node.is_multiple_of(CHECKPOINT_PASS) {
                    poll();
                }
                let sum = sums[node];
                match coefficients.get(node) {
                    Some(&difference) => {
                        sums[2 * node] = (sum + difference as f64) / 2.0;
                        sums[2 * node + 1] = (sum - difference as f64) / 2.0;
                    }
                    None => sums[2 * node] = sum,
                }
            }
        }
        running_sums(sums.into_iter())
    }

    fn variance(&self, range: Range<usize>) -> f64 {
        self.covariance.variance(range)
    }

    fn mean_over_all(&self) -> f64 {
        self.covariance.mean_over_all()
    }

    fn max_over_all(&self) -> f64 {
        self.covariance.max_over_all()
    }
}
