//! What a session and the ledger's worker say to each other.

use crate::privacy::{Period, Rule, Scope};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the worker is asked.
#[derive(Serialize, Deserialize)]
pub(super) enum Message {
    /// Answered with an [`Answer`].
    Charge(Box<ChargeRequest>),
    /// Answered with a [`PublishAnswer`].
    Publish(PublishRequest),
    /// Answered with a [`DeedAnswer`].
    Raise(Deed),
    /// The same.
    Open(Opening),
    /// To show a publication, all of whose releases are stored. Answered with whether it is shown.
    Show { publication: String, who: u32 },
}

/// By which an owner adds to a budget: an entry of the ledger, which charges nothing. Decimals, as in
/// a [`ChargeRequest`].
#[derive(Serialize, Deserialize)]
pub(super) struct Deed {
    pub(super) dataset: i64,
    pub(super) who: String,
    pub(super) reason: String,
    pub(super) epsilon: String,
    pub(super) delta: String,
    /// Of which the budget is, None for the dataset's.
    pub(super) period: Option<OpenPeriod>,
}

/// By which an owner gives a period a budget of its own, None for the dataset's: an entry, too.
#[derive(Serialize, Deserialize)]
pub(super) struct Opening {
    pub(super) dataset: i64,
    pub(super) who: String,
    pub(super) period: OpenPeriod,
    pub(super) epsilon: Option<String>,
    pub(super) delta: Option<String>,
}

/// A period to be opened, or that is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenPeriod {
    /// As PostgreSQL stores the column's values.
    pub(crate) lower: Option<i64>,
    pub(crate) upper: Option<i64>,
    pub(crate) text: String,
}

/// The budget that the dataset or the period has now, in words, or why nothing was done.
pub(super) type DeedAnswer = Result<String, DeedRefusal>;

#[derive(Serialize, Deserialize)]
pub(super) enum DeedRefusal {
    /// The dataset is not there, or its budget would be none.
    NotDone,
    /// With that period, which is opened.
    Overlaps(String),
    NoPeriod,
    /// Of what, and the dataset's.
    AboveDataset(String, String),
    /// What a cell of it was charged.
    Spent(String),
    /// The period has the dataset's.
    IsDatasets,
}

/// Releases that are charged together, or none of them, and shown together.
#[derive(Serialize, Deserialize)]
pub(super) struct PublishRequest {
    pub(super) publication: String,
    pub(super) who: u32,
    /// By dataset and name; those without a charge are stored.
    pub(super) releases: Vec<(String, String)>,
    /// All that was asked for.
    pub(super) asked_for: String,
    pub(super) charges: Vec<ChargeRequest>,
    /// Those of `charges` that are charged as one.
    pub(super) plans: Vec<PlanRequest>,
    /// Charges nothing, and tells what would be refused.
    pub(super) is_trial: bool,
}

/// Releases that were all settled before the first of them is looked at, of one part of one dataset.
#[derive(Serialize, Deserialize)]
pub(super) struct PlanRequest {
    /// Which of the publication's charges.
    pub(super) members: Vec<usize>,
    /// What they come to together.
    pub(super) charge: ChargeRequest,
}

/// A charge on its way to the worker. Amounts of epsilon and delta are decimals: they add up as
/// users see them, ten times 0.1 being 1; mechanisms are calibrated to stay within the decimal.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ChargeRequest {
    pub(super) dataset: i64,
    /// The role that a grant allows to release, unless the owner releases.
    pub(super) grantee: Option<u32>,
    pub(super) who: String,
    pub(super) function: String,
    pub(super) epsilon: String,
    pub(super) delta: String,
    pub(super) rho: f64,
    /// Whether with a probability of delta it tells all, so that no view does without that delta.
    pub(super) may_fail: bool,
    /// What is charged, where it is not all of the data.
    pub(super) part: Option<ChargedPart>,
    pub(super) parameters: serde_json::Value,
    /// For a release with a name.
    pub(super) promise: Option<Promise>,
}

