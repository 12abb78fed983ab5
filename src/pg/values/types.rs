//! `coco`, `bins`, `grid` and what is released of them, `dp_coco`, `dp_ranges`, `dp_grid`, as
//! PostgreSQL types. Only those whose names begin with dp_ say that a mechanism made their values.

use super::expanded;
use super::jsonb::Jsonb;
use super::stored::{StoredValue, input, receive, stored_value};
use crate::coco::{Coco, DpCoco, Tally};
use crate::pg::errors::Result;
use crate::pg::server::select::extension_type;
use crate::ranges::{Bins, CellCounts, DpGrid, DpRanges};
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use pgrx::{FromDatum, IntoDatum};
use std::ffi::{CStr, CString};

/// A type whose values may be states of an aggregation.
trait Expandable: StoredValue {
    /// The value behind a datum in the course of an aggregation.
    ///
    /// # Safety
    /// The datum is one of the SQL type, and not NULL.
    unsafe fn of_expanded(_: pg_sys::Datum) -> Option<Self> {
        None
    }
}

impl Expandable for Coco {
    unsafe fn of_expanded(datum: pg_sys::Datum) -> Option<Coco> {
        // SAFETY: the caller's promise.
        unsafe { expanded::state_of::<Tally>(datum) }.map(Tally::histogram)
    }
}

impl Expandable for Bins {
    unsafe fn of_expanded(datum: pg_sys::Datum) -> Option<Bins> {
        // SAFETY: the caller's promise.
        unsafe { expanded::state_of::<Bins>(datum) }.cloned()
    }
}

impl Expandable for CellCounts {
    unsafe fn of_expanded(datum: pg_sys::Datum) -> Option<CellCounts> {
        // SAFETY: the caller's promise.
        unsafe { expanded::state_of::<CellCounts>(datum) }.cloned()
    }
}

impl Expandable for DpCoco {}
impl Expandable for DpRanges {}
impl Expandable for DpGrid {}

/// The value behind a datum.
///
/// # Safety
/// The datum is one of the SQL type, and not NULL.
unsafe fn value_of<T: Expandable>(datum: pg_sys::Datum) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::of_expanded(datum).unwrap_or_else(|| stored_value(datum).unwrap_or_report()) }
}

/// How values pass between SQL and Rust, and the functions that CREATE TYPE names.
macro_rules! sql_type {
    ($type:ty: $in:ident, $out:ident, $recv:ident, $send:ident, $to_jsonb:ident) => {
        impl FromDatum for $type {
            unsafe fn from_polymorphic_datum(
                datum: pg_sys::Datum,
                is_null: bool,
                _: Oid,
            ) -> Option<$type> {
                // SAFETY: PostgreSQL gives a datum of the type that the SQL function declares.
                (!is_null).then(|| unsafe { value_of(datum) })
            }
        }

        impl IntoDatum for $type {
            fn into_datum(self) -> Option<pg_sys::Datum> {
                self.bytes().into_datum()
            }

            fn type_oid() -> Oid {
                // the extension's schema need not be on the search path
                extension_type(<$type>::NAME).unwrap_or_report()
            }
        }

        // SAFETY: it is taken from the datum as `FromDatum` says.
        unsafe impl<'fcx> ArgAbi<'fcx> for $type {
            unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> $type {
                // SAFETY: the caller's promise: an argument of this type.
                unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
            }
        }

        // SAFETY: it is returned as the datum that `IntoDatum` makes.
        unsafe impl BoxRet for $type {
            unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
                match self.into_datum() {
                    // SAFETY: a new value of the type that the function declares.
                    Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
                    None => fcinfo.return_null(),
                }
            }
        }

        #[pg_extern(immutable, parallel_safe)]
        fn $in(text: &CStr) -> Result<$type> {
            input(text)
        }

        #[pg_extern(immutable, parallel_safe)]
        fn $out(value: $type) -> CString {
            CString::new(value.text()).expect("the text form has no zero byte")
        }

        #[pg_extern(immutable, parallel_safe)]
        fn $recv(buffer: Internal) -> Result<$type> {
            receive(buffer)
        }

        #[pg_extern(immutable, parallel_safe)]
        fn $send(value: $type) -> Vec<u8> {
            value.bytes()
        }

        #[pg_extern(immutable, parallel_safe)]
        fn $to_jsonb(value: $type) -> Jsonb {
            Jsonb::of_text(&value.json())
        }
    };
}

sql_type!(Coco: coco_in, coco_out, coco_recv, coco_send, coco_to_jsonb);
sql_type!(DpCoco: dp_coco_in, dp_coco_out, dp_coco_recv, dp_coco_send, dp_coco_to_jsonb);
sql_type!(Bins: bins_in, bins_out, bins_recv, bins_send, bins_to_jsonb);
sql_type!(
    DpRanges: dp_ranges_in, dp_ranges_out, dp_ranges_recv, dp_ranges_send, dp_ranges_to_jsonb
);
sql_type!(CellCounts: grid_in, grid_out, grid_recv, grid_send, grid_to_jsonb);
sql_type!(DpGrid: dp_grid_in, dp_grid_out, dp_grid_recv, dp_grid_send, dp_grid_to_jsonb);
