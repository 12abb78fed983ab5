//! The rows of a query one by one as the executor makes them, without a copy of them all.

use super::layout::Layout;
use super::names::printed_name;
use super::pages::PageHelper;
use crate::pg::errors::{Result, invalid};
use crate::pg::values::varlena::{is_plain, with_start, with_varlena};
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
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
    fn of(type_oid: Oid) -> StreamedColumn {
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

/// Who takes the rows of a query, up to an error.
pub(crate) trait RowVisitor {
    type Error;

    fn row(&mut self, row: &StreamedRow) -> std::result::Result<(), Self::Error>;

    /// Who takes copies of some pages of rows, where these lie in pages.
    fn helper(&mut self) -> Option<&mut dyn PageHelper> {
        None
    }
}

/// Takes each row by itself.
pub(super) struct EachRow<V>(pub(super) V);

impl<V, E> RowVisitor for EachRow<V>
where
    V: FnMut(&StreamedRow) -> std::result::Result<(), E>,
{
    type Error = E;

    #[inline]
    fn row(&mut self, row: &StreamedRow) -> std::result::Result<(), E> {
        self.0(row)
    }
}

/// Where the executor sends rows: to whoever visits them. The first field makes it a `DestReceiver`
/// of PostgreSQL.
#[repr(C)]
pub(super) struct Receiver<V: RowVisitor> {
    base: pg_sys::DestReceiver,
    columns: Vec<StreamedColumn>,
    visitor: V,
    outcome: std::result::Result<(), V::Error>,
}

impl<V: RowVisitor> Receiver<V> {
    pub(super) fn new(visitor: V) -> Receiver<V> {
        let base = pg_sys::DestReceiver {
            receiveSlot: Some(receive::<V>),
            rStartup: Some(start_up::<V>),
            rShutdown: Some(do_nothing),
            rDestroy: Some(do_nothing),
            // any but those for which the caller of the executor does more than to call the
            // functions
            mydest: pg_sys::CommandDest::DestTuplestore,
        };
        Receiver { base, columns: Vec::new(), visitor, outcome: Ok(()) }
    }

    pub(super) fn outcome(self) -> std::result::Result<(), V::Error> {
        self.outcome
    }

    /// Learns the types of the columns of all rows that follow.
    ///
    /// # Safety
    /// The descriptor lives.
    pub(super) unsafe fn start(&mut self, descriptor: pg_sys::TupleDesc) {
        // SAFETY: the caller's promise, and so many columns it has.
        let types = (1..=unsafe { (*descriptor).natts })
            .map(|position| unsafe { pg_sys::SPI_gettypeid(descriptor, position) });
        self.columns = types.map(StreamedColumn::of).collect();
    }

    /// Takes a row, of as many columns as the descriptor, and says whether there should be more.
    #[inline]
    pub(super) fn take(&mut self, values: &[Datum], nulls: &[bool]) -> bool {
        self.outcome = self.visitor.row(&StreamedRow::new(values, nulls, &self.columns));
        self.outcome.is_ok()
    }

    pub(super) fn columns(&self) -> &[StreamedColumn] {
        &self.columns
    }

    pub(super) fn helper(&mut self) -> Option<&mut dyn PageHelper> {
        self.visitor.helper()
    }
}

// #[pg_guard] does not take generic functions
unsafe extern "C-unwind" fn start_up<V>(
    receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    descriptor: pg_sys::TupleDesc,
) where
    V: RowVisitor,
{
    // SAFETY: the executor calls it with the receiver that it was given, and a descriptor that
    // lives.
    unsafe {
        pgrx_extern_c_guard(|| {
            (*receiver.cast::<Receiver<V>>()).start(descriptor);
        });
    }
}

unsafe extern "C-unwind" fn receive<V>(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool
where
    V: RowVisitor,
{
    // SAFETY: as above, with a row that has as many columns as the descriptor; it lives during the
    // visit.
    unsafe {
        pgrx_extern_c_guard(|| {
            let receiver = &mut *receiver.cast::<Receiver<V>>();
            let wanted = receiver.columns.len();
            if ((*slot).tts_nvalid as usize) < wanted {
                pg_sys::slot_getsomeattrs_int(slot, wanted as c_int);
            }
            let values = slice::from_raw_parts((*slot).tts_values, wanted);
            receiver.take(values, slice::from_raw_parts((*slot).tts_isnull, wanted))
        })
    }
}

unsafe extern "C-unwind" fn do_nothing(_receiver: *mut pg_sys::DestReceiver) {}
