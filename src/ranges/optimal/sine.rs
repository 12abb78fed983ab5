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
//! The sequence of G^(1/4) is scaled and rounded to integers, D too: B = M D is an integer matrix,
//! M still has those eigenvectors, and B x is an exact convolution of D x. The squares of M's
//! column lengths are the diagonal of M^2, integers from the exact convolution of a with itself.
//!
//! # Many bins
//!
//! Fourier transforms of P numbers are fast where P has small prime factors only. For many bins M
//! is therefore made for slightly more, of which the others are empty by definition: D x is
//! followed by zeros, as many numbers are measured as M has rows, and the estimates are the first
//! ones of M^-1 times these, over D. No row is in those other bins, so the sensitivity is that of
//! the columns of the true ones. Variances are those of the larger M: 1 % more bins make them
//! 0.2 % larger.

use crate::noise::ScaleError;
use crate::privacy::gaussian_sigma;
use crate::ranges::convolution::{cyclic_exact, from_spectrum, resolution, spectrum};
use crate::ranges::mechanism::{Group, Loss, MEASURED_LIMIT, RangeMechanism, Spread, Workload};
use crate::ranges::noise::Noise;
use crate::ranges::tree::running_sums;
use num_rational::Ratio;
use realfft::num_complex::Complex;
use std::f64::consts::PI;
use std::iter::{repeat_n, successors};
use std::ops::Range;

/// Up to so many bins transforms of any length take a few milliseconds.
const MANY_BINS: usize = 4096;

/// The boundaries of the second-difference matrix: whose workload the strategy is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boundary {
    AllRanges,
    Prefixes,
}

impl Boundary {
    fn of(workload: Workload) -> Boundary {
        match workload {
            Workload::All | Workload::Nodes => Boundary::AllRanges,
            Workload::Prefix => Boundary::Prefixes,
        }
    }

    /// P.
    fn period(self, order: usize) -> usize {
        match self {
            Boundary::AllRanges => 2 * (order + 1),
            Boundary::Prefixes => 2 * order + 1,
        }
    }

    /// The order of M for so many bins: beyond [`MANY_BINS`] the next one with a P without prime
    /// factors above 11.
    fn order(self, bins: usize) -> usize {
        let smooth = |order: &usize| {
            let reduced = |rest: usize, factor: usize| {
                successors(Some(rest), |rest| rest.is_multiple_of(factor).then(|| rest / factor))
                    .last()
            };
            [2, 3, 5, 7, 11].into_iter().try_fold(self.period(*order), reduced) == Some(1)
        };
        if bins <= MANY_BINS { bins } else { (bins..).find(smooth).unwrap_or(bins) }
    }

    /// s.
    fn sign(self) -> i64 {
        match self {
            Boundary::AllRanges => -1,
            Boundary::Prefixes => 1,
        }
    }

    /// c.
    fn offset(self) -> usize {
        match self {
            Boundary::AllRanges => 2,
            Boundary::Prefixes => 1,
        }
    }

    /// For prefixes times (-1)^m: a sequence that changes its sign after the odd P then has period P.
    /// It takes the frequency theta to pi - theta.
    fn modulate(self, values: &mut [f64]) {
        if self == Boundary::Prefixes {
            values.iter_mut().skip(1).step_by(2).for_each(|value| *value = -*value);
        }
    }

    /// The transform of the modulated sequence, given its entries 0 .. P.
    fn transform(self, mut values: Vec<f64>) -> Vec<Complex<f64>> {
        self.modulate(&mut values);
        let period = values.len();
        spectrum(values, period)
    }

    /// The inverse of [`Boundary::transform`].
    fn sequence(self, order: usize, transform: Vec<Complex<f64>>) -> Vec<f64> {
        let mut values = from_spectrum(transform, self.period(order));
        self.modulate(&mut values);
        values
    }

