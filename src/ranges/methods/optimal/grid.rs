//! The Kronecker product of the strategies of two axes, one for the rows and one for the columns.
//!
//! With the integer matrices B and B' of the axes and the counts X of the cells, the integers
//! B X B'^T get noise of one variance s^2. The singular values of all rectangles are the products of
//! those of all ranges, so the product of two strategies close to the best is close to the best.
//!
//! A record in cell (p, q) adds column p of B times column q of B' to the integers: the length of
//! that is the product of the columns' lengths, the most of it the product of the longest ones.
//! Applying both inverses gives estimates of the cells, with the Kronecker product of the axes'
//! covariances: a rectangle has the product of the variances of its two ranges, times s^2.

use super::axis::Axis;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::convolution::resolution;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::plane::grid::{CellGrid, Rectangle, transposed};
use crate::ranges::plane::mechanism::PlaneMechanism;
use nalgebra::DMatrix;

/// The binary digits that both axes' integers have together, where noise leaves so many: enough for
/// 1024 bins, and few enough that a cell can hold a billion records there.
const DIGITS: u32 = 22;

/// Strategies for all ranges of rows and of columns, with the noise of their product.
#[derive(Debug, Clone)]
pub struct PlaneOptimal {
    rows: Axis,
    columns: Axis,
    /// Column by column of B X B'^T.
    measurements: Measurements,
}

impl PlaneOptimal {
    /// `calibration`: of all measurements together.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are more rows or columns than an axis takes, or the groups are to have noise of
    /// their own.
    pub fn new(grid: CellGrid, calibration: &Calibration) -> Result<PlaneOptimal, ScaleError> {
        let digits = resolution(calibration.budget().highest()).min(DIGITS);
        let axis = |bins| Axis::new(bins, f64::from(digits) / 2.0);
        let rows = axis(grid.rows());
        let columns =
            if grid.columns() == grid.rows() { rows.clone() } else { axis(grid.columns()) };
        let square = rows.sensitivity_squared() * columns.sensitivity_squared();
        let measurements =
            Measurements::together(square.into(), [(grid.cells(), 1.into())], calibration)?;
        Ok(PlaneOptimal { rows, columns, measurements })
    }

    /// Of the noise of an integer.
    fn unit(&self) -> f64 {
        self.measurements.first_noise().variance()
    }
}

impl CountMechanism for PlaneOptimal {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / (self.rows.largest_row() * self.columns.largest_row())
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let largest = self.largest_count();
        let of_columns = self.columns.measure(&signed(counts), largest);
        let largest = largest * self.columns.largest_row();
        self.rows.measure(&transposed(&of_columns, self.columns.bins()), largest)
    }
}

impl PlaneMechanism for PlaneOptimal {
    fn grid(&self) -> CellGrid {
        let grid = CellGrid::new(self.rows.bins(), self.columns.bins());
        grid.expect("the sides come from a grid")
    }

    fn cell_estimates(&self, noisy: &[i64]) -> Vec<f64> {
        let (height, width) = (self.rows.bins(), self.columns.bins());
        let noisy = noisy.iter().map(|&value| value as f64);
        let of_rows = self.rows.estimates(&DMatrix::from_iterator(height, width, noisy));
        let cells = self.columns.estimates(&of_rows.transpose());
        cells.as_slice().to_vec()
    }

    /// Exact for the discrete noise. Time: constant.
    fn variance(&self, Rectangle { rows, columns }: &Rectangle) -> f64 {
        let axes = self.rows.variance(rows.clone()) * self.columns.variance(columns.clone());
        self.unit() * axes
    }

    fn mean_over_all(&self) -> f64 {
        self.unit() * self.rows.spread().mean * self.columns.spread().mean
    }

    fn max_over_all(&self) -> Option<f64> {
        Some(self.unit() * self.rows.spread().max * self.columns.spread().max)
    }
}
