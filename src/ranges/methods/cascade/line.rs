//! The cascade over a line of bins, with its noise.

use super::contrasts::Contrasts;
use super::tree::TreeOverBins;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::ranges::mechanism::{RangeMechanism, running_sums};
use std::ops::Range;

/// The cascade over one tree, with its noise.
#[derive(Debug, Clone)]
pub struct Cascade {
    pub(super) contrasts: Contrasts,
    /// In groups by the contrasts' laws.
    measurements: Measurements,
    /// Of the laws.
    variances: Vec<f64>,
}

impl Cascade {
    /// `calibration`: of all measurements together. See the module's documentation for what a row
    /// moves them by.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the groups are to have noise of their own.
    pub fn new(tree: TreeOverBins, calibration: &Calibration) -> Result<Cascade, ScaleError> {
        let contrasts = Contrasts::new(tree);
        let laws = contrasts.laws().iter().map(|law| (law.measurements, law.weight));
        let square = contrasts.sensitivity_squared();
        let measurements = Measurements::together(square, laws, calibration)?;
        let variances = measurements.variances();
        Ok(Cascade { contrasts, measurements, variances })
    }

    pub fn tree(&self) -> &TreeOverBins {
        &self.contrasts.tree
    }
}

impl CountMechanism for Cascade {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / (self.contrasts.bins() as u64 * self.contrasts.largest_factor())
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        self.contrasts.measure(counts)
    }
}

impl RangeMechanism for Cascade {
    fn bins(&self) -> usize {
        self.contrasts.bins()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        running_sums(self.contrasts.bin_estimates(noisy).into_iter())
    }

    /// Exact for the discrete noise. Time: fan-out times depth.
    fn variance(&self, range: Range<usize>) -> f64 {
        let mut variance = 0.0;
        self.contrasts.squares(&range, |law, square| variance += square * self.variances[law]);
        variance
    }

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        Some(self.contrasts.covariances(weights, &self.variances))
    }

    fn mean_over_all(&self) -> f64 {
        let squares = self.contrasts.mean_squares();
        squares.iter().zip(&self.variances).map(|(square, variance)| square * variance).sum()
    }

    fn max_over_all(&self) -> f64 {
        self.contrasts.worst_range(&self.variances)
    }
}
