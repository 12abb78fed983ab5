//! The running states of `coco_agg`, `bins_agg` and `grid_agg`: expanded objects of the types
//! `coco`, `bins` and `grid`.
//!
//! An aggregate's transition type is the type itself, so that partial results can travel between
//! processes and servers. Inside one aggregation the state is a PostgreSQL expanded object around a
//! Rust value, changed in place for every row; PostgreSQL flattens it to the stored form by itself
//! wherever it leaves the aggregation (src/include/utils/expandeddatum.h).

use super::running::Lifetime;
use super::stored::stored_value;
use crate::coco::{MAX_DISTINCT_SIZES, Tally};
use crate::pg::errors::{Result, error};
use crate::ranges::{Bins, CellCounts};
use pgrx::FromDatum;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::{ErrorReport, pgrx_extern_c_guard};
use pgrx::prelude::*;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of all states in this process, in bytes. Rust's memory is outside of work_mem, and
/// running out of it would end the server.
static USED: AtomicUsize = AtomicUsize::new(0);

/// What [`USED`] may come to: about 2.5 gigabytes.
const ROOM: usize = 6 * MAX_DISTINCT_SIZES * BYTES_PER_SIZE;

/// A value that is built up row by row.
pub(crate) trait State: Clone {
    /// For the names of memory contexts.
    const NAME: &'static CStr;
    /// What marks an expanded object as one around this type: one address for each type.
    fn methods() -> &'static Methods;
    /// Of a stored value.
    ///
    /// # Safety
    /// The datum is one of the SQL type, and not NULL.
    unsafe fn from_flat(datum: pg_sys::Datum) -> Result<Self>;
    fn to_flat(&self) -> Vec<u8>;
    /// About how much memory it takes.
    fn bytes(&self) -> usize;
    /// The most that one of them may take, and the error for more, or for more of all together.
    const MAX_BYTES: usize;
    fn too_large() -> ErrorReport;
}

/// Of a size in a tally's tree, its count and its share of the nodes.
const BYTES_PER_SIZE: usize = 72;

impl State for Tally {
    const NAME: &'static CStr = c"coco";

    fn methods() -> &'static Methods {
        static METHODS: Methods = Methods::of::<Tally>();
        &METHODS
    }

    unsafe fn from_flat(datum: pg_sys::Datum) -> Result<Tally> {
        let mut tally = Tally::default();
        // SAFETY: the caller's promise.
        tally.merge(&unsafe { stored_value(datum) }?);
        Ok(tally)
    }

    fn to_flat(&self) -> Vec<u8> {
        self.histogram().to_bytes()
    }

    fn bytes(&self) -> usize {
        self.distinct_sizes() * BYTES_PER_SIZE
    }

    const MAX_BYTES: usize = MAX_DISTINCT_SIZES * BYTES_PER_SIZE;

    fn too_large() -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "the histograms that are being aggregated have too many different sizes",
        )
        .set_hint(format!(
            "One may have {MAX_DISTINCT_SIZES}, all of a query together {}. Cap the sizes, for \
             example with least(size, 10000).",
            ROOM / BYTES_PER_SIZE
        ))
    }
}

const BYTES_PER_BIN: usize = size_of::<u64>();

impl State for Bins {
    const NAME: &'static CStr = c"bins";

    fn methods() -> &'static Methods {
        static METHODS: Methods = Methods::of::<Bins>();
        &METHODS
    }

    unsafe fn from_flat(datum: pg_sys::Datum) -> Result<Bins> {
        // SAFETY: the caller's promise.
        unsafe { stored_value(datum) }
    }

    fn to_flat(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn bytes(&self) -> usize {
        self.counts().len() * BYTES_PER_BIN
    }

    const MAX_BYTES: usize = ROOM; // the bounds of one are limited where they are made

    fn too_large() -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "the values of type bins that are being aggregated have too many bins together",
        )
        .set_hint(format!(
            "All of a query together may have {}. Aggregate fewer groups at a time, or wider bins.",
            ROOM / BYTES_PER_BIN
        ))
    }
}

const BYTES_PER_CELL: usize = size_of::<u64>();

impl State for CellCounts {
    const NAME: &'static CStr = c"grid";