    /// The matrix with these eigenvalues times a vector of n numbers.
    fn apply(self, eigenvalues: impl Iterator<Item = f64>, vector: &[f64]) -> Vec<f64> {
        let order = vector.len();
        // the extension over the period 0 .. P: s z_j at -j - c is -z_j at P - c - j for either
        let mut extended = vector.to_vec();
        extended.resize(self.period(order), 0.0);
        for (mirrored, value) in extended[order + 1..].iter_mut().zip(vector.iter().rev()) {
            *mirrored = -value;
        }
        let mut transform = self.transform(extended);
        transform.iter_mut().zip(eigenvalues).for_each(|(value, factor)| *value *= factor);
        let mut product = self.sequence(order, transform);
        product.truncate(order);
        product
    }

    /// 2 sin(theta / 2) for the frequencies 2 pi q / P of the modulated sequence, q = 0 ..= P / 2.
    ///
    /// None for those that extended vectors do not have: 0, and pi for all ranges.
    fn sines(self, order: usize) -> impl Iterator<Item = Option<f64>> {
        let period = self.period(order);
        (0..=period / 2).map(move |q| {
            let half = PI * q as f64 / period as f64;
            match self {
                _ if q == 0 => None,
                Boundary::AllRanges if 2 * q == period => None,
                Boundary::AllRanges => Some(2.0 * half.sin()),
                Boundary::Prefixes => Some(2.0 * half.cos()),
            }
        })
    }
}

/// A matrix M of integers with these eigenvectors: the entries 0 .. P of its even sequence a.
#[derive(Debug, Clone)]
struct Kernel {
    boundary: Boundary,
    /// n.
    order: usize,
    values: Vec<i64>,
}

impl Kernel {
    /// What M takes from the sequence: a(-(n - 1)) .. a(2 (n - 1) + c), the last one included.
    fn band(&self) -> Vec<i64> {
        let after = 2 * self.order - 1 + self.boundary.offset();
        let before = self.values[1..self.order].iter().rev();
        before.chain(&self.values[..after]).copied().collect()
    }

    /// M z, exactly.
    fn apply(&self, vector: &[i64], checkpoint: &mut dyn FnMut()) -> Vec<i64> {
        let (band, offset) = (self.band(), self.boundary.offset());
        // the extension as far as M takes it, from -(n - 1) - c to n - 1: s z_j is at -j - c
        let mirrored = vector.iter().rev().map(|value| self.boundary.sign() * value);
        let gap = repeat_n(0, offset - 1);
        let extended: Vec<i64> = mirrored.chain(gap).chain(vector.iter().copied()).collect();
        // entry 0 of the result; with the band's length as the period, what comes around falls
        // before it
        let origin = 2 * (self.order - 1) + offset;
        cyclic_exact(&band, &extended, band.len(), origin, self.order, checkpoint)
    }

    /// The squares of the lengths of M's first `columns` columns: the diagonal b(0) + s b(2 j + c) of
    /// M^2, whose sequence b is the cyclic convolution of a with itself.
    fn column_squares(&self, columns: usize, checkpoint: &mut dyn FnMut()) -> Vec<u64> {
        let (period, half) = (self.values.len(), self.values.len() / 2);
        // b(m) = sum of a(m - p) a(p) over the period 0 <= p < P
        let band: Vec<i64> =
            self.values[1..].iter().rev().chain(&self.values[..=half]).copied().collect();
        let square =
            cyclic_exact(&band, &self.values, band.len(), period - 1, half + 1, checkpoint);
        let entry = |j: usize| {
            let m = 2 * j + self.boundary.offset();
            let other = match self.boundary {
                _ if m <= half => square[m],
                Boundary::AllRanges => square[period - m],
                Boundary::Prefixes => -square[period - m],
            };
            square[0] + self.boundary.sign() * other
        };
        (0..columns).map(|j| entry(j) as u64).collect()
    }

