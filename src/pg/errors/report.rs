//! Errors as users see them: an SQLSTATE, a message that names the argument, a hint.
//!
//! No message repeats a private value. Values of arguments are repeated: the caller sent them.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

pub(crate) type Result<T> = std::result::Result<T, ErrorReport>;

pub(crate) fn error(code: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(code, message.into(), "pg_dp")
}

/// An argument that cannot be used, with what to do about it.
pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> ErrorReport {
    error(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).set_hint(hint)
}

/// The value of an argument that must not be NULL.
pub(crate) fn required<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| {
        error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{name} must not be NULL"))
            .set_hint("Give a value, or leave out an argument that has a default.")
    })
}

/// A name that is stored: not empty, and short enough for an index.
pub(crate) fn checked_name<'a>(name: &'a str, argument: &str) -> Result<&'a str> {
    const LONGEST: usize = 200;
    if name.trim().is_empty() || name.len() > LONGEST {
        return Err(invalid(
            format!("{argument} must have from 1 to {LONGEST} bytes, got {}", name.trim().len()),
            "It is the name that releases are asked for by.",
        ));
    }
    Ok(name)
}

/// The elements of an array argument, none of which may be NULL.
pub(crate) fn all_required<T>(values: Vec<Option<T>>, name: &str) -> Result<Vec<T>> {
    values.into_iter().map(|value| required(value, &format!("{name}: an element"))).collect()
}

/// A failure inside PostgreSQL's query interface or of the operating system.
pub(crate) fn internal(error_text: impl std::fmt::Display) -> ErrorReport {
    error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("pg_dp: {error_text}"))
}
