//! The exact histograms of a dataset's leaf regions, from one scan of each of its tables.
//!
//! PostgreSQL scans; grouping and joining are done here, by [`GroupSizes`], in the memory that one
//! of the executor's hash tables may have and in temporary files. [`RegionTallies`] counts the
//! groups, each where it comes out, or at once where a row is one. Rows of groups with their sizes
//! come from the aggregate in `leaf_histograms`.

use super::known_groups::KnownGroups;
use super::layout::Layout;
use super::names::too_long_name;
use super::query::Query;
use super::row_counting::{Entities, NumberOf, RowCounter, RowMaker, entities};
use super::row_regions::{OtherRegions, RowRegions};
use super::streamed_row::StreamedRow;
use crate::coco::Coco;
use crate::counting::{RegionHistograms, RegionTallies, TooManyRegions};
use crate::noise::words_from_system;
use crate::path::Path;
use crate::pg::errors::{Result, internal, too_many_regions};
use crate::pg::server::settings::may_have_helper;
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;
use std::convert::Infallible;
use std::mem::take;

/// What reading private rows can end with: regions are public.
type RegionsFit = std::result::Result<(), TooManyRegions>;

/// Histograms that are read are counted so many rows at a time, or with so many runs.
const MOST_ROWS: usize = 1 << 6;
const MOST_RUNS: usize = 1 << 14;

/// The histograms of all leaf regions, by path. Confidential.
pub(crate) struct Leaves {
    regions: RowRegions,
    tallies: RegionTallies,
    /// Larger sizes count at it.
    max_size: u32,
    /// Whether another thread may help to count, as [`GroupSizes::new`] is told.
    helped: Option<bool>,
}

impl Leaves {
    /// None yet, of regions whose columns are held in these ways.
    pub(crate) fn new(max_size: u64, regions: &[Layout]) -> Result<Leaves> {
        let max_size = u32::try_from(max_size).unwrap_or(u32::MAX); // plans allow less
        let regions = RowRegions::new(regions)?;
        let tallies = RegionTallies::new(&mut words_from_system().map_err(internal)?);
        Ok(Leaves { regions, tallies, max_size, helped: None })
    }

    /// The same, counted with help where the session's queries may have so many workers.
    pub(crate) fn helped(self, workers: i32) -> Leaves {
        Leaves { helped: Some(may_have_helper(workers)), ..self }
    }

    /// The same of groups whose number is private.
    pub(crate) fn with_private_groups(self) -> Leaves {
        Leaves { tallies: self.tallies.with_private_groups(), ..self }
    }

    /// The root is a region, also without rows: for a hierarchy of nothing else.
    pub(crate) fn add_root(&mut self) -> RegionsFit {
        self.tallies.number(Path::default()).map(|_| ())
    }

    /// A row that is a group: the region's columns, then the size. A row without a region is no
    /// group.
    #[inline]
    pub(crate) fn add_group(&mut self, row: &StreamedRow) -> RegionsFit {
        if let Some(region) = self.regions.number(row, &mut self.tallies)? {
            self.add(region, entities(row, self.regions.columns().end), 1);
        }
        Ok(())
    }

    /// From here on a region that is not known yet is another one: below the lowest region above it that
    /// is known, by that name on all levels. These are known now.
    ///
    /// Error: they are too many.
    pub(crate) fn add_other(&mut self, name: &str) -> RegionsFit {
        let depth = self.regions.columns().len();
        let known = self.tallies.regions().iter();
        let above = known.flat_map(|path| (1..depth).map(|levels| path.above(levels)));
        let other = OtherRegions { name: name.to_string(), above: above.collect() };
        for path in other.above.iter().chain([&Path::default()]) {
            self.tallies.number(other.below(path, depth))?;
        }
        self.regions.set_other(other);
        Ok(())
    }

    /// What another process has counted.
    pub(crate) fn add_histograms(&mut self, histograms: RegionHistograms) -> RegionsFit {
        self.tallies.add_histograms(histograms, self.max_size)
    }

    /// From rows that are groups, as [`Leaves::add_group`].
    pub(crate) fn read_sizes(&mut self, rows: Query) -> RegionsFit {
        rows.run(|row| self.add_group(row))
    }

