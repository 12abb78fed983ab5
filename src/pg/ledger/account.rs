//! The budget ledger from the caller's side: what a release is charged to, and what comes of it.
//!
//! A charge is recorded by a worker in a transaction of its own, so that nothing the caller does
//! afterwards (rollback, cancel, crash) returns it: see `record`.

use super::message::{Answer, Charge, ChargeRequest, Left, Message, Refusal, Unresumable};
use super::promise::ATTEMPTS;
use super::quotes::{self, Quote};
use crate::charge::{self, Cost, Ledger};
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::locality::refuse_worker_node;
use crate::pg::server::locks::PrivateLock;
use crate::pg::server::roles::role_name;
use crate::pg::server::state::current_role;
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker::{Errand, Unanswered, Work, ask};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value};
use std::time::Duration;

pub(crate) use super::message::{ChargedPart, OpenPeriod, Promise};

pub(crate) const CHARGE: Errand =
    Errand { work: Work::Ledger, turn: PrivateLock::Charge, patience: Duration::from_secs(2) };

/// To what a release is charged: the ledger of a dataset, with what its entry shows besides the
/// cost.
///
/// [`Dataset::account`](crate::pg::dataset::catalog::Dataset::account) makes it.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) dataset: i64,
    pub(crate) dataset_name: String,
    /// The role whose grant the current role uses; None for the owner.
    pub(crate) grantee: Option<Oid>,
    /// The SQL function that releases.
    pub(crate) function: &'static str,
    /// For a release that is stored under a name.
    pub(crate) promise: Option<Promise>,
    /// What is charged, where it is not all of the data.
    pub(crate) part: Option<ChargedPart>,
    /// What the entry shows beside the mechanism.
    pub(crate) about: Map<String, Value>,
}

/// A charge that stands.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The number of the ledger's entry.
    pub(crate) id: i64,
    /// What to tell the caller once there is something to show for it, if it was charged now.
    pub(crate) notice: Option<String>,
}

/// A receipt of the ledger: by it alone are private rows read.
pub(crate) type LedgerReceipt<M> = charge::Charged<M, Account>;

/// What the ledger's receipts alone open.
pub(crate) type SealedRows<T> = charge::Sealed<T, Account>;

impl Ledger for Account {
    type Entry = Entry;
    type Refusal = ErrorReport;

    /// A name that is charged already, for the same mechanism and arguments, and not stored yet is
    /// not charged again: see [`promise`](super::promise).
    ///
    /// Errors: less than the charge is left, or it is smaller than a role with a grant may ask for
    /// (nothing is spent then); the dataset or the grant is gone or not committed yet; the worker
    /// could not do it; nothing can be released here (see [`check_surroundings`]); another node of
    /// a cluster has the ledger; the name is charged, and its release cannot be made any more.
    fn charge(&self, cost: &Cost) -> Result<Entry> {
        check_surroundings()?;
        refuse_worker_node()?;
        let request = self.request(cost);
        // what goes on costs nothing
        if !self.goes_on() && quotes::is_wanted() {
            return Err(self.quoted(cost, request));
        }
        let message = serde_json::to_vec(&Message::Charge(Box::new(request))).map_err(internal)?;
        let answer = ask(&CHARGE, self.dataset, &message).map_err(not_charged)?;
        let answer: Answer = serde_json::from_slice(&answer).map_err(internal)?;
        let Charge { id, left } = answer.map_err(|refusal| self.refused(cost, refusal))?;
        let notice = left.map(|left| self.notice(cost, &left));
        Ok(Entry { id, notice })
    }
}

/// Why a stream does not go on for a role that neither paid for it nor owns the dataset.
pub(crate) fn others_stream(dataset: &str, name: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("{} was charged to another role", stream_of(dataset, name)),
    )
    .set_hint(
        "That role or the dataset's owner make its ticks; dp.stream_ticks shows them to all, unless \
         they are a draft.",
    )
}

/// A stream, for messages.
fn stream_of(dataset: &str, name: &str) -> String {
    format!("stream \"{name}\" of dataset \"{dataset}\"")
}

/// Why the ledger's worker gave no answer.
pub(super) fn not_charged(reason: Unanswered) -> ErrorReport {
    match reason {
        Unanswered::Standby => error(
            PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "a standby server cannot charge a budget, so it cannot release",
        )
        .set_hint("Release on the primary; stored releases can be read here."),
        Unanswered::NoSlot => error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES,
            "no background worker is free to charge the budget, so nothing was released",
        )
        .set_hint("Nothing was spent. Raise max_worker_processes, or try again later."),
        Unanswered::Failed => error(
            PgSqlErrorCode::ERRCODE_IO_ERROR,
            "the charge could not be recorded, so nothing was released",
        )
        .set_hint(
            "The server's log says why the ledger's worker failed (a lock held by another \
             transaction for example). If it failed late, the charge may stand: see dp.ledger.",
        ),
        Unanswered::Broken(report) => *report,
    }
}

