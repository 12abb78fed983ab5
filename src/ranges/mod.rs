//! Range sums over the bins of one histogram, by measurements of integers with discrete Gaussian
//! noise.
//!
//! Neighbours are databases that differ by the presence of one row, which is counted in one bin:
//! the counts x and x + e_j. Every mechanism here takes the rho of zero-concentrated differential
//! privacy that it may spend (see `privacy::zcdp_rho`). Where a unit of privacy owns up to k rows,
//! all distances are at most k times as large: give it rho / k^2.

pub mod cascade;
mod convolution;
pub mod optimal;
pub mod prefix;

use crate::noise::{DiscreteGaussian, RandomWords, ScaleError};
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

/// Why a mechanism cannot be set up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StrategyError {
    /// No bins, or more than `limit`.
    Bins {
        limit: usize,
    },
    Noise(ScaleError),
}

impl fmt::Display for StrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyError::Bins { limit } => write!(f, "the number of bins must be 1 to {limit}"),
            StrategyError::Noise(error) => write!(f, "the budget {error}"),
        }
    }
}

impl std::error::Error for StrategyError {}

impl From<ScaleError> for StrategyError {
    fn from(error: ScaleError) -> StrategyError {
        StrategyError::Noise(error)
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

/// The most bins of the mechanisms whose measurements are convolutions: those take about 300 bytes
/// of memory a bin and, at this number, cannot be cancelled for some seconds.
pub const MAX_CONVOLUTION_BINS: usize = 1 << 22;

fn check_bins(bins: usize) -> Result<(), StrategyError> {
    let limit = MAX_CONVOLUTION_BINS;
    if (1..=limit).contains(&bins) { Ok(()) } else { Err(StrategyError::Bins { limit }) }
}

/// The binary digits of the numbers that a real-valued strategy is scaled by before it is rounded
/// to integers: at most 26, and fewer where noise of `rho` on integers of that size would be out
/// of the sampler's range. Below 16 that noise is refused.
///
/// What is rounded is a strategy of which what is measured, its sensitivity and its variances are
/// then exact: a coarse one costs accuracy only, and that is stated.
fn resolution(rho: f64) -> u32 {
    // noise for columns of length 1; those of the longest strategy, for the prefixes of 2^22 bins,
    // are below 3, and the samplers go to 10^9 > 3 * 2^28
    let sigma = (1.0 / (2.0 * rho)).sqrt();
    ((1u64 << 28) as f64 / sigma).log2().floor().clamp(16.0, 26.0) as u32
}

/// The most rows, given that no row adds more than the sensitivity to an integer.
fn row_limit(sensitivity_squared: u64) -> u64 {
    // the root of an integer below 2^64 is off by less than 1
    convolution::EXACT_LIMIT / ((sensitivity_squared as f64).sqrt() as u64 + 2)
}

#[cfg(test)]
mod tests;
