//! `dp_hierarchy_release`.

use super::release_rows::ReleaseRows;
use super::watch::Watch;
use crate::coco::Coco;
use crate::hierarchy::{Mechanism, ReleaseRequest, Released, Tree};
use crate::noise::SystemWords;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::source::Source;
use crate::pg::errors::{Failure, Result, all_required, invalid, required, unfit};
use crate::pg::ledger::account::LedgerReceipt;
use crate::pg::release::named::{HierarchyRelease, promised};
use crate::pg::release::order::Asked;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::settings::threads;
use crate::pg::server::state::workers_of_session;
use crate::pg::values::bound::{AUTO, Bound};
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
    max_size: Option<Bound>,
    budget_shares: Option<Vec<Option<f64>>>,
    name: Option<&str>,
    keep_measurements: Option<bool>,
    within: Option<Vec<Option<String>>>,
    period: Option<&str>,
) -> Result<ReleaseRows> {
    let dataset_name = required(dataset, "dataset")?;
    let epsilon = required(epsilon, "epsilon")?;
    let estimators = all_required(required(estimators, "estimators")?, "estimators")?;
    let consistency = required(consistency, "consistency")?;
    let shares = budget_shares.map(|shares| all_required(shares, "budget_shares")).transpose()?;

    let keep_measurements = required(keep_measurements, "keep_measurements")?;
    if keep_measurements && name.is_none() {
        return Err(invalid(
            "keep_measurements needs a name",
            "Measurements are stored with a release: name => '...'.",
        ));
    }

    let progress = Progress::start(Function::HierarchyRelease, Phase::Checking);
    let dataset = Dataset::open_for(dataset_name, name)?.of_part(within, period)?;
    progress.dataset(dataset.id);
    let (max_size, is_auto) = match required(max_size, "max_size")? {
        Bound::Number(size) => (size, false),
        Bound::Auto => (dataset.chosen_size(name)?, true),
    };
    let Source { hierarchy, part, .. } = &dataset.source;
    if period.is_some() {
        dataset.check_groups_listed()?;
    }
    let levels = hierarchy.len() - part.within.len() + 1;
    let request = ReleaseRequest {
        levels,
        epsilon,
        estimators,
        consistency: consistency.to_string(),
        max_size,
        shares,
        rows_per_unit: dataset.source.max_rows_per_unit.unsigned_abs(),
        groups_per_unit: dataset.source.groups_per_unit(),
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
    if is_auto {
        parameters[AUTO] = json!("max_size");
    }
    if keep_measurements {
        parameters["keep_measurements"] = json!(true);
    }
    for (argument, value) in part.about() {
        parameters[argument] = value;
    }
    let promise = promised(name, Some(dataset_name), parameters)?;
    let asked = Asked::new(&dataset, &progress, promise, Map::new());
    let released = asked.once(|asked| release(asked, mechanism))?;
    if let Some(selection) = released.selection {
        pgrx::notice!("{selection}");
    }
    Ok(ReleaseRows(released.regions))
}

fn release(asked: Asked, mechanism: Mechanism) -> Result<HierarchyRelease> {
    let (max_size, workers) = (mechanism.max_size(), workers_of_session());
    let (progress, is_named) = (asked.progress, asked.promise.is_some());
    asked.of_rows(
        |source| {
            let reading = source.prepare_leaves(max_size, workers)?;
            // where the regions are those of private rows, the release itself has to find out
            if let Some(regions) = reading.regions_per_level() {
                source.check_has_regions(&regions)?;
                mechanism.check_regions(&regions).map_err(unfit)?;
            }
            Ok((mechanism, reading))
        },
        |(tree, leaves), receipt, words| {
            let watch = Watch::release(progress, receipt.mechanism(), &tree, is_named);
            let Released { histograms, errors, epsilons, measurements } =
                measure(receipt, &tree, leaves, words, watch)?;
            Ok(HierarchyRelease {
                regions: tree.into_paths().zip(histograms).collect(),
                level_epsilons: epsilons,
                measurements,
                selection: selection(&errors),
            })
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

/// The noisy errors of the candidates among which one was selected, if any.
fn selection(errors: &[(String, i64)]) -> Option<String> {
    let (selected, _) = errors.iter().min_by_key(|(_, error)| error)?;
    let errors: Vec<String> =
        errors.iter().map(|(name, error)| format!("{name} {error}")).collect();
    let errors = errors.join(", ");
    Some(format!("selected {selected}: entities off in all regions together, with noise: {errors}"))
}
