//! The exact histograms of a dataset's leaf regions, from one scan of each of its tables.
//!
//! PostgreSQL scans; grouping and joining are done here, by [`GroupSizes`], in the memory that one
//! of the executor's hash tables may have and in temporary files. [`RegionTallies`] counts the
//! groups, each where it comes out, or at once where a row is one. Rows of groups with their sizes
//! come from the aggregate in `leaf_histograms`.

use super::layout::Layout;
use super::names::too_long_name;
use super::query::Query;
use super::stream::StreamedRow;
use crate::coco::Coco;
use crate::counting::{
    GroupKey, GroupRow, GroupSizes, KeyColumn, KeyHasher, KeyMaker, RegionHistograms,
    RegionTallies, RowForm, TooManyRegions,
};
use crate::noise::words_from_system;
use crate::path::Path;
use crate::pg::errors::{Result, internal, too_many_regions};
use crate::pg::server::settings::may_have_helper;
use crate::pg::server::state::hash_memory;
use crate::pg::server::temporary_file::BufferedFile;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::iter::repeat;
use std::ops::Range;

/// What reading private rows can end with: regions are public.
type RegionsFit = std::result::Result<(), TooManyRegions>;

/// The histograms of all leaf regions, by path. Confidential.
pub(crate) struct Leaves {
    regions: RowRegions,
    tallies: RegionTallies,
    /// Larger sizes count at it.
    max_size: u32,
    /// Whether another thread may help to count.
    helped: bool,
}

/// Groups of a public table, whose entities are to be counted.
pub(crate) struct KnownGroups {
    keys: Keys,
    sizes: GroupSizes<BufferedFile>,
    width: usize,
}

impl Leaves {
    /// None yet, of regions whose columns are held in these ways.
    pub(crate) fn new(max_size: u64, regions: &[Layout]) -> Result<Leaves> {
        let max_size = u32::try_from(max_size).unwrap_or(u32::MAX); // plans allow less
        let regions = RowRegions::new(regions)?;
        let tallies = RegionTallies::new(&mut words_from_system().map_err(internal)?);
        Ok(Leaves { regions, tallies, max_size, helped: false })
    }

    /// The same, counted with help where the session's queries may have so many workers.
    pub(crate) fn helped(self, workers: i32) -> Leaves {
        Leaves { helped: may_have_helper(workers), ..self }
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
            self.add(region, entities(row, self.regions.columns.end), 1);
        }
        Ok(())
    }

    /// From here on a region that is not known yet is another one: below the lowest region above it that
    /// is known, by that name on all levels. These are known now.
    ///
    /// Error: they are too many.
    pub(crate) fn add_other(&mut self, name: &str) -> RegionsFit {
        let depth = self.regions.columns.len();
        let known = self.tallies.regions().iter();
        let above = known.flat_map(|path| (1..depth).map(|levels| path.above(levels)));
        let other = OtherRegions { name: name.to_string(), above: above.collect() };
        for path in other.above.iter().chain([&Path::default()]) {
            self.tallies.number(other.below(path, depth))?;
        }
        self.regions.other = Some(other);
        Ok(())
    }

    /// What another process has counted.
    pub(crate) fn add_histograms(&mut self, histograms: &RegionHistograms) -> RegionsFit {
        self.tallies.add_histograms(histograms)
    }

    /// From rows that are groups, as [`Leaves::add_group`].
    pub(crate) fn read_sizes(&mut self, rows: Query) -> RegionsFit {
        rows.run(|row| self.add_group(row))
    }

    /// From rows that stand for many groups each: the region's columns, then a histogram.
    pub(crate) fn read_histograms(&mut self, rows: Query) -> RegionsFit {
        let depth = self.regions.columns.end;
        rows.run(|row| {
            let Some(region) = self.regions.number(row, &mut self.tallies)? else { return Ok(()) };
            let Some(histogram) = row.stored(depth, Coco::from_bytes) else { return Ok(()) };
            for run in histogram.runs() {
                self.add(region, u32::try_from(run.size).unwrap_or(u32::MAX), run.groups);
            }
            Ok(())
        })
    }

    /// From rows that are entities: the region's columns, then the group's. A group that is in
    /// several regions is one in each. A NULL is no region, and no group.
    pub(crate) fn read_entities(&mut self, rows: Query, mut groups: KnownGroups) -> RegionsFit {
        let depth = self.regions.columns.end;
        let key = depth..depth + groups.width;
        rows.run(|row| {
            // of a row without a group there is no region either
            if row.has_all(key.clone())
                && let Some(region) = self.regions.number(row, &mut self.tallies)?
            {
                let key = groups.keys.of(row, key.clone(), Some(region));
                groups.sizes.add(GroupRow { key, region: Some(region), entities: 1 });
            }
            Ok(())
        })?;
        self.add_all(groups.sizes);
        Ok(())
    }

    /// The regions of a public table, each row's columns.
    ///
    /// Errors: there are too many; one has too long a name.
    pub(crate) fn read_regions(&mut self, rows: Query) -> Result<()> {
        rows.run(|row| self.public_region(row).map(|_| ()))
    }

    /// The groups of a public table: the region's columns, then the key's. A NULL in the key is no
    /// group.
    ///
    /// Errors: as for [`Leaves::read_regions`].
    pub(crate) fn read_groups(&mut self, rows: Query, key: &[Layout]) -> Result<KnownGroups> {
        let mut groups = self.counting(Keys::new(key)?, key.len(), false)?;
        let depth = self.regions.columns.end;
        let key = depth..depth + groups.width;
        rows.run(|row| -> Result<()> {
            let region = Some(self.public_region(row)?);
            if row.has_all(key.clone()) {
                let key = groups.keys.of(row, key.clone(), None);
                groups.sizes.add(GroupRow { key, region, entities: 0 });
            }
            Ok(())
        })?;
        Ok(groups)
    }

    /// The entities of known groups: the key's columns, then, if `weighted`, for how many entities
    /// a row stands.
    pub(crate) fn read_entities_of(
        &mut self,
        mut groups: KnownGroups,
        rows: Query,
        weighted: bool,
    ) -> RegionsFit {
        let key = 0..groups.width;
        rows.run(|row| -> RegionsFit {
            if row.has_all(key.clone()) {
                let entities = if weighted { entities(row, key.end) } else { 1 };
                let key = groups.keys.of(row, key.clone(), None);
                groups.sizes.add(GroupRow { key, region: None, entities });
            }
            Ok(())
        })?;
        self.add_all(groups.sizes);
        Ok(())
    }

    /// No group is known beforehand; a key is followed by the number of the region.
    pub(crate) fn no_groups(&self, key: &[Layout]) -> Result<KnownGroups> {
        let (width, key) = (key.len(), [key, &[Layout::ByValue(8)]].concat());
        self.counting(Keys::new(&key)?, width, true)
    }

    /// `width`: how many columns of the key a row has; a region's number may follow in the key.
    fn counting(&self, keys: Keys, width: usize, with_region: bool) -> Result<KnownGroups> {
        let form = keys.row_form(width, with_region);
        let mut words = words_from_system().map_err(internal)?;
        let sizes = GroupSizes::new(hash_memory(), self.max_size, form, self.helped, &mut words);
        Ok(KnownGroups { keys, sizes, width })
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

    fn public_region(&mut self, row: &StreamedRow) -> Result<u32> {
        let region = self.regions.number(row, &mut self.tallies).map_err(too_many_regions)?;
        region.ok_or_else(too_long_name)
    }

    fn add_all(&mut self, sizes: GroupSizes<BufferedFile>) {
        sizes.finish(|region, size| self.add(region, size, 1));
    }

    fn add(&mut self, region: u32, size: u32, groups: u64) {
        self.tallies.add(region, size.min(self.max_size), groups);
    }
}

