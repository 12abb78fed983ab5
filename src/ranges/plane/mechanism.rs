//! What every method for sums over rectangles is.

use super::grid::{CellGrid, Rectangle};
use crate::ranges::measurements::CountMechanism;
use crate::ranges::workload::{UNITS_PER_VARIANCE, Workload};
use crate::work::done;

/// The most rectangles that are gone through for the largest of their variances: all of a grid of
/// 64 x 64 cells, and some more.
pub const MAX_SEARCHED: u128 = 1 << 23;

/// A method for sums over rectangles with all its parameters settled.
///
/// Cells hold counts of records. A rectangle that reaches beyond the grid, or lists of another
/// length, break the contract and may panic.
pub trait PlaneMechanism: CountMechanism {
    fn grid(&self) -> CellGrid;

    /// Post-processing: the unbiased estimate of every cell's count.
    fn cell_estimates(&self, noisy: &[i64]) -> Vec<f64>;

    /// The variance of the estimated sum of a rectangle; 0 for an empty one.
    fn variance(&self, rectangle: &Rectangle) -> f64;

    /// The mean variance over all rectangles that are not empty.
    fn mean_over_all(&self) -> f64;

    /// The largest variance of any rectangle; None where it is not known without going through more
    /// than [`MAX_SEARCHED`] of them.
    fn max_over_all(&self) -> Option<f64>;
}

/// The largest variance of any rectangle, by going through all of them; None for more than
/// [`MAX_SEARCHED`].
pub(in crate::ranges) fn search_max(mechanism: &dyn PlaneMechanism) -> Option<f64> {
    let grid = mechanism.grid();
    if grid.rectangles() > MAX_SEARCHED {
        return None;
    }
    let mut max = 0.0f64;
    for rows in Workload::All.ranges(grid.rows()) {
        for columns in Workload::All.ranges(grid.columns()) {
            done(UNITS_PER_VARIANCE);
            max = max.max(mechanism.variance(&Rectangle { rows: rows.clone(), columns }));
        }
    }
    Some(max)
}
