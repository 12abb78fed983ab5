//! The Kronecker product of two cascades, one for the rows and one for the columns.
//!
//! # The measurement
//!
//! A cascade over n bins measures n integers B x, B square and invertible, with noise of the
//! variances w_i s^2 (see [`Cascade`](super::line::Cascade)). With the matrices B and B' of the two
//! axes, the counts X of the cells and the integers B X B'^T, integer (i, j) gets noise of variance
//! w_i w'_j s^2. Applying both inverses gives estimates of the cells, whose covariance is the
//! Kronecker product of the two cascades': every product of a node of one tree and a node of the
//! other has variance s^2, and a rectangle the product of the variances of its two ranges, over
//! s^2.
//!
//! # The sensitivity
//!
//! A record in cell (p, q) adds column p of B times column q of B' to the integers: in units of the
//! noise the square of the distance is the product of those of the two cascades,
//! (1 + k/3) (1 + k'/3) for perfect binary trees of heights k and k'.

use super::contrasts::{ContrastLaw, Contrasts};
use super::tree::TreeOverBins;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::plane::grid::{CellGrid, Rectangle, transposed};
use crate::ranges::plane::mechanism::{PlaneMechanism, search_max};
use std::ops::Range;

/// The most children that a node of either tree can have: all numerators and denominators of the
/// noise's weights and of the sensitivity, multiplied by one another, are below 2^61.
pub const MAX_GRID_FAN_OUT: u32 = 32;

/// Cascades over the rows and over the columns, with the noise of their product.
///
/// What is measured comes by pairs of a law of the rows' cascade and one of the columns', each row
/// by row.
#[derive(Debug, Clone)]
pub struct PlaneCascade {
    rows: Contrasts,
    columns: Contrasts,
    /// In groups: for each law of the rows those of the columns.
    measurements: Measurements,
    /// Of the groups.
    variances: Vec<f64>,
}

impl PlaneCascade {
    /// Over balanced trees. `calibration`: of all measurements together. See the module's
    /// documentation for what a record moves them by.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the fan-out is not from 2 to [`MAX_GRID_FAN_OUT`], or the groups are to have noise of
    /// their own.
    pub fn new(
        grid: CellGrid,
        fan_out: u32,
        calibration: &Calibration,
    ) -> Result<PlaneCascade, ScaleError> {
        assert!((2..=MAX_GRID_FAN_OUT).contains(&fan_out), "fan-out {fan_out}");
        let axis = |bins| {
            let tree = TreeOverBins::balanced(bins, fan_out);
            Contrasts::new(tree.expect("the fan-out and the grid's sides make trees"))
        };
        let (rows, columns) = (axis(grid.rows()), axis(grid.columns()));
        let square = rows.sensitivity_squared() * columns.sensitivity_squared();
        let pairs = rows.laws().iter().flat_map(|row| columns.laws().iter().map(move |c| (row, c)));
        let groups = pairs.map(|(row, column)| {
            (row.measurements * column.measurements, row.weight * column.weight)
        });
        let measurements = Measurements::together(square, groups, calibration)?;
        let variances = measurements.variances();
        Ok(PlaneCascade { rows, columns, measurements, variances })
    }

