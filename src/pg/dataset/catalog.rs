//! The tables of schema `dp`: datasets and stored releases. (Charges: see `ledger`.)

use super::source::Source;
use crate::coco::DpCoco;
use crate::hierarchy::Region;
use crate::pg::errors::{Result, error, internal};
use crate::pg::server::session::{
    PrivateLock, Row, acts_for, as_catalog_owner, as_of_now, as_reader, current_role,
    extension_schema, private_lock, read_rows, sleep,
};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{SpiHeapTupleData, quote_literal};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// A dataset that the current role may release from.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) owner: Oid,
    /// The role whose grant the current role uses; None for the owner.
    pub(crate) grantee: Option<Oid>,
    pub(crate) source: Source,
    /// Of the source, when it was declared or last confirmed.
    fingerprint: String,
}

/// Runs a statement on the catalog, with its rights, and reads its first row.
pub(crate) fn execute<T>(
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

/// Reads the catalog as it is now, with its rights, whatever the transaction's snapshot.
pub(crate) fn read_catalog(sql: &str, visit: impl FnMut(&Row) -> Result<()>) -> Result<()> {
    as_catalog_owner(|| as_of_now(|| read_rows(sql, visit)))
}

impl Dataset {
    /// Looks a dataset up by name, for its owner or a role that it was granted to.
    ///
    /// Errors: it does not exist; the current role may not use it.
    pub(crate) fn open(name: &str) -> Result<Dataset> {
        let mut dataset = Dataset::find(name)?;
        if acts_for(dataset.owner) {
            return Ok(dataset);
        }
        let sql = format!(
            "SELECT grantee FROM dp.access \
              WHERE dataset = {} AND NOT revoked AND dp.role(grantee, grantee_name) = grantee \
              ORDER BY grantee <> {}, grantee",
            dataset.id,
            current_role().to_u32()
        );
        let mut grantees = Vec::new();
        read_catalog(&sql, |row| {
            grantees.extend(row.get::<Oid>(1));
            Ok(())
        })?;
        dataset.grantee = grantees.into_iter().find(|role| acts_for(*role));
        match dataset.grantee {
            Some(_) => Ok(dataset),
            None => Err(denied(name, "Its owner can let your role release: dp_grant.")),
        }
    }

    /// Looks a dataset up by name, for its owner alone.
    pub(crate) fn open_as_owner(name: &str) -> Result<Dataset> {
        let dataset = Dataset::find(name)?;
        if acts_for(dataset.owner) {
            Ok(dataset)
        } else {
            Err(denied(name, "Only the dataset's owner and members of that role may do this."))
        }
    }

    fn find(name: &str) -> Result<Dataset> {
        let sql = format!(
            "SELECT id, dp.role(owner, owner_name), entities, groups, group_key, hierarchy, \
                    size_column, privacy_unit, max_rows_per_unit, fingerprint \
               FROM dp.dataset WHERE name = {} AND dropped_at IS NULL",
            quote_literal(name)
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            found = Some(Dataset {
                id: row.get(1).unwrap_or_default(),
                name: name.to_string(),
                owner: row.get(2).unwrap_or(Oid::INVALID),
                grantee: None,
                source: Source {
                    entities: row.get(3).unwrap_or(Oid::INVALID),
                    groups: row.get(4),
                    group_key: row.get(5).unwrap_or_default(),
                    hierarchy: row.get(6).unwrap_or_default(),
                    size_column: row.get(7),
                    privacy_unit: row.get(8),
                    max_rows_per_unit: row.get(9).unwrap_or(1),
                },
                fingerprint: row.get(10).unwrap_or_default(),
            });
            Ok(())
        })?;
        found.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("dataset \"{name}\" does not exist"),
            )
            .set_hint("The view dp.datasets lists the datasets; dp_create_dataset makes one.")
        })
    }

    /// Every leaf region's path with its public number of groups; None where only private rows tell.
    pub(crate) fn groups_per_leaf(&self) -> Result<Option<Vec<(Vec<String>, u64)>>> {
        as_reader(self.source.reader(self.owner)?, || self.source.groups_per_leaf())
    }

    /// Refuses a source that is not what the owner declared any more, or whose public part is
    /// wrong. Reads public rows only, with the owner's rights; to be called before charging. Returns the role
    /// that reads.
    pub(crate) fn check_source(&self) -> Result<Oid> {
        // locks the tables, so that what is found now holds for the reading
        let reader = self.source.reader(self.owner)?;
        as_reader(reader, || {
            if as_of_now(|| self.source.fingerprint())? != self.fingerprint {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("the tables of dataset \"{}\" were changed", self.name),
                )
                .set_hint(
                    "Its owner confirms with dp_confirm_dataset that it still means the same, or \
                     drops it.",
                ));
            }
            self.source.check()
        })?;
        Ok(reader)
    }
}

fn denied(name: &str, hint: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for dataset \"{name}\""),
    )
    .set_hint(hint)
}

/// A release that was stored under a name.
pub(crate) struct StoredRelease {
    pub(crate) id: i64,
    /// Whether it was made with the parameters that are asked for now.
    pub(crate) same_parameters: bool,
}

/// How long to wait for a name that another transaction is about to give: as long as the ledger's
/// worker waits for a lock.
const NAME_PATIENCE: Duration = Duration::from_secs(5);

/// Takes the right to give a name, until the end of the transaction. False if another transaction
/// that has it does not end in time.
///
/// It does not queue for the lock: how long that may take is a setting of the caller's.
pub(crate) fn lock_name(kind: PrivateLock, name: impl Hash) -> bool {
    // names that share a hash wait for each other, too: no harm
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let tag = private_lock(kind, hasher.finish());
    let begin = Instant::now();
    loop {
        let outcome =
            unsafe { pg_sys::LockAcquire(&tag, pg_sys::ExclusiveLock as i32, false, true) };
        if outcome != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL {
            return true;
        }
        if begin.elapsed() >= NAME_PATIENCE {
            return false;
        }
        let reason = pg_sys::PG_WAIT_LOCK | pg_sys::LockTagType::LOCKTAG_ADVISORY;
        sleep(Duration::from_millis(10), reason);
    }
}

/// Finds a stored release. Where there is none, others that ask for the same name wait from now on
/// until this transaction ends. (Not on a standby, which stores none.)
///
/// Who asks for what is stored locks nothing: it is free, and could stand in the way of others for ever.
/// Error: another transaction that makes the release does not end in time.
pub(crate) fn find_release(
    dataset: &Dataset,
    name: &str,
    parameters: &serde_json::Value,
) -> Result<Option<StoredRelease>> {
    let stored = stored_release(dataset, name, parameters)?;
    if stored.is_some() || unsafe { pg_sys::RecoveryInProgress() } {
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
