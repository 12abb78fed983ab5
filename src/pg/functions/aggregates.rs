//! `coco_agg`, `bins_agg` and `grid_agg` in both forms, and the release aggregate in one step.

use super::histogram::{DEFAULT_MAX_SIZE, DEFAULT_METHOD, HistogramRequest, release};
use crate::coco::{Coco, DpCoco, Tally};
use crate::pg::errors::{Result, error, internal, invalid, required};
use crate::pg::release::order::uncharged;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::expanded::StateDatum;
use crate::pg::values::interval::{SqlRange, both_ends, checked_bounds, named_bounds};
use crate::pg::values::running::{Aggregation, Running};
use crate::ranges::{Bins, CellCounts, GridBounds};
use pgrx::prelude::*;

/// Adds one group to a histogram: the transition function of `coco_agg(size)`.
///
/// A NULL or negative size is an error here, where exact values are built by someone who may read
/// them. Releases never fail on private rows: see `HistogramRequest::public_size` and `source`.
#[pg_extern(immutable, parallel_safe)]
fn coco_add(
    state: Option<StateDatum<Tally>>,
    size: Option<i64>,
    aggregation: Aggregation,
) -> Result<StateDatum<Tally>> {
    let state = required(state, "coco")?;
    let size = required(size, "size").map_err(|report| {
        report.set_hint("Use coalesce(size, 0) for groups without entities, or leave them out.")
    })?;
    let size = u64::try_from(size).map_err(|_| {
        error(PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "size must not be negative")
            .set_hint("A size is the number of entities in a group.")
    })?;
    state.change(aggregation.lifetime_or_call(), |tally| {
        tally.add(size, 1);
        Ok(())
    })
}

/// Adds a histogram to another: the combine function, and the transition of `coco_agg(coco)`.
#[pg_extern(immutable, parallel_safe)]
fn coco_merge(
    state: StateDatum<Tally>,
    other: Coco,
    aggregation: Aggregation,
) -> Result<StateDatum<Tally>> {
    state.change(aggregation.lifetime_or_call(), |tally| {
        tally.merge(&other);
        Ok(())
    })
}

/// Counts one row in its bin: the transition function of `bins_agg(bin, lo, hi)`. A bin outside of
/// the bounds counts in the nearest one, a NULL bin not at all.
#[pg_extern(immutable, parallel_safe)]
fn bins_add(
    state: Option<StateDatum<Bins>>,
    bin: Option<i64>,
    lo: Option<i64>,
    hi: Option<i64>,
    aggregation: Aggregation,
) -> Result<StateDatum<Bins>> {
    let (lo, hi) = (required(lo, "lo")?, required(hi, "hi")?);
    add_row(state, (lo, hi), 1, bin.map(|bin| (bin, 1)), &aggregation)
}

/// Adds a row's amount to its bin: the transition function of
/// `bins_agg(bin, lo, hi, amount, max_amount)`. Amounts are clamped to 0 and the largest one; a row
/// whose bin or amount is NULL adds nothing.
#[pg_extern(immutable, parallel_safe)]
fn bins_add_amount(
    state: Option<StateDatum<Bins>>,
    bin: Option<i64>,
    lo: Option<i64>,
    hi: Option<i64>,
    amount: Option<i64>,
    max_amount: Option<i64>,
    aggregation: Aggregation,
) -> Result<StateDatum<Bins>> {
    let (lo, hi) = (required(lo, "lo")?, required(hi, "hi")?);
    let most = required(max_amount, "max_amount")?;
    let most = u32::try_from(most).ok().filter(|most| *most > 0).ok_or_else(|| {
        invalid(
            format!("max_amount must be from 1 to {}, got {most}", u32::MAX),
            "Sum amounts in a coarser unit, such as amount / 100: the noise hides a row with the \
             largest one.",
        )
    })?;
    let row = bin.zip(amount).map(|(bin, amount)| (bin, amount.max(0).unsigned_abs()));
    add_row(state, (lo, hi), most, row, &aggregation)
}

fn add_row(
    state: Option<StateDatum<Bins>>,
    (lo, hi): (i64, i64),
    most: u32,
    row: Option<(i64, u64)>,
    aggregation: &Aggregation,
) -> Result<StateDatum<Bins>> {
    let count = |bins: &mut Bins| {
        if let Some((bin, amount)) = row {
            bins.add_row(bin, amount);
        }
    };
    let Some(state) = state else {
        let mut bins = Bins::of_amounts(checked_bounds(lo, hi)?, most);
        count(&mut bins);
        return StateDatum::expand(bins, aggregation.lifetime_or_call());
    };
    state.change(aggregation.lifetime_or_call(), |bins| {
        let bounds = bins.bounds();
        if (lo, hi) != (bounds.lo(), bounds.hi()) {
            return Err(invalid(
                format!("lo and hi must be the same for all rows, got {bounds} and [{lo},{hi})"),
                "Use constants, not columns.",
            ));
        }
        if most != bins.most() {
            let before = bins.most();
            return Err(invalid(
                format!("max_amount must be the same for all rows, got {before} and {most}"),
                "Use constants, not columns.",
            ));
        }
        count(bins);
        Ok(())
    })
}

/// Adds counts to others: the combine function, and the transition of `bins_agg(bins)`.
#[pg_extern(immutable, parallel_safe)]
fn bins_merge(
    state: StateDatum<Bins>,
    other: Bins,
    aggregation: Aggregation,
) -> Result<StateDatum<Bins>> {
    state.change(aggregation.lifetime_or_call(), |bins| {
        bins.merge(&other).map_err(|error| {
            invalid(
                error.to_string(),
                "Only values of type bins with the same bounds and largest amount add up.",
            )
        })
    })
}

