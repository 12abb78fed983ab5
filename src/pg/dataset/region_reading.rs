//! The exact counts of a column's values in every leaf region, or the sums of another column's
//! amounts: planned before the charge, when the public table of groups is read, too; read after it.

use super::bin_reading::ReadAmount;
use super::known_groups::KnownGroups;
use super::leaf_reading::below;
use super::leaves::Leaves;
use super::query::Query;
use super::reading::Reading;
use super::source::{Source, distinct, quoted};
use super::streamed_row::StreamedRow;
use super::tables::DatasetTables;
use crate::hierarchy::Tree;
use crate::pg::errors::{Failure, Result, internal, invalid, too_many_regions};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::amounts::Amounts;
use crate::pg::values::interval::Axis;
use crate::ranges::{AmountBounds, BinBounds, RangeCells, SignedSums};
use std::convert::Infallible;

/// The values that a release will count, and the regions.
pub(crate) struct RegionReading {
    pub(crate) regions: KnownRegions,
    rows: SealedRows<Query>,
    counted: Counted,
}

/// The regions that are public, and which of them each group is in.
pub(crate) struct KnownRegions {
    pub(crate) tree: Tree,
    /// Which of the leaves the regions of the groups' numbers are.
    leaves: Vec<usize>,
    /// None where the root is the only region, and all rows are its own.
    groups: Option<KnownGroups>,
}

/// How values become cells.
pub(crate) struct Values {
    pub(crate) axis: Axis,
    pub(crate) bounds: BinBounds,
    pub(crate) cells: RangeCells,
}

/// What a row adds to which cell, as one number, which is kept for each row while the region of its
/// group is looked up: the cell's, and among those of a cell the amount's.
struct Counted {
    values: Values,
    amount: ReadAmount,
    of_each: AmountBounds,
    /// How many there are.
    amounts: u64,
}

impl Counted {
    /// Error: more cells and amounts than there are numbers.
    fn new(values: Values, amount: ReadAmount, amounts: Option<&Amounts>) -> Result<Counted> {
        let of_each = amounts.map_or(AmountBounds::COUNTED, |amounts| amounts.bounds);
        let cells = values.cells.count() as u64;
        let all = of_each.number().and_then(|amounts| amounts.checked_mul(cells));
        match (of_each.number(), all) {
            (Some(amounts), Some(all)) if all <= 1 << 32 => {
                Ok(Counted { values, amount, of_each, amounts })
            }
            _ => Err(invalid(
                format!(
                    "amount_unit is too small: the amounts from min_amount to max_amount, in units, \
                     times the {cells} cells that the ranges divide the bins into must be at most \
                     2^32"
                ),
                "A thousandth of the largest amount is fine enough: the noise hides what is smaller.",
            )),
        }
    }

    /// Values outside of the bounds count in the nearest bin, NULL in none. An amount beyond its
    /// bounds is taken for the nearest one, a row without an amount adds nothing.
    fn number(&self, row: &StreamedRow, value: usize) -> Option<u32> {
        let Values { axis, bounds, cells } = &self.values;
        let bin = bounds.nearest(axis.bin(row.integer(value)?, *bounds));
        let amount = self.of_each.place(self.amount.units(row, value + 1)?);
        // below 2^32, as there are no more
        Some((cells.of_bin(bin) as u64 * self.amounts + amount) as u32)
    }

    /// The cell and the amount of a number.
    fn taken_apart(&self, number: u32) -> (usize, i64) {
        let number = u64::from(number);
        ((number / self.amounts) as usize, self.of_each.of_place(number % self.amounts))
    }
}

impl Source {
    /// Plans the counting of a column's values in every leaf region, or the summing of amounts, and
    /// reads the public table of groups. To be called after [`Source::check`], under the snapshot
    /// under which the private rows will be read: each group is in one region, so a row counts in
    /// one.
    ///
    /// Errors: the column is not of the axis's type; the dataset's rows are not what is hidden; its
    /// regions are not public; keys that are not told apart by their bytes; too many regions; the
    /// column of amounts has none, or they are too many.
    pub(crate) fn prepare_region_bins(
        &self,
        column: &str,
        values: Values,
        amounts: Option<&Amounts>,
    ) -> Result<RegionReading> {
        let tables = DatasetTables::open(self)?;
        self.check_values(&tables.entities, column, values.axis)?;
        let amount = ReadAmount::of(amounts, &tables.entities)?;
        let counted = Counted::new(values, amount, amounts)?;
        let regions = self.known_regions(&tables)?;
        let key = regions.key(self);
        let mut columns = vec![column.to_string()];
        columns.extend(amounts.map(|amounts| amounts.column.clone()));
        let rows = self.used_rows(&tables.entities.name, &distinct(key, &columns));
        let columns = quoted(&[key, &columns].concat()).join(", ");
        let rows = tables.seal(&format!("SELECT {columns} FROM {rows}"), 0)?;
        Ok(RegionReading { regions, rows, counted })
    }

