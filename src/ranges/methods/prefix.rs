//! Prefix sums by the explicit factorisation of the matrix of all prefixes: the square root of the
//! lower-triangular matrix of ones (Henzinger, Upadhyay, Upadhyay 2023).
//!
//! With generating functions, prefix sums are x(z) / (1 - z), and the root measures x(z) f(z) with
//! f = (1 - z)^(-1/2): f_0 = 1, f_j = f_{j-1} (2j - 1) / (2j).
//!
//! # What is measured
//!
//! Not f, but the integers F_j = round(2^b f_j): the integers y_t = sum_{j <= t} F_j x_{t-j}, by an
//! exact convolution. A row in bin i adds F_0 .. F_{n-1-i} to y_i .. y_{n-1}, so the square of the
//! neighbours' distance is at most, for bin 0, the integer sum_j F_j^2, exactly.
//!
//! # What is made of it
//!
//! With h = 1 / ((1 - z) F), a power series of its own, the prefix sums are h(z) y(z): estimates
//! are unbiased for the integers F, however coarse they are, and the noise of the prefix that ends
//! before bin t is sum_{j < t} h_j N_{t-1-j}.

use super::descriptor::{Descriptor, Noises, Settings, Settled};
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::convolution::{
    cyclic, cyclic_exact, from_spectrum, reciprocal, resolution, spectrum,
};
use crate::ranges::limits::MAX_CONVOLUTION_BINS;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::mechanism::{RangeMechanism, Split, blocks};
use crate::ranges::method::MethodChoice;
use crate::ranges::spending::Spending;
use crate::ranges::workload::{Spread, Workload};
use crate::work::poll;
use num_rational::Ratio;
use std::collections::BTreeMap;
use std::iter::once;
use std::ops::Range;

pub(super) struct PrefixMethod;

impl Descriptor for PrefixMethod {
    fn word(&self) -> &'static str {
        "prefix"
    }

    fn noises(&self) -> Noises {
        Noises::Gaussian
    }

    fn most_bins(&self) -> usize {
        MAX_CONVOLUTION_BINS
    }

    fn settle(
        &self,
        _bins: u32,
        _choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        Ok(Settled { branching: 2, target: None, noise: spending.on_all_together() })
    }

    fn fits(&self, settings: Settings) -> bool {
        settings.calibration.is_together()
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(PrefixFactorisation::new(settings.bins, settings.calibration)?))
    }

    fn takes_work(&self) -> bool {
        true
    }
}

/// The square-root factorisation over some bins, with its noise.
#[derive(Debug, Clone)]
pub struct PrefixFactorisation {
    /// F.
    kernel: Vec<i64>,
    /// h, per unit of a measured integer.
    inverse: Vec<f64>,
    measurements: Measurements,
}

impl PrefixFactorisation {
    /// `calibration`: of all measurements together. See the module's documentation for what a row
    /// moves them by.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are no bins, or the groups are to have noise of their own.
    pub fn new(bins: usize, calibration: &Calibration) -> Result<PrefixFactorisation, ScaleError> {
        assert!(bins > 0);
        let scale = (1u64 << resolution(calibration.budget().highest())) as f64;
        let kernel: Vec<i64> = root(bins).map(|f| (f * scale).round() as i64).collect();
        // below 2^52 (1 + ln(n) / pi), as f_j^2 < 1 / (pi j)
        let sensitivity_squared: u64 = kernel.iter().map(|f| (f * f) as u64).sum();
        let group = [(bins, Ratio::from(1))];
        let measurements = Measurements::together(sensitivity_squared.into(), group, calibration)?;
        let inverse = reciprocal(&differences(&kernel));
        Ok(PrefixFactorisation { kernel, inverse, measurements })
    }

    /// Of the noise of an integer.
    fn unit(&self) -> f64 {
        self.measurements.first_noise().variance()
    }

    /// What a range's start at bin 0, 1, ... adds each to the variance of one of that length.
    ///
    /// The noise of the difference of the prefixes before `lo` + `length` and before `lo` is
    /// sum_{j < length} h_j N_{hi-1-j} + sum_{j < lo} (h_{j+length} - h_j) N_{lo-1-j}.
    fn steps(&self, length: usize) -> impl Iterator<Item = f64> {
        let later = &self.inverse[length..];
        later.iter().zip(&self.inverse).map(|(later, h)| (later - h) * (later - h))
    }