impl KnownGroups {
    /// The rows of entities of known groups: the key's columns, then others, of which `number`, told
    /// the first one's place, makes what `visit` gets with the number of the region, if anything.
    pub(crate) fn visit(
        mut self,
        rows: Query,
        number: impl Fn(&StreamedRow, usize) -> Option<u32>,
        mut visit: impl FnMut(u32, u32),
    ) {
        let key = 0..self.width;
        let Ok(()) = rows.run(|row| {
            if row.has_all(key.clone())
                && let Some(entities) = number(row, key.end)
            {
                let key = self.keys.of(row, key.clone(), None);
                self.sizes.tell(GroupRow { key, region: None, entities }, &mut visit);
            }
            Ok::<_, Infallible>(())
        });
        self.sizes.finish_telling(&mut visit);
    }
}

impl KnownGroups {
    /// Whether rows of theirs can only be told apart when all are read.
    pub(crate) fn are_split(&self) -> bool {
        self.sizes.is_split()
    }

    /// Gives the rows of known groups, which are not split, to `visit`: each with the number of the
    /// region, and where the columns after the key begin.
    pub(crate) fn visit_rows(
        mut self,
        rows: Query,
        mut visit: impl FnMut(u32, &StreamedRow, usize),
    ) {
        let key = 0..self.width;
        let Ok(()) = rows.run(|row| {
            if row.has_all(key.clone())
                && let Some(region) = self.sizes.region(&self.keys.of(row, key.clone(), None))
            {
                visit(region, row, key.end);
            }
            Ok::<_, Infallible>(())
        });
    }
}

