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

/// A name that is stored: not empty, short enough for an index, and shown in a line as it is.
pub(crate) fn checked_name<'a>(name: &'a str, argument: &str) -> Result<&'a str> {
    const LONGEST: usize = 200;
    if name.trim().is_empty() || name.len() > LONGEST {
        return Err(invalid(
            format!("{argument} must have from 1 to {LONGEST} bytes, got {}", name.trim().len()),
            "It is the name that releases are asked for by.",
        ));
    }
    if let Some(hidden) = name.chars().find(|&character| is_layout(character)) {
        return Err(invalid(
            format!(
                "{argument} must have no control characters, got {:?} with U+{:04X}",
                name,
                u32::from(hidden)
            ),
            "Certificates and views show names in a line: leave out line feeds, tabs, and what \
             changes the direction of text.",
        ));
    }
    Ok(name)
}

/// Whether it ends lines, or moves what stands around it: with one a name could write a line of a
/// certificate. `dp.in_a_line` replaces the same ones.
fn is_layout(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The elements of an array argument, none of which may be NULL.
pub(crate) fn all_required<T>(values: Vec<Option<T>>, name: &str) -> Result<Vec<T>> {
    values.into_iter().map(|value| required(value, &format!("{name}: an element"))).collect()
}

/// A failure inside PostgreSQL's query interface or of the operating system.
pub(crate) fn internal(error_text: impl std::fmt::Display) -> ErrorReport {
    error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("pg_dp: {error_text}"))
}