    /// The variances of the prefixes, in units of an integer's.
    fn prefix_squares(&self) -> impl Iterator<Item = f64> {
        self.inverse.iter().scan(0.0, |sum, h| {
            *sum += h * h;
            Some(*sum)
        })
    }

    /// The variances of the ranges of 0 ..= n bins that end with the last one, in the same units:
    /// Var(P_n) + Var(P_{n-length}) - 2 sum_j h_j h_{j+length}.
    fn suffix_squares(&self) -> Vec<f64> {
        poll();
        let bins = self.inverse.len();
        let prefixes: Vec<f64> = self.prefix_squares().collect();
        let size = (2 * bins).next_power_of_two();
        let mut power = spectrum(self.inverse.as_slice(), size);
        power.iter_mut().for_each(|value| *value = value.norm_sqr().into());
        let autocorrelation = from_spectrum(power, size);
        let whole = prefixes[bins - 1];
        let shorter = (1..bins)
            .map(|length| whole + prefixes[bins - length - 1] - 2.0 * autocorrelation[length]);
        once(0.0).chain(shorter).chain(once(whole)).collect()
    }
}

impl CountMechanism for PrefixFactorisation {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.kernel.iter().map(|f| f.unsigned_abs()).sum::<u64>()
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let bins = self.bins();
        cyclic_exact(&self.kernel, &signed(counts), 2 * bins, 0, bins)
    }
}

impl RangeMechanism for PrefixFactorisation {
    fn bins(&self) -> usize {
        self.kernel.len()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        poll();
        let bins = self.bins();
        let noisy: Vec<f64> = noisy.iter().map(|&value| value as f64).collect();
        let sums = cyclic(&self.inverse, &noisy, 2 * bins, 0, bins);
        once(0.0).chain(sums).collect()
    }

    /// Time: the range's end.
    fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let length = range.len();
        let first: f64 = self.inverse[..length].iter().map(|h| h * h).sum();
        self.unit() * (first + self.steps(length).take(range.start).sum::<f64>())
    }

    /// Each later block has so many steps more. Time: linear.
    fn variances_of_blocks(&self, width: usize) -> Vec<f64> {
        poll();
        let (bins, mut steps) = (self.bins(), self.steps(width.min(self.bins())));
        let mut variance = 0.0;
        let variance_of = |block: Range<usize>| {
            // a shorter one, the last
            if block.len() < width || block.start == 0 {
                variance = self.variance(block);
            } else {
                variance += self.unit() * steps.by_ref().take(width).sum::<f64>();
            }
            variance
        };
        blocks(bins, width).map(variance_of).collect()
    }

    /// The bins' estimates are g(z) y(z) with g = (1 - z) h = 1 / F.
    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let of_bins = differences(&self.inverse);
        let times = |vector: &[f64]| cyclic(&of_bins, vector, 2 * self.bins(), 0, self.bins());
        let reversed: Vec<f64> = weights.iter().rev().copied().collect();
        let mut rows = times(&reversed);
        rows.reverse();
        rows.iter_mut().for_each(|row| *row *= self.unit());
        Some(times(&rows))
    }

    fn spread(&self, workload: Workload) -> Spread {
        match workload {
            Workload::All => Spread { mean: self.mean_over_all(), max: self.max_over_all() },
            Workload::Prefix => {
                Spread::of(self.prefix_squares().map(|square| self.unit() * square))
            }
            Workload::Nodes => self.spread_over(&mut workload.ranges(self.bins())),
        }
    }

    /// In one pass over the starts for every length. Time: bins times different lengths.
    fn spread_over(&self, ranges: &mut dyn Iterator<Item = Range<usize>>) -> Spread {
        let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for range in ranges {
            starts.entry(range.len()).or_default().push(range.start);
        }
        let variances = starts.into_iter().flat_map(|(length, mut starts)| {
            poll();
            starts.sort_unstable();
            let (mut done, mut variance) = (0, self.variance(0..length));
            let mut steps = self.steps(length);
            starts
                .into_iter()
                .map(move |start| {
                    let between: f64 = steps.by_ref().take(start - done).sum();
                    variance += self.unit() * between;
                    done = start;
                    variance
                })
                .collect::<Vec<_>>()
        });
        Spread::of(variances)
    }

    fn mean_over_all(&self) -> f64 {
        poll();
        let bins = self.bins();
        // a range is a difference of two of the n + 1 prefixes P, the empty one among them:
        // the sum of Var(P_i - P_j) over pairs is (n + 1) sum Var(P_i) - Var(sum P_i),
        // and N_t is in sum P_i with h_0 + ... + h_{n-1-t}
        let (mut partial, mut of_sum) = (0.0, 0.0);
        for h in &self.inverse {
            partial += h;
            of_sum += partial * partial;
        }
        let total = (bins + 1) as f64 * self.prefix_squares().sum::<f64>() - of_sum;
        self.unit() * total / (bins as f64 * (bins + 1) as f64 / 2.0)
    }

    /// Every start adds to the variance: of each length, the range that ends with the last bin has
    /// the largest.
    fn max_over_all(&self) -> f64 {
        self.unit() * self.suffix_squares().into_iter().fold(0.0, f64::max)
    }

    fn splits(&self) -> Vec<Split> {
        let before = once(0.0).chain(self.prefix_squares());
        let after: Vec<f64> = self.suffix_squares();
        let total = after[self.bins()];
        let split = |(before, after): (f64, &f64)| Split {
            before: self.unit() * before,
            after: self.unit() * after,
            covariance: self.unit() * (total - before - after) / 2.0,
        };
        before.zip(after.iter().rev()).map(split).collect()
    }
}

