//! A count for every bin of an interval, in the order of the bins.

use crate::ranges::limits::MAX_BINS;
use crate::ranges::mechanism::CHECKPOINT_PASS;
use crate::work::poll;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};
use std::ops::Range;

/// The largest count, of one bin and of all together: what PostgreSQL's `bigint` holds.
const LARGEST: u64 = i64::MAX as u64;

/// The first byte of every stored value; a new layout takes the next number.
const VERSION: u8 = 1;

/// The bins `lo`, `lo + 1`, ..., `hi - 1`: at least one, at most [`MAX_BINS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
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

impl Bounds {
    pub fn new(lo: i64, hi: i64) -> Result<Bounds, BoundsError> {
        match hi.checked_sub(lo) {
            _ if hi <= lo => Err(BoundsError::Empty { lo, hi }),
            Some(bins) if bins <= MAX_BINS as i64 => Ok(Bounds { lo, hi }),
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
    fn nearest(self, bin: i64) -> usize {
        (bin.clamp(self.lo, self.hi - 1) - self.lo) as usize
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{})", self.lo, self.hi)
    }
}

/// An exact histogram over consecutive bins. Confidential.
///
/// The counts add up to at most `i64::MAX`, where they saturate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    bounds: Bounds,
    counts: Vec<u64>,
    total: u64,
}

/// Two values that do not have the same bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherBounds {
    pub here: Bounds,
    pub there: Bounds,
}

impl fmt::Display for OtherBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bounds must be the same everywhere, got {} and {}", self.here, self.there)
    }
}

impl std::error::Error for OtherBounds {}

impl Bins {
    /// All counts 0.
    pub fn empty(bounds: Bounds) -> Bins {
        Bins { bounds, counts: vec![0; bounds.bins()], total: 0 }
    }

    pub fn bounds(&self) -> Bounds {
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
    fn filled(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let bins = self.bounds.lo..self.bounds.hi;
        bins.zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }
}

/// Why a text or a byte string is no histogram over bins. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatError {
    Shape,
    Bound,
    Bounds(BoundsError),
    Pair,
    Bin(Bounds),
    Count,
    Overflow,
    Version(u8),
    Corrupt,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Shape => write!(f, "it must be bounds [lo,hi), then counts in braces"),
            FormatError::Bound => write!(f, "lo and hi must be integers that bigint holds"),
            FormatError::Bounds(error) => error.fmt(f),
            FormatError::Pair => write!(f, "each entry must be bin:count"),
            FormatError::Bin(bounds) => write!(f, "bins must be integers in {bounds}"),
            FormatError::Count => write!(f, "counts must be integers from 0 to {LARGEST}"),
            FormatError::Overflow => write!(f, "the counts add up to more than {LARGEST}"),
            FormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            FormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for FormatError {}

/// The binary form after the version byte, as postcard writes it.
#[derive(Serialize, Deserialize)]
struct Stored {
    lo: i64,
    hi: i64,
    /// For each bin that is not empty: the number of empty ones since the one before, the count.
    filled: Vec<(u64, u64)>,
}

impl Bins {
    /// Reads `[lo,hi){bin:count, ...}`, in any order; entries of one bin add up. `checkpoint` is called
    /// every few milliseconds; it may unwind.
    pub fn parse(text: &str) -> Result<Bins, FormatError> {
        let (lo, rest) = text
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(','))
            .ok_or(FormatError::Shape)?;
        let (hi, rest) = rest.split_once(')').ok_or(FormatError::Shape)?;
        let entries = rest
            .trim()
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .ok_or(FormatError::Shape)?;
        let bound = |text: &str| text.trim().parse::<i64>().map_err(|_| FormatError::Bound);
        let bounds = Bounds::new(bound(lo)?, bound(hi)?).map_err(FormatError::Bounds)?;
        let mut bins = Bins::empty(bounds);
        if !entries.trim().is_empty() {
            for (i, entry) in entries.split(',').enumerate() {
                if i.is_multiple_of(CHECKPOINT_PASS) {
                    poll();
                }
                let (bin, count) = entry.split_once(':').ok_or(FormatError::Pair)?;
                let bin = bin.trim().parse::<i64>().ok();
                let bin = bin.filter(|bin| (bounds.lo..bounds.hi).contains(bin));
                let bin = bin.ok_or(FormatError::Bin(bounds))?;
                let count = count.trim().parse::<u64>().ok().filter(|count| *count <= LARGEST);
                let count = count.ok_or(FormatError::Count)?;
                if count > LARGEST - bins.total {
                    return Err(FormatError::Overflow);
                }
                bins.add(bin, count);
            }
        }
        Ok(bins)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut next = self.bounds.lo;
        let filled = self.filled().map(|(bin, count)| {
            let gap = (bin - next) as u64;
            next = bin + 1;
            (gap, count)
        });
        let stored = Stored { lo: self.bounds.lo, hi: self.bounds.hi, filled: filled.collect() };
        // writing integers into a growing vector cannot fail
        postcard::to_extend(&stored, vec![VERSION]).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Bins, FormatError> {
        let (version, body) = bytes.split_first().ok_or(FormatError::Corrupt)?;
        if *version != VERSION {
            return Err(FormatError::Version(*version));
        }
        let Ok((stored, [])) = postcard::take_from_bytes::<Stored>(body) else {
            return Err(FormatError::Corrupt);
        };
        let bounds = Bounds::new(stored.lo, stored.hi).map_err(FormatError::Bounds)?;
        let mut bins = Bins::empty(bounds);
        let mut rest = bins.counts.iter_mut();
        for (gap, count) in stored.filled {
            // nth is quick in a slice, however large the gap
            let gap = usize::try_from(gap).map_err(|_| FormatError::Corrupt)?;
            let bin = rest.nth(gap).ok_or(FormatError::Corrupt)?;
            if count == 0 || count > LARGEST - bins.total {
                return Err(FormatError::Corrupt);
            }
            bins.total += count;
            *bin = count;
        }
        Ok(bins)
    }

