//! Rows that a function returns all at once. Were they returned one at a time, PostgreSQL would call
//! the function for each, take it apart and collect it likewise, in twice the time.

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

/// Where PostgreSQL collects them: in memory up to `work_mem`, then in a file.
pub(crate) struct ReturnedRows<const COLUMNS: usize> {
    store: *mut pg_sys::Tuplestorestate,
    columns: pg_sys::TupleDesc,
}

impl<const COLUMNS: usize> ReturnedRows<COLUMNS> {
    /// To be called before a function does anything: an error where its caller takes no table.
    ///
    /// # Safety
    /// It is a call of a function that returns a table.
    pub(crate) unsafe fn prepare(call: FunctionCallInfo) {
        // SAFETY: the caller's promise.
        unsafe {
            // 15.0 has this name alone
            #[cfg(feature = "pg15")]
            pg_sys::SetSingleFuncCall(call, 0);
            #[cfg(not(feature = "pg15"))]
            pg_sys::InitMaterializedSRF(call, 0);
        }
    }

    /// # Safety
    /// That was prepared. The table has so many columns.
    pub(crate) unsafe fn of(call: FunctionCallInfo) -> ReturnedRows<COLUMNS> {
        // SAFETY: the caller's promise; a call with such information was prepared, which filled it in.
        unsafe {
            let info: *mut pg_sys::ReturnSetInfo = (*call).resultinfo.cast();
            ReturnedRows { store: (*info).setResult, columns: (*info).setDesc }
        }
    }

    /// # Safety
    /// The values are of the columns' types. What makes them does not call PostgreSQL, and does not panic.
    pub(crate) unsafe fn add(&mut self, rows: impl Iterator<Item = [Datum; COLUMNS]>) {
        let mut nulls = [false; COLUMNS];
        // SAFETY: as many values as columns, of the right types; they are copied. Errors of all of them are
        // caught here once, as nothing of this function's would be left behind.
        unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                for mut values in rows {
                    let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
                    tuplestore_putvalues(self.store, self.columns, values, nulls);
                }
            });
        }
    }
}

unsafe extern "C-unwind" {
    /// A row is copied to where rows are collected (utils/tuplestore.h).
    fn tuplestore_putvalues(
        store: *mut pg_sys::Tuplestorestate,
        columns: pg_sys::TupleDesc,
        values: *mut Datum,
        nulls: *mut bool,
    );
}
