//! How many rows, amounts or entities lie between the candidates of a bound: planned before the charge,
//! read after it.

use super::bin_reading::ReadAmount;
use super::leaf_reading::LeafReading;
use super::query::Query;
use super::reading::Reading;
use super::source::{Source, comparable};
use crate::bounds::{Bounded, Tally};
use crate::coco::MAX_SIZE_LIMIT;
use crate::pg::errors::{Failure, Result, invalid};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use crate::pg::values::amounts::Amounts;
use pgrx::spi::quote_identifier;
use std::convert::Infallible;

/// What a bound is to be found of.
pub(crate) struct BoundReading {
    counted: Counted,
    tally: Tally,
}

enum Counted {
    /// How many rows each unit has.
    Units(SealedRows<Query>),
    /// Rows that are used, with their amounts.
    Amounts(SealedRows<Query>, ReadAmount),
    /// The groups of all regions.
    Groups(Box<LeafReading>),
}

impl Source {
    /// Error: there is no unit whose rows could be bounded, or they are chosen elsewhere.
    pub(crate) fn check_has_units(&self, dataset: &str) -> Result<()> {
        if self.privacy_unit.is_none() {
            return Err(invalid(
                format!("bound: dataset \"{dataset}\" has no privacy_unit whose rows are bounded"),
                "Each row is a unit of its own.",
            ));
        }
        if self.size_column.is_some() {
            return Err(invalid(
                format!(
                    "bound: the rows of dataset \"{dataset}\" are chosen when they are counted"
                ),
                "A dataset with leaves or size_column declares their bound as a number.",
            ));
        }
        Ok(())
    }

    /// Plans the counting. Reads no private row. `amounts`: of what the largest is to be found.
    ///
    /// Errors: those of reading such rows.
    pub(crate) fn prepare_bound(
        &self,
        bounded: Bounded,
        amounts: Option<&Amounts>,
        workers: i32,
        tally: Tally,
    ) -> Result<BoundReading> {
        let counted = match (bounded, amounts) {
            (Bounded::Amounts, Some(amounts)) => {
                self.check_rows_are_entities()?;
                let entities = self.open_entities()?;
                let read = ReadAmount::of(Some(amounts), &entities)?;
                let columns = std::slice::from_ref(&amounts.column);
                Counted::Amounts(self.seal_rows(&entities, columns)?, read)
            }
            (Bounded::Sizes | Bounded::Amounts, _) => {
                Counted::Groups(Box::new(self.prepare_leaves(MAX_SIZE_LIMIT, workers)?))
            }
            (Bounded::Rows, _) => Counted::Units(self.prepare_units()?),
        };
        Ok(BoundReading { counted, tally })
    }

    /// As many rows of a unit as are chosen from: those without one are nobody's.
    fn prepare_units(&self) -> Result<SealedRows<Query>> {
        let entities = self.open_entities()?;
        let unit = self.privacy_unit.as_deref().map(quote_identifier).unwrap_or_default();
        let sql = format!(
            "SELECT pg_catalog.count(*) FROM {} WHERE {unit} IS NOT NULL AND {} GROUP BY {unit}",
            entities.name,
            comparable(std::slice::from_ref(&unit))
        );
        Ok(SealedRows::new(Query::plan(&sql, &[&entities], 0)?))
    }
}

impl Reading for BoundReading {
    type Truth = Tally;

    /// An amount below 0 is in the class of 0, a row without one in none.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Tally, Failure> {
        let BoundReading { counted, mut tally } = self;
        let whole = |number: i64| u64::try_from(number).unwrap_or(0);
        match counted {
            Counted::Units(rows) => {
                let Ok(()) = rows.open(receipt).run(|row| {
                    tally.add(whole(row.integer(0).unwrap_or(0)));
                    Ok::<_, Infallible>(())
                });
            }
            Counted::Amounts(rows, amount) => {
                let Ok(()) = rows.open(receipt).run(|row| {
                    if let Some(amount) = amount.units(row, 0) {
                        tally.add(whole(amount));
                    }
                    Ok::<_, Infallible>(())
                });
            }
            Counted::Groups(reading) => {
                let (_, leaves) = reading.read(receipt)?;
                for run in leaves.iter().flat_map(|leaf| leaf.runs()) {
                    tally.add_groups(run.size, run.groups);
                }
            }
        }
        Ok(tally)
    }
}
