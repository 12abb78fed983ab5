//! The column that a stream counts by.

use super::source::Source;
use crate::pg::errors::{Result, invalid};
use crate::pg::values::interval::TimeAxis;
use pgrx::pg_sys::Oid;

/// A column of times, whatever it is called: what a row's tick follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeColumn {
    /// The table.
    pub(crate) entities: Oid,
    pub(crate) number: i16,
}

impl Source {
    /// What a stream needs: that rows are what is hidden, each by itself, and a column of times that
    /// stay as they are.
    ///
    /// Whose rows are hidden together has to have the same ones used in all ticks. Which ones these
    /// are would have to be kept, of everybody.
    pub(crate) fn time_column(&self, column: &str, axis: TimeAxis) -> Result<TimeColumn> {
        if self.size_column.is_some() || self.privacy_unit.is_some() {
            let (argument, hint) = match self.size_column {
                Some(_) => (
                    "size_column or leaves",
                    "They count rows. Declare a dataset whose rows are the entities.",
                ),
                // a dataset without the unit would have streams, and would not hide its rows together
                None => (
                    "privacy_unit",
                    "They hide each row by itself, and not all rows of a unit. Ask this dataset by \
                     dp_range_sums, with a range of the time column for each day: that hides them.",
                ),
            };
            return Err(invalid(
                format!("streams have no meaning for a dataset with {argument}"),
                hint,
            ));
        }
        let entities = self.open_entities()?;
        if entities.is_materialized {
            return Err(invalid(
                format!(
                    "entities: {} is a materialized view, which streams cannot count",
                    entities.name
                ),
                "Each REFRESH may give its rows other times, so that they count twice. Declare a \
                 dataset on a table.",
            ));
        }
        let used = entities.column("time_column", column)?;
        if used.value_family() != axis.type_oid {
            return Err(invalid(
                format!("time_column: column \"{column}\" is not of the type of start"),
                "Give start as date '...', timestamp '...' or timestamptz '...', as the column is; \
                 a plain text is taken for a timestamptz.",
            ));
        }
        Ok(TimeColumn { entities: self.entities, number: used.number })
    }
}
