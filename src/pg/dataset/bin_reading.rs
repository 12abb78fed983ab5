//! The exact counts of a column's values, or the sums of another column's amounts: planned before
//! the charge, read after it.

use super::query::Query;
use super::reading::Reading;
use super::relation::Relation;
use super::source::{Source, distinct, quoted};
use super::streamed_row::StreamedRow;
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::amounts::{Amounts, BYTES_OF_NUMERIC, units_of_numeric};
use crate::pg::values::interval::{Axis, TimeAxis};
use crate::ranges::{AmountBounds, AmountUnit, BinBounds, BinSums};
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// The values that a release will count, or whose amounts it will sum.
pub(crate) struct BinReading {
    rows: SealedRows<Query>,
    axis: Axis,
    amount: ReadAmount,
    sums: BinSums,
}

/// What a row adds to its bin. No operator and no cast of SQL takes part, which could fail on a row.
pub(super) enum ReadAmount {
    One,
    /// Of an integer column.
    Integer(AmountUnit),
    Numeric(AmountUnit),
}

impl ReadAmount {
    /// Errors: the column is of another type; nothing says what numerics are rounded to.
    pub(super) fn of(amounts: Option<&Amounts>, entities: &Relation) -> Result<ReadAmount> {
        let Some(Amounts { column, unit, is_default_unit, .. }) = amounts else {
            return Ok(ReadAmount::One);
        };
        match entities.column("amount", column)?.value_family() {
            pg_sys::INT8OID => Ok(ReadAmount::Integer(*unit)),
            // to whole numbers, silently: that could be to 0
            pg_sys::NUMERICOID if *is_default_unit => Err(invalid(
                format!(
                    "amount_unit must be given, since column \"{column}\" is numeric: amounts are \
                     rounded to whole multiples of it"
                ),
                "A thousandth of max_amount is fine enough: 0.01 for cents, 1 for whole numbers.",
            )),
            pg_sys::NUMERICOID => Ok(ReadAmount::Numeric(*unit)),
            _ => Err(invalid(
                format!("amount: column \"{column}\" is not of an integer type or numeric"),
                "Sums are exact. Store amounts in a column of type numeric, which other numbers can \
                 be cast to.",
            )),
        }
    }

    /// In units. None for NULL and NaN. `column`: its place in the row, if there is one.
    pub(super) fn units(&self, row: &StreamedRow, column: usize) -> Option<i64> {
        match self {
            ReadAmount::One => Some(1),
            ReadAmount::Integer(unit) => row.integer(column).map(|amount| unit.of_integer(amount)),
            ReadAmount::Numeric(_) if !row.has_all(column..column + 1) => None,
            ReadAmount::Numeric(unit) => row
                .with_first_bytes(column, BYTES_OF_NUMERIC, |bytes| units_of_numeric(*unit, bytes)),
        }
    }
}

impl Source {
    /// Error: the rows are groups, of which one entity more or less changes a size.
    pub(crate) fn check_rows_are_entities(&self) -> Result<()> {
        if self.size_column.is_none() {
            return Ok(());
        }
        let hint = match self.has_bins(&self.open_entities()?)? {
            true => "They count rows. What its bins count dp_region_range_release releases.",
            false => "They count rows. Declare a dataset whose rows are the entities.",
        };
        Err(invalid("range sums have no meaning for a dataset with size_column or leaves", hint))
    }

    /// Error: of the rows there are no ranges, neither of what they hold nor of what they count.
    pub(crate) fn check_has_values(&self) -> Result<()> {
        match self.has_bins(&self.open_entities()?)? {
            true => Ok(()),
            false => self.check_rows_are_entities(),
        }
    }

    /// Errors: the column is not of the axis's type; the dataset's rows are not what is hidden.
    pub(super) fn check_values(&self, entities: &Relation, column: &str, axis: Axis) -> Result<()> {
        self.check_rows_are_entities()?;
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
        let family = entities.column("value_column", column)?.value_family();
        if family == expected {
            return Ok(());
        }
        let hint = match family {
            pg_sys::NUMERICOID | pg_sys::FLOAT4OID | pg_sys::FLOAT8OID if axis == Axis::Number => {
                let bin = format!("floor({} / 1000)", quote_identifier(column));
                format!(
                    "Ranges are of integers. Have a stored column of integers that is generated \
                     from it, such as {bin}. Or, if you may read the table, count bins_agg({bin}\
                     ::bigint, 0, 200), with bounds of your own, for dp_range_release."
                )
            }
            pg_sys::TEXTOID => format!(
                "Words have no ranges. Have a stored column of integers that is generated from it, \
                 such as array_position('{{a,b}}', {}).",
                quote_identifier(column)
            ),
            _ => {
                "Ask an integer column with int8range[], a date with daterange[], a timestamp with \
                  tsrange[], a timestamptz with tstzrange[]."
                    .to_string()
            }
        };
        Err(invalid(format!("value_column: column \"{column}\" is not of {name}"), hint))
    }

    /// Plans the counting of a column's values in the bins of an axis, or the summing of amounts.
    /// Reads no row.
    ///
    /// Errors: those of [`Source::check_values`]; the column of amounts has none; there is no such
    /// region.
    pub(crate) fn prepare_bins(
        &self,
        column: &str,
        axis: Axis,
        bounds: BinBounds,
        amounts: Option<&Amounts>,
    ) -> Result<BinReading> {
        let entities = self.open_entities()?;
        self.check_values(&entities, column, axis)?;
        let amount = ReadAmount::of(amounts, &entities)?;
        let mut columns = vec![column.to_string()];
        columns.extend(amounts.map(|amounts| amounts.column.clone()));
        let rows = self.seal_rows(&entities, &columns)?;
        let of_each = amounts.map_or(AmountBounds::COUNTED, |amounts| amounts.bounds);
        let sums = BinSums::empty(bounds, of_each);
        Ok(BinReading { rows, axis, amount, sums })
    }

    /// Plans the reading of columns of the rows that are in the part.
    ///
    /// Error: there is no such region.
    pub(super) fn seal_rows(
        &self,
        entities: &Relation,
        columns: &[String],
    ) -> Result<SealedRows<Query>> {
        let groups = self.open_groups()?.filter(|_| !self.part.within.is_empty());
        self.check_region()?;
        let conditions = [self.own_conditions(), self.condition_of_groups(groups.as_ref())];
        let rows = self.rows_where(&entities.name, &distinct(columns, &[]), conditions.concat());
        let columns = quoted(columns).join(", ");
        let tables: Vec<&Relation> = [entities].into_iter().chain(&groups).collect();
        let rows = Query::plan(&format!("SELECT {columns} FROM {rows}"), &tables, 0)?;
        Ok(SealedRows::new(rows))
    }
}

impl Reading for BinReading {
    type Truth = BinSums;

    /// Values outside of the bounds count in the nearest bin, NULL in none. An amount beyond its
    /// bounds is taken for the nearest one, a row without an amount adds nothing.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<BinSums, Failure> {
        let BinReading { rows, axis, amount, mut sums } = self;
        let bounds = sums.bounds();
        let Ok(()) = rows.open(receipt).run(|row| {
            if let Some(value) = row.integer(0)
                && let Some(amount) = amount.units(row, 1)
            {
                sums.add(axis.bin(value, bounds), amount);
            }
            Ok::<_, Infallible>(())
        });
        Ok(sums)
    }
}
