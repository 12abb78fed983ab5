//! The weighted root, as it is measured.
//!
//! # What is measured
//!
//! With the integers F_j = round(2^r f_j), see [`prefix`](crate::ranges::methods::prefix), and the
//! integers d_i: y_t = sum_{i <= t} F_{t-i} d_i x_i, by an exact convolution. No row is multiplied
//! by its weight: its noise is the smaller instead. The weights are rounded to integers k_t, few of
//! them different, and the variance of the noise of y_t is k_0 / k_t times that of y_0.
//!
//! A row in bin i adds d_i F_{t-i} to each y_t, t >= i. In units of the noise of y_0 the square of
//! the neighbours' distance is the rational d_i^2 (sum_{t >= i} k_t F_{t-i}^2) / k_0, the sum an
//! exact convolution; the largest is the sensitivity's square. The d_i are chosen to make all of
//! them nearly the same, but nothing rests on that.
//!
//! # How large the integers are
//!
//! With q <= 26 binary digits in all, see [`resolution`], k_t is from [`UNIT`] = 2^8 to
//! 2^8 4^(q-r-3), so that sum_t k_t F_{t-i}^2 <= 2^8 4^(q-3) (1 + ln(n) / pi) < 2^57 for n <= 2^14,
//! as f_j^2 < 1 / (pi j), but for rounding. It is at least 2^8 4^r. So d_i, the integer below
//! 2^(q+4) over its root, is 3 to 2^(q-r), the numerator of the sensitivity's square at most
//! 4^(q+4) <= 2^60, and a row of ones is measured as about 2^q (1 + sum_j 1 / sqrt(pi j)) < 2^34 at
//! most.
//!
//! # What is made of it
//!
//! With h = 1 / F, a power series of its own, x_i = sum_{t <= i} h_{i-t} y_t / d_i: estimates are
//! unbiased and variances exact for the integers F, d and k, however coarse they are. The sums run
//! from the first bin on: counts can be measured, and estimated, as they arrive.

use super::weights::weights;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::convolution::{cyclic, cyclic_exact, reciprocal, resolution};
use crate::ranges::limits::MAX_WEIGHTED_BINS;
#[cfg(test)]
use crate::ranges::measurements::Sensitivity;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::mechanism::{RangeMechanism, Split, blocks, running_sums};
use crate::ranges::methods::optimal::spread::{mean_of_differences, splits, worst_range};
use crate::ranges::methods::prefix::root;
use crate::ranges::ticks::{Tick, TickMechanism};
use crate::ranges::workload::{Spread, Workload};
use crate::work::{done, poll};
use num_rational::Ratio;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::OnceLock;

/// The least k.
const UNIT: f64 = 256.0;

/// Weights are rounded to powers of e^(1 / STEPS): each has its own noise, with tables of its own.
/// It costs about a thousandth of the accuracy.
const STEPS: f64 = 128.0;

/// Up to this length sums of products are computed as such.
const SHORT: usize = 32;

/// The strategy for one workload over some bins, with its noise.
#[derive(Debug, Clone)]
pub struct WeightedRoot {
    /// F.
    kernel: Vec<i64>,
    /// d.
    factors: Vec<i64>,
    /// k.
    weights: Vec<i64>,
    measurements: Measurements,
    /// h.
    inverse: Vec<f64>,
    /// Of each row's noise.
    variances: Vec<f64>,
    /// As soon as somebody has asked for it.
    largest_count: OnceLock<u64>,
}

impl WeightedRoot {
    /// For prefixes, or otherwise for all ranges. `calibration`: of all measurements together.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are no bins, or more than [`MAX_WEIGHTED_BINS`], or the groups are to have noise of
    /// their own.
    pub fn new(
        workload: Workload,
        bins: usize,
        calibration: &Calibration,
    ) -> Result<WeightedRoot, ScaleError> {
        assert!((1..=MAX_WEIGHTED_BINS).contains(&bins));
        let digits = f64::from(resolution(calibration.budget().highest()));
        // rounding d costs about 2^-(q - r) of the accuracy, rounding F a share that grows as
        // n 4^-r: the sum is about the least where
        let kernel_digits = ((digits + (bins as f64).log2()) / 3.0 - 2.0).round();
        let scale = kernel_digits.exp2();
        let kernel: Vec<i64> = root(bins).map(|f| (f * scale).round() as i64).collect();
        let weights = rounded(weights(workload, bins), (digits - kernel_digits - 3.0).exp2());

        let squares: Vec<i64> = kernel.iter().map(|f| f * f).collect();
        let reversed: Vec<i64> = weights.iter().rev().copied().collect();
        let mut columns = cyclic_exact(&squares, &reversed, 2 * bins, 0, bins);
        columns.reverse();
        let target = (digits + 4.0).exp2();
        let factors: Vec<i64> =
            columns.iter().map(|&square| (target / (square as f64).sqrt()) as i64).collect();
        // of integers, so exact
        let lengths = factors.iter().zip(&columns);
        let longest = lengths.map(|(&factor, &square)| (factor * factor * square) as u64).max();
        let first = weights[0] as u64;
        let sensitivity_squared = Ratio::new(longest.expect("at least one bin"), first);
        let groups: Vec<(usize, Ratio<u64>)> = weights
            .chunk_by(|a, b| a == b)
            .map(|alike| (alike.len(), Ratio::new(first, alike[0] as u64)))
            .collect();
        let measurements = Measurements::together(sensitivity_squared, groups, calibration)?;
        let rows = measurements.groups().iter();
        let variances =
            rows.flat_map(|group| repeat_n(group.noise.variance(), group.measurements)).collect();
        let inverse = reciprocal(&kernel);
        let largest_count = OnceLock::new();
        Ok(WeightedRoot {
            kernel,
            factors,
            weights,
            measurements,
            inverse,
            variances,
            largest_count,
        })
    }

