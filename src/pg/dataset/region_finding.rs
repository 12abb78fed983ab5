//! How many units of privacy each lowest region has, where which regions there are is private: for a
//! release that finds those that enough have.
//!
//! A unit counts 1 in each region that it counts in. What a unit is follows from what is declared:
//!
//! - rows of `entities`, of which each is in one region;
//! - groups that a private table lists: each stands there once, in one region, and an entity more or
//!   less changes none;
//! - values of `privacy_unit`, each of which may be in many regions. So many of these count as rows of
//!   one unit are used, chosen at random, from the unit's own alone.
//!
//! What counts nowhere in a release does not count here either: a NULL in the key or in a region's
//! name, a name that is too long.

use super::query::Query;
use super::relation::Relation;
use super::sizes_query::region_names;
use super::source::{RANK, Source, comparable, not_null, quoted};
use super::streamed_row::StreamedRow;
use crate::counting::FirstPaths;
use crate::hierarchy::Finder;
use crate::noise::RandomWords;
use crate::pg::errors::{Result, invalid};
use crate::pg::ledger::account::SealedRows;
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// Each lowest region with its units.
pub(crate) struct UnitsOfRegions {
    /// The names of a region from the top level down, then how many units it has.
    rows: Query,
    depth: usize,
}

impl UnitsOfRegions {
    /// The paths of the regions that are found, in order. A region is looked at while it is read, and
    /// not kept: of those that are not found there can be any number.
    pub(crate) fn find<R: RandomWords>(self, finder: &Finder, words: &mut R) -> Vec<Vec<String>> {
        let UnitsOfRegions { rows, depth } = self;
        let mut found = FirstPaths::default();
        let Ok(()) = rows.run(|row| {
            let units = row.integer(depth).and_then(|units| u64::try_from(units).ok());
            if finder.finds(units.unwrap_or(0), words) {
                found.insert(path(row, depth));
            }
            Ok::<(), Infallible>(())
        });
        found.into_sorted()
    }
}

/// The names that a row begins with, none of which is NULL or too long.
fn path(row: &StreamedRow, depth: usize) -> Vec<String> {
    (0..depth).map(|column| row.name(column).unwrap_or_default()).collect()
}

impl Source {
    /// In how many regions a unit of privacy counts at most.
    ///
    /// Errors: which regions there are is public.
    pub(crate) fn regions_per_unit(&self, dataset: &str) -> Result<u32> {
        let Some(hidden) = &self.hidden else {
            return Err(invalid(
                format!("the regions of dataset \"{dataset}\" are public, as its groups are"),
                "Regions are found where groups are private: groups_private => true.",
            ));
        };
        if self.hierarchy.is_empty() {
            return Err(invalid(
                format!("dataset \"{dataset}\" has no regions but the root"),
                "Its hierarchy is empty.",
            ));
        }
        Ok(hidden.per_unit)
    }

    /// Plans the counting. Reads no row.
    ///
    /// Errors: values cannot be compared.
    pub(crate) fn prepare_finding(&self) -> Result<SealedRows<UnitsOfRegions>> {
        let (entities, listed) = (self.open_entities()?, self.open_listed_groups()?);
        let names = region_names(self.hierarchy.len());
        let counted = match &self.privacy_unit {
            Some(unit) if listed.is_none() => self.regions_of_units(&entities, unit, &names),
            _ => self.region_of_each(listed.as_ref().unwrap_or(&entities), &names),
        };
        let names = names.join(", ");
        let sql =
            format!("SELECT {names}, pg_catalog.count(*) FROM ({counted}) AS c GROUP BY {names}");
        let tables: Vec<&Relation> = [&entities].into_iter().chain(&listed).collect();
        let rows = Query::plan(&sql, &tables, 0)?;
        Ok(SealedRows::new(UnitsOfRegions { rows, depth: self.hierarchy.len() }))
    }

    /// SELECT the names of its region for each row that counts.
    fn region_of_each(&self, table: &Relation, names: &[String]) -> String {
        format!(
            "SELECT * FROM (SELECT {} FROM {} WHERE {}) AS n WHERE {}",
            self.named_regions(names),
            table.name,
            self.has_group(),
            not_null(names)
        )
    }

    /// SELECT the names of regions for each unit, once each, so many as count.
    fn regions_of_units(&self, entities: &Relation, unit: &str, names: &[String]) -> String {
        let unit = quote_identifier(unit);
        format!(
            "SELECT * FROM (SELECT {names}, pg_catalog.row_number() OVER (PARTITION BY {UNIT} \
                                                ORDER BY pg_catalog.gen_random_uuid()) AS {RANK} \
                              FROM (SELECT DISTINCT {unit} AS {UNIT}, {labelled} FROM {entities} \
                                     WHERE {unit} IS NOT NULL AND {short} AND {has_group}) AS n \
                             WHERE {named}) AS r \
              WHERE {RANK} <= {most}",
            labelled = self.named_regions(names),
            entities = entities.name,
            short = comparable(std::slice::from_ref(&unit)),
            has_group = self.has_group(),
            named = not_null(names),
            most = self.max_rows_per_unit,
            names = names.join(", "),
        )
    }

    /// Whether a row belongs to a group: its key says that, unless it is a group itself.
    fn has_group(&self) -> String {
        if self.rows_are_groups() {
            return "true".to_string();
        }
        let key = quoted(&self.group_key);
        format!("{} AND {}", not_null(&key), comparable(&key))
    }
}

/// What a unit is called in queries: as no column of a table is.
const UNIT: &str = "\"unit (pg_dp)\"";
