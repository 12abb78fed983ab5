//! Datasets, their budgets, and who may use them.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::source::Source;
use crate::pg::errors::{Result, all_required, checked_name, error, invalid, required};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::locks::{PrivateLock, lock_name};
use crate::pg::server::roles::{as_reader, role_name};
use crate::pg::server::select::as_of_now;
use crate::pg::server::state::current_role;
use crate::privacy::{Epsilon, Totals};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)] // the SQL function's arguments
fn dp_create_dataset(
    name: Option<&str>,
    entities: Option<Oid>,
    group_key: Option<Vec<Option<String>>>,
    hierarchy: Option<Vec<Option<String>>>,
    groups: Option<Oid>,
    size_column: Option<String>,
    epsilon_budget: Option<f64>,
    delta_budget: Option<f64>,
    privacy_unit: Option<String>,
    max_rows_per_unit: Option<i32>,
) -> Result<()> {
    let name = checked_name(required(name, "name")?, "name")?;
    let source = Source {
        entities: required(entities, "entities")?,
        groups,
        group_key: all_required(required(group_key, "group_key")?, "group_key")?,
        hierarchy: all_required(required(hierarchy, "hierarchy")?, "hierarchy")?,
        size_column,
        max_rows_per_unit: rows_per_unit(privacy_unit.as_deref(), max_rows_per_unit)?,
        privacy_unit,
    };
    let epsilon_budget = required(epsilon_budget, "epsilon_budget")?;
    let epsilon_budget = Epsilon::new(epsilon_budget).map_err(|_| {
        invalid(
            format!("epsilon_budget must be a positive, finite number, got {epsilon_budget}"),
            "The budget is the sum of what all releases together may spend.",
        )
    })?;
    let delta_budget = required(delta_budget, "delta_budget")?;
    if !(0.0..1.0).contains(&delta_budget) {
        return Err(invalid(
            format!(
                "delta_budget must be a number from 0 up to, not including, 1, got {delta_budget}"
            ),
            "0 allows pure epsilon releases; Gaussian ones need a small delta such as 1e-9.",
        ));
    }
    let fingerprint = fingerprint(&source, current_role())?;

    // the unique index would wait for as long as another transaction likes
    if !lock_name(PrivateLock::DatasetName, name) {
        return Err(error(
            PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
            format!("dataset \"{name}\" is being made by a transaction that does not end"),
        )
        .set_hint("Choose another name, or try again when it has ended."));
    }
    let created = execute(
        "INSERT INTO dp.dataset (name, owner, owner_name, entities, entities_name, groups, groups_name, \
                group_key, hierarchy, size_column, privacy_unit, max_rows_per_unit, fingerprint, \
                epsilon_budget, delta_budget, smallest_charge) \
         VALUES ($1, $2, pg_get_userbyid($2), $3, $3::regclass::text, $4, $4::regclass::text, \
                 $5, $6, $7, $8, $9, $10, $11::numeric, $12::numeric, $11::numeric * 0.0001) \
         ON CONFLICT (name) WHERE dropped_at IS NULL DO NOTHING RETURNING id",
        &[
            name.into(),
            current_role().into(),
            source.entities.into(),
            source.groups.into(),
            source.group_key.into(),
            source.hierarchy.into(),
            source.size_column.into(),
            source.privacy_unit.into(),
            source.max_rows_per_unit.into(),
            fingerprint.into(),
            epsilon_budget.decimal().into(),
            delta_budget.to_string().into(),
        ],
        |_| Ok(()),
    )?;
    created.ok_or_else(|| {
        error(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!("dataset \"{name}\" exists already"),
        )
        .set_hint(
            "Choose another name, or drop the dataset first: dp_drop_dataset keeps its ledger.",
        )
    })
}

/// That of a source that is fit, as it is now.
fn fingerprint(source: &Source, owner: Oid) -> Result<String> {
    as_reader(source.reader(owner)?, || {
        as_of_now(|| {
            source.validate()?;
            source.fingerprint()
        })
    })
}