    /// d^-1 times the bins of a vector.
    fn scaled_down(&self, mut vector: Vec<f64>) -> Vec<f64> {
        for (value, &factor) in vector.iter_mut().zip(&self.factors) {
            *value /= factor as f64;
        }
        vector
    }

    /// See [`RangeMechanism::covariances`].
    fn covariances_with(&self, weights: Vec<f64>) -> Vec<f64> {
        let bins = self.bins();
        let times = |vector: &[f64]| cyclic(&self.inverse, vector, 2 * bins, 0, bins);
        let mut scaled = self.scaled_down(weights);
        scaled.reverse();
        let mut of_rows = times(&scaled);
        of_rows.reverse();
        of_rows.iter_mut().zip(&self.variances).for_each(|(value, variance)| *value *= variance);
        self.scaled_down(times(&of_rows))
    }

    /// The variances of the sums of the first 0, 1, ... n bins. Time: n^2.
    fn prefix_variances(&self) -> Vec<f64> {
        // how often each row is in the estimate
        let mut rows = vec![0.0; self.bins()];
        let mut variances = vec![0.0];
        for (bin, &factor) in self.factors.iter().enumerate() {
            done(bin as u64);
            let rows = &mut rows[..=bin];
            for (row, h) in rows.iter_mut().zip(self.inverse[..=bin].iter().rev()) {
                *row += h / factor as f64;
            }
            let squares = rows.iter().zip(&self.variances).map(|(row, v)| row * row * v);
            variances.push(squares.sum());
        }
        variances
    }
}

/// Weights as integers from [`UNIT`] to that times `most` squared; larger ones are taken for that.
fn rounded(weights: impl Iterator<Item = f64>, most: f64) -> Vec<i64> {
    let weights: Vec<f64> = weights.collect();
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let steps = |ratio: f64| STEPS * ratio.ln();
    let last = steps(most * most).floor();
    let rounded = |weight: &f64| {
        let step = steps(weight / least).round().min(last);
        (UNIT * (step / STEPS).exp()).floor() as i64
    };
    weights.iter().map(rounded).collect()
}

impl CountMechanism for WeightedRoot {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        *self.largest_count.get_or_init(|| {
            // no entry is negative
            let sums = self.measure(&vec![1; self.bins()]);
            MEASURED_LIMIT / sums.into_iter().max().map_or(1, |sum| sum as u64)
        })
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let bins = self.bins();
        let scaled = signed(counts).into_iter().zip(&self.factors);
        let scaled: Vec<i64> = scaled.map(|(count, factor)| count * factor).collect();
        cyclic_exact(&self.kernel, &scaled, 2 * bins, 0, bins)
    }
}

impl RangeMechanism for WeightedRoot {
    fn bins(&self) -> usize {
        self.kernel.len()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        poll();
        let bins = self.bins();
        let noisy: Vec<f64> = noisy.iter().map(|&value| value as f64).collect();
        let sums = self.scaled_down(cyclic(&self.inverse, &noisy, 2 * bins, 0, bins));
        running_sums(sums.into_iter())
    }

