//! The rows of a SELECT one by one as the executor makes them, without a copy of them all.

use super::errors::{Result, internal, invalid};
use super::types::read_stored;
use crate::coco::Coco;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use std::ffi::{CString, c_int};
use std::ops::Range;

/// How PostgreSQL holds the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// In the datum itself, of that many bytes.
    ByValue(usize),
    /// Behind a pointer, of that many bytes.
    Fixed(usize),
    /// A varlena.
    Varying,
}

impl Layout {
    pub(super) fn of(type_oid: Oid) -> Layout {
        let (mut length, mut by_value) = (0, false);
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        match usize::try_from(length) {
            Ok(length) if by_value => Layout::ByValue(length),
            Ok(length) => Layout::Fixed(length),
            Err(_) => Layout::Varying, // no column is of a pseudo-type such as cstring
        }
    }
}

/// A column of a streamed row.
#[derive(Debug, Clone, Copy)]
struct Column {
    type_oid: Oid,
    layout: Layout,
}

impl Column {
    fn of(type_oid: Oid) -> Column {
        Column { type_oid, layout: Layout::of(type_oid) }
    }
}

/// A row, for as long as it is visited. Columns are counted from 0.
pub(super) struct StreamedRow<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
    columns: &'a [Column],
}

impl StreamedRow<'_> {
    /// Whether no column is NULL.
    pub(super) fn has_all(&self, columns: Range<usize>) -> bool {
        !self.nulls[columns].contains(&true)
    }

    pub(super) fn layout(&self, column: usize) -> Layout {
        self.columns[column].layout
    }

    /// A value of an integer type.
    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.columns[column].layout {
            Layout::ByValue(width) if !self.nulls[column] => {
                Some(sign_extended(self.values[column], width))
            }
            _ => None,
        }
    }

    /// What is held in a datum, as 8 bytes with its sign extended: integers that are equal have the
    /// same, whatever their types.
    pub(super) fn word(&self, column: usize) -> [u8; 8] {
        let width = match self.columns[column].layout {
            Layout::ByValue(width) => width,
            Layout::Fixed(_) | Layout::Varying => size_of::<Datum>(),
        };
        sign_extended(self.values[column], width).to_le_bytes()
    }

    /// Gives `visit` the bytes of a value that is not NULL.
    pub(super) fn with_bytes<T>(&self, column: usize, visit: impl FnOnce(&[u8]) -> T) -> T {
        let value = self.values[column];
        match self.columns[column].layout {
            Layout::ByValue(_) => visit(&self.word(column)),
            Layout::Fixed(width) => {
                visit(unsafe { std::slice::from_raw_parts(value.cast_mut_ptr(), width) })
            }
            Layout::Varying => unsafe {
                let given: *mut pg_sys::varlena = value.cast_mut_ptr();
                let is_plain = pgrx::varatt_is_4b_u(given)
                    || (pgrx::varatt_is_1b(given) && !pgrx::varatt_is_1b_e(given));
                let plain = if is_plain { given } else { pg_sys::pg_detoast_datum_packed(given) };
                let length = pgrx::varsize_any_exhdr(plain);
                let bytes = std::slice::from_raw_parts(pgrx::vardata_any(plain).cast(), length);
                let result = visit(bytes);
                if !std::ptr::eq(plain, given) {
                    pg_sys::pfree(plain.cast());
                }
                result
            },
        }
    }

    /// A value of type coco.
    pub(super) fn histogram(&self, column: usize) -> Result<Option<Coco>> {
        if self.nulls[column] {
            return Ok(None);
        }
        self.with_bytes(column, read_stored).map(Some)
    }

    /// What the type's output function prints; nothing for NULL, as `concat` does.
    pub(super) fn printed(&self, column: usize) -> String {
        if self.nulls[column] {
            return String::new();
        }
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        unsafe {
            pg_sys::getTypeOutputInfo(
                self.columns[column].type_oid,
                &mut function,
                &mut is_varlena,
            );
            let printed = pg_sys::OidOutputFunctionCall(function, self.values[column]);
            let text = Datum::from(pg_sys::cstring_to_text(printed));
            String::from_datum(text, false).unwrap_or_default()
        }
    }
}

fn sign_extended(value: Datum, width: usize) -> i64 {
    let unused = 64 - 8 * width.clamp(1, 8) as u32;
    ((value.value() as i64) << unused) >> unused
}