/// The bound on a unit's rows; 1 where each row is its own unit.
fn rows_per_unit(privacy_unit: Option<&str>, max_rows: Option<i32>) -> Result<i32> {
    const LARGEST: i32 = 1_000_000;
    match (privacy_unit, max_rows) {
        (None, None) => Ok(1),
        (None, Some(_)) => Err(invalid(
            "max_rows_per_unit has no meaning without privacy_unit",
            "Name the column that tells whose a row is.",
        )),
        (Some(_), None) => Err(invalid(
            "privacy_unit needs max_rows_per_unit",
            "The noise grows in proportion to it; rows beyond it are left out at random. Choose it \
             near the number of rows that most units have.",
        )),
        (Some(_), Some(rows)) if (1..=LARGEST).contains(&rows) => Ok(rows),
        (Some(_), Some(rows)) => Err(invalid(
            format!("max_rows_per_unit must be from 1 to {LARGEST}, got {rows}"),
            "The noise grows in proportion to it.",
        )),
    }
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_confirm_dataset(name: Option<&str>) -> Result<()> {
    let mut dataset = Dataset::open_as_owner(required(name, "name")?)?;
    // after a restore the tables have the same names and other numbers; the owner maybe, too
    let found = execute(
        "SELECT coalesce(to_regclass(entities_name)::oid, entities), \
                coalesce(to_regclass(groups_name)::oid, groups), \
                coalesce(to_regrole(quote_ident(owner_name))::oid, $2) \
           FROM dp.dataset WHERE id = $1",
        &[dataset.id.into(), current_role().into()],
        |row| Ok((row.get::<Oid>(1)?, row.get::<Oid>(2)?, row.get::<Oid>(3)?)),
    )?;
    if let Some((Some(entities), groups, Some(owner))) = found {
        if (entities, groups) != (dataset.source.entities, dataset.source.groups) {
            pgrx::notice!(
                "the tables of the dataset are now others than before, of the same names"
            );
        }
        (dataset.source.entities, dataset.source.groups, dataset.owner) = (entities, groups, owner);
    }
    let fingerprint = fingerprint(&dataset.source, dataset.owner)?;
    execute(
        "UPDATE dp.dataset SET fingerprint = $2, entities = $3, entities_name = $3::regclass::text, \
                groups = $4, groups_name = $4::regclass::text, owner = $5, \
                owner_name = pg_get_userbyid($5) WHERE id = $1",
        &[
            dataset.id.into(),
            fingerprint.into(),
            dataset.source.entities.into(),
            dataset.source.groups.into(),
            dataset.owner.into(),
        ],
        |_| Ok(()),
    )?;
    Ok(())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_drop_dataset(name: Option<&str>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(name, "name")?)?;
    execute(
        "UPDATE dp.dataset SET dropped_at = clock_timestamp() WHERE id = $1",
        &[dataset.id.into()],
        |_| Ok(()),
    )?;
    Ok(())
}

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
        "UPDATE dp.dataset SET smallest_charge = $2::numeric WHERE id = $1 AND epsilon_budget >= $2::numeric RETURNING id",
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
fn dp_grant(dataset: Option<&str>, role: Option<Oid>, epsilon_limit: Option<f64>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let role = required(role, "role")?;
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
    execute(
        "INSERT INTO dp.access (dataset, grantee, grantee_name, epsilon_limit, granted_by) \
         VALUES ($1, $2, pg_get_userbyid($2), $3::numeric, $4) \
         ON CONFLICT (dataset, grantee) DO UPDATE SET epsilon_limit = excluded.epsilon_limit, \
             grantee_name = excluded.grantee_name, revoked = false, granted_at = clock_timestamp(), granted_by = excluded.granted_by",
        &[dataset.id.into(), role.into(), limit.into(), role_name(current_role()).into()],
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

/// Both views of what is spent (see `privacy::accounting`), and what the smaller one leaves.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_budget(
    dataset: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(epsilon_budget, Option<AnyNumeric>),
            name!(epsilon_spent, Option<AnyNumeric>),
            name!(epsilon_left, Option<AnyNumeric>),
            name!(delta_budget, Option<AnyNumeric>),
            name!(delta_spent, Option<AnyNumeric>),
            name!(releases, Option<i64>),
            name!(epsilon_sum, Option<AnyNumeric>),
            name!(epsilon_zcdp, Option<f64>),
            name!(rho, Option<f64>),
        ),
    >,
> {
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    let mut loss = None;
    read_catalog(
        &format!(
            "SELECT rho_sum::float8, epsilon_sum::float8, delta_sum::float8, delta_budget::float8 \
               FROM dp.dataset WHERE id = {}",
            dataset.id
        ),
        |row| {
            let sums = [1, 2, 3, 4].map(|column| row.get(column).unwrap_or(f64::INFINITY));
            loss = Some(sums);
            Ok(())
        },
    )?;
    let [rho, epsilon_sum, delta_sum, delta_budget] = loss.unwrap_or([f64::INFINITY; 4]);
    let views = Totals { epsilon_sum, rho, delta_sum }.views(delta_budget);
    let or_null = |epsilon: Option<f64>, column: &str| {
        epsilon.map_or("NULL".to_string(), |epsilon| column.replace("{}", &epsilon.to_string()))
    };
    // the basic view's own epsilon is the exact sum
    let (basic, zcdp) = (or_null(views.basic, "epsilon_sum"), or_null(views.zcdp, "{}::numeric"));
    let zcdp_delta = Totals::zcdp_delta(delta_budget);
    let mut rows = Vec::new();
    read_catalog(
        &format!(
            "SELECT trim_scale(epsilon_budget), trim_scale(spent), \
                    trim_scale(epsilon_budget - spent), trim_scale(delta_budget), \
                    trim_scale(CASE WHEN spent = {basic} THEN delta_sum ELSE {zcdp_delta} END), \
                    releases, trim_scale(epsilon_sum) \
               FROM dp.dataset, LATERAL (SELECT least({basic}, {zcdp}) AS spent) AS s \
              WHERE id = {}",
            dataset.id
        ),
        |row| {
            let (budget, spent, left) = (row.get(1), row.get(2), row.get(3));
            let (delta_budget, delta_sum) = (row.get(4), row.get(5));
            let (releases, sum) = (row.get(6), row.get(7));
            rows.push((
                budget,
                spent,
                left,
                delta_budget,
                delta_sum,
                releases,
                sum,
                views.zcdp,
                Some(rho),
            ));
            Ok(())
        },
    )?;
    Ok(TableIterator::new(rows))
}
