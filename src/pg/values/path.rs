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
        let array =
            names.into_datum().map(|array| unsafe { with_varlena(array, |bytes| Rc::from(bytes)) });
        PathArray(array)
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

/// What a region is called in views: its label.
#[pg_extern(immutable, parallel_safe)]
fn region(path: Array<&str>) -> Option<String> {
    // a path has no NULLs: they are left out, and of nothing else there is no region
    let names = || path.iter().flatten();
    (path.is_empty() || names().next().is_some()).then(|| label(names()))
}
