//! What a session and the ledger's worker say to each other.

use serde::{Deserialize, Serialize};

/// A charge on its way to the worker. Amounts of epsilon and delta are decimals: they add up as
/// users see them, ten times 0.1 being 1; mechanisms are calibrated to stay within the decimal.
#[derive(Serialize, Deserialize)]
pub(super) struct ChargeRequest {
    pub(super) dataset: i64,
    /// The role that a grant allows to release, unless the owner releases.
    pub(super) grantee: Option<u32>,
    pub(super) who: String,
    pub(super) function: String,
    pub(super) epsilon: String,
    pub(super) delta: String,
    pub(super) rho: f64,
    pub(super) parameters: serde_json::Value,
}

/// The number of the ledger's entry, or why there is none.
pub(super) type Answer = Result<i64, Refusal>;

#[derive(Serialize, Deserialize)]
pub(super) enum Refusal {
    BudgetExceeded { left: String, delta_left: String },
    LimitExceeded { left: String },
    TooSmall { smallest: String, rho_alone: bool },
    NoDataset,
    NoGrant,
}
