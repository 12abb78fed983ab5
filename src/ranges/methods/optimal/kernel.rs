//! Matrices with the eigenvectors of second differences, by convolutions; see
//! [`sine`](super::sine).

use crate::ranges::convolution::{cyclic_exact, from_spectrum, spectrum};
use crate::ranges::measurements::MEASURED_LIMIT;
use crate::ranges::workload::Workload;
use realfft::num_complex::Complex;
use std::f64::consts::PI;
use std::iter::{repeat_n, successors};

/// Up to so many bins transforms of any length take a few milliseconds.
pub(super) const MANY_BINS: usize = 4096;

/// The boundaries of the second-difference matrix: whose workload the strategy is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    AllRanges,
    Prefixes,
}

impl Boundary {
    pub(super) fn of(workload: Workload) -> Boundary {
        match workload {
            Workload::All | Workload::Nodes => Boundary::AllRanges,
            Workload::Prefix => Boundary::Prefixes,
        }
    }

    /// P.
    pub(super) fn period(self, order: usize) -> usize {
        match self {
            Boundary::AllRanges => 2 * (order + 1),
            Boundary::Prefixes => 2 * order + 1,
        }
    }

    /// The order of M for so many bins: beyond [`MANY_BINS`] the next one with a P without prime
    /// factors above 11.
    pub(super) fn order(self, bins: usize) -> usize {
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
    pub(super) fn sign(self) -> i64 {
        match self {
            Boundary::AllRanges => -1,
            Boundary::Prefixes => 1,
        }
    }

    /// c.
    pub(super) fn offset(self) -> usize {
        match self {
            Boundary::AllRanges => 2,
            Boundary::Prefixes => 1,
        }
    }

    /// For prefixes times (-1)^m: a sequence that changes its sign after the odd P then has period
    /// P. It takes the frequency theta to pi - theta.
    pub(super) fn modulate(self, values: &mut [f64]) {
        if self == Boundary::Prefixes {
            values.iter_mut().skip(1).step_by(2).for_each(|value| *value = -*value);
        }
    }

    /// The transform of the modulated sequence, given its entries 0 .. P.
    pub(super) fn transform(self, mut values: Vec<f64>) -> Vec<Complex<f64>> {
        self.modulate(&mut values);
        let period = values.len();
        spectrum(values, period)
    }

    /// The inverse of [`Boundary::transform`].
    pub(super) fn sequence(self, order: usize, transform: Vec<Complex<f64>>) -> Vec<f64> {
        let mut values = from_spectrum(transform, self.period(order));
        self.modulate(&mut values);
        values
    }

    /// The matrix with these eigenvalues times a vector of n numbers.
    pub(super) fn apply(self, eigenvalues: impl Iterator<Item = f64>, vector: &[f64]) -> Vec<f64> {
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
    pub(super) fn sines(self, order: usize) -> impl Iterator<Item = Option<f64>> {
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

/// A matrix M of integers with these eigenvectors, whatever the integers: they are one half of its
/// even sequence a.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) boundary: Boundary,
    /// n.
    pub(super) order: usize,
    /// a(0) ..= a(P / 2).
    half: Vec<i64>,
}

impl Kernel {
    /// Of the entries 0 ..= P / 2 of `real`, times `scale`.
    ///
    /// # Panics
    /// If their squares sum to 2^61 or more.
    pub(super) fn rounded(boundary: Boundary, order: usize, real: &[f64], scale: f64) -> Kernel {
        let half = &real[..=boundary.period(order) / 2];
        let half: Vec<i64> = half.iter().map(|a| (a * scale).round() as i64).collect();
        // a * a is nowhere larger than at 0, and there at most twice this: its convolution is
        // exact, and no column's square, at most twice a * a, is beyond 2^63
        let squares: i128 = half.iter().map(|&a| i128::from(a) * i128::from(a)).sum();
        assert!(2 * squares < i128::from(MEASURED_LIMIT), "a kernel out of range");
        Kernel { boundary, order, half }
    }

    /// a(0) .. a(P): beyond the half a(P - m) = -s a(m).
    pub(super) fn sequence(&self) -> Vec<i64> {
        let mirrored = self.half[1..=self.order].iter().rev();
        let mirrored = mirrored.map(|a| -self.boundary.sign() * a);
        self.half.iter().copied().chain(mirrored).collect()
    }

    /// What M takes from the sequence: a(-(n - 1)) .. a(2 (n - 1) + c), the last one included.
    pub(super) fn band(&self) -> Vec<i64> {
        let sequence = self.sequence();
        let after = 2 * self.order - 1 + self.boundary.offset();
        let before = sequence[1..self.order].iter().rev();
        before.chain(&sequence[..after]).copied().collect()
    }

    /// M z, exactly.
    pub(super) fn apply(&self, vector: &[i64]) -> Vec<i64> {
        let (band, offset) = (self.band(), self.boundary.offset());
        // the extension as far as M takes it, from -(n - 1) - c to n - 1: s z_j is at -j - c
        let mirrored = vector.iter().rev().map(|value| self.boundary.sign() * value);
        let gap = repeat_n(0, offset - 1);
        let extended: Vec<i64> = mirrored.chain(gap).chain(vector.iter().copied()).collect();
        // entry 0 of the result; with the band's length as the period, what comes around falls
        // before it
        let origin = 2 * (self.order - 1) + offset;
        cyclic_exact(&band, &extended, band.len(), origin, self.order)
    }

    /// The squares of the lengths of M's first `columns` columns: the diagonal b(0) + s b(2 j + c)
    /// of M^2, whose sequence b is the cyclic convolution of a with itself.
    pub(super) fn column_squares(&self, columns: usize) -> Vec<u64> {
        let sequence = self.sequence();
        let (period, half) = (sequence.len(), sequence.len() / 2);
        // b(m) = sum of a(m - p) a(p) over the period 0 <= p < P
        let band: Vec<i64> = sequence[1..].iter().rev().chain(&self.half).copied().collect();
        let square = cyclic_exact(&band, &sequence, band.len(), period - 1, half + 1);
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
    pub(super) fn eigenvalues(&self) -> Vec<f64> {
        let values = self.sequence().into_iter().map(|a| a as f64).collect();
        self.boundary.transform(values).into_iter().map(|value| value.re).collect()
    }
}
