//! Statements of the ledger's worker.

use pgrx::datum::DatumWithOid;
use pgrx::spi::{SpiClient, SpiHeapTupleData};

pub(super) type SpiResult<T> = Result<T, pgrx::spi::Error>;

/// Runs a statement and reads the first row of what it returns.
pub(super) fn first_row<T>(
    client: &mut SpiClient,
    sql: &str,
    arguments: &[DatumWithOid],
    read: impl FnOnce(&SpiHeapTupleData) -> SpiResult<T>,
) -> SpiResult<Option<T>> {
    client.update(sql, None, arguments)?.next().map(|row| read(&row)).transpose()
}
