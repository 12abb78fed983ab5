//! Rows of groups in temporary files.

use super::group_key::GroupKey;
use crate::work::poll;

/// Bytes that are written, then read from their beginning.
pub trait TemporaryFile {
    fn create() -> Self;
    fn write(&mut self, bytes: &[u8]);
    fn rewind(&mut self);
    /// Fills the buffer as far as the file goes, and returns how far.
    fn read(&mut self, buffer: &mut [u8]) -> usize;
    /// About how much memory an open file takes.
    const BYTES: usize;
}

/// A row: a group that there is, or entities of one, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRow {
    pub key: GroupKey,
    /// The number of the region, where the row says that its group exists and lies there. Rows
    /// without it count if their group exists: a row that says so has to come before them.
    pub region: Option<u32>,
    pub entities: u32,
}

/// How rows are written to files: what follows from the rest of a row is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// With keys of 16 bytes.
    Wide,
    /// With keys of one word, followed by 0.
    OneWord,
    /// With keys of one word, followed by the number of the region, which all rows have.
    OneWordAndRegion,
}

/// A row in a file has up to three words.
const WORD: usize = 8;

/// How many bytes are written at once: whole rows of either length. So few that those of all parts
/// stay in the processor's cache.
pub(super) const BLOCK: usize = 16 * 6 * WORD;

/// How many bytes are read at once.
const READ: usize = 5 * BLOCK;

impl RowForm {
    fn bytes(self) -> usize {
        match self {
            RowForm::Wide => 3 * WORD,
            RowForm::OneWord | RowForm::OneWordAndRegion => 2 * WORD,
        }
    }
}

impl GroupRow {
    /// Stands for no region in a file; region numbers are smaller.
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

/// The rows of one file, of which the last are still in memory.
pub(super) struct FilePart<F> {
    file: F,
    block: Box<[u8; BLOCK]>,
    /// How many bytes of the block are used.
    used: usize,
}

impl<F: TemporaryFile> FilePart<F> {
    pub(super) fn new() -> FilePart<F> {
        FilePart { file: F::create(), block: Box::new([0; BLOCK]), used: 0 }
    }

    #[inline]
    pub(super) fn write(&mut self, row: GroupRow, form: RowForm) {
        let end = self.used + form.bytes();
        row.write_to(&mut self.block[self.used..end]);
        self.used = end;
        if end == BLOCK {
            self.file.write(&*self.block);
            self.used = 0;
        }
    }

    /// Gives all rows in the order in which they were written.
    pub(super) fn read(self, form: RowForm, mut visit: impl FnMut(GroupRow)) {
        let FilePart { mut file, block: last, used } = self;
        let mut visit = |rows: &[u8]| {
            let rows = rows.chunks_exact(form.bytes());
            rows.for_each(|row| visit(GroupRow::from_bytes(row, form)));
        };
        file.rewind();
        let mut block = Box::new([0; READ]);
        loop {
            poll();
            let length = file.read(&mut *block);
            visit(&block[..length]);
            if length < READ {
                break;
            }
        }
        drop(file);
        visit(&last[..used]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_from_files(
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
                let mut bytes = vec![0; form.bytes()];
                row.write_to(&mut bytes);
                prop_assert_eq!(GroupRow::from_bytes(&bytes, form), row);
                prop_assert_eq!(BLOCK % form.bytes(), 0);
            }
        }
    }
}
