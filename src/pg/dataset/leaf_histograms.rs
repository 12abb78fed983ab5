//! The aggregate `dp.leaf_histograms(max_size, region columns..., size)`, by which a release has
//! rows that are groups counted: PostgreSQL decides how many parallel workers scan the table, and
//! each counts what it reads.
//!
//! A running state is a [`LeafState`]. Workers write theirs as bytes, which are read as
//! [`RegionHistograms`] and added to that of the leader.

use super::leaves::Leaves;
use super::query::Query;
use super::streamed_row::Arguments;
use crate::counting::{RegionHistograms, TooManyRegions, read_histograms, write_histograms};
use crate::pg::errors::{Failure, Result, error, internal, invalid, required};
use crate::pg::values::running::{Aggregation, Lifetime, Running};
use pgrx::datum::Internal;
use pgrx::pg_sys::FunctionCallInfo;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use std::mem::{replace, take};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The expression by which a query counts the rows of a table that are groups: the quoted columns
/// of the region, and that of the size.
pub(crate) fn leaf_histograms(max_size: u64, regions: &[String], size: &str) -> String {
    let columns: String = regions.iter().map(|column| format!("{column}, ")).collect();
    format!("dp.leaf_histograms({max_size}::pg_catalog.int8, {columns}{size})")
}

/// The histograms of all leaf regions, by path, from a query of that expression alone. A NULL or
/// negative size counts as 0, one above `max_size` at that; a row without a region is no group.
/// Confidential.
pub(crate) fn read_leaf_histograms(rows: Query) -> std::result::Result<RegionHistograms, Failure> {
    let mut outcome = Ok(Ok(vec![])); // of no rows
    rows.run(|row| {
        if row.has_all(0..1) {
            outcome = row.with_bytes(0, read);
        }
        Ok::<_, Failure>(())
    })?;
    Ok(outcome??)
}

/// What a state says, as bytes: what was counted, or that there are too many regions. That is no
/// error where it is found, as those of other processes would not be told from errors of theirs.
type Outcome = std::result::Result<RegionHistograms, TooManyRegions>;

const TOO_MANY_REGIONS: u8 = 0;
const COUNTED: u8 = 1;

fn written(outcome: &Outcome) -> Vec<u8> {
    match outcome {
        Ok(histograms) => write_histograms(histograms, COUNTED),
        Err(TooManyRegions) => vec![TOO_MANY_REGIONS],
    }
}

fn read(bytes: &[u8]) -> std::result::Result<Outcome, Failure> {
    match bytes.split_first() {
        Some((&TOO_MANY_REGIONS, _)) => Ok(Err(TooManyRegions)),
        Some((&COUNTED, bytes)) => read_histograms(bytes).map(Ok).map_err(Failure::broken),
        _ => Err(Failure::broken("no state of dp.leaf_histograms")),
    }
}

/// What one process has counted, and room for the arguments of a call.
struct LeafState {
    leaves: std::result::Result<Leaves, TooManyRegions>,
    arguments: Arguments,
}

/// How many states this process has. Their memory is Rust's, which PostgreSQL does not see: with a
/// GROUP BY of many groups it would keep more of them than fit.
static STATES: AtomicUsize = AtomicUsize::new(0);

/// A release has one, and another one where it adds up those of workers.
const MOST_STATES: usize = 4;

impl LeafState {
    /// A new one that lives as long as the aggregation.
    fn start(
        aggregation: &Aggregation,
        max_size: u64,
        arguments: Arguments,
    ) -> Result<Running<LeafState>> {
        let lifetime = aggregation
            .lifetime()
            .ok_or_else(|| internal("a function of dp.leaf_histograms was called outside of it"))?;
        if STATES.load(Ordering::Relaxed) >= MOST_STATES {
            return Err(error(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                "dp.leaf_histograms counts too many groups of rows at once",
            )
            .set_hint("It is a part of dp_hierarchy_release, and tells regions apart by itself."));
        }
        let layouts = arguments.layouts();
        let regions = layouts.split_last().map_or(&[][..], |(_size, regions)| regions);
        let leaves = Ok(Leaves::new(max_size, regions)?);
        STATES.fetch_add(1, Ordering::Relaxed);
        Ok(Running::start(lifetime, LeafState { leaves, arguments }))
    }
}

