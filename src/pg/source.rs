//! Where a dataset's private rows lie, and the one query that reads them.
//!
//! The query's text is made of quoted identifiers alone; no expression of a user's gets into it.
//! What a row can hold never raises an error: NULL keys and regions belong to no group, NULL and
//! negative sizes count as 0, sums saturate.

use super::errors::{Result, error, internal, invalid};
use super::session::{extension_schema, read_rows};
use crate::coco::Coco;
use crate::hierarchy::{MAX_LEVELS, Tree};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_qualified_identifier};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};

/// The tables and columns that a dataset declares.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The private table.
    pub(super) entities: Oid,
    /// The public table of groups, one row per group; rows with a NULL key declare a region only.
    pub(super) groups: Option<Oid>,
    pub(super) group_key: Vec<String>,
    /// From the top level below the root down to the leaf.
    pub(super) hierarchy: Vec<String>,
    /// `entities` has one row per group, with the group's size in this column.
    pub(super) size_column: Option<String>,
    /// The column of `entities` that tells whose a row is; None where each row is its own unit.
    pub(super) privacy_unit: Option<String>,
    /// How many rows of one unit are used.
    pub(super) max_rows_per_unit: i32,
}

/// The name of the computed size inside the query, such as no column has.
const SIZE: &str = "\"size (pg_dp)\"";

/// A relation that was opened and locked against changes until the end of the transaction.
struct Relation {
    oid: Oid,
    /// Schema-qualified and quoted.
    name: String,
}

impl Source {
    /// Checks a declaration. Runs as the creator, who may read the tables: without a table of groups
    /// the check that every group lies in one region reads private rows.
    pub(super) fn validate(&self) -> Result<()> {
        self.check_columns()?;
        if self.groups.is_none() {
            self.check_tree()?;
        }
        self.check()
    }

    /// What has to hold at every release, known from public rows alone: the relations can be used,
    /// every group of the public table lies in one region, the reader has the right to read.
    pub(super) fn check(&self) -> Result<()> {
        if self.groups.is_some() {
            self.check_tree()?;
        }
        // fetches no row, but finds missing privileges and types that cannot be compared
        read_rows(&format!("{} LIMIT 0", self.leaf_query()?), |_| Ok(()))
    }

