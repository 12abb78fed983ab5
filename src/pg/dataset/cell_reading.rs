//! The exact counts of pairs of a record's integers: planned before the charge, read after it.

use super::query::Query;
use super::reading::Reading;
use super::relation::open;
use super::source::{Source, distinct};
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::ranges::{CellCounts, GridAxis};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// The pairs that a release will count.
pub(crate) struct CellReading {
    rows: SealedRows<Query>,
    /// All 0.
    counts: CellCounts,
}

impl Source {
    /// Plans the counting of the pairs of two columns, each with its axis, in the cells of a grid.
    /// Reads no row.
    ///
    /// Errors: a column is not of integers; the dataset's rows are not what is hidden.
    pub(crate) fn prepare_cells(
        &self,
        row: (&str, GridAxis),
        column: (&str, GridAxis),
    ) -> Result<CellReading> {
        self.check_rows_are_entities()?;
        let entities = open(self.entities, "entities")?;
        for (argument, name) in [("row_column", row.0), ("column_column", column.0)] {
            if entities.column(argument, name)?.family() != pg_sys::INT8OID {
                return Err(invalid(
                    format!("{argument}: column \"{name}\" is not of an integer type"),
                    "Store a column of integers that is generated from it, such as floor(x * 10).",
                ));
            }
        }
        let columns = [row.0, column.0].map(str::to_string);
        let rows = self.used_rows(&entities.name, &distinct(&columns, &[]));
        let [first, second] = columns.map(quote_identifier);
        let sql = format!("SELECT {first}, {second} FROM {rows}");
        let rows = Query::plan(&sql, &[&entities], 0)?;
        Ok(CellReading { rows: SealedRows::new(rows), counts: CellCounts::empty(row.1, column.1) })
    }
}

impl Reading for CellReading {
    type Truth = CellCounts;

    /// Numbers outside of the bounds count in the nearest cell, pairs with a NULL in none.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<CellCounts, Failure> {
        let CellReading { rows, mut counts } = self;
        let Ok(()) = rows.open(receipt).run(|pair| {
            if let (Some(row), Some(column)) = (pair.integer(0), pair.integer(1)) {
                counts.add(row, column);
            }
            Ok::<_, Infallible>(())
        });
        Ok(counts)
    }
}
