//! Range sums: releases of `bins` and of a column of a dataset, and what can be read off them.

use super::catalog::Dataset;
use super::errors::{Result, all_required, error, internal, invalid, required};
use super::ledger::{self, Charge};
use super::session::{as_reader, read_whole_tables};
use crate::noise::words_from_system;
use crate::ranges::{Bins, Bounds, BoundsError, DpRanges, PlanError, RangePlan};
use pgrx::datum::{Range, RangeBound};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

#[pg_extern(volatile, parallel_unsafe)]
fn dp_range_release(
    b: Option<Bins>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    dataset: Option<&str>,
) -> Result<DpRanges> {
    let truth = required(b, "b").map_err(|report| {
        report.set_hint("bins_agg is NULL without rows: coalesce(bins_agg(...), '[0,100){}').")
    })?;
    let plan = plan(truth.bounds(), epsilon, delta, method, 1)?;
    if let Some(name) = dataset {
        let dataset = Dataset::open(name)?;
        if dataset.source.privacy_unit.is_some() {
            return Err(invalid(
                format!(
                    "dataset \"{name}\" bounds the rows of each privacy unit, which a histogram \
                     made elsewhere does not"
                ),
                "Use dp_range_sums with the name of the dataset.",
            ));
        }
        charge(&dataset, "dp_range_release", &plan, truth.bounds(), None)?;
    }
    release(&plan, &truth)
}

/// The order matters: check all that is public, charge, read private rows, add noise.
#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_range_sums_of_dataset(
    dataset: Option<&str>,
    value_column: Option<&str>,
    ranges: Option<Vec<Option<Range<i64>>>>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    bounds: Option<Range<i64>>,
    method: Option<&str>,
) -> Result<TableIterator<'static, (name!(range, Range<i64>), name!(sum, f64), name!(stddev, f64))>>
{
    let dataset = required(dataset, "dataset")?;
    let column = required(value_column, "value_column")?;
    let ranges = all_required(required(ranges, "ranges")?, "ranges")?;
    if ranges.is_empty() {
        return Err(invalid("ranges must hold at least one range", "Nothing was spent."));
    }
    let bounds = match bounds {
        Some(bounds) => given_bounds(&bounds)?,
        None => bounds_around(&ranges)?,
    };

    let dataset = Dataset::open(dataset)?;
    let rows_per_unit = dataset.source.max_rows_per_unit.unsigned_abs();
    let plan = plan(bounds, epsilon, delta, method, rows_per_unit)?;
    dataset.check_source()?;
    as_reader(dataset.source.reader(dataset.owner)?, || dataset.source.check_values(column))?;
    charge(&dataset, "dp_range_sums", &plan, bounds, Some(column))?;
    let truth = as_reader(dataset.source.reader(dataset.owner)?, || {
        read_whole_tables();
        dataset.source.read_bins(column, bounds)
    })?;
    Ok(TableIterator::new(answers(&release(&plan, &truth)?, ranges)))
}

fn plan(
    bounds: Bounds,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    rows_per_unit: u32,
) -> Result<RangePlan> {
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let method = required(method, "method")?;
    RangePlan::new(bounds.bins(), epsilon, delta, method, rows_per_unit).map_err(unfit)
}

fn unfit(problem: PlanError) -> ErrorReport {
    invalid(problem.to_string(), problem.hint())
}

fn charge(
    dataset: &Dataset,
    function: &'static str,
    plan: &RangePlan,
    bounds: Bounds,
    column: Option<&str>,
) -> Result<()> {
    let mut mechanism = plan.describe();
    mechanism["bounds"] = bounds.to_string().into();
    mechanism["value_column"] = column.into();
    ledger::charge(&Charge {
        dataset,
        function,
        epsilon: plan.epsilon(),
        delta: plan.delta(),
        rho: plan.rho(),
        mechanism,
        name: None,
    })?;
    Ok(())
}