impl ChargeRequest {
    /// The zCDP loss as a decimal that is not below it: the shortest decimal of an f64 may be, by
    /// less than the next f64 lies above.
    pub(super) fn rho_decimal(&self) -> String {
        if self.rho == 0.0 { "0".to_string() } else { self.rho.next_up().to_string() }
    }
}

/// A part of the data that is charged by itself: see [`scopes`](crate::privacy::Scopes).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChargedPart {
    pub(crate) within: Vec<String>,
    /// As PostgreSQL stores the column's values.
    pub(crate) lower: Option<i64>,
    pub(crate) upper: Option<i64>,
    /// As text; None for all periods.
    pub(crate) period: Option<String>,
    pub(crate) tables: String,
    /// None where it is of all regions.
    pub(crate) regions: Option<String>,
    /// For messages.
    pub(crate) shown: String,
}

impl ChargedPart {
    pub(super) fn scope(&self) -> Scope {
        let period = Period { lower: self.lower, upper: self.upper };
        Scope { within: self.within.clone(), period }
    }

    pub(super) fn rule(&self) -> Rule {
        Rule { tables: self.tables.clone(), regions: self.regions.clone() }
    }

    /// What the ledger's entry says of it besides its region and period.
    pub(super) fn entry(&self) -> serde_json::Value {
        json!({
            "tables": self.tables, "regions": self.regions,
            "lower": self.lower, "upper": self.upper,
        })
    }
}

/// What became of a publication's charges.
#[derive(Serialize, Deserialize)]
pub(super) enum PublishAnswer {
    Charges {
        /// For each charge what it came to: all stand, unless one is refused or it is a trial.
        answers: Vec<Answer>,
        /// Of a trial, what is left now for each of them.
        left: Vec<Option<Left>>,
    },
    /// The role has another publication of that name.
    OtherPublication,
    /// Somebody has locked what would have to be waited for.
    Busy,
}

/// The name that a release is stored under, and what is asked for by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Promise {
    pub(crate) name: String,
    pub(crate) parameters: serde_json::Value,
    /// Whether it is stored, and the next ticks of a stream are asked for.
    pub(crate) goes_on: bool,
}

/// The ledger's entry, or why there is none.
pub(super) type Answer = Result<Charge, Refusal>;

#[derive(Serialize, Deserialize)]
pub(super) struct Charge {
    /// The number of the entry.
    pub(super) id: i64,
    /// None where the charge of before stands.
    pub(super) left: Option<Left>,
}

/// How much a role may still spend, in decimals.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Left {
    pub(super) epsilon: String,
    /// Of so much.
    pub(super) of: String,
    /// Of the role's own limit, which leaves less than the dataset's budget.
    pub(super) is_limit: bool,
    /// In that opened period.
    pub(super) period: Option<String>,
    /// It may be more.
    pub(super) is_least: bool,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Refusal {
    BudgetExceeded {
        left: String,
        delta_left: String,
        /// Of an opened period's budget.
        period: Option<String>,
    },
    LimitExceeded {
        left: String,
        /// Of the limit in each opened period.
        period: Option<String>,
    },
    DeltaLimitExceeded {
        left: String,
    },
    TooSmall {
        smallest: String,
        rho_alone: bool,
    },
    /// A role without a limit of its own asks for a part of the data.
    NoLimit,
    /// A role with a limit in each opened period alone asks for what lies in none.
    NotOpened,
    NoDataset,
    NoGrant,
    /// The release of that name is stored.
    Stored,
    /// Some of a plan are charged already, and others are not.
    PartlyCharged,
    Unresumable(Unresumable),
}

/// Why the release of a name that is charged cannot be made any more.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Unresumable {
    /// Another mechanism was charged than would be carried out now.
    Changed,
    /// The charge is from before this server was restored, promoted or copied.
    Elsewhere,
    /// It was begun too often.
    Attempts,
    /// It was charged to another role, and a role with a grant asks.
    OthersCharge,
}
