//! `dp_bound` and `dp_amount`: arguments that are a number, or that `dp_find_bound` chooses.
//!
//! A value is that of a bigint, or of a numeric, so that functions that took these take them still.
//! `'auto'` is the one value of each that is no bound: the smallest bigint, and NaN.

use crate::pg::errors::{Result, error, invalid};
use pgrx::AnyNumeric;
use pgrx::callconv::{Arg, ArgAbi};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use std::ffi::{CStr, CString};

/// The word; also under which a release's parameters have the argument that it was given for.
pub(crate) const AUTO: &str = "auto";
const AUTO_BOUND: i64 = i64::MIN;

/// An argument of type `dp_bound`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Auto,
    Number(i64),
}

impl FromDatum for Bound {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        oid: Oid,
    ) -> Option<Bound> {
        // SAFETY: PostgreSQL gives a datum of the type that the SQL function declares, which is stored
        // as a bigint; before 0.2.0 was installed it could be an integer, whose datum is the same.
        let number = unsafe { i64::from_polymorphic_datum(datum, is_null, oid) }?;
        Some(if number == AUTO_BOUND { Bound::Auto } else { Bound::Number(number) })
    }
}

// SAFETY: it is taken from the datum as `FromDatum` says.
unsafe impl<'fcx> ArgAbi<'fcx> for Bound {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Bound {
        // SAFETY: the caller's promise: an argument of this type.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
    }
}

/// An argument of type `dp_amount`; None for `'auto'`.
pub(crate) fn amount(value: AnyNumeric) -> Option<AnyNumeric> {
    (!value.is_nan()).then_some(value)
}

fn text_of(text: &CStr, type_name: &str) -> Result<String> {
    let text = text.to_str().map_err(|_| unreadable("", type_name))?;
    Ok(text.trim().to_string())
}

fn unreadable(text: &str, type_name: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("invalid input for type {type_name}: \"{text:.40}\""),
    )
    .set_hint("It is a number, or 'auto' for what dp_find_bound has chosen.")
}

#[pg_extern(immutable, parallel_safe)]
fn dp_bound_in(text: &CStr) -> Result<i64> {
    let text = text_of(text, "dp_bound")?;
    if text == AUTO {
        return Ok(AUTO_BOUND);
    }
    let number = text.parse().ok().filter(|number| *number != AUTO_BOUND);
    number.ok_or_else(|| unreadable(&text, "dp_bound"))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_bound_out(value: i64) -> CString {
    let text = if value == AUTO_BOUND { AUTO.to_string() } else { value.to_string() };
    CString::new(text).unwrap_or_default()
}

#[pg_extern(immutable, parallel_safe)]
fn dp_amount_in(text: &CStr) -> Result<AnyNumeric> {
    let text = text_of(text, "dp_amount")?;
    let numeric = match text.as_str() {
        AUTO => "NaN",
        text if text.eq_ignore_ascii_case("nan") => return Err(unreadable(text, "dp_amount")),
        text => text,
    };
    AnyNumeric::try_from(numeric).map_err(|_| unreadable(&text, "dp_amount"))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_amount_out(value: AnyNumeric) -> CString {
    let text = amount(value).map_or_else(|| AUTO.to_string(), |value| value.to_string());
    CString::new(text).unwrap_or_default()
}

/// What is refused where nothing is chosen. `amount`: a column of amounts, and their unit.
pub(crate) fn not_chosen(
    argument: &str,
    dataset: &str,
    amount: Option<(&str, &str)>,
) -> ErrorReport {
    let of_amount =
        |(column, unit)| format!(", amount => {}, amount_unit => {unit}", quote_literal(column));
    error(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{argument}: no bound is chosen for dataset \"{dataset}\""),
    )
    .set_hint(format!(
        "Nothing was spent. Its owner has one chosen first, by itself and under a name, with about a \
         fifth of what the release will have: SELECT * FROM dp_find_bound({}, '{argument}', \
         epsilon => 0.2{}, name => {}). One that was retracted counts when it is published again.",
        quote_literal(dataset),
        amount.map(of_amount).unwrap_or_default(),
        quote_literal(format!("bound of {}", amount.map_or(argument, |(column, _)| column))),
    ))
}

/// Where `'auto'` has no meaning.
pub(crate) fn no_auto(argument: &str, why: &str) -> ErrorReport {
    invalid(format!("{argument} => 'auto' {why}"), "Give a number.")
}
