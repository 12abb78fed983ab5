//! The aggregate `dp.leaf_histograms(max_size, region columns..., size)`, by which a release has rows that
//! are groups counted: PostgreSQL decides how many parallel workers scan the table, and each counts
//! what it reads.
//!
//! A running state is a [`State`]. Workers write theirs as bytes, which are read as [`RegionHistograms`]
//! and added to that of the leader. Only a superuser can declare an aggregate of states of type internal,
//! and nobody can call its functions, so that a function always gets what is meant for it.

use super::leaves::Leaves;
use super::query::Query;
use super::stream::Arguments;
use crate::coco::{RegionHistograms, TooManyRegions, read_histograms, write_histograms};
use crate::pg::errors::Failure;
use crate::pg::errors::{Result, error, internal, invalid, required};
use pgrx::PgMemoryContexts;
use pgrx::datum::Internal;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::pg_sys::{FunctionCallInfo, MemoryContext};
use pgrx::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The expression by which a query counts the rows of a table that are groups: the quoted columns of the
/// region, and that of the size.
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
struct State {
    leaves: std::result::Result<Leaves, TooManyRegions>,
    arguments: Arguments,
}

/// How many states this process has. Their memory is Rust's, which PostgreSQL does not see: with a
/// GROUP BY of many groups it would keep more of them than fit.
static STATES: AtomicUsize = AtomicUsize::new(0);

/// A release has one, and another one where it adds up those of workers.
const MOST_STATES: usize = 4;

impl State {
    /// A new one that lives as long as `context`.
    fn start(context: MemoryContext, max_size: u64, arguments: Arguments) -> Result<pg_sys::Datum> {
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
        Ok(leaked(context, State { leaves, arguments }))
    }
}

impl State {
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

impl Drop for State {
    fn drop(&mut self) {
        STATES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A value that is dropped when `context` is.
fn leaked<T: 'static>(context: MemoryContext, value: T) -> pg_sys::Datum {
    pg_sys::Datum::from(PgMemoryContexts::For(context).leak_and_drop_on_delete(value))
}

/// Where the aggregate's state lives.
fn aggregate_context(fcinfo: FunctionCallInfo) -> Result<MemoryContext> {
    let mut context = std::ptr::null_mut();
    match unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } {
        0 => Err(internal("a function of dp.leaf_histograms was called outside of it")),
        _ => Ok(context),
    }
}

/// Counts one row: the transition function. By hand, as `#[pg_extern]` would take each argument out of its
/// place for every row, which costs as much as counting it.
#[unsafe(no_mangle)]
#[pg_guard]
unsafe extern "C-unwind" fn leaf_histograms_add(fcinfo: FunctionCallInfo) -> pg_sys::Datum {
    unsafe { add_row(fcinfo) }.unwrap_or_report()
}

#[unsafe(no_mangle)]
extern "C" fn pg_finfo_leaf_histograms_add() -> &'static pg_sys::Pg_finfo_record {
    &pg_sys::Pg_finfo_record { api_version: 1 }
}

#[inline]
unsafe fn add_row(fcinfo: FunctionCallInfo) -> Result<pg_sys::Datum> {
    const BEFORE_COLUMNS: usize = 2;
    let arguments = unsafe { (*fcinfo).args.as_slice(BEFORE_COLUMNS) };
    let (state, max_size) = (arguments[0], arguments[1]);
    let state = match state.isnull {
        false => state.value,
        true => {
            let arguments = unsafe { Arguments::of(fcinfo, BEFORE_COLUMNS) }?;
            let max_size = unsafe { i64::from_datum(max_size.value, max_size.isnull) };
            let max_size = u64::try_from(required(max_size, "max_size")?)
                .map_err(|_| invalid("max_size must not be negative", "Use a constant."))?;
            State::start(aggregate_context(fcinfo)?, max_size, arguments)?
        }
    };
    let counted = unsafe { &mut *state.cast_mut_ptr::<State>() };
    counted.count(|leaves, arguments| {
        leaves.add_group(&unsafe { arguments.row(fcinfo, BEFORE_COLUMNS) })
    });
    Ok(state)
}

/// Adds what a worker has counted: the combine function.
#[pg_extern(stable, parallel_safe)]
fn leaf_histograms_merge(
    mut state: Internal,
    other: Internal,
    fcinfo: FunctionCallInfo,
) -> Result<Internal> {
    // that of a worker that found no row is NULL
    let Some(other) = (unsafe { other.get::<Outcome>() }) else { return Ok(state) };
    if unsafe { state.get::<State>() }.is_none() {
        let started = State::start(aggregate_context(fcinfo)?, u64::MAX, Arguments::default())?;
        state = Internal::from(Some(started));
    }
    if let Some(state) = unsafe { state.get_mut::<State>() } {
        match other {
            Ok(histograms) => state.count(|leaves, _| leaves.add_histograms(histograms)),
            Err(too_many) => state.leaves = Err(*too_many),
        }
    }
    Ok(state)
}

/// What was counted, as bytes: for the leader, and the final function. Leaves an empty state.
#[pg_extern(stable, parallel_safe, strict)]
fn leaf_histograms_write(mut state: Internal) -> Result<Option<Vec<u8>>> {
    let Some(State { leaves, .. }) = (unsafe { state.get_mut() }) else { return Ok(None) };
    let leaves = std::mem::replace(leaves, Err(TooManyRegions));
    Ok(Some(written(&leaves.map(Leaves::histograms))))
}

/// Reads what another process has written.
#[pg_extern(stable, parallel_safe, strict)]
fn leaf_histograms_read(bytes: &[u8], _internal: Internal) -> Result<Internal> {
    let context = PgMemoryContexts::CurrentMemoryContext.value();
    Ok(Internal::from(Some(leaked(context, read(bytes)?))))
}
