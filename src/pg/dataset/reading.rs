//! What a release reads of a dataset.

use crate::pg::errors::Failure;
use crate::pg::ledger::account::LedgerReceipt;

/// The reading of a dataset's private rows, planned before the charge and carried out after it.
pub(crate) trait Reading {
    type Truth;

    /// What was counted. Confidential.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> Result<Self::Truth, Failure>;
}
