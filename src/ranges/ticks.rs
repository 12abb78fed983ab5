//! What every mechanism is that measures counts as they arrive.

use super::measurements::CountMechanism;
use super::workload::{Spread, UNITS_PER_VARIANCE, Workload};
use crate::work::done;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One count of a stream, and what was made of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// As it was measured, exact: private.
    pub(super) count: u64,
    /// Of each measurement that was made now, with its noise.
    pub(super) noisy: Vec<i64>,
    /// What the mechanism made of these and of earlier ones: post-processing.
    pub(super) estimates: Vec<f64>,
}

impl Tick {
    /// As it was stored.
    pub fn stored(count: u64, noisy: Vec<i64>, estimates: Vec<f64>) -> Tick {
        Tick { count, noisy, estimates }
    }

    /// Of which only what may be told is known: answers can be made of it, and no further tick.
    pub fn told(estimates: Vec<f64>) -> Tick {
        Tick { count: 0, noisy: Vec::new(), estimates }
    }

    /// Exact: private.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn noisy(&self) -> &[i64] {
        &self.noisy
    }

    pub fn estimates(&self) -> &[f64] {
        &self.estimates
    }
}

/// A mechanism over counts that arrive one by one, up to a horizon: one for each place of
/// [`CountMechanism::measure`], in their order.
///
/// What is measured at a tick depends on counts that have arrived by then alone, and every
/// measurement is made at one tick: together they are what [`CountMechanism::measure`] gives of the
/// whole stream. What one row changes in it bounds what it changes in all that is ever told.
///
/// That is so even if later counts depend on what was told before: when a row arrives, the
/// distances that it is still to cause are settled by its place, and noise is drawn after them.
pub trait TickMechanism: CountMechanism {
    /// The most counts.
    fn horizon(&self) -> usize;

    /// What tells the integers that it measures with from others, if they are made by arithmetic that
    /// another machine or version might do otherwise: a stream goes on with the same alone.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// What is measured when the last of these counts has arrived, at least one of which there is:
    /// places in what [`CountMechanism::measure`] gives, and exact integers.
    ///
    /// `counts`: each at most [`CountMechanism::largest_count`].
    fn measure_last(&self, counts: &[u64]) -> Vec<(usize, i64)>;

    /// Post-processing: what is estimated of the newest tick, from its measurements and the ticks
    /// before.
    fn estimate_last(&self, before: &[Tick], noisy: &[i64]) -> Vec<f64>;

    /// The unbiased estimate of the sum of the counts in a range; 0 for an empty one.
    fn sum_of(&self, ticks: &[Tick], range: Range<usize>) -> f64;

    /// The variance of that; 0 for an empty range.
    fn variance_of(&self, range: Range<usize>) -> f64;

    /// The mean and maximum of the variances of single counts.
    fn spread_of_counts(&self) -> Spread {
        Spread::of((0..self.horizon()).map(|tick| {
            done(UNITS_PER_VARIANCE);
            self.variance_of(tick..tick + 1)
        }))
    }

    /// The mean and maximum of the variances of the sums of all counts up to each tick.
    fn spread_of_prefixes(&self) -> Spread {
        Spread::of(Workload::Prefix.ranges(self.horizon()).map(|range| {
            done(UNITS_PER_VARIANCE);
            self.variance_of(range)
        }))
    }
}
