//! Arguments of type jsonb. pgrx's own type for them panics on what PostgreSQL takes and serde_json
//! does not.

use crate::pg::errors::{Result, invalid};
use pgrx::callconv::{Arg, ArgAbi};
use pgrx::pg_sys::{self, Oid};
use pgrx::{FromDatum, direct_function_call};
use serde_json::Value;
use std::ffi::CStr;

/// What the argument says, if it can be read.
pub(crate) struct JsonbArgument(serde_json::Result<Value>);

impl JsonbArgument {
    /// Errors: it is nested more deeply than is read, or has a number beyond those of float8.
    pub(crate) fn read(self, argument: &str) -> Result<Value> {
        self.0.map_err(|_| {
            invalid(
                format!("{argument} is nested too deeply, or has too large a number"),
                "Values are strings, numbers that float8 holds, and lists of these.",
            )
        })
    }
}

impl FromDatum for JsonbArgument {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: Oid,
    ) -> Option<JsonbArgument> {
        if is_null {
            return None;
        }
        // SAFETY: PostgreSQL gives a jsonb, of which jsonb_out makes a string.
        let text = unsafe { direct_function_call::<&CStr>(pg_sys::jsonb_out, &[Some(datum)]) }?;
        Some(JsonbArgument(serde_json::from_slice(text.to_bytes())))
    }
}

// SAFETY: it is taken from the datum as `FromDatum` says.
unsafe impl<'fcx> ArgAbi<'fcx> for JsonbArgument {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> JsonbArgument {
        // SAFETY: the caller's promise: an argument of this type.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
    }
}
