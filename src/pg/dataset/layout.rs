//! How PostgreSQL holds values.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

/// What `pg_type` has for the length of a varlena, and of what ends with a zero.
pub(super) const VARLENA: i16 = -1;
pub(super) const C_STRING: i16 = -2;

/// How PostgreSQL holds the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In the datum itself, of that many bytes.
    ByValue(usize),
    /// Behind a pointer, of that many bytes.
    Fixed(usize),
    /// A varlena.
    Varying,
}

impl Layout {
    pub(crate) fn of(type_oid: Oid) -> Layout {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: writes the two values that it is given places for.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        match (length, by_value) {
            (VARLENA, _) => Layout::Varying,
            // no column is of such a type, but an argument may be: each byte of it is the caller's choice,
            // also where a varlena has a pointer. Nothing is read of it
            (C_STRING, _) => Layout::Fixed(0),
            (length, true) => Layout::ByValue(length.unsigned_abs().into()),
            (length, false) => Layout::Fixed(length.unsigned_abs().into()),
        }
    }
}
