//! Rows as they lie in the pages of a table, taken apart into the columns that are wanted.

use super::layout::{C_STRING, VARLENA};
use pgrx::PgTupleDesc;
use pgrx::pg_sys::Datum;
use pgrx::prelude::*;
use std::ffi::{CStr, c_int};

/// How the rows of a table lie there, for any thread.
#[derive(Clone)]
pub(super) struct RowShape {
    /// Up to the last one that is wanted.
    attributes: Vec<Attribute>,
    /// The attribute of each column of a row, from 0.
    columns: Vec<usize>,
    /// Where each column lies in every row that has no NULL; None if that depends on the row.
    offsets: Option<Vec<usize>>,
}

/// A row's columns.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) values: Vec<Datum>,
    pub(super) nulls: Vec<bool>,
    /// Whether `nulls` may be set, by the row before.
    had_nulls: bool,
    /// A row's attributes, where it has to be gone through one by one.
    attributes: Vec<(Datum, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Attribute {
    /// How many bytes, or one of the two that follow.
    length: i16,
    alignment: usize,
    by_value: bool,
}

impl Attribute {
    fn of(attribute: &pg_sys::FormData_pg_attribute) -> Attribute {
        let alignment = match attribute.attalign as u8 {
            pg_sys::TYPALIGN_CHAR => 1,
            pg_sys::TYPALIGN_SHORT => align_of::<i16>(),
            pg_sys::TYPALIGN_INT => align_of::<i32>(),
            _ => align_of::<f64>(),
        };
        Attribute { length: attribute.attlen, alignment, by_value: attribute.attbyval }
    }

    /// # Safety
    /// A value of such an attribute lies there.
    #[inline]
    unsafe fn value(self, place: *const u8) -> Datum {
        if !self.by_value {
            return Datum::from(place);
        }
        // SAFETY: the caller's promise; values are as long as this says.
        let word = unsafe {
            match self.length {
                1 => isize::from(place.cast::<i8>().read()),
                2 => isize::from(place.cast::<i16>().read_unaligned()),
                4 => place.cast::<i32>().read_unaligned() as isize,
                _ => place.cast::<isize>().read_unaligned(),
            }
        };
        Datum::from(word)
    }

    /// Where a value lies that begins at `offset`, but for alignment.
    ///
    /// # Safety
    /// `data` is what follows the header of a row, which has a value of such an attribute there.
    unsafe fn aligned(self, data: *const u8, offset: usize) -> usize {
        // one with a short header follows at once, and its first byte is never that of padding
        // SAFETY: the caller's promise: a byte of padding or of the value.
        let is_short = || unsafe { *data.add(offset) != 0 };
        if self.length == VARLENA && is_short() {
            return offset;
        }
        offset.next_multiple_of(self.alignment)
    }

    /// How many bytes a value takes.
    ///
    /// # Safety
    /// A value of such an attribute lies there.
    unsafe fn size(self, place: *const u8) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match self.length {
                VARLENA => pgrx::varsize_any(place.cast()),
                C_STRING => CStr::from_ptr(place.cast()).to_bytes_with_nul().len(),
                length => length as usize,
            }
        }
    }
}

/// An attribute that a row lacks, as it was added to the table later, from 0; None if it cannot be
/// said.
type Missing<'a> = &'a mut dyn FnMut(usize) -> Option<(Datum, bool)>;

impl RowShape {
    /// Of a table's rows, these columns, from 0.
    ///
    /// # Safety
    /// The descriptor is that of a table and has these columns.
    pub(super) unsafe fn new(descriptor: pg_sys::TupleDesc, columns: Vec<usize>) -> RowShape {
        let wanted = columns.iter().map(|column| column + 1).max().unwrap_or(0);
        // SAFETY: the caller's promise.
        let of_table = unsafe { PgTupleDesc::from_pg_unchecked(descriptor) };
        let attributes: Vec<Attribute> = of_table.iter().take(wanted).map(Attribute::of).collect();
        let offset = |&column: &usize| offset_in_all(&attributes[..=column]);
        let offsets = columns.iter().map(offset).collect();
        RowShape { offsets, attributes, columns }
    }

