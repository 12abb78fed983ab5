//! The bins that are not empty: what takes time and memory by their number alone, however far apart
//! the bounds are that a stored value says it has.

use super::bounds::BinBounds;

/// A histogram over bins by those that are not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledBins {
    pub(super) bounds: BinBounds,
    /// What a row adds to its bin at most.
    pub(super) most: u32,
    /// Places in the bounds, ascending, and counts.
    pub(super) counts: Vec<(usize, u64)>,
}

impl FilledBins {
    /// What it adds to the bins of other bounds, by their positions, where a row may add `most`. A bin
    /// outside of them counts in the first or the last one; if a row adds more here, nothing does.
    ///
    /// So a row more moves the sums over these bounds in one place, by `most` at most, whatever the
    /// bounds here are.
    pub fn counted_in(
        &self,
        bounds: BinBounds,
        most: u32,
    ) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = if self.most <= most { self.counts.as_slice() } else { &[] };
        let bin = move |place: usize| self.bounds.lo() + place as i64;
        counts.iter().map(move |&(place, count)| (bounds.nearest(bin(place)), count))
    }
}
