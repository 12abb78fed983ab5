//! Plans that do nothing but scan tables, carried out page by page.
//!
//! For each row that the executor passes on it does more than is to be done with it here. So of a
//! plan that takes columns as they are stored, of all rows of one table or of one after the other,
//! the executor only makes what it begins with: it checks and opens the tables. PostgreSQL then
//! reads the pages and says which of their rows the snapshot sees; these are taken apart in place, or
//! by another thread in a copy of the page.

use super::pages::{PageHelper, Pages};
use super::stream::{Receiver, RowVisitor};
use super::tuples::{Columns, RowShape, missing_attribute};
use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;
use std::ptr::null_mut;
use std::sync::Arc;

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
    /// Gives the columns of each row that the active snapshot sees to the receiver, or to its helper,
    /// as long as there should be more. Returns whether there still should be at the end.
    ///
    /// # Safety
    /// As for [`plain_scans`]; the executor has not ended.
    pub(super) unsafe fn run<V: RowVisitor>(self, receiver: &mut Receiver<V>) -> bool {
        // SAFETY: the caller's promise: the table is open, and has these columns.
        unsafe {
            let descriptor = (*self.table).rd_att;
            let mut run = Run {
                descriptor,
                shape: Arc::new(RowShape::new(descriptor, self.columns)),
                columns: Columns::default(),
                receiver,
                empty: None,
            };
            let mut scan = HeapScan::begin(self.table);
            let mut more = true;
            while more {
                let (any, wanted) = if run.receiver.helper().is_some_and(PageHelper::is_free) {
                    (run.give_pages(&mut scan), true)
                } else {
                    run.take_pages(&mut scan)
                };
                more = wanted && run.take_what_is_left(false);
                if !any {
                    break;
                }
            }
            more = more && run.take_what_is_left(true);
            scan.end();
            more
        }
    }
}

/// A scan that goes on.
struct Run<'a, V: RowVisitor> {
    descriptor: pg_sys::TupleDesc,
    shape: Arc<RowShape>,
    columns: Columns,
    receiver: &'a mut Receiver<V>,
    /// To be filled again.
    empty: Option<Pages>,
}

/// How many pages are read between two looks at who takes them.
const PAGES: usize = Pages::MOST;

impl<V: RowVisitor> Run<'_, V> {
    /// Takes the rows of the next pages. Returns whether there were any pages, and whether there
    /// should be more rows.
    ///
    /// # Safety
    /// The scan is one of the table, which is open.
    unsafe fn take_pages(&mut self, scan: &mut HeapScan) -> (bool, bool) {
        for _ in 0..PAGES {
            // SAFETY: the caller's promise.
            let Some(page) = (unsafe { scan.next_page() }) else { return (false, true) };
            // SAFETY: these are rows of the table, on a page that stays until the next one is read.
            let mut rows = page.rows().map(|offset| unsafe { page.begin.add(offset.into()) });
            // SAFETY: as above.
            if !rows.all(|row| unsafe { self.take(row.cast()) }) {
                return (true, false);
            }
        }
        (true, true)
    }

    /// Copies the next pages for the helper. Returns whether there were any.
    ///
    /// # Safety
    /// As for [`Run::take_pages`].
    unsafe fn give_pages(&mut self, scan: &mut HeapScan) -> bool {
        let new = || Pages::new(self.shape.clone(), self.receiver.columns().into());
        let mut pages = self.empty.take().map_or_else(new, Pages::emptied);
        while pages.len() < PAGES {
            // SAFETY: the caller's promise.
            let Some(page) = (unsafe { scan.next_page() }) else { break };
            // SAFETY: such a page, with rows of the table.
            unsafe { pages.copy(page.begin, page.rows()) };
        }
        let any = pages.len() > 0;
        if any && let Some(helper) = self.receiver.helper() {
            helper.give(pages);
        }
        any
    }

    /// Takes the rows that the helper has left of pages that it was given, or that it still has if it
    /// is to be waited for. Returns whether there should be more.
    ///
    /// # Safety
    /// As for [`Run::take_pages`].
    unsafe fn take_what_is_left(&mut self, wait: bool) -> bool {
        while let Some(pages) = self.receiver.helper().and_then(|helper| helper.done(wait)) {
            // SAFETY: copies of rows of the table.
            if !pages.rows().all(|row| unsafe { self.take(row) }) {
                return false;
            }
            self.empty = Some(pages);
        }
        true
    }

    /// # Safety
    /// A row of the table, which is open.
    #[inline]
    unsafe fn take(&mut self, row: *const pg_sys::HeapTupleHeaderData) -> bool {
        let Run { descriptor, shape, columns, receiver, .. } = self;
        // SAFETY: the caller's promise; an attribute of the table.
        let mut missing = |number| Some(unsafe { missing_attribute(*descriptor, number) });
        // SAFETY: the caller's promise.
        unsafe { shape.take_apart(row, columns, &mut missing) };
        receiver.take(&columns.values, &columns.nulls)
    }
}

