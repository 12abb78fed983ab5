//! The closed form for all ranges of one axis of a grid, in few digits.
//!
//! # The matrices
//!
//! A = G^(1/4) D is the same if its rows and its columns are both reversed, so sums and differences
//! of mirrored bins do not mix: with e_j = x_j + x_{n-1-j} and o_j = x_j - x_{n-1-j} (in the middle
//! of an odd n only e_j = x_j) A x is, but for a rotation, E e and O o for
//!   E_ij = (A_ij + A_{i,n-1-j}) / sqrt 2, O_ij = (A_ij - A_{i,n-1-j}) / sqrt 2, i, j < n / 2,
//! and for the row in the middle of an odd n, with 1 / 2 for 1 / sqrt 2. A rotation changes neither
//! sensitivity nor error under Gaussian noise.
//!
//! # What is measured
//!
//! E and O, scaled, are rounded to integer matrices, entry by entry: B is their product with the
//! sums and differences, square, of half the work that another matrix is. The square of the length
//! of B's column j is that of E's plus that of O's, for j and the mirrored bin alike: an integer,
//! added up as such, so no symmetry has a part in the sensitivity. The errors, up to 1/2 in each entry
//! of columns of length s, cost about n / (3 s^2) of the accuracy: half a percent for 1024 bins and 8
//! binary digits.

use super::dense::PrefixCovariance;
use super::kernel::Boundary;
use crate::ranges::workload::{Spread, Workload};
use crate::work::{done, poll};
use nalgebra::DMatrix;
use realfft::num_complex::Complex;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::ops::Range;

/// The most bins, of which setting up takes time n^3.
pub(super) const MAX_AXIS_BINS: usize = 1024;

/// Integers are multiplied in parts of so many binary digits, by rows whose entries sum up to so
/// much at most: the products are then added up in 32 bits.
const PART: u32 = 15;
const LARGEST_ROW: u64 = 1 << (31 - PART);

/// What three parts hold, in magnitude.
const LARGEST_OF_THREE: u64 = 1 << (3 * PART - 1);

/// B, and what follows from it.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    bins: usize,
    /// E, then O.
    halves: [Half; 2],
    /// Of the estimates, for noise of variance 1.
    covariance: PrefixCovariance,
}

#[derive(Debug, Clone)]
struct Half {
    /// Row by row.
    integers: Vec<i16>,
    inverse: DMatrix<f64>,
}

impl Axis {
    /// With columns of about the length 2^`digits`, of which there are 8 to 11.
    ///
    /// # Panics
    /// If there are no bins, or more than [`MAX_AXIS_BINS`].
    pub(super) fn new(bins: usize, digits: f64) -> Axis {
        assert!((1..=MAX_AXIS_BINS).contains(&bins) && (8.0..=11.0).contains(&digits));
        let scale = digits.exp2();
        let root = |exponent: f64| {
            poll();
            let eigenvalues = Boundary::AllRanges.sines(bins);
            let eigenvalues =
                eigenvalues.map(|sine| Complex::from(sine.map_or(0.0, |sine| sine.powf(exponent))));
            Boundary::AllRanges.sequence(bins, eigenvalues.collect())
        };
        // G^(1/4), and the lengths of its columns from G^(1/2)
        let (quarter, square) = (root(-0.5), root(-1.0));
        let entry = |i: usize, j: usize| {
            let length = (square[0] - square[2 * j + 2]).sqrt();
            (quarter[i.abs_diff(j)] - quarter[i + j + 2]) / length
        };
        let pairs = bins / 2;
        let half = |size: usize, sign: f64| {
            poll();
            let integers: DMatrix<f64> = DMatrix::from_fn(size, size, |i, j| {
                let factor = if i < pairs { FRAC_1_SQRT_2 } else { 0.5 };
                let sum = entry(i, j) + sign * entry(i, bins - 1 - j);
                // no entry of columns of length 1 is larger, but for roundoff
                (scale * factor * sum).round().clamp(-SQRT_2 * scale, SQRT_2 * scale)
            });
            let rows = integers.transpose().iter().map(|&entry| entry as i16).collect();
            let inverse = integers.try_inverse().expect("a strategy that tells all bins apart");
            Half { integers: rows, inverse }
        };
        let halves = [half(bins - pairs, 1.0), half(pairs, -1.0)];
        poll();
        let [even, odd] = halves.each_ref().map(|half| &half.inverse * half.inverse.transpose());
        let covariance = PrefixCovariance::new(DMatrix::from_fn(bins, bins, |i, j| {
            let mirrored = |bin: usize| bin.min(bins - 1 - bin);
            let (p, q) = (mirrored(i), mirrored(j));
            match (p < pairs, q < pairs) {
                (true, true) if (i < pairs) == (j < pairs) => (even[(p, q)] + odd[(p, q)]) / 4.0,
                (true, true) => (even[(p, q)] - odd[(p, q)]) / 4.0,
                (false, false) => even[(p, q)],
                _ => even[(p, q)] / 2.0,
            }
        }));
        let axis = Axis { bins, halves, covariance };
        assert!(axis.largest_row() <= 2 * LARGEST_ROW, "a strategy out of range");
        axis
    }

