//! How values of the confidential and the released types are written: as text, as bytes, as JSON. On
//! disk each is a varlena with a version byte and what follows it.

use super::varlena::with_varlena;
use crate::coco::{self, Coco, DpCoco};
use crate::pg::errors::{Result, error};
use crate::ranges::{
    self, Bins, CellCounts, DpGrid, DpGridFormatError, DpRanges, DpRangesFormatError,
};
use pgrx::datum::Internal;
use pgrx::prelude::*;
use std::ffi::CStr;

/// A type of values that PostgreSQL stores.
pub(crate) trait StoredValue: Sized {
    const NAME: &'static str;
    /// How a value is written.
    const HINT: &'static str;
    type FormatError: std::error::Error;

    fn read_text(text: &str) -> std::result::Result<Self, Self::FormatError>;
    fn text(&self) -> String;
    fn read_bytes(bytes: &[u8]) -> std::result::Result<Self, Self::FormatError>;
    fn bytes(&self) -> Vec<u8>;
    fn json(&self) -> String;
}

impl StoredValue for Coco {
    const NAME: &'static str = "coco";
    const HINT: &'static str =
        "A histogram is written {size:groups, ...}, for example {1:2, 2:1, 4:1}.";
    type FormatError = coco::CocoFormatError;

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
}

impl StoredValue for DpCoco {
    const NAME: &'static str = "dp_coco";
    const HINT: &'static str = Coco::HINT;
    type FormatError = coco::CocoFormatError;

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

impl StoredValue for Bins {
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
}

impl StoredValue for DpRanges {
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

impl StoredValue for CellCounts {
    const NAME: &'static str = "grid";
    const HINT: &'static str = "A grid is written [lo,hi)x[lo,hi){row/column:count, ...}, for example \
                                [0,100)x[0,24){17/8:2, 42/9:5}.";
    type FormatError = ranges::GridFormatError;

    fn read_text(text: &str) -> std::result::Result<CellCounts, Self::FormatError> {
        CellCounts::parse(text)
    }
    fn text(&self) -> String {
        self.to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<CellCounts, Self::FormatError> {
        CellCounts::from_bytes(bytes)
    }
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn json(&self) -> String {
        self.to_json()
    }
}

impl StoredValue for DpGrid {
    const NAME: &'static str = "dp_grid";
    const HINT: &'static str =
        "It is written as its cast to jsonb gives it; dp_grid_release makes it.";
    type FormatError = DpGridFormatError;

    fn read_text(text: &str) -> std::result::Result<DpGrid, Self::FormatError> {
        DpGrid::parse(text)
    }
    fn text(&self) -> String {
        self.to_text()
    }
    fn read_bytes(bytes: &[u8]) -> std::result::Result<DpGrid, Self::FormatError> {
        DpGrid::from_bytes(bytes)
    }
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
    fn json(&self) -> String {
        self.text()
    }
}

/// The value of a stored datum.
///
/// # Safety
/// The datum is one of the SQL type, and not NULL.
pub(super) unsafe fn stored_value<T: StoredValue>(datum: pg_sys::Datum) -> Result<T> {
    // SAFETY: the caller's promise: these types are varlenas.
    unsafe { with_varlena(datum, read_stored) }
}

/// The value of a varlena's bytes. Error: they are damaged.
fn read_stored<T: StoredValue>(bytes: &[u8]) -> Result<T> {
    T::read_bytes(bytes).map_err(|reason| {
        error(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("cannot read a stored value of type {}: {reason}", T::NAME),
        )
    })
}

pub(super) fn input<T: StoredValue>(text: &CStr) -> Result<T> {
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
pub(super) fn receive<T: StoredValue>(buffer: Internal) -> Result<T> {
    let buffer = buffer.unwrap().expect("receive functions get a buffer");
    // SAFETY: PostgreSQL alone calls functions with arguments of type internal, and gives a receive
    // function the buffer of a message that it has read up to the cursor.
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
