//! Who may release from a dataset, and how much.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error, invalid, required};
use crate::pg::ledger::grantees;
use crate::pg::server::catalog::execute;
use crate::pg::server::roles::{role_exists, role_name};
use crate::pg::server::state::{current_role, own_identity};
use crate::privacy::Epsilon;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

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
fn dp_grant(
    dataset: Option<&str>,
    role: Option<Oid>,
    epsilon_limit: Option<f64>,
    require_name: Option<bool>,
    period_limit: Option<f64>,
    delta_limit: Option<f64>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let role = required(role, "role")?;
    if !role_exists(role) {
        return Err(no_role(role));
    }
    let limit = epsilon_limit.map(|limit| checked_limit("epsilon_limit", limit)).transpose()?;
    let period_limit =
        period_limit.map(|limit| checked_limit("period_limit", limit)).transpose()?;
    if period_limit.is_some() {
        dataset.check_periods("period_limit")?;
    }
    let delta_limit = match delta_limit {
        Some(limit) if !(0.0..1.0).contains(&limit) => {
            return Err(invalid(
                format!("delta_limit must be from 0 up to, not including, 1, got {limit}"),
                "Leave it out for no limit but the dataset's budget.",
            ));
        }
        limit => limit.map(|limit| limit.abs().to_string()),
    };
    let require_name = required(require_name, "require_name")?;
    find_grantees(dataset.id)?;
    let used_up = execute(
        "INSERT INTO dp.access AS a (dataset, grantee, grantee_name, epsilon_limit, granted_by, \
                                require_name, period_limit, delta_limit) \
         VALUES ($1, $2, pg_get_userbyid($2), $3::numeric, $4, $5, $6::numeric, $7::numeric) \
         ON CONFLICT (dataset, grantee) DO UPDATE SET epsilon_limit = excluded.epsilon_limit, \
             grantee_name = excluded.grantee_name, revoked = false, \
             granted_at = clock_timestamp(), granted_by = excluded.granted_by, \
             require_name = excluded.require_name, period_limit = excluded.period_limit, \
             delta_limit = excluded.delta_limit \
         RETURNING (SELECT ARRAY[trim_scale(a.epsilon_spent), trim_scale(d.smallest_charge)]::text[] \
                      FROM dp.dataset AS d \
                     WHERE d.id = a.dataset AND a.epsilon_limit - a.epsilon_spent < d.smallest_charge)",
        &[
            dataset.id.into(),
            role.into(),
            limit.into(),
            role_name(current_role()).into(),
            require_name.into(),
            period_limit.into(),
            delta_limit.into(),
        ],
        |row| row.get::<Vec<String>>(1),
    )?;
    if let Some([spent, smallest]) = used_up.flatten().as_deref() {
        pgrx::notice!(
            "role {} has spent epsilon {spent} of dataset \"{}\": this limit leaves it less than the \
             smallest charge, {smallest}",
            role_name(role),
            dataset.name,
        );
    }
    Ok(())
}

/// Once after a restore, where roles may have other numbers: see [`grantees`]. Tells of the dataset's.
pub(super) fn find_grantees(dataset: i64) -> Result<()> {
    let restored = execute(grantees::RESTORED, &[own_identity().into()], |row| row.get::<bool>(1))?;
    if restored.flatten() != Some(true) {
        return Ok(());
    }
    execute(&grantees::away(), &[], |_| Ok(()))?;
    let names = execute(&grantees::to_names(), &[dataset.into()], |row| row.get::<Vec<String>>(1))?;
    if let Some(names) = names.flatten() {
        pgrx::notice!(
            "the roles with grants are now others than before, of the same names: {}",
            names.join(", ")
        );
    }
    Ok(())
}

fn no_role(role: Oid) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("role with OID {} does not exist", role.to_u32()),
    )
    .set_hint("The view pg_roles lists the roles.")
}

/// A limit of epsilon as a decimal.
fn checked_limit(argument: &str, limit: f64) -> Result<String> {
    Epsilon::new(limit).map(Epsilon::decimal).map_err(|_| {
        invalid(
            format!("{argument} must be a positive, finite number, got {limit}"),
            "Leave it out for no limit but the dataset's budget.",
        )
    })
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_revoke(dataset: Option<&str>, role: Option<Oid>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let role = required(role, "role")?;
    if role_exists(role) {
        find_grantees(dataset.id)?;
    }
    let revoked = execute(
        "UPDATE dp.access SET revoked = true \
          WHERE dataset = $1 AND grantee = $2 AND NOT revoked RETURNING dataset",
        &[dataset.id.into(), role.into()],
        |_| Ok(()),
    )?;
    // (a grant may be that of a role that was dropped)
    revoked.ok_or_else(|| {
        if !role_exists(role) {
            return no_role(role);
        }
        error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("dataset \"{}\" is not granted to role {}", dataset.name, role_name(role)),
        )
        .set_hint("The view dp.grants lists the grants.")
    })
}