    /// Time: n log n in the range's end n.
    fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let (end, length) = (range.end, range.len());
        done(end as u64);
        // both from the last row on, back to the first
        let scaled = self.factors[range].iter().rev().map(|&factor| 1.0 / factor as f64);
        let scaled: Vec<f64> = scaled.collect();
        let rows = if length <= SHORT {
            let row = |back: usize| -> f64 {
                scaled.iter().zip(self.inverse[..=back].iter().rev()).map(|(u, h)| u * h).sum()
            };
            (0..end).map(row).collect()
        } else {
            cyclic(&self.inverse[..end], &scaled, end + length, 0, end)
        };
        rows.iter().zip(self.variances[..end].iter().rev()).map(|(row, v)| row * row * v).sum()
    }

    fn variances_of_blocks(&self, width: usize) -> Vec<f64> {
        let bins = self.bins();
        if width > 1 {
            return blocks(bins, width).map(|block| self.variance(block)).collect();
        }
        let squares: Vec<f64> = self.inverse.iter().map(|h| h * h).collect();
        let variances = cyclic(&squares, &self.variances, 2 * bins, 0, bins);
        self.scaled_down(self.scaled_down(variances))
    }

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        Some(self.covariances_with(weights.to_vec()))
    }

    fn spread(&self, workload: Workload) -> Spread {
        match workload {
            Workload::All => {
                let prefixes = self.prefix_variances();
                let covariances = |weights| self.covariances_with(weights);
                Spread {
                    mean: mean_of_differences(&prefixes, covariances),
                    max: worst_range(&prefixes, covariances),
                }
            }
            Workload::Prefix => Spread::of(self.prefix_variances().into_iter().skip(1)),
            Workload::Nodes => self.spread_over(&mut workload.ranges(self.bins())),
        }
    }

    /// Time: n^2.
    fn mean_over_all(&self) -> f64 {
        mean_of_differences(&self.prefix_variances(), |weights| self.covariances_with(weights))
    }

    /// Beyond 1024 bins that of a search, see [`worst_range`]. Time: n^2, up to 1024 bins
    /// n^2 log n.
    fn max_over_all(&self) -> f64 {
        worst_range(&self.prefix_variances(), |weights| self.covariances_with(weights))
    }

    fn splits(&self) -> Vec<Split> {
        splits(&self.prefix_variances(), |weights| self.covariances_with(weights))
    }
}

impl TickMechanism for WeightedRoot {
    fn horizon(&self) -> usize {
        self.bins()
    }

    /// Of all F, d and k, as many each. With a key that everybody knows: it is no secret, and nobody
    /// gains by two strategies that have the same.
    fn fingerprint(&self) -> Option<String> {
        let mut hasher = SipHasher13::new();
        for integer in self.kernel.iter().chain(&self.factors).chain(&self.weights) {
            // the same bytes on every machine
            hasher.write(&integer.to_le_bytes());
        }
        Some(format!("{:032x}", hasher.finish128().as_u128()))
    }

    fn measure_last(&self, counts: &[u64]) -> Vec<(usize, i64)> {
        let time = counts.len() - 1;
        let entries = self.factors.iter().zip(self.kernel[..=time].iter().rev());
        let row = counts.iter().zip(entries).map(|(&count, (d, f))| count as i64 * d * f).sum();
        vec![(time, row)]
    }

    /// Of the count.
    fn estimate_last(&self, before: &[Tick], noisy: &[i64]) -> Vec<f64> {
        let time = before.len();
        let rows = before.iter().map(|tick| &tick.noisy).map(Vec::as_slice).chain([noisy]);
        let terms = rows.zip(self.inverse[..=time].iter().rev()).map(|(row, h)| row[0] as f64 * h);
        vec![terms.sum::<f64>() / self.factors[time] as f64]
    }

    fn sum_of(&self, ticks: &[Tick], range: Range<usize>) -> f64 {
        ticks[range].iter().map(|tick| tick.estimates[0]).sum()
    }

    fn variance_of(&self, range: Range<usize>) -> f64 {
        self.variance(range)
    }

    fn spread_of_prefixes(&self) -> Spread {
        self.spread(Workload::Prefix)
    }
}

#[cfg(test)]
impl WeightedRoot {
    /// Each of its integers, in turn, one larger.
    pub(super) fn others(&self) -> impl Iterator<Item = WeightedRoot> {
        (0..3 * self.bins()).map(|place| {
            let mut other = self.clone();
            let WeightedRoot { kernel, factors, weights, .. } = &mut other;
            *kernel.iter_mut().chain(factors).chain(weights).nth(place).unwrap() += 1;
            other
        })
    }

    /// That they are as large as the module's documentation says.
    pub(super) fn check_integers(&self, rho: f64) {
        let digits = resolution(rho);
        let r = self.kernel[0].ilog2();
        assert_eq!(self.kernel[0], 1 << r);
        assert!(self.kernel.iter().all(|f| (0..=1 << r).contains(f)));
        assert!(self.factors.iter().all(|d| (3..=1 << (digits - r)).contains(d)));
        let Sensitivity::Squared(square) = self.measurements.sensitivity() else { panic!() };
        assert!(*square.numer() <= 1 << (2 * (digits + 4)));
    }
}
