//! What workers are for.

use std::ffi::CStr;

/// What workers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Ledger,
    Store,
}

impl Work {
    pub(super) const ALL: [Work; 2] = [Work::Ledger, Work::Store];

    /// What `pg_stat_activity` calls the worker.
    pub(super) fn name(self) -> &'static CStr {
        match self {
            Work::Ledger => c"pg_dp ledger",
            Work::Store => c"pg_dp store",
        }
    }
}
