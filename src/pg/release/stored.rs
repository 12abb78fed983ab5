//! Releases that are stored under a name, and served again without a charge.

use super::content::ReleasedRegions;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error};
use crate::pg::ledger::account::Promise;
use crate::pg::server::catalog::read_catalog;
use crate::pg::server::locks::{PrivateLock, Turn};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// What there is under a name.
pub(crate) enum Found {
    /// The number of a stored release.
    Stored(i64),
    /// Nothing that could be served: whoever has the turn may make it, others wait meanwhile.
    Unstored(Turn),
}

/// Finds the release that was promised by that name, whatever the transaction's snapshot.
///
/// Who asks for what is stored locks nothing: it is free, and could stand in the way of others for
/// ever.
///
/// Error: something else was asked for by that name.
pub(crate) fn find_release(dataset: &Dataset, promise: &Promise) -> Result<Found> {
    if let Some(id) = stored_release(dataset, promise)? {
        return Ok(Found::Stored(id));
    }
    let turn = Turn::take_name(PrivateLock::ReleaseName, (dataset.id, &promise.name));
    let since = stored_release(dataset, promise)?;
    Ok(since.map_or(Found::Unstored(turn), Found::Stored))
}

/// Error: something else was asked for by that name.
pub(crate) fn stored_release(dataset: &Dataset, promise: &Promise) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT id, parameters = {}::jsonb, released_at IS NOT NULL \
           FROM dp.release WHERE dataset = {} AND name = {}",
        quote_literal(promise.parameters.to_string()),
        dataset.id,
        quote_literal(&promise.name)
    );
    let mut found = None;
    read_catalog(&sql, |row| {
        let id: Option<i64> = row.get(1);
        let (same, is_stored) = (row.get(2).unwrap_or(false), row.get(3).unwrap_or(false));
        found = id.map(|id| (id, same, is_stored));
        Ok(())
    })?;
    match found {
        Some((_, false, is_stored)) => Err(other_parameters(dataset, &promise.name, is_stored)),
        Some((id, _, true)) => Ok(Some(id)),
        Some((.., false)) | None => Ok(None),
    }
}

fn other_parameters(dataset: &Dataset, name: &str, is_stored: bool) -> ErrorReport {
    let hint = if is_stored {
        "dp.releases shows its parameters. Nothing was spent. Choose another name."
    } else {
        "It is charged, and not stored yet: dp.unstored_charges shows its parameters to the \
         dataset's owner. Nothing was spent. Choose another name."
    };
    error(
        PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
        format!(
            "release \"{name}\" of dataset \"{}\" exists already with other parameters",
            dataset.name
        ),
    )
    .set_hint(hint)
}

/// Finds a stored release, whatever its parameters.
pub(crate) fn find_release_by_name(dataset: &Dataset, name: &str) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT id FROM dp.release \
          WHERE dataset = {} AND name = {} AND released_at IS NOT NULL",
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
pub(crate) fn read_release(id: i64) -> Result<ReleasedRegions> {
    let sql =
        format!("SELECT path, histogram FROM dp.release_region WHERE release = {id} ORDER BY n");
    let mut regions = Vec::new();
    read_catalog(&sql, |row| {
        regions.push((row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default()));
        Ok(())
    })?;
    Ok(regions)
}
