//! Where a release cannot be made, whatever its arguments: what would let something besides the
//! released numbers tell of private rows. Found out before the charge.

use super::settings::stack_is_half_used;
use super::state::{
    database_is_utf8, is_in_recovery, is_read_only, is_serializable, old_snapshots_expire,
};
use crate::pg::errors::{Result, error};
use pgrx::prelude::*;

/// Errors: the transaction is READ ONLY or SERIALIZABLE; the database's encoding is not UTF8; the
/// server may drop rows that a snapshot still needs; little of the stack is left.
pub(crate) fn check_surroundings() -> Result<()> {
    let refused = |message: &str, hint: &str| {
        Err(error(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message).set_hint(hint))
    };
    // that it writes nothing is what its caller relies on; what is stored was served before
    // (a standby, where all are READ ONLY, has an error of its own)
    if is_read_only() && !is_in_recovery() {
        return Err(error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a READ ONLY transaction cannot spend, so it cannot release",
        )
        .set_hint(
            "Nothing was spent. Use BEGIN READ WRITE; a named release that is stored is served \
             here, too.",
        ));
    }
    // what it reads would be locked, and whether a later statement fails to serialize would tell
    // whether somebody wrote there meanwhile
    if is_serializable() {
        return refused(
            "a SERIALIZABLE transaction cannot release: its conflicts would tell of private rows",
            "Nothing was spent. Use BEGIN ISOLATION LEVEL READ COMMITTED, or REPEATABLE READ.",
        );
    }
    // a name that has no place in UTF8, or comes back as another, would be an error after the
    // charge
    if !database_is_utf8() {
        return refused(
            "pg_dp needs a database with the encoding UTF8",
            "Nothing was spent. CREATE DATABASE ... ENCODING 'UTF8' makes one.",
        );
    }
    // some values are compared and printed by recursion, whose depth a caller could make an error
    if stack_is_half_used() {
        return Err(error(
            PgSqlErrorCode::ERRCODE_STATEMENT_TOO_COMPLEX,
            "a release needs half of the stack, which is used",
        )
        .set_hint("Nothing was spent. Call it from fewer functions within each other."));
    }
    // "snapshot too old" would tell that rows were changed since the release began
    if old_snapshots_expire() {
        return refused(
            "old_snapshot_threshold is set: errors of a release would tell of changes to private \
             rows",
            "Nothing was spent. The administrator can set it to -1, its default.",
        );
    }
    Ok(())
}