    /// From rows that stand for many groups each: the region's columns, then a histogram.
    pub(crate) fn read_histograms(&mut self, rows: Query) -> RegionsFit {
        let depth = self.regions.columns().end;
        let (mut some, mut runs) = (Vec::new(), 0);
        // what printing leaves behind
        let mut printing = PgMemoryContexts::new("pg_dp: a region that is printed");
        rows.run(|row| {
            // SAFETY: what is kept of it is a copy.
            let path = unsafe {
                printing.reset();
                printing.switch_to(|_| self.regions.path(row))
            };
            let Some(path) = path else { return Ok(()) };
            // without one it is a region all the same
            let histogram = row.stored(depth, Coco::from_bytes).unwrap_or_default();
            runs += histogram.runs().len();
            some.push((path, histogram));
            if some.len() < MOST_ROWS && runs < MOST_RUNS {
                return Ok(());
            }
            runs = 0;
            self.add_histograms(take(&mut some))
        })?;
        self.add_histograms(some)
    }

    /// From rows that are entities: the region's columns, then the group's.
    pub(crate) fn read_entities(&mut self, rows: Query, mut groups: KnownGroups) -> RegionsFit {
        self.count_entities(rows, &mut groups)?;
        self.add_all(groups);
        Ok(())
    }

    /// The groups of such rows. A NULL is no region, and no group.
    pub(crate) fn count_entities(&mut self, rows: Query, groups: &mut KnownGroups) -> RegionsFit {
        let maker = groups.row_maker(self.regions.columns().end, Entities::One);
        // of a row without a group there is no region either
        let number: NumberOf<TooManyRegions> = |regions, tallies, row, has_key| match has_key {
            true => regions.number(row, tallies),
            false => Ok(None),
        };
        self.count(rows, groups, maker, Some(number))
    }

    /// The regions of a public table, each row's columns.
    ///
    /// Errors: there are too many; one has too long a name.
    pub(crate) fn read_regions(&mut self, rows: Query) -> Result<()> {
        rows.run(|row| public_region(&mut self.regions, &mut self.tallies, row).map(|_| ()))
    }

    /// The groups of a public table: the region's columns, then the key's. A NULL in the key is no
    /// group.
    ///
    /// Errors: as for [`Leaves::read_regions`].
    pub(crate) fn read_groups(&mut self, rows: Query, key: &[Layout]) -> Result<KnownGroups> {
        let mut groups = KnownGroups::none(key, false, self.max_size, self.helped)?;
        let maker = groups.row_maker(self.regions.columns().end, Entities::None);
        let number: NumberOf<ErrorReport> =
            |regions, tallies, row, _| public_region(regions, tallies, row).map(Some);
        self.count(rows, &mut groups, maker, Some(number))?;
        Ok(groups)
    }

    /// The entities of known groups: the key's columns, then, if `weighted`, for how many entities
    /// a row stands.
    pub(crate) fn read_entities_of(
        &mut self,
        mut groups: KnownGroups,
        rows: Query,
        weighted: bool,
    ) {
        let entities = if weighted { Entities::OfRow } else { Entities::One };
        let maker = groups.row_maker(0, entities);
        let Ok(()) = self.count::<Infallible>(rows, &mut groups, maker, None);
        self.add_all(groups);
    }

    /// No group is known beforehand. `apart`: one that is in several regions is one in each.
    pub(crate) fn no_groups(&self, key: &[Layout], apart: bool) -> Result<KnownGroups> {
        KnownGroups::none(key, apart, self.max_size, self.helped)
    }

    fn count<E>(
        &mut self,
        rows: Query,
        groups: &mut KnownGroups,
        maker: RowMaker,
        number: Option<NumberOf<E>>,
    ) -> std::result::Result<(), E> {
        let Leaves { regions, tallies, .. } = self;
        let counter = RowCounter::new(&mut groups.sizes, maker, regions, tallies, number);
        rows.give(counter)?;
        groups.sizes.gather();
        Ok(())
    }

    /// The regions so far, by path, each with its number.
    pub(crate) fn regions(&self) -> Vec<(Path, u32)> {
        self.tallies.regions().iter().cloned().zip(0..).collect()
    }

    /// Each region's histogram, by number.
    pub(crate) fn by_number(self) -> Vec<Coco> {
        self.tallies.by_number()
    }

    /// Each region's path with its histogram.
    pub(crate) fn histograms(self) -> RegionHistograms {
        drop(self.regions); // as large as what follows
        self.tallies.histograms()
    }

    fn add_all(&mut self, groups: KnownGroups) {
        groups.sizes.finish(|region, size| self.add(region, size, 1));
    }

    fn add(&mut self, region: u32, size: u32, groups: u64) {
        self.tallies.add(region, size.min(self.max_size), groups);
    }
}

fn public_region(
    regions: &mut RowRegions,
    tallies: &mut RegionTallies,
    row: &StreamedRow,
) -> Result<u32> {
    regions.number(row, tallies).map_err(too_many_regions)?.ok_or_else(too_long_name)
}