impl Account {
    fn request(&self, cost: &Cost) -> ChargeRequest {
        let mut parameters = cost.mechanism.clone();
        for (key, value) in &self.about {
            parameters[key] = value.clone();
        }
        if let Some(part) = &self.part {
            parameters["cells"] = part.entry();
        }
        parameters["name"] = self.promise.as_ref().map(|promise| promise.name.as_str()).into();
        ChargeRequest {
            dataset: self.dataset,
            grantee: self.grantee.map(|role| role.to_u32()),
            who: role_name(current_role()),
            function: self.function.to_string(),
            epsilon: cost.epsilon.decimal(),
            delta: cost.delta.to_string(),
            rho: cost.loss.rho(),
            may_fail: cost.loss.failure() > 0.0,
            part: self.part.clone(),
            parameters,
            promise: self.promise.clone(),
        }
    }

    /// Keeps what would be charged, and ends the release.
    fn quoted(&self, cost: &Cost, request: ChargeRequest) -> ErrorReport {
        let (account, dataset) = (self.clone(), self.dataset_name.clone());
        let refused = {
            let account = self.clone();
            Box::new(move |cost: &Cost, refusal| account.refused(cost, refusal))
        };
        let notice = Box::new(move |cost: &Cost, left: &Left| account.notice(cost, left));
        quotes::add(Quote { dataset, cost: cost.clone(), request, refused, notice });
        error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "the release was quoted, and neither charged nor made",
        )
        .set_hint("Ask again, outside of dp_publish.")
    }

    /// What was charged, and what is left.
    fn notice(&self, cost: &Cost, left: &Left) -> String {
        let delta =
            if cost.delta > 0.0 { format!(" (delta {})", cost.delta) } else { String::new() };
        let whose = if left.is_limit { "your limit of " } else { "" };
        let there = in_period(left.period.as_ref());
        let at_least = if left.is_least { "at least " } else { "" };
        format!(
            "charged epsilon {}{delta} to {}dataset \"{}\": {at_least}{} of {whose}{} left{there}",
            cost.epsilon.decimal(),
            self.of_part(),
            self.dataset_name,
            left.epsilon,
            left.of
        )
    }

    /// Why the ledger did not charge.
    fn refused(&self, cost: &Cost, refusal: Refusal) -> ErrorReport {
        let (epsilon, name) = (cost.epsilon.decimal(), &self.dataset_name);
        let (delta, rho) = (cost.delta, cost.loss.rho());
        match refusal {
            Refusal::BudgetExceeded { left, period, .. } if delta == 0.0 => {
                let whose = format!("the budget of {}", self.of_part());
                self.exceeded(&whose, &epsilon, &left, period.as_ref())
            }
            Refusal::BudgetExceeded { left, delta_left, period } => error(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "epsilon {epsilon} with delta {delta} exceeds what is left of the budget of \
                     {}dataset \"{name}\"{}: epsilon {left}, delta {delta_left}",
                    self.of_part(),
                    in_period(period.as_ref())
                ),
            )
            .set_hint(if period.is_some() {
                "Nothing was spent. What overlaps an opened period keeps its budgets, too: \
                 dp_budget_periods shows them, and of epsilon what is left."
            } else if cost.loss.failure() > 0.0 {
                "Nothing was spent. Deltas add up to at most half of the dataset's delta_budget, \
                 also where the zCDP bound has room: dp_budget shows what is left of epsilon."
            } else {
                "Nothing was spent. Deltas add up to at most half of the dataset's delta_budget, \
                 or the zCDP bound at the other half has to fit: dp_budget shows both."
            }),
            Refusal::LimitExceeded { left, period } => {
                self.exceeded("your limit on ", &epsilon, &left, period.as_ref())
            }
            Refusal::DeltaLimitExceeded { left } => error(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "delta {delta} exceeds what is left of your limit of delta on dataset \
                     \"{name}\": {left}"
                ),
            )
            .set_hint(
                "Nothing was spent. dp.grants shows each role's limits; many releases have a delta \
                 of 0.",
            ),
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
            Refusal::NoLimit => error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!(
                    "your grant on dataset \"{name}\" has no limit, so it is for releases of all \
                     the data"
                ),
            )
            .set_hint(
                "Nothing was spent. Parts of the data share a budget, so that it does not bound \
                 how many releases there are. Ask without within and period, or ask the dataset's \
                 owner for dp_grant(..., epsilon_limit => ...), or period_limit.",
            ),
            Refusal::NotOpened => error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!(
                    "your grant on dataset \"{name}\" has a limit in each opened period alone, and \
                     not all of {} lies in opened ones",
                    self.part.as_ref().map_or("the data", |part| &part.shown)
                ),
            )
            .set_hint(
                "Nothing was spent. dp_budget_periods shows which periods are opened: name one with \
                 period => '...', or ask the dataset's owner for dp_grant(..., epsilon_limit => ...).",
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
            Refusal::Stored => error(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                format!("{} was stored a moment ago", self.release()),
            )
            .set_hint("Nothing was spent. Ask again: it is served from what is stored."),
            Refusal::Unresumable(why) => self.unresumable(&why),
            Refusal::PartlyCharged => error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "delta: of the releases from dataset \"{name}\" some are charged already, and \
                     others are not"
                ),
            )
            .set_hint(
                "Nothing was spent. What is charged as one is settled as a whole: complete what is \
                 charged first, without the others, or leave delta out.",
            ),
        }
    }

    /// Whether it is the next part of what is charged and stored.
    fn goes_on(&self) -> bool {
        self.promise.as_ref().is_some_and(|promise| promise.goes_on)
    }

    /// Why a stream that was begun does not go on.
    fn stopped(&self, why: &Unresumable) -> ErrorReport {
        let name = self.promise.as_ref().map_or("", |promise| &promise.name);
        let stream = stream_of(&self.dataset_name, name);
        let (code, what, hint) = match why {
            Unresumable::Changed => (
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot go on: its next ticks would not be what was charged, since the extension \
                 or the dataset changed",
                "Nothing was told or spent. Begin another stream, which is charged anew.",
            ),
            Unresumable::Elsewhere => (
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "does not go on: the server was restored, promoted or copied since, and ticks that were \
                 told may be missing here",
                "Nothing was told or spent. If none is missing, its owner says so with \
                 dp_stream_confirm.",
            ),
            Unresumable::Attempts => (
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "was begun too often since ticks of it were stored",
                "Nothing was told or spent. When the dataset's owner has made the ticks that have \
                 ended, you can make the next.",
            ),
            Unresumable::OthersCharge => return others_stream(&self.dataset_name, name),
        };
        error(code, format!("{stream} {what}")).set_hint(hint)
    }

    fn unresumable(&self, why: &Unresumable) -> ErrorReport {
        if self.goes_on() {
            return self.stopped(why);
        }
        let why = match why {
            Unresumable::Changed => {
                "what it would measure now is not what was charged, since the extension or the \
                 dataset changed"
                    .to_string()
            }
            Unresumable::Elsewhere => {
                "the server was restored, promoted or copied since, and it may have been shown before"
                    .to_string()
            }
            Unresumable::Attempts => format!("it was begun {ATTEMPTS} times"),
            Unresumable::OthersCharge => {
                return error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("{} is charged to another role, and not stored yet", self.release()),
                )
                .set_hint(
                    "Nothing was spent. That role can ask for it again, or the dataset's owner unless \
                     it is a search; then it is served to all.",
                );
            }
        };
        error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("{} is charged, but cannot be made any more: {why}", self.release()),
        )
        .set_hint("Nothing was spent now. Choose another name, which is charged anew.")
    }

    /// The part that is charged, for messages, before the dataset.
    fn of_part(&self) -> String {
        self.part.as_ref().map_or(String::new(), |part| format!("{} of ", part.shown))
    }

    /// The release, for messages.
    fn release(&self) -> String {
        let name = self.promise.as_ref().map_or("", |promise| &promise.name);
        format!("release \"{name}\" of dataset \"{}\"", self.dataset_name)
    }

    fn exceeded(
        &self,
        whose: &str,
        epsilon: &str,
        left: &str,
        period: Option<&String>,
    ) -> ErrorReport {
        let name = &self.dataset_name;
        error(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!(
                "epsilon {epsilon} exceeds what is left of {whose}dataset \"{name}\"{}: {left}",
                in_period(period)
            ),
        )
        .set_hint(match self.part {
            _ if period.is_some() => {
                "Nothing was spent. What overlaps an opened period keeps its budget, too: \
                 dp_budget_periods shows what is left of each, and dp.grants each role's limits."
            }
            None => {
                "Nothing was spent. dp_budget shows the budget, dp.grants each role's limit, and \
                 to the owner dp.ledger every charge."
            }
            Some(_) => {
                "Nothing was spent. dp_budget_cells shows what is left of each part, dp.grants \
                 each role's limit, and to the owner dp.ledger every charge."
            }
        })
    }
}

/// For messages, after the dataset.
fn in_period(period: Option<&String>) -> String {
    period.map_or(String::new(), |period| format!(" in the opened period {period}"))
}
