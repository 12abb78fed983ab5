//! Records as they are counted, cell by cell.

use crate::ranges::bins::bounds::BinBounds;
use crate::ranges::cells::RangeCells;

/// One axis of a grid: the bins that there are, and the cells that they are joined to.
#[derive(Debug, Clone)]
pub struct GridAxis {
    bounds: BinBounds,
    cells: RangeCells,
}

impl GridAxis {
    /// # Panics
    /// If the cells are those of another number of bins.
    pub fn new(bounds: BinBounds, cells: RangeCells) -> GridAxis {
        assert_eq!(cells.bins(), bounds.bins(), "cells of other bins");
        GridAxis { bounds, cells }
    }

    /// Their number.
    pub fn cells(&self) -> usize {
        self.cells.count()
    }

    /// That of a bin; of one outside of the bounds, the first or the last one.
    fn cell(&self, bin: i64) -> usize {
        self.cells.of_bin(self.bounds.nearest(bin))
    }
}

/// An exact count for every cell of a grid. Confidential.
#[derive(Debug, Clone)]
pub struct CellCounts {
    rows: GridAxis,
    columns: GridAxis,
    counts: Vec<u64>,
}

impl CellCounts {
    /// All counts 0.
    pub fn empty(rows: GridAxis, columns: GridAxis) -> CellCounts {
        let counts = vec![0; rows.cells() * columns.cells()];
        CellCounts { rows, columns, counts }
    }

    /// Counts a record in a row and a column of bins, in the nearest ones if it lies outside of the
    /// bounds.
    pub fn add(&mut self, row: i64, column: i64) {
        let cell = self.rows.cell(row) * self.columns.cells() + self.columns.cell(column);
        self.counts[cell] += 1; // no table has 2^64 rows
    }

    /// One count per cell, row by row.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_in_their_cells() {
        let bounds = |lo, hi| BinBounds::new(lo, hi).unwrap();
        // rows -3, -2 | -1, 0, 1 | 2 and columns 10 | 11, 12
        let rows = GridAxis::new(bounds(-3, 3), RangeCells::of(std::slice::from_ref(&(2..5)), 6));
        let columns = GridAxis::new(bounds(10, 13), RangeCells::of(&[0..1, 1..3], 3));
        let mut counts = CellCounts::empty(rows, columns);
        for (row, column) in [
            (-3, 10),
            (i64::MIN, i64::MIN),
            (-2, 11),
            (1, 12),
            (0, i64::MAX),
            (-1, 11),
            (2, 9),
            (i64::MAX, 13),
            (3, 12),
        ] {
            counts.add(row, column);
        }
        assert_eq!(counts.counts(), [2, 1, 0, 3, 1, 2]);
    }
}