    pub(super) fn bins(&self) -> usize {
        self.bins
    }

    /// The square of the length of B's longest column.
    pub(super) fn sensitivity_squared(&self) -> u64 {
        let mut squares = vec![0; self.bins - self.bins / 2];
        for row in self.halves.iter().flat_map(Half::rows) {
            for (square, entry) in squares.iter_mut().zip(row) {
                *square += u64::from(entry.unsigned_abs()).pow(2);
            }
        }
        squares.into_iter().max().expect("at least one bin")
    }

    /// What a measurement comes to at most if every bin holds 1.
    pub(super) fn largest_row(&self) -> u64 {
        let rows = self.halves.iter().flat_map(Half::rows);
        // an entry is that of two bins
        let sums =
            rows.map(|row| row.iter().map(|entry| 2 * u64::from(entry.unsigned_abs())).sum());
        sums.max().expect("at least one bin")
    }

    /// B times each line of so many bins, one after another; so are the products. `largest`: what
    /// no number exceeds in magnitude; over a row it comes to 2^62 at most.
    pub(super) fn measure(&self, lines: &[i64], largest: u64) -> Vec<i64> {
        // sums and differences are of two bins. Four parts hold what is below 2^59, as the sum of
        // those is: over a row, of which the entries add up to 2^8 or more, it is 2^63 at most
        let few = largest <= LARGEST_OF_THREE / 2;
        let mut measured = Vec::with_capacity(lines.len());
        for line in lines.chunks_exact(self.bins) {
            for (half, sign) in self.halves.iter().zip([1, -1]) {
                let mirrored = line.iter().rev().map(|value| sign * value);
                let mut folded: Vec<i64> = line.iter().zip(mirrored).map(|(a, b)| a + b).collect();
                folded.truncate(half.inverse.ncols());
                if 2 * folded.len() > self.bins {
                    folded[self.bins / 2] = line[self.bins / 2];
                }
                if few {
                    half.times::<3>(&folded, &mut measured);
                } else {
                    half.times::<4>(&folded, &mut measured);
                }
            }
        }
        measured
    }

    /// B^-1 times a matrix.
    pub(super) fn estimates(&self, measured: &DMatrix<f64>) -> DMatrix<f64> {
        poll();
        let [even, odd] = &self.halves;
        let (pairs, width) = (odd.inverse.nrows(), measured.ncols());
        let sums = &even.inverse * measured.rows(0, self.bins - pairs);
        poll();
        let differences = &odd.inverse * measured.rows(self.bins - pairs, pairs);
        poll();
        DMatrix::from_fn(self.bins, width, |i, line| {
            let mirrored = self.bins - 1 - i;
            if i < pairs {
                (sums[(i, line)] + differences[(i, line)]) / 2.0
            } else if mirrored < pairs {
                (sums[(mirrored, line)] - differences[(mirrored, line)]) / 2.0
            } else {
                sums[(i, line)]
            }
        })
    }

    /// Of an answer, for noise of variance 1.
    pub(super) fn variance(&self, range: Range<usize>) -> f64 {
        self.covariance.variance(range)
    }

    /// Of the answers to all ranges, for noise of variance 1.
    pub(super) fn spread(&self) -> Spread {
        Spread::of(Workload::All.ranges(self.bins).map(|range| self.variance(range)))
    }
}

impl Half {
    fn rows(&self) -> impl Iterator<Item = &[i16]> {
        // without a row there is nothing to take apart
        self.integers.chunks_exact(self.inverse.ncols().max(1))
    }

    /// Adds the product with a vector to a list. In parts, as processors multiply eight integers of
    /// 16 bits at once, and add them up in 32; with all parts at once, a row is loaded once.
    fn times<const PARTS: usize>(&self, vector: &[i64], product: &mut Vec<i64>) {
        done((vector.len() * vector.len()) as u64 / 2);
        let parts: [Vec<i16>; PARTS] = std::array::from_fn(|n| {
            let shifted = vector.iter().map(|value| value >> (PART * n as u32));
            // the last one has the sign
            let cut = |value: i64| if n + 1 < PARTS { value & ((1 << PART) - 1) } else { value };
            shifted.map(|value| cut(value) as i16).collect()
        });
        product.extend(self.rows().map(|row| {
            let parts: [&[i16]; PARTS] = std::array::from_fn(|n| &parts[n][..row.len()]);
            let mut sums = [0i32; PARTS];
            for (i, entry) in row.iter().enumerate() {
                for (sum, part) in sums.iter_mut().zip(&parts) {
                    *sum += i32::from(*entry) * i32::from(part[i]);
                }
            }
            sums.iter().rev().fold(0, |sum, part| (sum << PART) + i64::from(*part))
        }));
    }
}
