//! Privelet: noisy Haar coefficients (Xiao, Wang, Gehrke 2011).

use super::descriptor::{Descriptor, Noises, Settings, Settled};
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::mechanism::{RangeMechanism, running_sums};
use crate::ranges::method::MethodChoice;
use crate::ranges::spending::Spending;
use crate::ranges::trees::covariance::{PerNode, TreeCovariance};
use crate::ranges::trees::shape::TreeShape;
use crate::work::Paced;
use std::ops::Range;

pub(super) struct WaveletMethod;

impl Descriptor for WaveletMethod {
    fn word(&self) -> &'static str {
        "wavelet"
    }

    fn noises(&self) -> Noises {
        Noises::Either
    }

    fn has_tree(&self) -> bool {
        true
    }

    fn settle(
        &self,
        bins: u32,
        _choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let groups = Wavelet::groups_over(bins as usize);
        let noise = spending.on_groups(&vec![1.0 / groups as f64; groups])?;
        Ok(Settled { branching: 2, target: None, noise })
    }

    fn fits(&self, settings: Settings) -> bool {
        settings.calibration.groups() == Some(Wavelet::groups_over(settings.bins))
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(Wavelet::new(settings.bins, settings.calibration)?))
    }
}

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
    /// Groups 0 .. h are the coefficients of levels 1 ..= h, the last one is the total.
    measurements: Measurements,
    covariance: TreeCovariance,
}

impl Wavelet {
    /// `calibration`: of the coefficients of levels 1 ..= h, from the leaves' parents up, and of
    /// the total; the total's alone for one bin.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If it is that of another number of groups than [`Wavelet::groups_over`].
    pub fn new(bins: usize, calibration: &Calibration) -> Result<Wavelet, ScaleError> {
        let shape = TreeShape::new(bins, 2);
        let levels = 1..Wavelet::groups_over(bins);
        let sizes = levels.map(|level| coefficients(shape, level)).chain([1]);
        let measurements = Measurements::one_of_each(sizes, calibration)?;
        let variances = measurements.variances();
        let total = variances[variances.len() - 1];
        // left and right are (sum + C)/2 and (sum - C)/2; a node with one child hands its sum on,
        // whatever the slack
        let halves = (0..shape.height()).map(|level| variances[level] / 2.0);
        let slacks = halves.map(|half| PerNode { regular: half, last: half }).collect();
        let covariance = TreeCovariance::new(shape, slacks, total);
        Ok(Wavelet { shape, measurements, covariance })
    }

    /// How many groups of measurements there are, the total's included.
    pub fn groups_over(bins: usize) -> usize {
        if bins == 1 { 1 } else { TreeShape::new(bins, 2).height() + 1 }
    }
}

/// The number of a level's nodes with two children.
fn coefficients(shape: TreeShape, level: usize) -> usize {
    shape.nodes(level - 1) / 2
}

impl CountMechanism for Wavelet {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.shape.bins() as u64
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let mut sums = signed(counts);
        let mut measured = Vec::with_capacity(self.shape.bins());
        while sums.len() > 1 {
            // the sums of the next level take the place of the ones that they are made of
            for node in (0..sums.len().div_ceil(2)).paced() {
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
}

impl RangeMechanism for Wavelet {
    fn bins(&self) -> usize {
        self.shape.bins()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        let (mut rest, total) = noisy.split_at(noisy.len() - 1);
        let mut sums: Vec<f64> = total.iter().map(|total| *total as f64).collect();
        sums.reserve(self.shape.bins());
        for level in (1..self.measurements.groups().len()).rev() {
            let differences;
            (rest, differences) = rest.split_at(rest.len() - coefficients(self.shape, level));
            let parents = sums.len();
            sums.resize(self.shape.nodes(level - 1), 0.0);
            // from the right, so that no parent is overwritten before its turn
            for node in (0..parents).rev().paced() {
                let sum = sums[node];
                match differences.get(node) {
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

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        Some(self.covariance.covariances(weights))
    }

    fn mean_over_all(&self) -> f64 {
        self.covariance.mean_over_all()
    }

    fn max_over_all(&self) -> f64 {
        self.covariance.max_over_all()
    }
}
