//! Publications, from the session's side: what its releases would be charged is [quoted](super::quotes)
//! first, then all of it is charged at once.

use super::account::{CHARGE, not_charged};
use super::message::{Answer, Charge, Message, PublishRequest};
use super::quotes::{self, Quote};
use crate::pg::errors::{Result, error, internal};
use crate::pg::server::state::current_role;
use crate::pg::server::worker::ask;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What is asked of a publication.
pub(crate) struct Publication<'a> {
    pub(crate) name: &'a str,
    /// As they were asked for.
    pub(crate) releases: Value,
}

/// Forgets what the statement has quoted so far.
pub(crate) fn start() {
    quotes::start();
}

/// Has the statement's next release quoted in place of made, or not. Returns how many were.
pub(crate) fn quote_next(is_next: bool) -> usize {
    quotes::quote_next(is_next)
}

/// What a quoted release would be charged, and what stands against it.
pub(crate) struct Tried {
    pub(crate) epsilon: String,
    pub(crate) problem: Option<ErrorReport>,
}

impl Publication<'_> {
    /// Charges what was quoted, all together. What is charged already, under the same name for the
    /// same release, is not charged again. Returns what to tell the caller of it.
    ///
    /// Errors: those of a charge, for the first release that is refused: then nothing is charged.
    pub(crate) fn charge_all(self) -> Result<Vec<String>> {
        let (quotes, answers) = self.ask(false)?;
        let mut notices = Vec::new();
        for (quote, answer) in quotes.iter().zip(answers) {
            let charge = answer.map_err(&quote.refused)?;
            notices.extend(charge.left.as_ref().map(&quote.notice));
        }
        Ok(notices)
    }

    /// Tells what [`charge_all`](Publication::charge_all) would do.
    pub(crate) fn try_charge(self) -> Result<Vec<Tried>> {
        let (quotes, answers) = self.ask(true)?;
        let tried = quotes.into_iter().zip(answers).map(|(quote, answer)| match answer {
            Ok(Charge { left: None, .. }) => Tried { epsilon: "0".to_string(), problem: None },
            Ok(_) => Tried { epsilon: quote.request.epsilon, problem: None },
            Err(refusal) => {
                Tried { problem: Some((quote.refused)(refusal)), epsilon: quote.request.epsilon }
            }
        });
        Ok(tried.collect())
    }

    fn ask(self, is_trial: bool) -> Result<(Vec<Quote>, Vec<Answer>)> {
        let quotes = quotes::take();
        let message = Message::Publish(PublishRequest {
            publication: self.name.to_string(),
            who: current_role().to_u32(),
            releases: self.releases,
            charges: quotes.iter().map(|quote| quote.request.clone()).collect(),
            is_trial,
        });
        let answers: Option<Vec<Answer>> = ask_worker(&message)?;
        let answers = answers.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
                format!("name: you have another publication \"{}\" of other releases", self.name),
            )
            .set_hint("Nothing was spent. dp.publications shows it. Choose another name.")
        })?;
        Ok((quotes, answers))
    }
}

/// Shows a publication of the current role, if all of it is stored.
pub(crate) fn show(publication: &str) -> Result<bool> {
    let publication = publication.to_string();
    ask_worker(&Message::Show { publication, who: current_role().to_u32() })
}

fn ask_worker<T: DeserializeOwned>(message: &Message) -> Result<T> {
    // no dataset has that number: publications wait for each other
    let message = serde_json::to_vec(message).map_err(internal)?;
    let answer = ask(&CHARGE, 0, &message).map_err(not_charged)?;
    serde_json::from_slice(&answer).map_err(internal)
}
