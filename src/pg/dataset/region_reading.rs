//! The exact counts of a column's values in every leaf region: planned before the charge, when the
//! public table of groups is read, too; read after it.

use super::leaf_reading::DatasetTables;
use super::leaves::{KnownGroups, Leaves};
use super::query::Query;
use super::reading::Reading;
use super::source::{Source, distinct, quoted};
use crate::hierarchy::Tree;
use crate::pg::errors::{Failure, Result, internal, invalid, too_many_regions};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::interval::Axis;
use crate::ranges::{BinBounds, RangeCells};
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// The values that a release will count, and the regions.
pub(crate) struct RegionReading {
    pub(crate) tree: Tree,
    /// Which of the leaves the regions of the groups' numbers are.
    leaves: Vec<usize>,
    rows: SealedRows<Query>,
    /// None where the root is the only region, and all rows are its own.
    groups: Option<KnownGroups>,
    values: Values,
}

/// How values become cells.
pub(crate) struct Values {
    pub(crate) axis: Axis,
    pub(crate) bounds: BinBounds,
    pub(crate) cells: RangeCells,
}

impl Values {
    /// Those outside of the bounds count in the nearest bin.
    fn cell(&self, value: i64) -> usize {
        self.cells.of_bin(self.bounds.nearest(self.axis.bin(value, self.bounds)))
    }
}

impl Source {
    /// Plans the counting of a column's values in every leaf region, and reads the public table of
    /// groups. To be called after [`Source::check`], under the snapshot under which the private rows
    /// will be read: each group is in one region, so a row counts in one.
    ///
    /// Errors: the column is not of the axis's type; the dataset's rows are not what is hidden; its
    /// regions are not public; keys that are not told apart by their bytes; too many regions.
    pub(crate) fn prepare_region_bins(
        &self,
        column: &str,
        values: Values,
    ) -> Result<RegionReading> {
        let tables = DatasetTables::open(self)?;
        self.check_values(&tables.entities, column, values.axis)?;
        let name = &tables.entities.name;
        let mut leaves = Leaves::new(1, &self.hierarchy_layout(&tables)?)?;
        let depth = self.hierarchy.len();
        if depth == 0 {
            leaves.add_root().map_err(too_many_regions)?;
        }
        let column_of_rows = quote_identifier(column);
        let (rows, groups) = match &tables.groups {
            Some(groups) => {
                let Some(key_layout) = self.key_layout(&tables)? else {
                    return Err(invalid(
                        "group_key: a column is of a type whose values can be equal without being \
                         the same",
                        "Ranges by region take integers, dates, times, uuid, and text with a \
                         deterministic collation.",
                    ));
                };
                let groups = self.read_groups(&tables, groups, &mut leaves, &key_layout)?;
                let rows = self.used_rows(name, &distinct(&self.group_key, &[column.to_string()]));
                let columns = [quoted(&self.group_key), vec![column_of_rows]].concat().join(", ");
                (format!("SELECT {columns} FROM {rows}"), Some(groups))
            }
            None if depth == 0 => {
                let rows = self.used_rows(name, std::slice::from_ref(&column_of_rows));
                (format!("SELECT {column_of_rows} FROM {rows}"), None)
            }
            None => {
                return Err(invalid(
                    "ranges by region need a table of groups: without one, only private rows tell \
                     which regions there are",
                    "Declare the dataset with groups => '...', a public table with the region of \
                     each group.",
                ));
            }
        };
        let (tree, numbers) = Tree::from_leaves(depth, leaves.regions()).map_err(internal)?;
        if tree.leaves().is_empty() {
            return Err(invalid(
                "the table of groups has no rows: there are no regions",
                "Nothing was spent.",
            ));
        }
        let mut places = vec![0; numbers.len()];
        for (leaf, number) in numbers.into_iter().enumerate() {
            places[number as usize] = leaf;
        }
        let rows = tables.seal(&rows, 0)?;
        Ok(RegionReading { tree, leaves: places, rows, groups, values })
    }
}

impl Reading for RegionReading {
    /// The regions, and the counts of the cells, leaf after leaf.
    type Truth = (Tree, Vec<u64>);

    /// NULL counts nowhere, and so does a row of no known group.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Self::Truth, Failure> {
        let RegionReading { tree, leaves, rows, groups, values } = self;
        let cells = values.cells.count();
        let mut counts = vec![0u64; tree.leaves().len() * cells];
        let mut count = |leaf: usize, cell: usize| {
            let count = &mut counts[leaf * cells + cell];
            *count = count.saturating_add(1);
        };
        let rows = rows.open(receipt);
        match groups {
            Some(groups) => groups.visit(
                rows,
                |value| values.cell(value) as u32,
                |region, cell| count(leaves[region as usize], cell as usize),
            ),
            None => {
                let Ok(()) = rows.run(|row| {
                    if let Some(value) = row.integer(0) {
                        count(0, values.cell(value));
                    }
                    Ok::<_, Infallible>(())
                });
            }
        }
        Ok((tree, counts))
    }
}
