//! What `'auto'` means: the bound that `dp_find_bound` chose last, for the dataset's owner and under a
//! name.
//!
//! What is asked for by a name that is taken means what it meant then: a later search changes nothing
//! of a release that is stored, or charged and still to be made.

use super::catalog::{Dataset, RowsBound};
use crate::bounds::Bounded;
use crate::pg::errors::Result;
use crate::pg::server::catalog::read_catalog;
use crate::pg::values::bound::not_chosen;
use pgrx::AnyNumeric;
use pgrx::spi::quote_literal;

impl Dataset {
    /// Error: how many rows of a unit are used is still to be chosen.
    pub(super) fn check_bound(&self) -> Result<()> {
        match self.bound {
            RowsBound::Declared | RowsBound::Chosen => Ok(()),
            RowsBound::Awaited => Err(self.not_chosen(Bounded::Rows, None)),
        }
    }

    /// The size beyond which groups count as that large.
    ///
    /// Error: none was chosen.
    pub(crate) fn chosen_size(&self, name: Option<&str>) -> Result<i64> {
        let chosen = self.chosen(Bounded::Sizes, None, name)?;
        i64::try_from(chosen).map_err(|_| self.not_chosen(Bounded::Sizes, None))
    }

    /// The largest amount of a column.
    ///
    /// Error: none was chosen.
    pub(crate) fn chosen_amount(&self, column: &str, name: Option<&str>) -> Result<AnyNumeric> {
        self.chosen(Bounded::Amounts, Some(column), name)
    }

    fn chosen(
        &self,
        bounded: Bounded,
        column: Option<&str>,
        name: Option<&str>,
    ) -> Result<AnyNumeric> {
        let text = |value: Option<&str>| value.map_or("NULL".to_string(), quote_literal);
        let sql = format!(
            "SELECT coalesce((SELECT (r.parameters ->> {word})::numeric FROM dp.release AS r \
                               WHERE r.dataset = {id} AND r.name = {name} \
                                 AND r.parameters ->> 'amount' IS NOT DISTINCT FROM {column}), \
                             (SELECT b.value FROM dp.chosen_bound AS b \
                               WHERE b.dataset = {id} AND b.bound = {word} \
                                 AND b.amount IS NOT DISTINCT FROM {column}))",
            word = quote_literal(bounded.word()),
            id = self.id,
            name = text(name),
            column = text(column),
        );
        let mut chosen = None;
        read_catalog(&sql, |row| {
            chosen = row.get(1);
            Ok(())
        })?;
        chosen.ok_or_else(|| self.not_chosen(bounded, column))
    }

    fn not_chosen(
        &self,
        bounded: Bounded,
        column: Option<&str>,
    ) -> pgrx::pg_sys::panic::ErrorReport {
        let column =
            column.map_or(String::new(), |column| format!(", amount => {}", quote_literal(column)));
        let call = format!(
            "dp_find_bound({}, '{}', epsilon => 0.2{column}, name => 'bound')",
            quote_literal(&self.name),
            bounded.word()
        );
        not_chosen(bounded.word(), &self.name, &call)
    }
}
