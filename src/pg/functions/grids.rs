//! Grids: releases of `grid`, and what can be read off them.

use super::ranges::{check_counts_rows, spent};
use super::rectangles::check_one_length;
use crate::charge::Receipt;
use crate::noise::SystemWords;
use crate::pg::dataset::asked_part::check_no_part;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, all_required, invalid, required, unfit_ranges};
use crate::pg::release::named::promised;
use crate::pg::release::order::{Asked, uncharged};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::interval::SqlRange;
use crate::ranges::{
    BinBounds, CellCounts, DpGrid, GridBounds, MethodChoice, PlanePlan, PlaneRequest, Rectangle,
};
use crate::work::poll;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value};

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_grid_release(
    g: Option<CellCounts>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    dataset: Option<&str>,
    name: Option<&str>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<DpGrid> {
    let truth = required(g, "g").map_err(|report| {
        report
            .set_hint("grid_agg is NULL without rows: coalesce(grid_agg(...), '[0,100)x[0,24){}').")
    })?;
    let progress = Progress::start(Function::GridRelease, Phase::Planning);
    let bounds = truth.bounds();
    // what the ledger's entry shows besides the mechanism
    let about: Map<String, Value> =
        [("row_bounds", bounds.rows()), ("column_bounds", bounds.columns())]
            .map(|(key, bounds)| (key.to_string(), bounds.to_string().into()))
            .into_iter()
            .collect();
    let mut parameters = about.clone();
    parameters.extend(spent(epsilon, delta, method));
    let plan = || plan(bounds, epsilon, delta, method);
    let Some(dataset_name) = dataset else {
        check_no_part(within.as_deref(), period)?;
        promised(name, None, parameters.into())?;
        return uncharged(plan()?, |receipt, words| Ok(draw(receipt, &truth, words, &progress)));
    };
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(dataset.id);
    check_counts_rows(&dataset, "dp_rectangle_sums")?;
    let dataset = dataset.of_part(within, period)?;
    parameters.extend(dataset.source.part.about());
    let promise = promised(name, Some(dataset_name), parameters.into())?;
    if let Some(promise) = &promise {
        dataset.check_may_count(&promise.name)?;
    }
    Asked::new(&dataset, &progress, promise, about).once(|asked| {
        let (plan, part) = (plan()?, dataset.counted_part()?);
        asked.of_given(plan, part, |receipt, words| Ok(draw(receipt, &truth, words, &progress)))
    })
}

/// For all rectangles: which ones will be asked is not known.
fn plan(
    bounds: GridBounds,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
) -> Result<PlanePlan> {
    PlanePlan::new(PlaneRequest {
        rows: bounds.rows().bins() as i64,
        columns: bounds.columns().bins() as i64,
        epsilon: required(epsilon, "epsilon")?,
        delta: required(delta, "delta")?,
        rows_per_unit: 1,
        method: MethodChoice::parse_for_grid(required(method, "method")?).map_err(unfit_ranges)?,
        asked: Vec::new(),
    })
    .map_err(unfit_ranges)
}

fn draw<P>(
    receipt: Receipt<PlanePlan, P>,
    truth: &CellCounts,
    words: &mut SystemWords,
    progress: &Progress,
) -> DpGrid {
    progress.phase(Phase::Measuring);
    receipt.release_cells(truth, words)
}

/// The cells of a rectangle by their places; outside of the bounds there are none.
fn rectangle(bounds: GridBounds, row_range: &SqlRange, column_range: &SqlRange) -> Rectangle {
    let inside = |axis: BinBounds, range: &SqlRange| {
        range.half_open().map_or(0..0, |bins| axis.inside(bins.lower, bins.upper))
    };
    Rectangle {
        rows: inside(bounds.rows(), row_range),
        columns: inside(bounds.columns(), column_range),
    }
}

/// The estimate and its standard deviation.
fn answer(released: &DpGrid, rectangle: &Rectangle) -> Result<(f64, f64)> {
    poll();
    let variance = released.variance(rectangle).ok_or_else(forged)?;
    Ok((released.sum(rectangle), variance.sqrt()))
}

fn forged() -> ErrorReport {
    invalid(
        "g: no release has noise of this scale",
        "Only a value that dp_grid_release made has answers.",
    )
}

#[pg_extern(immutable, parallel_safe)]
fn dp_rectangle_sum(g: DpGrid, row_range: SqlRange, column_range: SqlRange) -> f64 {
    g.sum(&rectangle(g.bounds(), &row_range, &column_range))
}

type RectangleRow = (
    name!(row_range, SqlRange),
    name!(column_range, SqlRange),
    name!(sum, f64),
    name!(stddev, f64),
);

#[pg_extern(immutable, parallel_safe)]
#[allow(clippy::type_complexity)] // the SQL function's columns
fn dp_rectangle_sums_of_grid(
    g: Option<DpGrid>,
    row_ranges: Option<Vec<Option<SqlRange>>>,
    column_ranges: Option<Vec<Option<SqlRange>>>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(row_range, SqlRange),
            name!(column_range, SqlRange),
            name!(sum, f64),
            name!(stddev, f64),
        ),
    >,
> {
    let released = required(g, "g")?;
    let rows = all_required(required(row_ranges, "row_ranges")?, "row_ranges")?;
    let columns = all_required(required(column_ranges, "column_ranges")?, "column_ranges")?;
    check_one_length(&rows, &columns)?;
    let answers = rows.into_iter().zip(columns).map(|(row, column)| {
        let (sum, stddev) = answer(&released, &rectangle(released.bounds(), &row, &column))?;
        Ok((row, column, sum, stddev))
    });
    Ok(TableIterator::new(answers.collect::<Result<Vec<RectangleRow>>>()?))
}

#[pg_extern(immutable, parallel_safe)]
#[allow(clippy::type_complexity)] // the SQL function's columns
fn dp_unnest_grid(
    g: DpGrid,
) -> Result<
    TableIterator<
        'static,
        (name!(row_bin, i64), name!(column_bin, i64), name!(value, f64), name!(stddev, f64)),
    >,
> {
    let bounds = g.bounds();
    let cells = (0..bounds.cells()).map(|cell| {
        let ((row, column), of_cell) = (bounds.bins_of(cell), bounds.rectangle_of(cell));
        let (value, stddev) = answer(&g, &of_cell)?;
        Ok((row, column, value, stddev))
    });
    Ok(TableIterator::new(cells.collect::<Result<Vec<_>>>()?))
}
