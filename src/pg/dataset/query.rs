//! Queries over the tables of a dataset, planned alike whatever the tables hold.
//!
//! What the planner knows of a table (its size, statistics and indexes) comes from its rows, and
//! what it decides shows: in parallel workers, locks, and how far a caller's settings have to go
//! until it decides otherwise. So it is told of every table that it has the same large size, and of
//! no statistics and no index. Nothing of the plan then depends on rows, whatever the caller has
//! set.
//!
//! A query is planned before the charge, by PostgreSQL's own planner, not by one that an extension
//! has put in its place. The relations that its plan reads are compared with those that were
//! checked, and that plan is carried out: a partition that is attached in between is not read.

use super::plain_scan::plain_scans;
use super::relation::Relation;
use super::stream::{EachRow, Receiver, RowVisitor};
use super::streamed_row::StreamedRow;
use crate::pg::errors::{Result, error, internal};
use crate::pg::server::settings::with_workers;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::ffi::{CString, c_int};
use std::ptr::null_mut;

/// A SELECT with its plan, to be carried out once.
pub(crate) struct Query {
    sql: CString,
    plan: *mut pg_sys::PlannedStmt,
}

impl Query {
    /// Plans a SELECT from no other relations than these, with so many parallel workers: how many
    /// there are follows from that number, and what the owner of a table has set for it, alone.
    /// Reads no row.
    ///
    /// Errors: it cannot be carried out, for example as values of a type cannot be compared; it
    /// would read another relation, one that became a part of a table since that was checked.
    pub(crate) fn plan(sql: &str, tables: &[&Relation], workers: i32) -> Result<Query> {
        let sql = CString::new(sql).map_err(internal)?;
        let options = if workers > 0 { pg_sys::CURSOR_OPT_PARALLEL_OK as c_int } else { 0 };
        // SAFETY: the text ends with a zero and is one statement, so that each list has one
        // element; what is made lives in the current memory context, as long as the query is used.
        let plan = unsafe {
            let statements = pg_sys::pg_parse_query(sql.as_ptr());
            let statement = pg_sys::list_nth(statements, 0).cast();
            let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
                statement,
                sql.as_ptr(),
                null_mut(),
                0,
                null_mut(),
            );
            let query = pg_sys::list_nth(queries, 0).cast();
            let _blindfold = Blindfold::put_on();
            let plan = || pg_sys::standard_planner(query, sql.as_ptr(), options, null_mut());
            with_workers(workers, plan)
        };
        let query = Query { sql, plan };
        let is_checked =
            |oid| tables.iter().any(|table| table.parts.iter().any(|part| part.oid == oid));
        if !query.relations().all(is_checked) {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                "the tables of the dataset are being changed",
            )
            .set_hint("A partition is being attached. Nothing was spent; try again."));
        }
        Ok(query)
    }

    /// Whether there is any row.
    pub(crate) fn has_rows(self) -> bool {
        let found = |_: &StreamedRow| Err(());
        self.run(found).is_err()
    }

    /// The relations that the plan reads.
    fn relations(&self) -> impl Iterator<Item = Oid> {
        // SAFETY: the plan lives as long as the query, and its range table is a list of such
        // entries.
        let table = unsafe { (*self.plan).rtable };
        // SAFETY: as above.
        (0..unsafe { pg_sys::list_length(table) }).filter_map(move |n| {
            // SAFETY: as above.
            let entry = unsafe { &*pg_sys::list_nth(table, n).cast::<pg_sys::RangeTblEntry>() };
            (entry.rtekind == pg_sys::RTEKind::RTE_RELATION).then_some(entry.relid)
        })
    }

    /// Carries the plan out under the active snapshot and gives each row to `visit`, up to an
    /// error. Rows of the checked tables alone, which are heaps.
    pub(crate) fn run<V, E>(self, visit: V) -> std::result::Result<(), E>
    where
        V: FnMut(&StreamedRow) -> std::result::Result<(), E>,
    {
        self.give(EachRow(visit))
    }

    /// As [`Query::run`], to someone who may have help.
    pub(crate) fn give<V: RowVisitor>(self, visitor: V) -> std::result::Result<(), V::Error> {
        let mut receiver = Receiver::new(visitor);
        // the standard functions, as what extensions hook in there would count the rows and pages
        // SAFETY: the plan is carried out once, and the receiver outlives that; what fails in
        // between the end of the transaction clears away.
        unsafe {
            let query = pg_sys::CreateQueryDesc(
                self.plan,
                self.sql.as_ptr(),
                pg_sys::GetActiveSnapshot(),
                null_mut(),
                (&raw mut receiver).cast(),
                null_mut(),
                null_mut(),
                0,
            );
            pg_sys::standard_ExecutorStart(query, 0);
            if let Some(scans) = plain_scans((*query).planstate) {
                receiver.start((*query).tupDesc);
                let caller = pg_sys::MemoryContextSwitchTo((*(*query).estate).es_query_cxt);
                let _ = scans.into_iter().all(|scan| scan.run(&mut receiver));
                pg_sys::MemoryContextSwitchTo(caller);
            } else {
                let forward = pg_sys::ScanDirection::ForwardScanDirection;
                #[cfg(feature = "pg18")]
                pg_sys::standard_ExecutorRun(query, forward, 0);
                #[cfg(not(feature = "pg18"))]
                pg_sys::standard_ExecutorRun(query, forward, 0, true);
            }
            pg_sys::standard_ExecutorFinish(query);
            pg_sys::standard_ExecutorEnd(query);
            pg_sys::FreeQueryDesc(query);
        }
        receiver.outcome()
    }
}