/// f_0 .. f_{n-1}.
pub(super) fn root(bins: usize) -> impl Iterator<Item = f64> {
    let later = (1..bins).scan(1.0, |f, j| {
        *f *= (2 * j - 1) as f64 / (2 * j) as f64;
        Some(*f)
    });
    once(1.0).chain(later)
}

fn differences<T: Copy + Default + std::ops::Sub<Output = T>>(values: &[T]) -> Vec<T> {
    let before = once(T::default()).chain(values.iter().copied());
    values.iter().zip(before).map(|(&value, before)| value - before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_sigma(bins: usize, sigma: f64) -> PrefixFactorisation {
        let calibration = Calibration::together(1.0 / (2.0 * sigma * sigma));
        PrefixFactorisation::new(bins, &calibration).unwrap()
    }

    /// h by long division.
    fn plain_inverse(kernel: &[i64]) -> Vec<f64> {
        let f: Vec<f64> = differences(kernel).iter().map(|&f| f as f64).collect();
        let mut g = vec![1.0 / f[0]];
        for i in 1..f.len() {
            let sum: f64 = (0..i).map(|j| g[j] * f[i - j]).sum();
            g.push(-sum / f[0]);
        }
        g
    }

    #[test]
    fn the_kernel_is_the_square_root_of_the_ones() {
        let mechanism = with_sigma(1000, 1.0);
        let scale = mechanism.kernel[0] as f64;
        let f: Vec<f64> = mechanism.kernel.iter().map(|&f| f as f64 / scale).collect();
        let square = cyclic(&f, &f, 2000, 0, 1000);
        assert!(square.iter().all(|one| (one - 1.0).abs() < 1e-5));
        // that is why the inverse of (1 - z) f is f
        let close = |(h, f): (&f64, &f64)| (h * scale - f).abs() < 1e-5;
        assert!(mechanism.inverse.iter().zip(&f).all(close));
    }

    #[test]
    fn the_inverse_is_the_one_of_the_integers() {
        for bins in [1, 2, 3, 5, 64, 1000] {
            for sigma in [1.0, 4000.0] {
                let mechanism = with_sigma(bins, sigma);
                let plain = plain_inverse(&mechanism.kernel);
                let scale = mechanism.kernel[0] as f64;
                let close = |(a, b): (&f64, &f64)| (a - b).abs() * scale < 1e-13;
                assert!(mechanism.inverse.iter().zip(&plain).all(close), "{bins} {sigma}");
            }
        }
    }
}
