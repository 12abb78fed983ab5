//! What a release of a hierarchy would be like, before it is made.

use super::watch::SimulationWatch;
use crate::coco::{Coco, DpCoco};
use crate::hierarchy::{
    Candidate, ExpectedError, GUESSED_MEAN_SIZE, MAX_GROUPS_OF_HG, Mechanism, Prior,
    ReleaseRequest, Shape, Tree, candidates, expected_errors,
};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{
    Result, all_required, error, internal, invalid, not_carried_out, required, unfit,
};
use crate::pg::release::published::check_not_retracted;
use crate::pg::release::stored::{
    find_release_by_name, is_of_earlier_dataset, part_of_release, read_regions,
};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::settings::threads;
use crate::pg::values::bound::Bound;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// A mean needs two numbers to tell how far it is off.
const SIMULATIONS: std::ops::RangeInclusive<u32> = 2..=1000;

/// Nothing private is read, nothing spent: what is simulated is made up from released and public
/// numbers, so this is post-processing. The dataset may be asked about by those who may release
/// from it.
#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_explain_hierarchy(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    estimators: Option<Vec<Option<String>>>,
    consistency: Option<Vec<Option<String>>>,
    max_size: Option<Bound>,
    budget_shares: Option<Vec<Option<f64>>>,
    release: Option<&str>,
    shape: Option<DpCoco>,
    mean_size: Option<f64>,
    simulations: Option<i32>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(level, i32),
            name!(regions, i64),
            name!(estimators, Vec<String>),
            name!(consistency, String),
            name!(expected_emd, f64),
            name!(standard_error, f64),
            name!(obtained, String),
            name!(chosen, bool),
        ),
    >,
> {
    let dataset_name = required(dataset, "dataset")?;
    let epsilon = required(epsilon, "epsilon")?;
    let estimators = estimators.map(|words| all_required(words, "estimators")).transpose()?;
    let consistency = consistency.map(|words| all_required(words, "consistency")).transpose()?;
    let max_size = required(max_size, "max_size")?;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;
    let simulations = checked_simulations(simulations)?;
    let known = Known::of_arguments(release, shape, mean_size)?;

    let progress = Progress::start(Function::ExplainHierarchy, Phase::Checking);
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(dataset.id);
    let max_size = match max_size {
        Bound::Number(size) => size,
        Bound::Auto => dataset.chosen_size(None)?,
    };
    let request = ReleaseRequest {
        max_size,
        shares,
        rows_per_unit: dataset.source.max_rows_per_unit.unsigned_abs(),
        groups_per_unit: dataset.source.groups_per_unit(),
        ..ReleaseRequest::new(dataset.source.hierarchy.len() + 1, epsilon)
    };
    let candidates = |groups| {
        candidates(&request, estimators.as_deref(), consistency.as_deref(), groups).map_err(unfit)
    };
    // what is wrong with the arguments is told before the tables are looked at
    let max_size = candidates(0)?.first().map_or(0, |candidate| candidate.mechanism.max_size());
    dataset.check_source()?;
    let (tree, prior, groups) = known.prior(&dataset, max_size)?;
    if estimators.is_none() && groups > MAX_GROUPS_OF_HG {
        pgrx::notice!(
            "Hg is left out: it draws noise for each of {groups} groups, on every level and in \
             every simulation; name it in estimators to have it"
        );
    }
    let candidates = candidates(groups)?;

    let mechanisms: Vec<&Mechanism> = candidates.iter().map(|c| &c.mechanism).collect();
    let what = format!("by each of {} candidates", mechanisms.len());
    let mut watch = SimulationWatch::new(&progress, simulations, what);
    let expected = expected_errors(&mechanisms, &tree, &prior, simulations, threads(), &mut watch)
        .map_err(not_carried_out)?;
    let obtained = format!("simulation: {simulations} releases of {}", known.describe(&dataset)?);
    Ok(TableIterator::new(rows(&tree, &candidates, &expected, &obtained)))
}

fn checked_simulations(simulations: Option<i32>) -> Result<u32> {
    let simulations = required(simulations, "simulations")?;
    u32::try_from(simulations).ok().filter(|n| SIMULATIONS.contains(n)).ok_or_else(|| {
        let (least, most) = (SIMULATIONS.start(), SIMULATIONS.end());
        invalid(
            format!("simulations must be from {least} to {most}, got {simulations}"),
            "The standard error falls with the square root of their number.",
        )
    })
}

/// A row for each level and candidate.
fn rows(
    tree: &Tree,
    candidates: &[Candidate],
    expected: &[Vec<ExpectedError>],
    obtained: &str,
) -> Vec<ExplainedRow> {
    let mut rows = Vec::new();
    for level in 0..tree.depth() {
        for (candidate, expected) in candidates.iter().zip(expected) {
            rows.push((
                level as i32,
                tree.level(level).len() as i64,
                candidate.estimators.clone(),
                candidate.consistency.clone(),
                expected[level].emd,
                expected[level].standard_error,
                obtained.to_string(),
                candidate.chosen,
            ));
        }
    }
    rows
}

