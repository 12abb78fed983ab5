//! How the counts of a grid's cells are written and read.

use super::bounds::{GridBounds, TooManyCells};
use super::cell_counts::{CellCounts, LARGEST};
use crate::ranges::bins::bounds::{BinBounds, BoundsError};
use crate::work::Paced;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// The first byte of every stored value; a new layout takes the next number.
const VERSION: u8 = 1;

/// Why a text or a byte string holds no counts of cells. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridFormatError {
    Shape,
    Bound,
    Bounds(BoundsError),
    Cells(TooManyCells),
    Entry,
    Cell(GridBounds),
    Count,
    Overflow,
    Version(u8),
    Corrupt,
}

impl fmt::Display for GridFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GridFormatError::Shape => write!(
                f,
                "it must be the bounds of rows and of columns, [lo,hi)x[lo,hi), then counts in \
                 braces"
            ),
            GridFormatError::Bound => write!(f, "lo and hi must be integers that bigint holds"),
            GridFormatError::Bounds(error) => error.fmt(f),
            GridFormatError::Cells(error) => error.fmt(f),
            GridFormatError::Entry => write!(f, "each entry must be row/column:count"),
            GridFormatError::Cell(bounds) => {
                write!(f, "rows and columns must be integers in {bounds}")
            }
            GridFormatError::Count => write!(f, "counts must be integers from 0 to {LARGEST}"),
            GridFormatError::Overflow => {
                write!(f, "the counts of a cell add up to more than {LARGEST}")
            }
            GridFormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            GridFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for GridFormatError {}

/// The binary form after the version byte, as postcard writes it.
#[derive(Serialize, Deserialize)]
struct StoredCells {
    /// lo and hi
    rows: (i64, i64),
    columns: (i64, i64),
    /// For each cell that is not empty, row by row: the number of empty ones since the one before,
    /// the count.
    filled: Vec<(u64, u64)>,
}

/// `[lo,hi)` and what follows.
fn bounds_before(text: &str) -> Result<(BinBounds, &str), GridFormatError> {
    let parts = text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(','));
    let (lo, rest) = parts.ok_or(GridFormatError::Shape)?;
    let (hi, rest) = rest.split_once(')').ok_or(GridFormatError::Shape)?;
    let bound = |text: &str| text.trim().parse::<i64>().map_err(|_| GridFormatError::Bound);
    let bounds = BinBounds::new(bound(lo)?, bound(hi)?).map_err(GridFormatError::Bounds)?;
    Ok((bounds, rest.trim_start()))
}

/// Of bounds that were stored.
fn stored_bounds(rows: (i64, i64), columns: (i64, i64)) -> Result<GridBounds, GridFormatError> {
    let axis = |(lo, hi)| BinBounds::new(lo, hi).map_err(GridFormatError::Bounds);
    GridBounds::new(axis(rows)?, axis(columns)?).map_err(GridFormatError::Cells)
}

