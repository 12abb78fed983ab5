//! The sizes of groups from rows in any order, in one pass and in bounded memory.
//!
//! A hash table counts as many groups as fit. When there are more, all rows, and what was counted
//! so far, go to a temporary file, split by a hash of the key; each part is then counted in the same
//! way, and split again if it has to be. Each split divides the groups by up to 1,024, so a row is
//! written as often as the logarithm of the number of groups says: with 16 MiB not at all up to
//! 28,000 groups (459,000 where nobody may help), once up to 230 million, twice up to 240 billion.
//!
//! Another thread can help: it makes some of the rows itself, counts them in a table of its own or,
//! where there is a file, splits all rows, and then counts those parts that are read into memory, too.
//! This one alone has to do with the file, and with whoever wants the sizes. What goes to the file does
//! not depend on whether there is help, but for how many rows of one group are counted before they get
//! there.

use super::block_file::{Block, BlockFile, TemporaryFile};
use super::group_key::{GroupKey, KeyHasher};
use super::group_row::{GroupRow, RowForm, Run};
use super::group_table::GroupTable;
use super::other_table::OtherTable;
use super::part_counting::{Asked, PartCounters, PartRows};
use super::parts::{LastRows, MakeRows, Parts, Splitter};
use crate::work::{Paced, poll};
use rand::Rng;

/// Counts the entities of each group.
pub struct GroupSizes<F> {
    /// The last rows that were added.
    run: Run,
    table: GroupTable,
    memory: usize,
    helped: bool,
    /// How often it was asked whether there is time for help.
    asked: u32,
    /// On the other thread, until rows go to the file.
    other: Option<OtherTable>,
    form: RowForm,
    most_parts: usize,
    /// Where rows go once the table was full; none before.
    splitter: Option<Splitter>,
    aside: PutAside<F>,
    /// Each splits rows at its depth, independently of the others.
    hashers: Vec<KeyHasher>,
    depth: usize,
}

/// With less memory there is no help.
const LEAST_HELPED: usize = 4 << 20;

/// Asked less often, as while the first 100 pages of a table are read, another thread is not worth
/// beginning.
const LEAST_ASKED: u32 = 8;

/// The memory of a table that the processor's cache holds.
const IN_CACHE: usize = 1 << 20;

/// More than splits into four parts each need for all groups that there can be.
const DEPTHS: usize = 64;

/// Blocks that a splitter has filled.
struct PutAside<F> {
    file: BlockFile<F>,
    /// The numbers of those of each part.
    parts: Vec<Vec<u32>>,
}

impl<F: TemporaryFile> PutAside<F> {
    fn write(&mut self, part: usize, block: &Block) {
        self.parts[part].push(self.file.write(block));
    }
}

/// Rows that were put aside, in blocks of the file and after these.
struct Part {
    depth: usize,
    blocks: Vec<u32>,
    last: LastRows,
}

impl<F: TemporaryFile> GroupSizes<F> {
    /// Sizes above `max_size` count at it. The memory, in bytes, is kept to while rows are added, but for
    /// a third more for a moment when the table grows, and taken up to twice when rows first go to a
    /// file and by [`GroupSizes::finish`]; but for the minimum of a few blocks, and for a
    /// two-thousandth of what is put aside. Of more than 16 MiB no use is made.
    ///
    /// `helped`: whether another thread may work, too, which has some MiB of rows under way; None:
    /// whatever is asked for, none may. Then as many groups as can be are kept in memory; else fewer,
    /// as writing rows to a file in order is faster than a table outside of the processor's cache. How
    /// many does not depend on whether there is help: it shows, and callers decide on help.
    pub fn new(
        memory: usize,
        max_size: u32,
        form: RowForm,
        helped: Option<bool>,
        words: &mut impl Rng,
    ) -> GroupSizes<F> {
        const MOST_PARTS: usize = 1024;
        const MOST_MEMORY: usize = 16 << 20;
        let memory = memory.min(MOST_MEMORY);
        let parts = (memory / 2 / size_of::<Block>()).clamp(4, MOST_PARTS);
        let most_for_table = if helped.is_some() { IN_CACHE } else { memory };
        let for_table = (memory / 8 * 7).min(most_for_table);
        GroupSizes {
            run: Run::default(),
            table: GroupTable::new(for_table, max_size, KeyHasher::new(words)),
            memory,
            helped: helped == Some(true) && memory >= LEAST_HELPED,
            asked: 0,
            other: None,
            form,
            most_parts: parts,
            splitter: None,
            aside: PutAside { file: BlockFile::new(), parts: Vec::new() },
            hashers: (0..DEPTHS).map(|_| KeyHasher::new(words)).collect(),
            depth: 0,
        }
    }