type ExplainedRow = (
    name!(level, i32),
    name!(regions, i64),
    name!(estimators, Vec<String>),
    name!(consistency, String),
    name!(expected_emd, f64),
    name!(standard_error, f64),
    name!(obtained, String),
    name!(chosen, bool),
);

/// What is known of the data, from the caller.
enum Known {
    Release(String),
    Shape(DpCoco),
    MeanSize(f64),
    Nothing,
}

impl Known {
    fn of_arguments(
        release: Option<&str>,
        shape: Option<DpCoco>,
        mean_size: Option<f64>,
    ) -> Result<Known> {
        match (release, shape, mean_size) {
            (None, None, None) => Ok(Known::Nothing),
            (Some(name), None, None) => Ok(Known::Release(name.to_string())),
            (None, Some(shape), None) => Ok(Known::Shape(shape)),
            (None, None, Some(mean)) => Ok(Known::MeanSize(mean)),
            _ => Err(invalid(
                "release, shape and mean_size exclude each other",
                "Each of them says what the data are like. A release says the most.",
            )),
        }
    }

    /// The regions, what they are taken to hold, and the number of all groups.
    fn prior(&self, dataset: &Dataset, max_size: u64) -> Result<(Tree, Prior, u64)> {
        let shape = match self {
            Known::Release(name) => return of_release(dataset, name),
            Known::Shape(shape) => Shape::of_histogram(shape.histogram()).ok_or_else(|| {
                invalid(
                    "shape must have groups, got none",
                    "Give a released histogram, of which only the proportions count.",
                )
            }),
            Known::MeanSize(mean) => heavy_tailed(*mean, max_size),
            Known::Nothing => heavy_tailed(GUESSED_MEAN_SIZE, max_size),
        }?;
        dataset.source.check_has_sizes()?;
        let leaves = dataset.groups_per_leaf()?.ok_or_else(|| {
            no_public_regions(
                dataset,
                "Name a stored release of the dataset, whose regions are known: release => ...; \
                 dp.releases lists them.",
            )
        })?;
        dataset.source.check_has_regions(&[leaves.len()])?;
        let depth = dataset.source.hierarchy.len();
        let (tree, groups) = Tree::from_leaves(depth, leaves).map_err(internal)?;
        let all = groups.iter().fold(0, |sum: u64, groups| sum.saturating_add(*groups));
        Ok((tree, Prior::Shape { shape, groups }, all))
    }

    fn describe(&self, dataset: &Dataset) -> Result<String> {
        Ok(match self {
            Known::Release(name) => {
                let part = part_of_release(dataset, name)?;
                let of = if part.is_empty() { "" } else { " of " };
                format!("release \"{name}\"{of}{part}")
            }
            Known::Shape(_) => "groups drawn from the given shape".to_string(),
            Known::MeanSize(mean) => {
                format!("groups drawn from a heavy-tailed shape with mean size {mean}")
            }
            Known::Nothing => format!(
                "groups drawn from the default shape, heavy-tailed with mean size {GUESSED_MEAN_SIZE}"
            ),
        })
    }
}

pub(super) fn no_public_regions(dataset: &Dataset, hint: &str) -> ErrorReport {
    let name = &dataset.name;
    let reason = match dataset.counted {
        None if dataset.source.hidden.is_some() => {
            "has private groups: only its releases tell how many each region has"
        }
        None => "has no table of groups: only private rows tell its regions",
        Some(_) => "is counted beforehand: only its leaves, which are private, tell its regions",
    };
    invalid(format!("dataset \"{name}\" {reason}"), hint)
}

fn heavy_tailed(mean_size: f64, max_size: u64) -> Result<Shape> {
    Shape::heavy_tailed(mean_size, max_size).ok_or_else(|| {
        invalid(
            format!("mean_size must be a positive, finite number, got {mean_size}"),
            "The mean number of entities in a group, as far as it is publicly known.",
        )
    })
}

/// A stored release as if it were the data.
fn of_release(dataset: &Dataset, name: &str) -> Result<(Tree, Prior, u64)> {
    let Some(id) = find_release_by_name(dataset, name)? else {
        check_not_retracted(&dataset.name, name)?;
        let (why, hint) = match is_of_earlier_dataset(dataset, name)? {
            true => (
                "is of an earlier dataset of that name",
                "Its regions may be others. Give a histogram of it instead: shape => ...",
            ),
            false => (
                "does not exist, or is no hierarchy",
                "The view dp.releases lists the stored releases.",
            ),
        };
        let message = format!("release \"{name}\" of dataset \"{}\" {why}", dataset.name);
        return Err(error(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message).set_hint(hint));
    };
    let depth = dataset.source.hierarchy.len();
    let regions = read_regions(id)?.into_iter().filter(|(path, _)| path.depth() == depth);
    let leaves = regions.map(|(path, histogram)| (path, histogram.histogram().clone()));
    let leaves = leaves.collect();
    let (tree, leaves) = Tree::from_leaves(depth, leaves).map_err(internal)?;
    let groups = leaves.iter().map(Coco::groups).fold(0, u64::saturating_add);
    Ok((tree, Prior::Leaves(leaves), groups))
}