    /// Where the integers stand in the matrix, row by row, in the order in which they are measured.
    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let blocks = |axis: &Contrasts| {
            let ends = axis.laws().iter().scan(0, |end, law| {
                *end += law.measurements;
                Some(*end - law.measurements..*end)
            });
            ends.collect::<Vec<Range<usize>>>()
        };
        let (width, columns) = (self.columns.bins(), blocks(&self.columns));
        blocks(&self.rows).into_iter().flat_map(move |rows| {
            columns.clone().into_iter().flat_map(move |columns| {
                rows.clone().map(move |row| row * width + columns.start..row * width + columns.end)
            })
        })
    }

    /// The sum, over the pairs of laws, of the products of the axes' squares and `variances`.
    fn variance_of(&self, rows: &[f64], columns: &[f64]) -> f64 {
        let lines = self.variances.chunks_exact(columns.len());
        let line = |variances: &[f64]| -> f64 {
            variances.iter().zip(columns).map(|(variance, square)| variance * square).sum()
        };
        rows.iter().zip(lines).map(|(square, variances)| square * line(variances)).sum()
    }

    /// Whether the discrete noise has variances in proportion to the weights, up to roundoff: where
    /// s is about 1.5 or more.
    fn is_product(&self) -> bool {
        let weights = |axis: &Contrasts| weights(axis).into_iter();
        let products =
            weights(&self.rows).flat_map(|row| weights(&self.columns).map(move |w| row * w));
        let total = self.variances[0];
        products.zip(&self.variances).all(|(weight, variance)| {
            let ratio = variance / (weight * total);
            (ratio - 1.0).abs() < 1e-13
        })
    }
}

/// Of the laws of an axis.
fn weights(axis: &Contrasts) -> Vec<f64> {
    let weight = |law: &ContrastLaw| *law.weight.numer() as f64 / *law.weight.denom() as f64;
    axis.laws().iter().map(weight).collect()
}

/// The squares of a range, summed up for each law.
fn squares(axis: &Contrasts, range: &Range<usize>) -> Vec<f64> {
    let mut sums = vec![0.0; axis.laws().len()];
    axis.squares(range, |law, square| sums[law] += square);
    sums
}

/// What `map` makes of each row of a matrix, which it leaves as long as it is.
fn each_row<T, U>(values: &[T], width: usize, map: impl FnMut(&[T]) -> Vec<U>) -> Vec<U> {
    values.chunks_exact(width).flat_map(map).collect()
}

impl CountMechanism for PlaneCascade {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        let factor = self.rows.largest_factor() * self.columns.largest_factor();
        MEASURED_LIMIT / (self.grid().cells() as u64 * factor)
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let (height, width) = (self.rows.bins(), self.columns.bins());
        let rows = each_row(&signed(counts), width, |row| self.columns.measure(row));
        let columns = transposed(&rows, width);
        let columns = each_row(&columns, height, |column| self.rows.measure(column));
        let matrix = transposed(&columns, height);
        self.runs().flat_map(|run| &matrix[run]).copied().collect()
    }
}

impl PlaneMechanism for PlaneCascade {
    fn grid(&self) -> CellGrid {
        let grid = CellGrid::new(self.rows.bins(), self.columns.bins());
        grid.expect("the sides come from a grid")
    }

    fn cell_estimates(&self, noisy: &[i64]) -> Vec<f64> {
        let (height, width) = (self.rows.bins(), self.columns.bins());
        let mut matrix = vec![0; noisy.len()];
        let mut rest = noisy;
        for run in self.runs() {
            let (own, others) = rest.split_at(run.len());
            matrix[run].copy_from_slice(own);
            rest = others;
        }
        let rows = each_row(&matrix, width, |row| self.columns.bin_estimates(row));
        let columns = transposed(&rows, width);
        let columns = each_row(&columns, height, |column| self.rows.bin_estimates(column));
        transposed(&columns, height)
    }

    /// Exact for the discrete noise. Time: fan-out times the trees' depths, and the product of the
    /// numbers of their laws.
    fn variance(&self, rectangle: &Rectangle) -> f64 {
        let rows = squares(&self.rows, &rectangle.rows);
        self.variance_of(&rows, &squares(&self.columns, &rectangle.columns))
    }

    fn mean_over_all(&self) -> f64 {
        let rows = self.rows.mean_squares();
        self.variance_of(&rows, &self.columns.mean_squares())
    }

    /// The product of the largest of either axis where the noise's variances are a product, else by
    /// search.
    fn max_over_all(&self) -> Option<f64> {
        if !self.is_product() {
            return search_max(self);
        }
        let worst = |axis: &Contrasts| axis.worst_range(&weights(axis));
        Some(self.variances[0] * worst(&self.rows) * worst(&self.columns))
    }
}
