//! The rows of a release: how many groups of each size each region has.

use crate::pg::release::stored::ReleasedRegions;
use crate::pg::server::returned_rows::ReturnedRows;
use crate::pg::values::path::TextArray;
use crate::work::done;
use pgrx::callconv::{CallCx, RetAbi};
use pgrx::memcxt::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo};
use pgrx::prelude::*;

/// Of one region after the other: level, path, size, groups.
pub(crate) struct ReleaseRows(pub(crate) ReleasedRegions);

type Rows = ReturnedRows<4>;

/// Between these it can be cancelled.
const ROWS_AT_A_TIME: usize = 1 << 10;

impl ReleaseRows {
    fn store(self, rows: &mut Rows) {
        let mut of_region = PgMemoryContexts::new("pg_dp: a region's path");
        for (path, histogram) in self.0 {
            done(1);
            // SAFETY: of the path's array nothing is left when its memory is reset: rows are copies. They
            // are an int4, an array of texts and two int8, as what returns them is declared.
            unsafe {
                let names: Vec<&str> = path.names().collect();
                let level = Datum::from(names.len() as i32);
                let array = of_region
                    .switch_to(|_| TextArray(&names).into_datum())
                    .unwrap_or(Datum::null());
                for some in histogram.histogram().runs().chunks(ROWS_AT_A_TIME) {
                    done(some.len() as u64);
                    rows.add(some.iter().map(|run| {
                        let [size, groups] = [run.size, run.groups].map(|n| Datum::from(n as i64));
                        [level, array, size, groups]
                    }));
                }
                of_region.reset();
            }
        }
    }
}

// SAFETY: the rows go where the caller of a function that returns a table looks for them, and no
// value is returned besides.
unsafe impl RetAbi for ReleaseRows {
    type Item = ReleaseRows;
    type Ret = ReleaseRows;

    unsafe fn check_fcinfo_and_prepare(call: FunctionCallInfo) -> CallCx {
        // SAFETY: functions with these rows are declared to return a table.
        unsafe {
            Rows::prepare(call);
            CallCx::WrappedFn(pg_sys::CurrentMemoryContext)
        }
    }

    fn to_ret(self) -> ReleaseRows {
        self
    }

    unsafe fn box_ret_in_fcinfo(call: FunctionCallInfo, released: ReleaseRows) -> Datum {
        // SAFETY: it was prepared before the function was called.
        released.store(&mut unsafe { Rows::of(call) });
        Datum::null()
    }

    unsafe fn move_into_fcinfo_fcx(self, _call: FunctionCallInfo) {}

    unsafe fn fill_fcinfo_fcx(&self, _call: FunctionCallInfo) {}
}

impl_sql_translatable!(ReleaseRows, "TABLE (level INT, path TEXT[], size BIGINT, groups BIGINT)");
