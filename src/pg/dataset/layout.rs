//! How PostgreSQL holds values.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

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
        match usize::try_from(length) {
            Ok(length) if by_value => Layout::ByValue(length),
            Ok(length) => Layout::Fixed(length),
            Err(_) => Layout::Varying, // no column is of a pseudo-type such as cstring
        }
    }
}
