//! A row of a query, for as long as it is visited, or of arguments.

use super::layout::Layout;
use super::names::printed_name;
use crate::pg::errors::{Result, invalid};
use crate::pg::values::varlena::{is_plain, with_start, with_varlena};
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use std::ffi::c_int;
use std::ops::Range;
use std::slice;

/// A column of a streamed row.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamedColumn {
    type_oid: Oid,
    pub(super) layout: Layout,
}

impl StreamedColumn {
    pub(super) fn of(type_oid: Oid) -> StreamedColumn {
        StreamedColumn { type_oid, layout: Layout::of(type_oid) }
    }
}

/// A row, for as long as it is visited. Columns are counted from 0.
pub(crate) struct StreamedRow<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
    columns: &'a [StreamedColumn],
}

impl<'a> StreamedRow<'a> {
    /// A row whose columns are such ones.
    #[inline]
    pub(super) fn new(
        values: &'a [Datum],
        nulls: &'a [bool],
        columns: &'a [StreamedColumn],
    ) -> StreamedRow<'a> {
        StreamedRow { values, nulls, columns }
    }

    /// Whether all that is said of it is said without PostgreSQL, but for names: on any thread.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        let mut columns = self.columns.iter().zip(self.values).zip(self.nulls);
        columns.all(|((column, &value), is_null)| {
            // SAFETY: values of such a type are varlenas; the row lives.
            *is_null || column.layout != Layout::Varying || unsafe { is_plain(value) }
        })
    }

    /// Whether no column is NULL.
    #[inline]
    pub(crate) fn has_all(&self, columns: Range<usize>) -> bool {
        self.nulls[columns].iter().all(|is_null| !is_null)
    }

    /// The first column that is NULL.
    pub(crate) fn first_null(&self) -> Option<usize> {
        self.nulls.iter().position(|is_null| *is_null)
    }

    #[inline]
    pub(crate) fn layout(&self, column: usize) -> Layout {
        self.columns[column].layout
    }

    /// A value of an integer type.
    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match self.columns[column].layout {
            Layout::ByValue(width) if !self.nulls[column] => {
                Some(sign_extended(self.values[column], width))
            }
            _ => None,
        }
    }

    /// What is held in a datum, as 8 bytes with its sign extended: integers that are equal have the
    /// same, whatever their types.
    #[inline]
    pub(crate) fn word(&self, column: usize) -> [u8; 8] {
        let width = match self.columns[column].layout {
            Layout::ByValue(width) => width,
            Layout::Fixed(_) | Layout::Varying => size_of::<Datum>(),
        };
        sign_extended(self.values[column], width).to_le_bytes()
    }

    /// Gives `visit` the bytes of a value that is not NULL.
    pub(crate) fn with_bytes<T>(&self, column: usize, visit: impl FnOnce(&[u8]) -> T) -> T {
        let value = self.values[column];
        match self.columns[column].layout {
            Layout::ByValue(_) => visit(&self.word(column)),
            Layout::Fixed(width) => {
                // SAFETY: values of such a type are so many bytes behind a pointer; the row lives.
                visit(unsafe { slice::from_raw_parts(value.cast_mut_ptr(), width) })
            }
            // SAFETY: values of such a type are varlenas; the row lives.
            Layout::Varying => unsafe { with_varlena(value, visit) },
        }
    }

    /// Gives `visit` so many of the first bytes of a value that is not NULL, or all that it has. No
    /// more is fetched of what lies elsewhere.
    pub(crate) fn with_first_bytes<T>(
        &self,
        column: usize,
        most: usize,
        visit: impl FnOnce(&[u8]) -> T,
    ) -> T {
        match self.columns[column].layout {
            // SAFETY: values of such a type are varlenas; the row lives.
            Layout::Varying => unsafe { with_start(self.values[column], most, visit) },
            Layout::ByValue(_) | Layout::Fixed(_) => {
                self.with_bytes(column, |bytes| visit(&bytes[..most.min(bytes.len())]))
            }
        }
    }

    /// A value of that type, None for NULL. The caller has written the query, and so knows its type.
    pub(crate) fn get<T: FromDatum>(&self, column: usize) -> Option<T> {
        // SAFETY: the caller gives the type of the column; the row lives.
        unsafe { T::from_datum(self.values[column], self.nulls[column]) }
    }

    /// What `read` makes of a value's bytes; None if it is NULL, or cannot be read, as of another
    /// version of its type.
    pub(crate) fn stored<T, E>(
        &self,
        column: usize,
        read: impl FnOnce(&[u8]) -> std::result::Result<T, E>,
    ) -> Option<T> {
        if self.nulls[column] {
            return None;
        }
        self.with_bytes(column, |bytes| read(bytes).ok())
    }

    /// The name of a region: what the type's output function prints. None for NULL, and for what is
    /// too long.
    pub(crate) fn name(&self, column: usize) -> Option<String> {
        if self.nulls[column] {
            return None;
        }
        // SAFETY: the value is of its column's type.
        unsafe { printed_name(self.columns[column].type_oid, self.values[column]) }
    }
}

fn sign_extended(value: Datum, width: usize) -> i64 {
    let unused = 64 - 8 * width.clamp(1, 8) as u32;
    ((value.value() as i64) << unused) >> unused
}

/// The arguments of a function with VARIADIC "any", as a row.
#[derive(Default)]
pub(crate) struct Arguments {
    columns: Vec<StreamedColumn>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Arguments {
    /// Those of a call from argument `first` on.
    ///
    /// Error: their types are not known, or one is written as a string of C.
    ///
    /// # Safety
    /// The call is going on, of a function that is declared with so many arguments before them.
    pub(super) unsafe fn of(fcinfo: pg_sys::FunctionCallInfo, first: usize) -> Result<Arguments> {
        let column = |argument: usize| {
            // SAFETY: the caller's promise.
            let type_oid =
                unsafe { pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, argument as c_int) };
            // SAFETY: looks a type up.
            let is_value =
                type_oid != Oid::INVALID && unsafe { pg_sys::get_typlen(type_oid) } >= -1;
            is_value.then(|| StreamedColumn::of(type_oid))
        };
        // SAFETY: the caller's promise.
        let arguments = unsafe { (*fcinfo).nargs } as usize;
        let columns: Option<Vec<StreamedColumn>> = (first..arguments).map(column).collect();
        let columns = columns.ok_or_else(|| {
            invalid("the arguments must be columns", "Cast constants, for example 'a'::text.")
        })?;
        let (values, nulls) = (vec![Datum::null(); columns.len()], vec![true; columns.len()]);
        Ok(Arguments { columns, values, nulls })
    }

    pub(super) fn layouts(&self) -> Vec<Layout> {
        self.columns.iter().map(|column| column.layout).collect()
    }

    /// The row of another call.
    ///
    /// # Safety
    /// The call is going on, and by the same expression as the one that these are of.
    pub(super) unsafe fn row(
        &mut self,
        fcinfo: pg_sys::FunctionCallInfo,
        first: usize,
    ) -> StreamedRow<'_> {
        let Arguments { columns, values, nulls } = self;
        // SAFETY: the caller's promise: the call has as many arguments.
        let arguments = unsafe { (*fcinfo).args.as_slice(first + columns.len()) };
        for (i, argument) in arguments[first..].iter().enumerate() {
            (values[i], nulls[i]) = (argument.value, argument.isnull);
        }
        StreamedRow { values, nulls, columns }
    }
}
