//! Sums over rectangles from those over the ones in a corner.

use super::grid::{CellGrid, Rectangle};
use crate::work::done;

/// The cells that are counted as work at a time.
const CELLS_AT_A_TIME: usize = 1 << 12;

/// The sums over all rectangles that begin with the first cell: any other one's is made of four.
#[derive(Debug, Clone)]
pub(in crate::ranges) struct CornerSums {
    /// one per cell, of the rectangle that ends with it
    sums: Vec<f64>,
    width: usize,
}

impl CornerSums {
    /// `cells`: a value for each.
    pub(in crate::ranges) fn new(grid: CellGrid, cells: &[f64]) -> CornerSums {
        let width = grid.columns();
        let mut sums: Vec<f64> = Vec::with_capacity(grid.cells());
        for row in cells.chunks_exact(width) {
            let mut sum = 0.0;
            for part in row.chunks(CELLS_AT_A_TIME) {
                done(part.len() as u64);
                for value in part {
                    sum += value;
                    let above = sums.len().checked_sub(width).map_or(0.0, |above| sums[above]);
                    sums.push(above + sum);
                }
            }
        }
        CornerSums { sums, width }
    }

    /// What [`CornerSums::values`] gave; None unless there is one for every cell.
    pub(in crate::ranges) fn of_values(grid: CellGrid, sums: Vec<f64>) -> Option<CornerSums> {
        (sums.len() == grid.cells()).then(|| CornerSums { sums, width: grid.columns() })
    }

    /// One for every cell, row by row.
    pub(in crate::ranges) fn values(&self) -> &[f64] {
        &self.sums
    }

    pub(in crate::ranges) fn sum(&self, Rectangle { rows, columns }: &Rectangle) -> f64 {
        let corner = |row: usize, column: usize| match (row, column) {
            (0, _) | (_, 0) => 0.0,
            _ => self.sums[(row - 1) * self.width + column - 1],
        };
        let first = |row: usize| corner(row, columns.end) - corner(row, columns.start);
        first(rows.end) - first(rows.start)
    }
}
