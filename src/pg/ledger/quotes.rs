//! Releases that are asked for only to learn what they would be charged, so that several can be
//! charged together: the next release of the statement goes as far as its charge, and ends there.

use super::message::{ChargeRequest, Left, Refusal};
use crate::pg::server::state::current_role;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::cell::RefCell;

/// What a release would be charged, and how it tells of a charge or a refusal.
pub(super) struct Quote {
    pub(super) dataset: String,
    pub(super) request: ChargeRequest,
    pub(super) refused: Box<dyn Fn(Refusal) -> ErrorReport>,
    pub(super) notice: Box<dyn Fn(&Left) -> String>,
}

impl Quote {
    /// By dataset and name.
    pub(super) fn release(&self) -> Option<(&str, &str)> {
        Some((&self.dataset, &self.request.promise.as_ref()?.name))
    }
}

/// Those of one statement of a client: nothing is left for the next one.
struct Quotes {
    statement: pg_sys::TimestampTz,
    /// Who asked for them: what another role releases meanwhile, such as an owner's function, is
    /// made and not quoted.
    role: Oid,
    /// The next charge is quoted.
    is_next: bool,
    quotes: Vec<Quote>,
}

thread_local! {
    static QUOTES: RefCell<Quotes> =
        const { RefCell::new(Quotes {
            statement: 0,
            role: Oid::INVALID,
            is_next: false,
            quotes: Vec::new(),
        }) };
}

fn with<T>(action: impl FnOnce(&mut Quotes) -> T) -> T {
    // SAFETY: reads a variable of this process.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    QUOTES.with_borrow_mut(|quotes| {
        let role = current_role();
        if quotes.statement != statement {
            *quotes = Quotes { statement, role, is_next: false, quotes: Vec::new() };
        }
        action(quotes)
    })
}

/// Forgets what was quoted before.
pub(super) fn start() {
    drop(take());
}

/// Has the next charge quoted, or not. Returns how many were.
pub(super) fn quote_next(is_next: bool) -> usize {
    with(|quotes| {
        if quotes.role == current_role() {
            quotes.is_next = is_next;
        }
        quotes.quotes.len()
    })
}

/// Whether this charge is to be quoted alone.
pub(super) fn is_wanted() -> bool {
    with(|quotes| quotes.role == current_role() && std::mem::take(&mut quotes.is_next))
}

pub(super) fn add(quote: Quote) {
    with(|quotes| quotes.quotes.push(quote));
}

/// All quotes of the statement, for the role that asked for them. From here on charges are made.
pub(super) fn take() -> Vec<Quote> {
    with(|quotes| {
        let asked_by = std::mem::replace(&mut quotes.role, current_role());
        quotes.is_next = false;
        let taken = std::mem::take(&mut quotes.quotes);
        if asked_by == quotes.role { taken } else { Vec::new() }
    })
}
