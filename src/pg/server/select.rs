//! Reading with SQL of our own, under one snapshot.

use crate::pg::errors::{Result, internal};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::ffi::CString;

/// Runs a SELECT under the snapshot of the calling statement, so that several reads of one release
/// see the same state, and gives each row to `visit`.
pub(crate) fn read_rows(sql: &str, mut visit: impl FnMut(&SqlRow) -> Result<()>) -> Result<()> {
    let sql = CString::new(sql).map_err(internal)?;
    Spi::connect(|_| {
        let read_only = true; // keeps the active snapshot
        // SAFETY: SPI is connected, and the text ends with a zero.
        let status = unsafe { pg_sys::SPI_execute(sql.as_ptr(), read_only, 0) };
        if status != pg_sys::SPI_OK_SELECT as i32 {
            return Err(internal(format!("a query ended with status {status}")));
        }
        // SAFETY: what a SELECT has just set; the table lives until SPI is disconnected, also if
        // `visit` runs another query.
        let (table, rows) = unsafe { (&*pg_sys::SPI_tuptable, pg_sys::SPI_processed) };
        for index in 0..rows as usize {
            // SAFETY: the table has so many rows.
            let tuple = unsafe { *table.vals.add(index) };
            visit(&SqlRow { tuple, descriptor: table.tupdesc })?;
        }
        Ok(())
    })
}

/// Runs `action` under a snapshot of now: what others committed since a REPEATABLE READ transaction
/// began, such as the charges of its own releases, is visible. For [`read_rows`].
pub(crate) fn as_of_now<T>(action: impl FnOnce() -> T) -> T {
    // SAFETY: the snapshot that is pushed is popped below; after an error the end of the
    // transaction pops it.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
    let result = action();
    // SAFETY: what `action` has pushed it has popped, so this is the snapshot from above.
    unsafe { pg_sys::PopActiveSnapshot() };
    result
}

/// Whether a SELECT has any row; like [`read_rows`].
pub(crate) fn exists(sql: &str) -> Result<bool> {
    let mut any = false;
    read_rows(sql, |_| {
        any = true;
        Ok(())
    })?;
    Ok(any)
}

/// A row of [`read_rows`], for as long as it is visited.
pub(crate) struct SqlRow {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
}

impl SqlRow {
    /// The column at a position counted from 1; None for NULL. The caller has written the query,
    /// and so knows its type.
    pub(crate) fn get<T: FromDatum>(&self, position: i32) -> Option<T> {
        let mut is_null = false;
        // SAFETY: tuple and descriptor belong together and live for the visit; the query gives the
        // column the type that is asked for.
        unsafe {
            let datum = pg_sys::SPI_getbinval(self.tuple, self.descriptor, position, &mut is_null);
            T::from_datum(datum, is_null)
        }
    }
}

/// The extension's schema, quoted for use in a query.
pub(crate) fn extension_schema() -> Result<String> {
    let sql = "SELECT extnamespace::pg_catalog.regnamespace::pg_catalog.text \
                 FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'pg_dp'";
    let mut schema = None;
    read_rows(sql, |row| {
        schema = row.get(1);
        Ok(())
    })?;
    schema.ok_or_else(|| internal("the extension is not installed in this database"))
}

/// The extension's type of that name.
pub(crate) fn extension_type(name: &str) -> Result<Oid> {
    Ok(pgrx::regtypein(&format!("{}.{name}", extension_schema()?)))
}
