//! Releases that are stored under a name, and served again without a charge.

use crate::coco::DpCoco;
use crate::hierarchy::{Region, Released};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::locks::{PrivateLock, lock_name};
use crate::pg::server::select::extension_schema;
use crate::pg::server::state::is_in_recovery;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// A release that was stored under a name.
pub(crate) struct StoredRelease {
    pub(crate) id: i64,
    /// Whether it was made with the parameters that are asked for now.
    pub(crate) same_parameters: bool,
}

/// Finds a stored release. Where there is none, others that ask for the same name wait from now on
/// until this transaction ends. (Not on a standby, which stores none.)
///
/// Who asks for what is stored locks nothing: it is free, and could stand in the way of others for
/// ever.
///
/// Error: another transaction that makes the release does not end in time.
pub(crate) fn find_release(
    dataset: &Dataset,
    name: &str,
    parameters: &serde_json::Value,
) -> Result<Option<StoredRelease>> {
    let stored = stored_release(dataset, name, parameters)?;
    if stored.is_some() || is_in_recovery() {
        return Ok(stored);
    }
    if lock_name(PrivateLock::ReleaseName, (dataset.id, name)) {
        return stored_release(dataset, name, parameters); // maybe since
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
        format!(
            "release \"{name}\" of dataset \"{}\" is being made by a transaction that does not end",
            dataset.name
        ),
    )
    .set_hint("Nothing was spent. Ask again when it has ended, or choose another name."))
}

fn stored_release(
    dataset: &Dataset,
    name: &str,
    parameters: &serde_json::Value,
) -> Result<Option<StoredRelease>> {
    let sql = format!(
        "SELECT id, parameters = {}::jsonb FROM dp.release WHERE dataset = {} AND name = {}",
        quote_literal(parameters.to_string()),
        dataset.id,
        quote_literal(name)
    );
    let mut stored = None;
    read_catalog(&sql, |row| {
        stored = Some(StoredRelease {
            id: row.get(1).unwrap_or_default(),
            same_parameters: row.get(2).unwrap_or_default(),
        });
        Ok(())
    })?;
    Ok(stored)
}

/// Finds a stored release, whatever its parameters.
pub(crate) fn find_release_by_name(dataset: &Dataset, name: &str) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT id FROM dp.release WHERE dataset = {} AND name = {}",
        dataset.id,
        quote_literal(name)
    );
    let mut id = None;
    read_catalog(&sql, |row| {
        id = row.get(1);
        Ok(())
    })?;
    Ok(id)
}

/// The regions of a stored release and their histograms, level by level.
pub(crate) fn read_release(id: i64) -> Result<Vec<(Vec<String>, DpCoco)>> {
    let sql =
        format!("SELECT path, histogram FROM dp.release_region WHERE release = {id} ORDER BY n");
    let mut regions = Vec::new();
    read_catalog(&sql, |row| {
        regions.push((row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default()));
        Ok(())
    })?;
    Ok(regions)
}

pub(crate) fn store_release(
    dataset: &Dataset,
    name: &str,
    charge: i64,
    parameters: &serde_json::Value,
    regions: &[Region],
    released: &Released,
) -> Result<()> {
    // of a choice among several releases there is none
    let epsilons = (!released.epsilons.is_empty()).then(|| released.epsilons.clone());
    let id = execute(
        "INSERT INTO dp.release (dataset, name, charge, parameters, level_epsilons) \
         VALUES ($1, $2, $3, $4::jsonb, $5) RETURNING id",
        &[
            dataset.id.into(),
            name.into(),
            charge.into(),
            parameters.to_string().into(),
            epsilons.into(),
        ],
        |row| row.get::<i64>(1),
    )?
    .flatten();
    let insert = format!(
        "INSERT INTO dp.release_region (release, n, path, histogram) \
         VALUES ($1, $2, $3, $4::{}.dp_coco)",
        extension_schema()?
    );
    for (n, (region, histogram)) in (0i64..).zip(regions.iter().zip(&released.histograms)) {
        pgrx::check_for_interrupts!();
        let text = histogram.histogram().to_string();
        let arguments = [id.into(), n.into(), region.path.clone().into(), text.into()];
        execute(&insert, &arguments, |_| Ok(()))?;
    }
    Ok(())
}
