//! Releases that are asked for only to learn what they would be charged, so that several can be
//! charged together: the next release of the statement goes as far as its charge, and ends there.

use super::message::{ChargeRequest, Left, Refusal};
use crate::charge::Cost;
use crate::pg::server::state::current_role;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What a release would be charged, and how it tells of a charge or a refusal.
pub(super) struct Quote {
    pub(super) dataset: String,
    pub(super) cost: Cost,
    pub(super) request: ChargeRequest,
    pub(super) refused: Box<dyn Fn(&Cost, Refusal) -> ErrorReport>,
    pub(super) notice: Box<dyn Fn(&Cost, &Left) -> String>,
}

impl Quote {
    /// By dataset and name.
    pub(super) fn release(&self) -> Option<(&str, &str)> {
        Some((&self.dataset, &self.request.promise.as_ref()?.name))
    }

    /// Whether another one's bound is what it chooses: of all releases how many rows of a unit they use,
    /// of others what was given as `'auto'`.
    pub(super) fn chooses_for(&self, other: &Quote) -> bool {
        let (chosen, with) = (&self.request.parameters, other.request.promise.as_ref());
        let uses_rows = other.request.parameters.get("max_rows_per_unit").is_some();
        let asked = |key: &str| with.and_then(|promise| promise.parameters.get(key));
        let is_auto =
            asked("auto") == chosen.get("bound") && asked("amount") == chosen.get("amount");
        self.request.function == "dp_find_bound"
            && self.dataset == other.dataset
            && chosen["kept"] == true
            && if chosen["bound"] == "max_rows_per_unit" { uses_rows } else { is_auto }
    }
}

/// Those of one statement of a client: nothing is left for the next one.
struct Statement {
    began: pg_sys::TimestampTz,
    /// Each role's own: while one has a release quoted, code of others may run.
    roles: BTreeMap<u32, Quotes>,
}

#[derive(Default)]
struct Quotes {
    /// The next charge is quoted.
    is_next: bool,
    quotes: Vec<Quote>,
}

thread_local! {
    static STATEMENT: RefCell<Statement> =
        const { RefCell::new(Statement { began: 0, roles: BTreeMap::new() }) };
}

/// With the quotes of the current role.
fn with<T>(action: impl FnOnce(&mut Quotes) -> T) -> T {
    // SAFETY: reads a variable of this process.
    let began = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    let role = current_role().to_u32();
    STATEMENT.with_borrow_mut(|statement| {
        if statement.began != began {
            *statement = Statement { began, roles: BTreeMap::new() };
        }
        action(statement.roles.entry(role).or_default())
    })
}

/// Forgets what was quoted before.
pub(super) fn start() {
    drop(take());
}

/// Has the role's next charge quoted, or not. Returns how many were.
pub(super) fn quote_next(is_next: bool) -> usize {
    with(|quotes| {
        quotes.is_next = is_next;
        quotes.quotes.len()
    })
}

/// Whether the next charge is quoted.
pub(super) fn is_next() -> bool {
    with(|quotes| quotes.is_next)
}

/// Whether this charge is to be quoted alone.
pub(super) fn is_wanted() -> bool {
    with(|quotes| std::mem::take(&mut quotes.is_next))
}

pub(super) fn add(quote: Quote) {
    with(|quotes| quotes.quotes.push(quote));
}

/// All quotes of the role. From here on its charges are made.
pub(super) fn take() -> Vec<Quote> {
    with(|quotes| std::mem::take(quotes).quotes)
}