    #[inline]
    pub fn add(&mut self, row: GroupRow) {
        if let Some(row) = self.run.join(row) {
            self.count(row);
        }
    }

    /// Whether another thread can make rows, and would soon have nothing to do: it is begun, and what
    /// it has found is counted.
    pub fn helper_has_time(&mut self) -> bool {
        let GroupSizes { splitter, aside, .. } = self;
        if let Some(splitter) = splitter {
            return splitter.has_time(|part, block| aside.write(part, &block));
        }
        self.asked = self.asked.saturating_add(1);
        if !self.helped || self.asked < LEAST_ASKED {
            return false;
        }
        if self.other.is_none() {
            self.other = OtherTable::start(self.table.with_memory(IN_CACHE));
            self.helped = self.other.is_some();
        }
        let mut found = Vec::new();
        let has_time = self.other.as_mut().is_some_and(|other| other.has_time(&mut found));
        found.into_iter().for_each(|group| self.count(group));
        has_time && self.splitter.is_none()
    }

    /// As [`GroupSizes::add`] of rows that are made by another thread, if it [has
    /// time](GroupSizes::helper_has_time): after all that were added before. Those of one group that
    /// lie together count as one row if both are made at a time.
    pub fn add_made(&mut self, make: MakeRows) {
        self.count_last();
        let GroupSizes { splitter, aside, other, .. } = self;
        match (splitter, other) {
            (Some(splitter), _) => {
                splitter.put_made(make, |part, block| aside.write(part, &block));
            }
            (None, Some(other)) => other.count_made(make),
            (None, None) => {
                let mut rows = Vec::new();
                make(&mut rows);
                rows.into_iter().for_each(|row| self.add(row));
            }
        }
    }

    /// Unwinds as the helper did, which did not do what it was given.
    pub fn end_as_helper(&mut self) -> ! {
        match (&mut self.splitter, &mut self.other) {
            (Some(Splitter::Helped(helped)), _) => helped.end_as_helper(),
            (None, Some(other)) => other.end_as_helper(),
            _ => unreachable!("without a helper nothing is given to one"),
        }
    }

    fn count_last(&mut self) {
        if let Some(row) = self.run.end() {
            self.count(row);
        }
    }

    fn count(&mut self, row: GroupRow) {
        if self.splitter.is_some() {
            self.put_aside(row);
        } else if !self.table.count(row) {
            self.split();
            self.put_aside(row);
        }
    }

    /// Empties the table into parts.
    fn split(&mut self) {
        let hasher = self.hashers[self.depth.min(DEPTHS - 1)].clone();
        let parts = Parts::new(self.most_parts, self.form, hasher);
        // the first one takes as long as the rows are read
        let helped = self.depth == 0 && self.helped;
        self.splitter = Some(Splitter::new(parts, helped));
        self.aside.parts.resize_with(self.most_parts, Vec::new);
        if self.depth == 0 {
            self.aside.file.begin();
        }
        let others = self.other.take().map(OtherTable::finish).unwrap_or_default();
        // a new one grows to the size of a part only
        let empty = self.table.with_memory(self.memory / 2);
        for (key, group) in std::mem::replace(&mut self.table, empty).drain() {
            self.put_aside(GroupRow { key, region: Some(group.region), entities: group.size });
        }
        others.into_iter().for_each(|group| self.put_aside(group));
    }

    /// Puts together what both threads have counted: to be called after rows that say their region,
    /// before others.
    pub fn gather(&mut self) {
        self.count_last();
        if let Some(other) = self.other.take() {
            other.finish().into_iter().for_each(|group| self.count(group));
        }
    }

