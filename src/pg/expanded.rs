//! The running state of `coco_agg`: an expanded object of type `coco`.
//!
//! The aggregate's transition type is `coco` itself, so that partial results can travel between
//! processes and servers. Inside one aggregation the state is a PostgreSQL expanded object around a
//! [`Tally`], changed in place for every row; PostgreSQL flattens it to the stored form by itself
//! wherever it leaves the aggregation (src/include/utils/expandeddatum.h).

use super::errors::{Result, error};
use crate::coco::{Coco, MAX_DISTINCT_SIZES, Tally};
use pgrx::prelude::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The distinct sizes of all histograms that are being aggregated in this process. Rust's memory is
/// outside of work_mem, and running out of it would end the server.
static DISTINCT_SIZES: AtomicUsize = AtomicUsize::new(0);

/// What [`DISTINCT_SIZES`] may come to: about 2.5 gigabytes.
const ROOM: usize = 6 * MAX_DISTINCT_SIZES;

/// Keeps the books of [`DISTINCT_SIZES`] for a tally that had so many before a change.
fn account(tally: &Tally, before: usize) -> Result<()> {
    let now = tally.distinct_sizes();
    let grown = now.saturating_sub(before);
    let all = DISTINCT_SIZES.fetch_add(grown, Ordering::Relaxed) + grown;
    if now > MAX_DISTINCT_SIZES || all > ROOM {
        return Err(error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "the histograms that are being aggregated have too many different sizes",
        )
        .set_hint(format!(
            "One may have {MAX_DISTINCT_SIZES}, all of a query together {ROOM}. Cap the sizes, for \
             example with least(size, 10000)."
        )));
    }
    Ok(())
}

#[repr(C)]
struct ExpandedCoco {
    header: pg_sys::ExpandedObjectHeader,
    /// Owned; dropped by a callback when the object's memory context goes.
    tally: *mut Tally,
}

static METHODS: Methods = Methods(pg_sys::ExpandedObjectMethods {
    get_flat_size: Some(flat_size),
    flatten_into: Some(flatten_into),
});

struct Methods(pg_sys::ExpandedObjectMethods);
// function pointers alone
unsafe impl Sync for Methods {}

#[pg_guard]
unsafe extern "C-unwind" fn flat_size(object: *mut pg_sys::ExpandedObjectHeader) -> pg_sys::Size {
    unsafe { pg_sys::VARHDRSZ + flat_bytes(object).len() }
}

#[pg_guard]
unsafe extern "C-unwind" fn flatten_into(
    object: *mut pg_sys::ExpandedObjectHeader,
    result: *mut c_void,
    allocated: pg_sys::Size,
) {
    unsafe {
        let bytes = flat_bytes(object);
        assert_eq!(allocated, pg_sys::VARHDRSZ + bytes.len());
        pgrx::set_varsize_4b(result.cast(), allocated as i32);
        let data = result.cast::<u8>().add(pg_sys::VARHDRSZ);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
    }
}

unsafe fn flat_bytes(object: *mut pg_sys::ExpandedObjectHeader) -> Vec<u8> {
    unsafe { (*(*object.cast::<ExpandedCoco>()).tally).histogram().to_bytes() }
}

#[pg_guard]
unsafe extern "C-unwind" fn drop_tally(tally: *mut c_void) {
    let tally = unsafe { Box::from_raw(tally.cast::<Tally>()) };
    DISTINCT_SIZES.fetch_sub(tally.distinct_sizes(), Ordering::Relaxed);
}

/// A new expanded object that lives as long as `parent`; the datum allows changes in place.
unsafe fn expand(tally: Tally, parent: pg_sys::MemoryContext) -> pg_sys::Datum {
    unsafe {
        let context = pg_sys::AllocSetContextCreateInternal(
            parent,
            c"coco".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let object: *mut ExpandedCoco = allocate(context);
        let callback: *mut pg_sys::MemoryContextCallback = allocate(context);
        pg_sys::EOH_init_header(&raw mut (*object).header, &METHODS.0, context);
        (*object).tally = Box::into_raw(Box::new(tally));
        (*callback).func = Some(drop_tally);
        (*callback).arg = (*object).tally.cast();
        pg_sys::MemoryContextRegisterResetCallback(context, callback);
        pg_sys::Datum::from((&raw mut (*object).header.eoh_rw_ptr).cast::<c_void>())
    }
}

unsafe fn allocate<T>(context: pg_sys::MemoryContext) -> *mut T {
    unsafe { pg_sys::MemoryContextAllocZero(context, size_of::<T>()).cast() }
}

/// The external varlena tag (varattrib_1b_e) of an expanded object, if the datum is one.
unsafe fn expanded_tag(datum: pg_sys::Datum) -> Option<u32> {
    unsafe {
        let varlena = datum.cast_mut_ptr::<pg_sys::varlena>();
        let tag = || u32::from((*varlena.cast::<pg_sys::varattrib_1b_e>()).va_tag);
        (pgrx::varatt_is_1b_e(varlena))
            .then(tag)
            .filter(|tag| tag & !1 == pg_sys::vartag_external::VARTAG_EXPANDED_RO)
    }
}

unsafe fn object_of(datum: pg_sys::Datum) -> Option<*mut ExpandedCoco> {
    unsafe {
        expanded_tag(datum)?;
        let header = pg_sys::DatumGetEOHP(datum);
        // any other expanded object (there is none of type coco) is left to PostgreSQL
        std::ptr::eq((*header).eoh_methods, &METHODS.0).then(|| header.cast())
    }
}

/// The tally behind an expanded `coco`; None for a stored one.
pub(super) unsafe fn tally_of<'a>(datum: pg_sys::Datum) -> Option<&'a Tally> {
    unsafe { object_of(datum).map(|object| &*(*object).tally) }
}

/// Applies a change to a `coco`: in place where the datum allows it, otherwise to a new expanded
/// object that lives as long as `lifetime`. Returns the datum of the result.
pub(super) unsafe fn change(
    datum: pg_sys::Datum,
    lifetime: pg_sys::MemoryContext,
    apply: impl FnOnce(&mut Tally),
) -> Result<pg_sys::Datum> {
    unsafe {
        let writable = expanded_tag(datum) == Some(pg_sys::vartag_external::VARTAG_EXPANDED_RW);
        if let Some(object) = object_of(datum).filter(|_| writable) {
            let tally = &mut *(*object).tally;
            let before = tally.distinct_sizes();
            apply(tally);
            account(tally, before)?;
            return Ok(datum);
        }
        let mut tally = match tally_of(datum) {
            Some(tally) => tally.clone(),
            None => {
                let mut tally = Tally::default();
                if let Some(histogram) = <Coco as pgrx::FromDatum>::from_datum(datum, false) {
                    tally.merge(&histogram);
                }
                tally
            }
        };
        apply(&mut tally);
        account(&tally, 0)?;
        Ok(expand(tally, lifetime))
    }
}
