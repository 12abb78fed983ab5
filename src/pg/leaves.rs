//! The exact histograms of a dataset's leaf regions, from one scan of each of its tables.
//!
//! PostgreSQL scans; grouping and joining are done here, by [`GroupSizes`], in the memory that one of
//! the executor's hash tables may have and in temporary files. [`RegionTallies`] counts the groups, each
//! where it comes out, or at once where a row is one. Rows of groups with their sizes come from the
//! aggregate in `leaf_histograms`.

use super::errors::{Result, error, internal};
use super::session::checkpoint;
use super::stream::{Layout, StreamedRow, stream_rows};
use super::temporary_file::BufferedFile;
use crate::coco::{
    GroupKey, GroupRow, GroupSizes, KeyColumn, KeyHasher, KeyMaker, RegionHistograms,
    RegionTallies, Tallies, TooMany,
};
use crate::noise::words_from_system;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// The histograms of all leaf regions, by path. Confidential.
pub(super) struct Leaves {
    regions: Regions,
    tallies: RegionTallies,
    /// Larger sizes count at it.
    max_size: u32,
}

impl Leaves {
    /// None yet, of regions whose columns are held in these ways.
    pub(super) fn new(max_size: u64, regions: &[Layout]) -> Result<Leaves> {
        let max_size = u32::try_from(max_size).unwrap_or(u32::MAX); // plans allow less
        let regions = Regions::new(regions)?;
        let tallies = RegionTallies::new(&mut words_from_system().map_err(internal)?);
        Ok(Leaves { regions, tallies, max_size })
    }

    /// A row that is a group: the region's columns, then the size. A row without a region is no group.
    #[inline]
    pub(super) fn add_group(&mut self, row: &StreamedRow) -> Result<()> {
        match self.regions.number(row, &mut self.tallies)? {
            Some(region) => self.add(region, entities(row, self.regions.columns.end), 1),
            None => Ok(()),
        }
    }

    /// What another process has counted.
    pub(super) fn add_histograms(&mut self, histograms: &RegionHistograms) -> Result<()> {
        self.tallies.add_histograms(histograms, &mut checkpoint).map_err(too_many)
    }

    /// From a query whose rows stand for many groups each: the region's columns, then a histogram.
    pub(super) fn read_histograms(&mut self, sql: &str) -> Result<()> {
        let depth = self.regions.columns.end;
        stream_rows(sql, |row| {
            let Some(region) = self.regions.number(row, &mut self.tallies)? else { return Ok(()) };
            let Some(histogram) = row.histogram(depth)? else { return Ok(()) };
            histogram.runs().iter().try_for_each(|run| {
                self.add(region, u32::try_from(run.size).unwrap_or(u32::MAX), run.groups)
            })
        })
    }

    /// From a query whose rows are entities: the region's columns, then the group's. A group that is
    /// in several regions is one in each. A NULL is no region, and no group.
    pub(super) fn read_entities(&mut self, sql: &str, key: &[Layout]) -> Result<()> {
        // a number is held in 8 bytes
        let mut keys = Keys::new(&[key, &[Layout::ByValue(8)]].concat())?;
        let mut sizes = self.group_sizes()?;
        let depth = self.regions.columns.end;
        stream_rows(sql, |row| {
            // of a row without a group there is no region either
            if row.has_all(depth..depth + key.len())
                && let Some(region) = self.regions.number(row, &mut self.tallies)?
            {
                keys.put(row, depth..depth + key.len());
                let key = keys.finish_with(region);
                sizes.add(GroupRow { key, region: Some(region), entities: 1 });
            }
            Ok(())
        })?;
        self.add_all(sizes)
    }

    /// From a query whose rows are groups, the region's columns, then the key's; and another one of
    /// entities, the key's columns, then, if `weighted`, for how many entities a row stands. A NULL
    /// in the key is no group.
    pub(super) fn read_groups_and_entities(
        &mut self,
        groups: &str,
        (entity_rows, weighted): (&str, bool),
        key: &[Layout],
    ) -> Result<()> {
        let mut keys = Keys::new(key)?;
        let mut sizes = self.group_sizes()?;
        let (depth, width) = (self.regions.columns.end, key.len());
        stream_rows(groups, |row| {
            // checked tables have a region in every row
            if let Some(region) = self.regions.number(row, &mut self.tallies)?
                && row.has_all(depth..depth + width)
            {
                keys.put(row, depth..depth + width);
                sizes.add(GroupRow { key: keys.finish(), region: Some(region), entities: 0 });
            }
            Ok(())
        })?;
        stream_rows(entity_rows, |row| {
            if row.has_all(0..width) {
                keys.put(row, 0..width);
                let entities = if weighted { entities(row, width) } else { 1 };
                sizes.add(GroupRow { key: keys.finish(), region: None, entities });
            }
            Ok(())
        })?;
        self.add_all(sizes)
    }

    /// Each region's path with its histogram.
    pub(super) fn histograms(self) -> Result<RegionHistograms> {
        self.tallies.histograms(&mut checkpoint).map_err(too_many)
    }