    /// What [`Bins::parse`] reads. `checkpoint`: as there.
    pub fn to_text(&self) -> String {
        let begin = format!("{}{{", self.bounds);
        let entry = |text: &mut String, bin, count| write!(text, "{bin}:{count}");
        self.written(begin, ", ", entry) + "}"
    }

    /// `{"lo":0,"hi":100,"counts":{"17":2,"42":5}}`. `checkpoint`: as for [`Bins::parse`].
    pub fn to_json(&self) -> String {
        let begin = format!("{{\"lo\":{},\"hi\":{},\"counts\":{{", self.bounds.lo, self.bounds.hi);
        let entry = |text: &mut String, bin, count| write!(text, "\"{bin}\":{count}");
        self.written(begin, ",", entry) + "}}"
    }

    fn written(
        &self,
        begin: String,
        separator: &str,
        entry: impl Fn(&mut String, i64, u64) -> fmt::Result,
    ) -> String {
        let mut text = begin;
        for (i, (bin, count)) in self.filled().enumerate() {
            if i.is_multiple_of(CHECKPOINT_PASS) {
                poll();
            }
            text.push_str(if i == 0 { "" } else { separator });
            let _ = entry(&mut text, bin, count); // writing into a string cannot fail
        }
        text
    }
}

impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(lo: i64, hi: i64) -> Bounds {
        Bounds::new(lo, hi).unwrap()
    }

    fn of(bounds: Bounds, rows: &[i64]) -> Bins {
        let mut bins = Bins::empty(bounds);
        rows.iter().for_each(|&bin| bins.add(bin, 1));
        bins
    }

