//! What every method for sums over rectangles is.

use super::grid::{Grid, Rectangle};
use crate::ranges::Workload;
use crate::ranges::mechanism::{CHECKPOINT_PASS, CHECKPOINT_VARIANCES, Group, Loss};
use crate::work::poll;

/// The most rectangles that are gone through for the largest of their variances: all of a grid of
/// 64 x 64 cells, and some more.
pub const MAX_SEARCHED: u128 = 1 << 23;

/// A method for sums over rectangles with all its parameters settled.
///
/// Cells hold counts of records. Neighbours differ by one record, so by 1 in one cell. A rectangle
/// that reaches beyond the grid, or lists of another length, break the contract and may panic.
pub trait PlaneMechanism {
    fn grid(&self) -> Grid;

    /// What is measured, group after group, all with the same kind of noise.
    fn groups(&self) -> Vec<Group>;

    /// The sensitivity of all measurements together, in units of the noise.
    ///
    /// Here: one record moves one measurement of every group, by 1.
    fn loss(&self) -> Loss {
        Loss::of_groups(&self.groups())
    }

    /// What a cell counts at most, lest an integer overflow: 2^62 over the most that a measurement
    /// can be if every cell holds one record. A limit for each cell by itself, unlike one for their
    /// sum, leaves the sensitivity as it is.
    fn largest_count(&self) -> u64;

    /// The exact integers that noise is added to, the groups' one after another.
    ///
    /// `counts`: one per cell, each at most [`PlaneMechanism::largest_count`].
    fn measure(&self, counts: &[u64]) -> Vec<i64>;

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
    let (mut max, mut passed) = (0.0f64, 0usize);
    for rows in Workload::All.ranges(grid.rows()) {
        for columns in Workload::All.ranges(grid.columns()) {
            if passed.is_multiple_of(CHECKPOINT_VARIANCES) {
                poll();
            }
            passed += 1;
            max = max.max(mechanism.variance(&Rectangle { rows: rows.clone(), columns }));
        }
    }
    Some(max)
}

/// The sums over all rectangles that begin with the first cell: any other one's is made of four.
#[derive(Debug, Clone)]
pub(in crate::ranges) struct PrefixSums {
    /// one row and one column more than the grid, of which the first are zeros
    sums: Vec<f64>,
    width: usize,
}

impl PrefixSums {
    /// `cells`: a value for each.
    pub(in crate::ranges) fn new(grid: Grid, cells: &[f64]) -> PrefixSums {
        let width = grid.columns() + 1;
        let mut sums = vec![0.0; width];
        sums.reserve_exact(grid.rows() * width);
        let mut passed = 0usize;
        for row in cells.chunks_exact(grid.columns()) {
            let (above, mut sum) = (sums.len() - width, 0.0);
            sums.push(0.0);
            for (value, above) in row.iter().zip(above + 1..) {
                if passed.is_multiple_of(CHECKPOINT_PASS) {
                    poll();
                }
                passed += 1;
                sum += value;
                sums.push(sums[above] + sum);
            }
        }
        PrefixSums { sums, width }
    }

    pub(in crate::ranges) fn sum(&self, Rectangle { rows, columns }: &Rectangle) -> f64 {
        let first = |row: usize| {
            let row = &self.sums[row * self.width..];
            row[columns.end] - row[columns.start]
        };
        first(rows.end) - first(rows.start)
    }
}
