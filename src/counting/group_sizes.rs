//! The sizes of groups from rows in any order, in one pass and in bounded memory.
//!
//! A hash table counts as many groups as fit. When there are more, all rows, and what was counted
//! so far, go to temporary files, split by a hash of the key; each file is then counted in the same
//! way, and split again if it has to be. Each split divides the groups by up to 256, so a row is
//! written as often as the logarithm of the number of groups says: with 8 MiB not at all up to
//! 110,000 groups, once up to 29 million, twice up to 7 billion.

use super::group_key::{GroupKey, KeyHasher};
use super::row_files::{BLOCK, FilePart, GroupRow, RowForm, TemporaryFile};
use rand::Rng;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

/// Counts the entities of each group.
pub struct GroupSizes<F> {
    /// The last rows that were added, which are of one group: where they lie together, they count
    /// as one.
    last: Option<GroupRow>,
    table: GroupTable,
    most_groups: usize,
    max_size: u32,
    form: RowForm,
    most_parts: usize,
    /// Where rows go once the table was full; none before. A part begins with a group: rows of no
    /// group make none.
    parts: Vec<Option<FilePart<F>>>,
    /// Each splits rows at its depth, independently of the others.
    splitters: Vec<KeyHasher>,
    depth: usize,
}

/// More than splits into four parts each need for all groups that there can be.
const DEPTHS: usize = 64;

type GroupTable = HashMap<GroupKey, CountedGroup, KeyHasher>;

struct CountedGroup {
    region: u32,
    size: u32,
}

impl<F: TemporaryFile> GroupSizes<F> {
    /// Sizes above `max_size` count at it. The memory, in bytes, is kept to but for the minimum of
    /// a few open files. Of more than 16 MiB no use is made: a table outside of the processor's
    /// cache is slower than writing rows to files in order.
    pub fn new(memory: usize, max_size: u32, form: RowForm, words: &mut impl Rng) -> GroupSizes<F> {
        const MOST_PARTS: usize = 256;
        const MOST_MEMORY: usize = 16 << 20;
        let memory = memory.min(MOST_MEMORY);
        let part = F::BYTES + BLOCK;
        let parts = (memory / 3 / part).clamp(4, MOST_PARTS);
        // the table has a power of two of places, one byte each to find it, and stays 1/8 empty
        let places =
            memory.saturating_sub(parts * part) / (size_of::<(GroupKey, CountedGroup)>() + 1);
        let places = if places < 16 { 16 } else { 1 << places.ilog2() };
        GroupSizes {
            last: None,
            table: HashMap::with_hasher(KeyHasher::new(words)),
            most_groups: places / 8 * 7,
            max_size,
            form,
            most_parts: parts,
            parts: Vec::new(),
            splitters: (0..DEPTHS).map(|_| KeyHasher::new(words)).collect(),
            depth: 0,
        }
    }

    #[inline]
    pub fn add(&mut self, row: GroupRow) {
        match &mut self.last {
            // one that says that its group exists says nothing of those before it
            Some(last)
                if last.key == row.key && (last.region.is_some() || row.region.is_none()) =>
            {
                last.entities = last.entities.saturating_add(row.entities);
            }
            last => {
                if let Some(row) = last.replace(row) {
                    self.count(row);
                }
            }
        }
    }

    fn count_last(&mut self) {
        if let Some(row) = self.last.take() {
            self.count(row);
        }
    }

    fn count(&mut self, row: GroupRow) {
        if !self.parts.is_empty() {
            return self.put_aside(row);
        }
        let most = self.max_size;
        let add = |group: &mut CountedGroup| {
            group.size = group.size.saturating_add(row.entities).min(most);
        };
        if self.table.len() < self.most_groups {
            match (self.table.entry(row.key), row.region) {
                (Entry::Occupied(mut group), _) => add(group.get_mut()),
                (Entry::Vacant(place), Some(region)) => {
                    place.insert(CountedGroup { region, size: row.entities.min(most) });
                }
                (Entry::Vacant(_), None) => {}
            }
        } else if let Some(group) = self.table.get_mut(&row.key) {
            add(group);
        } else if row.region.is_some() {
            self.split();
            self.put_aside(row);
        }
    }

    /// Empties the table into files.
    fn split(&mut self) {
        self.parts.resize_with(self.most_parts, || None);
        // a new one grows to the size of a part only
        let empty = GroupTable::with_hasher(self.table.hasher().clone());
        #[expect(clippy::iter_over_hash_type, reason = "groups are counted, in any order")]
        for (key, CountedGroup { region, size }) in std::mem::replace(&mut self.table, empty) {
            self.put_aside(GroupRow { key, region: Some(region), entities: size });
        }
    }

