//! The regions of rows that are counted.

use super::layout::Layout;
use super::row_keys::Keys;
use super::streamed_row::StreamedRow;
use crate::counting::{GroupKey, KeyHasher, RegionTallies, TooManyRegions};
use crate::noise::words_from_system;
use crate::path::Path;
use crate::pg::errors::{Result, internal};
use std::collections::{HashMap, HashSet};
use std::iter::repeat;
use std::ops::Range;

/// The regions of rows.
///
/// A region is what its columns print. Printing is slow, but the same bytes print the same.
pub(super) struct RowRegions {
    printed: PrintedRegions,
    /// What regions count as that are not known.
    pub(super) other: Option<OtherRegions>,
    /// Those that were printed since they were asked for last; None if nobody asks.
    news: Option<Vec<News>>,
}

/// A region's bytes, and its number.
pub(super) type News = (GroupKey, Option<u32>);

/// The numbers of regions that were printed, for any thread.
#[derive(Clone)]
pub(super) struct PrintedRegions {
    columns: Range<usize>,
    keys: Keys,
    by_bytes: HashMap<GroupKey, Option<u32>, KeyHasher>,
    /// Of the row before: in tables that are in order many rows of one region follow one another.
    last: Option<News>,
    most: usize,
}

impl PrintedRegions {
    /// The number of a row's region, as [`RowRegions::number`] has said before; or its bytes.
    #[inline]
    pub(super) fn find(&mut self, row: &StreamedRow) -> std::result::Result<Option<u32>, GroupKey> {
        if !row.has_all(self.columns.clone()) {
            return Ok(None);
        }
        let bytes = self.keys.of(row, self.columns.clone(), None);
        if let Some((last, number)) = self.last
            && last == bytes
        {
            return Ok(number);
        }
        // the bytes as they lie there: just made, in two words, they are slow to copy as one
        let (known, number) = self.by_bytes.get_key_value(&bytes).ok_or(bytes)?;
        self.last = Some((*known, *number));
        Ok(*number)
    }

    pub(super) fn learn(&mut self, (bytes, number): News) {
        if self.by_bytes.len() >= self.most {
            self.by_bytes.clear(); // many bytes that print the same, or count as the same
        }
        self.by_bytes.insert(bytes, number);
        self.last = Some((bytes, number));
    }
}

/// The bytes that are remembered where regions need not be known: how many occur then is private, and
/// memory not to follow from it.
const MOST_PRINTED: usize = 1 << 16;

/// What regions count as that are not known.
pub(super) struct OtherRegions {
    pub(super) name: String,
    /// The known regions between the root and the lowest level.
    pub(super) above: HashSet<Path>,
}

impl OtherRegions {
    pub(super) fn below(&self, path: &Path, depth: usize) -> Path {
        path.names().chain(repeat(&*self.name)).take(depth).collect()
    }

    fn of(&self, path: &Path) -> Path {
        let depth = path.depth();
        let mut above = (1..depth).rev().map(|levels| path.above(levels));
        let known = above.find(|above| self.above.contains(above));
        self.below(&known.unwrap_or_default(), depth)
    }
}

impl RowRegions {
    pub(super) fn new(layouts: &[Layout]) -> Result<RowRegions> {
        let mut words = words_from_system().map_err(internal)?;
        let printed = PrintedRegions {
            columns: 0..layouts.len(),
            keys: Keys::new(layouts)?,
            by_bytes: HashMap::with_hasher(KeyHasher::new(&mut words)),
            last: None,
            most: RegionTallies::MOST_REGIONS, // each is public
        };
        Ok(RowRegions { printed, other: None, news: None })
    }

    /// Where they are in a row: at its beginning.
    pub(super) fn columns(&self) -> Range<usize> {
        self.printed.columns.clone()
    }

    /// From here on there are others than those that are known.
    pub(super) fn set_other(&mut self, other: OtherRegions) {
        self.printed.most = MOST_PRINTED;
        self.other = Some(other);
    }

    /// The number that the tallies give to a row's region; the row begins with the region's
    /// columns. None if one is NULL, or too long for a name.
    #[inline]
    pub(super) fn number(
        &mut self,
        row: &StreamedRow,
        tallies: &mut RegionTallies,
    ) -> std::result::Result<Option<u32>, TooManyRegions> {
        match self.printed.find(row) {
            Ok(number) => Ok(number),
            Err(bytes) => self.print(row, bytes, tallies),
        }
    }

    /// The path that a row's region prints as. None if a column is NULL, or too long for a name.
    pub(super) fn path(&self, row: &StreamedRow) -> Option<Path> {
        self.columns().map(|column| row.name(column)).collect()
    }

    /// The number of a region whose bytes are not known yet.
    fn print(
        &mut self,
        row: &StreamedRow,
        bytes: GroupKey,
        tallies: &mut RegionTallies,
    ) -> std::result::Result<Option<u32>, TooManyRegions> {
        let number = match (self.path(row), &self.other) {
            (None, _) => None,
            (Some(path), None) => Some(tallies.number(path)?),
            (Some(path), Some(other)) => match tallies.known(&path) {
                Some(number) => Some(number),
                None => Some(tallies.number(other.of(&path))?),
            },
        };
        self.printed.learn((bytes, number));
        if let Some(news) = &mut self.news {
            news.push((bytes, number));
        }
        Ok(number)
    }

    /// Those that were printed so far. From here on there are [news](RowRegions::news).
    pub(super) fn printed(&mut self) -> PrintedRegions {
        self.news = Some(vec![]);
        self.printed.clone()
    }

    /// Those that were printed since.
    pub(super) fn news(&mut self) -> Vec<News> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
