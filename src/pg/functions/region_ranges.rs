//! Range sums of all regions of a dataset's hierarchy.

use super::ranges::{about, described, joined, request, some_ranges, spent, tell_outside, weight};
use crate::hierarchy::Tree;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::region_reading::Values;
use crate::pg::errors::{Result, all_required, internal, required, unfit_ranges};
use crate::pg::release::named::{AllRegionSums, RegionSums, promised};
use crate::pg::release::order::Asked;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::amounts::{AmountArguments, Amounts};
use crate::pg::values::interval::{Questions, SqlRange};
use crate::ranges::{
    AmountUnit, MAX_BINS, RangePlanError, RegionPlan, RegionRelease, RegionRequest, RegionTree,
};
use crate::work::poll;
use pgrx::AnyNumeric;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use serde_json::json;
use std::ops::Range;

type Rows = TableIterator<
    'static,
    (
        name!(level, i32),
        name!(path, Vec<String>),
        name!(range, SqlRange),
        name!(sum, f64),
        name!(stddev, f64),
    ),
>;

/// What all forms of the function are asked for besides their ranges.
struct Arguments<'a> {
    dataset: Option<&'a str>,
    value_column: Option<&'a str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&'a str>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&'a str>,
    amounts: AmountArguments<'a>,
    within: Option<Vec<Option<String>>>,
    period: Option<&'a str>,
}

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_region_range_sums_of_numbers(
    dataset: Option<&str>,
    value_column: Option<&str>,
    ranges: Option<Vec<Option<SqlRange>>>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    bounds: Option<SqlRange>,
    method: Option<&str>,
    budget_shares: Option<Vec<Option<f64>>>,
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
            name!(level, i32),
            name!(path, Vec<String>),
            name!(range, SqlRange),
            name!(sum, f64),
            name!(stddev, f64),
        ),
    >,
> {
    let ranges = some_ranges(ranges, "ranges")?;
    let questions = Questions::of_numbers(&ranges, bounds.as_ref(), "bounds")?;
    let amounts = AmountArguments { amount, max_amount, min_amount, amount_unit };
    let arguments = Arguments {
        dataset,
        value_column,
        epsilon,
        delta,
        method,
        budget_shares,
        name,
        amounts,
        within,
        period,
    };
    of_dataset(arguments, ranges, questions)
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
            budget_shares: Option<Vec<Option<f64>>>,
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
                    name!(level, i32),
                    name!(path, Vec<String>),
                    name!(range, SqlRange),
                    name!(sum, f64),
                    name!(stddev, f64),
                ),
            >,
        > {
            let ranges = some_ranges(ranges, "ranges")?;
            let bin_width = required(bin_width, "bin_width")?;
            let questions = Questions::of_times($type, &ranges, bounds.as_ref(), bin_width)?;
            let amounts = AmountArguments { amount, max_amount, min_amount, amount_unit };
            let arguments = Arguments {
                dataset,
                value_column,
                epsilon,
                delta,
                method,
                budget_shares,
                name,
                amounts,
                within,
                period,
            };
            of_dataset(arguments, ranges, questions)
        }
    };
}

of_times!(dp_region_range_sums_of_dates, pg_sys::DATEOID);
of_times!(dp_region_range_sums_of_timestamps, pg_sys::TIMESTAMPOID);
of_times!(dp_region_range_sums_of_timestamptzs, pg_sys::TIMESTAMPTZOID);

