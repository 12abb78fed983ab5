//! What time it is, whatever the transaction's time is.

use crate::pg::errors::{Result, error, internal};
use pgrx::prelude::*;
use std::ffi::CString;

/// In microseconds since 2000, UTC.
pub(crate) fn now() -> i64 {
    // SAFETY: asks the operating system.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// What the clocks of a time zone show, in microseconds since 2000. By the name of a zone alone, as
/// the setting TimeZone: SQL's timezone() takes what the session's timezone_abbreviations say first.
///
/// Error: nobody knows that zone.
pub(crate) fn now_in(zone: &str) -> Result<i64> {
    let unknown = || {
        error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("time zone \"{zone}\" is not known to this server"),
        )
        .set_hint("It was known when the stream was begun: install the same time zone files.")
    };
    let name = CString::new(zone).map_err(|_| unknown())?;
    let now = now();
    let mut seconds_west = 0;
    let mut fields = pg_sys::pg_tm::default();
    let mut fraction = 0;
    // SAFETY: the name ends with a zero; a zone that was found stays for as long as the process; the
    // three values are written to the places that they are given, and a null pointer asks for no
    // abbreviation.
    let status = unsafe {
        let zone = pg_sys::pg_tzset(name.as_ptr());
        if zone.is_null() {
            return Err(unknown());
        }
        let abbreviation = std::ptr::null_mut();
        pg_sys::timestamp2tm(now, &mut seconds_west, &mut fields, &mut fraction, abbreviation, zone)
    };
    if status != 0 {
        return Err(internal("the time is not known"));
    }
    Ok(now - i64::from(seconds_west) * 1_000_000)
}
