//! Paths of regions as arrays of texts.

use super::varlena::with_varlena;
use crate::path::{Path, label};
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::*;
use std::rc::Rc;

/// A path that is returned in many rows: the array is built once.
#[derive(Clone)]
pub(crate) struct PathArray(Option<Rc<[u8]>>);

impl PathArray {
    pub(crate) fn new(path: &Path) -> PathArray {
        let names: Vec<&str> = path.names().collect();
        // SAFETY: an array is a varlena, and this one was just made.
        let bytes = |array| unsafe { with_varlena(array, |bytes| Rc::from(bytes)) };
        PathArray(TextArray(&names).into_datum().map(bytes))
    }
}

impl IntoDatum for PathArray {
    fn into_datum(self) -> Option<Datum> {
        (*self.0?).into_datum() // a varlena of these bytes, which is the array's
    }

    fn type_oid() -> Oid {
        Vec::<String>::type_oid()
    }
}

// SAFETY: it returns a datum of the type that `SqlTranslatable` names.
unsafe impl BoxRet for PathArray {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> pgrx::datum::Datum<'fcx> {
        match self.into_datum() {
            // SAFETY: the datum was just made.
            Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
            None => fcinfo.return_null(),
        }
    }
}

impl_sql_translatable!(PathArray, "TEXT[]");

/// An array of texts. (Of a vector of them pgrx makes one that grows, in three times the time.)
pub(crate) struct TextArray<'a>(pub(crate) &'a [&'a str]);

impl IntoDatum for TextArray<'_> {
    fn into_datum(self) -> Option<Datum> {
        let mut texts: Vec<Datum> = self.0.iter().filter_map(|text| text.into_datum()).collect();
        // SAFETY: so many texts, which are of varying length, and begin where an integer may. They are copied.
        unsafe {
            Some(Datum::from(pg_sys::construct_array(
                texts.as_mut_ptr(),
                texts.len() as i32,
                pg_sys::TEXTOID,
                -1,
                false,
                pg_sys::TYPALIGN_INT as std::ffi::c_char,
            )))
        }
    }

    fn type_oid() -> Oid {
        pg_sys::TEXTARRAYOID
    }
}

/// What a region is called in views: its label.
#[pg_extern(immutable, parallel_safe)]
fn region(path: Array<&str>) -> Option<String> {
    // a path has no NULLs: they are left out, and of nothing else there is no region
    let names = || path.iter().flatten();
    (path.is_empty() || names().next().is_some()).then(|| label(names()))
}
