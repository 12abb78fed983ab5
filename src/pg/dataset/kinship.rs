//! Whether two relations hold the same rows. The SQL function `dp.tables_behind` tells from where a
//! relation has its rows.

use super::relation::Relation;
use crate::pg::errors::{Result, error};
use crate::pg::server::select::{as_of_now, read_rows};
use pgrx::prelude::*;

/// Refuses a table of groups or of regions that shares rows with a private table: of a public one all
/// is told, and in a private one a row more or less must be none in the other.
///
/// Both are open. `argument`: that of the other table. Looks at what is so now, as the reading will,
/// whatever the caller's snapshot.
pub(crate) fn check_apart(private: &Relation, other: &Relation, argument: &str) -> Result<()> {
    if private.is_plain && other.is_plain && private.oid != other.oid {
        return Ok(()); // the usual case, without a query
    }
    let sql = format!(
        "SELECT shared::regclass::text FROM dp.tables_behind({}) AS shared \
          WHERE shared IN (SELECT dp.tables_behind({})) ORDER BY 1 LIMIT 1",
        private.oid.to_u32(),
        other.oid.to_u32()
    );
    let mut shared: Option<String> = None;
    as_of_now(|| {
        read_rows(&sql, |row| {
            shared = row.get(1);
            Ok(())
        })
    })?;
    let Some(shared) = shared else { return Ok(()) };
    Err(error(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!(
            "{argument}: {} shares rows with the private table {}: both read {shared}",
            other.name, private.name
        ),
    )
    .set_hint(if argument == "regions" {
        "The table of regions is public. Make a table of its own of which regions there are."
    } else {
        "The table of groups is public, unless declared otherwise, and how many of its rows each \
         region has is released exactly. Make a table of its own for what may be known of the groups."
    }))
}