    #[inline]
    fn put_aside(&mut self, row: GroupRow) {
        let GroupSizes { splitter, aside, .. } = self;
        if let Some(splitter) = splitter {
            splitter.put(row, |part, block| aside.write(part, &block));
        }
    }

    /// The parts that rows were split into, if they were.
    fn end_split(&mut self) -> Vec<Part> {
        let GroupSizes { splitter, aside, depth, .. } = self;
        let Some(splitter) = splitter.take() else { return vec![] };
        let last = splitter.finish(|part, block| aside.write(part, &block));
        let parts = aside.parts.drain(..).zip(last).filter(|(_, last)| last.block.is_some());
        parts.map(|(blocks, last)| Part { depth: *depth + 1, blocks, last }).collect()
    }

    /// Gives the region of a row's group to `visit`, with the number of its entities, which are not
    /// counted: at once, or by [`GroupSizes::finish_telling`]. A row of no group is left out. To be
    /// called after all groups were added.
    pub fn tell(&mut self, row: GroupRow, visit: &mut impl FnMut(u32, u32)) {
        if self.is_split() {
            self.put_aside(row);
        } else if let Some(region) = self.table.region(&row.key) {
            visit(region, row.entities);
        }
    }

    /// Whether there are more groups than memory holds: then rows are told when all are read. To be
    /// called after all groups were added.
    pub fn is_split(&mut self) -> bool {
        self.gather();
        self.splitter.is_some()
    }

    /// The region of a group, unless they [are split](GroupSizes::is_split). To be called after all
    /// groups were added.
    pub fn region(&mut self, key: &GroupKey) -> Option<u32> {
        self.gather();
        self.table.region(key)
    }

    /// Gives each group's region and size to `visit`, in no order.
    pub fn finish(self, mut visit: impl FnMut(u32, u32)) {
        self.finish_parts(Asked::Sizes, &mut visit);
    }

    /// Gives `visit` what [`GroupSizes::tell`] could not tell yet.
    pub fn finish_telling(self, visit: &mut impl FnMut(u32, u32)) {
        self.finish_parts(Asked::Regions, visit);
    }

    fn finish_parts(mut self, asked: Asked, visit: &mut impl FnMut(u32, u32)) {
        self.gather();
        let mut waiting = Vec::new();
        self.end_part(asked, visit, &mut waiting);
        if waiting.is_empty() {
            return;
        }
        let mut counters = PartCounters::new(&self.table, asked, self.memory, self.helped);
        loop {
            if let Some(rows) = counters.too_many() {
                self.depth = rows.depth;
                rows.iter().paced().for_each(|row| self.take(row, asked, visit));
                self.end_part(asked, visit, &mut waiting);
            } else if let Some(part) = waiting.pop() {
                if part.blocks.len() < counters.most_blocks() {
                    counters.count(self.in_memory(part), visit);
                } else {
                    self.count_part(part, asked, visit);
                    self.end_part(asked, visit, &mut waiting);
                }
            } else if !counters.wait(visit) {
                break;
            }
        }
    }

    fn in_memory(&mut self, part: Part) -> PartRows {
        let Part { depth, blocks, last } = part;
        let read = |number| {
            poll();
            self.aside.file.take(number)
        };
        PartRows { depth, form: self.form, blocks: blocks.into_iter().map(read).collect(), last }
    }

    /// Counts a part of any length.
    fn count_part(&mut self, part: Part, asked: Asked, visit: &mut impl FnMut(u32, u32)) {
        self.depth = part.depth;
        let form = self.form;
        for number in part.blocks {
            poll();
            let block = self.aside.file.take(number);
            form.rows(&block, form.rows_of_block()).for_each(|row| self.take(row, asked, visit));
        }
        part.last.iter(form).for_each(|row| self.take(row, asked, visit));
    }

    /// Its groups, or the parts that it had to be split into.
    fn end_part(
        &mut self,
        asked: Asked,
        visit: &mut impl FnMut(u32, u32),
        waiting: &mut Vec<Part>,
    ) {
        self.empty_table(asked, visit);
        waiting.extend(self.end_split());
    }

