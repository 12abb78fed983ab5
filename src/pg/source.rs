//! Where a dataset's private rows lie, and the queries that read them.
//!
//! Their text is made of quoted identifiers alone; no expression of a user's gets into it.
//! What a row can hold never raises an error: NULL keys and regions belong to no group, NULL and
//! negative sizes count as 0, sums saturate.

use super::errors::{Result, error, internal, invalid};
use super::interval::{Axis, TimeAxis};
use super::kinship::check_apart;
use super::leaf_histograms::Groups;
use super::leaves::{Leaves, too_many};
use super::relation::{Column, Relation, open};
use super::session::{checkpoint, exists, extension_schema, extension_type, read_rows};
use super::stream::Layout;
use crate::coco::{Coco, RegionTallies, TooMany};
use crate::hierarchy::{MAX_LEVELS, Tree};
use crate::ranges::{Bins, Bounds};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::collections::{BTreeMap, BTreeSet};

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
    /// `entities` has one row per group, with the group's size in this column, or, where it is of type
    /// coco, one row for many groups.
    pub(super) size_column: Option<String>,
    /// The column of `entities` that tells whose a row is; None where each row is its own unit.
    pub(super) privacy_unit: Option<String>,
    /// How many rows of one unit are used.
    pub(super) max_rows_per_unit: i32,
}

/// The name of the computed size inside the query, such as no column has.
const SIZE: &str = "\"size (pg_dp)\"";

