//! Range sums: releases of `bins` and of a column of a dataset, and what can be read off them.

use super::estimates::{Estimate, forged};
use crate::charge::Receipt;
use crate::noise::SystemWords;
use crate::pg::dataset::asked_part::check_no_part;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Failure, Result, all_required, internal, invalid, required, unfit_ranges};
use crate::pg::release::named::{AskedRange, RangeSums, promised};
use crate::pg::release::order::{Asked, uncharged};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::amounts::{AmountArguments, Amounts};
use crate::pg::values::interval::{Axis, BinRange, Questions, RangeEnds, SqlRange};
use crate::ranges::{
    AmountUnit, BinBounds, Bins, DpRanges, MIN_AWARE_BINS, MethodChoice, RangeCells, RangeRequest,
    ReleaseChoice, ReleasePlan, ReleaseRequest, TargetRanges,
};
use pgrx::AnyNumeric;
use pgrx::datum::Interval;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::Range;

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_range_release(
    b: Option<Bins>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    dataset: Option<&str>,
    name: Option<&str>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<DpRanges> {
    let truth = required(b, "b").map_err(|report| {
        report.set_hint(
            "bins_agg is NULL without rows: coalesce(bins_agg(...), '[0,100){}'), or of amounts up \
             to 50 '[0,100)<=50{}'.",
        )
    })?;
    let progress = Progress::start(Function::RangeRelease, Phase::Planning);
    let bins = truth.bounds();
    let about = about_bins(&truth);
    let mut parameters = about.clone();
    parameters.extend(spent(epsilon, delta, method));
    parameters.insert("value_type".into(), "bigint".into());
    let plan = || {
        let (bins, weight) = (bins.bins(), truth.most());
        let line = Line { bins, widths: None, weight, negative: false };
        plan(line, epsilon, delta, method, None)
    };
    let Some(dataset_name) = dataset else {
        check_no_part(within.as_deref(), period)?;
        promised(name, None, parameters.into())?;
        return uncharged(plan()?, |receipt, words| Ok(draw(receipt, &truth, words, &progress)));
    };
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(dataset.id);
    check_counts_rows(&dataset, "dp_range_sums")?;
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

/// What the ledger's entry shows, and a name is asked for with: the amounts, too, where not rows are
/// counted.
fn about_bins(truth: &Bins) -> Map<String, Value> {
    let mut about = about(truth.bounds(), None);
    if truth.most() > 1 {
        about.insert("max_amount".into(), truth.most().into());
    }
    about
}

/// Refuses a dataset for which a histogram made elsewhere does not bound what one unit changes.
/// `reads`: the function that reads the dataset's rows itself.
pub(super) fn check_counts_rows(dataset: &Dataset, reads: &str) -> Result<()> {
    let name = &dataset.name;
    if dataset.source.size_column.is_some() {
        return Err(invalid(
            format!(
                "dataset \"{name}\" has a size_column: its rows are groups, and one entity more \
                 moves a group from one bin to another"
            ),
            "Declare a dataset whose entities are the rows that are counted.",
        ));
    }
    if dataset.source.privacy_unit.is_some() {
        return Err(invalid(
            format!(
                "dataset \"{name}\" bounds the rows of each privacy unit, which a histogram \
                 made elsewhere does not"
            ),
            format!("Use {reads} with the name of the dataset."),
        ));
    }
    Ok(())
}

fn draw<P>(
    receipt: Receipt<ReleasePlan, P>,
    truth: &Bins,
    words: &mut SystemWords,
    progress: &Progress,
) -> DpRanges {
    progress.phase(Phase::Measuring);
    receipt.release_bins(truth, words)
}

type AnswerRow = (name!(range, SqlRange), name!(sum, f64), name!(stddev, f64));

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_range_sums_of_numbers(
    dataset: Option<&str>,
    value_column: Option<&str>,
    ranges: Option<Vec<Option<SqlRange>>>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    bounds: Option<SqlRange>,
    method: Option<&str>,
    name: Option<&str>,
    amount: Option<&str>,
    max_amount: Option<AnyNumeric>,
    min_amount: Option<AnyNumeric>,
    amount_unit: Option<AnyNumeric>,
    estimate: Option<&str>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<TableIterator<'static, (name!(range, SqlRange), name!(sum, f64), name!(stddev, f64))>> {
    let ranges = some_ranges(ranges, "ranges")?;
    let questions = Questions::of_numbers(&ranges, bounds.as_ref(), "bounds")?;
    let amounts = AmountArguments { amount, max_amount, min_amount, amount_unit };
    let asked = (ranges, questions);
    let part = (within, period);
    of_dataset(dataset, part, value_column, asked, epsilon, delta, method, name, amounts, estimate)
}

macro_rules! of_times {
    ($name:ident, $type:expr) => {
        #[pg_extern(volatile, parallel_unsafe)]
        #[allow(clippy::too_many_arguments)] // the SQL function's arguments
        fn $name(
            dataset: Option<&str>,
            value_column: Option<&str>,
            ranges: Option<Vec<Option<SqlRange>>>,
            bin_width: Option<Interval>,
            epsilon: Option<f64>,
            delta: Option<f64>,
            bounds: Option<SqlRange>,
            method: Option<&str>,
            name: Option<&str>,
            amount: Option<&str>,
            max_amount: Option<AnyNumeric>,
            min_amount: Option<AnyNumeric>,
            amount_unit: Option<AnyNumeric>,
            estimate: Option<&str>,
            within: Option<Vec<Option<String>>>,
            period: Option<&str>,
        ) -> Result<
            TableIterator<'static, (name!(range, SqlRange), name!(sum, f64), name!(stddev, f64))>,
        > {
            let ranges = some_ranges(ranges, "ranges")?;
            let bin_width = required(bin_width, "bin_width")?;
            let questions = Questions::of_times($type, &ranges, bounds.as_ref(), bin_width)?;
            let amounts = AmountArguments { amount, max_amount, min_amount, amount_unit };
            of_dataset(
                dataset,
                (within, period),
                value_column,
                (ranges, questions),
                epsilon,
                delta,
                method,
                name,
                amounts,
                estimate,
            )
        }
    };
}

of_times!(dp_range_sums_of_dates, pg_sys::DATEOID);
of_times!(dp_range_sums_of_timestamps, pg_sys::TIMESTAMPOID);
of_times!(dp_range_sums_of_timestamptzs, pg_sys::TIMESTAMPTZOID);

pub(super) fn some_ranges(
    ranges: Option<Vec<Option<SqlRange>>>,
    argument: &str,
) -> Result<Vec<SqlRange>> {
    let ranges = all_required(required(ranges, argument)?, argument)?;
    if ranges.is_empty() {
        let message = format!("{argument} must hold at least one range");
        return Err(invalid(message, "Nothing was spent."));
    }
    Ok(ranges)
}

#[allow(clippy::too_many_arguments)] // the SQL functions' arguments
fn of_dataset(
    dataset: Option<&str>,
    (within, period): (Option<Vec<Option<String>>>, Option<&str>),
    value_column: Option<&str>,
    (ranges, questions): (Vec<SqlRange>, Questions),
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    name: Option<&str>,
    amounts: AmountArguments,
    estimate: Option<&str>,
) -> Result<TableIterator<'static, AnswerRow>> {
    let progress = Progress::start(Function::RangeSums, Phase::Checking);
    let dataset_name = required(dataset, "dataset")?;
    let dataset = Dataset::open_for(dataset_name, name)?.of_part(within, period)?;
    progress.dataset(dataset.id);
    let column = required(value_column, "value_column")?;
    let amounts = amounts.amounts(|column, unit| dataset.chosen_amount(column, unit, name))?;
    let estimate = Estimate::parse(estimate)?;
    estimate.check_amounts(amounts.as_ref())?;
    let mut about = about(questions.bounds, Some((column, questions.axis)));
    about.extend(amounts.iter().flat_map(Amounts::about));

    let (asked_ranges, mut parameters) = described(name, &ranges, questions.axis)?;
    parameters.extend(about.clone());
    parameters.extend(dataset.source.part.about());
    parameters.extend(spent(epsilon, delta, method));
    if estimate == Estimate::Adaptive {
        parameters.insert("estimate".into(), "adaptive".into());
    }
    let promise = promised(name, Some(dataset_name), parameters.into())?;
    let asked = Asked::new(&dataset, &progress, promise, about);
    let released = asked.once(|asked| {
        let (dataset, progress) = (asked.dataset, asked.progress);
        let Questions { axis, bounds, .. } = questions;
        let weight = weight(dataset, amounts.as_ref())?;
        tell_outside(&asked, [("ranges", &ranges, &questions)])?;
        let (cells, questions) = joined(&questions);
        progress.phase(Phase::Planning);
        let line = Line {
            bins: cells.count(),
            widths: Some(cells.widths().map(|width| width as u64).collect()),
            weight,
            negative: amounts.as_ref().is_some_and(Amounts::can_be_negative),
        };
        let plan = plan(line, epsilon, delta, method, Some(&questions))?;
        estimate.check_answers(&plan, questions.len())?;
        progress.phase(Phase::Checking);
        asked.of_rows(
            |source| Ok((plan, source.prepare_bins(column, axis, bounds, amounts.as_ref())?)),
            |truth, receipt, words| {
                progress.phase(Phase::Measuring);
                let release = receipt.release_sums(&truth.of_cells(&cells), words);
                let unit = amounts.as_ref().map_or(AmountUnit::ONE, |amounts| amounts.unit);
                let widths = || cells.widths().map(|width| width as f64).collect();
                let answers = estimate.of(&release, widths).and_then(|answers| {
                    let answers = questions.into_iter().map(|cells| answers.answer(cells));
                    let amount = |(sum, stddev)| (unit.amount(sum), unit.amount(stddev));
                    answers.map(|answer| answer.map(amount)).collect::<Option<Vec<_>>>()
                });
                let answers = answers
                    .ok_or_else(|| Failure::broken("the noise of a release has no variance"))?;
                Ok(RangeSums { asked: &asked_ranges, answers })
            },
        )
    })?;
    let rows = ranges.into_iter().zip(released.answers);
    let rows: Vec<AnswerRow> = rows.map(|(range, (sum, stddev))| (range, sum, stddev)).collect();
    Ok(TableIterator::new(rows))
}

/// How far a unit of privacy moves the counts, or the sums of amounts.
pub(super) fn weight(dataset: &Dataset, amounts: Option<&Amounts>) -> Result<u32> {
    let rows_per_unit = dataset.source.max_rows_per_unit.unsigned_abs();
    amounts.map_or(Ok(rows_per_unit), |amounts| amounts.weight(rows_per_unit))
}

/// The cells that answer the questions, and which of them each asks for: the questions are known, so
/// what they do not tell apart need not be measured apart.
pub(super) fn joined(questions: &Questions) -> (RangeCells, Vec<Range<usize>>) {
    let Questions { bins, bounds, .. } = questions;
    let bins: Vec<Range<usize>> = bins.iter().map(|bins| positions(*bounds, *bins)).collect();
    let cells = RangeCells::of(&bins, bounds.bins());
    let questions = bins.iter().map(|bins| cells.within(bins)).collect();
    (cells, questions)
}

/// Tells of ranges that no row can lie in, before they are charged: bounds and ranges are public.
///
/// Error: no row can lie in any that is asked for.
pub(super) fn tell_outside<const N: usize>(
    asked: &Asked,
    arguments: [(&str, &[SqlRange], &Questions); N],
) -> Result<()> {
    for (argument, ranges, questions) in &arguments {
        let mut outside = questions.outside();
        let Some(first) = outside.next() else { continue };
        // dp_publish has told it when it quoted the release
        if asked.is_charged()? {
            break;
        }
        if (0..ranges.len()).all(|n| arguments.iter().any(|(.., side)| side.has_no_row(n))) {
            return Err(nothing_inside(&arguments));
        }
        let others = match outside.count() {
            0 => String::new(),
            others => format!(", as do {others} more"),
        };
        pgrx::notice!(
            "{argument}: {} lies outside of {} {}{others}: such a sum costs what others do, and is 0 \
             whatever the rows are; ask for ranges inside",
            ranges[first].text(questions.axis.type_oid()),
            argument.replace("ranges", "bounds"),
            questions.bounds_text()
        );
    }
    Ok(())
}

/// What could be charged would tell nothing.
fn nothing_inside(arguments: &[(&str, &[SqlRange], &Questions)]) -> ErrorReport {
    let ranges: Vec<_> = arguments.iter().map(|(argument, ..)| *argument).collect();
    let bounds = arguments.iter().map(|(argument, _, questions)| {
        format!("{} {}", argument.replace("ranges", "bounds"), questions.bounds_text())
    });
    invalid(
        format!(
            "{}: all that is asked for lies outside of {}",
            ranges.join(" and "),
            bounds.collect::<Vec<_>>().join(" or ")
        ),
        "Nothing was spent. All sums would be 0 whatever the rows are: ask for a range inside, or give \
         wider bounds.",
    )
}

/// What is stored of the ranges under a name, if there is one, and how they are told apart from
/// others that could be asked for by it.
pub(super) fn described(
    name: Option<&str>,
    ranges: &[SqlRange],
    axis: Axis,
) -> Result<(Vec<AskedRange>, Map<String, Value>)> {
    let mut parameters = Map::new();
    if name.is_none() {
        return Ok((Vec::new(), parameters));
    }
    let asked_ranges = asked(ranges, axis.type_oid())?;
    parameters.insert("ranges".into(), asked_ranges.iter().map(AskedRange::text).collect());
    parameters.insert("value_type".into(), type_name(axis.type_oid()).into());
    Ok((asked_ranges, parameters))
}

/// The arguments that all releases of ranges have, as a name is asked for with them.
pub(super) fn spent(
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
) -> [(String, Value); 3] {
    [("epsilon", json!(epsilon)), ("delta", json!(delta)), ("method", json!(method))]
        .map(|(argument, value)| (argument.to_string(), value))
}

fn type_name(type_oid: Oid) -> &'static str {
    match type_oid {
        pg_sys::DATEOID => "date",
        pg_sys::TIMESTAMPOID => "timestamp",
        pg_sys::TIMESTAMPTZOID => "timestamptz",
        _ => "bigint",
    }
}