/// Counts one row in its cell: the transition function of
/// `grid_agg(row_bin, column_bin, row_bounds, column_bounds)`. What lies outside of the bounds counts
/// in the nearest cell, a row with a NULL for either bin not at all.
#[pg_extern(immutable, parallel_safe)]
fn grid_add(
    state: Option<StateDatum<CellCounts>>,
    row_bin: Option<i64>,
    column_bin: Option<i64>,
    row_bounds: Option<SqlRange>,
    column_bounds: Option<SqlRange>,
    aggregation: Aggregation,
) -> Result<StateDatum<CellCounts>> {
    let ends = |bounds: Option<SqlRange>, argument: &str| {
        both_ends(required(bounds, argument)?.half_open(), argument)
    };
    let rows = ends(row_bounds, "row_bounds")?;
    let columns = ends(column_bounds, "column_bounds")?;
    let count = |cells: &mut CellCounts| {
        if let Some((row, column)) = row_bin.zip(column_bin) {
            cells.add_record(row, column);
        }
    };
    let Some(state) = state else {
        let axis = |argument, (lo, hi)| named_bounds(argument, lo, hi);
        let axes = (axis("row_bounds", rows)?, axis("column_bounds", columns)?);
        let bounds = GridBounds::new(axes.0, axes.1).map_err(|problem| {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, problem.to_string())
                .set_hint("Use wider bins, for example bin / 10, or closer bounds.")
        })?;
        let mut cells = CellCounts::empty(bounds);
        count(&mut cells);
        return StateDatum::expand(cells, aggregation.lifetime_or_call());
    };
    state.change(aggregation.lifetime_or_call(), |cells| {
        let bounds = cells.bounds();
        let axes = [bounds.rows(), bounds.columns()].map(|axis| (axis.lo(), axis.hi()));
        if axes != [rows, columns] {
            let ((row_lo, row_hi), (column_lo, column_hi)) = (rows, columns);
            return Err(invalid(
                format!(
                    "row_bounds and column_bounds must be the same for all rows, got {bounds} and \
                     [{row_lo},{row_hi})x[{column_lo},{column_hi})"
                ),
                "Use constants, not columns.",
            ));
        }
        count(cells);
        Ok(())
    })
}

/// Adds counts to others: the combine function, and the transition of `grid_agg(grid)`.
#[pg_extern(immutable, parallel_safe)]
fn grid_merge(
    state: StateDatum<CellCounts>,
    other: CellCounts,
    aggregation: Aggregation,
) -> Result<StateDatum<CellCounts>> {
    state.change(aggregation.lifetime_or_call(), |cells| {
        cells.merge(&other).map_err(|error| {
            invalid(error.to_string(), "Only values of type grid with the same bounds add up.")
        })
    })
}

/// The state of the one-step aggregate: the sizes so far and what was asked for.
struct OneStep {
    tally: Tally,
    request: HistogramRequest,
}

/// The transition functions of `dp_coco_histogram(size, epsilon [, max_size [, method]])`.
#[pg_extern(volatile)]
fn dp_coco_histogram_add(
    state: Running<OneStep>,
    size: Option<i64>,
    epsilon: Option<f64>,
    aggregation: Aggregation,
) -> Result<Running<OneStep>> {
    let (max_size, method) = (Some(DEFAULT_MAX_SIZE), Some(DEFAULT_METHOD));
    one_step(state, size, epsilon, max_size, method, &aggregation)
}

#[pg_extern(volatile)]
fn dp_coco_histogram_add_capped(
    state: Running<OneStep>,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    aggregation: Aggregation,
) -> Result<Running<OneStep>> {
    one_step(state, size, epsilon, max_size, Some(DEFAULT_METHOD), &aggregation)
}

#[pg_extern(volatile)]
fn dp_coco_histogram_add_by_method(
    state: Running<OneStep>,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    aggregation: Aggregation,
) -> Result<Running<OneStep>> {
    one_step(state, size, epsilon, max_size, method, &aggregation)
}

fn one_step(
    mut state: Running<OneStep>,
    size: Option<i64>,
    epsilon: Option<f64>,
    max_size: Option<i64>,
    method: Option<&str>,
    aggregation: &Aggregation,
) -> Result<Running<OneStep>> {
    let lifetime = aggregation
        .lifetime()
        .ok_or_else(|| internal("a transition function was called outside of its aggregate"))?;
    match state.state() {
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
            let request = HistogramRequest::new(epsilon, max_size, method)?;
            tally.add(request.public_size(size), 1);
            state = Running::start(lifetime, OneStep { tally, request });
        }
    }
    Ok(state)
}

/// The final function of the one-step aggregate. Without rows there are no groups: nothing is
/// private, and the histogram is empty.
#[pg_extern(volatile)]
fn dp_coco_histogram_final(mut state: Running<OneStep>) -> Result<DpCoco> {
    match state.state() {
        Some(running) => {
            let progress = Progress::start(Function::CocoHistogram, Phase::Measuring);
            let truth = running.tally.histogram();
            let mechanism = running.request.mechanism().clone();
            uncharged(mechanism, |receipt, words| Ok(release(receipt, &truth, words, &progress)))
        }
        None => Ok(DpCoco::default()),
    }
}
