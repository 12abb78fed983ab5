//! What every method for range sums is: a mechanism that states what it measures, how far one row
//! moves that, the noise, how an answer is made of the noisy integers, and the error to expect.

use super::noise::Noise;
use std::fmt;
use std::ops::Range;

/// Bins or tree nodes that are passed over, and ranges whose variance is computed, between two
/// calls of the caller's checkpoint.
pub(super) const CHECKPOINT_PASS: usize = 1 << 16;

/// Consecutive measurements with one kind of noise, such as the nodes of a level.
#[derive(Debug, Clone)]
pub struct Group {
    pub measurements: usize,
    /// The largest distance by which one row, in whichever bin, moves the group's vector of exact
    /// integers: in the L1 norm where the noise is discrete Laplace, in the L2 norm where it is
    /// discrete Gaussian.
    ///
    /// The losses of the groups add up: epsilons of sensitivity / t, rhos of
    /// sensitivity^2 / (2 sigma^2).
    pub sensitivity: f64,
    pub noise: Noise,
}

/// The counts sum to more than `limit`, beyond which integers would overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyRows {
    pub limit: u64,
}

impl fmt::Display for TooManyRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bins hold more than {} rows together", self.limit)
    }
}

impl std::error::Error for TooManyRows {}

/// The counts as signed integers of which all sums and differences fit.
pub(super) fn signed(counts: &[u64]) -> Result<Vec<i64>, TooManyRows> {
    const LIMIT: u64 = i64::MAX as u64;
    let total = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    match total {
        Some(0..=LIMIT) => Ok(counts.iter().map(|&count| count as i64).collect()),
        _ => Err(TooManyRows { limit: LIMIT }),
    }
}

/// A set of ranges whose answers' variances are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// The N (N + 1) / 2 ranges that are not empty.
    All,
    /// The N ranges that begin with the first bin.
    Prefix,
    /// The nodes of a binary tree over the bins, leaves and root included, whatever the mechanism's
    /// own tree: the ranges [j 2^i, (j + 1) 2^i), cut off at N, for i from 0 to the least with
    /// 2^i >= N.
    Nodes,
}

impl Workload {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Workload); 3] =
        [("all", Workload::All), ("prefix", Workload::Prefix), ("nodes", Workload::Nodes)];

    pub fn parse(word: &str) -> Option<Workload> {
        Workload::WORDS.iter().find(|(known, _)| *known == word).map(|(_, workload)| *workload)
    }

    /// Its ranges over so many bins.
    pub fn ranges(self, bins: usize) -> Box<dyn Iterator<Item = Range<usize>>> {
        match self {
            Workload::All => {
                Box::new((0..bins).flat_map(move |lo| (lo + 1..=bins).map(move |hi| lo..hi)))
            }
            Workload::Prefix => Box::new((1..=bins).map(|hi| 0..hi)),
            Workload::Nodes => {
                let levels = bins.next_power_of_two().ilog2();
                Box::new((0..=levels).flat_map(move |level| {
                    let width = 1 << level;
                    (0..bins).step_by(width).map(move |lo| lo..(lo + width).min(bins))
                }))
            }
        }
    }
}

/// The mean and the maximum over a workload of the variances of the answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    /// Of variances that come one by one; zeros for none.
    pub(super) fn of(variances: impl IntoIterator<Item = f64>) -> Spread {
        let (mut count, mut sum, mut max) = (0u64, 0.0, 0.0f64);
        for variance in variances {
            count += 1;
            sum += variance;
            max = max.max(variance);
        }
        Spread { mean: sum / count.max(1) as f64, max }
    }
}

/// A method for range sums with all its parameters settled.
///
/// Bins hold counts of rows. Neighbours differ by one row, so by 1 in one bin. Ranges are half-open
/// and lie within 0 .. N; a range outside, or lists of another length, break the contract and may
/// panic.
pub trait RangeMechanism {
    /// N, the number of bins; at least 1.
    fn bins(&self) -> usize;

    /// What is measured, group after group.
    fn groups(&self) -> Vec<Group>;

    /// The exact integers that noise is added to, the groups' one after another.
    ///
    /// Errors: so many rows that an integer could overflow.
    fn measure(
        &self,
        counts: &[u64],
        checkpoint: &mut dyn FnMut(),
    ) -> Result<Vec<i64>, TooManyRows>;

    /// Post-processing: what [`RangeMechanism::answer`] takes, from the noisy measurements. Unless
    /// the method says otherwise these are the N + 1 estimated sums of the first 0 ..= N bins.
    fn reconstruct(&self, noisy: &[i64], checkpoint: &mut dyn FnMut()) -> Vec<f64>;

    /// The unbiased estimate of a range's sum; 0 for an empty range.
    fn answer(&self, reconstruction: &[f64], range: Range<usize>) -> f64 {
        reconstruction[range.end] - reconstruction[range.start]
    }

    /// The variance of that answer; 0 for an empty range.
    fn variance(&self, range: Range<usize>) -> f64;

    /// The mean and maximum of the variances over a workload.
    fn spread(&self, workload: Workload, checkpoint: &mut dyn FnMut()) -> Spread {
        match workload {
            Workload::All => {
                Spread { mean: self.mean_over_all(), max: self.max_over_all(checkpoint) }
            }
            Workload::Prefix | Workload::Nodes => {
                let ranges = workload.ranges(self.bins()).enumerate();
                Spread::of(ranges.map(|(i, range)| {
                    if i.is_multiple_of(CHECKPOINT_PASS) {
                        checkpoint();
                    }
                    self.variance(range)
                }))
            }
        }
    }

    /// The mean variance over all ranges that are not empty.
    fn mean_over_all(&self) -> f64;

    /// The largest variance of any range.
    fn max_over_all(&self, checkpoint: &mut dyn FnMut()) -> f64;
}