/// The ranges as they are stored, with their grains as the session's time zone has them.
fn asked(ranges: &[SqlRange], type_oid: Oid) -> Result<Vec<AskedRange>> {
    let ends: Vec<RangeEnds> = ranges.iter().map(|range| range.ends(type_oid)).collect();
    let grains = Spi::connect(|client| {
        let texts = |end: fn(&RangeEnds) -> &Option<String>| -> Vec<Option<String>> {
            ends.iter().map(|ends| end(ends).clone()).collect()
        };
        let lowers = texts(|ends| &ends.lower);
        let uppers = texts(|ends| &ends.upper);
        let rows = client.select(
            "SELECT dp.grain($1, t.lower, t.upper) \
               FROM ROWS FROM (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) \
                    WITH ORDINALITY AS t (lower, upper, n) \
              ORDER BY t.n",
            None,
            &[type_oid.into(), lowers.into(), uppers.into()],
        )?;
        rows.map(|row| row.get::<String>(1)).collect::<std::result::Result<Vec<_>, _>>()
    })
    .map_err(internal)?;
    let described = ends.into_iter().zip(grains);
    Ok(described
        .map(|(RangeEnds { lower, upper }, grain)| AskedRange {
            grain: grain.unwrap_or_default(),
            lower,
            upper,
        })
        .collect())
}

