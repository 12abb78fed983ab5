//! How the sizes of groups are read whose number is private.
//!
//! Which regions there are is public, from a table of their own. Before the charge that one is read,
//! and of the private tables nothing but what PostgreSQL's catalog says of them; after it one query
//! gives the region and the size of each group. A row of another region counts nowhere, or, where the
//! dataset has a region for these, in that: a group's region is then changed by what is public alone,
//! so that neighbours remain neighbours.

use super::layout::Layout;
use super::leaves::Leaves;
use super::query::Query;
use super::relation::Relation;
use super::sizes_query::region_names;
use super::source::{Source, label};
use crate::hierarchy::Tree;
use crate::pg::errors::{Result, error, internal, too_many_regions};
use crate::pg::ledger::account::SealedRows;
use pgrx::PgSqlErrorCode;
use pgrx::spi::quote_identifier;

/// All that a release knows of the leaf regions before it is charged.
pub(super) struct HiddenLeaves {
    pub(super) tree: Tree,
    /// That `leaves` gave to each leaf region.
    pub(super) numbers: Vec<u32>,
    pub(super) leaves: Leaves,
    /// The region and the size of each group.
    pub(super) rows: SealedRows<Query>,
}

impl Source {
    /// Plans the reading of all leaf regions' histograms, and reads the public table of regions.
    ///
    /// Errors: too many public regions, or too long names; keys that cannot be compared.
    pub(super) fn prepare_hidden_leaves(&self, max_size: u64) -> Result<HiddenLeaves> {
        let (entities, groups) = (self.open_entities()?, self.open_listed_groups()?);
        let depth = self.hierarchy.len();
        let labels: Vec<String> = self.hierarchy.iter().map(|column| label(column)).collect();
        let layouts = vec![Layout::Varying; depth];
        let mut leaves = Leaves::new(max_size, &layouts)?.with_private_groups();
        let mut sizes = match &self.size_column {
            Some(size) if self.rows_are_groups() => self.sizes_of_rows(&entities, &labels, size),
            _ => self.sizes_query(&entities, groups.as_ref(), &labels),
        };
        let regions = self.open_regions()?;
        match self.hidden.as_ref().zip(regions.as_ref()) {
            Some((hidden, regions)) => {
                let known = format!("SELECT {} FROM {}", labels.join(", "), regions.name);
                leaves.read_regions(Query::plan(&known, &[regions], 0)?)?;
                let names = region_names(depth).join(", ");
                match &hidden.other {
                    Some(other) => leaves.add_other(other).map_err(too_many_regions)?,
                    None => {
                        sizes =
                            format!("SELECT * FROM ({sizes}) AS s WHERE ({names}) IN ({known})");
                    }
                }
            }
            None => leaves.add_root().map_err(too_many_regions)?,
        }
        let (tree, numbers) = Tree::from_leaves(depth, leaves.regions()).map_err(internal)?;
        let read = [&entities].into_iter().chain(&groups).chain(&regions);
        let rows = Query::plan(&sizes, &read.collect::<Vec<_>>(), 0)?;
        Ok(HiddenLeaves { tree, numbers, leaves, rows: SealedRows::new(rows) })
    }

    /// Error: the public table of groups, or where groups are private that of regions, has no region but
    /// that of all others. Perhaps it is not filled yet.
    pub(crate) fn check_has_regions(&self, regions_per_level: &[usize]) -> Result<()> {
        let others = self.hidden.as_ref().is_some_and(|hidden| hidden.other.is_some());
        if regions_per_level.last().is_none_or(|lowest| *lowest > usize::from(others)) {
            return Ok(());
        }
        let (table, hint) = match self.hidden {
            None => ("groups", "Nothing was spent. Fill it first."),
            Some(_) => (
                "regions",
                "Nothing was spent. Fill it with what is public, or with what dp_find_regions finds.",
            ),
        };
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("the table of {table} has no rows: there are no regions"),
        )
        .set_hint(hint))
    }

    /// SELECT the names of a region, then the size of a group: of rows that are groups.
    fn sizes_of_rows(&self, entities: &Relation, labels: &[String], size: &str) -> String {
        let names = region_names(labels.len());
        let labelled: String =
            labels.iter().zip(&names).map(|(label, name)| format!("{label} AS {name}, ")).collect();
        format!(
            "SELECT {labelled}{}::pg_catalog.int8 FROM {}",
            quote_identifier(size),
            entities.name
        )
    }
}
