//! What `'auto'` means: the bound that `dp_find_bound` chose last, for the dataset's owner and under a
//! name.
//!
//! What is asked for as `'auto'` by a name under which `'auto'` was asked for means what it meant then: a
//! later search changes nothing of a release that is stored, or charged and still to be made. Where a
//! number was asked for under the name it is another release.
//!
//! A search that a role with a grant paid for is never the owner's: whoever pays first under a name decides
//! when the rows were read, and how many of a unit.

use super::catalog::Dataset;
use crate::bounds::Bounded;
use crate::pg::errors::Result;
use crate::pg::server::catalog::read_catalog;
use crate::pg::values::bound::{AUTO, not_chosen};
use pgrx::AnyNumeric;
use pgrx::spi::quote_literal;

impl Dataset {
    /// The size beyond which groups count as that large.
    ///
    /// Error: none was chosen.
    pub(crate) fn chosen_size(&self, name: Option<&str>) -> Result<i64> {
        let chosen = self.chosen(Bounded::Sizes, None, name)?;
        i64::try_from(chosen).map_err(|_| not_chosen(Bounded::Sizes.word(), &self.name, None))
    }

    /// The largest amount of a column.
    ///
    /// Error: none was chosen.
    pub(crate) fn chosen_amount(
        &self,
        column: &str,
        unit: &str,
        name: Option<&str>,
    ) -> Result<AnyNumeric> {
        self.chosen(Bounded::Amounts, Some((column, unit)), name)
    }

    fn chosen(
        &self,
        bounded: Bounded,
        amount: Option<(&str, &str)>,
        name: Option<&str>,
    ) -> Result<AnyNumeric> {
        let text = |value: Option<&str>| value.map_or("NULL".to_string(), quote_literal);
        let sql = format!(
            "SELECT coalesce((SELECT (r.parameters ->> {word})::numeric FROM dp.release AS r \
                               WHERE r.dataset = {id} AND r.name = {name} \
                                 AND r.parameters ->> '{AUTO}' = {word} \
                                 AND r.parameters ->> 'amount' IS NOT DISTINCT FROM {column}), \
                             (SELECT b.value FROM dp.chosen_bound AS b \
                               WHERE b.dataset = {id} AND b.bound = {word} \
                                 AND b.amount IS NOT DISTINCT FROM {column}))",
            word = quote_literal(bounded.word()),
            id = self.id,
            name = text(name),
            column = text(amount.map(|(column, _)| column)),
        );
        let mut chosen = None;
        read_catalog(&sql, |row| {
            chosen = row.get(1);
            Ok(())
        })?;
        chosen.ok_or_else(|| not_chosen(bounded.word(), &self.name, amount))
    }
}
