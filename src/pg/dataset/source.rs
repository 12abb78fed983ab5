//! Where a dataset's private rows lie: what its owner declares, and what has to hold of it. How the rows
//! are read: `leaf_reading`, `bin_reading`.

use super::kinship::check_apart;
use super::names::too_long_name;
use super::query::Query;
use super::relation::{Relation, open};
use crate::hierarchy::MAX_LEVELS;
use crate::pg::errors::{Result, error, invalid};
use crate::pg::server::roles::has_rights_of;
use crate::pg::server::select::{extension_type, read_rows};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::collections::BTreeSet;

/// The tables and columns that a dataset declares.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The private table.
    pub(crate) entities: Oid,
    /// The public table of groups, one row per group; rows with a NULL key declare a region only.
    pub(crate) groups: Option<Oid>,
    pub(crate) group_key: Vec<String>,
    /// From the top level below the root down to the leaf.
    pub(crate) hierarchy: Vec<String>,
    /// `entities` has one row per group, with the group's size in this column, or, where it is of type
    /// coco, one row for many groups.
    pub(crate) size_column: Option<String>,
    /// The column of `entities` that tells whose a row is; None where each row is its own unit.
    pub(crate) privacy_unit: Option<String>,
    /// How many rows of one unit are used.
    pub(crate) max_rows_per_unit: i32,
}