/// The bins, or the cells between the ends of ranges, that sums are released of.
struct Line {
    bins: usize,
    /// How many bins each cell is.
    widths: Option<Vec<u64>>,
    /// See [`weight`].
    weight: u32,
    /// Whether amounts can be below 0.
    negative: bool,
}

/// `questions`: what is asked, if that is known; what words do not say otherwise is made for it.
fn plan(
    line: Line,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    questions: Option<&[Range<usize>]>,
) -> Result<ReleasePlan> {
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let word = required(method, "method")?;
    let mut choice = ReleaseChoice::parse(word).map_err(unfit_ranges)?;
    made_for(choice.target(), questions);
    let Line { bins, widths, weight: rows_per_unit, negative } = line;
    let bins = bins as i64;
    let request = ReleaseRequest { bins, widths, epsilon, delta, rows_per_unit, negative, choice };
    let plan = ReleasePlan::new(request).map_err(unfit_ranges)?;
    if plan.has_too_few_bins() {
        // cells are public
        pgrx::notice!(
            "method \"{word}\" looks for buckets from {MIN_AWARE_BINS} cells on, of which there are {bins}: \
             each is measured, as by auto without a delta"
        );
    }
    Ok(plan)
}

/// What words do not say otherwise is made for what is asked, if that is known.
fn made_for(target: &mut TargetRanges, questions: Option<&[Range<usize>]>) {
    if let Some(questions) = questions
        && *target == TargetRanges::ALL
    {
        *target = TargetRanges::Ranges(questions.to_vec());
    }
}

