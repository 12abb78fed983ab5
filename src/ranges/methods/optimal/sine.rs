//! The closed form for all ranges and for all prefixes, at any number of bins, by convolutions.
//!
//! # The matrices
//!
//! G is (up to a factor) the inverse of the second-difference matrix (-1, 2, -1), with 0 beyond
//! either end for all ranges; for prefixes with 0 beyond the last bin, and with the first bin
//! repeated before the first. Its eigenvectors are sines, or cosines at half-integers, of the
//! frequencies theta_k, its eigenvalues proportional to 1 / (2 sin(theta_k / 2))^2. All matrices
//! with these eigenvectors are Toeplitz plus Hankel matrices
//!   M_ij = a(i - j) + s a(i + j + c), i, j = 0 .. n - 1,
//! with an even sequence a and s = -1, c = 2, a(m + P) = a(m), P = 2 (n + 1) for all ranges, and
//! s = 1, c = 1, a(m + P) = -a(m), P = 2 n + 1 for prefixes: M is the cyclic convolution with a of
//! the vector's extension, the one that the boundaries describe. So they multiply as their
//! sequences are convolved, and a is the Fourier transform of M's eigenvalues.
//!
//! # What is measured
//!
//! One half of the sequence of G^(1/4) is scaled and rounded to integers, D too, and the other half
//! is the first one's mirror image: a(P - m) = -s a(m). So the integers have the symmetry of the
//! real numbers, which those from a Fourier transform have up to roundoff only: B = M D is an
//! integer matrix, M still has those eigenvectors, and B x is an exact convolution of D x. The
//! squares of M's column lengths are the diagonal of M^2, integers from the exact convolution of a
//! with itself; that they are, and with them the sensitivity, rests on the symmetry alone.
//!
//! # Many bins
//!
//! Fourier transforms of P numbers are fast where P has small prime factors only. For many bins M
//! is therefore made for slightly more, of which the others are empty by definition: D x is
//! followed by zeros, as many numbers are measured as M has rows, and the estimates are the first
//! ones of M^-1 times these, over D. No row is in those other bins, so the sensitivity is that of
//! the columns of the true ones. Variances are those of the larger M: 1 % more bins make them
//! 0.2 % larger.

use super::kernel::{Boundary, Kernel};
use super::spread::{ConvolvedCovariance, mean_of_differences, splits, worst_range};
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::convolution::resolution;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::ranges::mechanism::{RangeMechanism, Split, running_sums};
use crate::ranges::workload::{Spread, Workload};
use crate::work::poll;
use num_rational::Ratio;
use realfft::num_complex::Complex;
use std::ops::Range;

/// The strategy for one workload over some bins, with its noise.
#[derive(Debug, Clone)]
pub struct SineStrategy {
    /// M.
    matrix: Kernel,
    /// The diagonal of D.
    factors: Vec<i64>,
    measurements: Measurements,
    /// The eigenvalues of M^-1, at the frequencies of [`Boundary::sines`].
    inverse: Vec<f64>,
    /// The sequence of M^-2: D^-1 M^-2 D^-1 is the estimates' covariance, in units of an integer's
    /// variance.
    inverse_square: Vec<f64>,
}

impl SineStrategy {
    /// For all ranges or for prefixes; for [`Workload::Nodes`], which has other eigenvectors, the
    /// one for all ranges. `calibration`: of all measurements together.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are no bins, or the groups are to have noise of their own.
    pub fn new(
        workload: Workload,
        bins: usize,
        calibration: &Calibration,
    ) -> Result<SineStrategy, ScaleError> {
        let order = Boundary::of(workload).order(bins);
        SineStrategy::of_order(order, workload, bins, calibration)
    }

