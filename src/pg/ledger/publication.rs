//! Publications, from the session's side: what its releases would be charged is [quoted](super::quotes)
//! first, then all of it is charged at once.

use super::account::{CHARGE, not_charged};
use super::message::{Answer, Charge, Left, Message, PublishAnswer, PublishRequest, Refusal};
use super::plan::{self, Plan, plans};
use super::quotes::{self, Quote};
use crate::charge::Cost;
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::catalog::in_catalog;
use crate::pg::server::locks::sleep_a_moment;
use crate::pg::server::roles::role_name;
use crate::pg::server::state::current_role;
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker::ask;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Those whose releases can be published: they count rows themselves, and are whole once they are stored.
const FUNCTIONS: [&str; 7] = [
    "dp_hierarchy_release",
    "dp_range_sums",
    "dp_region_range_sums",
    "dp_region_range_release",
    "dp_rectangle_sums",
    "dp_find_regions",
    "dp_find_bound",
];

/// Error: what that function releases cannot be published.
pub(crate) fn check_function(function: &str) -> Result<()> {
    if FUNCTIONS.contains(&function) {
        return Ok(());
    }
    Err(invalid(
        format!("releases: function \"{function}\" cannot be published"),
        format!(
            "One of {}. What the caller counts the caller has to release.",
            FUNCTIONS.join(", ")
        ),
    ))
}

/// What is asked of a publication.
pub(crate) struct Publication {
    name: String,
    /// As it was asked for.
    asked_for: String,
    /// By dataset and name.
    releases: Vec<(String, String)>,
}

/// Forgets what the statement has quoted so far.
pub(crate) fn start() {
    quotes::start();
}

/// Has the statement's next release quoted in place of made, or not. Returns how many were.
pub(crate) fn quote_next(is_next: bool) -> usize {
    quotes::quote_next(is_next)
}

/// Whether the statement's next release is to be quoted.
pub(crate) fn is_quoting() -> bool {
    quotes::is_next()
}

/// What the releases cost that the statement has quoted. From here on its charges are made.
pub(crate) fn quoted() -> Vec<Cost> {
    quotes::take().into_iter().map(|quote| quote.cost).collect()
}

/// What a quoted release would be charged, and what stands against it.
pub(crate) struct Tried {
    pub(crate) epsilon: String,
    pub(crate) problem: Option<ErrorReport>,
    /// Of epsilon, before any of them is charged.
    pub(crate) left: Option<String>,
}

