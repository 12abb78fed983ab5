//! A count for every bin of an interval.

use super::bounds::BinBounds;
use std::fmt;

/// The largest count, of one bin and of all together: what PostgreSQL's `bigint` holds.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// An exact histogram over consecutive bins. Confidential.
///
/// The counts add up to at most `i64::MAX`, where they saturate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    pub(super) bounds: BinBounds,
    pub(super) counts: Vec<u64>,
    /// Of all of them.
    pub(super) total: u64,
}

/// Two values that do not have the same bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherBounds {
    pub here: BinBounds,
    pub there: BinBounds,
}

impl fmt::Display for OtherBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bounds must be the same everywhere, got {} and {}", self.here, self.there)
    }
}

impl std::error::Error for OtherBounds {}

impl Bins {
    /// All counts 0.
    pub fn empty(bounds: BinBounds) -> Bins {
        Bins { bounds, counts: vec![0; bounds.bins()], total: 0 }
    }

    pub fn bounds(&self) -> BinBounds {
        self.bounds
    }

    /// One count per bin, that of `lo` first.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts `n` more in a bin; in the first or the last one if it lies outside of the bounds.
    pub fn add(&mut self, bin: i64, n: u64) {
        self.add_at(self.bounds.nearest(bin), n);
    }

    /// Adds counts bin by bin.
    ///
    /// Error: the bounds differ.
    pub fn merge(&mut self, other: &Bins) -> Result<(), OtherBounds> {
        if self.bounds != other.bounds {
            return Err(OtherBounds { here: self.bounds, there: other.bounds });
        }
        for (index, &count) in other.counts.iter().enumerate() {
            self.add_at(index, count);
        }
        Ok(())
    }

    fn add_at(&mut self, index: usize, n: u64) {
        let n = n.min(LARGEST - self.total);
        self.total += n;
        self.counts[index] += n;
    }

    /// The bins that are not empty, with their counts.
    pub(super) fn filled(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let bins = self.bounds.lo()..self.bounds.hi();
        bins.zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }
}
