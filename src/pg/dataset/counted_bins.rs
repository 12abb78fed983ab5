//! What was counted elsewhere, in the bins of every leaf region: rows that hold a value of type bins
//! each, with the key of a group. Planned before the charge, when the public table of groups is read,
//! too; read after it.

use super::leaf_reading::DatasetTables;
use super::query::Query;
use super::reading::Reading;
use super::region_reading::KnownRegions;
use super::source::{Source, quoted};
use super::stream::StreamedRow;
use crate::hierarchy::Tree;
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::server::select::extension_type;
use crate::ranges::{AmountBounds, BinBounds, Bins, SignedSums};
use std::cell::RefCell;

/// The bins that a release will add up, and the regions.
pub(crate) struct CountedBins {
    pub(crate) regions: KnownRegions,
    rows: SealedRows<Query>,
    released: ReleasedBins,
}

/// What of the rows' bins counts.
#[derive(Clone, Copy)]
pub(crate) struct ReleasedBins {
    pub(crate) bounds: BinBounds,
    /// What an entity adds to its bin at most.
    pub(crate) most: u32,
}

impl Source {
    /// Plans the adding up of a column's bins in every leaf region, and reads the public table of
    /// groups. To be called as [`Source::prepare_region_bins`].
    ///
    /// Errors: the dataset's rows are no counts of values, or the column holds none; its regions are
    /// not public, or too many; keys that are not told apart by their bytes.
    pub(crate) fn prepare_counted_bins(
        &self,
        column: &str,
        released: ReleasedBins,
    ) -> Result<CountedBins> {
        let tables = DatasetTables::open(self)?;
        if !self.has_bins(&tables.entities)? {
            return Err(invalid(
                "bins are read of a dataset with a size_column of that type, whose rows are counts",
                "dp_region_range_sums counts rows itself. Or count them with bins_agg into a table, \
                 and declare a dataset of that: size_column => the column of bins.",
            ));
        }
        if tables.entities.column("bins_column", column)?.family() != extension_type("bins")? {
            return Err(invalid(
                format!("bins_column: column \"{column}\" is not of type bins"),
                "Name one that holds what bins_agg has counted.",
            ));
        }
        let regions = self.known_regions(&tables)?;
        let columns = quoted(&[regions.key(self), &[column.to_string()]].concat()).join(", ");
        let rows = tables.seal(&format!("SELECT {columns} FROM {}", tables.entities.name), 0)?;
        Ok(CountedBins { regions, rows, released })
    }
}

/// What rows add to the bins, by number, until the regions of their groups are known.
#[derive(Default)]
struct Kept {
    counts: Vec<Vec<(usize, u64)>>,
    free: Vec<u32>,
}

impl Kept {
    /// None for more at once than there are numbers, which no memory holds.
    fn keep(&mut self, counts: Vec<(usize, u64)>) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            self.counts[number as usize] = counts;
            return Some(number);
        }
        let number = u32::try_from(self.counts.len()).ok()?;
        self.counts.push(counts);
        Some(number)
    }

    fn take(&mut self, number: u32) -> Vec<(usize, u64)> {
        self.free.push(number);
        std::mem::take(&mut self.counts[number as usize])
    }
}

impl Reading for CountedBins {
    /// The regions, and the sums of the bins, leaf after leaf.
    type Truth = (Tree, SignedSums);

    /// See [`Bins::counted_in`]. NULL and what cannot be read count nowhere.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Self::Truth, Failure> {
        let CountedBins { regions, rows, released: ReleasedBins { bounds, most } } = self;
        let places = regions.tree.leaves().len() * bounds.bins();
        let mut sums = SignedSums::empty(places, AmountBounds::COUNTED);
        let kept = RefCell::new(Kept::default());
        let number = |row: &StreamedRow, column: usize| {
            let bins: Bins = row.stored(column)?;
            kept.borrow_mut().keep(bins.counted_in(bounds, most).collect())
        };
        let tree = regions.visit(rows.open(receipt), number, |leaf, number| {
            for (bin, count) in kept.borrow_mut().take(number) {
                // a count is at most i64::MAX
                sums.add(leaf * bounds.bins() + bin, count as i64);
            }
        });
        Ok((tree, sums))
    }
}
