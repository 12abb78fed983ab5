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

/// A name that something is stored by: not empty, and short enough for an index.
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

/// Error: it is no name for something new, which is shown in a line as it is. Of earlier versions
/// there are such names.
pub(crate) fn check_new_name(name: &str, argument: &str) -> Result<()> {
    if let Some(hidden) = name.chars().find(|&character| is_layout(character)) {
        return Err(invalid(
            format!(
                "{argument} must have no control or invisible characters, got {name:?} with U+{:04X}",
                u32::from(hidden)
            ),
            "Certificates and views show names in a line: leave out line feeds, tabs, and what \
             changes the direction of text or is not seen.",
        ));
    }
    if name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_whitespace() && b.is_whitespace()) {
        return Err(invalid(
            format!("{argument} must have no two blanks in succession, got {name:?}"),
            "Certificates and views show names in a line, which many blanks could seem to end.",
        ));
    }
    Ok(())
}

/// Whether it ends lines, moves what stands around it, or is not seen: with one a name could write a
/// line of a certificate, or look like another. `dp.in_a_line` replaces the same ones. Scripts need
/// U+200C and U+200D.
fn is_layout(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061C}'
                | '\u{200B}'
                | '\u{200E}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{2069}'
                | '\u{FEFF}'
                | '\u{FFFE}'..='\u{FFFF}'
        )
}

/// The elements of an array argument, none of which may be NULL.
pub(crate) fn all_required<T>(values: Vec<Option<T>>, name: &str) -> Result<Vec<T>> {
    values.into_iter().map(|value| required(value, &format!("{name}: an element"))).collect()
}

/// A failure inside PostgreSQL's query interface or of the operating system.
pub(crate) fn internal(error_text: impl std::fmt::Display) -> ErrorReport {
    error(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("pg_dp: {error_text}"))
}