    /// Takes a row apart. Values are not copied. Returns whether it could.
    ///
    /// # Safety
    /// A row of the table lies there, and stays while its columns are used; they are used with this
    /// shape alone.
    #[inline]
    pub(super) unsafe fn take_apart(
        &self,
        row: *const pg_sys::HeapTupleHeaderData,
        into: &mut Columns,
        missing: Missing,
    ) -> bool {
        // SAFETY: the caller's promise; what follows the header begins there.
        let (has_nulls, stored, data) = unsafe {
            let has_nulls = u32::from((*row).t_infomask) & pg_sys::HEAP_HASNULL != 0;
            let stored = (u32::from((*row).t_infomask2) & pg_sys::HEAP_NATTS_MASK) as usize;
            (has_nulls, stored, row.cast::<u8>().add((*row).t_hoff.into()))
        };
        if into.values.len() != self.columns.len() {
            into.values = vec![Datum::null(); self.columns.len()];
            into.nulls = vec![false; self.columns.len()];
        }
        match &self.offsets {
            Some(offsets) if !has_nulls && stored >= self.attributes.len() => {
                for ((value, column), offset) in
                    into.values.iter_mut().zip(&self.columns).zip(offsets)
                {
                    // SAFETY: without NULLs the value lies there in every row.
                    *value = unsafe { self.attributes[*column].value(data.add(*offset)) };
                }
                // seldom: what has just been cleared is slow to read
                if std::mem::take(&mut into.had_nulls) {
                    into.nulls.fill(false);
                }
                true
            }
            // SAFETY: the caller's promise; the bits of NULLs are part of the header.
            _ => unsafe {
                let bits = if has_nulls { (*row).t_bits.as_ptr() } else { std::ptr::null() };
                self.go_through(data, stored, bits, into, missing)
            },
        }
    }

    /// # Safety
    /// There lies what follows the header of a row of the table, with so many attributes; there is
    /// a bit for each of them, which is 0 for NULL, or there are none and no NULLs.
    unsafe fn go_through(
        &self,
        data: *const u8,
        stored: usize,
        bits: *const u8,
        into: &mut Columns,
        missing: Missing,
    ) -> bool {
        into.attributes.clear();
        let mut offset = 0;
        for (number, attribute) in self.attributes.iter().enumerate() {
            // SAFETY: the caller's promise, for each attribute after the one before.
            let value = unsafe {
                if number >= stored {
                    match missing(number) {
                        Some(value) => value,
                        None => return false,
                    }
                } else if !bits.is_null() && *bits.add(number / 8) & (1 << (number % 8)) == 0 {
                    (Datum::null(), true)
                } else {
                    offset = attribute.aligned(data, offset);
                    let place = data.add(offset);
                    offset += attribute.size(place);
                    (attribute.value(place), false)
                }
            };
            into.attributes.push(value);
        }
        into.had_nulls = true;
        for (place, column) in self.columns.iter().enumerate() {
            (into.values[place], into.nulls[place]) = into.attributes[*column];
        }
        true
    }
}

/// What a table's descriptor says of an attribute that a row lacks.
///
/// # Safety
/// The descriptor is that of a table that has it.
pub(super) unsafe fn missing_attribute(
    descriptor: pg_sys::TupleDesc,
    number: usize,
) -> (Datum, bool) {
    let mut is_null = true;
    // SAFETY: the caller's promise.
    let value = unsafe { pg_sys::getmissingattr(descriptor, number as c_int + 1, &mut is_null) };
    (value, is_null)
}

/// Where the last of some attributes lies in every row without NULLs, if that is one place.
fn offset_in_all(attributes: &[Attribute]) -> Option<usize> {
    let mut end = Some(0);
    let mut offset = None;
    for attribute in attributes {
        offset = end.map(|end: usize| end.next_multiple_of(attribute.alignment));
        if attribute.length == VARLENA && offset != end {
            return None; // with a short header it is not aligned
        }
        let length = usize::try_from(attribute.length).ok();
        end = offset.zip(length).map(|(offset, length)| offset + length);
    }
    offset
}
