//! Whether what a release reads and charges lies on this server.
//!
//! Tables that other servers hold a part of are read by plans, and fail with errors, of these; what
//! reading a table of another access method does is known to that method alone; and the ledger of
//! another node of a cluster is another ledger. All of that is refused. Citus is found by its
//! catalog, at run time, so that nothing depends on it.

use super::relations::{Described, has_row, in_pg_catalog};
use crate::pg::errors::{Result, error};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

/// Refuses a table that does not lie on this server in PostgreSQL's own storage; for each of its
/// partitions and children, too, which the caller has locked as well.
pub(crate) fn refuse_elsewhere(oid: Oid, table: &Described, argument: &str) -> Result<()> {
    let Described { kind, access_method, name, .. } = table;
    let refuse = |reason: &str, hint: &str| {
        let message = format!("{argument}: {name} {reason}");
        Err(error(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, message).set_hint(hint))
    };
    // a partitioned table has no rows of its own; its access method is that of new partitions
    if *kind != pg_sys::RELKIND_PARTITIONED_TABLE && *access_method != pg_sys::HEAP_TABLE_AM_OID {
        return refuse(
            "has another access method than heap, so that it is not known what reading it does",
            "ALTER TABLE ... SET ACCESS METHOD heap gives a table PostgreSQL's own storage.",
        );
    }
    // tables that lie here alone, but are in its metadata, are planned by Citus, too
    if is_of_citus(oid) {
        return refuse(
            "is a table of Citus, so that other servers could read it and show rows in errors",
            "The exact histogram of each region can be counted into a plain local table: \
             dp_create_dataset(..., leaves => ...) and dp_count_leaves.",
        );
    }
    Ok(())
}

/// Whether Citus holds a table, or knows it.
pub(crate) fn is_of_citus(oid: Oid) -> bool {
    CitusTable::Partition.has(pg_sys::Datum::from(oid)) == Some(true)
}

/// Refuses to charge on a node of a Citus cluster that is not its coordinator: calls that are
/// pushed down to the nodes would spend from as many ledgers.
pub(crate) fn refuse_worker_node() -> Result<()> {
    const COORDINATOR: i32 = 0;
    if CitusTable::LocalGroup.has(pg_sys::Datum::from(COORDINATOR)) != Some(false) {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "a worker node of a Citus cluster cannot charge a budget, so it cannot release",
    )
    .set_hint(
        "Nothing was spent. Release on the coordinator, and there not for each row of a \
         distributed table: such calls go to the workers.",
    ))
}

/// A table of Citus's catalog, by its first column.
enum CitusTable {
    /// The tables that Citus knows: distributed, reference, and local ones.
    Partition,
    /// The one group of nodes that this one belongs to.
    LocalGroup,
}

impl CitusTable {
    /// Whether some row has the value now, whatever the transaction's snapshot; None without Citus.
    ///
    /// Reads by itself, without a plan, since plans are what Citus changes.
    fn has(self, value: pg_sys::Datum) -> Option<bool> {
        let (table, index, equality) = match self {
            CitusTable::Partition => {
                (c"pg_dist_partition", c"pg_dist_partition_logical_relid_index", pg_sys::F_OIDEQ)
            }
            CitusTable::LocalGroup => {
                (c"pg_dist_local_group", c"pg_dist_local_group_pkey", pg_sys::F_INT4EQ)
            }
        };
        let table = in_pg_catalog(table)?;
        // SAFETY: the first columns of Citus's two tables are of the types that these functions
        // compare, and so are the values.
        Some(unsafe { has_row(table, in_pg_catalog(index), equality, value) })
    }
}
