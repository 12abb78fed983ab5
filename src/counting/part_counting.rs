//! Parts of rows, counted in memory.

use super::block_file::Block;
use super::group_row::{GroupRow, RowForm};
use super::group_table::GroupTable;
use super::parts::LastRows;
use crate::work::Helper;

/// What is asked of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The region and the size of each group.
    Sizes,
    /// The group's region for each row that does not say it, with the number of its entities.
    Regions,
}

/// All rows of a part, in memory.
pub(super) struct PartRows {
    pub depth: usize,
    pub form: RowForm,
    pub blocks: Vec<Box<Block>>,
    /// After these.
    pub last: LastRows,
}

impl PartRows {
    pub(super) fn iter(&self) -> impl Iterator<Item = GroupRow> + '_ {
        let of_block = |block| self.form.rows(block, self.form.rows_of_block());
        self.blocks.iter().flat_map(move |block| of_block(block)).chain(self.last.iter(self.form))
    }
}

/// Regions, each with a number of entities.
type Found = Vec<(u32, u32)>;

/// Counts parts in memory, on this thread and perhaps on another.
pub(super) struct PartCounters {
    own: PartCounter,
    helper: Option<Helper<PartRows, Result<Found, PartRows>>>,
    /// How many parts the helper has.
    given: usize,
    most_blocks: usize,
    too_many: Vec<PartRows>,
}

struct PartCounter {
    table: GroupTable,
    asked: Asked,
}

impl PartCounters {
    /// Two tables have a quarter of the memory each, and three parts somewhat less each, as the helper has
    /// one that it counts and one that waits; also without a helper: how long a part may be decides
    /// on what goes to the file. A part has no more rows than a table of half the memory has room for
    /// groups, so that one with too many for a thread's table is not split.
    pub(super) fn new(
        table: &GroupTable,
        asked: Asked,
        memory: usize,
        helped: bool,
    ) -> PartCounters {
        let counter = || PartCounter { table: table.with_memory(memory / 4), asked };
        let start = |mut counter: PartCounter| Helper::start(1, move |rows| counter.count(rows));
        PartCounters {
            own: counter(),
            helper: helped.then(|| start(counter())).flatten(),
            given: 0,
            most_blocks: memory / 32 * 7 / size_of::<Block>(),
            too_many: Vec::new(),
        }
    }

    /// How many blocks a part may have.
    pub(super) fn most_blocks(&self) -> usize {
        self.most_blocks
    }

    /// Counts a part on whatever thread is free, and gives what is found to `visit`, at once or
    /// later.
    pub(super) fn count(&mut self, rows: PartRows, visit: &mut impl FnMut(u32, u32)) {
        while let Some(result) = self.helper.as_ref().and_then(Helper::result) {
            self.given -= 1;
            self.take(result, visit);
        }
        let rest = match &mut self.helper {
            Some(helper) => helper.offer(rows),
            None => Some(rows),
        };
        match rest {
            Some(rows) => {
                let result = self.own.count(rows);
                self.take(result, visit);
            }
            None => self.given += 1,
        }
    }

    /// Waits for a part that the helper has. Returns whether there was any.
    pub(super) fn wait(&mut self, visit: &mut impl FnMut(u32, u32)) -> bool {
        let helper = self.helper.as_mut().filter(|_| self.given > 0);
        let Some(result) = helper.map(Helper::wait) else { return false };
        self.given -= 1;
        self.take(result, visit);
        true
    }

    /// A part that has more groups than a thread's table.
    pub(super) fn too_many(&mut self) -> Option<PartRows> {
        self.too_many.pop()
    }

    fn take(&mut self, result: Result<Found, PartRows>, visit: &mut impl FnMut(u32, u32)) {
        match result {
            Ok(found) => {
                found.into_iter().for_each(|(region, entities)| visit(region, entities));
            }
            Err(rows) => self.too_many.push(rows),
        }
    }
}

impl PartCounter {
    /// Error: it has too many groups.
    fn count(&mut self, rows: PartRows) -> Result<Found, PartRows> {
        let mut found = Vec::new();
        let fit = rows.iter().all(|row| {
            if self.asked == Asked::Sizes || row.region.is_some() {
                return self.table.count(row);
            }
            let region = self.table.region(&row.key);
            found.extend(region.map(|region| (region, row.entities)));
            true
        });
        if !fit {
            drop(self.table.drain());
            return Err(rows);
        }
        let groups = self.table.drain();
        if self.asked == Asked::Sizes {
            found.extend(groups.map(|(_, group)| (group.region, group.size)));
        }
        Ok(found)
    }
}