    proptest! {
        #[test]
        fn both_forms_read_back(
            lo in any::<i64>(),
            width in 1i64..300,
            rows in prop::collection::vec((0i64..300, 0u64..=LARGEST), 0..20),
        ) {
            let lo = lo.min(i64::MAX - width);
            let mut bins = Bins::empty(bounds(lo, lo + width));
            for (row, count) in rows {
                bins.add(lo.saturating_add(row), count);
            }
            prop_assert_eq!(&Bins::parse(&bins.to_string()).unwrap(), &bins);
            prop_assert_eq!(&Bins::from_bytes(&bins.to_bytes()).unwrap(), &bins);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_valid_value(
            rows in prop::collection::vec(-5i64..10, 0..10),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
        ) {
            let mut stored = of(bounds(-5, 10), &rows).to_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            stored.truncate(stored.len() - cut);
            if let Ok(bins) = Bins::from_bytes(&stored) {
                prop_assert_eq!(Bins::parse(&bins.to_string()).unwrap(), bins);
            }
        }

        #[test]
        fn merging_parts_equals_the_whole(
            a in prop::collection::vec(-10i64..10, 0..20),
            b in prop::collection::vec(-10i64..10, 0..20),
        ) {
            let mut merged = of(bounds(-3, 4), &a);
            merged.merge(&of(bounds(-3, 4), &b)).unwrap();
            prop_assert_eq!(merged, of(bounds(-3, 4), &[a, b].concat()));
        }
    }

    #[test]
    fn the_forms_are_the_documented_ones() {
        let bins = of(bounds(-2, 5), &[0, 3, 3, -99, 99]);
        assert_eq!(bins.to_string(), "[-2,5){-2:1, 0:1, 3:2, 4:1}");
        assert_eq!(bins.counts(), [1, 0, 1, 0, 0, 2, 1]);
        let other = " [ -2, 5 ) { 3:1,0 : 1, 3:1, 4:1, 1:0,-2:1 } ";
        assert_eq!(Bins::parse(other), Ok(bins));
        assert_eq!(Bins::parse("[0,9){}").unwrap(), Bins::empty(bounds(0, 9)));
        let json = of(bounds(0, 9), &[1, 1, 7]).to_json();
        assert_eq!(json, r#"{"lo":0,"hi":9,"counts":{"1":2,"7":1}}"#);
    }

    #[test]
    fn bins_reach_to_the_end_of_bigint() {
        let mut bins = Bins::empty(bounds(i64::MAX - 2, i64::MAX));
        bins.add(i64::MAX, 5);
        assert_eq!(Bins::parse(&bins.to_string()).unwrap(), bins);
        assert_eq!(Bins::from_bytes(&bins.to_bytes()).unwrap(), bins);
        assert!(bins.to_json().ends_with(r#""counts":{"9223372036854775806":5}}"#));
    }

    #[test]
    fn bounds_that_are_none() {
        assert_eq!(Bounds::new(3, 3), Err(BoundsError::Empty { lo: 3, hi: 3 }));
        assert_eq!(Bounds::new(3, -3), Err(BoundsError::Empty { lo: 3, hi: -3 }));
        assert!(Bounds::new(-(1 << 23), 1 << 23).is_ok());
        for (lo, hi) in [(0, MAX_BINS as i64 + 1), (i64::MIN, i64::MAX)] {
            assert_eq!(Bounds::new(lo, hi), Err(BoundsError::TooMany { lo, hi }));
        }
        assert_eq!(
            BoundsError::TooMany { lo: i64::MIN, hi: i64::MAX }.to_string(),
            "from lo -9223372036854775808 to hi 9223372036854775807 there are \
             18446744073709551615 bins, more than 16777216"
        );
    }

    #[test]
    fn the_part_of_a_range_inside() {
        let here = bounds(-5, 5);
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
        let all = bounds(i64::MIN, i64::MIN + 1);
        assert_eq!(all.inside(Some(i64::MIN), Some(i64::MAX)), 0..1);
    }

    #[test]
    fn bins_at_the_ends_of_bigint() {
        for edge in [bounds(i64::MIN, i64::MIN + 2), bounds(i64::MAX - 2, i64::MAX)] {
            assert_eq!(of(edge, &[i64::MIN, 0, i64::MAX]).counts().iter().sum::<u64>(), 3);
        }
    }

    #[test]
    fn numbers_saturate_and_never_wrap() {
        let mut bins = Bins::empty(bounds(0, 2));
        bins.add(0, 5);
        bins.add(1, u64::MAX);
        bins.add(0, 1);
        assert_eq!(bins.counts(), [5, LARGEST - 5]);
        let other = bins.clone();
        bins.merge(&other).unwrap();
        assert_eq!(bins, other);
    }

    #[test]
    fn other_bounds_do_not_merge() {
        let mut bins = of(bounds(0, 2), &[0]);
        let before = bins.clone();
        let there = bounds(0, 3);
        let error = OtherBounds { here: bounds(0, 2), there };
        assert_eq!(bins.merge(&Bins::empty(there)), Err(error));
        assert_eq!(bins, before);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let ten = bounds(0, 10);
        for (text, error) in [
            ("", FormatError::Shape),
            ("{1:1}", FormatError::Shape),
            ("[0,10)", FormatError::Shape),
            ("[0,10]{1:1}", FormatError::Shape),
            ("[0,10){1:1", FormatError::Shape),
            ("[a,10){1:1}", FormatError::Bound),
            ("[0,9223372036854775808){1:1}", FormatError::Bound),
            ("[10,0){}", FormatError::Bounds(BoundsError::Empty { lo: 10, hi: 0 })),
            ("[0,10){1}", FormatError::Pair),
            ("[0,10){1:1,}", FormatError::Pair),
            ("[0,10){10:1}", FormatError::Bin(ten)),
            ("[0,10){x:1}", FormatError::Bin(ten)),
            ("[0,10){1:-1}", FormatError::Count),
            ("[0,10){1:9223372036854775808}", FormatError::Count),
            ("[0,10){1:9223372036854775807, 2:1}", FormatError::Overflow),
        ] {
            assert_eq!(Bins::parse(text), Err(error), "{text}");
        }
        let stored = |lo, hi, filled| {
            postcard::to_extend(&Stored { lo, hi, filled }, vec![VERSION]).unwrap()
        };
        assert!(Bins::from_bytes(&stored(0, 10, vec![(0, 1), (8, 2)])).is_ok());
        for bytes in [
            vec![],
            vec![VERSION],
            [stored(0, 10, vec![]), vec![0]].concat(),
            vec![VERSION, 0, 20, 255, 255, 255, 255, 15], // a length without the entries
            stored(0, 10, vec![(0, 0)]),
            stored(0, 10, vec![(10, 1)]),
            stored(0, 10, vec![(0, 1), (9, 1)]),
            stored(0, 10, vec![(u64::MAX, 1)]),
            stored(0, 10, vec![(0, LARGEST), (0, 1)]),
        ] {
            assert_eq!(Bins::from_bytes(&bytes), Err(FormatError::Corrupt), "{bytes:?}");
        }
        assert_eq!(Bins::from_bytes(&[9, 0]), Err(FormatError::Version(9)));
        assert!(matches!(
            Bins::from_bytes(&stored(0, 1 << 40, vec![])),
            Err(FormatError::Bounds(BoundsError::TooMany { .. }))
        ));
    }
}
