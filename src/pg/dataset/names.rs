//! The names of regions: what their columns print, within limits.

use super::layout::Layout;
use crate::pg::errors::invalid;
use crate::pg::values::varlena::raw_size;
use pgrx::AnyElement;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use std::ffi::CStr;

/// The longest name of a region, in bytes.
const MOST_NAME_BYTES: usize = 1 << 16;

/// What is not printed at all, unless it prints as itself: some types print each byte as some
/// thousands.
const MOST_STORED_BYTES: usize = 8000;

/// What a value's output function prints. It is not an error if that is long, or no valid text, as
/// a private row may hold it.
///
/// # Safety
/// The datum is one of that type, and not NULL.
pub(super) unsafe fn printed_name(type_oid: Oid, value: Datum) -> Option<String> {
    // keys of regions are integers more often than not, and these print the same here in a fifth of the time
    let bits = value.value();
    match type_oid {
        pg_sys::INT8OID => return Some((bits as i64).to_string()),
        pg_sys::INT4OID => return Some((bits as i32).to_string()),
        pg_sys::INT2OID => return Some((bits as i16).to_string()),
        _ => {}
    }
    // SAFETY: the caller's promise; what the output function returns is a string of its own.
    unsafe {
        let (mut function, mut is_varlena) = (Oid::INVALID, false);
        pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
        let most_bytes = match function.to_u32() {
            pg_sys::F_TEXTOUT | pg_sys::F_VARCHAROUT | pg_sys::F_BPCHAROUT => {
                MOST_NAME_BYTES + pg_sys::VARHDRSZ
            }
            _ => MOST_STORED_BYTES,
        };
        if is_varlena && raw_size(value) > most_bytes {
            return None;
        }
        let printed = pg_sys::OidOutputFunctionCall(function, value);
        let bytes = CStr::from_ptr(printed).to_bytes();
        let name = (bytes.len() <= MOST_NAME_BYTES)
            .then(|| String::from_utf8_lossy(bytes).into_owned())
            .filter(|name| name.len() <= MOST_NAME_BYTES);
        pg_sys::pfree(printed.cast());
        name
    }
}

/// The name of a region, for queries that group by it.
#[pg_extern(stable, parallel_safe)]
fn region_name(value: AnyElement) -> Option<String> {
    // SAFETY: PostgreSQL gives a value with its type.
    unsafe { printed_name(value.oid(), value.datum()) }
}

/// Whether a value is short enough for queries that compare it, uncompressed: some comparisons fail
/// on very long ones.
#[pg_extern(immutable, parallel_safe)]
fn is_short(value: AnyElement) -> bool {
    // SAFETY: a value of a type of that layout is a varlena.
    Layout::of(value.oid()) != Layout::Varying
        || unsafe { raw_size(value.datum()) } <= MOST_STORED_BYTES
}

/// For regions of the table of groups.
pub(crate) fn too_long_name() -> ErrorReport {
    invalid(
        "hierarchy: the name of a region in the table of groups is too long",
        format!(
            "Nothing was spent. A name may take {MOST_NAME_BYTES} bytes; a value of a type that is \
             no text, {MOST_STORED_BYTES} as it is stored."
        ),
    )
}