fn of_dataset(arguments: Arguments, ranges: Vec<SqlRange>, questions: Questions) -> Result<Rows> {
    let Arguments { value_column, epsilon, delta, method, name, .. } = arguments;
    let progress = Progress::start(Function::RegionRangeSums, Phase::Checking);
    let dataset_name = required(arguments.dataset, "dataset")?;
    let dataset =
        Dataset::open_for(dataset_name, name)?.of_part(arguments.within, arguments.period)?;
    progress.dataset(dataset.id);
    let column = required(value_column, "value_column")?;
    let shares = arguments.budget_shares.map(|shares| all_required(shares, "budget_shares"));
    let shares = shares.transpose()?;
    let amounts =
        arguments.amounts.amounts(|column, unit| dataset.chosen_amount(column, unit, name))?;
    let Questions { axis, bounds, .. } = questions;
    let mut about = about(bounds, Some((column, axis)));
    about.extend(amounts.iter().flat_map(Amounts::about));

    let (asked_ranges, mut parameters) = described(name, &ranges, axis)?;
    parameters.extend(about.clone());
    parameters.extend(dataset.source.part.about());
    parameters.extend(spent(epsilon, delta, method));
    parameters.insert("budget_shares".into(), json!(shares));
    let promise = promised(name, Some(dataset_name), parameters.into())?;
    let asked = Asked::new(&dataset, &progress, promise, about);
    let released = asked.once(|asked| {
        let (dataset, progress) = (asked.dataset, asked.progress);
        tell_outside(&asked, [("ranges", &ranges, &questions)])?;
        let (cells, questions) = joined(&questions);
        let weight = weight(dataset, amounts.as_ref())?;
        let request =
            request(cells.count() as i64, epsilon, delta, method, weight, Some(&questions))?;
        asked.of_rows(
            |source| {
                let values = Values { axis, bounds, cells };
                let reading = source.prepare_region_bins(column, values, amounts.as_ref())?;
                progress.phase(Phase::Planning);
                let tree = shape(&reading.regions.tree)?;
                check_answers(tree.regions(), questions.len())?;
                let plan = RegionPlan::new(RegionRequest { ranges: request, tree, shares });
                Ok((plan.map_err(unfit_ranges)?, reading))
            },
            |(tree, sums), receipt, words| {
                progress.phase(Phase::Measuring);
                let release = receipt.release(sums, words);
                let unit = amounts.as_ref().map_or(AmountUnit::ONE, |amounts| amounts.unit);
                let regions = answers(&tree, &release, &questions, unit);
                Ok(AllRegionSums { asked: &asked_ranges, regions })
            },
        )
    })?;
    let rows = released.regions.into_iter().flat_map(move |region| {
        let RegionSums { path, sums, deviations } = region;
        let answers: Vec<_> = ranges.iter().cloned().zip(sums).zip(deviations).collect();
        answers.into_iter().map(move |((range, sum), deviation)| {
            (path.len() as i32, path.clone(), range, sum, deviation)
        })
    });
    Ok(TableIterator::new(rows))
}

/// The regions by numbers alone.
pub(super) fn shape(tree: &Tree) -> Result<RegionTree> {
    let fan_outs = |level: usize| -> Vec<usize> {
        tree.level(level).map(|region| tree.regions()[region].children.len()).collect()
    };
    let fan_outs: Vec<Vec<usize>> = (0..tree.depth() - 1).map(fan_outs).collect();
    RegionTree::new(&fan_outs).ok_or_else(|| internal("the regions are no tree"))
}

/// Errors: more answers than one call returns.
fn check_answers(regions: usize, ranges: usize) -> Result<()> {
    match regions.checked_mul(ranges) {
        Some(answers) if answers <= MAX_BINS => Ok(()),
        _ => Err(unfit_ranges(RangePlanError::Regions { regions, cells: ranges })),
    }
}

fn answers(
    tree: &Tree,
    release: &RegionRelease,
    questions: &[Range<usize>],
    unit: AmountUnit,
) -> Vec<RegionSums> {
    let variances = questions.iter().map(|question| {
        poll();
        release.level_variances(question.clone())
    });
    let variances: Vec<Vec<f64>> = variances.collect();
    let regions = tree.regions().iter().enumerate().map(|(region, of_tree)| {
        poll();
        let sum = |question: &Range<usize>| unit.amount(release.sum(region, question.clone()));
        let deviation =
            |of_levels: &Vec<f64>| unit.amount(release.variance(region, of_levels).sqrt());
        RegionSums {
            path: of_tree.path.to_vec(),
            sums: questions.iter().map(sum).collect(),
            deviations: variances.iter().map(deviation).collect(),
        }
    });
    regions.collect()
}