    fn group_sizes(&self) -> Result<GroupSizes<BufferedFile>> {
        let memory = unsafe { pg_sys::get_hash_memory_limit() };
        let mut words = words_from_system().map_err(internal)?;
        Ok(GroupSizes::new(memory, self.max_size, &mut words))
    }

    fn add_all(&mut self, sizes: GroupSizes<BufferedFile>) -> Result<()> {
        let mut outcome = Ok(());
        sizes.finish(
            |region, size| {
                if outcome.is_ok() {
                    outcome = self.add(region, size, 1);
                }
            },
            &mut checkpoint,
        );
        outcome
    }

    /// Error: more different sizes than memory should hold.
    fn add(&mut self, region: u32, size: u32, groups: u64) -> Result<()> {
        let size = size.min(self.max_size);
        self.tallies.add(region, size, groups, &mut checkpoint).map_err(too_many)
    }
}

/// The error of a release that would not fit into memory, for what is known only once it was read.
pub(super) fn too_many(what: TooMany) -> ErrorReport {
    let (message, hint) = match what {
        TooMany::Sizes => (
            "the regions have too many different sizes",
            format!("All together may have {}. Lower max_size.", Tallies::MOST_PAIRS),
        ),
        TooMany::Regions => (
            "there are too many different regions",
            format!(
                "The lowest level may have {}. Declare a hierarchy of coarser columns.",
                RegionTallies::MOST_REGIONS
            ),
        ),
    };
    error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message).set_hint(hint)
}

/// A number of entities; NULL and negative ones count as 0.
fn entities(row: &StreamedRow, column: usize) -> u32 {
    let number = row.integer(column).unwrap_or(0).max(0);
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Makes keys of the columns of rows.
struct Keys(KeyMaker);

impl Keys {
    fn new(key: &[Layout]) -> Result<Keys> {
        let columns = key.iter().map(|layout| match layout {
            Layout::ByValue(_) => KeyColumn::Fixed(8),
            Layout::Fixed(width) => KeyColumn::Fixed(*width),
            Layout::Varying => KeyColumn::Varying,
        });
        let columns: Vec<KeyColumn> = columns.collect();
        Ok(Keys(KeyMaker::new(&columns, &mut words_from_system().map_err(internal)?)))
    }

    /// Takes the columns of a key, none of which is NULL.
    fn put(&mut self, row: &StreamedRow, columns: Range<usize>) {
        for column in columns {
            match row.layout(column) {
                Layout::ByValue(_) => self.0.word(row.word(column)),
                Layout::Fixed(_) => row.with_bytes(column, |bytes| self.0.fixed(bytes)),
                Layout::Varying => row.with_bytes(column, |bytes| self.0.varying(bytes)),
            }
        }
    }

    fn finish(&mut self) -> GroupKey {
        self.0.finish()
    }

    fn finish_with(&mut self, region: u32) -> GroupKey {
        self.0.word(u64::from(region).to_le_bytes());
        self.0.finish()
    }
}

/// The regions of rows.
///
/// A region is what its columns print. Printing is slow, but the same bytes print the same.
struct Regions {
    columns: Range<usize>,
    keys: Keys,
    by_bytes: HashMap<GroupKey, u32, KeyHasher>,
    /// That of the row before: in many tables the rows of a region lie together.
    last: Option<(GroupKey, u32)>,
}

impl Regions {
    fn new(layouts: &[Layout]) -> Result<Regions> {
        let mut words = words_from_system().map_err(internal)?;
        Ok(Regions {
            columns: 0..layouts.len(),
            keys: Keys::new(layouts)?,
            by_bytes: HashMap::with_hasher(KeyHasher::new(&mut words)),
            last: None,
        })
    }

    /// The number that the tallies give to a row's region; the row begins with the region's columns.
    /// None if one is NULL.
    #[inline]
    fn number(&mut self, row: &StreamedRow, tallies: &mut RegionTallies) -> Result<Option<u32>> {
        if !row.has_all(self.columns.clone()) {
            return Ok(None);
        }
        self.keys.put(row, self.columns.clone());
        let bytes = self.keys.finish();
        let number = match self.last {
            Some((last, number)) if last == bytes => return Ok(Some(number)),
            _ => match self.by_bytes.get(&bytes) {
                Some(&number) => number,
                None => self.print(row, bytes, tallies)?,
            },
        };
        self.last = Some((bytes, number));
        Ok(Some(number))
    }

    /// The number of a region whose bytes are not known yet.
    fn print(
        &mut self,
        row: &StreamedRow,
        bytes: GroupKey,
        tallies: &mut RegionTallies,
    ) -> Result<u32> {
        let path = self.columns.clone().map(|column| row.printed(column)).collect();
        let number = tallies.number(path).map_err(too_many)?;
        if self.by_bytes.len() >= RegionTallies::MOST_REGIONS {
            self.by_bytes.clear(); // many bytes that print the same
        }
        self.by_bytes.insert(bytes, number);
        Ok(number)
    }
}
