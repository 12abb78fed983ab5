//! A count for every bin of an interval, or a sum of amounts.

use super::bounds::BinBounds;
#[cfg(test)]
use super::filled::FilledBins;
use std::fmt;

/// The largest count of a bin: what PostgreSQL's `bigint` holds.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// What a row adds to its bin at most where rows are counted.
pub(super) const COUNTED: u32 = 1;

/// An exact histogram over consecutive bins. Confidential.
///
/// A count stays at `i64::MAX`, by itself: so a row more moves one count, by what it adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    pub(super) bounds: BinBounds,
    /// What a row adds to its bin at most, which is what a release has to hide: 1 where rows are
    /// counted.
    pub(super) most: u32,
    pub(super) counts: Vec<u64>,
}

/// Two values that do not count the same: other bins, or other amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherBins {
    Bounds { here: BinBounds, there: BinBounds },
    Most { here: u32, there: u32 },
}

impl fmt::Display for OtherBins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OtherBins::Bounds { here, there } => {
                write!(f, "the bounds must be the same everywhere, got {here} and {there}")
            }
            OtherBins::Most { here, there } => write!(
                f,
                "the largest amounts must be the same everywhere, 1 where rows are counted, got \
                 {here} and {there}"
            ),
        }
    }
}

impl std::error::Error for OtherBins {}

impl Bins {
    /// All counts 0, of rows.
    pub fn empty(bounds: BinBounds) -> Bins {
        Bins::of_amounts(bounds, COUNTED)
    }

    /// All sums 0, of amounts from 0 to `most`.
    pub fn of_amounts(bounds: BinBounds, most: u32) -> Bins {
        Bins { bounds, most, counts: vec![0; bounds.bins()] }
    }

    pub fn bounds(&self) -> BinBounds {
        self.bounds
    }

    /// What a row adds to its bin at most.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// One count per bin, that of `lo` first.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts a row with an amount in a bin; in the first or the last one if it lies outside of the
    /// bounds, and by the most that a row adds if the amount is larger.
    pub fn add_row(&mut self, bin: i64, amount: u64) {
        self.add(bin, amount.min(self.most.into()));
    }

    /// Counts `n` more in a bin; in the first or the last one if it lies outside of the bounds.
    pub fn add(&mut self, bin: i64, n: u64) {
        self.add_at(self.bounds.nearest(bin), n);
    }

    /// Adds counts bin by bin.
    ///
    /// Error: the bounds differ, or the largest amounts do.
    pub fn merge(&mut self, other: &Bins) -> Result<(), OtherBins> {
        if self.bounds != other.bounds {
            return Err(OtherBins::Bounds { here: self.bounds, there: other.bounds });
        }
        if self.most != other.most {
            return Err(OtherBins::Most { here: self.most, there: other.most });
        }
        for (index, &count) in other.counts.iter().enumerate() {
            self.add_at(index, count);
        }
        Ok(())
    }

    fn add_at(&mut self, index: usize, n: u64) {
        let count = &mut self.counts[index];
        *count = count.saturating_add(n).min(LARGEST);
    }

    /// The same without the bins that are empty.
    #[cfg(test)]
    pub(in crate::ranges) fn to_filled(&self) -> FilledBins {
        let places = self.counts.iter().copied().enumerate();
        let counts = places.filter(|(_, count)| *count > 0).collect();
        FilledBins { bounds: self.bounds, most: self.most, counts }
    }

    /// The bins that are not empty, with their counts.
    pub(super) fn filled(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let bins = self.bounds.lo()..self.bounds.hi();
        bins.zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }
}