/// Of a strategy; see [`plan`].
pub(super) fn request(
    bins: i64,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    rows_per_unit: u32,
    questions: Option<&[Range<usize>]>,
) -> Result<RangeRequest> {
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let word = required(method, "method")?;
    let mut method = MethodChoice::parse(word).map_err(unfit_ranges)?;
    made_for(&mut method.target, questions);
    Ok(RangeRequest { bins, epsilon, delta, rows_per_unit, method })
}

/// What the ledger's entry shows besides the mechanism.
pub(super) fn about(bounds: BinBounds, column: Option<(&str, Axis)>) -> Map<String, Value> {
    let mut about = Map::new();
    let mut show = |key: &str, value: String| about.insert(key.to_string(), value.into());
    show("bounds", bounds.to_string());
    if let Some((column, axis)) = column {
        show("value_column", column.to_string());
        if let Axis::Time(axis) = axis {
            show("bin_width", format!("{} us", axis.width));
            show("bin_0", format!("2000-01-01 + {} us", axis.origin));
        }
    }
    about
}

/// The bins of a range by their positions; outside of the bounds there are none.
fn positions(bounds: BinBounds, bins: Option<BinRange>) -> Range<usize> {
    bins.map_or(0..0, |bins| bounds.inside(bins.lower, bins.upper))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_range_sum(r: DpRanges, range: SqlRange) -> f64 {
    r.release().sum(positions(r.bounds(), range.half_open()))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_range_sums(
    r: Option<DpRanges>,
    ranges: Option<Vec<Option<SqlRange>>>,
    estimate: Option<&str>,
) -> Result<TableIterator<'static, (name!(range, SqlRange), name!(sum, f64), name!(stddev, f64))>> {
    let released = required(r, "r")?;
    let ranges = all_required(required(ranges, "ranges")?, "ranges")?;
    let answers = Estimate::parse(estimate)?.of_bins(released.release())?;
    let rows = ranges.into_iter().map(|range| {
        let bins = positions(released.bounds(), range.half_open());
        let (sum, stddev) = answers.answer(bins).ok_or_else(forged)?;
        Ok((range, sum, stddev))
    });
    Ok(TableIterator::new(rows.collect::<Result<Vec<AnswerRow>>>()?))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_unnest_ranges(
    r: DpRanges,
    estimate: &str,
) -> Result<TableIterator<'static, (name!(bin, i64), name!(value, f64), name!(stddev, f64))>> {
    let answers = Estimate::parse(Some(estimate))?.of_bins(r.release())?;
    let bounds = r.bounds();
    let of_bins = answers.of_bins().ok_or_else(forged)?;
    let rows = (bounds.lo()..bounds.hi()).zip(of_bins);
    let rows = rows.map(|(bin, (value, stddev))| (bin, value, stddev));
    Ok(TableIterator::new(rows.collect::<Vec<_>>()))
}
