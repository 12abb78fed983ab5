//! Statements on the tables of schema `dp`, with the rights of their owner.

use super::roles::as_catalog_owner;
use super::select::{SqlRow, as_of_now, read_rows};
use crate::pg::errors::{Result, internal};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// Runs a statement on the catalog and reads its first row.
pub(crate) fn execute<T>(
    sql: &str,
    arguments: &[DatumWithOid],
    read: impl FnOnce(&SpiHeapTupleData) -> std::result::Result<T, pgrx::spi::Error>,
) -> Result<Option<T>> {
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
    as_catalog_owner(|| as_of_now(|| read_rows(sql, visit)))
}
