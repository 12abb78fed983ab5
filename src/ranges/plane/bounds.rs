//! The bins that the cells of a grid have on either side.

use super::grid::{CellGrid, Rectangle};
use crate::ranges::bins::bounds::BinBounds;
use crate::ranges::limits::MAX_BINS;
use std::fmt;

/// The bins of rows and those of columns, with at most [`MAX_BINS`] cells in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridBounds {
    rows: BinBounds,
    columns: BinBounds,
}

/// Two intervals that are no bounds of a grid: it would have too many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyCells {
    rows: BinBounds,
    columns: BinBounds,
}

impl fmt::Display for TooManyCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooManyCells { rows, columns } = self;
        let cells = rows.bins() as u64 * columns.bins() as u64;
        write!(f, "rows {rows} and columns {columns} have {cells} cells, more than {MAX_BINS}")
    }
}

impl std::error::Error for TooManyCells {}

impl GridBounds {
    pub fn new(rows: BinBounds, columns: BinBounds) -> Result<GridBounds, TooManyCells> {
        match CellGrid::new(rows.bins(), columns.bins()) {
            Some(_) => Ok(GridBounds { rows, columns }),
            None => Err(TooManyCells { rows, columns }),
        }
    }

    pub fn rows(self) -> BinBounds {
        self.rows
    }

    pub fn columns(self) -> BinBounds {
        self.columns
    }

    pub fn cells(self) -> usize {
        self.rows.bins() * self.columns.bins()
    }

    /// Where the cell of a row and a column of bins stands, row by row; the nearest one's for what
    /// lies outside of the bounds.
    pub fn nearest(self, row: i64, column: i64) -> usize {
        self.rows.nearest(row) * self.columns.bins() + self.columns.nearest(column)
    }

    /// The row and the column of bins of the cell that stands there.
    pub fn bins_of(self, cell: usize) -> (i64, i64) {
        let width = self.columns.bins();
        (self.rows.lo() + (cell / width) as i64, self.columns.lo() + (cell % width) as i64)
    }

    /// The cell that stands there by itself.
    pub fn rectangle_of(self, cell: usize) -> Rectangle {
        let (row, column) = (cell / self.columns.bins(), cell % self.columns.bins());
        Rectangle { rows: row..row + 1, columns: column..column + 1 }
    }
}

/// `[0,100)x[0,24)`
impl fmt::Display for GridBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}