/// A number of entities; NULL and negative ones count as 0.
fn entities(row: &StreamedRow, column: usize) -> u32 {
    let number = row.integer(column).unwrap_or(0).max(0);
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Makes keys of the columns of rows.
struct Keys {
    maker: KeyMaker,
    /// Whether there are one or two columns, held in the datum: these are the key.
    are_words: bool,
}

impl Keys {
    fn new(key: &[Layout]) -> Result<Keys> {
        let columns = key.iter().map(|layout| match layout {
            Layout::ByValue(_) => KeyColumn::Fixed(8),
            Layout::Fixed(width) => KeyColumn::Fixed(*width),
            Layout::Varying => KeyColumn::Varying,
        });
        let columns: Vec<KeyColumn> = columns.collect();
        let maker = KeyMaker::new(&columns, &mut words_from_system().map_err(internal)?);
        let is_word = |layout: &Layout| matches!(layout, Layout::ByValue(_));
        Ok(Keys { maker, are_words: key.len() <= 2 && key.iter().all(is_word) })
    }

    /// How rows with such keys are written to files.
    fn row_form(&self, columns: usize, with_region: bool) -> RowForm {
        match (self.are_words, columns, with_region) {
            (true, 1, false) => RowForm::OneWord,
            (true, 1, true) => RowForm::OneWordAndRegion,
            _ => RowForm::Wide,
        }
    }

    /// The key of a row: of these columns, none of which is NULL, and of the number of a region if
    /// the key has one.
    #[inline(always)]
    fn of(&mut self, row: &StreamedRow, columns: Range<usize>, region: Option<u32>) -> GroupKey {
        if !self.are_words {
            return self.of_bytes(row, columns, region);
        }
        let word = |column| u64::from_le_bytes(row.word(column));
        let region = region.map_or(0, u64::from);
        GroupKey::from(match columns.len() {
            0 => [region, 0],
            1 => [word(columns.start), region],
            _ => [word(columns.start), word(columns.start + 1)],
        })
    }

    fn of_bytes(
        &mut self,
        row: &StreamedRow,
        columns: Range<usize>,
        region: Option<u32>,
    ) -> GroupKey {
        for column in columns {
            match row.layout(column) {
                Layout::ByValue(_) => self.maker.word(row.word(column)),
                Layout::Fixed(_) => row.with_bytes(column, |bytes| self.maker.fixed(bytes)),
                Layout::Varying => row.with_bytes(column, |bytes| self.maker.varying(bytes)),
            }
        }
        if let Some(region) = region {
            self.maker.word(u64::from(region).to_le_bytes());
        }
        self.maker.finish()
    }
}

/// The regions of rows.
///
/// A region is what its columns print. Printing is slow, but the same bytes print the same.
struct RowRegions {
    columns: Range<usize>,
    keys: Keys,
    by_bytes: HashMap<GroupKey, Option<u32>, KeyHasher>,
    /// Of the row before: in tables that are in order many rows of one region follow one another.
    last: Option<(GroupKey, Option<u32>)>,
    /// What regions count as that are not known.
    other: Option<OtherRegions>,
}

/// The bytes that are remembered where regions need not be known: how many occur then is private, and
/// memory not to follow from it.
const MOST_PRINTED: usize = 1 << 16;

/// What regions count as that are not known.
struct OtherRegions {
    name: String,
    /// The known regions between the root and the lowest level.
    above: HashSet<Path>,
}

impl OtherRegions {
    fn below(&self, path: &Path, depth: usize) -> Path {
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
    fn new(layouts: &[Layout]) -> Result<RowRegions> {
        let mut words = words_from_system().map_err(internal)?;
        Ok(RowRegions {
            columns: 0..layouts.len(),
            keys: Keys::new(layouts)?,
            by_bytes: HashMap::with_hasher(KeyHasher::new(&mut words)),
            last: None,
            other: None,
        })
    }

    /// The number that the tallies give to a row's region; the row begins with the region's
    /// columns. None if one is NULL, or too long for a name.
    #[inline]
    fn number(
        &mut self,
        row: &StreamedRow,
        tallies: &mut RegionTallies,
    ) -> std::result::Result<Option<u32>, TooManyRegions> {
        if !row.has_all(self.columns.clone()) {
            return Ok(None);
        }
        let bytes = self.keys.of(row, self.columns.clone(), None);
        if let Some((last, number)) = self.last
            && last == bytes
        {
            return Ok(number);
        }
        let number = match self.by_bytes.get(&bytes) {
            Some(&number) => number,
            None => self.print(row, bytes, tallies)?,
        };
        self.last = Some((bytes, number));
        Ok(number)
    }

    /// The number of a region whose bytes are not known yet.
    fn print(
        &mut self,
        row: &StreamedRow,
        bytes: GroupKey,
        tallies: &mut RegionTallies,
    ) -> std::result::Result<Option<u32>, TooManyRegions> {
        let path: Option<Path> = self.columns.clone().map(|column| row.name(column)).collect();
        let number = match (path, &self.other) {
            (None, _) => None,
            (Some(path), None) => Some(tallies.number(path)?),
            (Some(path), Some(other)) => match tallies.known(&path) {
                Some(number) => Some(number),
                None => Some(tallies.number(other.of(&path))?),
            },
        };
        let most = match self.other {
            None => RegionTallies::MOST_REGIONS, // each is public
            Some(_) => MOST_PRINTED,
        };
        if self.by_bytes.len() >= most {
            self.by_bytes.clear(); // many bytes that print the same, or count as the same
        }
        self.by_bytes.insert(bytes, number);
        Ok(number)
    }
}