    fn check_columns(&self) -> Result<()> {
        let entities = open(self.entities, "entities")?;
        let groups = self.groups.map(|oid| open(oid, "groups")).transpose()?;
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
            regions.column_type("hierarchy", column)?;
        }
        for column in &self.group_key {
            let in_entities = entities.column_type("group_key", column)?;
            if let Some(groups) = &groups {
                let in_groups = groups.column_type("group_key", column)?;
                if family(in_entities) != family(in_groups) {
                    return Err(invalid(
                        format!(
                            "group_key: column \"{column}\" has different types in {} and {}",
                            entities.name, groups.name
                        ),
                        "One entity must belong to one group: give both columns the same type.",
                    ));
                }
            }
        }
        if let Some(column) = &self.size_column {
            let column_type = entities.column_type("size_column", column)?;
            if family(column_type) != pg_sys::INT8OID {
                return Err(invalid(
                    format!("size_column: column \"{column}\" is not of an integer type"),
                    "Use smallint, integer or bigint: sizes are counts of entities.",
                ));
            }
        }
        if let Some(column) = &self.privacy_unit {
            entities.column_type("privacy_unit", column)?;
            if self.size_column.is_some() {
                return Err(invalid(
                    "privacy_unit has no meaning with size_column",
                    "A row that holds a whole group's size cannot be told apart by person.",
                ));
            }
        }
        Ok(())
    }

    /// What identifies the relations and columns that are used: it changes when a table is dropped
    /// and created again, or a column is replaced or gets another type.
    pub(super) fn fingerprint(&self) -> Result<String> {
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
                "SELECT format('%s: %s; ', {0}, string_agg(format('%I %s %s %s %s', attname, \
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
            None if self.size_column.is_some() => return Ok(()), // a row is a group
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
        let mut is_tree = true;
        read_rows(&repeated, |_| {
            is_tree = false;
            Ok(())
        })?;
        if is_tree {
            return Ok(());
        }
        let message = format!("the hierarchy is no tree: a group occurs more than once in {table}");
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
            let mut found = false;
            read_rows(&sql, |_| {
                found = true;
                Ok(())
            })?;
            if found {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// The exact histogram of every leaf region, with its path. Confidential.
    ///
    /// [`Source::check`] comes first, in the same statement of the caller: both read under its
    /// snapshot, and the sensitivity rests on every group being in one region.
    pub(super) fn read(&self) -> Result<(Tree, Vec<Coco>)> {
        let mut leaves: BTreeMap<Vec<String>, Vec<Coco>> = BTreeMap::new();
        if self.hierarchy.is_empty() {
            leaves.insert(vec![], vec![]); // the root is a leaf, also without rows
        }
        read_rows(&self.leaf_query()?, |row| {
            let path: Vec<String> = row.get(1).unwrap_or_default();
            leaves.entry(path).or_default().extend(row.get::<Coco>(2));
            Ok(())
        })?;
        // values that differ but read the same are one region
        let joined = leaves.into_iter().map(|(path, parts)| {
            let runs = parts.iter().flat_map(|part| part.runs().iter().copied());
            (path, runs.collect::<Coco>())
        });
        Tree::from_leaves(self.hierarchy.len(), joined.collect()).map_err(internal)
    }

    /// The rows of the private table that count: all, or of each unit of privacy so many, chosen
    /// at random, afresh for each release. A row without a unit is nobody's and is left out.
    ///
    /// Each row's rank must depend on no other unit's rows, or a unit would have an influence beyond
    /// its own rows. So the order is that of independent draws from the operating system's
    /// generator (gen_random_uuid), not of random(), which a caller can seed.
    fn used_rows(&self, entities: &str) -> String {
        let Some(unit) = &self.privacy_unit else { return entities.to_string() };
        let unit = quote_identifier(unit);
        let columns = match self.groups {
            Some(_) => quoted(&self.group_key),
            None => distinct(&self.group_key, &self.hierarchy),
        };
        format!(
            "(SELECT * FROM (SELECT {}, row_number() OVER (PARTITION BY {unit} \
                 ORDER BY gen_random_uuid()) AS {RANK} FROM {entities} WHERE {unit} IS NOT NULL) AS r \
              WHERE {RANK} <= {}) AS u",
            columns.join(", "),
            self.max_rows_per_unit
        )
    }

    /// SELECT path text[], coco, one row per leaf region.
    fn leaf_query(&self) -> Result<String> {
        let entities = self.used_rows(&open(self.entities, "entities")?.name);
        let schema = extension_schema()?;
        let key = quoted(&self.group_key);
        let regions = quoted(&self.hierarchy);
        let size = self.size_column.as_ref().map(|column| {
            format!("greatest(coalesce({}::bigint, 0), 0)", quote_identifier(column))
        });

        let (rows, size) = match (self.groups, size) {
            (Some(groups), size) => {
                let groups = open(groups, "groups")?.name;
                let counted = size.map_or("count(*)".to_string(), |size| {
                    format!("least(sum({size}), {})::bigint", i64::MAX)
                });
                let on: Vec<String> = key.iter().map(|k| format!("e.{k} = g.{k}")).collect();
                let key_list = key.join(", ");
                let (key_given, on) = (not_null(&key), on.join(" AND "));
                (
                    format!(
                        "{groups} AS g LEFT JOIN (SELECT {key_list}, {counted} AS {SIZE} \
                         FROM {entities} WHERE {key_given} GROUP BY {key_list}) AS e ON {on}"
                    ),
                    format!("coalesce(e.{SIZE}, 0)"),
                )
            }
            (None, Some(size)) => (
                {
                    let columns: String = regions.iter().map(|r| format!("{r}, ")).collect();
                    let given = not_null(&regions);
                    format!("(SELECT {columns}{size} AS {SIZE} FROM {entities} WHERE {given}) AS g")
                },
                format!("g.{SIZE}"),
            ),
            (None, None) => {
                let all = distinct(&self.group_key, &self.hierarchy);
                let (columns, given) = (all.join(", "), not_null(&all));
                (
                    format!(
                        "(SELECT {columns}, count(*) AS {SIZE} FROM {entities} WHERE {given} \
                         GROUP BY {columns}) AS g"
                    ),
                    format!("g.{SIZE}"),
                )
            }
        };
        // rows without a key declare a region of the public table, but no group
        let filter = match self.groups {
            Some(_) => {
                let own: Vec<String> = key.iter().map(|k| format!("g.{k}")).collect();
                format!(" FILTER (WHERE {})", not_null(&own))
            }
            None => String::new(),
        };
        let path: Vec<String> = regions.iter().map(|r| format!("g.{r}::text")).collect();
        let group_by: Vec<String> = regions.iter().map(|r| format!("g.{r}")).collect();
        let group_by = if group_by.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", group_by.join(", "))
        };
        Ok(format!(
            "SELECT ARRAY[{}]::text[], {schema}.coco_agg({size}){filter} FROM {rows}{group_by}",
            path.join(", ")
        ))
    }
}