    #[inline]
    fn take(&mut self, row: GroupRow, asked: Asked, visit: &mut impl FnMut(u32, u32)) {
        match (asked, row.region) {
            (Asked::Regions, None) => self.tell(row, visit),
            _ => self.count(row),
        }
    }

    fn empty_table(&mut self, asked: Asked, visit: &mut impl FnMut(u32, u32)) {
        let groups = self.table.drain();
        if asked == Asked::Sizes {
            groups.for_each(|(_, group)| visit(group.region, group.size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block_file::tests::used;
    use super::*;
    use crate::work::watched;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeMap;
    use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

    fn key(number: u64) -> GroupKey {
        GroupKey([number, 0])
    }

    fn sizes(memory: usize, max_size: u32, form: RowForm, seed: u64) -> GroupSizes<Vec<Block>> {
        GroupSizes::new(memory, max_size, form, None, &mut ChaCha20Rng::seed_from_u64(seed))
    }

    /// (region, size) of all groups, sorted; what the rows say, and how often it polled.
    fn counted(memory: usize, max_size: u32, rows: &[GroupRow]) -> (Vec<(u32, u32)>, usize) {
        counted_as(RowForm::Wide, memory, max_size, rows)
    }

    fn counted_as(
        form: RowForm,
        memory: usize,
        max_size: u32,
        rows: &[GroupRow],
    ) -> (Vec<(u32, u32)>, usize) {
        let mut sizes = sizes(memory, max_size, form, 7);
        rows.iter().for_each(|&row| sizes.add(row));
        let (mut groups, mut polls) = (Vec::new(), 0);
        watched(&mut || polls += 1, || sizes.finish(|region, size| groups.push((region, size))));
        groups.sort_unstable();
        (groups, polls)
    }

    /// Rows of groups that come before all others are told of each, however little memory there is.
    #[test]
    fn rows_are_told_with_the_region_of_their_group() {
        // of the last the parts have more groups than a thread's table
        for (memory, parts, groups, rows) in [
            (1 << 20, 256, 50u32, 150),
            (0, 4, 5_000, 15_000),
            (8 << 20, 256, 200_000, 600_000),
            (8 << 20, 4, 280_000, 40_000),
        ] {
            let mut words = ChaCha20Rng::seed_from_u64(7);
            let mut sizes: GroupSizes<Vec<Block>> =
                GroupSizes::new(memory, 1, RowForm::OneWord, Some(true), &mut words);
            sizes.most_parts = parts;
            let row = |number: u32, region, entities| GroupRow {
                key: key(number.into()),
                region,
                entities,
            };
            (0..groups).for_each(|group| sizes.add(row(group, Some(group % 7), 0)));
            let (mut told, mut expected) = (Vec::new(), Vec::new());
            let mut visit = |region, number| told.push((region, number));
            for number in 0..rows as u32 {
                let group = number.wrapping_mul(7919) % (groups + 20);
                sizes.tell(row(group, None, number), &mut visit);
                expected.extend((group < groups).then_some((group % 7, number)));
            }
            sizes.finish_telling(&mut visit);
            told.sort_unstable();
            expected.sort_unstable();
            assert_eq!(told, expected);
        }
    }

    /// (region, size) of all groups, sorted, by a plain map.
    fn expected(max_size: u32, rows: &[GroupRow]) -> Vec<(u32, u32)> {
        let mut groups: BTreeMap<[u64; 2], (u32, u64)> = BTreeMap::new();
        for row in rows {
            if let Some(region) = row.region {
                groups.entry(row.key.0).or_insert((region, 0));
            }
            if let Some(group) = groups.get_mut(&row.key.0) {
                group.1 += u64::from(row.entities);
            }
        }
        let capped = |(region, size): (u32, u64)| (region, size.min(u64::from(max_size)) as u32);
        let mut groups: Vec<_> = groups.into_values().map(capped).collect();
        groups.sort_unstable();
        groups
    }

    fn exists(group: u64, region: u32) -> GroupRow {
        GroupRow { key: key(group), region: Some(region), entities: 0 }
    }

    fn entity(group: u64) -> GroupRow {
        GroupRow { key: key(group), region: None, entities: 1 }
    }

    #[test]
    fn groups_without_entities_count_and_entities_without_a_group_do_not() {
        let rows = [exists(1, 5), exists(2, 6), entity(1), entity(3), entity(1)];
        assert_eq!(counted(1 << 20, 10, &rows).0, [(5, 2), (6, 0)]);
    }

    #[test]
    fn any_memory_gives_the_same_sizes() {
        let groups = (0..5000).map(|group| exists(group, group as u32 % 7));
        let entities = (0..30_000u64).map(|i| entity(i * i % 7001));
        let rows: Vec<_> = groups.chain(entities).collect();
        let expected = expected(9, &rows);
        let (in_memory, read) = counted(1 << 20, 9, &rows);
        assert_eq!((in_memory, read), (expected.clone(), 0));
        // 14 groups at a time, split into 4: files of files of files of files
        let (in_files, read) = counted(0, 9, &rows);
        assert_eq!(in_files, expected);
        assert!(read > 4 * 4 * 4 * 4);
    }

    /// Parts that are counted in memory, ones that have more groups than a thread's table, and ones
    /// that are too long for it.
    #[test]
    fn a_helper_changes_no_size_and_nothing_of_the_file() {
        const GROUPS: u64 = 300_000;
        const MEMORY: usize = 8 << 20;
        for (parts, entities) in [(256, 600_000), (4, 0), (4, 600_000)] {
            let groups = (0..GROUPS).map(|group| exists(group, group as u32 % 7));
            let entities = (0..entities).map(|i| entity(i * 7919 % (GROUPS + 1000)));
            let rows: Vec<_> = groups.chain(entities).collect();
            let expected = expected(9, &rows);
            let mut of_file = vec![];
            for helped in [false, true] {
                let mut words = ChaCha20Rng::seed_from_u64(7);
                let mut sizes: GroupSizes<Vec<Block>> =
                    GroupSizes::new(MEMORY, 9, RowForm::OneWord, Some(helped), &mut words);
                sizes.most_parts = parts;
                rows.iter().for_each(|&row| sizes.add(row));
                assert!(sizes.is_split());
                let mut groups = Vec::new();
                sizes.finish(|region, size| groups.push((region, size)));
                groups.sort_unstable();
                assert!(groups == expected, "{parts} parts, helped: {helped}");
                of_file.push(used());
            }
            assert_eq!(of_file[0], of_file[1], "what goes to the file");
            assert!(of_file[0].iter().all(|used| *used > 0));
        }
    }

    /// Rows of groups that were added before, some of them made by the helper whenever it has time.
    #[test]
    fn rows_that_the_helper_makes_count_as_others() {
        const GROUPS: u64 = 300_000;
        let groups: Vec<_> = (0..GROUPS).map(|group| exists(group, group as u32 % 7)).collect();
        let entities: Vec<_> = (0..900_000).map(|i| entity(i / 3 * 7919 % (GROUPS + 9))).collect();
        let mut words = ChaCha20Rng::seed_from_u64(7);
        let mut sizes: GroupSizes<Vec<Block>> =
            GroupSizes::new(8 << 20, 9, RowForm::OneWord, Some(true), &mut words);
        let mut made = 0;
        for rows in groups.chunks(5_000).chain(entities.chunks(5_000)) {
            if sizes.helper_has_time() {
                made += 1;
                let rows = rows.to_vec();
                sizes.add_made(Box::new(move |made| made.extend(rows)));
            } else {
                rows.iter().for_each(|&row| sizes.add(row));
            }
        }
        assert!(made > 0 && sizes.is_split());
        let mut counted = Vec::new();
        sizes.finish(|region, size| counted.push((region, size)));
        counted.sort_unstable();
        assert!(counted == expected(9, &[groups, entities].concat()));
    }

    /// There are more groups than fit while the helper has some of them.
    #[test]
    fn groups_of_both_threads_go_to_the_file() {
        for made in [1, 20, 39] {
            let rows: Vec<_> = (0..80_000).map(|i| exists(i * 7 % 40_000, i as u32 % 5)).collect();
            let mut words = ChaCha20Rng::seed_from_u64(7);
            let mut sizes: GroupSizes<Vec<Block>> =
                GroupSizes::new(8 << 20, 9, RowForm::OneWord, Some(true), &mut words);
            (0..LEAST_ASKED).for_each(|_| _ = sizes.helper_has_time());
            assert!(sizes.other.is_some());
            for (number, rows) in rows.chunks(1_000).enumerate() {
                if number % 40 < made {
                    let rows = rows.to_vec();
                    sizes.add_made(Box::new(move |made| made.extend(rows)));
                } else {
                    rows.iter().for_each(|&row| sizes.add(row));
                }
            }
            assert!(sizes.is_split() && sizes.other.is_none());
            let mut counted = Vec::new();
            sizes.finish(|region, size| counted.push((region, size)));
            counted.sort_unstable();
            assert!(counted == expected(9, &rows), "{made}");
        }
    }

    /// All groups fit, and those of the rows that are of no group do not.
    #[test]
    fn rows_are_counted_on_both_threads_without_a_file() {
        const GROUPS: u64 = 20_000;
        let groups: Vec<_> = (0..GROUPS).map(|group| exists(group, group as u32 % 7)).collect();
        let entities: Vec<_> = (0..900_000).map(|i| entity(i / 3 * 7919 % 90_000)).collect();
        let mut words = ChaCha20Rng::seed_from_u64(7);
        let mut sizes: GroupSizes<Vec<Block>> =
            GroupSizes::new(8 << 20, 9, RowForm::OneWord, Some(true), &mut words);
        let mut made = [0, 0];
        for (made, rows) in made.iter_mut().zip([&groups, &entities]) {
            for rows in rows.chunks(500) {
                if sizes.helper_has_time() {
                    *made += 1;
                    let rows = rows.to_vec();
                    sizes.add_made(Box::new(move |made| made.extend(rows)));
                } else {
                    rows.iter().for_each(|&row| sizes.add(row));
                }
            }
            sizes.gather();
        }
        assert!(made[0] > 0 && made[1] > 0 && !sizes.is_split());
        let mut counted = Vec::new();
        sizes.finish(|region, size| counted.push((region, size)));
        counted.sort_unstable();
        assert!(counted == expected(9, &[groups, entities].concat()));
    }

    /// Whoever cancels unwinds, and the helper ends.
    #[test]
    fn counting_with_help_can_be_cancelled() {
        for calls_until_end in [1, 100] {
            let mut words = ChaCha20Rng::seed_from_u64(7);
            let mut sizes: GroupSizes<Vec<Block>> =
                GroupSizes::new(8 << 20, 9, RowForm::OneWord, Some(true), &mut words);
            (0..300_000).for_each(|group| sizes.add(exists(group, 1)));
            let mut calls = 0;
            let ask = &mut || {
                calls += 1;
                if calls == calls_until_end {
                    panic_any("cancelled");
                }
            };
            let finish = || watched(ask, || sizes.finish(|_, _| ()));
            let cancelled = catch_unwind(AssertUnwindSafe(finish)).unwrap_err();
            assert_eq!(cancelled.downcast_ref(), Some(&"cancelled"));
        }
    }

    /// Callers decide on help, and where rows go to a file shows.
    #[test]
    fn where_the_file_begins_does_not_depend_on_help() {
        let most_groups = |memory, helped| {
            let mut words = ChaCha20Rng::seed_from_u64(7);
            let mut sizes: GroupSizes<Vec<Block>> =
                GroupSizes::new(memory, 9, RowForm::OneWord, helped, &mut words);
            let added = (0..).take_while(|&group| {
                used();
                sizes.add(exists(group, 1));
                let is_split = sizes.is_split();
                assert_eq!(used()[0] > 0, is_split, "a file from the split on");
                !is_split
            });
            added.count()
        };
        for (memory, of_some, of_none) in
            [(64 << 10, 1_792, 1_792), (4 << 20, 28_672, 114_688), (16 << 20, 28_672, 458_752)]
        {
            assert_eq!(most_groups(memory, Some(false)), of_some);
            assert_eq!(most_groups(memory, Some(true)), of_some);
            assert_eq!(most_groups(memory, None), of_none);
        }
    }

    #[test]
    fn one_group_of_many_rows_needs_no_file() {
        let row = GroupRow { key: key(3), region: Some(0), entities: 1 };
        assert_eq!(counted(0, 1000, &vec![row; 100_000]), (vec![(0, 1000)], 0));
    }

    #[test]
    fn sizes_saturate() {
        let row = GroupRow { key: key(3), region: Some(0), entities: u32::MAX };
        assert_eq!(counted(0, u32::MAX, &[row, row]).0, [(0, u32::MAX)]);
    }

    /// With room for 14 groups and 4 parts at a time, 3,584 groups are divided by 4 four times
    /// until 14 are left on average, and once or twice more where there are more. Were rows split
    /// at one depth much as at the one before, it would take many splits more. The seeds are fixed.
    #[test]
    fn splits_at_different_depths_are_independent() {
        let rows: Vec<_> = (0..3_584).map(|group| exists(group, 0)).collect();
        for seed in 0..20 {
            let mut sizes = sizes(0, 9, RowForm::Wide, seed);
            rows.iter().for_each(|&row| sizes.count(row));
            let (mut groups, mut deepest) = (0, 0);
            let mut waiting = Vec::new();
            loop {
                sizes.end_part(Asked::Sizes, &mut |_, _| groups += 1, &mut waiting);
                let Some(part) = waiting.pop() else { break };
                deepest = deepest.max(part.depth);
                sizes.count_part(part, Asked::Sizes, &mut |_, _| groups += 1);
            }
            assert_eq!(groups, 3_584);
            assert!((4..=7).contains(&deepest), "seed {seed}: {deepest} splits");
        }
    }

    proptest! {
        #[test]
        fn random_rows_are_counted_as_by_a_map(
            groups in proptest::collection::vec((0..3000u64, 0..4u32, 0..3u32), 0..3000),
            entities in proptest::collection::vec((0..4000u64, 0..5u32), 0..6000),
            memory in 0..200_000usize,
        ) {
            // a group lies in one region
            let groups = groups.iter().map(|&(group, _, entities)| GroupRow {
                key: key(group), region: Some(group as u32 % 4), entities });
            let entities = entities.iter().map(|&(group, entities)| GroupRow {
                key: key(group), region: None, entities });
            let rows: Vec<_> = groups.chain(entities).collect();
            for form in [RowForm::Wide, RowForm::OneWord] {
                prop_assert_eq!(counted_as(form, memory, 6, &rows).0, expected(6, &rows));
            }
        }

        /// Rows that all say their region, which is part of the key, in any order or in that of
        /// the keys.
        #[test]
        fn runs_of_rows_of_one_group_are_counted_as_by_a_map(
            runs in proptest::collection::vec((0..3000u64, 0..4u32, 0..3u32, 1..5usize), 0..3000),
            in_order: bool,
            memory in 0..200_000usize,
        ) {
            let mut runs = runs;
            if in_order {
                runs.sort_unstable();
            }
            let rows: Vec<_> = runs.iter().flat_map(|&(group, region, entities, rows)| {
                let key = GroupKey([group, region.into()]);
                std::iter::repeat_n(GroupRow { key, region: Some(region), entities }, rows)
            }).collect();
            for form in [RowForm::Wide, RowForm::OneWordAndRegion] {
                prop_assert_eq!(counted_as(form, memory, 6, &rows).0, expected(6, &rows));
            }
        }

        /// Also where rows of a group come before the one that says that it exists.
        #[test]
        fn rows_in_a_row_are_counted_as_apart(
            rows in proptest::collection::vec(
                (0..3u64, proptest::option::of(Just(1u32)), 0..3u32), 0..30),
        ) {
            let row = |&(group, region, entities)| GroupRow { key: key(group), region, entities };
            let rows: Vec<_> = rows.iter().map(row).collect();
            let (mut at_once, mut apart) = (sizes(1 << 20, 9, RowForm::Wide, 7), sizes(1 << 20, 9, RowForm::Wide, 7));
            for &row in &rows {
                at_once.add(row);
                apart.add(row);
                apart.count_last();
            }
            let groups = |sizes: GroupSizes<_>| {
                let mut groups = Vec::new();
                sizes.finish(|region, size| groups.push((region, size)));
                groups.sort_unstable();
                groups
            };
            prop_assert_eq!(groups(at_once), groups(apart));
        }
    }
}