    /// The regions of the public table of groups, which is read, or those of the part; the root alone
    /// where there is no hierarchy.
    ///
    /// Errors: the regions are not public, too many, or none; keys are not told apart by their
    /// bytes.
    pub(super) fn known_regions(&self, tables: &DatasetTables) -> Result<KnownRegions> {
        let depth = self.hierarchy.len();
        if depth > 0 && self.hidden.is_some() {
            return Err(invalid(
                "ranges by region need public groups, and those of the dataset are private",
                "Which regions their rows lie in is private, too. dp_range_sums counts the rows of \
                 all regions together.",
            ));
        }
        if depth > 0 && tables.groups.is_none() {
            return Err(invalid(
                "ranges by region need a table of groups: without one, only private rows tell \
                 which regions there are",
                "Declare the dataset with groups => '...', a public table with the region of each \
                 group.",
            ));
        }
        let mut leaves = Leaves::new(1, &self.hierarchy_layout(tables)?)?;
        if depth == 0 {
            leaves.add_root().map_err(too_many_regions)?;
        }
        let groups = match &tables.groups {
            Some(groups) => {
                let Some(key_layout) = self.key_layout(tables)? else {
                    return Err(invalid(
                        "group_key: a column is of a type whose values can be equal without being \
                         the same",
                        "Ranges by region take integers, dates, times, uuid, and text with a \
                         deterministic collation.",
                    ));
                };
                Some(self.read_groups(tables, groups, &mut leaves, &key_layout)?)
            }
            None => None,
        };
        let (within, regions) = (&self.part.within, leaves.regions());
        if let Some(groups) = &tables.groups
            && regions.is_empty()
            && !within.is_empty()
        {
            self.no_such_region(groups)?;
        }
        let depth = depth - within.len();
        let (tree, numbers) = Tree::from_leaves(depth, below(within, regions)).map_err(internal)?;
        let tree = tree.moved_below(within);
        self.check_has_regions(&[tree.leaves().len()])?;
        let mut places = vec![0; numbers.len()];
        for (leaf, number) in numbers.into_iter().enumerate() {
            places[number as usize] = leaf;
        }
        Ok(KnownRegions { tree, leaves: places, groups })
    }
}

impl KnownRegions {
    /// The columns that rows begin with.
    pub(super) fn key<'a>(&self, source: &'a Source) -> &'a [String] {
        if self.groups.is_some() { &source.group_key } else { &[] }
    }

    /// Whether there are more groups than memory holds, so that rows can only be told apart when all
    /// are read.
    pub(super) fn are_split(&mut self) -> bool {
        self.groups.as_mut().is_some_and(KnownGroups::are_split)
    }

    /// Gives rows that begin with the key to `count`, with the leaf of their group and where the other
    /// columns begin. A row of no known group counts nowhere. Gives the regions.
    pub(super) fn visit_rows(
        self,
        rows: Query,
        mut count: impl FnMut(usize, &StreamedRow, usize),
    ) -> Tree {
        let KnownRegions { tree, leaves, groups } = self;
        if let Some(groups) = groups {
            groups.visit_rows(rows, |region, row, at| count(leaves[region as usize], row, at));
            return tree;
        }
        let Ok(()) = rows.run(|row| {
            count(0, row, 0);
            Ok::<_, Infallible>(())
        });
        tree
    }

    /// Rows that begin with the key, of which `number` makes one of each that counts, told where the
    /// other columns begin: `count` gets it with the leaf. A row of no known group counts nowhere.
    /// Gives the regions.
    pub(super) fn visit(
        self,
        rows: Query,
        number: impl Fn(&StreamedRow, usize) -> Option<u32>,
        mut count: impl FnMut(usize, u32),
    ) -> Tree {
        let KnownRegions { tree, leaves, groups } = self;
        if let Some(groups) = groups {
            groups.visit(rows, number, |region, number| count(leaves[region as usize], number));
            return tree;
        }
        let Ok(()) = rows.run(|row| {
            if let Some(number) = number(row, 0) {
                count(0, number);
            }
            Ok::<_, Infallible>(())
        });
        tree
    }
}

impl Reading for RegionReading {
    /// The regions, and the sums of the cells, leaf after leaf.
    type Truth = (Tree, SignedSums);

    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Self::Truth, Failure> {
        let RegionReading { regions, rows, counted } = self;
        let cells = counted.values.cells.count();
        let mut sums = SignedSums::empty(regions.tree.leaves().len() * cells, counted.of_each);
        let tree = regions.visit(
            rows.open(receipt),
            |row, value| counted.number(row, value),
            |leaf, number| {
                let (cell, amount) = counted.taken_apart(number);
                sums.add(leaf * cells + cell, amount);
            },
        );
        Ok((tree, sums))
    }
}
