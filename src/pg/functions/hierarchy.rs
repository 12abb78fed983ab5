//! `dp_hierarchy_release`.

use super::watch::{Watch, rows};
use crate::coco::{Coco, DpCoco};
use crate::hierarchy::{Mechanism, ReleaseRequest, Released, Tree};
use crate::noise::SystemWords;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Failure, Result, all_required, checked_name, error, required, unfit};
use crate::pg::ledger::account::LedgerReceipt;
use crate::pg::release::order::Asked;
use crate::pg::release::stored::{find_release, read_release, store_release};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::settings::threads;
use crate::pg::server::state::{is_read_only, workers_of_session};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};
use std::fmt::Display;

type ReleasedRegions = Vec<(Vec<String>, DpCoco)>;

/// A release that is stored under the name is served. Otherwise all that is public is checked, and
/// the mechanism planned; then it goes the way of every release.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_hierarchy_release(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    estimators: Option<Vec<Option<String>>>,
    consistency: Option<&str>,
    max_size: Option<i64>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&str>,
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
    };
    let mechanism = Mechanism::new(&request).map_err(unfit)?;

    let asked = json!({
        "epsilon": epsilon,
        "estimators": request.estimators,
        "consistency": request.consistency,
        "max_size": max_size,
        "budget_shares": request.shares,
    });
    if let Some(name) = name
        && let Some(regions) = stored(&dataset, name, &asked)?
    {
        return Ok(rows(regions));
    }
    if name.is_some() && is_read_only() {
        return Err(cannot_store());
    }
    let named = name.map(|name| Named { dataset: &dataset, name, parameters: &asked });
    release(&dataset, &progress, mechanism, named).map(rows)
}

/// The release of that name, if there is one. Error: it was made with other parameters.
fn stored(dataset: &Dataset, name: &str, parameters: &Value) -> Result<Option<ReleasedRegions>> {
    let Some(stored) = find_release(dataset, name, parameters)? else { return Ok(None) };
    if stored.same_parameters {
        return read_release(stored.id).map(Some);
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
        format!(
            "release \"{name}\" of dataset \"{}\" exists already with other parameters",
            dataset.name
        ),
    )
    .set_hint("dp.releases shows its parameters. Nothing was spent. Choose another name."))
}

fn cannot_store() -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        "a named release cannot be stored in a read-only transaction",
    )
    .set_hint("Nothing was spent. Leave the name out, or start a transaction that may write.")
}

/// Where a release will be stored.
struct Named<'a> {
    dataset: &'a Dataset,
    name: &'a str,
    parameters: &'a Value,
}

fn release(
    dataset: &Dataset,
    progress: &Progress,
    mechanism: Mechanism,
    named: Option<Named>,
) -> Result<ReleasedRegions> {
    let name = named.as_ref().map(|named| named.name);
    let asked = Asked { dataset, progress, name, about: Map::new() };
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
            let charge = *receipt.entry();
            let released = measure(receipt, &tree, leaves, words, progress)?;
            if let Some(Named { dataset, name, parameters }) = named {
                progress.phase(Phase::Storing);
                store_release(dataset, name, charge, parameters, tree.regions(), &released)
                    .map_err(Failure::Store)?;
            }
            let paths = tree.regions().iter().map(|region| region.path.clone());
            Ok(paths.zip(released.histograms).collect())
        },
    )
}

fn measure(
    receipt: LedgerReceipt<Mechanism>,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut SystemWords,
    progress: &Progress,
) -> std::result::Result<Released, Failure> {
    let mut watch = Watch::release(progress, receipt.mechanism(), tree);
    let released = receipt.release(tree, leaves, words, threads(), &mut watch)?;
    tell_selection(&released.errors);
    Ok(released)
}

/// The noisy errors of the candidates among which one was selected, if any.
fn tell_selection<E: Ord + Display>(errors: &[(String, E)]) {
    if let Some((selected, _)) = errors.iter().min_by_key(|(_, error)| error) {
        let errors: Vec<String> =
            errors.iter().map(|(name, error)| format!("{name} {error}")).collect();
        pgrx::notice!(
            "selected {selected}: entities off in all regions together, with noise: {}",
            errors.join(", ")
        );
    }
}
