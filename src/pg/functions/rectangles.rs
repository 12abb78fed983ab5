//! Sums over rectangles: releases of pairs of two columns of a dataset.

use super::ranges::{joined, some_ranges, spent, tell_outside, weight};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, invalid, required, unfit_ranges};
use crate::pg::release::named::{RectangleSums, promised};
use crate::pg::release::order::Asked;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::amounts::{AmountArguments, Amounts};
use crate::pg::values::interval::{BinRange, Questions, SqlRange};
use crate::ranges::{
    AmountUnit, GridAxis, MethodChoice, PlanePlan, PlaneRelease, PlaneRequest, Rectangle,
};
use crate::work::poll;
use pgrx::AnyNumeric;
use pgrx::prelude::*;
use serde_json::{Map, Value};

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
#[allow(clippy::type_complexity)] // and its columns
fn dp_rectangle_sums(
    dataset: Option<&str>,
    row_column: Option<&str>,
    column_column: Option<&str>,
    row_ranges: Option<Vec<Option<SqlRange>>>,
    column_ranges: Option<Vec<Option<SqlRange>>>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    row_bounds: Option<SqlRange>,
    column_bounds: Option<SqlRange>,
    method: Option<&str>,
    name: Option<&str>,
    amount: Option<&str>,
    max_amount: Option<AnyNumeric>,
    min_amount: Option<AnyNumeric>,
    amount_unit: Option<AnyNumeric>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
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
    let progress = Progress::start(Function::RectangleSums, Phase::Checking);
    let row_ranges = some_ranges(row_ranges, "row_ranges")?;
    let column_ranges = some_ranges(column_ranges, "column_ranges")?;
    check_one_length(&row_ranges, &column_ranges)?;
    let rows = Questions::of_numbers(&row_ranges, row_bounds.as_ref(), "row_bounds")?;
    let columns = Questions::of_numbers(&column_ranges, column_bounds.as_ref(), "column_bounds")?;

    let dataset_name = required(dataset, "dataset")?;
    let dataset = Dataset::open_for(dataset_name, name)?.of_part(within, period)?;
    progress.dataset(dataset.id);
    let row_column = required(row_column, "row_column")?;
    let column_column = required(column_column, "column_column")?;
    let amounts = AmountArguments { amount, max_amount, min_amount, amount_unit };
    let amounts = amounts.amounts(|column, unit| dataset.chosen_amount(column, unit, name))?;
    // what the ledger's entry shows besides the mechanism
    let mut about: Map<String, Value> = [
        ("row_column", row_column.to_string()),
        ("column_column", column_column.to_string()),
        ("row_bounds", rows.bounds.to_string()),
        ("column_bounds", columns.bounds.to_string()),
    ]
    .map(|(key, value)| (key.to_string(), value.into()))
    .into_iter()
    .collect();
    about.extend(amounts.iter().flat_map(Amounts::about));

    let asked_ends: Vec<_> =
        rows.bins.iter().zip(&columns.bins).map(|(r, c)| [r, c].map(ends)).collect();
    let mut parameters = about.clone();
    for (argument, side) in [("row_ranges", 0), ("column_ranges", 1)] {
        let texts = asked_ends.iter().map(|asked| text(asked[side])).collect();
        parameters.insert(argument.into(), texts);
    }
    parameters.extend(dataset.source.part.about());
    parameters.extend(spent(epsilon, delta, method));
    let promise = promised(name, Some(dataset_name), parameters.into())?;

    let asked = Asked::new(&dataset, &progress, promise, about);
    let released = asked.once(|asked| {
        let (dataset, progress) = (asked.dataset, asked.progress);
        let sides =
            [("row_ranges", &*row_ranges, &rows), ("column_ranges", &*column_ranges, &columns)];
        tell_outside(&asked, sides)?;
        let (cells, of_rows) = joined(&rows);
        let rows = GridAxis::new(rows.bounds, cells);
        let (cells, of_columns) = joined(&columns);
        let columns = GridAxis::new(columns.bounds, cells);
        let sides = of_rows.into_iter().zip(of_columns);
        let rectangles: Vec<Rectangle> =
            sides.map(|(rows, columns)| Rectangle { rows, columns }).collect();
        progress.phase(Phase::Planning);
        let plan = PlanePlan::new(PlaneRequest {
            rows: rows.cells() as i64,
            columns: columns.cells() as i64,
            epsilon: required(epsilon, "epsilon")?,
            delta: required(delta, "delta")?,
            rows_per_unit: weight(dataset, amounts.as_ref())?,
            method: MethodChoice::parse_for_grid(required(method, "method")?)
                .map_err(unfit_ranges)?,
            asked: rectangles.clone(),
        })
        .map_err(unfit_ranges)?;
        progress.phase(Phase::Checking);
        asked.of_rows(
            |source| {
                let (rows, columns) = ((row_column, rows), (column_column, columns));
                let reading = source.prepare_cells(rows, columns, amounts.as_ref())?;
                Ok((plan, reading))
            },
            |truth, receipt, words| {
                progress.phase(Phase::Measuring);
                let release = receipt.release_sums(truth.sums(), words);
                let unit = amounts.as_ref().map_or(AmountUnit::ONE, |amounts| amounts.unit);
                let answers = rectangles.iter().map(|rectangle| {
                    let (sum, stddev) = answer(&release, rectangle);
                    (unit.amount(sum), unit.amount(stddev))
                });
                Ok(RectangleSums { asked: &asked_ends, answers: answers.collect() })
            },
        )
    })?;
    let rectangles = row_ranges.into_iter().zip(column_ranges).zip(released.answers);
    let rows = rectangles.map(|((row, column), (sum, stddev))| (row, column, sum, stddev));
    Ok(TableIterator::new(rows.collect::<Vec<_>>()))
}

/// Error: a rectangle lacks a side.
pub(super) fn check_one_length(rows: &[SqlRange], columns: &[SqlRange]) -> Result<()> {
    if rows.len() == columns.len() {
        return Ok(());
    }
    Err(invalid(
        format!(
            "row_ranges and column_ranges must be of one length, got {} and {}",
            rows.len(),
            columns.len()
        ),
        "Each rectangle has one of either, at the same place. Nothing was spent.",
    ))
}

fn ends(range: &Option<BinRange>) -> (Option<i64>, Option<i64>) {
    let BinRange { lower, upper } = range.unwrap_or(BinRange::EMPTY);
    (lower, upper)
}

fn text((lower, upper): (Option<i64>, Option<i64>)) -> String {
    let end = |end: Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
    format!("[{},{})", end(lower), end(upper))
}

fn answer(release: &PlaneRelease, rectangle: &Rectangle) -> (f64, f64) {
    poll();
    (release.sum(rectangle), release.variance(rectangle).sqrt())
}
