//! How a histogram over bins is written and read.

use super::bounds::{BinBounds, BoundsError};
use super::counts::{Bins, COUNTED, LARGEST};
use super::filled::FilledBins;
use crate::work::Paced;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// The first byte of every stored value; a new layout takes the next number.
const VERSION: u8 = 1;

/// That of sums of amounts: what a row adds at most comes before the rest.
const OF_AMOUNTS: u8 = 2;

/// Why a text or a byte string is no histogram over bins. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinsFormatError {
    Shape,
    Bound,
    Bounds(BoundsError),
    Most,
    Pair,
    Bin(BinBounds),
    Count,
    Overflow,
    Version(u8),
    Corrupt,
}

impl fmt::Display for BinsFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BinsFormatError::Shape => write!(f, "it must be bounds [lo,hi), then counts in braces"),
            BinsFormatError::Bound => write!(f, "lo and hi must be integers that bigint holds"),
            BinsFormatError::Bounds(error) => error.fmt(f),
            BinsFormatError::Most => {
                write!(f, "the largest amount must be an integer from 1 to {}", u32::MAX)
            }
            BinsFormatError::Pair => write!(f, "each entry must be bin:count"),
            BinsFormatError::Bin(bounds) => write!(f, "bins must be integers in {bounds}"),
            BinsFormatError::Count => write!(f, "counts must be integers from 0 to {LARGEST}"),
            BinsFormatError::Overflow => {
                write!(f, "the counts of a bin add up to more than {LARGEST}")
            }
            BinsFormatError::Version(version) => {
                write!(
                    f,
                    "format version {version} is not known, expected {VERSION} or {OF_AMOUNTS}"
                )
            }
            BinsFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for BinsFormatError {}

/// The binary form after the version byte, as postcard writes it.
#[derive(Serialize, Deserialize)]
struct StoredBins {
    lo: i64,
    hi: i64,
    /// For each bin that is not empty: the number of empty ones since the one before, the count.
    filled: Vec<(u64, u64)>,
}

impl Bins {
    /// Reads `[lo,hi){bin:count, ...}`, in any order; entries of one bin add up. Of amounts up to 50
    /// it is `[lo,hi)<=50{...}`.
    pub fn parse(text: &str) -> Result<Bins, BinsFormatError> {
        let (lo, rest) = text
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(','))
            .ok_or(BinsFormatError::Shape)?;
        let (hi, rest) = rest.split_once(')').ok_or(BinsFormatError::Shape)?;
        let (most, entries) = rest.split_once('{').ok_or(BinsFormatError::Shape)?;
        let entries = entries.trim_end().strip_suffix('}').ok_or(BinsFormatError::Shape)?;
        let most = match (most.trim(), most.trim().strip_prefix("<=")) {
            ("", _) => COUNTED,
            (_, None) => return Err(BinsFormatError::Shape),
            (_, Some(most)) => {
                let most = most.trim().parse().ok().filter(|most| *most > 0);
                most.ok_or(BinsFormatError::Most)?
            }
        };
        let bound = |text: &str| text.trim().parse::<i64>().map_err(|_| BinsFormatError::Bound);
        let bounds = BinBounds::new(bound(lo)?, bound(hi)?).map_err(BinsFormatError::Bounds)?;
        let mut bins = Bins::of_amounts(bounds, most);
        if !entries.trim().is_empty() {
            for entry in entries.split(',').paced() {
                let (bin, count) = entry.split_once(':').ok_or(BinsFormatError::Pair)?;
                let bin = bin.trim().parse::<i64>().ok();
                let bin = bin.filter(|bin| (bounds.lo()..bounds.hi()).contains(bin));
                let bin = bin.ok_or(BinsFormatError::Bin(bounds))?;
                let count = count.trim().parse::<u64>().ok().filter(|count| *count <= LARGEST);
                let count = count.ok_or(BinsFormatError::Count)?;
                let sum = &mut bins.counts[bounds.nearest(bin)];
                if count > LARGEST - *sum {
                    return Err(BinsFormatError::Overflow);
                }
                *sum += count;
            }
        }
        Ok(bins)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let (lo, hi) = (self.bounds.lo(), self.bounds.hi());
        let mut next = lo;
        let filled = self.filled().map(|(bin, count)| {
            let gap = (bin - next) as u64;
            next = bin + 1;
            (gap, count)
        });
        let stored = StoredBins { lo, hi, filled: filled.collect() };
        // writing integers into a growing vector cannot fail
        match self.most {
            COUNTED => postcard::to_extend(&stored, vec![VERSION]),
            most => postcard::to_extend(&(most, stored), vec![OF_AMOUNTS]),
        }
        .unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Bins, BinsFormatError> {
        let filled = FilledBins::from_bytes(bytes)?;
        let mut bins = Bins::of_amounts(filled.bounds, filled.most);
        for (place, count) in filled.counts {
            bins.counts[place] = count;
        }
        Ok(bins)
    }