impl Source {
    /// The role that reads: the owner of the private table, so that what may run when a table is
    /// read (output functions, expressions of indexes, constraints) runs with its own owner's
    /// rights, whoever owns the dataset. Locks the tables.
    ///
    /// Errors: the dataset's owner may not read the tables; the tables' owners do not trust each
    /// other.
    pub(super) fn reader(&self, dataset_owner: Oid) -> Result<Oid> {
        let entities = open(self.entities, "entities")?;
        entities.check_readable_by(dataset_owner)?;
        if let Some(groups) = self.groups {
            let groups = open(groups, "groups")?;
            groups.check_readable_by(dataset_owner)?;
            groups.check_readable_by(entities.owner)?;
            if !unsafe { pg_sys::has_privs_of_role(groups.owner, entities.owner) } {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("groups: {} must have the owner of {}", groups.name, entities.name),
                )
                .set_hint("Both are read with the rights of one role, the owner of entities."));
            }
        }
        Ok(entities.owner)
    }

    /// Checks a declaration, as the reader. Its creator may read the tables: without a table of
    /// groups the check that every group lies in one region reads private rows.
    pub(super) fn validate(&self) -> Result<()> {
        self.check_columns()?;
        if self.groups.is_none() {
            self.check_tree()?;
        }
        self.check()
    }

    /// What has to hold at every release, known from public rows alone: the columns can be used,
    /// every group of the public table lies in one region.
    pub(super) fn check(&self) -> Result<()> {
        self.check_columns()?;
        if self.groups.is_some() {
            self.check_tree()?;
        }
        if let Some(groups) = self.groups_with_sizes()? {
            return groups.check();
        }
        if self.rows_are_groups() {
            return Ok(()); // no key is compared
        }
        // fetches no row, but finds types that cannot be compared
        read_rows(&format!("{} LIMIT 0", self.leaf_query(1)?), |_| Ok(()))
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
    fn rows_are_groups(&self) -> bool {
        self.groups.is_none() && self.size_column.is_some()
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
        if !exists(&repeated)? {
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
            if exists(&sql)? {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// How many regions each level has, the root's first; None without a table of groups.
    pub(super) fn regions_per_level(&self) -> Result<Option<Vec<usize>>> {
        let Some(groups) = self.groups else { return Ok(None) };
        let groups = open(groups, "groups")?.name;
        let mut regions = vec![1];
        for level in 1..=self.hierarchy.len() {
            let labels: Vec<String> = self.hierarchy[..level].iter().map(|c| label(c)).collect();
            let sql = format!(
                "SELECT count(*) FROM (SELECT DISTINCT {} FROM {groups}) AS regions",
                labels.join(", ")
            );
            read_rows(&sql, |row| {
                regions.push(row.get::<i64>(1).unwrap_or_default() as usize);
                Ok(())
            })?;
        }
        Ok(Some(regions))
    }

    /// Every leaf region's path with its public number of groups; None without a table of groups.
    pub(super) fn groups_per_leaf(&self) -> Result<Option<Vec<(Vec<String>, u64)>>> {
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
            let groups: i64 = row.get(2).unwrap_or_default();
            leaves.push((row.get(1).unwrap_or_default(), groups.unsigned_abs()));
            Ok(())
        })?;
        Ok(Some(leaves))
    }

    /// The exact histogram of every leaf region, with its path. Confidential.
    ///
    /// [`Source::check`] comes first, in the same statement of the caller: both read under its
    /// snapshot, and the sensitivity rests on every group being in one region.
    pub(super) fn read(&self, max_size: u64) -> Result<(Tree, Vec<Coco>)> {
        let mut leaves = match self.key_layout()? {
            Some(key) => self.scan(max_size, &key)?,
            None => self.group_by(max_size)?,
        };
        if self.hierarchy.is_empty() && leaves.is_empty() {
            leaves.push((vec![], Coco::default())); // the root is a leaf, also without rows
        }
        Tree::from_many_leaves(self.hierarchy.len(), leaves, &mut checkpoint).map_err(internal)
    }

    /// How the columns of the key are held, if keys are equal just if their bytes are, or none is used.
    fn key_layout(&self) -> Result<Option<Vec<Layout>>> {
        if self.rows_are_groups() {
            return Ok(Some(vec![]));
        }
        let entities = open(self.entities, "entities")?;
        let columns = self.group_key.iter().map(|column| entities.column("group_key", column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let by_bytes = columns.iter().all(Column::equality_is_of_bytes);
        Ok(by_bytes.then(|| columns.iter().map(Column::layout).collect()))
    }

    /// How the columns of the hierarchy are held.
    fn hierarchy_layout(&self) -> Result<Vec<Layout>> {
        let regions = open(self.groups.unwrap_or(self.entities), "groups")?;
        let columns = self.hierarchy.iter().map(|column| regions.column("hierarchy", column));
        columns.map(|column| Ok(column?.layout())).collect()
    }

    /// The table, where a row is a group.
    fn groups_with_sizes(&self) -> Result<Option<Groups>> {
        let Some(size) = self.size_column.as_ref().filter(|_| self.rows_are_groups()) else {
            return Ok(None);
        };
        let entities = open(self.entities, "entities")?;
        if entities.column("size_column", size)?.family() == extension_type("coco")? {
            return Ok(None); // a row stands for many
        }
        let (regions, size) = (quoted(&self.hierarchy), quote_identifier(size));
        Ok(Some(Groups { table: entities.name, regions, size }))
    }

    /// The leaves' histograms by scans of the tables.
    fn scan(&self, max_size: u64, key_layout: &[Layout]) -> Result<Vec<(Vec<String>, Coco)>> {
        let (key, regions) = (quoted(&self.group_key), quoted(&self.hierarchy));
        let size = self.size_column.as_ref().map(quote_identifier);
        let entities = open(self.entities, "entities")?.name;
        let select =
            |columns: &[String], rows: &str| format!("SELECT {} FROM {rows}", columns.join(", "));
        if let Some(groups) = self.groups_with_sizes()? {
            return groups.read(max_size);
        }
        let mut leaves = Leaves::new(max_size, &self.hierarchy_layout()?)?;
        match (self.groups, size) {
            (Some(groups), size) => {
                let groups = open(groups, "groups")?.name;
                let rows = self.used_rows(&entities, &key);
                let weighted = size.is_some();
                leaves.read_groups_and_entities(
                    &select(&[&regions[..], &key].concat(), &groups),
                    (&select(&[&key[..], size.as_slice()].concat(), &rows), weighted),
                    key_layout,
                )?;
            }
            (None, Some(size)) => {
                let columns = [&regions[..], &[size]].concat();
                leaves.read_histograms(&select(&columns, &entities))?;
            }
            (None, None) => {
                let columns = [&regions[..], &key].concat();
                leaves.read_entities(&select(&columns, &entities), key_layout)?;
            }
        }
        leaves.histograms()
    }

    /// The leaves' histograms by PostgreSQL's grouping and joining, for keys of any type.
    fn group_by(&self, max_size: u64) -> Result<Vec<(Vec<String>, Coco)>> {
        let mut leaves: BTreeMap<Vec<String>, Vec<Coco>> = BTreeMap::new();
        read_rows(&self.leaf_query(max_size)?, |row| {
            let path: Vec<String> = row.get(1).unwrap_or_default();
            leaves.entry(path).or_default().extend(row.get::<Coco>(2));
            match leaves.len() {
                0..=RegionTallies::MOST_REGIONS => Ok(()),
                _ => Err(too_many(TooMany::Regions)),
            }
        })?;
        // values that differ but read the same are one region
        let joined = leaves.into_iter().map(|(path, parts)| {
            let runs = parts.iter().flat_map(|part| part.runs().iter().copied());
            (path, runs.collect::<Coco>())
        });
        Ok(joined.collect())
    }

    /// Refuses a column of the private table that is not of the axis's type, and a dataset whose
    /// rows are not what is hidden. Reads no row; to be called before charging.
    pub(super) fn check_values(&self, column: &str, axis: Axis) -> Result<()> {
        if self.size_column.is_some() {
            return Err(invalid(
                "range sums have no meaning for a dataset with size_column",
                "They count rows. Declare a dataset whose rows are the entities.",
            ));
        }
        let found = open(self.entities, "entities")?.column("value_column", column)?.family();
        let (expected, name) = match axis {
            Axis::Number => (pg_sys::INT8OID, "an integer type"),
            Axis::Time(TimeAxis { type_oid: pg_sys::DATEOID, .. }) => {
                (pg_sys::DATEOID, "type date")
            }
            Axis::Time(TimeAxis { type_oid: pg_sys::TIMESTAMPOID, .. }) => {
                (pg_sys::TIMESTAMPOID, "type timestamp")
            }
            Axis::Time(_) => (pg_sys::TIMESTAMPTZOID, "type timestamptz"),
        };
        if found != expected {
            return Err(invalid(
                format!("value_column: column \"{column}\" is not of {name}"),
                "Ask an integer column with int8range[], a date with daterange[], a timestamp with \
                 tsrange[], a timestamptz with tstzrange[].",
            ));
        }
        Ok(())
    }

    /// The exact counts of a column's values. Confidential.
    ///
    /// Values outside of the bounds count in the nearest bin, NULL in none.
    pub(super) fn read_bins(&self, column: &str, axis: Axis, bounds: Bounds) -> Result<Bins> {
        let column = quote_identifier(column);
        let entities = open(self.entities, "entities")?.name;
        let bin = match axis {
            Axis::Number => format!("{column}::bigint"),
            Axis::Time(axis) => {
                // numeric, whose infinity is that of times; least and greatest would skip NULL
                let first = axis.origin + i128::from(bounds.lo()) * axis.width;
                let last = axis.origin + i128::from(bounds.hi()) * axis.width - 1;
                format!(
                    "CASE WHEN {column} IS NOT NULL THEN div(least(greatest( \
                         extract(epoch FROM {column}) * 1000000 - {MICROS_TO_2000}, {first}), {last}) \
                         - {first}, {})::bigint + {} END",
                    axis.width,
                    bounds.lo()
                )
            }
        };
        let mut bins = None;
        read_rows(
            &format!(
                "SELECT {}.bins_agg({bin}, {}, {}) FROM {}",
                extension_schema()?,
                bounds.lo(),
                bounds.hi(),
                self.used_rows(&entities, std::slice::from_ref(&column))
            ),
            |row| {
                bins = row.get::<Bins>(1);
                Ok(())
            },
        )?;
        Ok(bins.unwrap_or_else(|| Bins::empty(bounds))) // no rows
    }

    /// The rows of the private table that count: all, or of each unit of privacy so many, chosen
    /// at random, afresh for each release. A row without a unit is nobody's and is left out.
    ///
    /// Each row's rank must depend on no other unit's rows, or a unit would have an influence beyond
    /// its own rows. So the order is that of independent draws from the operating system's
    /// generator (gen_random_uuid), not of random(), which a caller can seed.
    fn used_rows(&self, entities: &str, columns: &[String]) -> String {
        let Some(unit) = &self.privacy_unit else { return entities.to_string() };
        let unit = quote_identifier(unit);
        format!(
            "(SELECT * FROM (SELECT {}, row_number() OVER (PARTITION BY {unit} \
                 ORDER BY gen_random_uuid()) AS {RANK} FROM {entities} WHERE {unit} IS NOT NULL) AS r \
              WHERE {RANK} <= {}) AS u",
            columns.join(", "),
            self.max_rows_per_unit
        )
    }

    /// SELECT path text[], coco, one row per leaf region, where a key tells the group; sizes above `max_size` count at it.
    ///
    /// A region is what its columns print: values that are equal but print differently (1.0 and
    /// 1.00) are two, or a private row could decide which one is shown. Printing calls the types'
    /// output functions, no cast that someone may have defined.
    fn leaf_query(&self, max_size: u64) -> Result<String> {
        let schema = extension_schema()?;
        let key = quoted(&self.group_key);
        let entities = self.used_rows(&open(self.entities, "entities")?.name, &key);
        let labels: Vec<String> =
            (1..=self.hierarchy.len()).map(|n| format!("\"region {n} (pg_dp)\"")).collect();
        let labelled: String = self
            .hierarchy
            .iter()
            .zip(&labels)
            .map(|(region, name)| format!("{} AS {name}, ", label(region)))
            .collect();
        let rows = match self.groups {
            Some(groups) => {
                let groups = open(groups, "groups")?.name;
                let counted = match &self.size_column {
                    None => "count(*)".to_string(),
                    Some(column) => format!(
                        "least(sum(greatest({}::bigint, 0)), {})::bigint",
                        quote_identifier(column),
                        i64::MAX
                    ),
                };
                let on: Vec<String> = key.iter().map(|k| format!("e.{k} = g.{k}")).collect();
                // rows without a key declare a region of the public table, but no group
                format!(
                    "SELECT g.*, coalesce(e.{SIZE}, 0) AS {SIZE} \
                       FROM (SELECT {labelled}{key_list}, {has_key} AS {IS_GROUP} FROM {groups}) AS g \
                       LEFT JOIN (SELECT {key_list}, {counted} AS {SIZE} FROM {entities} \
                                   WHERE {has_key} GROUP BY {key_list}) AS e ON {on}",
                    key_list = key.join(", "),
                    has_key = not_null(&key),
                    on = on.join(" AND "),
                )
            }
            None => format!(
                "SELECT {labelled}count(*) AS {SIZE}, true AS {IS_GROUP} FROM {entities} WHERE {} \
                  GROUP BY {}",
                not_null(&distinct(&self.group_key, &self.hierarchy)),
                [key.as_slice(), labels.as_slice()].concat().join(", ")
            ),
        };
        let group_by = match labels.as_slice() {
            [] => String::new(),
            labels => format!(" GROUP BY {}", labels.join(", ")),
        };
        Ok(format!(
            "SELECT ARRAY[{}]::text[], \
                    {schema}.coco_agg(least({SIZE}, {max_size})) FILTER (WHERE {IS_GROUP}) \
               FROM ({rows}) AS rows{group_by}",
            labels.join(", ")
        ))
    }
}

/// From 1970, where epochs begin, to 2000.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

/// The name of a region, as its column prints it.
fn label(column: &str) -> String {
    format!("concat({}) COLLATE \"C\"", quote_identifier(column))
}

/// Whether a row is a group, inside the query.
const IS_GROUP: &str = "\"is group (pg_dp)\"";

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
