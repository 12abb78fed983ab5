//! Rows of groups, and how they lie in blocks.

use super::block_file::{BLOCK, Block};
use super::group_key::GroupKey;

/// A row: a group that there is, or entities of one, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRow {
    pub key: GroupKey,
    /// The number of the region, where the row says that its group exists and lies there. Rows
    /// without it count if their group exists: a row that says so has to come before them, and what
    /// is counted to be gathered in between if another thread made some.
    pub region: Option<u32>,
    pub entities: u32,
}

/// The last of some rows, with those of the same group before it: where they lie together, they count
/// as one.
#[derive(Debug, Default)]
pub(super) struct Run(Option<GroupRow>);

impl Run {
    /// What comes before this row, if that ends with it.
    #[inline]
    pub(super) fn join(&mut self, row: GroupRow) -> Option<GroupRow> {
        match &mut self.0 {
            // one that says that its group exists says nothing of those before it
            Some(last)
                if last.key == row.key && (last.region.is_some() || row.region.is_none()) =>
            {
                last.entities = last.entities.saturating_add(row.entities);
                None
            }
            last => last.replace(row),
        }
    }

    pub(super) fn end(&mut self) -> Option<GroupRow> {
        self.0.take()
    }
}

/// How rows lie in blocks: what follows from the rest of a row is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// With keys of 16 bytes.
    Wide,
    /// With keys of one word, followed by 0.
    OneWord,
    /// With keys of one word, followed by the number of the region, which all rows have.
    OneWordAndRegion,
}

/// A row in a block has up to three words.
const WORD: usize = 8;

impl RowForm {
    const fn bytes(self) -> usize {
        match self {
            RowForm::Wide => 3 * WORD,
            RowForm::OneWord | RowForm::OneWordAndRegion => 2 * WORD,
        }
    }

    /// How many rows a block has room for.
    pub(super) const fn rows_of_block(self) -> usize {
        BLOCK / self.bytes()
    }

    /// Writes the row with a number, from 0.
    #[inline]
    pub(super) fn write(self, row: GroupRow, block: &mut Block, number: usize) {
        let bytes = self.bytes();
        row.write_to(&mut block[number * bytes..(number + 1) * bytes]);
    }

    /// The first rows of a block.
    pub(super) fn rows(self, block: &Block, rows: usize) -> impl Iterator<Item = GroupRow> + '_ {
        let rows = block[..rows * self.bytes()].chunks_exact(self.bytes());
        rows.map(move |row| GroupRow::from_bytes(row, self))
    }
}

impl GroupRow {
    /// Stands for no region in a block; region numbers are smaller.
    const NO_REGION: u32 = u32::MAX;

    /// `place` is as long as the form says.
    #[inline]
    fn write_to(self, place: &mut [u8]) {
        let GroupKey([low, high]) = self.key;
        let region = self.region.unwrap_or(GroupRow::NO_REGION);
        let words = [low, u64::from(region) << 32 | u64::from(self.entities), high];
        for (place, word) in place.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    #[inline]
    fn from_bytes(bytes: &[u8], form: RowForm) -> GroupRow {
        let word = |n| u64::from_le_bytes(bytes.as_chunks().0[n]);
        let (low, counted) = (word(0), word(1));
        let region = (counted >> 32) as u32;
        let high = match form {
            RowForm::Wide => word(2),
            RowForm::OneWord => 0,
            RowForm::OneWordAndRegion => region.into(),
        };
        GroupRow {
            key: GroupKey([low, high]),
            region: (region != GroupRow::NO_REGION).then_some(region),
            entities: counted as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block_file::empty_block;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_from_blocks(
            low: u64, high: u64, region in proptest::option::of(0..u32::MAX), entities: u32,
        ) {
            let row = GroupRow { key: GroupKey([low, high]), region, entities };
            let one_word = GroupRow { key: GroupKey([low, 0]), ..row };
            let number = region.map_or(u32::MAX, |region| region);
            let with_region = GroupRow { key: GroupKey([low, number.into()]), ..row };
            for (form, row) in [
                (RowForm::Wide, row),
                (RowForm::OneWord, one_word),
                (RowForm::OneWordAndRegion, with_region),
            ] {
                let mut block = empty_block();
                let most = form.rows_of_block();
                (0..most).for_each(|number| {
                    let entities = entities.wrapping_add(number as u32);
                    form.write(GroupRow { entities, ..row }, &mut block, number);
                });
                for rows in [0, 1, most] {
                    let read: Vec<GroupRow> = form.rows(&block, rows).collect();
                    prop_assert_eq!(read.len(), rows);
                    for (number, read) in (0..).zip(read) {
                        let entities = entities.wrapping_add(number);
                        prop_assert_eq!(read, GroupRow { entities, ..row });
                    }
                }
            }
        }
    }
}