    fn methods() -> &'static Methods {
        static METHODS: Methods = Methods::of::<CellCounts>();
        &METHODS
    }

    unsafe fn from_flat(datum: pg_sys::Datum) -> Result<CellCounts> {
        // SAFETY: the caller's promise.
        unsafe { stored_value(datum) }
    }

    fn to_flat(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn bytes(&self) -> usize {
        self.counts().len() * BYTES_PER_CELL
    }

    const MAX_BYTES: usize = ROOM; // the bounds of one are limited where they are made

    fn too_large() -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "the values of type grid that are being aggregated have too many cells together",
        )
        .set_hint(format!(
            "All of a query together may have {}. Aggregate fewer groups at a time, or wider bins.",
            ROOM / BYTES_PER_CELL
        ))
    }
}

/// Keeps the books of [`USED`] for a state that took so many bytes before a change.
fn account<S: State>(state: &S, before: usize) -> Result<()> {
    let now = state.bytes();
    let grown = now.saturating_sub(before);
    let all = USED.fetch_add(grown, Ordering::Relaxed) + grown;
    if now > S::MAX_BYTES || all > ROOM { Err(S::too_large()) } else { Ok(()) }
}

#[repr(C)]
struct Expanded<S> {
    header: pg_sys::ExpandedObjectHeader,
    /// Owned; dropped by a callback when the object's memory context goes.
    state: *mut S,
}

pub(crate) struct Methods(pg_sys::ExpandedObjectMethods);
// SAFETY: function pointers alone.
unsafe impl Sync for Methods {}

impl Methods {
    const fn of<S: State>() -> Methods {
        Methods(pg_sys::ExpandedObjectMethods {
            get_flat_size: Some(flat_size::<S>),
            flatten_into: Some(flatten_into::<S>),
        })
    }
}

// #[pg_guard] does not take generic functions
unsafe extern "C-unwind" fn flat_size<S: State>(
    object: *mut pg_sys::ExpandedObjectHeader,
) -> pg_sys::Size {
    // SAFETY: PostgreSQL calls it for objects that have these methods.
    unsafe { pgrx_extern_c_guard(|| pg_sys::VARHDRSZ + flat_bytes::<S>(object).len()) }
}

unsafe extern "C-unwind" fn flatten_into<S: State>(
    object: *mut pg_sys::ExpandedObjectHeader,
    result: *mut c_void,
    allocated: pg_sys::Size,
) {
    // SAFETY: as above, with room for as many bytes as `flat_size` has said.
    unsafe {
        pgrx_extern_c_guard(|| {
            let bytes = flat_bytes::<S>(object);
            assert_eq!(allocated, pg_sys::VARHDRSZ + bytes.len());
            pgrx::set_varsize_4b(result.cast(), allocated as i32);
            let data = result.cast::<u8>().add(pg_sys::VARHDRSZ);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
        });
    }
}

/// # Safety
/// The object is an [`Expanded`] of `S`.
unsafe fn flat_bytes<S: State>(object: *mut pg_sys::ExpandedObjectHeader) -> Vec<u8> {
    // SAFETY: the caller's promise; nobody changes the state meanwhile.
    unsafe { (*(*object.cast::<Expanded<S>>()).state).to_flat() }
}

unsafe extern "C-unwind" fn drop_state<S: State>(state: *mut c_void) {
    // SAFETY: PostgreSQL calls it once, when the object's memory context goes, with the state that
    // `expand` has given it.
    unsafe {
        pgrx_extern_c_guard(|| {
            let state = Box::from_raw(state.cast::<S>());
            USED.fetch_sub(state.bytes(), Ordering::Relaxed);
        });
    }
}

/// # Safety
/// The context lives; zeros are a value of `T`.
unsafe fn allocate<T>(context: pg_sys::MemoryContext) -> *mut T {
    // SAFETY: the caller's promise.
    unsafe { pg_sys::MemoryContextAllocZero(context, size_of::<T>()).cast() }
}

/// The external varlena tag (varattrib_1b_e) of an expanded object, if the datum is one.
///
/// # Safety
/// The datum is a varlena's.
unsafe fn expanded_tag(datum: pg_sys::Datum) -> Option<u32> {
    let varlena = datum.cast_mut_ptr::<pg_sys::varlena>();
    // SAFETY: the caller's promise; the tag is read only of a varlena that has one.
    unsafe {
        let tag = || u32::from((*varlena.cast::<pg_sys::varattrib_1b_e>()).va_tag);
        (pgrx::varatt_is_1b_e(varlena))
            .then(tag)
            .filter(|tag| tag & !1 == pg_sys::vartag_external::VARTAG_EXPANDED_RO)
    }
}

