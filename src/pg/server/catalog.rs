//! Statements on the tables of schema `dp`, with the rights of their owner.

use super::roles::as_catalog_owner;
use super::select::{SqlRow, as_of_now, exists, read_rows};
use super::state::{Command, is_in_recovery, own_command};
use crate::pg::errors::{Result, error, internal};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;
use std::cell::Cell;

/// Runs a statement on the catalog and reads its first row. It may write.
///
/// Error: the server is a standby.
pub(crate) fn execute<T>(
    sql: &str,
    arguments: &[DatumWithOid],
    read: impl FnOnce(&SpiHeapTupleData) -> std::result::Result<T, pgrx::spi::Error>,
) -> Result<Option<T>> {
    if is_in_recovery() {
        return Err(error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a standby server cannot write to pg_dp's tables",
        )
        .set_hint("Do it on the primary; stored releases can be read here."));
    }
    check_version()?;
    as_catalog_owner(|| {
        Spi::connect_mut(|client| {
            let mut rows = client.update(sql, None, arguments)?;
            rows.next().map(|row| read(&row)).transpose()
        })
    })
    .map_err(internal)
}

/// Reads the catalog as it is now, whatever the transaction's snapshot.
pub(crate) fn read_catalog(sql: &str, visit: impl FnMut(&SqlRow) -> Result<()>) -> Result<()> {
    check_version()?;
    as_catalog_owner(|| as_of_now(|| read_rows(sql, visit)))
}

/// Whether the catalog as it is now has a row that is asked for.
pub(crate) fn in_catalog(sql: &str) -> Result<bool> {
    check_version()?;
    as_catalog_owner(|| as_of_now(|| exists(sql)))
}

thread_local! {
    /// For which command the version was last found right. It may have changed by the next one.
    static CHECKED: Cell<Option<Command>> = const { Cell::new(None) };
}

/// The tables are those of this library only if the extension was brought to its version: a new
/// library is in place some time before that, and a session keeps its library until it ends.
fn check_version() -> Result<()> {
    let command = own_command();
    if CHECKED.get() == Some(command) {
        return Ok(());
    }
    check_installed()?;
    CHECKED.set(Some(command));
    Ok(())
}

fn check_installed() -> Result<()> {
    let library = env!("CARGO_PKG_VERSION");
    let sql = "SELECT extversion FROM pg_catalog.pg_extension \
                WHERE extname OPERATOR(pg_catalog.=) 'pg_dp'";
    let mut installed = None;
    as_catalog_owner(|| {
        as_of_now(|| {
            read_rows(sql, |row| {
                installed = row.get::<String>(1);
                Ok(())
            })
        })
    })?;
    if installed.as_deref() == Some(library) {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "pg_dp is version {} in this database, and its library {library}",
            installed.as_deref().unwrap_or("none")
        ),
    )
    .set_hint(
        "ALTER EXTENSION pg_dp UPDATE brings the database to the version of the library that is \
         installed; a session from before that has to connect again. The views of stored releases \
         can be read meanwhile.",
    ))
}