/// While it is worn the planner sees no size, statistics or index of a table, and no extension
/// takes part.
struct Blindfold {
    relation_info: pg_sys::get_relation_info_hook_type,
    column_statistics: pg_sys::get_relation_stats_hook_type,
    column_width: pg_sys::get_attavgwidth_hook_type,
    table_paths: pg_sys::set_rel_pathlist_hook_type,
    join_paths: pg_sys::set_join_pathlist_hook_type,
    join_order: pg_sys::join_search_hook_type,
    upper_paths: pg_sys::create_upper_paths_hook_type,
}

impl Blindfold {
    fn put_on() -> Blindfold {
        // SAFETY: variables that no other thread of this process reads; the functions put there are
        // what PostgreSQL says of each, and remain until `drop` puts back what was there.
        unsafe {
            let worn = Blindfold {
                relation_info: pg_sys::get_relation_info_hook,
                column_statistics: pg_sys::get_relation_stats_hook,
                column_width: pg_sys::get_attavgwidth_hook,
                table_paths: pg_sys::set_rel_pathlist_hook,
                join_paths: pg_sys::set_join_pathlist_hook,
                join_order: pg_sys::join_search_hook,
                upper_paths: pg_sys::create_upper_paths_hook,
            };
            pg_sys::get_relation_info_hook = Some(of_any_table);
            pg_sys::get_relation_stats_hook = Some(no_statistics);
            pg_sys::get_attavgwidth_hook = Some(of_any_column);
            pg_sys::set_rel_pathlist_hook = None;
            pg_sys::set_join_pathlist_hook = None;
            pg_sys::join_search_hook = None;
            pg_sys::create_upper_paths_hook = None;
            worn
        }
    }
}

impl Drop for Blindfold {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe {
            pg_sys::get_relation_info_hook = self.relation_info;
            pg_sys::get_relation_stats_hook = self.column_statistics;
            pg_sys::get_attavgwidth_hook = self.column_width;
            pg_sys::set_rel_pathlist_hook = self.table_paths;
            pg_sys::set_join_pathlist_hook = self.join_paths;
            pg_sys::join_search_hook = self.join_order;
            pg_sys::create_upper_paths_hook = self.upper_paths;
        }
    }
}

/// 8 GB of narrow rows: enough for as many workers as a session may have.
const PAGES: u32 = 1 << 20;
const ROWS: f64 = 1e8;

#[pg_guard]
unsafe extern "C-unwind" fn of_any_table(
    _root: *mut pg_sys::PlannerInfo,
    _oid: Oid,
    is_parent: bool,
    table: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the planner gives what it knows of a table, to be changed.
    let table = unsafe { &mut *table };
    table.indexlist = null_mut();
    table.statlist = null_mut();
    table.allvisfrac = 0.0;
    if !is_parent {
        // of a parent they are the sums of its parts
        (table.pages, table.tuples) = (PAGES, ROWS);
    }
}

/// Found, and empty: the planner then takes its default guesses.
#[pg_guard]
unsafe extern "C-unwind" fn no_statistics(
    _root: *mut pg_sys::PlannerInfo,
    _table: *mut pg_sys::RangeTblEntry,
    _column: pg_sys::AttrNumber,
    _found: *mut pg_sys::VariableStatData,
) -> bool {
    true
}

/// About as wide as a name.
#[pg_guard]
unsafe extern "C-unwind" fn of_any_column(_table: Oid, _column: pg_sys::AttrNumber) -> i32 {
    16
}
