//! Cells and rectangles of them.

use crate::ranges::limits::MAX_BINS;
use crate::work::done;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rows times columns of cells. Lists with an entry per cell go row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellGrid {
    rows: usize,
    columns: usize,
}

impl CellGrid {
    /// None unless there is a cell, and at most [`MAX_BINS`] of them.
    pub fn new(rows: usize, columns: usize) -> Option<CellGrid> {
        let cells = rows.checked_mul(columns)?;
        (1..=MAX_BINS).contains(&cells).then_some(CellGrid { rows, columns })
    }

    pub fn rows(self) -> usize {
        self.rows
    }

    pub fn columns(self) -> usize {
        self.columns
    }

    pub fn cells(self) -> usize {
        self.rows * self.columns
    }

    pub(in crate::ranges) fn longer_side(self) -> usize {
        self.rows.max(self.columns)
    }

    /// The number of rectangles that are not empty.
    pub fn rectangles(self) -> u128 {
        let ranges = |bins: usize| bins as u128 * (bins as u128 + 1) / 2;
        ranges(self.rows) * ranges(self.columns)
    }

    /// What of a rectangle lies within the grid.
    pub fn inside(self, rectangle: &Rectangle) -> Rectangle {
        let cut = |range: &Range<usize>, bins: usize| {
            let end = range.end.min(bins);
            range.start.min(end)..end
        };
        Rectangle {
            rows: cut(&rectangle.rows, self.rows),
            columns: cut(&rectangle.columns, self.columns),
        }
    }
}

/// The cells of a range of rows that lie in a range of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rectangle {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl Rectangle {
    pub fn cells(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// From row by row to column by column.
pub(in crate::ranges) fn transposed<T: Copy>(values: &[T], width: usize) -> Vec<T> {
    let mut columns = Vec::with_capacity(values.len());
    for column in 0..width {
        done((values.len() / width) as u64);
        columns.extend(values.iter().skip(column).step_by(width));
    }
    columns
}