impl CellCounts {
    /// Reads `[lo,hi)x[lo,hi){row/column:count, ...}`, in any order; entries of one cell add up.
    pub fn parse(text: &str) -> Result<CellCounts, GridFormatError> {
        let (rows, rest) = bounds_before(text)?;
        let (columns, rest) = bounds_before(rest.strip_prefix('x').ok_or(GridFormatError::Shape)?)?;
        let entries = rest.strip_prefix('{').and_then(|rest| rest.trim_end().strip_suffix('}'));
        let entries = entries.ok_or(GridFormatError::Shape)?;
        let bounds = GridBounds::new(rows, columns).map_err(GridFormatError::Cells)?;
        let mut cells = CellCounts::empty(bounds);
        if entries.trim().is_empty() {
            return Ok(cells);
        }
        for entry in entries.split(',').paced() {
            let (place, count) = entry.split_once(':').ok_or(GridFormatError::Entry)?;
            let (row, column) = place.split_once('/').ok_or(GridFormatError::Entry)?;
            let within = |bin: &str, bounds: BinBounds| {
                let bin = bin.trim().parse::<i64>().ok();
                bin.filter(|bin| (bounds.lo()..bounds.hi()).contains(bin))
            };
            let place = within(row, rows).zip(within(column, columns));
            let (row, column) = place.ok_or(GridFormatError::Cell(bounds))?;
            let count = count.trim().parse::<u64>().ok().filter(|count| *count <= LARGEST);
            let count = count.ok_or(GridFormatError::Count)?;
            let cell = bounds.nearest(row, column);
            if count > LARGEST - cells.counts()[cell] {
                return Err(GridFormatError::Overflow);
            }
            cells.add_at(cell, count);
        }
        Ok(cells)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let (rows, columns) = (self.bounds().rows(), self.bounds().columns());
        let mut next = 0;
        let filled = self.filled().map(|(cell, count)| {
            let gap = (cell - next) as u64;
            next = cell + 1;
            (gap, count)
        });
        let stored = StoredCells {
            rows: (rows.lo(), rows.hi()),
            columns: (columns.lo(), columns.hi()),
            filled: filled.collect(),
        };
        // writing integers into a growing vector cannot fail
        postcard::to_extend(&stored, vec![VERSION]).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<CellCounts, GridFormatError> {
        let (version, body) = bytes.split_first().ok_or(GridFormatError::Corrupt)?;
        if *version != VERSION {
            return Err(GridFormatError::Version(*version));
        }
        let Ok((StoredCells { rows, columns, filled }, [])) = postcard::take_from_bytes(body)
        else {
            return Err(GridFormatError::Corrupt);
        };
        let bounds = stored_bounds(rows, columns)?;
        let mut cells = CellCounts::empty(bounds);
        let mut next = 0u64;
        for (gap, count) in filled {
            let cell = next.checked_add(gap).filter(|cell| *cell < bounds.cells() as u64);
            let cell = cell.ok_or(GridFormatError::Corrupt)?;
            if count == 0 || count > LARGEST {
                return Err(GridFormatError::Corrupt);
            }
            cells.add_at(cell as usize, count);
            next = cell + 1;
        }
        Ok(cells)
    }

    /// `[0,100)x[0,24){17/3:2, 42/5:5}`, which [`CellCounts::parse`] reads.
    pub fn to_text(&self) -> String {
        let begin = format!("{}{{", self.bounds());
        let entry =
            |text: &mut String, (row, column), count| write!(text, "{row}/{column}:{count}");
        self.written(begin, ", ", entry) + "}"
    }

    /// `{"row_lo":0,"row_hi":100,"column_lo":0,"column_hi":24,"counts":{"17/3":2,"42/5":5}}`
    pub fn to_json(&self) -> String {
        let (rows, columns) = (self.bounds().rows(), self.bounds().columns());
        let begin = format!(
            "{{\"row_lo\":{},\"row_hi\":{},\"column_lo\":{},\"column_hi\":{},\"counts\":{{",
            rows.lo(),
            rows.hi(),
            columns.lo(),
            columns.hi()
        );
        let entry =
            |text: &mut String, (row, column), count| write!(text, "\"{row}/{column}\":{count}");
        self.written(begin, ",", entry) + "}}"
    }

    fn written(
        &self,
        begin: String,
        separator: &str,
        entry: impl Fn(&mut String, (i64, i64), u64) -> fmt::Result,
    ) -> String {
        let mut text = begin;
        for (i, (cell, count)) in self.filled().paced().enumerate() {
            text.push_str(if i == 0 { "" } else { separator });
            // writing into a string cannot fail
            let _ = entry(&mut text, self.bounds().bins_of(cell), count);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::{MAX_BINS, OtherGrid};
    use proptest::prelude::*;

    fn bounds(rows: (i64, i64), columns: (i64, i64)) -> GridBounds {
        stored_bounds(rows, columns).unwrap()
    }

    fn small() -> GridBounds {
        bounds((-1, 2), (5, 7))
    }

    fn of(bounds: GridBounds, records: &[(i64, i64)]) -> CellCounts {
        let mut cells = CellCounts::empty(bounds);
        records.iter().for_each(|&(row, column)| cells.add_record(row, column));
        cells
    }

    proptest! {
        #[test]
        fn both_forms_read_back(
            los in any::<(i64, i64)>(),
            sides in (1i64..40, 1i64..40),
            filled in prop::collection::vec((any::<prop::sample::Index>(), 0u64..=LARGEST), 0..20),
        ) {
            let axis = |lo: i64, side| (lo.min(i64::MAX - side), lo.min(i64::MAX - side) + side);
            let mut cells = CellCounts::empty(bounds(axis(los.0, sides.0), axis(los.1, sides.1)));
            for (cell, count) in filled {
                cells.add_at(cell.index(cells.counts().len()), count);
            }
            prop_assert_eq!(&CellCounts::parse(&cells.to_text()).unwrap(), &cells);
            prop_assert_eq!(&CellCounts::from_bytes(&cells.to_bytes()).unwrap(), &cells);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_valid_value(
            records in prop::collection::vec((-5i64..5, 0i64..9), 0..10),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
        ) {
            let mut stored = of(small(), &records).to_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            stored.truncate(stored.len() - cut);
            if let Ok(cells) = CellCounts::from_bytes(&stored) {
                prop_assert_eq!(CellCounts::parse(&cells.to_text()).unwrap(), cells);
            }
        }

        /// In whatever order, also where counts stay at the largest.
        #[test]
        fn merging_parts_equals_the_whole(
            records in prop::collection::vec((-5i64..5, 0i64..9), 0..30),
            cut in any::<prop::sample::Index>(),
            largest in 0u64..4,
        ) {
            let (a, b) = records.split_at(cut.index(records.len() + 1));
            let mut full = CellCounts::empty(small());
            full.add_at(2, LARGEST - largest);
            let merged = |parts: [&CellCounts; 3]| {
                let mut merged = CellCounts::empty(small());
                parts.into_iter().for_each(|part| merged.merge(part).unwrap());
                merged
            };
            let mut whole = full.clone();
            records.iter().for_each(|&(row, column)| whole.add_record(row, column));
            let (a, b) = (of(small(), a), of(small(), b));
            for parts in [[&a, &b, &full], [&full, &a, &b], [&b, &full, &a]] {
                prop_assert_eq!(&merged(parts), &whole);
            }
        }
    }

    #[test]
    fn the_forms_are_the_documented_ones() {
        let cells = of(small(), &[(0, 5), (1, 6), (1, 6), (-99, 99), (99, -99)]);
        assert_eq!(cells.to_text(), "[-1,2)x[5,7){-1/6:1, 0/5:1, 1/5:1, 1/6:2}");
        assert_eq!(cells.counts(), [0, 1, 1, 0, 1, 2]);
        let other = " [ -1, 2 ) x [5,7) { 1/6:1,0 / 5 : 1, 1/6:1, 1/5:1, -1/5:0,-1/6:1 } ";
        assert_eq!(CellCounts::parse(other), Ok(cells));
        assert_eq!(CellCounts::parse("[-1,2)x[5,7){}"), Ok(CellCounts::empty(small())));
        let json = r#"{"row_lo":-1,"row_hi":2,"column_lo":5,"column_hi":7,"counts":{"0/6":1}}"#;
        assert_eq!(of(small(), &[(0, 6)]).to_json(), json);
    }

    /// What a release has to hide: every record, in every state of the cells, wherever it lies.
    #[test]
    fn a_record_moves_one_count_by_one_at_most() {
        let ends = [i64::MIN, -2, -1, 0, 1, 2, 5, 6, 7, i64::MAX];
        for before in [0, 1, 7, LARGEST - 1, LARGEST] {
            for full in 0..6 {
                let mut cells = CellCounts::empty(small());
                (0..6).for_each(|cell| cells.add_at(cell, if cell <= full { before } else { 3 }));
                let mut largest = 0;
                for (row, column) in ends.iter().flat_map(|row| ends.map(|column| (*row, column))) {
                    let mut neighbour = cells.clone();
                    neighbour.add_record(row, column);
                    let moved: u64 =
                        neighbour.counts().iter().zip(cells.counts()).map(|(a, b)| a - b).sum();
                    let at_the_end = cells.counts()[small().nearest(row, column)] == LARGEST;
                    assert_eq!(moved, u64::from(!at_the_end), "{before} {full}: {row} {column}");
                    largest = largest.max(moved);
                    // and the same wherever the record was counted first
                    let mut merged = of(small(), &[(row, column)]);
                    merged.merge(&cells).unwrap();
                    assert_eq!(merged, neighbour);
                }
                assert!(largest == 1 || (before, full) == (LARGEST, 5));
            }
        }
    }

    #[test]
    fn few_records_take_few_bytes() {
        let wide = bounds((0, 1024), (0, 1024));
        let records: Vec<(i64, i64)> = (0..100).map(|i| (i * 7919 % 1024, i * 31)).collect();
        assert!(of(wide, &records).to_bytes().len() < 600);
    }

    #[test]
    fn other_bounds_do_not_merge() {
        let mut cells = of(small(), &[(0, 5)]);
        let before = cells.clone();
        let there = bounds((-1, 2), (5, 8));
        let error = OtherGrid { here: small(), there };
        assert_eq!(cells.merge(&CellCounts::empty(there)), Err(error));
        assert_eq!(cells, before);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        use GridFormatError::*;
        let ten = bounds((0, 10), (0, 4));
        for (text, error) in [
            ("", Shape),
            ("{1/1:1}", Shape),
            ("[0,10){1/1:1}", Shape),
            ("[0,10)x[0,4)", Shape),
            ("[0,10)x[0,4]{}", Shape),
            ("[0,10)x[0,4){1/1:1", Shape),
            ("[0,10)y[0,4){}", Shape),
            ("[a,10)x[0,4){}", Bound),
            ("[0,10)x[0,9223372036854775808){}", Bound),
            ("[10,0)x[0,4){}", Bounds(BoundsError::Empty { lo: 10, hi: 0 })),
            ("[0,10)x[0,4){1}", Entry),
            ("[0,10)x[0,4){1:1}", Entry),
            ("[0,10)x[0,4){1/1:1,}", Entry),
            ("[0,10)x[0,4){10/1:1}", Cell(ten)),
            ("[0,10)x[0,4){1/4:1}", Cell(ten)),
            ("[0,10)x[0,4){x/1:1}", Cell(ten)),
            ("[0,10)x[0,4){1/1:-1}", Count),
            ("[0,10)x[0,4){1/1:9223372036854775808}", Count),
            ("[0,10)x[0,4){1/1:9223372036854775807, 1/1:1}", Overflow),
        ] {
            assert_eq!(CellCounts::parse(text), Err(error), "{text}");
        }
        assert!(matches!(CellCounts::parse("[0,4097)x[0,4096){}"), Err(Cells(_))));
        let stored = |rows, columns, filled| {
            postcard::to_extend(&StoredCells { rows, columns, filled }, vec![VERSION]).unwrap()
        };
        let ten = |filled| stored((0, 5), (0, 2), filled);
        assert!(CellCounts::from_bytes(&ten(vec![(0, 1), (8, 2)])).is_ok());
        for bytes in [
            vec![],
            vec![VERSION],
            [ten(vec![]), vec![0]].concat(),
            ten(vec![(0, 0)]),
            ten(vec![(10, 1)]),
            ten(vec![(0, 1), (9, 1)]),
            ten(vec![(0, 1), (u64::MAX, 1)]),
            ten(vec![(0, LARGEST + 1)]),
        ] {
            assert_eq!(CellCounts::from_bytes(&bytes), Err(Corrupt), "{bytes:?}");
        }
        assert_eq!(CellCounts::from_bytes(&[9, 0]), Err(Version(9)));
        let most = MAX_BINS as i64;
        let wide = CellCounts::from_bytes(&stored((0, most), (0, 2), vec![]));
        assert!(matches!(wide, Err(Cells(_))), "{wide:?}");
        let wide = CellCounts::from_bytes(&stored((0, most + 1), (0, 1), vec![]));
        assert!(matches!(wide, Err(Bounds(_))), "{wide:?}");
    }
}
