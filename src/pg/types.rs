//! `coco`, `dp_coco`, `bins` and `dp_ranges` as PostgreSQL types. On disk each is a varlena with a version byte
//! and what follows it; only the types whose names begin with dp_ say that a mechanism made them.

use super::errors::{Result, error};
use super::expanded;
use super::jsonb::Jsonb;
use crate::coco::{self, Coco, DpCoco, Tally};
use crate::ranges::{self, Bins, DpRanges, DpRangesFormatError};
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use pgrx::{FromDatum, IntoDatum, varlena_to_byte_slice};
use std::ffi::{CStr, CString};

/// A type of values that PostgreSQL stores.
pub(super) trait Stored: Sized {
    const NAME: &'static str;
    /// How a value is written.
    const HINT: &'static str;
    type FormatError: std::error::Error;

    fn read_text(text: &str) -> std::result::Result<Self, Self::FormatError>;
    fn text(&self) -> String;
    fn read_bytes(bytes: &[u8]) -> std::result::Result<Self, Self::FormatError>;
    fn bytes(&self) -> Vec<u8>;
    fn json(&self) -> String;

    /// The value behind a datum in the course of an aggregation.
    unsafe fn of_expanded(_: pg_sys::Datum) -> Option<Self> {
        None
    }
}

/// The value behind a datum.
pub(super) unsafe fn value_of<T: Stored>(datum: pg_sys::Datum) -> T {
    unsafe {
        if let Some(value) = T::of_expanded(datum) {
            return value;
        }
        let stored = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        read_stored(varlena_to_byte_slice(stored)).unwrap_or_report()
    }
}

/// The value of a varlena's bytes. Error: they are damaged.
pub(super) fn read_stored<T: Stored>(bytes: &[u8]) -> Result<T> {
    T::read_bytes(bytes).map_err(|reason| {
        error(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("cannot read a stored value of type {}: {reason}", T::NAME),
        )
    })
}

impl Stored for Coco {
    const NAME: &'static str = "coco";
    const HINT: &'static str =
        "A histogram is written {size:groups, ...}, for example {1:2, 2:1, 4:1}.";
    type FormatError = coco::FormatError;

    fn read_text(text: &str) -> std::result::Result<Coco, Self::FormatError> {
        Coco::parse(text)
    }
    fn text(&self) -> String {
        self.to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<Coco, Self::FormatError> {
        Coco::from_bytes(bytes)
    }
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn json(&self) -> String {
        self.to_json()
    }
    unsafe fn of_expanded(datum: pg_sys::Datum) -> Option<Coco> {
        unsafe { expanded::state_of::<Tally>(datum) }.map(Tally::histogram)
    }
}

impl Stored for DpCoco {
    const NAME: &'static str = "dp_coco";
    const HINT: &'static str = Coco::HINT;
    type FormatError = coco::FormatError;

    fn read_text(text: &str) -> std::result::Result<DpCoco, Self::FormatError> {
        Coco::parse(text).map(DpCoco::new)
    }
    fn text(&self) -> String {
        self.histogram().to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<DpCoco, Self::FormatError> {
        Coco::from_bytes(bytes).map(DpCoco::new)
    }
    fn bytes(&self) -> Vec<u8> {
        self.histogram().to_bytes()
    }
    fn json(&self) -> String {
        self.histogram().to_json()
    }
}

impl Stored for Bins {
    const NAME: &'static str = "bins";
    const HINT: &'static str =
        "Bins are written [lo,hi){bin:count, ...}, for example [0,100){17:2, 42:5}.";
    type FormatError = ranges::BinsFormatError;

    fn read_text(text: &str) -> std::result::Result<Bins, Self::FormatError> {
        Bins::parse(text)
    }
    fn text(&self) -> String {
        self.to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<Bins, Self::FormatError> {
        Bins::from_bytes(bytes)
    }
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn json(&self) -> String {
        self.to_json()
    }
    unsafe fn of_expanded(datum: pg_sys::Datum) -> Option<Bins> {
        unsafe { expanded::state_of::<Bins>(datum) }.cloned()
    }
}

impl Stored for DpRanges {
    const NAME: &'static str = "dp_ranges";
    const HINT: &'static str =
        "It is written as its cast to jsonb gives it; dp_range_release makes it.";
    type FormatError = DpRangesFormatError;

    fn read_text(text: &str) -> std::result::Result<DpRanges, Self::FormatError> {
        DpRanges::parse(text)
    }
    fn text(&self) -> String {
        self.to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<DpRanges, Self::FormatError> {
        DpRanges::from_bytes(bytes)
    }
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn json(&self) -> String {
        self.text()
    }
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
                (!is_null).then(|| unsafe { value_of(datum) })
            }
        }

        impl IntoDatum for $type {
            fn into_datum(self) -> Option<pg_sys::Datum> {
                self.bytes().into_datum()
            }

            fn type_oid() -> Oid {
                // the extension's schema need not be on the search path
                super::session::extension_type(<$type>::NAME).unwrap_or_report()
            }
        }

        unsafe impl<'fcx> ArgAbi<'fcx> for $type {
            unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> $type {
                unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
            }
        }

        unsafe impl BoxRet for $type {
            unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
                match self.into_datum() {
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
sql_type!(DpRanges: dp_ranges_in, dp_ranges_out, dp_ranges_recv, dp_ranges_send, dp_ranges_to_jsonb);

fn input<T: Stored>(text: &CStr) -> Result<T> {
    let invalid = |reason: String| {
        error(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input for type {}: {reason}", T::NAME),
        )
        .set_hint(T::HINT)
    };
    let text = text.to_str().map_err(|e| invalid(e.to_string()))?;
    T::read_text(text).map_err(|e| invalid(e.to_string()))
}

/// The value in what is left of the message in a receive function's buffer.
fn receive<T: Stored>(buffer: Internal) -> Result<T> {
    let buffer = buffer.unwrap().expect("receive functions get a buffer");
    let bytes = unsafe {
        let buffer = &mut *buffer.cast_mut_ptr::<pg_sys::StringInfoData>();
        let left = usize::try_from(buffer.len - buffer.cursor).unwrap_or(0);
        let begin = buffer.data.add(buffer.cursor as usize).cast::<u8>();
        buffer.cursor = buffer.len;
        std::slice::from_raw_parts(begin, left)
    };
    T::read_bytes(bytes).map_err(|reason| {
        error(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid binary input for type {}: {reason}", T::NAME),
        )
    })
}
