//! The exact counts of a column's values: planned before the charge, read after it.

use super::query::Query;
use super::reading::Reading;
use super::relation::{Relation, open};
use super::source::Source;
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::interval::{Axis, TimeAxis};
use crate::ranges::{BinBounds, Bins};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// The values that a release will count.
pub(crate) struct BinReading {
    rows: SealedRows<Query>,
    axis: Axis,
    bounds: BinBounds,
}

impl Source {
    /// Plans the counting of a column's values in the bins of an axis. Reads no row.
    ///
    /// Errors: the column is not of the axis's type; the dataset's rows are not what is hidden.
    pub(crate) fn prepare_bins(
        &self,
        column: &str,
        axis: Axis,
        bounds: BinBounds,
    ) -> Result<BinReading> {
        let entities = open(self.entities, "entities")?;
        self.check_values(&entities, column, axis)?;
        let column = quote_identifier(column);
        let rows = self.used_rows(&entities.name, std::slice::from_ref(&column));
        let rows = Query::plan(&format!("SELECT {column} FROM {rows}"), &[&entities], 0)?;
        Ok(BinReading { rows: SealedRows::new(rows), axis, bounds })
    }

    /// Errors: the column is not of the axis's type; the dataset's rows are not what is hidden.
    pub(super) fn check_values(&self, entities: &Relation, column: &str, axis: Axis) -> Result<()> {
        if self.size_column.is_some() {
            return Err(invalid(
                "range sums have no meaning for a dataset with size_column",
                "They count rows. Declare a dataset whose rows are the entities.",
            ));
        }
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
        if entities.column("value_column", column)?.family() != expected {
            return Err(invalid(
                format!("value_column: column \"{column}\" is not of {name}"),
                "Ask an integer column with int8range[], a date with daterange[], a timestamp with \
                 tsrange[], a timestamptz with tstzrange[].",
            ));
        }
        Ok(())
    }
}

impl Reading for BinReading {
    type Truth = Bins;

    /// Values outside of the bounds count in the nearest bin, NULL in none.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Bins, Failure> {
        let BinReading { rows, axis, bounds } = self;
        let mut bins = Bins::empty(bounds);
        let Ok(()) = rows.open(receipt).run(|row| {
            if let Some(value) = row.integer(0) {
                bins.add(axis.bin(value, bounds), 1);
            }
            Ok::<_, Infallible>(())
        });
        Ok(bins)
    }
}