    /// `[0,100){17:2, 42:5}`, of amounts up to 50 `[0,100)<=50{17:2, 42:5}`, which [`Bins::parse`]
    /// reads.
    pub fn to_text(&self) -> String {
        let begin = match self.most {
            COUNTED => format!("{}{{", self.bounds),
            most => format!("{}<={most}{{", self.bounds),
        };
        let entry = |text: &mut String, bin, count| write!(text, "{bin}:{count}");
        self.written(begin, ", ", entry) + "}"
    }

    /// `{"lo":0,"hi":100,"counts":{"17":2,"42":5}}`; of amounts with `"max_amount":50` before the
    /// counts.
    pub fn to_json(&self) -> String {
        let (lo, hi) = (self.bounds.lo(), self.bounds.hi());
        let most = match self.most {
            COUNTED => String::new(),
            most => format!("\"max_amount\":{most},"),
        };
        let begin = format!("{{\"lo\":{lo},\"hi\":{hi},{most}\"counts\":{{");
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
        for (i, (bin, count)) in self.filled().paced().enumerate() {
            text.push_str(if i == 0 { "" } else { separator });
            let _ = entry(&mut text, bin, count); // writing into a string cannot fail
        }
        text
    }
}

impl FilledBins {
    /// Reads what [`Bins::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<FilledBins, BinsFormatError> {
        let (version, body) = bytes.split_first().ok_or(BinsFormatError::Corrupt)?;
        let read = match *version {
            VERSION => postcard::take_from_bytes(body).map(|(bins, rest)| ((COUNTED, bins), rest)),
            OF_AMOUNTS => postcard::take_from_bytes::<(u32, StoredBins)>(body),
            version => return Err(BinsFormatError::Version(version)),
        };
        let Ok(((most, stored), [])) = read else { return Err(BinsFormatError::Corrupt) };
        if most == 0 || (most == COUNTED) != (*version == VERSION) {
            return Err(BinsFormatError::Corrupt);
        }
        let bounds = BinBounds::new(stored.lo, stored.hi).map_err(BinsFormatError::Bounds)?;
        let mut counts = stored.filled;
        let mut next = 0u64;
        for (place, count) in &mut counts {
            // from here on not the gap, but the place
            *place = next.checked_add(*place).ok_or(BinsFormatError::Corrupt)?;
            if *place >= bounds.bins() as u64 || *count == 0 || *count > LARGEST {
                return Err(BinsFormatError::Corrupt);
            }
            next = *place + 1;
        }
        let counts = counts.into_iter().map(|(place, count)| (place as usize, count)).collect();
        Ok(FilledBins { bounds, most, counts })
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
    use crate::ranges::OtherBins;
    use proptest::prelude::*;

    fn bounds(lo: i64, hi: i64) -> BinBounds {
        BinBounds::new(lo, hi).unwrap()
    }

    fn of(bounds: BinBounds, rows: &[i64]) -> Bins {
        let mut bins = Bins::empty(bounds);
        rows.iter().for_each(|&bin| bins.add_row(bin, 1));
        bins
    }

