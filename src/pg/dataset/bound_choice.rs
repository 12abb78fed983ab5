//! What `'auto'` means: the bound that `dp_find_bound` chose last, for the dataset's owner and under a
//! name.
//!
//! What is asked for as `'auto'` by a name under which `'auto'` was asked for means what it meant then: a
//! later search changes nothing of a release that is stored, or charged and still to be made. Where a
//! number was asked for under the name it is another release.
//!
//! A search that a role with a grant paid for is the owner's from when the owner asks for it: whoever pays
//! first under a name decides when the rows were read, and how many of a unit. So the owner is told who
//! that was, when, and what was chosen.

use super::catalog::Dataset;
use crate::bounds::Bounded;
use crate::pg::errors::{Result, error};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::state::is_read_only;
use crate::pg::values::bound::{AUTO, not_chosen};
use pgrx::AnyNumeric;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

/// One that another role has paid for.
struct OthersSearch {
    release: i64,
    role: String,
    chosen: String,
    made: String,
}

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

    /// The search of that name, if another role has paid for it and the owner has not kept it.
    fn others_search(&self, name: &str) -> Result<Option<OthersSearch>> {
        let sql = format!(
            "SELECT r.id, c.charged_by, b.candidate::text, \
                    pg_catalog.date_trunc('second', r.released_at)::text \
               FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
               JOIN dp.release_bound AS b ON b.release = r.id AND b.chosen \
              WHERE r.dataset = {} AND r.name = {} AND r.kept_at IS NULL \
                AND c.parameters -> 'kept' = 'false'",
            self.id,
            quote_literal(name)
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            let text = |column| row.get::<String>(column).unwrap_or_default();
            let release = row.get(1).unwrap_or_default();
            found = Some(OthersSearch { release, role: text(2), chosen: text(3), made: text(4) });
            Ok(())
        })?;
        Ok(found)
    }

    /// Error: the search of that name would be kept by what is asked for, which only asks for a price.
    pub(crate) fn check_kept(&self, name: &str) -> Result<()> {
        let Some(OthersSearch { role, .. }) = self.others_search(name)? else { return Ok(()) };
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "releases: role {role} paid for search \"{name}\", which is not kept for 'auto'"
            ),
        )
        .set_hint(
            "Nothing was spent. Ask for it by itself first, with the same arguments, which costs \
             nothing and keeps it; or search under another name.",
        ))
    }

    /// Keeps what the owner was served by that name, if another role has paid for it.
    pub(crate) fn keep_search(&self, name: &str) -> Result<()> {
        let Some(search) = self.others_search(name)? else { return Ok(()) };
        let OthersSearch { release, role, chosen, made } = search;
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
            Some(_) => "'auto' means that, once this transaction is committed",
            // not of one whose snapshot is from before it was stored, either
            None => "to keep that for 'auto', ask for it in another, READ WRITE transaction",
        };
        error(
            PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            format!("role {role} paid for search \"{name}\", which chose {chosen}: {what}"),
        )
        .set_detail(format!("It was made at {made}."))
        .report(PgLogLevel::NOTICE);
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
                                 AND r.parameters ->> '{AUTO}' = {word} \
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
