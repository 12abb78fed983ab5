//! `dp_hierarchy_release`.

use super::watch::{Watch, rows};
use crate::coco::Coco;
use crate::hierarchy::{Mechanism, ReleaseRequest, Released, Tree};
use crate::noise::SystemWords;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{
    Failure, Result, all_required, checked_name, internal, invalid, required, unfit,
};
use crate::pg::ledger::account::{LedgerReceipt, Promise};
use crate::pg::release::content::{ReleasedRegions, StoredContent};
use crate::pg::release::order::Asked;
use crate::pg::release::store::{Outcome, store};
use crate::pg::release::stored::{Found, find_release, read_release, stored_release};
use crate::pg::server::locks::Turn;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::settings::threads;
use crate::pg::server::state::workers_of_session;
use pgrx::prelude::*;
use serde_json::{Map, json};

/// A release that is stored under the name is served. Otherwise all that is public is checked, and
/// the mechanism planned; then it goes the way of every release.
#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_hierarchy_release(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    estimators: Option<Vec<Option<String>>>,
    consistency: Option<&str>,
    max_size: Option<i64>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&str>,
    keep_measurements: Option<bool>,
) -> Result<
    TableIterator<
        'static,
        (name!(level, i32), name!(path, Vec<String>), name!(size, i64), name!(groups, i64)),
    >,
> {
    let dataset_name = required(dataset, "dataset")?;
    let epsilon = required(epsilon, "epsilon")?;
    let estimators = all_required(required(estimators, "estimators")?, "estimators")?;
    let consistency = required(consistency, "consistency")?;
    let max_size = required(max_size, "max_size")?;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;

    let name = name.map(|name| checked_name(name, "name")).transpose()?;
    let keep_measurements = required(keep_measurements, "keep_measurements")?;
    if keep_measurements && name.is_none() {
        return Err(invalid(
            "keep_measurements needs a name",
            "Measurements are stored with a release: name => '...'.",
        ));
    }

    let progress = Progress::start(Function::HierarchyRelease, Phase::Checking);
    let dataset = Dataset::open(dataset_name)?;
    progress.dataset(dataset.id);
    let levels = dataset.source.hierarchy.len() + 1;
    let request = ReleaseRequest {
        levels,
        epsilon,
        estimators,
        consistency: consistency.to_string(),
        max_size,
        shares,
        rows_per_unit: dataset.source.max_rows_per_unit.unsigned_abs(),
        keep_measurements,
    };
    let mechanism = Mechanism::new(&request).map_err(unfit)?;

    let mut parameters = json!({
        "epsilon": epsilon,
        "estimators": request.estimators,
        "consistency": request.consistency,
        "max_size": max_size,
        "budget_shares": request.shares,
    });
    if keep_measurements {
        parameters["keep_measurements"] = json!(true);
    }
    let promise = name.map(|name| Promise { name: name.to_string(), parameters });
    let turn = match promise.as_ref().map(|promise| find_release(&dataset, promise)).transpose()? {
        Some(Found::Stored(id)) => return read_release(id).map(rows),
        Some(Found::Unstored(turn)) => Some(turn),
        None => None,
    };
    let (regions, selection) = release(&dataset, &progress, mechanism, promise, turn)?;
    if let Some(selection) = selection {
        pgrx::notice!("{selection}");
    }
    Ok(rows(regions))
}

/// The regions, and what there is to say of a selection.
fn release(
    dataset: &Dataset,
    progress: &Progress,
    mechanism: Mechanism,
    promise: Option<Promise>,
    turn: Option<Turn>,
) -> Result<(ReleasedRegions, Option<String>)> {
    let asked = Asked { dataset, progress, promise: promise.clone(), turn, about: Map::new() };
    let (max_size, workers) = (mechanism.max_size(), workers_of_session());
    asked.of_rows(
        |source| {
            let reading = source.prepare_leaves(max_size, workers)?;
            // where the regions are those of private rows, the release itself has to find out
            if let Some(regions) = reading.regions_per_level() {
                mechanism.check_regions(&regions).map_err(unfit)?;
            }
            Ok((mechanism, reading))
        },
        |(tree, leaves), receipt, words| {
            let charge = receipt.entry().id;
            let watch = Watch::release(progress, receipt.mechanism(), &tree, promise.is_some());
            let Released { histograms, errors, epsilons, measurements } =
                measure(receipt, &tree, leaves, words, watch)?;
            let paths = tree.regions().iter().map(|region| region.path.clone());
            let regions = paths.zip(histograms).collect();
            if let Some(promise) = &promise {
                progress.phase(Phase::Storing);
                let content = StoredContent::new(charge, &regions, epsilons, &measurements);
                let outcome = store(dataset, &promise.name, &content).map_err(Failure::Store)?;
                if outcome == Outcome::OtherStored {
                    let other = other_attempt(dataset, promise).map_err(Failure::Store)?;
                    return Ok((other, None));
                }
            }
            Ok((regions, selection(&errors)))
        },
    )
}

fn measure(
    receipt: LedgerReceipt<Mechanism>,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut SystemWords,
    mut watch: Watch,
) -> std::result::Result<Released, Failure> {
    Ok(receipt.release(tree, leaves, words, threads(), &mut watch)?)
}

/// What another attempt at the same release has stored.
fn other_attempt(dataset: &Dataset, promise: &Promise) -> Result<ReleasedRegions> {
    match stored_release(dataset, promise)? {
        Some(id) => read_release(id),
        None => Err(internal("a release was stored, and is gone")),
    }
}

/// The noisy errors of the candidates among which one was selected, if any.
fn selection(errors: &[(String, i64)]) -> Option<String> {
    let (selected, _) = errors.iter().min_by_key(|(_, error)| error)?;
    let errors: Vec<String> =
        errors.iter().map(|(name, error)| format!("{name} {error}")).collect();
    let errors = errors.join(", ");
    Some(format!("selected {selected}: entities off in all regions together, with noise: {errors}"))
}
