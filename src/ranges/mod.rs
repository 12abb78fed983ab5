//! Range sums over the bins of one histogram, by measurements of integers with discrete Gaussian
//! noise.
//!
//! Neighbours are databases that differ by the presence of one row, which is counted in one bin:
//! the counts x and x + e_j. Every mechanism here takes the rho of zero-concentrated differential
//! privacy that it may spend (see `privacy::zcdp_rho`). Where a unit of privacy owns up to k rows,
//! all distances are at most k times as large: give it rho / k^2.

pub mod cascade;

use crate::noise::{DiscreteGaussian, RandomWords};
use std::fmt;

/// The most bins that a mechanism takes.
pub const MAX_BINS: usize = 1 << 24;

/// Draws of noise between two calls of the caller's checkpoint.
const CHECKPOINT_EVERY: usize = 1 << 12;

/// Adds to every integer that was measured a draw of its own noise.
pub fn add_noise<'a, R: RandomWords + ?Sized>(
    measured: &mut [i64],
    noise: impl Iterator<Item = &'a DiscreteGaussian>,
    words: &mut R,
    checkpoint: &mut dyn FnMut(),
) {
    for (i, (value, law)) in measured.iter_mut().zip(noise).enumerate() {
        if i % CHECKPOINT_EVERY == 0 {
            checkpoint();
        }
        *value += law.sample(words);
    }
}

/// Mean and maximum of the variance of the answers to a set of questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    fn of(variances: impl IntoIterator<Item = f64>) -> Spread {
        let (mut count, mut sum, mut max) = (0u64, 0.0, 0.0f64);
        for variance in variances {
            (count, sum, max) = (count + 1, sum + variance, max.max(variance));
        }
        Spread { mean: sum / count as f64, max }
    }
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

fn check_total(counts: &[u64], limit: u64) -> Result<(), TooManyRows> {
    let total = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    if total.is_some_and(|total| total <= limit) { Ok(()) } else { Err(TooManyRows { limit }) }
}
