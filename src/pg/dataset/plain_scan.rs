//! Plans that do nothing but scan tables, carried out page by page.
//!
//! For each row that the executor passes on it does more than is to be done with it here. So of a
//! plan that takes columns as they are stored, of all rows of one table or of one after the other,
//! the executor only makes what it begins with: it checks and opens the tables. PostgreSQL then
//! reads the pages and says which of their rows the snapshot sees; these are taken apart in place.

use super::tuples::Tuples;
use pgrx::pg_sys::{Datum, NodeTag};
use pgrx::prelude::*;
use std::ptr::null_mut;

/// A scan of one table.
pub(super) struct PlainScan {
    table: pg_sys::Relation,
    /// The attribute of each column, from 0.
    columns: Vec<usize>,
}

/// The scans that a plan consists of; None if it does anything else. Only of tables of access
/// method `heap`.
///
/// # Safety
/// The executor has been started, with tables of that access method alone.
pub(super) unsafe fn plain_scans(state: *mut pg_sys::PlanState) -> Option<Vec<PlainScan>> {
    // SAFETY: the caller's promise; a state's tag says what it is, and its children are states, too.
    unsafe {
        if !(*state).qual.is_null() || !(*state).initPlan.is_null() {
            return None;
        }
        match (*state).type_ {
            NodeTag::T_SeqScanState => {
                let table = (*state.cast::<pg_sys::SeqScanState>()).ss.ss_currentRelation;
                Some(vec![PlainScan { table, columns: stored_columns((*state).plan)? }])
            }
            NodeTag::T_AppendState => {
                let append = &*state.cast::<pg_sys::AppendState>();
                if !append.as_prune_state.is_null() {
                    return None;
                }
                let mut scans = Vec::new();
                for part in 0..append.as_nplans as usize {
                    scans.extend(plain_scans(*append.appendplans.add(part))?);
                }
                Some(scans)
            }
            _ => None,
        }
    }
}

/// The attributes that a scan returns; None if it returns anything else.
///
/// # Safety
/// It is the plan of a scan.
unsafe fn stored_columns(plan: *const pg_sys::Plan) -> Option<Vec<usize>> {
    // SAFETY: the caller's promise; the list holds such entries, and a tag says what one is of.
    unsafe {
        let entry = |n| pg_sys::list_nth((*plan).targetlist, n).cast::<pg_sys::TargetEntry>();
        let column = |n| {
            let value = (*entry(n)).expr.cast::<pg_sys::Var>();
            let is_column = (*value).xpr.type_ == NodeTag::T_Var;
            // the system's own have negative numbers, whole rows 0
            is_column.then(|| usize::try_from(i32::from((*value).varattno) - 1).ok()).flatten()
        };
        (0..pg_sys::list_length((*plan).targetlist)).map(column).collect()
    }
}

impl PlainScan {
    /// Gives the columns of each row that the active snapshot sees to `visit`, as long as it says
    /// that there should be more. Returns whether it still did at the end.
    ///
    /// # Safety
    /// As for [`plain_scans`]; the executor has not ended.
    pub(super) unsafe fn run(self, mut visit: impl FnMut(&[Datum], &[bool]) -> bool) -> bool {
        use pg_sys::ScanOptions::{
            SO_ALLOW_PAGEMODE, SO_ALLOW_STRAT, SO_ALLOW_SYNC, SO_TYPE_SEQSCAN,
        };
        const LIKE_THE_EXECUTOR: u32 =
            SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_SYNC | SO_ALLOW_PAGEMODE;
        // SAFETY: the caller's promise: the table is open, and a scan of a heap has such a state.
        // It says which page is pinned, until the next row is asked for, and which of its rows are
        // visible.
        unsafe {
            let mut tuples = Tuples::new((*self.table).rd_att, self.columns);
            let scan = pg_sys::heap_beginscan(
                self.table,
                pg_sys::GetActiveSnapshot(),
                0,
                null_mut(),
                null_mut(),
                LIKE_THE_EXECUTOR,
            );
            let state = scan.cast::<pg_sys::HeapScanDescData>();
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let mut more = true;
            while more && !pg_sys::heap_getnext(scan, forward).is_null() {
                let page = pg_sys::BufferGetPage((*state).rs_cbuf).cast::<u8>();
                let items = &raw const (*page.cast::<pg_sys::PageHeaderData>()).pd_linp;
                let items = items.cast::<pg_sys::ItemIdData>();
                let visible = &(&(*state).rs_vistuples)[..(*state).rs_ntuples as usize];
                more = visible.iter().all(|&number| {
                    let item = &*items.add(usize::from(number) - 1);
                    let (values, nulls) =
                        tuples.take_apart(page.add(item.lp_off() as usize).cast());
                    visit(values, nulls)
                });
                // so that the next row is the first one of another page
                (*state).rs_cindex = (*state).rs_ntuples - 1;
            }
            pg_sys::heap_endscan(scan);
            more
        }
    }
}
