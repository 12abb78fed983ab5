//! `coco` and `dp_coco` as PostgreSQL types. On disk both are a varlena with the bytes of
//! [`Coco::to_bytes`]; only `dp_coco` says that a mechanism made it.

use super::errors::{Result, error};
use super::expanded;
use crate::coco::{Coco, DpCoco, FormatError};
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal, JsonB};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;
use pgrx::{FromDatum, IntoDatum, varlena_to_byte_slice};
use std::ffi::{CStr, CString};

/// A histogram type as PostgreSQL stores it.
trait Stored: Sized {
    const NAME: &'static str;
    fn from_histogram(histogram: Coco) -> Self;
    fn as_histogram(&self) -> &Coco;
}

impl Stored for Coco {
    const NAME: &'static str = "coco";
    fn from_histogram(histogram: Coco) -> Coco {
        histogram
    }
    fn as_histogram(&self) -> &Coco {
        self
    }
}

impl Stored for DpCoco {
    const NAME: &'static str = "dp_coco";
    fn from_histogram(histogram: Coco) -> DpCoco {
        DpCoco::new(histogram)
    }
    fn as_histogram(&self) -> &Coco {
        self.histogram()
    }
}

/// The histogram behind a datum of either type, stored or in the course of an aggregation.
unsafe fn histogram_of(datum: pg_sys::Datum) -> Coco {
    unsafe {
        if let Some(tally) = expanded::tally_of(datum) {
            return tally.histogram();
        }
        let stored = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        Coco::from_bytes(varlena_to_byte_slice(stored)).map_err(damaged).unwrap_or_report()
    }
}

fn damaged(format_error: FormatError) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("cannot read a stored histogram: {format_error}"),
    )
}

macro_rules! datum_conversions {
    ($($histogram:ty),*) => {$(
        impl FromDatum for $histogram {
            unsafe fn from_polymorphic_datum(
                datum: pg_sys::Datum,
                is_null: bool,
                _: Oid,
            ) -> Option<$histogram> {
                (!is_null).then(|| Stored::from_histogram(unsafe { histogram_of(datum) }))
            }
        }

        impl IntoDatum for $histogram {
            fn into_datum(self) -> Option<pg_sys::Datum> {
                self.as_histogram().to_bytes().into_datum()
            }

            fn type_oid() -> Oid {
                // the extension's schema need not be on the search path
                super::session::extension_type(<$histogram>::NAME).unwrap_or_report()
            }
        }

        unsafe impl<'fcx> ArgAbi<'fcx> for $histogram {
            unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> $histogram {
                unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
            }
        }

        unsafe impl BoxRet for $histogram {
            unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
                match self.into_datum() {
                    Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
                    None => fcinfo.return_null(),
                }
            }
        }
    )*};
}

datum_conversions!(Coco, DpCoco);

fn input(text: &CStr, type_name: &str) -> Result<Coco> {
    let invalid = |reason: String| {
        error(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input for type {type_name}: {reason}"),
        )
        .set_hint("A histogram is written {size:groups, ...}, for example {1:2, 2:1, 4:1}.")
    };
    let text = text.to_str().map_err(|e| invalid(e.to_string()))?;
    Coco::parse(text).map_err(|e| invalid(e.to_string()))
}

fn output(histogram: &Coco) -> CString {
    CString::new(histogram.to_string()).expect("the text form has no zero byte")
}

/// What is left of the message in a receive function's buffer.
fn receive(buffer: Internal, type_name: &str) -> Result<Coco> {
    let buffer = buffer.unwrap().expect("receive functions get a buffer");
    let bytes = unsafe {
        let buffer = &mut *buffer.cast_mut_ptr::<pg_sys::StringInfoData>();
        let left = usize::try_from(buffer.len - buffer.cursor).unwrap_or(0);
        let begin = buffer.data.add(buffer.cursor as usize).cast::<u8>();
        buffer.cursor = buffer.len;
        std::slice::from_raw_parts(begin, left)
    };
    Coco::from_bytes(bytes).map_err(|reason| {
        error(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid binary input for type {type_name}: {reason}"),
        )
    })
}

#[pg_extern(immutable, parallel_safe)]
fn coco_in(text: &CStr) -> Result<Coco> {
    input(text, "coco")
}

#[pg_extern(immutable, parallel_safe)]
fn coco_out(histogram: Coco) -> CString {
    output(&histogram)
}

#[pg_extern(immutable, parallel_safe)]
fn coco_recv(buffer: Internal) -> Result<Coco> {
    receive(buffer, "coco")
}

#[pg_extern(immutable, parallel_safe)]
fn coco_send(histogram: Coco) -> Vec<u8> {
    histogram.to_bytes()
}

#[pg_extern(immutable, parallel_safe)]
fn coco_to_jsonb(histogram: Coco) -> JsonB {
    JsonB(histogram.to_json())
}

#[pg_extern(immutable, parallel_safe)]
fn dp_coco_in(text: &CStr) -> Result<DpCoco> {
    input(text, "dp_coco").map(DpCoco::new)
}

#[pg_extern(immutable, parallel_safe)]
fn dp_coco_out(histogram: DpCoco) -> CString {
    output(histogram.histogram())
}

#[pg_extern(immutable, parallel_safe)]
fn dp_coco_recv(buffer: Internal) -> Result<DpCoco> {
    receive(buffer, "dp_coco").map(DpCoco::new)
}

#[pg_extern(immutable, parallel_safe)]
fn dp_coco_send(histogram: DpCoco) -> Vec<u8> {
    histogram.histogram().to_bytes()
}

#[pg_extern(immutable, parallel_safe)]
fn dp_coco_to_jsonb(histogram: DpCoco) -> JsonB {
    JsonB(histogram.histogram().to_json())
}
