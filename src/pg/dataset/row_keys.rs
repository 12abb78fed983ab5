//! The keys of rows that are counted, made of their columns.

use super::layout::Layout;
use super::streamed_row::StreamedRow;
use crate::counting::{GroupKey, KeyColumn, KeyMaker, RowForm};
use crate::noise::words_from_system;
use crate::pg::errors::{Result, internal};
use std::ops::Range;

/// Makes keys of the columns of rows.
#[derive(Clone)]
pub(super) struct Keys {
    maker: KeyMaker,
    /// Whether there are one or two columns, held in the datum: these are the key.
    are_words: bool,
}

impl Keys {
    pub(super) fn new(key: &[Layout]) -> Result<Keys> {
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
    pub(super) fn row_form(&self, columns: usize, with_region: bool) -> RowForm {
        match (self.are_words, columns, with_region) {
            (true, 1, false) => RowForm::OneWord,
            (true, 1, true) => RowForm::OneWordAndRegion,
            _ => RowForm::Wide,
        }
    }

    /// The key of a row: of these columns, none of which is NULL, and of the number of a region if
    /// the key has one.
    #[inline(always)]
    pub(super) fn of(
        &mut self,
        row: &StreamedRow,
        columns: Range<usize>,
        region: Option<u32>,
    ) -> GroupKey {
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
