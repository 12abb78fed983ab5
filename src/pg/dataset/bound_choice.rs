//! What `'auto'` means: the bound that `dp_find_bound` chose last, for the dataset's owner and under a
//! name.
//!
//! What is asked for by a name that is taken means what it meant then: a later search changes nothing
//! of a release that is stored, or charged and still to be made.
//!
//! A search that a role with a grant paid for is the owner's from when the owner asks for it: whoever pays
//! first under a name decides when the rows were read, and how many of a unit, and nothing else.

use super::catalog::Dataset;
use crate::bounds::Bounded;
use crate::pg::errors::Result;
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::state::is_read_only;
use crate::pg::values::bound::not_chosen;
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
    pub(crate) fn chosen_amount(&self, column: &str, name: Option<&str>) -> Result<AnyNumeric> {
        self.chosen(Bounded::Amounts, Some(column), name)
    }

    /// Keeps what the owner was served by that name, if another role has paid for it.
    pub(crate) fn keep_search(&self, name: &str) -> Result<()> {
        let sql = format!(
            "SELECT r.id, c.charged_by FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
              WHERE r.dataset = {} AND r.name = {} AND r.kept_at IS NULL \
                AND c.parameters -> 'kept' = 'false'",
            self.id,
            quote_literal(name)
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            let release: i64 = row.get(1).unwrap_or_default();
            found = Some((release, row.get::<String>(2).unwrap_or_default()));
            Ok(())
        })?;
        let Some((release, role)) = found else { return Ok(()) };
        let kept = if is_read_only() {
            None
        } else {
            execute(
                "UPDATE dp.release SET kept_at = clock_timestamp() WHERE id = $1 RETURNING id",
                &[release.into()],
                |row| row.get::<i64>(1),
            )?
        };
        let what = match kept {
            Some(_) => "'auto' means what it has chosen, once this transaction is committed",
            // not of one whose snapshot is from before it was stored, either
            None => "to keep it for 'auto', ask for it in another, READ WRITE transaction",
        };
        pgrx::notice!("role {role} paid for search \"{name}\": {what}");
        Ok(())
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
        chosen.ok_or_else(|| not_chosen(bounded.word(), &self.name, column))
    }
}
