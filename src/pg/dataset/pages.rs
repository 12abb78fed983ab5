//! Copies of pages of a table, whose rows another thread takes as far as it can.
//!
//! PostgreSQL may be called by the thread that reads alone. So the other one leaves all rows for
//! which it would have to be: ones with a value that is compressed or elsewhere, or that lack a column
//! that was added to the table later. These come back.

use super::layout::Layout;
use super::streamed_row::{StreamedColumn, StreamedRow};
use super::tuples::{Columns, RowShape};
use pgrx::prelude::*;
use std::sync::Arc;

/// Another thread that takes pages.
pub(crate) trait PageHelper {
    /// Whether it would soon have nothing to do.
    fn is_free(&mut self) -> bool;

    fn give(&mut self, pages: Pages);

    /// Pages that it has done with. `wait`: for those that it still has; None if there are none.
    fn done(&mut self, wait: bool) -> Option<Pages>;
}

const PAGE: usize = pg_sys::BLCKSZ as usize;

/// As aligned as PostgreSQL's own.
#[repr(C, align(8))]
struct Page([u8; PAGE]);

/// Some pages, and those of their rows that nobody has taken yet.
pub(crate) struct Pages {
    shape: Arc<RowShape>,
    columns: Arc<[StreamedColumn]>,
    pages: Vec<Page>,
    rows: Vec<Row>,
}

/// Where a row lies.
#[derive(Clone, Copy)]
struct Row {
    page: u16,
    offset: u16,
}

impl Pages {
    /// So many at a time: what they take stays in a cache of the processor, and to hand them over takes
    /// little time beside.
    pub(super) const MOST: usize = 16;

    /// None yet.
    pub(super) fn new(shape: Arc<RowShape>, columns: Arc<[StreamedColumn]>) -> Pages {
        Pages { shape, columns, pages: Vec::with_capacity(Pages::MOST), rows: Vec::new() }
    }

    /// None, in the memory of these.
    pub(super) fn emptied(mut self) -> Pages {
        self.pages.clear();
        self.rows.clear();
        self
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Copies a page, of whose rows those at these places are to be taken.
    ///
    /// # Safety
    /// A page of the table lies there, and so do rows of the shape's.
    pub(super) unsafe fn copy(&mut self, page: *const u8, rows: impl Iterator<Item = u16>) {
        let number = self.pages.len() as u16;
        self.pages.reserve(1);
        let place = self.pages.spare_capacity_mut().as_mut_ptr();
        // SAFETY: there is room for one, and the caller's promise: the page has so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(page, place.cast(), PAGE);
            self.pages.set_len(self.pages.len() + 1);
        }
        self.rows.extend(rows.map(|offset| Row { page: number, offset }));
    }

    /// Those of the rows that nobody has taken yet.
    pub(super) fn rows(&self) -> impl Iterator<Item = *const pg_sys::HeapTupleHeaderData> {
        self.rows.iter().map(|row| row_of(&self.pages, *row))
    }

    /// Gives the rows to `take`, which says whether it has; on any thread.
    pub(crate) fn give_rows(&mut self, mut take: impl FnMut(&StreamedRow) -> bool) {
        let Pages { shape, columns, pages, rows } = self;
        // of its own: what lies beside those of the other thread is written there for each row, and
        // takes the line of the cache away
        let (shape, columns) = (RowShape::clone(shape), columns.to_vec());
        let may_lie_elsewhere = columns.iter().any(|column| column.layout == Layout::Varying);
        let mut taken_apart = Columns::default();
        rows.retain(|row| {
            let row = row_of(pages, *row);
            // SAFETY: such a row was copied there.
            let is_apart = unsafe { shape.take_apart(row, &mut taken_apart, &mut |_| None) };
            let row = StreamedRow::new(&taken_apart.values, &taken_apart.nulls, &columns);
            !(is_apart && (!may_lie_elsewhere || row.is_plain()) && take(&row))
        });
    }
}

fn row_of(pages: &[Page], row: Row) -> *const pg_sys::HeapTupleHeaderData {
    pages[usize::from(row.page)].0[usize::from(row.offset)..].as_ptr().cast()
}
