//! What a stream would be like, before it is begun.

use crate::pg::errors::{Result, required, unfit_ranges};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::ranges::{StreamPlan, StreamRequest};
use pgrx::prelude::*;

/// Nothing is read, nothing spent.
#[pg_extern(immutable, parallel_safe)]
fn dp_explain_stream(
    horizon: Option<i64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(method, &'static str),
            name!(branching, Option<i32>),
            name!(levels, Option<i32>),
            name!(mean_variance, f64),
            name!(max_variance, f64),
            name!(count_variance, f64),
        ),
    >,
> {
    let (horizon, epsilon) = (required(horizon, "horizon")?, required(epsilon, "epsilon")?);
    let delta = required(delta, "delta")?;
    let _progress = Progress::start(Function::ExplainStream, Phase::Planning);
    let request = StreamRequest { horizon, epsilon, delta, rows_per_unit: 1 };
    let plan = StreamPlan::new(request).map_err(unfit_ranges)?;
    let (branching, levels) = plan.parameters().tree().unzip();
    let number = |number: Option<u32>| number.map(|number| number as i32);
    let spread = plan.mechanism().spread_of_prefixes();
    let method = plan.parameters().method();
    let counts = plan.mechanism().spread_of_counts();
    let (branching, levels) = (number(branching), number(levels));
    Ok(TableIterator::once((method, branching, levels, spread.mean, spread.max, counts.max)))
}
