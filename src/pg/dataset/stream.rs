//! The rows of a query one by one as the executor makes them, without a copy of them all.

use crate::coco::Coco;
use crate::pg::errors::{Result, invalid};
use crate::pg::values::types::read_stored;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use std::ffi::{CStr, c_int};
use std::ops::Range;

/// How PostgreSQL holds the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In the datum itself, of that many bytes.
    ByValue(usize),
    /// Behind a pointer, of that many bytes.
    Fixed(usize),
    /// A varlena.
    Varying,
}

impl Layout {
    pub(crate) fn of(type_oid: Oid) -> Layout {
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
pub(crate) struct StreamedRow<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
    columns: &'a [Column],
}

impl StreamedRow<'_> {
    /// Whether no column is NULL.
    pub(crate) fn has_all(&self, columns: Range<usize>) -> bool {
        !self.nulls[columns].contains(&true)
    }

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

    /// A value of type coco; None if it is NULL, or cannot be read, as of another version of it.
    pub(crate) fn histogram(&self, column: usize) -> Option<Coco> {
        if self.nulls[column] {
            return None;
        }
        self.with_bytes(column, |bytes| read_stored(bytes).ok())
    }

    /// The name of a region: what the type's output function prints. None for NULL, and for what
    /// prints as more than [`MOST_NAME_BYTES`].
    pub(crate) fn name(&self, column: usize) -> Option<String> {
        if self.nulls[column] {
            return None;
        }
        unsafe { region_name(self.columns[column].type_oid, self.values[column]) }
    }
}

/// The longest name of a region, in bytes.
pub(crate) const MOST_NAME_BYTES: usize = 1 << 16;

/// What is not printed at all, unless it prints as itself: some types print each byte as some thousands.
pub(crate) const MOST_STORED_BYTES: usize = 8000;

/// Whether a value takes at most [`MOST_STORED_BYTES`], uncompressed.
pub(crate) unsafe fn is_short(type_oid: Oid, value: Datum) -> bool {
    Layout::of(type_oid) != Layout::Varying
        || unsafe { pg_sys::toast_raw_datum_size(value) } <= MOST_STORED_BYTES
}

/// What a value's output function prints. It is not an error if that is long, or no valid text, as a
/// private row may hold it.
pub(crate) unsafe fn region_name(type_oid: Oid, value: Datum) -> Option<String> {
    unsafe {
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
        let most_bytes = match function.to_u32() {
            pg_sys::F_TEXTOUT | pg_sys::F_VARCHAROUT | pg_sys::F_BPCHAROUT => {
                MOST_NAME_BYTES + pg_sys::VARHDRSZ
            }
            _ => MOST_STORED_BYTES,
        };
        if is_varlena && pg_sys::toast_raw_datum_size(value) > most_bytes {
            return None;
        }
        let printed = pg_sys::OidOutputFunctionCall(function, value);
        let bytes = CStr::from_ptr(printed).to_bytes();
        let name = (bytes.len() <= MOST_NAME_BYTES)
            .then(|| String::from_utf8_lossy(bytes).into_owned())
            .filter(|name| name.len() <= MOST_NAME_BYTES);
        pg_sys::pfree(printed.cast());
        name
    }
}

fn sign_extended(value: Datum, width: usize) -> i64 {
    let unused = 64 - 8 * width.clamp(1, 8) as u32;
    ((value.value() as i64) << unused) >> unused
}

/// The arguments of a function with VARIADIC "any", as a row.
#[derive(Default)]
pub(crate) struct Arguments {
    columns: Vec<Column>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Arguments {
    /// Those of a call from argument `first` on. Error: their types are not known, or one is written as
    /// a string of C.
    pub(crate) unsafe fn of(fcinfo: pg_sys::FunctionCallInfo, first: usize) -> Result<Arguments> {
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

    pub(crate) fn layouts(&self) -> Vec<Layout> {
        self.columns.iter().map(|column| column.layout).collect()
    }

    /// The row of another call of the same function.
    pub(crate) unsafe fn row(
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

/// Where the executor sends rows: to `visit`, up to an error. The first field makes it a
/// `DestReceiver` of PostgreSQL.
#[repr(C)]
pub(crate) struct Receiver<V, E> {
    base: pg_sys::DestReceiver,
    columns: Vec<Column>,
    visit: V,
    outcome: std::result::Result<(), E>,
}

impl<V, E> Receiver<V, E>
where
    V: FnMut(&StreamedRow) -> std::result::Result<(), E>,
{
    pub(crate) fn new(visit: V) -> Receiver<V, E> {
        let base = pg_sys::DestReceiver {
            receiveSlot: Some(receive::<V, E>),
            rStartup: Some(start_up::<V, E>),
            rShutdown: Some(do_nothing),
            rDestroy: Some(do_nothing),
            // any but those for which the caller of the executor does more than to call the functions
            mydest: pg_sys::CommandDest::DestTuplestore,
        };
        Receiver { base, columns: Vec::new(), visit, outcome: Ok(()) }
    }

    pub(crate) fn outcome(self) -> std::result::Result<(), E> {
        self.outcome
    }
}

// #[pg_guard] does not take generic functions
unsafe extern "C-unwind" fn start_up<V, E>(
    receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    descriptor: pg_sys::TupleDesc,
) {
    unsafe {
        pgrx_extern_c_guard(|| {
            let receiver = &mut *receiver.cast::<Receiver<V, E>>();
            let types = (1..=(*descriptor).natts)
                .map(|position| pg_sys::SPI_gettypeid(descriptor, position));
            receiver.columns = types.map(Column::of).collect();
        });
    }
}

unsafe extern "C-unwind" fn receive<V, E>(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool
where
    V: FnMut(&StreamedRow) -> std::result::Result<(), E>,
{
    unsafe {
        pgrx_extern_c_guard(|| {
            let Receiver { columns, visit, outcome, .. } = &mut *receiver.cast::<Receiver<V, E>>();
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
