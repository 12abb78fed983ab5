//! An interval of bins.

use crate::ranges::limits::MAX_BINS;
use std::fmt;
use std::ops::Range;

/// The bins `lo`, `lo + 1`, ..., `hi - 1`: at least one, at most [`MAX_BINS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinBounds {
    lo: i64,
    hi: i64,
}

/// Why two numbers are no bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundsError {
    Empty { lo: i64, hi: i64 },
    TooMany { lo: i64, hi: i64 },
}

impl fmt::Display for BoundsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundsError::Empty { lo, hi } => {
                write!(f, "hi must be greater than lo, got lo {lo} and hi {hi}")
            }
            BoundsError::TooMany { lo, hi } => {
                let bins = i128::from(*hi) - i128::from(*lo);
                write!(f, "from lo {lo} to hi {hi} there are {bins} bins, more than {MAX_BINS}")
            }
        }
    }
}

impl std::error::Error for BoundsError {}

impl BinBounds {
    pub fn new(lo: i64, hi: i64) -> Result<BinBounds, BoundsError> {
        match hi.checked_sub(lo) {
            _ if hi <= lo => Err(BoundsError::Empty { lo, hi }),
            Some(bins) if bins <= MAX_BINS as i64 => Ok(BinBounds { lo, hi }),
            _ => Err(BoundsError::TooMany { lo, hi }),
        }
    }

    /// The first bin.
    pub fn lo(self) -> i64 {
        self.lo
    }

    /// One past the last bin.
    pub fn hi(self) -> i64 {
        self.hi
    }

    /// The number of bins.
    pub fn bins(self) -> usize {
        (self.hi - self.lo) as usize
    }

    /// Where the counts of the bins from `lower` to before `upper` stand, of those within the
    /// bounds; None is no limit.
    pub fn inside(self, lower: Option<i64>, upper: Option<i64>) -> Range<usize> {
        let index = |bin: i64| (bin.clamp(self.lo, self.hi) - self.lo) as usize;
        let start = lower.map_or(0, index);
        start..upper.map_or(self.bins(), index).max(start)
    }

    /// Where the count of a bin stands; that of the nearest bin for one outside of the bounds.
    pub fn nearest(self, bin: i64) -> usize {
        (bin.clamp(self.lo, self.hi - 1) - self.lo) as usize
    }
}

impl fmt::Display for BinBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{})", self.lo, self.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_none() {
        assert_eq!(BinBounds::new(3, 3), Err(BoundsError::Empty { lo: 3, hi: 3 }));
        assert_eq!(BinBounds::new(3, -3), Err(BoundsError::Empty { lo: 3, hi: -3 }));
        assert!(BinBounds::new(-(1 << 23), 1 << 23).is_ok());
        for (lo, hi) in [(0, MAX_BINS as i64 + 1), (i64::MIN, i64::MAX)] {
            assert_eq!(BinBounds::new(lo, hi), Err(BoundsError::TooMany { lo, hi }));
        }
        assert_eq!(
            BoundsError::TooMany { lo: i64::MIN, hi: i64::MAX }.to_string(),
            "from lo -9223372036854775808 to hi 9223372036854775807 there are \
             18446744073709551615 bins, more than 16777216"
        );
    }

    #[test]
    fn the_part_of_a_range_inside() {
        let here = BinBounds::new(-5, 5).unwrap();
        for (lower, upper, inside) in [
            (None, None, 0..10),
            (Some(-5), Some(5), 0..10),
            (Some(-7), Some(-3), 0..2),
            (Some(4), None, 9..10),
            (None, Some(i64::MIN), 0..0),
            (Some(i64::MAX), None, 10..10),
            (Some(3), Some(1), 8..8),
        ] {
            assert_eq!(here.inside(lower, upper), inside);
        }
        let all = BinBounds::new(i64::MIN, i64::MIN + 1).unwrap();
        assert_eq!(all.inside(Some(i64::MIN), Some(i64::MAX)), 0..1);
    }
}
