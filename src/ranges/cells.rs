//! The coarsest partition of the bins that a set of ranges is made of.

use std::ops::Range;

/// Cells are runs of bins between neighbouring ends of ranges that are asked for: every such range
/// is a run of cells, so cells answer the same questions as bins with fewer measurements. A row
/// counted in one bin is counted in one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeCells {
    /// where the cells begin, and the number of bins
    ends: Vec<usize>,
}

impl RangeCells {
    /// `ranges`: by the positions of their bins, within 0 .. `bins`, which is at least 1.
    pub fn of(ranges: &[Range<usize>], bins: usize) -> RangeCells {
        let ends = ranges.iter().filter(|range| !range.is_empty());
        let ends = ends.flat_map(|range| [range.start, range.end]).chain([0, bins]);
        let mut ends: Vec<usize> = ends.collect();
        ends.sort_unstable();
        ends.dedup();
        RangeCells { ends }
    }

    /// The number of bins.
    pub fn bins(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    pub fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// How many bins each has.
    pub fn widths(&self) -> impl Iterator<Item = usize> {
        self.ends.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// The cells of one of the ranges; of another range those that lie within it.
    pub fn within(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.ends.partition_point(|end| *end < range.start);
        let end = self.ends.partition_point(|end| *end <= range.end);
        first..end.saturating_sub(1).max(first)
    }

    /// The cell of a bin, which is one of the bins.
    pub fn of_bin(&self, bin: usize) -> usize {
        self.ends.partition_point(|end| *end <= bin) - 1
    }

    /// The cells' counts from the bins'; sums beyond `u64` stay at its end.
    pub fn sums(&self, counts: &[u64]) -> Vec<u64> {
        let cells = self.ends.windows(2).map(|ends| &counts[ends[0]..ends[1]]);
        cells.map(|cell| cell.iter().fold(0u64, |sum, count| sum.saturating_add(*count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_lie_between_neighbouring_ends() {
        let cells = RangeCells::of(&[2..5, 4..9, 7..7], 10);
        assert_eq!(cells.ends, [0, 2, 4, 5, 9, 10]);
        assert!(cells.widths().eq([2, 2, 1, 4, 1]));
        assert_eq!((cells.within(&(2..5)), cells.within(&(4..9))), (1..3, 2..4));
        assert_eq!(cells.within(&(7..7)), 4..4);
        assert_eq!(RangeCells::of(&[], 3).ends, [0, 3]);
    }

    proptest! {
        #[test]
        fn ranges_have_the_sums_of_their_cells(
            ends in prop::collection::vec((0usize..=20, 0usize..=20), 0..6),
            counts in prop::collection::vec(0u64..100, 20),
        ) {
            let ranges: Vec<_> = ends.iter().map(|(a, b)| *a.min(b)..*a.max(b)).collect();
            let cells = RangeCells::of(&ranges, 20);
            let sums = cells.sums(&counts);
            prop_assert_eq!(sums.len(), cells.count());
            prop_assert!(cells.count() <= 2 * ranges.len() + 1);
            for (cell, ends) in cells.ends.windows(2).enumerate() {
                prop_assert!((ends[0]..ends[1]).all(|bin| cells.of_bin(bin) == cell));
            }
            for range in ranges {
                let of_cells: u64 = sums[cells.within(&range)].iter().sum();
                prop_assert_eq!(of_cells, counts[range].iter().sum::<u64>());
            }
        }
    }
}
