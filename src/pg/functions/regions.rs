//! Regions where private rows alone tell which there are: finding those that enough units of privacy
//! have, and how many are enough.

use crate::hierarchy::{Discovery, DiscoveryError};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::region_finding::UnitsOfRegions;
use crate::pg::errors::{Result, invalid, required};
use crate::pg::release::named::{FoundRegions, promised};
use crate::pg::release::order::Asked;
use crate::pg::server::progress::{Function, Phase, Progress};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, json};

/// What [`dp_explain_regions`] tells how many are needed for.
const PROBABILITIES: [f64; 5] = [0.01, 0.1, 0.5, 0.9, 0.99];

#[pg_extern(volatile, parallel_unsafe)]
fn dp_find_regions(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    name: Option<&str>,
) -> Result<TableIterator<'static, (name!(path, Vec<String>),)>> {
    let progress = Progress::start(Function::FindRegions, Phase::Checking);
    let dataset_name = required(dataset, "dataset")?;
    let dataset = Dataset::open_for(dataset_name, name)?;
    progress.dataset(dataset.id);
    let discovery = discovery(&dataset, epsilon, delta)?;
    let parameters = json!({"epsilon": epsilon, "delta": delta});
    let promise = promised(name, Some(dataset_name), parameters)?;
    let asked = Asked::new(&dataset, &progress, promise, Map::new());
    let FoundRegions { paths } = asked.once(|asked| find(asked, discovery))?;
    Ok(TableIterator::new(paths.into_iter().map(|path| (path,))))
}

fn find(asked: Asked, discovery: Discovery) -> Result<FoundRegions> {
    asked.of_each_row(
        |source| Ok((discovery, source.prepare_finding()?)),
        |units: UnitsOfRegions, receipt, words| {
            Ok(FoundRegions { paths: units.find(&receipt.finder(), words) })
        },
    )
}

/// Nothing is read, nothing spent.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_explain_regions(
    dataset: Option<&str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> Result<TableIterator<'static, (name!(units, i64), name!(probability, f64))>> {
    let progress = Progress::start(Function::ExplainRegions, Phase::Planning);
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    progress.dataset(dataset.id);
    let discovery = discovery(&dataset, epsilon, delta)?;
    let law = discovery.law();
    let needed = PROBABILITIES.map(|probability| law.least_units(probability));
    let mut units = [&[1], &needed[..], &[law.least_units(1.0)]].concat();
    units.dedup();
    let rows: Vec<(i64, f64)> =
        units.into_iter().map(|units| (units as i64, law.probability(units))).collect();
    Ok(TableIterator::new(rows))
}

/// Errors: which regions there are is public; arguments are missing, or no such release is possible.
fn discovery(dataset: &Dataset, epsilon: Option<f64>, delta: Option<f64>) -> Result<Discovery> {
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let regions_per_unit = dataset.source.regions_per_unit(&dataset.name)?;
    let unfit = |error: DiscoveryError| -> ErrorReport { invalid(error.to_string(), error.hint()) };
    Discovery::new(epsilon, delta, regions_per_unit).map_err(unfit)
}
