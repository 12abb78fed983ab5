//! The exact counts of pairs of a record's integers, or the sums of amounts: planned before the
//! charge, read after it.

use super::bin_reading::ReadAmount;
use super::query::Query;
use super::reading::Reading;
use super::source::Source;
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::amounts::Amounts;
use crate::ranges::{AmountBounds, CellSums, GridAxis};
use pgrx::prelude::*;
use std::convert::Infallible;

/// The pairs that a release will count.
pub(crate) struct CellReading {
    rows: SealedRows<Query>,
    amount: ReadAmount,
    /// Of no record.
    sums: CellSums,
}

impl Source {
    /// Plans the counting of the pairs of two columns, each with its axis, in the cells of a grid, or
    /// the summing of amounts. Reads no row.
    ///
    /// Errors: a column is not of integers; the dataset's rows are not what is hidden; the column of
    /// amounts has none; there is no such region.
    pub(crate) fn prepare_cells(
        &self,
        row: (&str, GridAxis),
        column: (&str, GridAxis),
        amounts: Option<&Amounts>,
    ) -> Result<CellReading> {
        self.check_rows_are_entities()?;
        let entities = self.open_entities()?;
        for (argument, name) in [("row_column", row.0), ("column_column", column.0)] {
            if entities.column(argument, name)?.value_family() != pg_sys::INT8OID {
                return Err(invalid(
                    format!("{argument}: column \"{name}\" is not of an integer type"),
                    "Store a column of integers that is generated from it: floor(x * 10) of a number, \
                     d - date '2000-01-01' of a date, array_position('{a,b}', t) of words.",
                ));
            }
        }
        let amount = ReadAmount::of(amounts, &entities)?;
        let mut columns = [row.0, column.0].map(str::to_string).to_vec();
        columns.extend(amounts.map(|amounts| amounts.column.clone()));
        let rows = self.seal_rows(&entities, &columns)?;
        let of_each = amounts.map_or(AmountBounds::COUNTED, |amounts| amounts.bounds);
        let sums = CellSums::empty(row.1, column.1, of_each);
        Ok(CellReading { rows, amount, sums })
    }
}

impl Reading for CellReading {
    type Truth = CellSums;

    /// Numbers outside of the bounds count in the nearest cell, pairs with a NULL in none. An amount
    /// beyond its bounds is taken for the nearest one, a record without an amount adds nothing.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<CellSums, Failure> {
        let CellReading { rows, amount, mut sums } = self;
        let Ok(()) = rows.open(receipt).run(|pair| {
            if let (Some(row), Some(column)) = (pair.integer(0), pair.integer(1))
                && let Some(amount) = amount.units(pair, 2)
            {
                sums.add(row, column, amount);
            }
            Ok::<_, Infallible>(())
        });
        Ok(sums)
    }
}