impl Publication {
    /// Errors: it is no list of some objects with a dataset; there are too many.
    pub(crate) fn new(name: &str, releases: &Value) -> Result<Publication> {
        let listed = releases.as_array().map_or(&[][..], Vec::as_slice);
        if listed.len() > MOST_RELEASES {
            return Err(error(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "releases: at most {MOST_RELEASES} can be published together, got {}",
                    listed.len()
                ),
            )
            .set_hint("Nothing was spent. Publish them in parts."));
        }
        let named = listed.iter().map(|release| {
            let text = |key: &str| match release.get(key) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            Some((text("dataset")?, text("name").unwrap_or_else(|| name.to_string())))
        });
        let named = named
            .collect::<Option<Vec<_>>>()
            .filter(|named| !named.is_empty())
            .ok_or_else(|| unfit("each must be an object with a dataset"))?;
        Ok(Publication { name: name.to_string(), asked_for: releases.to_string(), releases: named })
    }

    pub(crate) fn datasets(&self) -> impl Iterator<Item = &str> {
        self.releases.iter().map(|(dataset, _)| dataset.as_str())
    }

    /// Charges what was quoted, all together, with a `delta` [as one](super::plan). What is charged
    /// already, under the same name for the same release, is not charged again. Returns what to tell
    /// the caller of it.
    ///
    /// Errors: those of a charge, for the first release that is refused: then nothing is charged.
    pub(crate) fn charge_all(self, delta: Option<f64>) -> Result<Vec<String>> {
        let (mut notices, mut is_planned) = (Vec::new(), false);
        for answered in self.ask(delta, false)? {
            is_planned |= answered.is_planned;
            let Answered { quote, cost, is_told, .. } = &answered;
            let charge = answered.answer.as_ref().map_err(|refusal| answered.refused(refusal))?;
            if !is_told {
                notices.extend(charge.left.as_ref().map(|left| (quote.notice)(cost, left)));
            }
        }
        if delta.is_some() && !is_planned && !notices.is_empty() {
            let hardly =
                "the publication's delta is not spent: as one the releases would cost hardly less";
            notices.push(hardly.to_string());
        }
        Ok(notices)
    }

    /// Tells what [`charge_all`](Publication::charge_all) would do.
    pub(crate) fn try_charge(self, delta: Option<f64>) -> Result<Vec<Tried>> {
        let tried = self.ask(delta, true)?.into_iter().map(|answered| {
            let is_free =
                answered.is_told || matches!(answered.answer, Ok(Charge { left: None, .. }));
            let epsilon = if is_free { "0".to_string() } else { answered.cost.epsilon.decimal() };
            let refusal = answered.answer.as_ref().err();
            let problem = refusal.map(|refusal| answered.refused(refusal));
            Tried { epsilon, problem, left: answered.left.map(|left| left.epsilon) }
        });
        Ok(tried.collect())
    }

    fn ask(self, delta: Option<f64>, is_trial: bool) -> Result<Vec<Answered>> {
        check_surroundings()?;
        let quotes = quotes::take();
        self.check(&quotes, is_trial)?;
        let plans = delta.map_or(Vec::new(), |delta| plans(&quotes, delta));
        let message = Message::Publish(PublishRequest {
            publication: self.name.clone(),
            who: current_role().to_u32(),
            releases: self.releases,
            asked_for: self.asked_for,
            charges: quotes.iter().map(|quote| quote.request.clone()).collect(),
            plans: plans.iter().filter_map(|plan| plan.request(&quotes, &self.name)).collect(),
            is_trial,
        });
        let message = serde_json::to_vec(&message).map_err(internal)?;
        if message.len() > LONGEST {
            return Err(error(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!("releases: they ask for too much together, {} bytes", message.len()),
            )
            .set_hint("Nothing was spent. Publish them in parts."));
        }
        let begin = Instant::now();
        loop {
            match ask_worker(&message)? {
                PublishAnswer::Charges { answers, left } => {
                    return Ok(answered(quotes, &plans, answers, left));
                }
                PublishAnswer::OtherPublication => {
                    return Err(error(
                        PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
                        format!(
                            "name: you have another publication \"{}\" of other releases",
                            self.name
                        ),
                    )
                    .set_hint(
                        "Nothing was spent. dp.publications shows it. Choose another name.",
                    ));
                }
                PublishAnswer::Busy if begin.elapsed() > PATIENCE => {
                    return Err(error(
                        PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
                        "a dataset or grant of the publication is locked by another transaction",
                    )
                    .set_hint("Nothing was spent. Try again when that has ended."));
                }
                PublishAnswer::Busy => sleep_a_moment(),
            }
        }
    }

    /// Each of the releases is quoted, or stored and the role's to publish, unless it is a trial;
    /// nothing else is quoted, and nothing twice.
    fn check(&self, quotes: &[Quote], is_trial: bool) -> Result<()> {
        let releases = || self.releases.iter().map(|(dataset, name)| (&**dataset, &**name));
        let quoted: BTreeSet<(&str, &str)> = quotes.iter().filter_map(Quote::release).collect();
        if quoted.len() < quotes.len() {
            return Err(unfit("each must have a name of its own"));
        }
        // anybody may have quoted, by any function that charges
        for quote in quotes {
            check_function(&quote.request.function)?;
        }
        // what it chooses is what the others would be made with, and were not charged for
        let needed = |search: &Quote| {
            quotes.iter().any(|other| !std::ptr::eq(other, search) && search.chooses_for(other))
        };
        if let Some(search) = quotes.iter().find(|quote| needed(quote)) {
            return Err(invalid(
                format!(
                    "releases: the bound of dataset \"{}\" has to be chosen before what uses it is \
                     charged",
                    search.dataset
                ),
                "Nothing was spent. Publish the search by itself, then the others.",
            ));
        }
        for (dataset, name) in &quoted {
            if !releases().any(|release| release == (*dataset, *name)) {
                return Err(unfit(format!("\"{name}\" of dataset \"{dataset}\" is not listed")));
            }
        }
        for (dataset, name) in releases().filter(|release| !is_trial && !quoted.contains(release)) {
            if !is_stored(dataset, name)? {
                return Err(unfit(format!("\"{name}\" of dataset \"{dataset}\" is not stored")));
            }
        }
        Ok(())
    }
}

