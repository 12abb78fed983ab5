//! The catalogue of stored releases: what their owner tells readers, and whether they see them.

use super::datasets::{lock_dataset_name, refuse_name_of_others};
use crate::pg::errors::{Result, error, invalid, required};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::roles::{acts_for, role_name};
use crate::pg::server::state::current_role;
use pgrx::datum::{Date, Range};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

const STATUSES: [&str; 3] = ["draft", "published", "retracted"];

/// A stored release, of a dataset that may be dropped by now.
pub(super) struct StoredRelease {
    pub(super) id: i64,
    is_retracted: bool,
    /// Whether another one of that dataset's name and that release's name is to be seen.
    is_replaced: bool,
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_set_status(dataset: Option<&str>, release: Option<&str>, status: Option<&str>) -> Result<()> {
    let dataset = required(dataset, "dataset")?;
    let name = required(release, "release")?;
    let status = required(status, "status")?;
    if !STATUSES.contains(&status) {
        return Err(invalid(
            format!("status: unknown word \"{status}\""),
            format!("Valid words: {}.", STATUSES.join(", ")),
        ));
    }
    let mut release = open_as_owner(dataset, name)?;
    if release.is_retracted && status != "retracted" {
        // nobody declares a dataset of that name meanwhile
        lock_dataset_name(dataset)?;
        release = open_as_owner(dataset, name)?;
        if release.is_replaced {
            return Err(error(
                PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
                format!("another release \"{name}\" of a dataset \"{dataset}\" is stored"),
            )
            .set_hint("Retract that one first."));
        }
        // it was free while nothing could be seen under it
        refuse_name_of_others(dataset)?;
    }
    execute(
        "UPDATE dp.release SET status = $2, status_since = clock_timestamp() WHERE id = $1",
        &[release.id.into(), status.into()],
        |_| Ok(()),
    )?;
    execute(
        "INSERT INTO dp.release_status (release, status, set_by) VALUES ($1, $2, $3)",
        &[release.id.into(), status.into(), role_name(current_role()).into()],
        |_| Ok(()),
    )?;
    if status == "published" {
        execute("SELECT dp.tell_published($1)", &[release.id.into()], |_| Ok(()))?;
    }
    Ok(())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_describe_release(
    dataset: Option<&str>,
    release: Option<&str>,
    title: Option<&str>,
    description: Option<&str>,
    valid: Option<Range<Date>>,
) -> Result<()> {
    let release = open_as_owner(required(dataset, "dataset")?, required(release, "release")?)?;
    execute(
        "UPDATE dp.release SET title = $2, description = $3, valid = $4 WHERE id = $1",
        &[release.id.into(), title.into(), description.into(), valid.into()],
        |_| Ok(()),
    )?;
    Ok(())
}

/// Errors: there is none; it is another role's.
pub(super) fn open_as_owner(dataset: &str, name: &str) -> Result<StoredRelease> {
    let sql = format!(
        "SELECT r.id, r.status = 'retracted', dp.role(d.owner, d.owner_name), \
                EXISTS (SELECT FROM dp.release AS o \
                         WHERE (o.dataset_name, o.name) = (r.dataset_name, r.name) \
                           AND o.id <> r.id AND o.released_at IS NOT NULL \
                           AND o.status <> 'retracted'), r.status = 'draft' \
           FROM dp.release AS r JOIN dp.dataset AS d ON d.id = r.dataset \
          WHERE (r.dataset_name, r.name) = ({}, {}) AND r.released_at IS NOT NULL \
          ORDER BY r.status = 'retracted' DESC, r.id",
        quote_literal(dataset),
        quote_literal(name)
    );
    let mut found = Vec::new();
    let mut is_known = false;
    read_catalog(&sql, |row| {
        let release = StoredRelease {
            id: row.get(1).unwrap_or_default(),
            is_retracted: row.get(2).unwrap_or_default(),
            is_replaced: row.get(4).unwrap_or(true),
        };
        found.push((row.get(3).unwrap_or(Oid::INVALID), release));
        // that there is a draft is for its owner
        is_known |= !row.get(5).unwrap_or(true);
        Ok(())
    })?;
    // of several that which is to be seen, or the last
    match found.into_iter().rev().find(|(owner, _)| acts_for(*owner)) {
        Some((_, release)) => Ok(release),
        None if is_known => Err(error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for release \"{name}\" of dataset \"{dataset}\""),
        )
        .set_hint("Only the dataset's owner and members of that role may do this.")),
        None => Err(not_found(dataset, name)),
    }
}

fn not_found(dataset: &str, name: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("release \"{name}\" of dataset \"{dataset}\" does not exist"),
    )
    .set_hint("The view dp.releases lists the stored releases.")
}