/// The name of the rank of a row among its unit's, such as no column has.
const RANK: &str = "\"rank (pg_dp)\"";

fn quoted(columns: &[String]) -> Vec<String> {
    columns.iter().map(quote_identifier).collect()
}

/// The quoted columns of both lists, each once.
fn distinct(a: &[String], b: &[String]) -> Vec<String> {
    a.iter().chain(b).collect::<BTreeSet<_>>().into_iter().map(quote_identifier).collect()
}

fn not_null(columns: &[String]) -> String {
    let conditions: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    if conditions.is_empty() { "true".to_string() } else { conditions.join(" AND ") }
}

/// Types whose values compare as one: two keys of one family cannot match in more than one way.
fn family(column_type: Oid) -> Oid {
    match column_type {
        pg_sys::INT2OID | pg_sys::INT4OID => pg_sys::INT8OID,
        pg_sys::VARCHAROID => pg_sys::TEXTOID,
        other => other,
    }
}

/// Opens and locks a relation of a dataset, and refuses what could read differently for different
/// readers or run code of theirs.
fn open(oid: Oid, argument: &str) -> Result<Relation> {
    unsafe {
        let relation = pg_sys::try_relation_open(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        if relation.is_null() {
            return Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                format!("the {argument} table of the dataset does not exist any more"),
            )
            .set_hint("Drop the dataset with dp_drop_dataset and create it again."));
        }
        let class = &*(*relation).rd_rel;
        let schema = pg_sys::get_namespace_name(class.relnamespace);
        let (kind, persistence) = (class.relkind as u8, class.relpersistence as u8);
        let row_security = class.relrowsecurity;
        let own_name = CStr::from_ptr(class.relname.data.as_ptr()).to_string_lossy();
        let name =
            quote_qualified_identifier(CStr::from_ptr(schema).to_string_lossy(), own_name.clone());
        // the lock stays until the end of the transaction
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);

        let refusal = match kind {
            pg_sys::RELKIND_RELATION
            | pg_sys::RELKIND_PARTITIONED_TABLE
            | pg_sys::RELKIND_MATVIEW
            | pg_sys::RELKIND_FOREIGN_TABLE => {
                if kind == pg_sys::RELKIND_FOREIGN_TABLE && argument == "groups" {
                    Some("is a foreign table, whose keys cannot be checked and read at one time")
                } else if persistence == pg_sys::RELPERSISTENCE_TEMP {
                    Some("is a temporary table, which other sessions cannot read")
                } else if row_security {
                    Some("has row-level security, so that it reads differently for each role")
                } else {
                    None
                }
            }
            _ => Some("is no table"),
        };
        match refusal {
            None => Ok(Relation { oid, name }),
            Some(reason) => Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("{argument}: {own_name} {reason}"),
            )
            .set_hint(
                "Use a plain or partitioned table or a materialized view (for entities also a foreign \
                 table), without row-level security.",
            )),
        }
    }
}

impl Relation {
    fn column_type(&self, argument: &str, column: &str) -> Result<Oid> {
        let unknown = || {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{argument}: column \"{column}\" of {} does not exist", self.name),
            )
            .set_hint("Column names are taken as they are, upper and lower case included.")
        };
        let name = CString::new(column).map_err(|_| unknown())?;
        let number = unsafe { pg_sys::get_attnum(self.oid, name.as_ptr()) };
        if number <= 0 {
            return Err(unknown());
        }
        Ok(unsafe { pg_sys::get_atttype(self.oid, number) })
    }

    /// Whether a unique index makes sure that no two rows share the key.
    fn has_unique_key(&self, key: &[String]) -> Result<bool> {
        let key: Vec<String> = key.iter().map(pgrx::spi::quote_literal).collect();
        let sql = format!(
            "SELECT 1 FROM pg_index AS i WHERE i.indrelid = {} AND i.indisunique AND i.indisvalid \
             AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT EXISTS ( \
               SELECT 1 FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, n) \
               JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
               WHERE k.n <= i.indnkeyatts AND NOT a.attname::text = ANY (ARRAY[{}]::text[])) LIMIT 1",
            self.oid.to_u32(),
            key.join(", ")
        );
        let mut found = false;
        read_rows(&sql, |_| {
            found = true;
            Ok(())
        })?;
        Ok(found)
    }
}
