//! Groups that are known, whose entities are to be counted or visited.

use super::layout::Layout;
use super::query::Query;
use super::row_counting::{Entities, RowMaker};
use super::row_keys::Keys;
use super::streamed_row::StreamedRow;
use crate::counting::{GroupRow, GroupSizes};
use crate::noise::words_from_system;
use crate::pg::errors::{Result, internal};
use crate::pg::server::state::hash_memory;
use crate::pg::server::temporary_file::BufferedFile;
use std::convert::Infallible;

/// Groups of a public table, or none yet.
pub(crate) struct KnownGroups {
    keys: Keys,
    pub(super) sizes: GroupSizes<BufferedFile>,
    /// How many columns of the key a row has; a region's number may follow in the key.
    width: usize,
    with_region: bool,
}

impl KnownGroups {
    /// None yet. `with_region`: one that is in several regions is one in each. Larger sizes than
    /// `max_size` count at it. `helped`: as of [`GroupSizes::new`].
    pub(super) fn none(
        key: &[Layout],
        with_region: bool,
        max_size: u32,
        helped: Option<bool>,
    ) -> Result<KnownGroups> {
        let region = with_region.then_some(Layout::ByValue(8));
        let columns: Vec<Layout> = key.iter().copied().chain(region).collect();
        let (keys, width) = (Keys::new(&columns)?, key.len());
        let form = keys.row_form(width, with_region);
        let mut words = words_from_system().map_err(internal)?;
        let sizes = GroupSizes::new(hash_memory(), max_size, form, helped, &mut words);
        Ok(KnownGroups { keys, sizes, width, with_region })
    }

    /// Of rows whose columns of the key begin at that place.
    pub(super) fn row_maker(&self, key: usize, entities: Entities) -> RowMaker {
        RowMaker {
            keys: self.keys.clone(),
            key: key..key + self.width,
            with_region: self.with_region,
            entities,
        }
    }

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

    /// Whether rows of theirs can only be told apart when all are read.
    pub(crate) fn are_split(&mut self) -> bool {
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
