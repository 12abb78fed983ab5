//! The strategy for any workload, by its Gram matrix.

use super::gram::{GramError, MAX_DENSE_BINS, sum_over_rows_and_columns};
use super::weights::{even_columns, near_best};
use crate::ranges::calibration::Calibration;
use crate::ranges::convolution::resolution;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::ranges::mechanism::{RangeMechanism, running_sums};
use crate::ranges::workload::{Spread, Workload};
use crate::work::poll;
use nalgebra::DMatrix;
use num_rational::Ratio;
use std::ops::Range;

/// The strategy for one workload, with its noise.
#[derive(Debug, Clone)]
pub struct DenseStrategy {
    /// B.
    strategy: DMatrix<i64>,
    measurements: Measurements,
    /// B^-1.
    inverse: DMatrix<f64>,
    covariance: PrefixCovariance,
}

/// The covariance of the sums of the first 0, 1, ... n bins.
#[derive(Debug, Clone)]
pub(super) struct PrefixCovariance(DMatrix<f64>);

impl PrefixCovariance {
    /// From that of the bins.
    pub(super) fn new(of_bins: DMatrix<f64>) -> PrefixCovariance {
        let mut of_prefixes = of_bins.insert_row(0, 0.0).insert_column(0, 0.0);
        sum_over_rows_and_columns(&mut of_prefixes);
        PrefixCovariance(of_prefixes)
    }

    /// Of the sum over a range. Time: constant.
    pub(super) fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let (lo, hi) = (range.start, range.end);
        let covariance = |i, j| self.0[(i, j)];
        covariance(lo, lo) + covariance(hi, hi) - covariance(lo, hi) - covariance(hi, lo)
    }
}

impl DenseStrategy {
    /// In closed form, with G^(1/4) and columns of length 1. Releases of a workload are read with it: it has
    /// to stay as it is. Otherwise as [`DenseStrategy::new`].
    pub fn in_closed_form(
        bins: usize,
        gram: &[f64],
        calibration: &Calibration,
    ) -> Result<DenseStrategy, GramError> {
        DenseStrategy::made(even_columns, bins, gram, calibration)
    }

    /// For `bins` bins and the Gram matrix of a workload, row by row: entry i, j is the sum over
    /// the questions of the product of what they multiply bins i and j with. `calibration`: of all
    /// measurements together. Time: n^3, a few seconds for 1024 bins.
    ///
    /// # Panics
    /// If the groups are to have noise of their own.
    pub fn new(
        bins: usize,
        gram: &[f64],
        calibration: &Calibration,
    ) -> Result<DenseStrategy, GramError> {
        DenseStrategy::made(near_best, bins, gram, calibration)
    }

    /// `form`: the strategy for a Gram matrix, with columns of length at most 1.
    fn made(
        form: fn(usize, &[f64]) -> Result<DMatrix<f64>, GramError>,
        bins: usize,
        gram: &[f64],
        calibration: &Calibration,
    ) -> Result<DenseStrategy, GramError> {
        if !(1..=MAX_DENSE_BINS).contains(&bins) {
            return Err(GramError::Bins);
        }
        poll();
        let strategy = form(bins, gram)?;
        poll();
        let scale = f64::from(resolution(calibration.budget().highest())).exp2();
        // no entry of a column of length 1 is larger, but for roundoff: squares sum to 2^62 at most
        let strategy = strategy.map(|entry| (entry * scale).round().clamp(-scale, scale) as i64);
        let square = |entry: &i64| entry.unsigned_abs().pow(2);
        let columns = strategy.column_iter().map(|column| column.iter().map(square).sum::<u64>());
        let sensitivity_squared = columns.max().expect("at least one bin");
        let group = [(bins, Ratio::from(1))];
        let measurements = Measurements::together(sensitivity_squared.into(), group, calibration)?;

        let inverse = strategy.map(|entry| entry as f64).try_inverse().ok_or(GramError::NotGram)?;
        poll();
        let covariance = &inverse * inverse.transpose() * measurements.first_noise().variance();
        let covariance = PrefixCovariance::new(covariance);
        Ok(DenseStrategy { strategy, measurements, inverse, covariance })
    }
}

impl CountMechanism for DenseStrategy {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        let rows = self.strategy.row_iter();
        let sums = rows.map(|row| row.iter().map(|entry| entry.unsigned_abs()).sum::<u64>());
        MEASURED_LIMIT / sums.max().unwrap_or(1)
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        poll();
        let mut measured = vec![0; self.bins()];
        for (column, &count) in self.strategy.column_iter().zip(counts) {
            for (value, entry) in measured.iter_mut().zip(column.iter()) {
                *value += entry * count as i64;
            }
        }
        measured
    }
}

impl RangeMechanism for DenseStrategy {
    fn bins(&self) -> usize {
        self.strategy.ncols()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        poll();
        let noisy = DMatrix::from_iterator(noisy.len(), 1, noisy.iter().map(|&y| y as f64));
        let bins = &self.inverse * noisy;
        running_sums(bins.as_slice().iter().copied())
    }

    /// Time: constant.
    fn variance(&self, range: Range<usize>) -> f64 {
        self.covariance.variance(range)
    }

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        poll();
        let weights = DMatrix::from_column_slice(weights.len(), 1, weights);
        let covariances = &self.inverse * self.inverse.tr_mul(&weights);
        let unit = self.measurements.first_noise().variance();
        Some(covariances.iter().map(|value| value * unit).collect())
    }

    fn spread(&self, workload: Workload) -> Spread {
        self.spread_over(&mut workload.ranges(self.bins()))
    }

    fn mean_over_all(&self) -> f64 {
        self.spread(Workload::All).mean
    }

    fn max_over_all(&self) -> f64 {
        self.spread(Workload::All).max
    }
}
