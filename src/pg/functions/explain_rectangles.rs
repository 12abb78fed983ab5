//! What a release of sums over rectangles would be like, before it is made.

use crate::pg::errors::{Result, all_required, required, unfit_ranges};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::ranges::{ExplainRectangles, ExplainedRectangles, explain_rectangles};
use pgrx::prelude::*;

/// Nothing is read, nothing spent.
#[pg_extern(immutable, parallel_safe)]
#[allow(clippy::type_complexity)] // the SQL function's columns
fn dp_explain_rectangles(
    rows: Option<i64>,
    columns: Option<i64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    methods: Option<Vec<Option<String>>>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(method, String),
            name!(branching, Option<i32>),
            name!(mean_variance, f64),
            name!(max_variance, Option<f64>),
            name!(svd_ratio, Option<f64>),
            name!(chosen, bool),
        ),
    >,
> {
    let (rows, columns) = (required(rows, "rows")?, required(columns, "columns")?);
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let methods = methods.map(|methods| all_required(methods, "methods")).transpose()?;
    let _progress = Progress::start(Function::ExplainRectangles, Phase::Planning);
    let methods = methods.as_deref();
    let explained =
        explain_rectangles(&ExplainRectangles { rows, columns, epsilon, delta, methods })
            .map_err(unfit_ranges)?;
    Ok(TableIterator::new(explained.into_iter().map(|row| {
        let ExplainedRectangles { method, branching, mean, max, svd_ratio, chosen } = row;
        (method, branching.map(|branching| branching as i32), mean, max, svd_ratio, chosen)
    })))
}