    proptest! {
        #[test]
        fn both_forms_read_back(
            lo in any::<i64>(),
            width in 1i64..300,
            most in prop::sample::select(vec![1, 2, 50, u32::MAX]),
            rows in prop::collection::vec((0i64..300, 0u64..=LARGEST), 0..20),
        ) {
            let lo = lo.min(i64::MAX - width);
            let mut bins = Bins::of_amounts(bounds(lo, lo + width), most);
            for (row, count) in rows {
                bins.add(lo.saturating_add(row), count);
            }
            prop_assert_eq!(&Bins::parse(&bins.to_string()).unwrap(), &bins);
            prop_assert_eq!(&Bins::from_bytes(&bins.to_bytes()).unwrap(), &bins);
            prop_assert_eq!(FilledBins::from_bytes(&bins.to_bytes()).unwrap(), bins.to_filled());
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
        let mut amounts = Bins::of_amounts(bounds(0, 9), 50);
        for (bin, amount) in [(1, 7), (1, 99), (30, 50), (2, 0)] {
            amounts.add_row(bin, amount);
        }
        assert_eq!(amounts.to_string(), "[0,9)<=50{1:57, 8:50}");
        assert_eq!(Bins::parse(" [0,9) <= 50 {8:50, 1:57}"), Ok(amounts.clone()));
        let json = r#"{"lo":0,"hi":9,"max_amount":50,"counts":{"1":57,"8":50}}"#;
        assert_eq!(amounts.to_json(), json);
        let other = " [ -2, 5 ) { 3:1,0 : 1, 3:1, 4:1, 1:0,-2:1 } ";
        assert_eq!(Bins::parse(other), Ok(bins));
        assert_eq!(Bins::parse("[0,9){}").unwrap(), Bins::empty(bounds(0, 9)));
        let json = of(bounds(0, 9), &[1, 1, 7]).to_json();
        assert_eq!(json, r#"{"lo":0,"hi":9,"counts":{"1":2,"7":1}}"#);
    }

    /// What a release has to hide, in whatever state the counts are.
    #[test]
    fn a_row_moves_one_count_by_the_largest_amount_at_most() {
        for most in [1, 2, 50, u32::MAX] {
            for before in [0, 7, LARGEST - 3, LARGEST] {
                let mut bins = Bins::of_amounts(bounds(-1, 2), most);
                (-1..2).for_each(|bin| bins.add(bin, before));
                let mut largest = 0;
                for bin in [i64::MIN, -1, 0, 1, 2, i64::MAX] {
                    for amount in [0, 1, 49, 50, 51, u64::MAX] {
                        let mut neighbour = bins.clone();
                        neighbour.add_row(bin, amount);
                        let moved = neighbour.counts().iter().zip(bins.counts());
                        let moved: Vec<u64> = moved.map(|(a, b)| a - b).collect();
                        assert!(moved.iter().filter(|by| **by > 0).count() <= 1);
                        largest = largest.max(moved.iter().sum());
                    }
                }
                assert!(largest == u64::from(most).min(LARGEST - before), "{most} {before}");
            }
        }
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
        assert_eq!(bins.counts(), [6, LARGEST]);
        let other = bins.clone();
        bins.merge(&other).unwrap();
        assert_eq!(bins.counts(), [12, LARGEST]);
    }

    #[test]
    fn other_bounds_do_not_merge() {
        let mut bins = of(bounds(0, 2), &[0]);
        let before = bins.clone();
        let there = bounds(0, 3);
        let error = OtherBins::Bounds { here: bounds(0, 2), there };
        assert_eq!(bins.merge(&Bins::empty(there)), Err(error));
        let error = OtherBins::Most { here: 1, there: 9 };
        assert_eq!(bins.merge(&Bins::of_amounts(bounds(0, 2), 9)), Err(error));
        assert_eq!(bins, before);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let ten = bounds(0, 10);
        for (text, error) in [
            ("", BinsFormatError::Shape),
            ("{1:1}", BinsFormatError::Shape),
            ("[0,10)", BinsFormatError::Shape),
            ("[0,10]{1:1}", BinsFormatError::Shape),
            ("[0,10){1:1", BinsFormatError::Shape),
            ("[0,10)5{1:1}", BinsFormatError::Shape),
            ("[0,10)<=0{1:1}", BinsFormatError::Most),
            ("[0,10)<={1:1}", BinsFormatError::Most),
            ("[0,10)<=4294967296{1:1}", BinsFormatError::Most),
            ("[a,10){1:1}", BinsFormatError::Bound),
            ("[0,9223372036854775808){1:1}", BinsFormatError::Bound),
            ("[10,0){}", BinsFormatError::Bounds(BoundsError::Empty { lo: 10, hi: 0 })),
            ("[0,10){1}", BinsFormatError::Pair),
            ("[0,10){1:1,}", BinsFormatError::Pair),
            ("[0,10){10:1}", BinsFormatError::Bin(ten)),
            ("[0,10){x:1}", BinsFormatError::Bin(ten)),
            ("[0,10){1:-1}", BinsFormatError::Count),
            ("[0,10){1:9223372036854775808}", BinsFormatError::Count),
            ("[0,10){1:9223372036854775807, 1:1}", BinsFormatError::Overflow),
        ] {
            assert_eq!(Bins::parse(text), Err(error), "{text}");
        }
        let stored = |lo, hi, filled| {
            postcard::to_extend(&StoredBins { lo, hi, filled }, vec![VERSION]).unwrap()
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
            stored(0, 10, vec![(0, LARGEST + 1)]),
            [vec![OF_AMOUNTS, 0], stored(0, 10, vec![])[1..].to_vec()].concat(),
            [vec![OF_AMOUNTS, 1], stored(0, 10, vec![])[1..].to_vec()].concat(),
        ] {
            assert_eq!(Bins::from_bytes(&bytes), Err(BinsFormatError::Corrupt), "{bytes:?}");
        }
        assert_eq!(Bins::from_bytes(&[9, 0]), Err(BinsFormatError::Version(9)));
        assert!(matches!(
            Bins::from_bytes(&stored(0, 1 << 40, vec![])),
            Err(BinsFormatError::Bounds(BoundsError::TooMany { .. }))
        ));
    }
}
