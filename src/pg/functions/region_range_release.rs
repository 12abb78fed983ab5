//! One histogram for each region of a dataset's hierarchy, from bins that were counted elsewhere: what
//! ranges are answered from later.

use super::ranges::{about, request, spent};
use super::region_ranges::shape;
use crate::hierarchy::Tree;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::counted_bins::ReleasedBins;
use crate::pg::errors::{Result, all_required, invalid, required, unfit_ranges};
use crate::pg::release::named::{AllRegionRanges, promised};
use crate::pg::release::order::Asked;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::values::interval::{Questions, SqlRange};
use crate::ranges::{AmountBounds, BinBounds, DpRanges, RegionPlan, RegionRelease, RegionRequest};
use crate::work::poll;
use pgrx::prelude::*;
use serde_json::json;

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
#[allow(clippy::type_complexity)] // and its columns
fn dp_region_range_release(
    dataset: Option<&str>,
    bins_column: Option<&str>,
    bounds: Option<SqlRange>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&str>,
    max_amount: Option<i64>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<
    TableIterator<'static, (name!(level, i32), name!(path, Vec<String>), name!(ranges, DpRanges))>,
> {
    let progress = Progress::start(Function::RegionRangeRelease, Phase::Checking);
    let dataset_name = required(dataset, "dataset")?;
    let dataset = Dataset::open_for(dataset_name, name)?.of_part(within, period)?;
    progress.dataset(dataset.id);
    let column = required(bins_column, "bins_column")?;
    let bounds = required(bounds, "bounds")?;
    let bounds = Questions::of_numbers(&[], Some(&bounds), "bounds")?.bounds;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;
    let most = checked_amount(required(max_amount, "max_amount")?)?;

    let mut about = about(bounds, None);
    about.insert("bins_column".into(), column.into());
    if most > 1 {
        about.insert("max_amount".into(), most.into());
    }
    let mut parameters = about.clone();
    parameters.extend(spent(epsilon, delta, method));
    parameters.insert("budget_shares".into(), json!(shares));
    parameters.extend(dataset.source.part.about());
    parameters.insert("value_type".into(), "bigint".into());
    let promise = promised(name, Some(dataset_name), parameters.into())?;
    let asked = Asked::new(&dataset, &progress, promise, about);
    let released = asked.once(|asked| {
        let (dataset, progress) = (asked.dataset, asked.progress);
        let weight = weight(dataset, most)?;
        let request = request(bounds.bins() as i64, epsilon, delta, method, weight, None)?;
        asked.of_rows(
            |source| {
                let reading = source.prepare_counted_bins(column, ReleasedBins { bounds, most })?;
                progress.phase(Phase::Planning);
                let tree = shape(&reading.regions.tree)?;
                let plan = RegionPlan::new(RegionRequest { ranges: request, tree, shares });
                Ok((plan.map_err(unfit_ranges)?, reading))
            },
            |(tree, sums), receipt, words| {
                progress.phase(Phase::Measuring);
                Ok(histograms(&tree, &receipt.release(sums, words), bounds))
            },
        )
    })?;
    let rows = released.regions.into_iter();
    Ok(TableIterator::new(rows.map(|(path, ranges)| (path.len() as i32, path, ranges))))
}

fn checked_amount(most: i64) -> Result<u32> {
    u32::try_from(most).ok().filter(|most| *most > 0).ok_or_else(|| {
        invalid(
            format!("max_amount must be from 1 to {}, got {most}", u32::MAX),
            "It is what bins_agg was called with, or 1 where it counted rows.",
        )
    })
}

/// How far a unit of privacy moves the bins.
fn weight(dataset: &Dataset, most: u32) -> Result<u32> {
    let rows_per_unit = dataset.source.max_rows_per_unit.unsigned_abs();
    let weight = AmountBounds::new(0, most.into()).and_then(|each| each.weight(rows_per_unit));
    weight.ok_or_else(|| {
        invalid(
            format!(
                "max_amount {most} is too large: what {rows_per_unit} rows add at most is more than \
                 {}",
                u32::MAX
            ),
            "Count amounts in larger units.",
        )
    })
}

fn histograms(tree: &Tree, release: &RegionRelease, bounds: BinBounds) -> AllRegionRanges {
    let regions = tree.regions().iter().enumerate().map(|(region, of_tree)| {
        poll();
        (of_tree.path.to_vec(), release.of_region(region, bounds))
    });
    AllRegionRanges { regions: regions.collect() }
}