impl Source {
    /// The role that reads: the owner of the private table, so that what may run when a table is
    /// read (output functions, expressions of indexes, constraints) runs with its own owner's
    /// rights, whoever owns the dataset. Locks the tables.
    ///
    /// Errors: the dataset's owner may not read the tables; the tables' owners do not trust each
    /// other.
    pub(crate) fn reader(&self, dataset_owner: Oid) -> Result<Oid> {
        let entities = open(self.entities, "entities")?;
        entities.check_readable_by(dataset_owner)?;
        entities.check_trusted_by(entities.owner, "entities")?;
        if let Some(groups) = self.groups {
            let groups = open(groups, "groups")?;
            groups.check_readable_by(dataset_owner)?;
            groups.check_readable_by(entities.owner)?;
            if !has_rights_of(groups.owner, entities.owner) {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("groups: {} must have the owner of {}", groups.name, entities.name),
                )
                .set_hint("Both are read with the rights of one role, the owner of entities."));
            }
            groups.check_trusted_by(entities.owner, "groups")?;
        }
        Ok(entities.owner)
    }

    /// Checks a declaration, as the reader. Its creator may read the tables: without a table of
    /// groups the check that every group lies in one region reads private rows.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        if self.groups.is_none() {
            self.check_tree()?;
        }
        self.prepare_leaves(1, 0).map(|_| ())
    }

    /// What has to hold at every release, known from public rows alone: the columns can be used,
    /// every group of the public table lies in one region.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_columns()?;
        if self.groups.is_some() { self.check_tree() } else { Ok(()) }
    }

    fn check_columns(&self) -> Result<()> {
        let entities = open(self.entities, "entities")?;
        let groups = self.groups.map(|oid| open(oid, "groups")).transpose()?;
        if let Some(groups) = &groups {
            check_apart(&entities, groups)?;
        }
        if self.hierarchy.len() >= MAX_LEVELS {
            return Err(invalid(
                format!(
                    "hierarchy must have at most {} levels below the root, got {}",
                    MAX_LEVELS - 1,
                    self.hierarchy.len()
                ),
                "Leave out the levels that nobody asks for.",
            ));
        }
        if self.group_key.is_empty() && (self.size_column.is_none() || groups.is_some()) {
            return Err(invalid(
                "group_key must name at least one column",
                "The group key tells which group an entity belongs to, for example \
                 '{household_id}'.",
            ));
        }
        for (argument, columns) in [("group_key", &self.group_key), ("hierarchy", &self.hierarchy)]
        {
            let distinct: BTreeSet<_> = columns.iter().collect();
            if distinct.len() < columns.len() {
                return Err(invalid(
                    format!("{argument} names a column twice"),
                    "Name each column once.",
                ));
            }
        }

        let regions = groups.as_ref().unwrap_or(&entities);
        for column in &self.hierarchy {
            regions.column("hierarchy", column)?;
        }
        for column in &self.group_key {
            let in_entities = entities.column("group_key", column)?;
            if !in_entities.has_one_equality()? {
                return Err(invalid(
                    format!(
                        "group_key: column \"{column}\" is of a type with an equality of its own"
                    ),
                    "Use a type of PostgreSQL's own, such as text or bigint.",
                ));
            }
            if let Some(groups) = &groups
                && !groups.column("group_key", column)?.matches(&in_entities)
            {
                return Err(invalid(
                    format!(
                        "group_key: column \"{column}\" differs in type or collation between {} \
                         and {}",
                        entities.name, groups.name
                    ),
                    "One entity must belong to one group: give both columns the same type and \
                     collation.",
                ));
            }
        }
        if let Some(column) = &self.size_column {
            let family = entities.column("size_column", column)?.family();
            if family == extension_type("coco")? {
                if groups.is_some() {
                    return Err(invalid(
                        format!(
                            "size_column: column \"{column}\" of type coco has no meaning with a \
                             table of groups"
                        ),
                        "Its rows stand for many groups each, a row of that table for one.",
                    ));
                }
            } else if family != pg_sys::INT8OID {
                return Err(invalid(
                    format!("size_column: column \"{column}\" is not of an integer type or coco"),
                    "Use smallint, integer or bigint for the size of one group, coco for the \
                     histogram of many.",
                ));
            }
        }
        if let Some(column) = &self.privacy_unit {
            entities.column("privacy_unit", column)?;
            if self.size_column.is_some() {
                return Err(invalid(
                    "privacy_unit has no meaning with size_column",
                    "A row that holds a whole group's size cannot be told apart by person.",
                ));
            }
            if groups.is_none() {
                return Err(invalid(
                    "privacy_unit needs a table of groups",
                    "Which groups occur would else depend on the choice of a person's rows.",
                ));
            }
        }
        Ok(())
    }

    /// Whether a row is a group, or several, whatever its key.
    pub(crate) fn rows_are_groups(&self) -> bool {
        self.groups.is_none() && self.size_column.is_some()
    }

    /// What identifies the relations and columns that are used: it changes when a table is dropped
    /// and created again, or a column is replaced or gets another type.
    pub(crate) fn fingerprint(&self) -> Result<String> {
        let of_entities = [&self.group_key[..], self.size_column.as_slice()].concat();
        let of_entities = [of_entities, self.privacy_unit.iter().cloned().collect()].concat();
        let parts = match self.groups {
            Some(groups) => vec![
                (self.entities, of_entities),
                (groups, [&self.group_key[..], &self.hierarchy[..]].concat()),
            ],
            None => vec![(self.entities, [of_entities, self.hierarchy.clone()].concat())],
        };
        let mut fingerprint = String::new();
        for (relation, columns) in parts {
            let names: Vec<String> = columns.iter().map(pgrx::spi::quote_literal).collect();
            let sql = format!(
                "SELECT format('%s %s: %s; ', {0}, {0}::regclass, string_agg(format('%I %s %s %s %s', attname, \
                            attnum, atttypid, atttypmod, attcollation), ', ' ORDER BY attnum)) \
                   FROM pg_attribute WHERE attrelid = {0} AND attnum > 0 AND NOT attisdropped \
                    AND attname::text = ANY (ARRAY[{1}]::text[])",
                relation.to_u32(),
                names.join(", ")
            );
            read_rows(&sql, |row| {
                fingerprint += &row.get::<String>(1).unwrap_or_default();
                Ok(())
            })?;
        }
        Ok(fingerprint)
    }

    /// Whether every group lies in one region. With a table of groups this reads public rows only;
    /// without one the caller declared the groups that occur to be public.
    fn check_tree(&self) -> Result<()> {
        let checked = match self.groups {
            Some(oid) => open(oid, "groups")?,
            None if self.rows_are_groups() => return Ok(()),
            None => open(self.entities, "entities")?,
        };
        let key = quoted(&self.group_key);
        let has_key = not_null(&key);
        let table = &checked.name;
        if self.groups.is_some() {
            if let Some(column) = self.null_region(&checked)? {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_NOT_NULL_VIOLATION,
                    format!("hierarchy: column \"{column}\" of {table} holds NULL"),
                )
                .set_hint("Every group needs a region on every level."));
            }
            if checked.has_unique_key(&self.group_key)? {
                return Ok(());
            }
        }
        let repeated = match self.groups {
            Some(_) => format!(
                "SELECT 1 FROM {table} WHERE {has_key} GROUP BY {} HAVING count(*) > 1 LIMIT 1",
                key.join(", ")
            ),
            None => {
                let all = distinct(&self.group_key, &self.hierarchy);
                format!(
                    "SELECT 1 FROM (SELECT DISTINCT {} FROM {table} WHERE {}) AS g \
                     GROUP BY {} HAVING count(*) > 1 LIMIT 1",
                    all.join(", "),
                    not_null(&all),
                    key.join(", ")
                )
            }
        };
        if !Query::plan(&repeated, &[&checked], 0)?.has_rows() {
            return Ok(());
        }
        let often =
            if self.groups.is_some() { "more than once" } else { "in more than one region" };
        let message = format!("the hierarchy is no tree: a group occurs {often} in {table}");
        Err(error(PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION, message).set_hint(
            match self.groups {
                Some(_) => {
                    "Every group must stand in one row of the groups table, and so in one region: \
                     a unique index on the group_key columns makes sure of it."
                }
                None => {
                    "Every group must lie in one region: add the hierarchy's columns to group_key \
                     if a group is meant to be split by region."
                }
            },
        ))
    }

    /// A hierarchy column of the public table that holds NULL.
    fn null_region(&self, groups: &Relation) -> Result<Option<&str>> {
        for column in &self.hierarchy {
            let quoted = quote_identifier(column);
            let sql = format!("SELECT 1 FROM {} WHERE {quoted} IS NULL LIMIT 1", groups.name);
            if Query::plan(&sql, &[groups], 0)?.has_rows() {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// Every leaf region's path with its public number of groups; None without a table of groups.
    pub(crate) fn groups_per_leaf(&self) -> Result<Option<Vec<(Vec<String>, u64)>>> {
        let Some(groups) = self.groups else { return Ok(None) };
        let groups = open(groups, "groups")?.name;
        let labels: Vec<String> = self.hierarchy.iter().map(|column| label(column)).collect();
        let sql = format!(
            "SELECT ARRAY[{}]::text[], count(*) FILTER (WHERE {}) FROM {groups} {}",
            labels.join(", "),
            not_null(&quoted(&self.group_key)),
            if labels.is_empty() { "" } else { "GROUP BY 1" }
        );
        let mut leaves = Vec::new();
        read_rows(&sql, |row| {
            let path: Vec<Option<String>> = row.get(1).unwrap_or_default();
            let path = path.into_iter().collect::<Option<_>>().ok_or_else(too_long_name)?;
            let groups: i64 = row.get(2).unwrap_or_default();
            leaves.push((path, groups.unsigned_abs()));
            Ok(())
        })?;
        Ok(Some(leaves))
    }

    /// The rows of the private table that count: all, or of each unit of privacy so many, chosen
    /// at random, afresh for each release. A row without a unit is nobody's and is left out.
    ///
    /// Each row's rank must depend on no other unit's rows, or a unit would have an influence beyond
    /// its own rows. So the order is that of independent draws from the operating system's
    /// generator (gen_random_uuid), not of random(), which a caller can seed.
    pub(crate) fn used_rows(&self, entities: &str, columns: &[String]) -> String {
        let Some(unit) = &self.privacy_unit else { return entities.to_string() };
        let unit = quote_identifier(unit);
        format!(
            "(SELECT * FROM (SELECT {}, row_number() OVER (PARTITION BY {unit} \
                 ORDER BY gen_random_uuid()) AS {RANK} FROM {entities} WHERE {unit} IS NOT NULL AND {}) AS r \
              WHERE {RANK} <= {}) AS u",
            columns.join(", "),
            comparable(std::slice::from_ref(&unit)),
            self.max_rows_per_unit
        )
    }
}

/// The name of a region, as its column prints it; NULL where that is too long.
pub(crate) fn label(column: &str) -> String {
    format!("dp.region_name({}) COLLATE \"C\"", quote_identifier(column))
}

/// The name of the rank of a row among its unit's, such as no column has.
const RANK: &str = "\"rank (pg_dp)\"";

pub(crate) fn quoted(columns: &[String]) -> Vec<String> {
    columns.iter().map(quote_identifier).collect()
}

/// The quoted columns of both lists, each once.
pub(crate) fn distinct(a: &[String], b: &[String]) -> Vec<String> {
    a.iter().chain(b).collect::<BTreeSet<_>>().into_iter().map(quote_identifier).collect()
}

/// Whether values are short enough to be compared whatever they are, which else could fail on a row.
pub(crate) fn comparable(columns: &[String]) -> String {
    let conditions: Vec<String> = columns.iter().map(|c| format!("dp.is_short({c})")).collect();
    conditions.join(" AND ")
}

pub(crate) fn not_null(columns: &[String]) -> String {
    let conditions: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    if conditions.is_empty() { "true".to_string() } else { conditions.join(" AND ") }
}
