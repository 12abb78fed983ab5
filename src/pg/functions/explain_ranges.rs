//! What a release of range sums would be like, before it is made.

use crate::pg::errors::{Result, all_required, invalid, required, unfit_ranges};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::ranges::{
    Dimensions, ExplainRequest, ExplainedMethod, MAX_BINS, RangePlanError, Workload, explain,
};
use pgrx::prelude::*;

pub(super) fn parsed(workload: Option<&str>) -> Result<Workload> {
    let word = required(workload, "workload")?;
    Workload::parse(word).ok_or_else(|| {
        let known = Workload::WORDS.map(|(word, _)| word).join(", ");
        invalid(format!("workload: unknown word \"{word}\""), format!("Valid workloads: {known}."))
    })
}

/// Error: no method takes it. Each has a largest one of its own.
fn checked_branching(branching: i32) -> Result<u32> {
    let most = MAX_BINS as u32;
    let fit = u32::try_from(branching).ok().filter(|branching| (2..=most).contains(branching));
    fit.ok_or_else(|| {
        let (value, dimensions) = (branching.into(), Dimensions::One);
        unfit_ranges(RangePlanError::Branching { value, most, dimensions })
    })
}

/// Nothing is read, nothing spent.
#[pg_extern(immutable, parallel_safe)]
#[allow(clippy::type_complexity)] // the SQL function's columns
fn dp_explain_ranges(
    bins: Option<i64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    workload: Option<&str>,
    methods: Option<Vec<Option<String>>>,
    branching: Option<i32>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(method, String),
            name!(branching, Option<i32>),
            name!(mean_variance, f64),
            name!(max_variance, f64),
            name!(svd_ratio, Option<f64>),
            name!(chosen, bool),
        ),
    >,
> {
    let (bins, epsilon) = (required(bins, "bins")?, required(epsilon, "epsilon")?);
    let delta = required(delta, "delta")?;
    let workload = parsed(workload)?;
    let methods = methods.map(|methods| all_required(methods, "methods")).transpose()?;
    let branching = branching.map(checked_branching).transpose()?;
    let methods = methods.as_deref();
    let _progress = Progress::start(Function::ExplainRanges, Phase::Planning);
    let request = ExplainRequest { bins, epsilon, delta, workload, methods, branching };
    let rows = explain(&request).map_err(unfit_ranges)?;
    Ok(TableIterator::new(rows.into_iter().map(|row| {
        let ExplainedMethod { method, branching, spread, svd_ratio, chosen } = row;
        let branching = branching.map(|branching| branching as i32);
        (method, branching, spread.mean, spread.max, svd_ratio, chosen)
    })))
}
