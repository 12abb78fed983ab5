//! That every group lies in one region: an entity would else count in several.
//!
//! Groups are counted as a release counts them, those of regions that print alike as of one. Where one
//! stands twice in the table of groups, one has a size of 2; where one of the entities' lies in two
//! regions, there are more of them with regions than without. Keys whose equal values can differ in
//! their bytes are grouped by PostgreSQL.

use super::layout::Layout;
use super::leaves::Leaves;
use super::query::Query;
use super::relation::Relation;
use super::sizes_query::region_names;
use super::source::{Source, not_null, quoted};
use super::tables::DatasetTables;
use crate::pg::errors::{Result, error, too_many_regions};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::panic::ErrorReport;

impl Source {
    /// With a table of groups this reads public rows only; without one the caller declared the
    /// groups that occur to be public.
    ///
    /// Errors: a group lies in more than one region, or in none; too many regions.
    pub(super) fn check_tree(&self, workers: i32) -> Result<()> {
        let tables = DatasetTables::open(self)?;
        let checked = match &tables.groups {
            Some(groups) => {
                if let Some(column) = self.null_region(groups)? {
                    return Err(no_region(column, &groups.name));
                }
                if groups.has_unique_key(&self.group_key)? {
                    return Ok(());
                }
                groups
            }
            // of a private table an index makes sure, without a look at it
            None if self.size_column.is_some() || self.listed_groups().is_some() => return Ok(()),
            None if self.hierarchy.iter().all(|column| self.group_key.contains(column)) => {
                return Ok(());
            }
            None => &tables.entities,
        };
        let are_repeated = match self.key_layout(&tables)? {
            Some(key) => self.are_repeated(&Counting { tables: &tables, key, workers })?,
            None => {
                let repeated = self.repeated_groups(&checked.name, &quoted(&self.group_key));
                Query::plan(&repeated, &[checked], 0)?.has_rows()
            }
        };
        if are_repeated { Err(self.no_tree(&checked.name)) } else { Ok(()) }
    }

    /// Whether a group occurs more than once, or in more than one region.
    fn are_repeated(&self, counting: &Counting) -> Result<bool> {
        let DatasetTables { entities, groups } = counting.tables;
        if let Some(groups) = groups {
            return Ok(self.counted(counting, groups, &[], false)?.largest > 1);
        }
        let apart = self.counted(counting, entities, &self.hierarchy, true)?;
        Ok(apart.groups > self.counted(counting, entities, &self.hierarchy, false)?.groups)
    }

    /// The groups of a table's rows that have a region, in columns of these, each in each region one
    /// if they are `apart`.
    fn counted(
        &self,
        Counting { tables, key, workers }: &Counting,
        table: &Relation,
        regions: &[String],
        apart: bool,
    ) -> Result<Counted> {
        let layout = if regions.is_empty() { vec![] } else { self.hierarchy_layout(tables)? };
        let mut leaves = Leaves::new(2, &layout)?.helped(*workers);
        let mut groups = leaves.no_groups(key, apart)?;
        let columns = quoted(&[regions, &self.group_key].concat()).join(", ");
        let rows = format!("SELECT {columns} FROM {}", table.name);
        let rows = Query::plan(&rows, &[table], 0)?;
        leaves.count_entities(rows, &mut groups).map_err(too_many_regions)?;
        let mut counted = Counted { groups: 0, largest: 0 };
        groups.sizes.finish(|_, size| {
            counted.groups += 1;
            counted.largest = counted.largest.max(size);
        });
        Ok(counted)
    }

    /// A hierarchy column of the public table that holds NULL.
    pub(super) fn null_region(&self, groups: &Relation) -> Result<Option<&str>> {
        if self.hierarchy.is_empty() {
            return Ok(None);
        }
        let columns = quoted(&self.hierarchy).join(", ");
        let rows = Query::plan(&format!("SELECT {columns} FROM {}", groups.name), &[groups], 0)?;
        let no_null = rows.run(|row| match row.first_null() {
            Some(column) => Err(column),
            None => Ok(()),
        });
        Ok(no_null.err().map(|column| self.hierarchy[column].as_str()))
    }

    /// SELECT a row if a group occurs more than once, or in more than one region.
    pub(super) fn repeated_groups(&self, table: &str, key: &[String]) -> String {
        let rows = match self.groups {
            Some(_) => table.to_string(),
            None => {
                let names = region_names(self.hierarchy.len());
                let columns = [key, &[self.named_regions(&names)]].concat().join(", ");
                format!(
                    "(SELECT * FROM (SELECT DISTINCT {columns} FROM {table}) AS n WHERE {}) AS g",
                    not_null(&names)
                )
            }
        };
        format!(
            "SELECT 1 FROM {rows} WHERE {} GROUP BY {} HAVING count(*) > 1 LIMIT 1",
            not_null(key),
            key.join(", ")
        )
    }

    pub(super) fn no_tree(&self, table: &str) -> ErrorReport {
        let often =
            if self.groups.is_some() { "more than once" } else { "in more than one region" };
        let message = format!("the hierarchy is no tree: a group occurs {often} in {table}");
        error(PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION, message).set_hint(match self.groups {
            Some(_) => {
                "Every group must stand in one row of the groups table, and so in one region: \
                     a unique index on the group_key columns makes sure of it."
            }
            None => {
                "Every group must lie in one region: add the hierarchy's columns to group_key \
                     if a group is meant to be split by region."
            }
        })
    }
}

pub(super) fn no_region(column: &str, table: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_NOT_NULL_VIOLATION,
        format!("hierarchy: column \"{column}\" of {table} holds NULL"),
    )
    .set_hint("Every group needs a region on every level.")
}

/// How groups are counted.
struct Counting<'a> {
    tables: &'a DatasetTables,
    key: Vec<Layout>,
    /// As of [`Source::prepare_leaves`].
    workers: i32,
}

struct Counted {
    groups: u64,
    /// Of sizes up to 2.
    largest: u32,
}
