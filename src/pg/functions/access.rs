//! Who may release from a dataset, and how much.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error, invalid, required};
use crate::pg::ledger::deed::raise;
use crate::pg::server::catalog::execute;
use crate::pg::server::roles::{role_exists, role_name};
use crate::pg::server::state::current_role;
use crate::privacy::Epsilon;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

/// In characters, for an entry of the ledger.
const LONGEST_REASON: usize = 1000;

/// What a deed adds is a number that people read.
const LEAST_ADDED: f64 = 1e-30;

#[pg_extern(volatile, parallel_unsafe)]
fn dp_set_smallest_charge(dataset: Option<&str>, epsilon: Option<f64>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let epsilon = required(epsilon, "epsilon")?;
    let epsilon = Epsilon::new(epsilon).map_err(|_| {
        invalid(
            format!("epsilon must be a positive, finite number, got {epsilon}"),
            "Roles with a grant can release at most the budget divided by it times.",
        )
    })?;
    let set = execute(
        "UPDATE dp.dataset SET smallest_charge = $2::numeric \
          WHERE id = $1 AND epsilon_budget >= $2::numeric RETURNING id",
        &[dataset.id.into(), epsilon.decimal().into()],
        |_| Ok(()),
    )?;
    set.ok_or_else(|| {
        invalid(
            format!("epsilon must not exceed the budget of the dataset, got {}", epsilon.decimal()),
            "No role with a grant could release; dp_revoke takes a grant back.",
        )
    })
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_raise_budget(
    dataset: Option<&str>,
    reason: Option<&str>,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let reason = required(reason, "reason")?;
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    let reason = reason.trim();
    let length = reason.chars().count();
    if !(1..=LONGEST_REASON).contains(&length) {
        return Err(invalid(
            match length {
                0 => "reason must not be blank".to_string(),
                _ => format!("reason must be at most {LONGEST_REASON} characters, got {length}"),
            },
            "The ledger keeps it: why may more be learnt of the rows than was promised?",
        ));
    }
    if !(delta == 0.0 || (LEAST_ADDED..1.0).contains(&delta)) {
        return Err(invalid(
            format!(
                "delta must be 0, or from {LEAST_ADDED:e} up to, not including, 1, got {delta}"
            ),
            "It is added to the dataset's delta_budget.",
        ));
    }
    let added = match Epsilon::new(epsilon) {
        Ok(added) if epsilon >= LEAST_ADDED => added.decimal(),
        _ if epsilon == 0.0 && delta > 0.0 => "0".to_string(),
        _ => {
            return Err(invalid(
                format!("epsilon must be a finite number from {LEAST_ADDED:e}, got {epsilon}"),
                "It is added to the dataset's epsilon_budget, which is never lowered. With a delta \
                 it may be 0.",
            ));
        }
    };
    raise(dataset.id, &dataset.name, reason, added, delta.to_string())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_grant(
    dataset: Option<&str>,
    role: Option<Oid>,
    epsilon_limit: Option<f64>,
    require_name: Option<bool>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let role = required(role, "role")?;
    if !role_exists(role) {
        return Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("role with OID {} does not exist", role.to_u32()),
        )
        .set_hint("The view pg_roles lists the roles."));
    }
    let limit = epsilon_limit
        .map(|limit| {
            Epsilon::new(limit).map(Epsilon::decimal).map_err(|_| {
                invalid(
                    format!("epsilon_limit must be a positive, finite number, got {limit}"),
                    "Leave it out for no limit but the dataset's budget.",
                )
            })
        })
        .transpose()?;
    let require_name = required(require_name, "require_name")?;
    execute(
        "INSERT INTO dp.access (dataset, grantee, grantee_name, epsilon_limit, granted_by, \
                                require_name) \
         VALUES ($1, $2, pg_get_userbyid($2), $3::numeric, $4, $5) \
         ON CONFLICT (dataset, grantee) DO UPDATE SET epsilon_limit = excluded.epsilon_limit, \
             grantee_name = excluded.grantee_name, revoked = false, \
             granted_at = clock_timestamp(), granted_by = excluded.granted_by, \
             require_name = excluded.require_name",
        &[
            dataset.id.into(),
            role.into(),
            limit.into(),
            role_name(current_role()).into(),
            require_name.into(),
        ],
        |_| Ok(()),
    )?;
    Ok(())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_revoke(dataset: Option<&str>, role: Option<Oid>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let role = required(role, "role")?;
    let revoked = execute(
        "UPDATE dp.access SET revoked = true \
          WHERE dataset = $1 AND grantee = $2 AND NOT revoked RETURNING dataset",
        &[dataset.id.into(), role.into()],
        |_| Ok(()),
    )?;
    revoked.ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("dataset \"{}\" is not granted to role {}", dataset.name, role_name(role)),
        )
        .set_hint("The view dp.grants lists the grants.")
    })
}
