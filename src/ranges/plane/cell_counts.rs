//! A count for every cell of a grid.

use super::bounds::GridBounds;
use std::fmt;

/// The largest count of a cell: what PostgreSQL's `bigint` holds.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// How many records there are in each cell, exactly. Confidential.
///
/// A count stays at `i64::MAX`, by itself: so a record more moves one count, by 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellCounts {
    bounds: GridBounds,
    counts: Vec<u64>,
}

/// Two values with other bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherGrid {
    pub here: GridBounds,
    pub there: GridBounds,
}

impl fmt::Display for OtherGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bounds must be the same everywhere, got {} and {}", self.here, self.there)
    }
}

impl std::error::Error for OtherGrid {}

impl CellCounts {
    /// All counts 0.
    pub fn empty(bounds: GridBounds) -> CellCounts {
        CellCounts { bounds, counts: vec![0; bounds.cells()] }
    }

    pub fn bounds(&self) -> GridBounds {
        self.bounds
    }

    /// One count per cell, row by row.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts a record in its cell; in the nearest one if it lies outside of the bounds.
    pub fn add_record(&mut self, row: i64, column: i64) {
        self.add_at(self.bounds.nearest(row, column), 1);
    }

    /// Adds counts cell by cell.
    ///
    /// Error: the bounds differ.
    pub fn merge(&mut self, other: &CellCounts) -> Result<(), OtherGrid> {
        if self.bounds != other.bounds {
            return Err(OtherGrid { here: self.bounds, there: other.bounds });
        }
        for (cell, count) in other.filled() {
            self.add_at(cell, count);
        }
        Ok(())
    }

    /// Counts `n` more where a cell stands.
    pub(super) fn add_at(&mut self, cell: usize, n: u64) {
        let count = &mut self.counts[cell];
        *count = count.saturating_add(n).min(LARGEST);
    }

    /// Where the cells stand that are not empty, with their counts.
    pub(super) fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}