    /// With an M of at least as many rows as there are bins.
    pub(in crate::ranges) fn of_order(
        order: usize,
        workload: Workload,
        bins: usize,
        calibration: &Calibration,
    ) -> Result<SineStrategy, ScaleError> {
        assert!((1..=order).contains(&bins));
        let boundary = Boundary::of(workload);
        let digits = f64::from(resolution(calibration.budget().highest()));
        // Rounding D to r digits costs about 2^-r of the accuracy, as columns get shorter than the
        // longest; rounding the sequence to the other q - r costs about 3 n 4^-(q - r), as its
        // errors disturb all eigenvalues alike. The sum is the least where:
        let factor_digits = (2.0 * digits - (5.0 * bins as f64).log2()) / 3.0;
        let root = |exponent: f64| {
            poll();
            let sines = boundary.sines(order);
            let eigenvalues = sines.map(|sine| sine.map_or(0.0, |sine| sine.powf(exponent)));
            boundary.sequence(order, eigenvalues.map(Complex::from).collect())
        };
        // G^(1/4), and the lengths of its columns from G^(1/2)
        let (real, square) = (root(-0.5), root(-1.0));
        let diagonal = (0..bins).map(|j| square[2 * j + boundary.offset()]);
        let longest =
            diagonal.map(|other| square[0] + boundary.sign() as f64 * other).fold(0.0, f64::max);
        let scale = (digits - factor_digits).exp2() / longest.sqrt();
        let matrix = Kernel::rounded(boundary, order, &real, scale);

        let squares = matrix.column_squares(bins);
        let target = digits.exp2();
        let factor = |&square: &u64| (target / (square as f64).sqrt()) as i64;
        let factors: Vec<i64> = squares.iter().map(factor).collect();
        // of integers, so exact; whatever the factors' roundoff, none is beyond 2^53
        let columns = factors.iter().zip(&squares);
        let sensitivity_squared =
            columns.map(|(&factor, square)| factor as u64 * factor as u64 * square).max();
        let sensitivity_squared = sensitivity_squared.expect("at least one bin");
        let group = [(order, Ratio::from(1))];
        let measurements = Measurements::together(sensitivity_squared.into(), group, calibration)?;

        poll();
        let eigenvalues = matrix.eigenvalues();
        let present = eigenvalues.into_iter().zip(boundary.sines(order));
        let inverse: Vec<f64> =
            present.map(|(value, sine)| sine.map_or(0.0, |_| 1.0 / value)).collect();
        poll();
        let squares = inverse.iter().map(|value| Complex::from(value * value)).collect();
        let inverse_square = boundary.sequence(order, squares);
        Ok(SineStrategy { matrix, factors, measurements, inverse, inverse_square })
    }

    /// Of the noise of an integer.
    fn unit(&self) -> f64 {
        self.measurements.first_noise().variance()
    }

    /// D^-1 times the bins of a vector.
    fn scaled_down(&self, mut vector: Vec<f64>) -> Vec<f64> {
        vector.truncate(self.factors.len());
        for (value, &factor) in vector.iter_mut().zip(&self.factors) {
            *value /= factor as f64;
        }
        vector
    }

    /// See [`RangeMechanism::covariances`].
    fn covariances_with(&self, weights: Vec<f64>) -> Vec<f64> {
        let mut scaled = self.scaled_down(weights);
        scaled.resize(self.matrix.order, 0.0);
        let inverse_square = self.inverse.iter().map(|value| value * value);
        let mut covariances = self.scaled_down(self.matrix.boundary.apply(inverse_square, &scaled));
        covariances.iter_mut().for_each(|value| *value *= self.unit());
        covariances
    }

    /// What the covariance of two bins is made of.
    fn covariance(&self) -> ConvolvedCovariance<'_> {
        let boundary = self.matrix.boundary;
        ConvolvedCovariance {
            unit: self.unit(),
            factors: &self.factors,
            sequence: &self.inverse_square,
            sign: boundary.sign() as f64,
            offset: boundary.offset(),
        }
    }
}

impl CountMechanism for SineStrategy {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        // no row of M holds more of the sequence than the band
        let band: u64 = self.matrix.band().iter().map(|a| a.unsigned_abs()).sum();
        let factor = self.factors.iter().max().map_or(1, |factor| factor.unsigned_abs());
        MEASURED_LIMIT / band.saturating_mul(factor)
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let scaled = counts.iter().zip(&self.factors).map(|(&count, factor)| count as i64 * factor);
        let mut scaled: Vec<i64> = scaled.collect();
        scaled.resize(self.matrix.order, 0);
        self.matrix.apply(&scaled)
    }
}

impl RangeMechanism for SineStrategy {
    fn bins(&self) -> usize {
        self.factors.len()
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        poll();
        let noisy: Vec<f64> = noisy.iter().map(|&value| value as f64).collect();
        let inverse = self.inverse.iter().copied();
        let bins = self.scaled_down(self.matrix.boundary.apply(inverse, &noisy));
        running_sums(bins.into_iter())
    }

    /// Time: n log n in the range's length n.
    fn variance(&self, range: Range<usize>) -> f64 {
        self.covariance().variance(range)
    }

    fn spread(&self, workload: Workload) -> Spread {
        match workload {
            Workload::All => {
                let prefixes = self.covariance().prefix_variances();
                let covariances = |weights| self.covariances_with(weights);
                Spread {
                    mean: mean_of_differences(&prefixes, covariances),
                    max: worst_range(&prefixes, covariances),
                }
            }
            Workload::Prefix => {
                Spread::of(self.covariance().prefix_variances().into_iter().skip(1))
            }
            Workload::Nodes => self.spread_over(&mut workload.ranges(self.bins())),
        }
    }

