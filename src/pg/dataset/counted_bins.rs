//! What was counted elsewhere, in the bins of every leaf region: rows that hold a value of type bins
//! each, with the key of a group. Planned before the charge, when the public table of groups is read,
//! too; read after it.

use super::query::Query;
use super::reading::Reading;
use super::region_reading::KnownRegions;
use super::source::{Source, quoted};
use super::tables::DatasetTables;
use crate::hierarchy::Tree;
use crate::pg::errors::{Failure, Result, error, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::server::select::extension_type;
use crate::ranges::{AmountBounds, BinBounds, FilledBins, SignedSums};
use pgrx::prelude::PgSqlErrorCode;

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
        if tables.entities.column("bins_column", column)?.value_family() != extension_type("bins")?
        {
            return Err(invalid(
                format!("bins_column: column \"{column}\" is not of type bins"),
                "Name one that holds what bins_agg has counted.",
            ));
        }
        // a grantee is not to choose a column of which nobody has said whose rows it counts
        if self.size_column.as_deref() != Some(column) {
            return Err(invalid(
                format!(
                    "bins_column: the dataset was declared for the bins of another column than \
                     \"{column}\""
                ),
                "Name its size_column. Of another column declare a dataset of its own: their budgets \
                 add up where they count the same entities.",
            ));
        }
        let mut regions = self.known_regions(&tables)?;
        // what rows hold would be kept in memory until all are read
        if regions.are_split() {
            return Err(error(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                "bins by region: there are more groups in the table of groups than pg_dp.work_mem \
                 holds",
            )
            .set_hint(
                "Nothing was spent. Have the rows counted for each leaf region instead of each group, \
                 or a superuser raise pg_dp.work_mem, of which up to 16 MB are used.",
            ));
        }
        let columns = quoted(&[regions.key(self), &[column.to_string()]].concat()).join(", ");
        // a row counts those of one period; of a unit's, whoever counted them has left out
        let conditions = [vec!["true".to_string()], self.own_conditions()].concat().join(" AND ");
        let rows = &tables.entities.name;
        let rows = tables.seal(&format!("SELECT {columns} FROM {rows} WHERE {conditions}"), 0)?;
        Ok(CountedBins { regions, rows, released })
    }
}

impl Reading for CountedBins {
    /// The regions, and the sums of the bins, leaf after leaf.
    type Truth = (Tree, SignedSums);

    /// See [`FilledBins::counted_in`]. NULL and what cannot be read count nowhere.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Self::Truth, Failure> {
        let CountedBins { regions, rows, released: ReleasedBins { bounds, most } } = self;
        let places = regions.tree.leaves().len() * bounds.bins();
        let mut sums = SignedSums::empty(places, AmountBounds::COUNTED);
        let tree = regions.visit_rows(rows.open(receipt), |leaf, row, column| {
            let Some(bins) = row.stored(column, FilledBins::from_bytes) else { return };
            for (bin, count) in bins.counted_in(bounds, most) {
                // a count is at most i64::MAX
                sums.add(leaf * bounds.bins() + bin, count as i64);
            }
        });
        Ok((tree, sums))
    }
}
