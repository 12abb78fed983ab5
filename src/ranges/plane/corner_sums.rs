//! Sums over rectangles from those over the ones in a corner.

use super::grid::{CellGrid, Rectangle};
use crate::work::done;

/// The cells that are counted as work at a time.
const CELLS_AT_A_TIME: usize = 1 << 12;

/// The sums over all rectangles that begin with the first cell: any other one's is made of four.
#[derive(Debug, Clone)]
pub(in crate::ranges) struct CornerSums {
    /// one row and one column more than the grid, of which the first are zeros
    sums: Vec<f64>,
    width: usize,
}

impl CornerSums {
    /// `cells`: a value for each.
    pub(in crate::ranges) fn new(grid: CellGrid, cells: &[f64]) -> CornerSums {
        let width = grid.columns() + 1;
        let mut sums = vec![0.0; width];
        sums.reserve_exact(grid.rows() * width);
        for row in cells.chunks_exact(grid.columns()) {
            let (mut above, mut sum) = (sums.len() - width, 0.0);
            sums.push(0.0);
            for part in row.chunks(CELLS_AT_A_TIME) {
                done(part.len() as u64);
                for value in part {
                    sum += value;
                    above += 1;
                    sums.push(sums[above] + sum);
                }
            }
        }
        CornerSums { sums, width }
    }

    pub(in crate::ranges) fn sum(&self, Rectangle { rows, columns }: &Rectangle) -> f64 {
        let first = |row: usize| {
            let row = &self.sums[row * self.width..];
            row[columns.end] - row[columns.start]
        };
        first(rows.end) - first(rows.start)
    }
}
