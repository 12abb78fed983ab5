//! Whether two relations hold the same rows. The SQL function `dp.tables_behind` tells from where a
//! relation has its rows.

use super::relation::Relation;
use crate::pg::errors::{Result, error};
use crate::pg::server::select::{as_of_now, read_rows};
use pgrx::prelude::*;

/// Refuses a table of groups that shares rows with the private table: how many rows it has in each
/// region is public, so released as it is.
///
/// Both are open. Looks at what is so now, as the reading will, whatever the caller's snapshot.
pub(crate) fn check_apart(entities: &Relation, groups: &Relation) -> Result<()> {
    if entities.is_plain && groups.is_plain && entities.oid != groups.oid {
        return Ok(()); // the usual case, without a query
    }
    let sql = format!(
        "SELECT shared::regclass::text FROM dp.tables_behind({}) AS shared \
          WHERE shared IN (SELECT dp.tables_behind({})) ORDER BY 1 LIMIT 1",
        entities.oid.to_u32(),
        groups.oid.to_u32()
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
            "groups: {} shares rows with the private table {}: both read {shared}",
            groups.name, entities.name
        ),
    )
    .set_hint(
        "The table of groups is public, and how many of its rows each region has is released \
         exactly. Make a table of its own for what may be known of the groups.",
    ))
}
