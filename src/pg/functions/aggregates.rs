//! `coco_agg` and `bins_agg` in both forms, and the release aggregate in one step.

use super::histogram::{DEFAULT_MAX_SIZE, DEFAULT_METHOD, Request, release};
use crate::coco::{Coco, DpCoco, Tally};
use crate::noise::words_from_system;
use crate::pg::errors::{Result, error, internal, invalid, required};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::expanded::{self, State};
use crate::pg::values::interval::checked_bounds;
use crate::ranges::Bins;
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal};
use pgrx::pg_sys::{FunctionCallInfo, MemoryContext, Oid};
use pgrx::prelude::*;
use pgrx::{FromDatum, PgMemoryContexts};

/// A `coco` or `bins` that is being aggregated: the datum itself, so that it can be changed in place.
struct StateDatum(pg_sys::Datum);

impl FromDatum for StateDatum {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: Oid,
    ) -> Option<StateDatum> {
        (!is_null).then_some(StateDatum(datum))
    }
}

unsafe impl<'fcx> ArgAbi<'fcx> for StateDatum {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> StateDatum {
        unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
    }
}

unsafe impl BoxRet for StateDatum {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

/// Where an aggregate's state lives; None for a call outside any aggregation.
fn aggregate_context(fcinfo: FunctionCallInfo) -> Option<MemoryContext> {
    let mut context = std::ptr::null_mut();
    let kind = unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) };
    (kind != 0).then_some(context)
}

/// How long a changed state has to live.
fn lifetime(fcinfo: FunctionCallInfo) -> MemoryContext {
    aggregate_context(fcinfo).unwrap_or_else(|| PgMemoryContexts::CurrentMemoryContext.value())
}

fn change<S: State>(
    state: StateDatum,
    fcinfo: FunctionCallInfo,
    apply: impl FnOnce(&mut S) -> Result<()>,
) -> Result<StateDatum> {
    Ok(StateDatum(unsafe { expanded::change(state.0, lifetime(fcinfo), apply) }?))
}

/// Adds one group to a histogram: the transition function of `coco_agg(size)`.
///
/// A NULL or negative size is an error here, where exact values are built by someone who may read
/// them. Releases never fail on private rows: see `Request::public_size` and `source`.
#[pg_extern(immutable, parallel_safe)]
fn coco_add(
    state: Option<StateDatum>,
    size: Option<i64>,
    fcinfo: FunctionCallInfo,
) -> Result<StateDatum> {
    let state = required(state, "coco")?;
    let size = required(size, "size").map_err(|report| {
        report.set_hint("Use coalesce(size, 0) for groups without entities, or leave them out.")
    })?;
    let size = u64::try_from(size).map_err(|_| {
        error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "size must not be negative")
            .set_hint("A size is the number of entities in a group.")
    })?;
    change(state, fcinfo, |tally: &mut Tally| {
        tally.add(size, 1);
        Ok(())
    })
}

/// Adds a histogram to another: the combine function, and the transition of `coco_agg(coco)`.
#[pg_extern(immutable, parallel_safe)]
fn coco_merge(state: StateDatum, other: Coco, fcinfo: FunctionCallInfo) -> Result<StateDatum> {
    change(state, fcinfo, |tally: &mut Tally| {
        tally.merge(&other);
        Ok(())
    })
}

/// Counts one row in its bin: the transition function of `bins_agg(bin, lo, hi)`. A bin outside of
/// the bounds counts in the nearest one, a NULL bin not at all.
#[pg_extern(immutable, parallel_safe)]
fn bins_add(
    state: Option<StateDatum>,
    bin: Option<i64>,
    lo: Option<i64>,
    hi: Option<i64>,
    fcinfo: FunctionCallInfo,
) -> Result<StateDatum> {
    let (lo, hi) = (required(lo, "lo")?, required(hi, "hi")?);
    let count = |bins: &mut Bins| {
        if let Some(bin) = bin {
            bins.add(bin, 1);
        }
    };
    let Some(state) = state else {
        let mut bins = Bins::empty(checked_bounds(lo, hi)?);
        count(&mut bins);
        return Ok(StateDatum(unsafe { expanded::expand(bins, lifetime(fcinfo)) }?));
    };
    change(state, fcinfo, |bins: &mut Bins| {
        let bounds = bins.bounds();
        if (lo, hi) != (bounds.lo(), bounds.hi()) {
            return Err(invalid(
                format!("lo and hi must be the same for all rows, got {bounds} and [{lo},{hi})"),
                "Use constants, not columns.",
            ));
        }
        count(bins);
        Ok(())
    })
}

