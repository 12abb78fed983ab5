//! The budget ledger from the caller's side: what a release is charged to, and what comes of it.
//!
//! A charge is recorded by a worker in a transaction of its own, so that nothing the caller does
//! afterwards (rollback, cancel, crash) returns it: see `record`.

use super::message::{Answer, ChargeRequest, Refusal};
use super::record::WORKER;
use crate::charge::{self, Cost, Ledger};
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::locality::refuse_worker_node;
use crate::pg::server::roles::role_name;
use crate::pg::server::state::current_role;
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value};

/// To what a release is charged: the ledger of a dataset, with what its entry shows besides the
/// cost.
///
/// [`Dataset::account`](crate::pg::dataset::catalog::Dataset::account) makes it.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) dataset: i64,
    pub(crate) dataset_name: String,
    /// The role whose grant the current role uses; None for the owner.
    pub(crate) grantee: Option<Oid>,
    /// The SQL function that releases.
    pub(crate) function: &'static str,
    /// The name that the release is stored under.
    pub(crate) release: Option<String>,
    /// What the entry shows beside the mechanism.
    pub(crate) about: Map<String, Value>,
}

/// A receipt of the ledger: by it alone are private rows read.
pub(crate) type LedgerReceipt<M> = charge::Charged<M, Account>;

/// What the ledger's receipts alone open.
pub(crate) type SealedRows<T> = charge::Sealed<T, Account>;

impl Ledger for Account {
    /// The number of the ledger's entry.
    type Entry = i64;
    type Refusal = ErrorReport;

    /// Errors: less than the charge is left, or it is smaller than a role with a grant may ask for
    /// (nothing is spent then); the dataset or the grant is gone or not committed yet; the worker
    /// could not do it; nothing can be released here (see [`check_surroundings`]); another node of
    /// a cluster has the ledger.
    fn charge(&self, cost: &Cost) -> Result<i64> {
        check_surroundings()?;
        refuse_worker_node()?;
        let message = serde_json::to_vec(&self.request(cost)).map_err(internal)?;
        let answer = worker::ask(WORKER, self.dataset, &message)?;
        let answer: Answer = serde_json::from_slice(&answer).map_err(internal)?;
        answer.map_err(|refusal| self.refused(cost, refusal))
    }
}

impl Account {
    fn request(&self, cost: &Cost) -> ChargeRequest {
        let mut parameters = cost.mechanism.clone();
        for (key, value) in &self.about {
            parameters[key] = value.clone();
        }
        parameters["name"] = self.release.as_deref().into();
        ChargeRequest {
            dataset: self.dataset,
            grantee: self.grantee.map(|role| role.to_u32()),
            who: role_name(current_role()),
            function: self.function.to_string(),
            epsilon: cost.epsilon.decimal(),
            delta: cost.delta.to_string(),
            rho: cost.rho,
            parameters,
        }
    }

    /// Why the ledger did not charge.
    fn refused(&self, cost: &Cost, refusal: Refusal) -> ErrorReport {
        let (epsilon, name) = (cost.epsilon.decimal(), &self.dataset_name);
        let Cost { delta, rho, .. } = *cost;
        match refusal {
            Refusal::BudgetExceeded { left, .. } if delta == 0.0 => {
                self.exceeded("the budget of", &epsilon, &left)
            }
            Refusal::BudgetExceeded { left, delta_left } => error(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "epsilon {epsilon} with delta {delta} exceeds what is left of the budget of \
                     dataset \"{name}\": epsilon {left}, delta {delta_left}"
                ),
            )
            .set_hint(
                "Nothing was spent. Deltas add up to at most half of the dataset's delta_budget, \
                 or the zCDP bound at the other half has to fit: dp_budget shows both.",
            ),
            Refusal::LimitExceeded { left } => self.exceeded("your limit on", &epsilon, &left),
            Refusal::TooSmall { smallest, rho_alone: false } => invalid(
                format!(
                    "epsilon {epsilon} is below the smallest charge to dataset \"{name}\" by a \
                     role with a grant: {smallest}"
                ),
                "Nothing was spent. Ask with a larger epsilon; the dataset's owner can lower the \
                 bound with dp_set_smallest_charge.",
            ),
            Refusal::TooSmall { smallest, rho_alone: true } => invalid(
                format!(
                    "epsilon {epsilon}: its zCDP loss, rho {rho}, is below the smallest charge to \
                     dataset \"{name}\" by a role with a grant, {smallest} and the same share of \
                     what its delta_budget allows of rho"
                ),
                "Nothing was spent. Ask with a larger epsilon: up to some dozen times the smallest \
                 one may be needed. The dataset's owner can lower the bound with \
                 dp_set_smallest_charge.",
            ),
            Refusal::NoDataset => error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!(
                    "dataset \"{name}\" cannot be charged: it is not committed, or was dropped"
                ),
            )
            .set_hint("Commit dp_create_dataset before the first release."),
            Refusal::NoGrant => error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for dataset \"{name}\""),
            )
            .set_hint("The grant is not committed, or was revoked."),
        }
    }

    fn exceeded(&self, whose: &str, epsilon: &str, left: &str) -> ErrorReport {
        let name = &self.dataset_name;
        error(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!("epsilon {epsilon} exceeds what is left of {whose} dataset \"{name}\": {left}"),
        )
        .set_hint(
            "Nothing was spent. dp_budget shows the budget, dp.grants each role's limit, and to \
             the owner dp.ledger every charge.",
        )
    }
}