    /// The eigenvalues, at the frequencies of [`Boundary::sines`].
    fn eigenvalues(&self) -> Vec<f64> {
        let values = self.values.iter().map(|&a| a as f64).collect();
        self.boundary.transform(values).into_iter().map(|value| value.re).collect()
    }
}

/// The strategy for one workload over some bins, with its noise.
#[derive(Debug, Clone)]
pub struct SineStrategy {
    /// M.
    matrix: Kernel,
    /// The diagonal of D.
    factors: Vec<i64>,
    pub(super) sensitivity_squared: u64,
    noise: Noise,
    /// The eigenvalues of M^-1, at the frequencies of [`Boundary::sines`].
    inverse: Vec<f64>,
    /// The sequence of M^-2: D^-1 M^-2 D^-1 is the estimates' covariance, in units of an integer's
    /// variance.
    inverse_square: Vec<f64>,
}

/// The covariance of the estimates of bins i and j: `unit` times k(|i - j|) + s k(i + j + c), over
/// the `factors` of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Covariance<'a> {
    pub unit: f64,
    pub factors: &'a [i64],
    /// k.
    pub sequence: &'a [f64],
    /// s.
    pub sign: f64,
    /// c.
    pub offset: usize,
}

impl SineStrategy {
    /// For all ranges or for prefixes: a release is `rho`-zCDP. For [`Workload::Nodes`], which has
    /// other eigenvectors, the one for all ranges.
    ///
    /// `checkpoint` is called between Fourier transforms; it may unwind.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are no bins.
    pub fn new(
        workload: Workload,
        bins: usize,
        rho: f64,
        checkpoint: &mut dyn FnMut(),
    ) -> Result<SineStrategy, ScaleError> {
        let order = Boundary::of(workload).order(bins);
        SineStrategy::of_order(order, workload, bins, rho, checkpoint)
    }

    /// With an M of at least as many rows as there are bins.
    pub(in crate::ranges) fn of_order(
        order: usize,
        workload: Workload,
        bins: usize,
        rho: f64,
        checkpoint: &mut dyn FnMut(),
    ) -> Result<SineStrategy, ScaleError> {
        assert!((1..=order).contains(&bins));
        let boundary = Boundary::of(workload);
        let digits = f64::from(resolution(rho));
        // Rounding D to r digits costs about 2^-r of the accuracy, as columns get shorter than the
        // longest; rounding the sequence to the other q - r costs about 3 n 4^-(q - r), as its
        // errors disturb all eigenvalues alike. The sum is the least where:
        let factor_digits = (2.0 * digits - (5.0 * bins as f64).log2()) / 3.0;
        let mut root = |exponent: f64| {
            checkpoint();
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
        let values = real.iter().map(|a| (a * scale).round() as i64).collect();
        let matrix = Kernel { boundary, order, values };

        let squares = matrix.column_squares(bins, checkpoint);
        let target = digits.exp2();
        let factor = |&square: &u64| (target / (square as f64).sqrt()) as i64;
        let factors: Vec<i64> = squares.iter().map(factor).collect();
        let columns = factors.iter().zip(&squares);
        let sensitivity_squared =
            columns.map(|(&factor, square)| factor as u64 * factor as u64 * square).max();
        let sensitivity_squared = sensitivity_squared.expect("at least one bin");
        let noise = Noise::gaussian(gaussian_sigma(Ratio::from(sensitivity_squared), rho))?;

        checkpoint();
        let eigenvalues = matrix.eigenvalues();
        let present = eigenvalues.into_iter().zip(boundary.sines(order));
        let inverse: Vec<f64> =
            present.map(|(value, sine)| sine.map_or(0.0, |_| 1.0 / value)).collect();
        checkpoint();
        let squares = inverse.iter().map(|value| Complex::from(value * value)).collect();
        let inverse_square = boundary.sequence(order, squares);
        Ok(SineStrategy { matrix, factors, sensitivity_squared, noise, inverse, inverse_square })
    }

    /// D^-1 times the bins of a vector.
    fn scaled_down(&self, mut vector: Vec<f64>) -> Vec<f64> {
        vector.truncate(self.factors.len());
        for (value, &factor) in vector.iter_mut().zip(&self.factors) {
            *value /= factor as f64;
        }
        vector
    }

    /// The covariances of the estimates with the sum of the bins times `weights`.
    pub(super) fn covariances(&self, weights: Vec<f64>) -> Vec<f64> {
        let mut scaled = self.scaled_down(weights);
        scaled.resize(self.matrix.order, 0.0);
        let inverse_square = self.inverse.iter().map(|value| value * value);
        let mut covariances = self.scaled_down(self.matrix.boundary.apply(inverse_square, &scaled));
        covariances.iter_mut().for_each(|value| *value *= self.noise.variance());
        covariances
    }

    /// What the covariance of two bins is made of.
    pub(super) fn covariance(&self) -> Covariance<'_> {
        let boundary = self.matrix.boundary;
        Covariance {
            unit: self.noise.variance(),
            factors: &self.factors,
            sequence: &self.inverse_square,
            sign: boundary.sign() as f64,
            offset: boundary.offset(),
        }
    }
}

