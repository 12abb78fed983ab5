//! Gram matrices of workloads: entry i, j is how many questions ask for both bins.

use crate::noise::ScaleError;
use nalgebra::DMatrix;
use std::fmt;
use std::ops::Range;

/// The most bins of a strategy that is made of a Gram matrix, which takes time n^3.
pub const MAX_DENSE_BINS: usize = 1024;

/// Why there is no strategy for a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GramError {
    Noise(ScaleError),
    /// No bins, or more than [`MAX_DENSE_BINS`].
    Bins,
    /// Not as many entries as bins squared.
    Shape,
    /// An entry that is not finite, or different from the one across the diagonal, or an
    /// eigenvalue below 0: not the Gram matrix of any workload.
    NotGram,
    /// All entries are 0: no question asks for anything.
    Empty,
}

impl fmt::Display for GramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GramError::Noise(error) => write!(f, "the budget {error}"),
            GramError::Bins => write!(f, "the number of bins must be 1 to {MAX_DENSE_BINS}"),
            GramError::Shape => write!(f, "the Gram matrix must have one row and column per bin"),
            GramError::NotGram => {
                write!(f, "the Gram matrix must be symmetric and positive semidefinite")
            }
            GramError::Empty => write!(f, "the workload is empty"),
        }
    }
}

impl std::error::Error for GramError {}

impl From<ScaleError> for GramError {
    fn from(error: ScaleError) -> GramError {
        GramError::Noise(error)
    }
}

/// The Gram matrix, row by row, of ranges of bins; parts outside of the bins count nothing.
pub fn gram_of_ranges(bins: usize, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<f64> {
    // corners of squares, of which the sums over rows and columns are the squares
    let mut corners = DMatrix::<f64>::zeros(bins + 1, bins + 1);
    for range in ranges {
        let (lo, hi) = (range.start.min(bins), range.end.min(bins));
        if lo < hi {
            corners[(lo, lo)] += 1.0;
            corners[(hi, hi)] += 1.0;
            corners[(lo, hi)] -= 1.0;
            corners[(hi, lo)] -= 1.0;
        }
    }
    sum_over_rows_and_columns(&mut corners);
    let gram = corners.view((0, 0), (bins, bins));
    gram.iter().copied().collect()
}

/// Every entry becomes the sum of those at or before it in row and column.
pub(super) fn sum_over_rows_and_columns(matrix: &mut DMatrix<f64>) {
    for j in 0..matrix.ncols() {
        for i in 0..matrix.nrows() {
            let above = if i > 0 { matrix[(i - 1, j)] } else { 0.0 };
            matrix[(i, j)] += above;
        }
    }
    for j in 1..matrix.ncols() {
        for i in 0..matrix.nrows() {
            let left = matrix[(i, j - 1)];
            matrix[(i, j)] += left;
        }
    }
}