/// The arguments of a function with VARIADIC "any", as a row.
#[derive(Default)]
pub(super) struct Arguments {
    columns: Vec<Column>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Arguments {
    /// Those of a call from argument `first` on. Error: their types are not known, or one is written as
    /// a string of C.
    pub(super) unsafe fn of(fcinfo: pg_sys::FunctionCallInfo, first: usize) -> Result<Arguments> {
        let column = |argument: usize| {
            let type_oid =
                unsafe { pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, argument as c_int) };
            let is_value =
                type_oid != Oid::INVALID && unsafe { pg_sys::get_typlen(type_oid) } >= -1;
            is_value.then(|| Column::of(type_oid))
        };
        let arguments = unsafe { (*fcinfo).nargs } as usize;
        let columns: Option<Vec<Column>> = (first..arguments).map(column).collect();
        let columns = columns.ok_or_else(|| {
            invalid("the arguments must be columns", "Cast constants, for example 'a'::text.")
        })?;
        let (values, nulls) = (vec![Datum::null(); columns.len()], vec![true; columns.len()]);
        Ok(Arguments { columns, values, nulls })
    }

    pub(super) fn layouts(&self) -> Vec<Layout> {
        self.columns.iter().map(|column| column.layout).collect()
    }

    /// The row of another call of the same function.
    pub(super) unsafe fn row(
        &mut self,
        fcinfo: pg_sys::FunctionCallInfo,
        first: usize,
    ) -> StreamedRow<'_> {
        let Arguments { columns, values, nulls } = self;
        let arguments = unsafe { (*fcinfo).args.as_slice(first + columns.len()) };
        for (i, argument) in arguments[first..].iter().enumerate() {
            (values[i], nulls[i]) = (argument.value, argument.isnull);
        }
        StreamedRow { values, nulls, columns }
    }
}

/// Where the executor sends rows. The first field makes it a `DestReceiver` of PostgreSQL.
#[repr(C)]
struct Receiver<V> {
    base: pg_sys::DestReceiver,
    columns: Vec<Column>,
    visit: V,
    outcome: Result<()>,
}

/// Runs a SELECT under the snapshot of the calling statement, like `read_rows`, and gives each row
/// to `visit`, up to an error.
pub(super) fn stream_rows<V>(sql: &str, visit: V) -> Result<()>
where
    V: FnMut(&StreamedRow) -> Result<()>,
{
    let sql = CString::new(sql).map_err(internal)?;
    let base = pg_sys::DestReceiver {
        receiveSlot: Some(receive::<V>),
        rStartup: Some(start_up::<V>),
        rShutdown: Some(do_nothing),
        rDestroy: Some(do_nothing),
        // any but those for which the caller of the executor does more than to call the functions
        mydest: pg_sys::CommandDest::DestTuplestore,
    };
    let mut receiver = Receiver { base, columns: Vec::new(), visit, outcome: Ok(()) };
    Spi::connect(|_| {
        let options = pg_sys::SPIExecuteOptions {
            read_only: true, // keeps the active snapshot
            dest: (&raw mut receiver).cast(),
            ..Default::default()
        };
        match unsafe { pg_sys::SPI_execute_extended(sql.as_ptr(), &options) } {
            status if status == pg_sys::SPI_OK_SELECT as i32 => Ok(()),
            status => Err(internal(format!("a query ended with status {status}"))),
        }
    })?;
    receiver.outcome
}

// #[pg_guard] does not take generic functions
unsafe extern "C-unwind" fn start_up<V>(
    receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    descriptor: pg_sys::TupleDesc,
) {
    unsafe {
        pgrx_extern_c_guard(|| {
            let receiver = &mut *receiver.cast::<Receiver<V>>();
            let types = (1..=(*descriptor).natts)
                .map(|position| pg_sys::SPI_gettypeid(descriptor, position));
            receiver.columns = types.map(Column::of).collect();
        });
    }
}

unsafe extern "C-unwind" fn receive<V: FnMut(&StreamedRow) -> Result<()>>(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    unsafe {
        pgrx_extern_c_guard(|| {
            let Receiver { columns, visit, outcome, .. } = &mut *receiver.cast::<Receiver<V>>();
            let wanted = columns.len();
            if ((*slot).tts_nvalid as usize) < wanted {
                pg_sys::slot_getsomeattrs_int(slot, wanted as c_int);
            }
            *outcome = visit(&StreamedRow {
                values: std::slice::from_raw_parts((*slot).tts_values, wanted),
                nulls: std::slice::from_raw_parts((*slot).tts_isnull, wanted),
                columns,
            });
            outcome.is_ok()
        })
    }
}

unsafe extern "C-unwind" fn do_nothing(_receiver: *mut pg_sys::DestReceiver) {}
