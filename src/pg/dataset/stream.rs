//! The rows of a query one by one as the executor makes them, without a copy of them all.

use super::pages::PageHelper;
use super::streamed_row::{StreamedColumn, StreamedRow};
use crate::pg::errors::{Result, internal};
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use pgrx::prelude::*;
use std::ffi::{CString, c_int};
use std::slice;

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

/// Runs a SELECT under the snapshot of the calling statement, with the caller's rights, and gives each
/// row to `visit`, up to an error.
///
/// Error: it is no SELECT.
pub(crate) fn stream<V>(sql: &str, mut visit: V) -> Result<()>
where
    V: FnMut(&StreamedRow) -> Result<()>,
{
    let sql = CString::new(sql).map_err(internal)?;
    // what it takes to look at a row ends with the row
    let mut of_row = PgMemoryContexts::new("a row that is read");
    let mut receiver = Receiver::new(EachRow(|row: &StreamedRow| {
        // SAFETY: nothing that was allocated there outlives the visit.
        unsafe {
            of_row.reset();
            of_row.switch_to(|_| visit(row))
        }
    }));
    let status = Spi::connect(|_| {
        // SAFETY: all zero are no parameters, and what else is said here.
        let mut options: pg_sys::SPIExecuteOptions = unsafe { std::mem::zeroed() };
        options.read_only = true; // keeps the active snapshot
        options.dest = (&raw mut receiver).cast();
        // SAFETY: SPI is connected, the text ends with a zero, and the receiver outlives the call.
        unsafe { pg_sys::SPI_execute_extended(sql.as_ptr(), &options) }
    });
    if status != pg_sys::SPI_OK_SELECT as i32 {
        return Err(internal(format!("a query ended with status {status}")));
    }
    receiver.outcome()
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