    /// Time: n log^2 n.
    fn mean_over_all(&self) -> f64 {
        let prefixes = self.covariance().prefix_variances();
        mean_of_differences(&prefixes, |weights| self.covariances_with(weights))
    }

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        Some(self.covariances_with(weights.to_vec()))
    }

    /// Time: n log n.
    fn splits(&self) -> Vec<Split> {
        splits(&self.covariance().prefix_variances(), |weights| self.covariances_with(weights))
    }

    /// Beyond 1024 bins that of a search: no range with either end in common with the one that was
    /// found has a larger variance. Time: n log^2 n; up to 1024 bins n^2 log n.
    fn max_over_all(&self) -> f64 {
        let prefixes = self.covariance().prefix_variances();
        worst_range(&prefixes, |weights| self.covariances_with(weights))
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::MANY_BINS;
    use super::*;
    use proptest::prelude::*;

    /// a(P - m) over a(m).
    const SYMMETRIES: [(Workload, i64); 2] = [(Workload::All, 1), (Workload::Prefix, -1)];

    fn strategy(workload: Workload, bins: usize, rho: f64) -> SineStrategy {
        SineStrategy::new(workload, bins, &Calibration::together(rho)).unwrap()
    }

    fn check_symmetry(kernel: &Kernel, turned: i64) {
        let sequence = kernel.sequence();
        let period = sequence.len();
        assert_eq!(period, kernel.boundary.period(kernel.order));
        for m in 1..period {
            assert_eq!(sequence[period - m], turned * sequence[m], "{m} of {period}");
        }
    }

    /// The square of the length of a column of M, by what M makes of that unit vector.
    fn replayed(kernel: &Kernel, column: usize) -> i128 {
        let mut unit = vec![0; kernel.order];
        unit[column] = 1;
        let entries = kernel.apply(&unit);
        entries.into_iter().map(|entry| i128::from(entry).pow(2)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Noise can be sampled for all of these.
        #[test]
        fn what_is_measured_is_symmetric(
            bins in prop_oneof![1usize..100, 1usize..=MANY_BINS, MANY_BINS + 1..30_000],
            ln_rho in -19.0f64..3.0,
        ) {
            for (workload, turned) in SYMMETRIES {
                check_symmetry(&strategy(workload, bins, ln_rho.exp()).matrix, turned);
            }
        }
    }

    #[test]
    fn so_it_is_for_the_most_bins() {
        for (workload, turned) in SYMMETRIES {
            check_symmetry(&strategy(workload, 1 << 20, 0.02435).matrix, turned);
        }
    }

    /// Some columns of many.
    #[test]
    fn columns_of_a_larger_matrix_are_as_long_as_stated() {
        for (workload, _) in SYMMETRIES {
            let strategy = strategy(workload, 5000, 0.02435);
            assert!(strategy.matrix.order > 5000);
            let squares = strategy.matrix.column_squares(5000);
            for column in (0..5000).step_by(263).chain([2499, 2500, 4999]) {
                let expected = replayed(&strategy.matrix, column);
                assert_eq!(i128::from(squares[column]), expected, "{workload:?} {column}");
            }
        }
    }

    /// Between two integers: rounded one by one, the last number of a period and the one that it
    /// mirrors come out different, and b(0) + s b(2 j + c) is less than the square of the longest
    /// column. No kernel is made so.
    #[test]
    fn numbers_that_are_not_quite_symmetric_make_a_kernel_that_is() {
        for ((workload, turned), (above, below)) in
            SYMMETRIES.into_iter().flat_map(|s| [(s, (4.5, 4.499)), (s, (4.499, 4.5))])
        {
            let (boundary, order) = (Boundary::of(workload), 3);
            let period = boundary.period(order);
            let mut real = vec![9.0, above, 2.0, 1.0, 0.0];
            real.truncate(period / 2 + 1);
            real.extend([1.0, 2.0, below].map(|a| turned as f64 * a));
            assert_eq!(real.len(), period);

            let one_by_one: Vec<i64> = real.iter().map(|a: &f64| a.round() as i64).collect();
            assert_ne!(one_by_one[period - 1], turned * one_by_one[1]);
            let kernel = Kernel::rounded(boundary, order, &real, 1.0);
            check_symmetry(&kernel, turned);
            let longest = (0..order).map(|column| replayed(&kernel, column)).max().unwrap();
            let squares = kernel.column_squares(order);
            assert_eq!(squares.into_iter().max().map(i128::from), Some(longest));

            // M takes nothing beyond a(P - 2): its columns are the same
            assert_eq!(kernel.sequence()[..period - 1], one_by_one[..period - 1]);
            let b = |m: usize| -> i64 {
                (0..period).map(|p| one_by_one[m.abs_diff(p)] * one_by_one[p]).sum()
            };
            let stated = |j: usize| {
                let m = 2 * j + boundary.offset();
                let other = if m <= period / 2 { b(m) } else { turned * b(period - m) };
                b(0) + boundary.sign() * other
            };
            let stated = (0..order).map(stated).max().map(i128::from);
            assert_eq!(stated < Some(longest), above > below, "{stated:?} {longest}");
        }
    }

    #[test]
    #[should_panic(expected = "a kernel out of range")]
    fn a_kernel_whose_square_would_overflow_is_refused() {
        Kernel::rounded(Boundary::AllRanges, 1, &[0.0, 1.6e9, 0.0, 1.6e9], 1.0);
    }
}