/// Adds counts to others: the combine function, and the transition of `bins_agg(bins)`.
#[pg_extern(immutable, parallel_safe)]
fn bins_merge(state: StateDatum, other: Bins, fcinfo: FunctionCallInfo) -> Result<StateDatum> {
    change(state, fcinfo, |bins: &mut Bins| {
        bins.merge(&other).map_err(|error| {
            invalid(error.to_string(), "Only values of type bins with the same lo and hi add up.")
        })
    })
}

/// The state of the one-step aggregate: the sizes so far and what was asked for.
struct OneStep {
    tally: Tally,
    request: Request,
}

/// The transition functions of `dp_coco_histogram(size, epsilon [, max_size [, method]])`.
#[pg_extern(volatile)]
fn dp_coco_histogram_add(
    state: Internal,
    size: Option<i64>,
    epsilon: Option<f64>,
    fcinfo: FunctionCallInfo,
) -> Result<Internal> {
    let (max_size, method) = (Some(DEFAULT_MAX_SIZE), Some(DEFAULT_METHOD));
    one_step(state, size, epsilon, max_size, method, fcinfo)
}

#[pg_extern(volatile)]
fn dp_coco_histogram_add_capped(
    state: Internal,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    fcinfo: FunctionCallInfo,
) -> Result<Internal> {
    one_step(state, size, epsilon, max_size, Some(DEFAULT_METHOD), fcinfo)
}

#[pg_extern(volatile)]
fn dp_coco_histogram_add_by_method(
    state: Internal,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    fcinfo: FunctionCallInfo,
) -> Result<Internal> {
    one_step(state, size, epsilon, max_size, method, fcinfo)
}

fn one_step(
    mut state: Internal,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    fcinfo: FunctionCallInfo,
) -> Result<Internal> {
    let context = aggregate_context(fcinfo)
        .ok_or_else(|| internal("a transition function was called outside of its aggregate"))?;
    match unsafe { state.get_mut::<OneStep>() } {
        Some(running) if running.request.is(epsilon, max_size, method) => {
            running.tally.add(running.request.public_size(size), 1);
        }
        Some(_) => {
            return Err(invalid(
                "epsilon, max_size and method must be the same for all rows of dp_coco_histogram",
                "Use constants, not columns.",
            ));
        }
        None => {
            let mut tally = Tally::default();
            let request = Request::new(epsilon, max_size, method)?;
            tally.add(request.public_size(size), 1);
            let running =
                PgMemoryContexts::For(context).leak_and_drop_on_delete(OneStep { tally, request });
            state = Internal::from(Some(pg_sys::Datum::from(running)));
        }
    }
    Ok(state)
}

/// The final function of the one-step aggregate. Without rows there are no groups: nothing is
/// private, and the histogram is empty.
#[pg_extern(volatile)]
fn dp_coco_histogram_final(state: Internal) -> Result<DpCoco> {
    match unsafe { state.get::<OneStep>() } {
        Some(running) => {
            let progress = Progress::start(Function::CocoHistogram, Phase::Measuring);
            let truth = running.tally.histogram();
            let mechanism = running.request.mechanism(truth.groups())?;
            let mut words = words_from_system().map_err(internal)?;
            Ok(release(&mechanism, &truth, &mut words, &progress))
        }
        None => Ok(DpCoco::default()),
    }
}