impl RangeMechanism for SineStrategy {
    fn bins(&self) -> usize {
        self.factors.len()
    }

    fn groups(&self) -> Vec<Group> {
        vec![Group { measurements: self.matrix.order, noise: self.noise.clone() }]
    }

    fn loss(&self) -> Loss {
        Loss::Rho(self.sensitivity_squared as f64 * self.noise.rho())
    }

    fn largest_count(&self) -> u64 {
        // no row of M holds more of the sequence than the band
        let band: u64 = self.matrix.band().iter().map(|a| a.unsigned_abs()).sum();
        let factor = self.factors.iter().max().map_or(1, |factor| factor.unsigned_abs());
        MEASURED_LIMIT / (band * factor)
    }

    fn measure(&self, counts: &[u64], checkpoint: &mut dyn FnMut()) -> Vec<i64> {
        let scaled = counts.iter().zip(&self.factors).map(|(&count, factor)| count as i64 * factor);
        let mut scaled: Vec<i64> = scaled.collect();
        scaled.resize(self.matrix.order, 0);
        self.matrix.apply(&scaled, checkpoint)
    }

    fn reconstruct(&self, noisy: &[i64], checkpoint: &mut dyn FnMut()) -> Vec<f64> {
        checkpoint();
        let noisy: Vec<f64> = noisy.iter().map(|&value| value as f64).collect();
        let inverse = self.inverse.iter().copied();
        let bins = self.scaled_down(self.matrix.boundary.apply(inverse, &noisy));
        running_sums(bins.into_iter(), checkpoint)
    }

    /// Time: n log n in the range's length n.
    fn variance(&self, range: Range<usize>) -> f64 {
        self.variance_of(range)
    }

    fn spread(&self, workload: Workload, checkpoint: &mut dyn FnMut()) -> Spread {
        match workload {
            Workload::All => self.all_ranges(checkpoint),
            Workload::Prefix => Spread::of(self.prefix_variances(checkpoint).into_iter().skip(1)),
            Workload::Nodes => self.spread_over(&mut workload.ranges(self.bins()), checkpoint),
        }
    }

    /// Time: n log^2 n.
    fn mean_over_all(&self, checkpoint: &mut dyn FnMut()) -> f64 {
        let prefixes = self.prefix_variances(checkpoint);
        self.mean_of_differences(&prefixes)
    }

    /// Beyond 1024 bins that of a search: no range with either end in common with the one that was
    /// found has a larger variance. Time: n log^2 n; up to 1024 bins n^2 log n.
    fn max_over_all(&self, checkpoint: &mut dyn FnMut()) -> f64 {
        let prefixes = self.prefix_variances(checkpoint);
        self.worst_range(&prefixes, checkpoint)
    }
}