impl LeafState {
    /// Counts more, unless there were too many regions already.
    #[inline]
    fn count(
        &mut self,
        more: impl FnOnce(&mut Leaves, &mut Arguments) -> std::result::Result<(), TooManyRegions>,
    ) {
        if let Ok(leaves) = &mut self.leaves
            && let Err(too_many) = more(leaves, &mut self.arguments)
        {
            self.leaves = Err(too_many);
        }
    }
}

impl Drop for LeafState {
    fn drop(&mut self) {
        STATES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts one row: the transition function. By hand, as `#[pg_extern]` would take each argument out
/// of its place for every row, which costs as much as counting it.
// SAFETY: no other library that PostgreSQL loads has a function of that name.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn leaf_histograms_add(fcinfo: FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: PostgreSQL gives the call that is going on.
    unsafe { add_row(fcinfo) }.unwrap_or_report()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn pg_finfo_leaf_histograms_add() -> &'static pg_sys::Pg_finfo_record {
    &pg_sys::Pg_finfo_record { api_version: 1 }
}

/// # Safety
/// A call of the aggregate's transition function that is going on.
#[inline]
unsafe fn add_row(fcinfo: FunctionCallInfo) -> Result<pg_sys::Datum> {
    const BEFORE_COLUMNS: usize = 2;
    // SAFETY: the function is declared with a state, a bigint, and VARIADIC "any".
    let (mut running, max_size) = unsafe {
        let arguments = (*fcinfo).args.as_slice(BEFORE_COLUMNS);
        (Running::<LeafState>::of_argument(arguments[0]), arguments[1])
    };
    if running.state().is_none() {
        // SAFETY: as above.
        let (arguments, max_size, aggregation) = unsafe {
            let max_size = i64::from_datum(max_size.value, max_size.isnull);
            (Arguments::of(fcinfo, BEFORE_COLUMNS)?, max_size, Aggregation::of_call(fcinfo))
        };
        let max_size = u64::try_from(required(max_size, "max_size")?)
            .map_err(|_| invalid("max_size must not be negative", "Use a constant."))?;
        running = LeafState::start(&aggregation, max_size, arguments)?;
    }
    if let Some(state) = running.state() {
        state.count(|leaves, arguments| {
            // SAFETY: the state's arguments are those of the first call of this function for it.
            let row = unsafe { arguments.row(fcinfo, BEFORE_COLUMNS) };
            leaves.add_group(&row)
        });
    }
    running.into_datum().ok_or_else(|| internal("dp.leaf_histograms has no state"))
}

/// Adds what a worker has counted: the combine function.
#[pg_extern(stable, parallel_safe)]
fn leaf_histograms_merge(
    mut running: Running<LeafState>,
    mut other: Running<Outcome>,
    aggregation: Aggregation,
) -> Result<Running<LeafState>> {
    // that of a worker that found no row is NULL
    let Some(other) = other.state() else { return Ok(running) };
    if running.state().is_none() {
        running = LeafState::start(&aggregation, u64::MAX, Arguments::default())?;
    }
    if let Some(state) = running.state() {
        match other {
            Ok(histograms) => state.count(|leaves, _| leaves.add_histograms(take(histograms))),
            Err(too_many) => state.leaves = Err(*too_many),
        }
    }
    Ok(running)
}

/// What was counted, as bytes: for the leader, and the final function. Leaves an empty state.
#[pg_extern(stable, parallel_safe, strict)]
fn leaf_histograms_write(mut running: Running<LeafState>) -> Result<Option<Vec<u8>>> {
    let Some(LeafState { leaves, .. }) = running.state() else { return Ok(None) };
    let leaves = replace(leaves, Err(TooManyRegions));
    Ok(Some(written(&leaves.map(Leaves::histograms))))
}

/// Reads what another process has written.
#[pg_extern(stable, parallel_safe, strict)]
fn leaf_histograms_read(bytes: &[u8], _internal: Internal) -> Result<Running<Outcome>> {
    Ok(Running::start(Lifetime::of_call(), read(bytes)?))
}
