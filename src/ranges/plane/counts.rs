//! Records as they are counted, or their amounts summed, cell by cell.

use crate::ranges::amounts::AmountBounds;
use crate::ranges::bins::bounds::BinBounds;
use crate::ranges::bins::sums::SignedSums;
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

/// An exact sum of bounded amounts for every cell of a grid. Confidential.
#[derive(Debug, Clone)]
pub struct CellSums {
    rows: GridAxis,
    columns: GridAxis,
    amounts: AmountBounds,
    sums: SignedSums,
}

impl CellSums {
    /// Of no record.
    pub fn empty(rows: GridAxis, columns: GridAxis, amounts: AmountBounds) -> CellSums {
        let sums = SignedSums::empty(rows.cells() * columns.cells(), amounts);
        CellSums { rows, columns, amounts, sums }
    }

    /// Adds a record's amount, or the bound that it is beyond, in a row and a column of bins, in the
    /// nearest ones if it lies outside of the bounds.
    pub fn add(&mut self, row: i64, column: i64, amount: i64) {
        let cell = self.rows.cell(row) * self.columns.cells() + self.columns.cell(column);
        self.sums.add(cell, self.amounts.clamped(amount));
    }

    /// One sum per cell, row by row.
    pub fn sums(&self) -> &SignedSums {
        &self.sums
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
        let mut counts = CellSums::empty(rows, columns, AmountBounds::COUNTED);
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
            counts.add(row, column, 1);
        }
        let sums = SignedSums { above: vec![2, 1, 0, 3, 1, 2], below: None };
        assert_eq!(counts.sums(), &sums);
    }
}