/// A scan of a heap, page by page.
struct HeapScan {
    scan: pg_sys::TableScanDesc,
    /// Asked for more, PostgreSQL would begin anew.
    is_over: bool,
}

/// A page that is pinned until the next one is read.
struct PinnedPage<'a> {
    begin: *const u8,
    /// The numbers of the rows that the snapshot sees.
    visible: &'a [pg_sys::OffsetNumber],
}

impl HeapScan {
    /// # Safety
    /// The table is open and a heap.
    unsafe fn begin(table: pg_sys::Relation) -> HeapScan {
        use pg_sys::ScanOptions::{
            SO_ALLOW_PAGEMODE, SO_ALLOW_STRAT, SO_ALLOW_SYNC, SO_TYPE_SEQSCAN,
        };
        const LIKE_THE_EXECUTOR: u32 =
            SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_SYNC | SO_ALLOW_PAGEMODE;
        // SAFETY: the caller's promise.
        let scan = unsafe {
            pg_sys::heap_beginscan(
                table,
                pg_sys::GetActiveSnapshot(),
                0,
                null_mut(),
                null_mut(),
                LIKE_THE_EXECUTOR,
            )
        };
        HeapScan { scan, is_over: false }
    }

    /// The next page that has rows.
    ///
    /// # Safety
    /// The table is still open.
    unsafe fn next_page(&mut self) -> Option<PinnedPage<'_>> {
        // SAFETY: the caller's promise. A scan of a heap has such a state. It says which page is
        // pinned, until the next row is asked for, and which of its rows are visible.
        unsafe {
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            if self.is_over || pg_sys::heap_getnext(self.scan, forward).is_null() {
                self.is_over = true;
                return None;
            }
            let state = &mut *self.scan.cast::<pg_sys::HeapScanDescData>();
            // so that the next row is the first one of another page
            state.rs_cindex = state.rs_ntuples - 1;
            Some(PinnedPage {
                begin: pg_sys::BufferGetPage(state.rs_cbuf).cast::<u8>(),
                visible: &state.rs_vistuples[..state.rs_ntuples as usize],
            })
        }
    }

    /// # Safety
    /// As for [`HeapScan::next_page`].
    unsafe fn end(self) {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::heap_endscan(self.scan) };
    }
}

impl PinnedPage<'_> {
    /// Where the visible rows lie, from the page's beginning.
    fn rows(&self) -> impl Iterator<Item = u16> {
        // SAFETY: a page has an item for each of its rows after its header, and stays.
        let items = unsafe { (&raw const (*self.begin.cast::<pg_sys::PageHeaderData>()).pd_linp) };
        let items = items.cast::<pg_sys::ItemIdData>();
        // SAFETY: as above.
        let item = move |number| unsafe { &*items.add(usize::from(number) - 1) };
        self.visible.iter().map(move |&number| item(number).lp_off() as u16)
    }
}