    fn put_aside(&mut self, row: GroupRow) {
        let hash = self.splitters[self.depth.min(DEPTHS - 1)].hash_one(row.key);
        // by the upper bits, evenly: hash / 2^64 * parts
        let part = ((u128::from(hash) * self.parts.len() as u128) >> 64) as usize;
        match &mut self.parts[part] {
            Some(part) => part.write(row, self.form),
            // its group would have come before
            None if row.region.is_none() => {}
            none => none.insert(FilePart::new()).write(row, self.form),
        }
    }

    /// Gives the region of a row's group to `visit`, with the number of its entities, which are not
    /// counted: at once, or by [`GroupSizes::finish_telling`]. A row of no group is left out. To be
    /// called after all groups were added.
    pub fn tell(&mut self, row: GroupRow, visit: &mut impl FnMut(u32, u32)) {
        self.count_last();
        if !self.parts.is_empty() {
            self.put_aside(row);
        } else if let Some(group) = self.table.get(&row.key) {
            visit(group.region, row.entities);
        }
    }

    /// Whether there are more groups than memory holds: then rows are told when all are read.
    pub fn is_split(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The region of a group, unless they [are split](GroupSizes::is_split). To be called after all
    /// groups were added.
    pub fn region(&mut self, key: &GroupKey) -> Option<u32> {
        self.count_last();
        self.table.get(key).map(|group| group.region)
    }

    /// Gives each group's region and size to `visit`, in no order.
    pub fn finish(self, mut visit: impl FnMut(u32, u32)) {
        self.finish_parts(
            |table| table.drain().for_each(|(_, group)| visit(group.region, group.size)),
            GroupSizes::count,
        );
    }

    /// Gives `visit` what [`GroupSizes::tell`] could not tell yet.
    pub fn finish_telling(self, visit: &mut impl FnMut(u32, u32)) {
        self.finish_parts(GroupTable::clear, |sizes, row| match row.region {
            Some(_) => sizes.count(row),
            None => sizes.tell(row, visit),
        });
    }

    /// Counts part by part; `empty` takes the groups of each out of the table.
    fn finish_parts(
        mut self,
        mut empty: impl FnMut(&mut GroupTable),
        mut add: impl FnMut(&mut Self, GroupRow),
    ) {
        self.count_last();
        let mut waiting = Vec::new();
        loop {
            empty(&mut self.table);
            let depth = self.depth + 1;
            waiting.extend(self.parts.drain(..).flatten().map(|part| (depth, part)));
            let Some((depth, part)) = waiting.pop() else { break };
            self.depth = depth;
            part.read(self.form, |row| add(&mut self, row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::watched;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeMap;
    use std::io::{Cursor, Read, Seek, Write};

    impl TemporaryFile for Cursor<Vec<u8>> {
        fn create() -> Self {
            Cursor::default()
        }
        fn write(&mut self, bytes: &[u8]) {
            self.write_all(bytes).unwrap();
        }
        fn rewind(&mut self) {
            Seek::rewind(self).unwrap();
        }
        fn read(&mut self, buffer: &mut [u8]) -> usize {
            // Cursor reads all that there is
            Read::read(self, buffer).unwrap()
        }
        const BYTES: usize = 0;
    }

    fn key(number: u64) -> GroupKey {
        GroupKey([number, 0])
    }

    fn sizes(
        memory: usize,
        max_size: u32,
        form: RowForm,
        seed: u64,
    ) -> GroupSizes<Cursor<Vec<u8>>> {
        GroupSizes::new(memory, max_size, form, &mut ChaCha20Rng::seed_from_u64(seed))
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
        for (memory, groups) in [(1 << 20, 50u32), (0, 5_000)] {
            let mut sizes = sizes(memory, 1, RowForm::OneWord, 7);
            let row = |number: u32, region, entities| GroupRow {
                key: key(number.into()),
                region,
                entities,
            };
            (0..groups).for_each(|group| sizes.add(row(group, Some(group % 7), 0)));
            let (mut told, mut expected) = (Vec::new(), Vec::new());
            let mut visit = |region, number| told.push((region, number));
            for number in 0..3 * groups {
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
                groups += sizes.table.drain().count();
                deepest = deepest.max(sizes.depth);
                let depth = sizes.depth + 1;
                waiting.extend(sizes.parts.drain(..).flatten().map(|part| (depth, part)));
                let Some((depth, part)) = waiting.pop() else { break };
                sizes.depth = depth;
                part.read(RowForm::Wide, |row| sizes.count(row));
            }
            assert_eq!(groups, 3_584);
            assert!((4..=7).contains(&deepest), "seed {seed}: {deepest} splits");
        }
    }

    proptest! {
        #[test]
        fn random_rows_are_counted_as_by_a_map(
            groups in proptest::collection::vec((0..300u64, 0..4u32, 0..3u32), 0..300),
            entities in proptest::collection::vec((0..400u64, 0..5u32), 0..600),
            memory in 0..20_000usize,
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
            runs in proptest::collection::vec((0..300u64, 0..4u32, 0..3u32, 1..5usize), 0..300),
            in_order: bool,
            memory in 0..20_000usize,
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
