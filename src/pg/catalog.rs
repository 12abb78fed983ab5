//! The tables of schema `dp`: datasets and stored releases. (Charges: see `ledger`.)

use super::errors::{Result, error, internal};
use super::session::{acts_for, as_catalog_owner, extension_schema};
use super::source::Source;
use crate::coco::DpCoco;
use crate::hierarchy::Region;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;

/// A dataset that the current role may release from.
#[derive(Debug)]
pub(super) struct Dataset {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) owner: Oid,
    pub(super) source: Source,
}

/// Runs a statement on the catalog, with its rights, and reads its first row.
pub(super) fn execute<T>(
    sql: &str,
    arguments: &[DatumWithOid],
    read: impl FnOnce(&SpiHeapTupleData) -> std::result::Result<T, pgrx::spi::Error>,
) -> Result<Option<T>> {
    as_catalog_owner(|| {
        Spi::connect_mut(|client| {
            let mut rows = client.update(sql, None, arguments)?;
            rows.next().map(|row| read(&row)).transpose()
        })
    })
    .map_err(internal)
}

impl Dataset {
    /// Looks a dataset up by name, for its owner.
    ///
    /// Errors: it does not exist; the current role does not act for its owner.
    pub(super) fn open(name: &str) -> Result<Dataset> {
        let found = execute(
            "SELECT id, owner::oid, entities::oid, groups::oid, group_key, hierarchy, size_column \
             FROM dp.dataset WHERE name = $1 AND dropped_at IS NULL",
            &[name.into()],
            |row| {
                Ok(Dataset {
                    id: row.get(1)?.unwrap_or_default(),
                    name: name.to_string(),
                    owner: row.get(2)?.unwrap_or(Oid::INVALID),
                    source: Source {
                        entities: row.get(3)?.unwrap_or(Oid::INVALID),
                        groups: row.get(4)?,
                        group_key: row.get(5)?.unwrap_or_default(),
                        hierarchy: row.get(6)?.unwrap_or_default(),
                        size_column: row.get(7)?,
                    },
                })
            },
        )?;
        let dataset = found.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("dataset \"{name}\" does not exist"),
            )
            .set_hint("The view dp.datasets lists the datasets; dp_create_dataset makes one.")
        })?;
        if acts_for(dataset.owner) {
            Ok(dataset)
        } else {
            Err(error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for dataset \"{name}\""),
            )
            .set_hint("Only the dataset's owner and members of that role may use it."))
        }
    }
}

/// A release that was stored under a name.
pub(super) struct StoredRelease {
    pub(super) id: i64,
    /// Whether it was made with the parameters that are asked for now.
    pub(super) same_parameters: bool,
}

/// Finds a stored release; others that ask for the same name wait until this transaction ends.
pub(super) fn find_release(
    dataset: &Dataset,
    name: &str,
    parameters: &serde_json::Value,
) -> Result<Option<StoredRelease>> {
    let key = format!("pg_dp release {} {name}", dataset.id);
    execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        &[key.as_str().into()],
        |_| Ok(()),
    )?;
    execute(
        "SELECT id, parameters = $3::jsonb FROM dp.release WHERE dataset = $1 AND name = $2",
        &[dataset.id.into(), name.into(), parameters.to_string().into()],
        |row| {
            Ok(StoredRelease {
                id: row.get(1)?.unwrap_or_default(),
                same_parameters: row.get(2)?.unwrap_or_default(),
            })
        },
    )
}

/// The regions of a stored release and their histograms, level by level.
pub(super) fn read_release(id: i64) -> Result<Vec<(Vec<String>, DpCoco)>> {
    as_catalog_owner(|| {
        Spi::connect_mut(|client| {
            let sql = "SELECT path, histogram FROM dp.release_region WHERE release = $1 ORDER BY n";
            let rows = client.update(sql, None, &[id.into()])?;
            rows.map(|row| Ok((row.get(1)?.unwrap_or_default(), row.get(2)?.unwrap_or_default())))
                .collect::<std::result::Result<_, pgrx::spi::Error>>()
        })
    })
    .map_err(internal)
}

pub(super) fn store_release(
    dataset: &Dataset,
    name: &str,
    charge: i64,
    parameters: &serde_json::Value,
    regions: &[Region],
    histograms: &[DpCoco],
) -> Result<()> {
    let id = execute(
        "INSERT INTO dp.release (dataset, name, charge, parameters) VALUES ($1, $2, $3, $4::jsonb) \
         RETURNING id",
        &[dataset.id.into(), name.into(), charge.into(), parameters.to_string().into()],
        |row| row.get::<i64>(1),
    )?
    .flatten();
    let insert = format!(
        "INSERT INTO dp.release_region (release, n, path, histogram) \
         VALUES ($1, $2, $3, $4::{}.dp_coco)",
        extension_schema()?
    );
    for (n, (region, histogram)) in (0i64..).zip(regions.iter().zip(histograms)) {
        pgrx::check_for_interrupts!();
        let text = histogram.histogram().to_string();
        let arguments = [id.into(), n.into(), region.path.clone().into(), text.into()];
        execute(&insert, &arguments, |_| Ok(()))?;
    }
    Ok(())
}