fn release(plan: &RangePlan, truth: &Bins) -> Result<DpRanges> {
    let mut words = words_from_system().map_err(internal)?;
    let mut checkpoint = || {
        pgrx::check_for_interrupts!();
    };
    let release = plan.release(truth.counts(), &mut words, &mut checkpoint);
    Ok(DpRanges::new(truth.bounds(), release))
}

/// The ends of a range, `upper` not included; None where it has no end, and for an empty range.
fn ends(range: &Range<i64>) -> Option<(Option<i64>, Option<i64>)> {
    let (lower, upper) = range.as_ref()?;
    // PostgreSQL writes ranges of integers in the form [lower,upper)
    let number = |bound: &RangeBound<i64>| bound.get().copied();
    Some((number(lower), number(upper)))
}

fn given_bounds(range: &Range<i64>) -> Result<Bounds> {
    let unfit = |what: &str| {
        invalid(
            format!("bounds must have two ends, got {what} range"),
            "For ages up to 99 it is '[0,100)'. They are public: choose them without looking.",
        )
    };
    match ends(range) {
        Some((Some(lo), Some(hi))) => checked_bounds(lo, hi),
        Some(_) => Err(unfit("an unbounded")),
        None => Err(unfit("an empty")),
    }
}

/// Bounds that hold all ranges, and a bin on either side for what is in none of them.
fn bounds_around(ranges: &[Range<i64>]) -> Result<Bounds> {
    let ends =
        || ranges.iter().filter_map(ends).flat_map(|(lower, upper)| [lower, upper]).flatten();
    let (Some(least), Some(greatest)) = (ends().min(), ends().max()) else {
        return Err(invalid(
            "bounds must be given where no range has an end",
            "Without bounds, the bins are those from the least to the greatest end of the ranges.",
        ));
    };
    checked_bounds(least.saturating_sub(1), greatest.saturating_add(1))
}

/// The bounds that two arguments give.
pub(super) fn checked_bounds(lo: i64, hi: i64) -> Result<Bounds> {
    Bounds::new(lo, hi).map_err(|problem| match problem {
        BoundsError::Empty { .. } => invalid(
            problem.to_string(),
            "The bins are lo, lo + 1, ..., hi - 1: for ages up to 99, lo is 0 and hi is 100.",
        ),
        BoundsError::TooMany { .. } => {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, problem.to_string())
                .set_hint("Use wider bins, for example bin / 10, or closer bounds.")
        }
    })
}

fn answers(released: &DpRanges, ranges: Vec<Range<i64>>) -> Vec<(Range<i64>, f64, f64)> {
    let answers = released.release().answers();
    let answer = |range: Range<i64>| {
        let inside = |(lower, upper)| released.bounds().inside(lower, upper);
        let bins = ends(&range).map_or(0..0, inside);
        (range, answers.sum(bins.clone()), answers.variance(bins).sqrt())
    };
    ranges.into_iter().map(answer).collect()
}

#[pg_extern(immutable, parallel_safe)]
fn dp_range_sum(r: DpRanges, range: Range<i64>) -> f64 {
    answers(&r, vec![range])[0].1
}

#[pg_extern(immutable, parallel_safe)]
fn dp_range_sums(
    r: Option<DpRanges>,
    ranges: Option<Vec<Option<Range<i64>>>>,
) -> Result<TableIterator<'static, (name!(range, Range<i64>), name!(sum, f64), name!(stddev, f64))>>
{
    let released = required(r, "r")?;
    let ranges = all_required(required(ranges, "ranges")?, "ranges")?;
    Ok(TableIterator::new(answers(&released, ranges)))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_unnest_ranges(
    r: DpRanges,
) -> TableIterator<'static, (name!(bin, i64), name!(value, f64), name!(stddev, f64))> {
    let answers = r.release().answers();
    let bins = (r.bounds().lo()..r.bounds().hi()).zip(0usize..);
    TableIterator::new(bins.map(move |(bin, index)| {
        let only = index..index + 1;
        (bin, answers.sum(only.clone()), answers.variance(only).sqrt())
    }))
}