/// # Safety
/// The datum is a varlena's.
unsafe fn object_of<S: State>(datum: pg_sys::Datum) -> Option<*mut Expanded<S>> {
    // SAFETY: the caller's promise; an object with these methods is an `Expanded<S>`.
    unsafe {
        expanded_tag(datum)?;
        let header = pg_sys::DatumGetEOHP(datum);
        // any other expanded object (there is none of the same type) is left to PostgreSQL
        std::ptr::eq((*header).eoh_methods, &S::methods().0).then(|| header.cast())
    }
}

/// The state behind an expanded datum; None for a stored one.
///
/// # Safety
/// The datum is a varlena's, and lives as long as the state is used, which nobody changes
/// meanwhile.
pub(super) unsafe fn state_of<'a, S: State>(datum: pg_sys::Datum) -> Option<&'a S> {
    // SAFETY: the caller's promise; an object's state lives as long as the object.
    unsafe { object_of::<S>(datum).map(|object| &*(*object).state) }
}

/// A value that is being aggregated: the datum itself, so that it can be changed in place.
pub(crate) struct StateDatum<S> {
    datum: pg_sys::Datum,
    state: PhantomData<S>,
}

impl<S: State> StateDatum<S> {
    fn of(datum: pg_sys::Datum) -> StateDatum<S> {
        StateDatum { datum, state: PhantomData }
    }

    /// A new expanded object that lives so long; its datum allows changes in place.
    pub(crate) fn expand(state: S, lifetime: Lifetime) -> Result<StateDatum<S>> {
        // from here on the callback gives the bytes back, also after an error
        let state = Box::into_raw(Box::new(state));
        // SAFETY: the parent lives, and so do the new context and what is allocated there, until
        // the callback drops the state.
        unsafe {
            let context = pg_sys::AllocSetContextCreateInternal(
                lifetime.context,
                S::NAME.as_ptr(),
                pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
                pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
                pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
            );
            let object: *mut Expanded<S> = allocate(context);
            let callback: *mut pg_sys::MemoryContextCallback = allocate(context);
            pg_sys::EOH_init_header(&raw mut (*object).header, &S::methods().0, context);
            (*object).state = state;
            (*callback).func = Some(drop_state::<S>);
            (*callback).arg = state.cast();
            pg_sys::MemoryContextRegisterResetCallback(context, callback);
            account(&*state, 0)?;
            let datum = (&raw mut (*object).header.eoh_rw_ptr).cast::<c_void>();
            Ok(StateDatum::of(pg_sys::Datum::from(datum)))
        }
    }

    /// Applies a change: in place where the datum allows it, otherwise to a new expanded object
    /// that lives as long as `lifetime`.
    pub(crate) fn change(
        self,
        lifetime: Lifetime,
        apply: impl FnOnce(&mut S) -> Result<()>,
    ) -> Result<StateDatum<S>> {
        let datum = self.datum;
        // SAFETY: the datum is an argument of the SQL type, which lives during the call. That it
        // allows changes says that nobody else uses the state.
        let mut state = unsafe {
            let writable = expanded_tag(datum) == Some(pg_sys::vartag_external::VARTAG_EXPANDED_RW);
            if let Some(object) = object_of::<S>(datum).filter(|_| writable) {
                let state = &mut *(*object).state;
                let before = state.bytes();
                apply(state)?;
                account(state, before)?;
                return Ok(self);
            }
            match state_of::<S>(datum) {
                Some(state) => state.clone(),
                None => S::from_flat(datum)?,
            }
        };
        apply(&mut state)?;
        StateDatum::expand(state, lifetime)
    }
}

impl<S: State> FromDatum for StateDatum<S> {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: Oid,
    ) -> Option<StateDatum<S>> {
        (!is_null).then(|| StateDatum::of(datum))
    }
}

// SAFETY: it is the datum itself.
unsafe impl<'fcx, S: State> ArgAbi<'fcx> for StateDatum<S> {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> StateDatum<S> {
        // SAFETY: the caller's promise: an argument of this type.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
    }
}

// SAFETY: it is the datum itself.
unsafe impl<S: State> BoxRet for StateDatum<S> {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: a value of the type that the function declares.
        unsafe { fcinfo.return_raw_datum(self.datum) }
    }
}
