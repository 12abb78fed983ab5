//! What every method for range sums is: a mechanism that states what it measures, how an answer is
//! made of the noisy integers, and the error to expect.

use super::measurements::CountMechanism;
use super::workload::{Spread, TargetRanges, UNITS_PER_VARIANCE, Workload};
use crate::work::{Paced, done};
use std::ops::Range;

/// A method for range sums with all its parameters settled.
///
/// Ranges are half-open and lie within 0 .. N; a range outside, or lists of another length, break
/// the contract and may panic.
pub trait RangeMechanism: CountMechanism {
    /// N, the number of bins; at least 1.
    fn bins(&self) -> usize;

    /// Post-processing: what [`RangeMechanism::answer`] takes, from the noisy measurements. Unless
    /// the method says otherwise these are the N + 1 estimated sums of the first 0 ..= N bins.
    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64>;

    /// The unbiased estimate of a range's sum; 0 for an empty range.
    fn answer(&self, reconstruction: &[f64], range: Range<usize>) -> f64 {
        reconstruction[range.end] - reconstruction[range.start]
    }

    /// The variance of that answer; 0 for an empty range.
    fn variance(&self, range: Range<usize>) -> f64;

    /// The variances of the sums over the first `width` bins, the next ones and so on, the last of
    /// which can be fewer.
    fn variances_of_blocks(&self, width: usize) -> Vec<f64> {
        blocks(self.bins(), width)
            .map(|block| {
                done(UNITS_PER_VARIANCE);
                self.variance(block)
            })
            .collect()
    }

    /// The covariances of the estimates of single bins with the sum of all of them, each times its
    /// weight: what is known of the estimates' noise. None for a method whose answers do not add up,
    /// so that no estimates of bins are behind them.
    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>>;

    /// Whether its answers to ranges side by side add up to that to both.
    fn adds_up(&self) -> bool {
        self.covariances(&vec![0.0; self.bins()]).is_some()
    }

    /// Of the bins before each of 0 ..= N, and of those from there on: the variances of their sums,
    /// and their covariance.
    fn splits(&self) -> Vec<Split> {
        let bins = self.bins();
        let total = self.variance(0..bins);
        let split = |bin: usize| {
            done(2 * UNITS_PER_VARIANCE);
            let (before, after) = (self.variance(0..bin), self.variance(bin..bins));
            // answers to adjacent ranges add up
            Split { before, after, covariance: (total - before - after) / 2.0 }
        };
        (0..=bins).map(split).collect()
    }

    /// The mean and maximum of the variances over a workload.
    fn spread(&self, workload: Workload) -> Spread {
        match workload {
            Workload::All => Spread { mean: self.mean_over_all(), max: self.max_over_all() },
            Workload::Prefix | Workload::Nodes => {
                self.spread_over(&mut workload.ranges(self.bins()))
            }
        }
    }

    /// The mean and maximum of the variances over any ranges.
    fn spread_over(&self, ranges: &mut dyn Iterator<Item = Range<usize>>) -> Spread {
        Spread::of(ranges.map(|range| self.variance(range)))
    }

    /// The mean of the variances over the target.
    fn mean_over(&self, target: &TargetRanges) -> f64 {
        match target {
            TargetRanges::Workload(Workload::All) => self.mean_over_all(),
            TargetRanges::Workload(workload) => self.spread(*workload).mean,
            TargetRanges::Ranges(ranges) => self.spread_over(&mut ranges.iter().cloned()).mean,
        }
    }

    /// The mean variance over all ranges that are not empty.
    fn mean_over_all(&self) -> f64;

    /// The largest variance of any range.
    fn max_over_all(&self) -> f64;
}

/// Of so many bins each, the last of which can be fewer.
pub(super) fn blocks(bins: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bins).step_by(width).map(move |start| start..bins.min(start.saturating_add(width)))
}

/// The noise of two sums, of the bins on either side of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    pub before: f64,
    pub after: f64,
    pub covariance: f64,
}

impl Split {
    /// At a place within a bin, of which so much lies before it. `after`: the split after the bin.
    /// `variance`: the bin's.
    //
    // With A the sum before the bin, y the bin's and T the total, the sums are A + s y and T - A - s y.
    pub(super) fn between(self, after: Split, variance: f64, share: f64) -> Split {
        let with_before = (after.before - self.before - variance) / 2.0;
        let with_after = (self.after - after.after - variance) / 2.0;
        let rest = 1.0 - share;
        Split {
            before: self.before + 2.0 * share * with_before + share * share * variance,
            after: after.after + 2.0 * rest * with_after + rest * rest * variance,
            // of A + s y with B + (1 - s) y, B the sum after the bin; A with B + y is known
            covariance: self.covariance - share * with_before
                + share * with_after
                + share * rest * variance,
        }
    }

    /// Of the noise times the root of a factor.
    pub(super) fn times(self, factor: f64) -> Split {
        Split {
            before: factor * self.before,
            after: factor * self.after,
            covariance: factor * self.covariance,
        }
    }

    /// Of both noises together, which are independent.
    pub(super) fn and(self, other: Split) -> Split {
        Split {
            before: self.before + other.before,
            after: self.after + other.after,
            covariance: self.covariance + other.covariance,
        }
    }

    /// With so much more on one side as there is less on the other, in the mean square.
    pub(super) fn off_by(self, square: f64) -> Split {
        Split {
            before: self.before + square,
            after: self.after + square,
            covariance: self.covariance - square,
        }
    }
}

/// The sums of the first 0, 1, 2, ... values.
pub(super) fn running_sums(values: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for value in values.paced() {
        sum += value;
        sums.push(sum);
    }
    sums
}
