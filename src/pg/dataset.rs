//! `dp_create_dataset`, `dp_drop_dataset`, `dp_budget`.

use super::catalog::{Dataset, execute};
use super::errors::{Result, all_required, error, invalid, required};
use super::session::current_role;
use super::source::Source;
use crate::privacy::Epsilon;
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
) -> Result<()> {
    let name = required(name, "name")?;
    if name.trim().is_empty() {
        return Err(invalid("name must not be empty", "Releases ask for a dataset by its name."));
    }
    let source = Source {
        entities: required(entities, "entities")?,
        groups,
        group_key: all_required(required(group_key, "group_key")?, "group_key")?,
        hierarchy: all_required(required(hierarchy, "hierarchy")?, "hierarchy")?,
        size_column,
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
    source.validate()?;

    let created = execute(
        "INSERT INTO dp.dataset (name, owner, entities, groups, group_key, hierarchy, size_column, \
                                 epsilon_budget, delta_budget) \
         VALUES ($1, $2::regrole, $3::regclass, $4::regclass, $5, $6, $7, $8::numeric, $9::numeric) \
         ON CONFLICT (name) WHERE dropped_at IS NULL DO NOTHING RETURNING id",
        &[
            name.into(),
            current_role().into(),
            source.entities.into(),
            source.groups.into(),
            source.group_key.into(),
            source.hierarchy.into(),
            source.size_column.into(),
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

#[pg_extern(volatile, parallel_unsafe)]
fn dp_drop_dataset(name: Option<&str>) -> Result<()> {
    let dataset = Dataset::open(required(name, "name")?)?;
    execute(
        "UPDATE dp.dataset SET dropped_at = clock_timestamp() WHERE id = $1",
        &[dataset.id.into()],
        |_| Ok(()),
    )?;
    Ok(())
}

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
        ),
    >,
> {
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    let row = execute(
        "SELECT trim_scale(epsilon_budget), trim_scale(epsilon_spent), \
                trim_scale(epsilon_budget - epsilon_spent), trim_scale(delta_budget), \
                trim_scale(delta_spent), releases FROM dp.dataset WHERE id = $1",
        &[dataset.id.into()],
        |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?)),
    )?;
    Ok(TableIterator::new(row))
}
