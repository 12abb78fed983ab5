//! Declaring datasets, and taking them back.

use super::access::find_grantees;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::part::Part;
use crate::pg::dataset::relation::Place;
use crate::pg::dataset::source::{HiddenGroups, MOST_ROWS, Source};
use crate::pg::errors::{
    Result, all_required, check_new_name, checked_name, error, invalid, required,
};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::locks::{PrivateLock, lock_name};
use crate::pg::server::relations::relation_exists;
use crate::pg::server::roles::{acts_for, role_name};
use crate::pg::server::state::{DatabaseFiles, current_role};
use crate::pg::values::bound::{Bound, no_auto};
use crate::privacy::Epsilon;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

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
    max_rows_per_unit: Option<Bound>,
    leaves: Option<Oid>,
    period_column: Option<String>,
    groups_private: Option<bool>,
    regions: Option<Oid>,
    other: Option<&str>,
) -> Result<()> {
    let name = checked_name(required(name, "name")?, "name")?;
    check_new_name(name, "name")?;
    for (table, argument) in
        [(entities, "entities"), (groups, "groups"), (leaves, "leaves"), (regions, "regions")]
    {
        check_table_exists(table, argument)?;
    }
    let most_rows = rows_per_unit(privacy_unit.as_deref(), max_rows_per_unit)?;
    if most_rows.is_none() && (leaves.is_some() || size_column.is_some()) {
        return Err(no_auto(
            "max_rows_per_unit",
            "has no meaning with leaves or size_column: rows are chosen when they are counted",
        ));
    }
    let mut declared = Source {
        place: Place::Here,
        entities: required(entities, "entities")?,
        groups,
        hidden: None,
        group_key: all_required(required(group_key, "group_key")?, "group_key")?,
        hierarchy: all_required(required(hierarchy, "hierarchy")?, "hierarchy")?,
        size_column,
        max_rows_per_unit: most_rows.unwrap_or(MOST_ROWS),
        privacy_unit,
        period: None,
        part: Part::default(),
    };
    hide_groups(&mut declared, required(groups_private, "groups_private")?, regions, other)?;
    if declared.hidden.is_some() && (leaves.is_some() || period_column.is_some()) {
        return Err(invalid(
            "groups_private has no meaning with leaves or period_column",
            "Private groups are counted by releases alone, and all of them at once.",
        ));
    }
    let epsilon_budget = checked_epsilon_budget(epsilon_budget)?;
    let delta_budget = checked_delta_budget(delta_budget)?;
    if let Some(column) = period_column {
        let declared_as = declared.clone().with_leaves(leaves).0.period_type(&column)?;
        declared.period = Some((column, declared_as.to_string()));
    }
    let (source, counted) = declared.clone().with_leaves(leaves);
    let fingerprint = source.declare(counted.as_ref(), current_role())?;
    refuse_leaves_of_others(leaves, [groups, regions], 0)?;

    lock_dataset_name(name)?;
    refuse_name_of_others(name)?;
    let other = declared.hidden.as_ref().and_then(|hidden| hidden.other.clone());
    let groups_per_unit = declared.groups_per_unit().map(|groups| groups as i32);
    let (period_column, period_type) = declared.period.unzip();
    let created = execute(
        "INSERT INTO dp.dataset (name, owner, owner_name, entities, entities_name, \
                groups, groups_name, group_key, hierarchy, size_column, privacy_unit, \
                max_rows_per_unit, fingerprint, epsilon_budget, delta_budget, smallest_charge, \
                leaves, leaves_name, period_column, period_type, groups_per_unit, \
                regions, regions_name, other_region, summits, database) \
         VALUES ($1, $2, pg_get_userbyid($2), $3, $3::regclass::text, $4, $4::regclass::text, \
                 $5, $6, $7, $8, $9, $10, $11::numeric, $12::numeric, $11::numeric * 0.0001, \
                 $13, $13::regclass::text, $14, $15, $16, $17, $17::regclass::text, $18, '', $19) \
         ON CONFLICT (name) WHERE dropped_at IS NULL DO NOTHING RETURNING id",
        &[
            name.into(),
            current_role().into(),
            declared.entities.into(),
            groups.into(),
            declared.group_key.into(),
            declared.hierarchy.into(),
            declared.size_column.into(),
            declared.privacy_unit.into(),
            most_rows.into(),
            fingerprint.into(),
            epsilon_budget.decimal().into(),
            delta_budget.to_string().into(),
            leaves.into(),
            period_column.into(),
            period_type.into(),
            groups_per_unit.into(),
            regions.into(),
            other.into(),
            DatabaseFiles::own().text().into(),
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

/// Error: a number, which is a regclass, too, of none.
fn check_table_exists(table: Option<Oid>, argument: &str) -> Result<()> {
    match table {
        Some(table) if !relation_exists(table) => Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("{argument}: there is no table with OID {}", table.to_u32()),
        )
        .set_hint("Give the table's name, such as 'person' or 'survey.person'.")),
        _ => Ok(()),
    }
}

fn checked_epsilon_budget(epsilon_budget: Option<f64>) -> Result<Epsilon> {
    let epsilon_budget = required(epsilon_budget, "epsilon_budget").map_err(|report| {
        report.set_hint(
            "It has no default: how much may all releases of these rows cost together? Such as \
             epsilon_budget => 4.",
        )
    })?;
    Epsilon::new(epsilon_budget).map_err(|_| {
        invalid(
            format!("epsilon_budget must be a positive, finite number, got {epsilon_budget}"),
            "The budget is the sum of what all releases together may spend.",
        )
    })
}

fn checked_delta_budget(delta_budget: Option<f64>) -> Result<f64> {
    let delta_budget = required(delta_budget, "delta_budget")?;
    if !(0.0..1.0).contains(&delta_budget) {
        return Err(invalid(
            format!(
                "delta_budget must be a number from 0 up to, not including, 1, got {delta_budget}"
            ),
            "0 allows pure epsilon releases; Gaussian ones need a small delta such as 1e-9.",
        ));
    }
    Ok(delta_budget)
}

/// Declares the groups private, if they are, with the public table of regions.
fn hide_groups(
    declared: &mut Source,
    private: bool,
    regions: Option<Oid>,
    other: Option<&str>,
) -> Result<()> {
    if other.is_some() && regions.is_none() {
        return Err(invalid(
            "other has no meaning without regions",
            "It is the region of rows whose own is not in that table.",
        ));
    }
    if !private {
        return match regions {
            None => Ok(()),
            Some(_) => Err(invalid(
                "regions has no meaning without groups_private",
                "Where groups are public, their table says which regions there are: groups => '...'.",
            )),
        };
    }
    let root_alone = declared.hierarchy.is_empty();
    if root_alone != regions.is_none() {
        return Err(if root_alone {
            invalid(
                "regions has no meaning with an empty hierarchy",
                "There is the root alone then: leave regions out, or name the columns of a hierarchy.",
            )
        } else {
            invalid(
                "groups_private needs regions",
                "Which regions there are is public: regions => '...', a public table with the \
                 columns of hierarchy, a row for each lowest region. Where that is private, too, begin \
                 with an empty table, and fill it with what dp_find_regions finds.",
            )
        });
    }
    let listed = declared.groups.take();
    // a unit that is a group has no other: in one region, where a table lists it
    let is_group = declared.privacy_unit.is_some()
        && declared.privacy_unit.as_slice() == declared.group_key.as_slice()
        && (listed.is_some() || root_alone);
    // of a unit's groups so many occur as rows of it are used, but any number may be listed
    if listed.is_some() && declared.privacy_unit.is_some() && !is_group {
        return Err(invalid(
            "privacy_unit must be the key of the group where private groups are listed",
            "How many of the listed groups come and go with one unit is not bounded. Leave groups \
             out: then they are those that occur in rows that are used.",
        ));
    }
    let per_unit = if is_group { 1 } else { declared.max_rows_per_unit.unsigned_abs() };
    let other = other.map(checked_region).transpose()?;
    declared.hidden = Some(HiddenGroups { listed, regions, other, per_unit });
    Ok(())
}

/// The name of a region, which is on each path to it.
fn checked_region(other: &str) -> Result<String> {
    const LONGEST: usize = 200;
    if (1..=LONGEST).contains(&other.len()) {
        return Ok(other.to_string());
    }
    Err(invalid(
        format!("other must have from 1 to {LONGEST} bytes, got {}", other.len()),
        "It is the name of a region, such as 'other'.",
    ))
}

/// The bound on a unit's rows; 1 where each row is its own unit, None where it is still to be chosen.
fn rows_per_unit(privacy_unit: Option<&str>, max_rows: Option<Bound>) -> Result<Option<i32>> {
    match (privacy_unit, max_rows) {
        (None, None) => Ok(Some(1)),
        (None, Some(_)) => Err(invalid(
            "max_rows_per_unit has no meaning without privacy_unit",
            "Name the column that tells whose a row is.",
        )),
        (Some(_), None) => Err(invalid(
            "privacy_unit needs max_rows_per_unit",
            "The noise grows in proportion to it; rows beyond it are left out at random. Choose it \
             near the number of rows that most units have, or have dp_find_bound do it: 'auto'.",
        )),
        (Some(_), Some(Bound::Auto)) => Ok(None),
        (Some(_), Some(Bound::Number(rows))) => match i32::try_from(rows) {
            Ok(rows) if (1..=MOST_ROWS).contains(&rows) => Ok(Some(rows)),
            _ => Err(invalid(
                format!("max_rows_per_unit must be from 1 to {MOST_ROWS}, got {rows}"),
                "The noise grows in proportion to it.",
            )),
        },
    }
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_confirm_dataset(name: Option<&str>) -> Result<()> {
    let mut dataset = Dataset::open_as_owner(required(name, "name")?)?;
    check_ledger_is_whole()?;
    // after a restore the tables have the same names and other numbers; the owner maybe, too
    let found = execute(
        "SELECT coalesce(to_regclass(entities_name)::oid, entities), \
                coalesce(to_regclass(groups_name)::oid, groups), \
                coalesce(to_regclass(leaves_name)::oid, leaves), \
                coalesce(to_regclass(regions_name)::oid, regions), \
                coalesce(to_regrole(quote_ident(owner_name))::oid, $2), \
                CASE WHEN to_regrole(quote_ident(owner_name)) IS NULL THEN owner_name END \
           FROM dp.dataset WHERE id = $1",
        &[dataset.id.into(), current_role().into()],
        |row| {
            let tables = [row.get::<Oid>(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
            Ok((tables, row.get::<Oid>(5)?, row.get::<String>(6)?))
        },
    )?;
    let mut tables = dataset.tables();
    if let Some((found, Some(owner), gone)) = found {
        if found != tables {
            pgrx::notice!(
                "the tables of the dataset are now others than before, of the same names"
            );
        }
        find_grantees(dataset.id)?;
        if let Some(gone) = gone {
            pgrx::notice!(
                "there is no role \"{gone}\" any more: the dataset is now owned by {}",
                role_name(owner)
            );
        }
        (tables, dataset.owner) = (found, owner);
    }
    let [entities, groups, leaves, regions] = tables;
    let (source, counted) = dataset.with_tables(tables);
    let fingerprint = source.declare(counted.as_ref(), dataset.owner)?;
    refuse_leaves_of_others(leaves, [groups, regions], dataset.id)?;
    if !dataset.is_unchanged(&fingerprint) {
        // what was counted was counted of others, or lies in another table
        let sql = "DELETE FROM dp.leaf_count WHERE dataset = $1";
        execute(sql, &[dataset.id.into()], |_| Ok(()))?;
    }
    execute(
        "UPDATE dp.dataset SET fingerprint = $2, \
                entities = $3, entities_name = $3::regclass::text, \
                groups = $4, groups_name = $4::regclass::text, owner = $5, \
                owner_name = pg_get_userbyid($5), \
                leaves = $6, leaves_name = $6::regclass::text, \
                regions = $7, regions_name = $7::regclass::text, database = $8 WHERE id = $1",
        &[
            dataset.id.into(),
            fingerprint.into(),
            entities.into(),
            groups.into(),
            dataset.owner.into(),
            leaves.into(),
            regions.into(),
            DatabaseFiles::own().text().into(),
        ],
        |_| Ok(()),
    )?;
    Ok(())
}

/// Error: entries or sums are missing, as where only a part was restored. What they tell of may have been
/// spent.
fn check_ledger_is_whole() -> Result<()> {
    let problem = execute("SELECT dp.ledger_problem()", &[], |row| row.get::<String>(1))?;
    problem.flatten().map_or(Ok(()), |problem| {
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("the ledger is not whole: {problem}"),
        )
        .set_hint(
            "What is missing in it may have been spent. Was it restored in parallel \
             (pg_restore -j), or with errors? Restore it anew into a new database, by one job.",
        ))
    })
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_leaf_query(dataset: Option<&str>) -> Result<String> {
    Dataset::open_as_owner(required(dataset, "dataset")?)?.leaf_query()
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_count_leaves(dataset: Option<&str>) -> Result<()> {
    Dataset::open_as_owner(required(dataset, "dataset")?)?.count_leaves()
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_drop_dataset(name: Option<&str>) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(name, "name")?)?;
    let statements = [
        // after who stores ticks of it now, and before who is about to
        "SELECT FROM dp.dataset WHERE id = $1 FOR UPDATE",
        "UPDATE dp.dataset SET dropped_at = clock_timestamp() WHERE id = $1",
        // no tick follows that would be measured with them
        "DELETE FROM dp.stream_count WHERE release IN (SELECT id FROM dp.release WHERE dataset = $1)",
    ];
    statements.iter().try_for_each(|sql| {
        execute(sql, &[dataset.id.into()], |_| Ok(()))?;
        Ok(())
    })
}

/// Refuses tables that a dataset's leaves are counted into: those of two would replace one another,
/// and the tables of groups and of regions are public, of this dataset and of others.
fn refuse_leaves_of_others(
    leaves: Option<Oid>,
    [groups, regions]: [Option<Oid>; 2],
    id: i64,
) -> Result<()> {
    let taken = execute(
        "SELECT CASE WHEN leaves IN ($1, $3, $4) \
                     THEN leaves_name || ' is the table of another dataset''s leaves' \
                     ELSE $1::regclass || ' is a public table of another dataset' END, \
                CASE leaves WHEN $3 THEN 'groups' WHEN $4 THEN 'regions' ELSE 'leaves' END \
           FROM dp.dataset \
          WHERE (leaves IN ($3, $4) \
                 OR id <> $2 AND (leaves = $1 OR regions = $1 \
                                  OR groups = $1 AND groups_per_unit IS NULL)) \
            AND dropped_at IS NULL",
        &[leaves.into(), id.into(), groups.into(), regions.into()],
        |row| Ok((row.get::<String>(1)?, row.get::<String>(2)?)),
    )?;
    let Some((Some(what), Some(argument))) = taken else { return Ok(()) };
    Err(error(PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT, format!("{argument}: {what}"))
        .set_hint("Create a table for each: what is counted replaces what was, and is private."))
}

/// Locks the name of a dataset until the transaction ends. The unique index would wait for as long as
/// another transaction likes.
pub(super) fn lock_dataset_name(name: &str) -> Result<()> {
    if lock_name(PrivateLock::DatasetName, name) {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
        format!("dataset \"{name}\" is being made by a transaction that does not end"),
    )
    .set_hint("Choose another name, or try again when it has ended."))
}

/// What is released under a name whose dataset was dropped stays to be read by it, so nobody but its
/// owner may add to that.
pub(super) fn refuse_name_of_others(name: &str) -> Result<()> {
    let sql = format!(
        "SELECT dp.role(d.owner, d.owner_name) FROM dp.dataset AS d \
          WHERE d.name = {} AND (d.dropped_at IS NULL OR EXISTS (SELECT FROM dp.release AS r \
                WHERE r.dataset = d.id AND r.released_at IS NOT NULL AND r.status <> 'retracted'))",
        quote_literal(name)
    );
    let mut owners = Vec::new();
    read_catalog(&sql, |row| {
        owners.push(row.get(1).unwrap_or(Oid::INVALID));
        Ok(())
    })?;
    if !owners.into_iter().all(acts_for) {
        return Err(error(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!("\"{name}\" is the name of another role's dataset, or of releases from one"),
        )
        .set_hint("Choose another name."));
    }
    Ok(())
}
