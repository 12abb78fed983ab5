//! Notifications: who listens is told what was published.

use crate::pg::errors::internal;
use crate::pg::server::worker::Afterwards;
use pgrx::prelude::*;

/// Tells of those releases that everybody sees, in a transaction after the one that shows them: who
/// holds the lock for that, which all commits with a notification take, could let one fail that has
/// written everything.
pub(crate) fn tell(releases: Vec<i64>) -> Afterwards {
    Box::new(move || {
        // nobody relies on it, and other messages may come
        Spi::run("SET LOCAL synchronous_commit = off").map_err(internal)?;
        Spi::run("SET LOCAL lock_timeout = '1s'").map_err(internal)?;
        let sql = "SELECT dp.tell_published(r.id) FROM unnest($1) AS r (id)";
        Spi::run_with_args(sql, &[releases.into()]).map_err(internal)
    })
}