/// What became of a quote.
struct Answered {
    quote: Quote,
    /// What is charged: of a plan that of all its releases.
    cost: Cost,
    is_planned: bool,
    /// It is charged with an earlier one.
    is_told: bool,
    answer: Answer,
    /// What was left before, if it was tried.
    left: Option<Left>,
}

impl Answered {
    /// Why it was not charged.
    fn refused(&self, refusal: &Refusal) -> ErrorReport {
        let hint = self.is_planned.then(|| plan::hint(&self.cost, refusal)).flatten();
        let report = (self.quote.refused)(&self.cost, refusal.clone());
        match hint {
            Some(hint) => report.set_hint(hint),
            None => report,
        }
    }
}

fn answered(
    quotes: Vec<Quote>,
    plans: &[Plan],
    answers: Vec<Answer>,
    left: Vec<Option<Left>>,
) -> Vec<Answered> {
    let left = left.into_iter().chain(std::iter::repeat_with(|| None));
    let each = quotes.into_iter().zip(answers).zip(left).enumerate();
    each.map(|(n, ((quote, answer), left))| {
        let plan = plans.iter().find(|plan| plan.members.contains(&n));
        let cost = match (plan, &answer) {
            (None, _) => &quote.cost,
            // no release of a plan may be too small
            (Some(plan), Err(Refusal::TooSmall { .. })) => &plan.least,
            (Some(plan), _) => &plan.cost,
        };
        let cost = cost.clone();
        let is_told = plan.is_some_and(|plan| plan.members.first() != Some(&n));
        Answered { quote, cost, is_planned: plan.is_some(), is_told, answer, left }
    })
    .collect()
}

fn unfit(what: impl Display) -> ErrorReport {
    invalid(format!("releases: {what}"), "Nothing was spent. Use dp_publish.")
}

/// How long to wait for what another transaction has locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// While they are charged, all other charges wait.
const MOST_RELEASES: usize = 100;

/// Of what is asked, in bytes: some 100,000 ranges.
const LONGEST: usize = 1 << 24;

/// Whether there is such a release, which everybody sees, or the current role may show.
fn is_stored(dataset: &str, name: &str) -> Result<bool> {
    let who = current_role();
    let sql = format!(
        "SELECT FROM dp.release AS r JOIN dp.charge AS c ON c.id = r.charge \
           JOIN dp.dataset AS d ON d.id = r.dataset \
          WHERE (r.dataset_name, r.name) = ({}, {}) AND r.released_at IS NOT NULL \
            AND (r.status = 'published' \
                 OR r.status = 'draft' AND (c.charged_by = {} OR pg_catalog.pg_has_role( \
                     {who}::oid, dp.role(d.owner, d.owner_name), 'USAGE')))",
        quote_literal(dataset),
        quote_literal(name),
        quote_literal(role_name(who)),
        who = who.to_u32(),
    );
    in_catalog(&sql)
}

/// Whether the current role has begun a publication of that name.
pub(crate) fn is_begun(publication: &str) -> Result<bool> {
    let sql = format!(
        "SELECT FROM dp.publication WHERE name = {} AND dp.role(made_by, made_by_name) = {}",
        quote_literal(publication),
        current_role().to_u32()
    );
    in_catalog(&sql)
}

/// Shows a publication of the current role, if all of it is stored.
pub(crate) fn show(publication: &str) -> Result<bool> {
    check_surroundings()?;
    let publication = publication.to_string();
    let message = Message::Show { publication, who: current_role().to_u32() };
    ask_worker(&serde_json::to_vec(&message).map_err(internal)?)
}

fn ask_worker<T: DeserializeOwned>(message: &[u8]) -> Result<T> {
    // publications of one role wait for each other; no dataset has a negative number
    let whose = !i64::from(current_role().to_u32());
    let answer = ask(&CHARGE, whose, message).map_err(not_charged)?;
    serde_json::from_slice(&answer).map_err(internal)
}
