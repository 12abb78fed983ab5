//! Values of varying length, as PostgreSQL holds them: varlenas, some of them compressed or
//! elsewhere.

use pgrx::pg_sys::{self, Datum};
use std::slice;

/// Gives `visit` the bytes of a value that is not NULL.
///
/// # Safety
/// The datum is a varlena's, and lives during the call.
#[inline]
pub(crate) unsafe fn with_varlena<T>(datum: Datum, visit: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: the caller's promise.
    unsafe { with_plain(datum, |given| pg_sys::pg_detoast_datum_packed(given), visit) }
}

/// Gives `visit` so many of the first bytes of a value that is not NULL, or all if it has fewer. Of
/// one that is compressed or elsewhere no more is fetched.
///
/// # Safety
/// As for [`with_varlena`].
#[inline]
pub(crate) unsafe fn with_start<T>(datum: Datum, most: usize, visit: impl FnOnce(&[u8]) -> T) -> T {
    let start = |bytes: &[u8]| visit(&bytes[..most.min(bytes.len())]);
    // SAFETY: the caller's promise.
    unsafe {
        with_plain(datum, |given| pg_sys::pg_detoast_datum_slice(given, 0, most as i32), start)
    }
}

/// Gives `visit` the bytes of a value as it lies there, or else as `detoast` makes it.
///
/// # Safety
/// As for [`with_varlena`].
#[inline]
unsafe fn with_plain<T>(
    datum: Datum,
    detoast: impl FnOnce(*mut pg_sys::varlena) -> *mut pg_sys::varlena,
    visit: impl FnOnce(&[u8]) -> T,
) -> T {
    let given: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the caller's promise; what PostgreSQL makes of it has so many bytes, and is freed
    // only if it is a copy, after the visit.
    unsafe {
        let plain = if is_plain(datum) { given } else { detoast(given) };
        let length = pgrx::varsize_any_exhdr(plain);
        let result = visit(slice::from_raw_parts(pgrx::vardata_any(plain).cast(), length));
        if !std::ptr::eq(plain, given) {
            pg_sys::pfree(plain.cast());
        }
        result
    }
}

/// Whether a value lies there with all its bytes: then PostgreSQL is not called to read it.
///
/// # Safety
/// As for [`with_varlena`].
#[inline]
pub(crate) unsafe fn is_plain(datum: Datum) -> bool {
    let given: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the caller's promise.
    unsafe {
        pgrx::varatt_is_4b_u(given) || (pgrx::varatt_is_1b(given) && !pgrx::varatt_is_1b_e(given))
    }
}

/// How many bytes a value takes uncompressed, with its header.
///
/// # Safety
/// As for [`with_varlena`].
pub(crate) unsafe fn raw_size(datum: Datum) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pg_sys::toast_raw_datum_size(datum) }
}
