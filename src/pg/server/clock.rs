//! What time it is, whatever the transaction's time is.

use super::catalog::read_catalog;
use crate::pg::errors::{Result, internal};
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// In microseconds since 2000, UTC.
pub(crate) fn now() -> i64 {
    // SAFETY: asks the operating system.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// What the clocks of a time zone show, in microseconds since 2000.
///
/// Error: nobody knows that zone.
pub(crate) fn now_in(zone: &str) -> Result<i64> {
    let sql = format!(
        "SELECT (1000000 * extract(epoch FROM timezone({}, clock_timestamp()) \
                                              - timestamp '2000-01-01'))::int8",
        quote_literal(zone)
    );
    let mut now = None;
    read_catalog(&sql, |row| {
        now = row.get(1);
        Ok(())
    })?;
    now.ok_or_else(|| internal("the time is not known"))
}
