//! What a release of range sums by region would be like, before it is made.

use super::explain_hierarchy::no_public_regions;
use super::explain_ranges::parsed;
use super::ranges::request;
use super::region_ranges::shape;
use crate::hierarchy::Tree;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, all_required, internal, required, unfit_ranges};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::ranges::{RegionPlan, RegionRequest, TargetRanges};
use pgrx::prelude::*;

/// Reads the public table of groups alone, with the owner's rights, as the release does; nothing is
/// spent.
#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
#[allow(clippy::type_complexity)] // and its columns
fn dp_explain_region_ranges(
    dataset: Option<&str>,
    bins: Option<i64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    method: Option<&str>,
    budget_shares: Option<Vec<Option<f64>>>,
    workload: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(level, i32),
            name!(level_name, Option<String>),
            name!(regions, i64),
            name!(share, f64),
            name!(method, String),
            name!(mean_variance, f64),
            name!(max_variance, f64),
        ),
    >,
> {
    let progress = Progress::start(Function::ExplainRegionRanges, Phase::Checking);
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    progress.dataset(dataset.id);
    let bins = required(bins, "bins")?;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;
    let workload = parsed(workload)?;
    let rows_per_unit = dataset.source.max_rows_per_unit.unsigned_abs();
    let mut ranges = request(bins, epsilon, delta, method, rows_per_unit, None)?;
    if ranges.method.target == TargetRanges::ALL {
        ranges.method.target = TargetRanges::Workload(workload);
    }
    dataset.source.check_has_values()?;
    dataset.check_source()?;
    let tree = tree(&dataset)?;
    progress.phase(Phase::Planning);
    let plan = RegionPlan::new(RegionRequest { ranges, tree: shape(&tree)?, shares });
    let plan = plan.map_err(unfit_ranges)?;

    let spreads = plan.spreads(workload).into_iter().zip(plan.shares()).enumerate();
    let names = std::iter::once(None).chain(dataset.source.hierarchy.iter().cloned().map(Some));
    let method = plan.method().word();
    let rows = spreads.zip(names).map(|((level, (spread, share)), name)| {
        let regions = tree.level(level).len() as i64;
        (level as i32, name, regions, *share, method.to_string(), spread.mean, spread.max)
    });
    Ok(TableIterator::new(rows.collect::<Vec<_>>()))
}

/// The regions of the table of groups; the root alone where there is no hierarchy.
fn tree(dataset: &Dataset) -> Result<Tree> {
    let depth = dataset.source.hierarchy.len();
    let leaves = match dataset.groups_per_leaf()? {
        Some(leaves) => leaves,
        None if depth == 0 => vec![(vec![], 0)],
        None => {
            let hint = match dataset.source.hidden {
                Some(_) => "Ranges by region are for datasets whose groups are public.",
                None => {
                    "Declare the dataset with groups => '...', a public table with the region of \
                     each group."
                }
            };
            return Err(no_public_regions(dataset, hint));
        }
    };
    dataset.source.check_has_regions(&[leaves.len()])?;
    let (tree, _) = Tree::from_leaves(depth, leaves).map_err(internal)?;
    Ok(tree)
}
