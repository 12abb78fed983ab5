//! Groups that are counted on another thread, in a table of its own, until both are put together.

use super::group_key::GroupKey;
use super::group_row::GroupRow;
use super::group_table::{CountedGroup, GroupTable};
use super::parts::MakeRows;
use crate::work::Helper;

/// How many jobs can wait for it.
const WAITING: usize = 2;

/// Makes rows and counts them on another thread.
pub(super) struct OtherTable {
    helper: Helper<Job, Vec<GroupRow>>,
    /// How many jobs it has.
    given: usize,
}

enum Job {
    Make(MakeRows),
    /// There are no more.
    End,
}

impl OtherTable {
    /// In a table without groups; None where no thread can be started.
    pub(super) fn start(table: GroupTable) -> Option<OtherTable> {
        let mut counter = Counter { table, made: Vec::new() };
        let helper = Helper::start(WAITING, move |job| counter.work_off(job))?;
        Some(OtherTable { helper, given: 0 })
    }

    /// Whether it would soon have nothing to do. `found` gets the groups that it has no room for.
    pub(super) fn has_time(&mut self, found: &mut Vec<GroupRow>) -> bool {
        while let Some(groups) = self.helper.result() {
            self.given -= 1;
            found.extend(groups);
        }
        self.given < WAITING
    }

    pub(super) fn count_made(&mut self, make: MakeRows) {
        self.given += 1;
        self.helper.give(Job::Make(make));
    }

    /// The groups that were not found yet, each with the entities of some of its rows.
    pub(super) fn finish(mut self) -> Vec<GroupRow> {
        self.helper.give(Job::End);
        let mut found = self.helper.wait();
        for _ in 0..self.given {
            found.append(&mut self.helper.wait());
        }
        found
    }

    pub(super) fn end_as_helper(&mut self) -> ! {
        self.helper.pass_panic_on()
    }
}

struct Counter {
    table: GroupTable,
    /// Room for rows that are made here.
    made: Vec<GroupRow>,
}

/// Stands for the region of rows that do not say it; region numbers are smaller.
const UNSAID: u32 = u32::MAX;

impl Counter {
    fn work_off(&mut self, job: Job) -> Vec<GroupRow> {
        let mut found = Vec::new();
        match job {
            Job::Make(make) => {
                make(&mut self.made);
                for row in self.made.drain(..) {
                    // whether there is such a group is not known here
                    let row = GroupRow { region: row.region.or(Some(UNSAID)), ..row };
                    if !self.table.count(row) {
                        found.extend(self.table.drain().map(group_row));
                        self.table.count(row);
                    }
                }
            }
            Job::End => found.extend(self.table.drain().map(group_row)),
        }
        found
    }
}

fn group_row((key, group): (GroupKey, CountedGroup)) -> GroupRow {
    let region = (group.region != UNSAID).then_some(group.region);
    GroupRow { key, region, entities: group.size }
}
