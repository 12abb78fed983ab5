//! The stream that this session has used last, so that its next tick needs no building of the
//! mechanism and no reading of all ticks before.

use crate::pg::ledger::account::SealedRows;
use crate::ranges::{StreamPlan, Tick};
use std::cell::RefCell;

/// A stream's plan, and its first ticks with their exact counts, all of which are stored.
pub(super) struct Running {
    pub(super) plan: StreamPlan,
    pub(super) counted: SealedRows<Vec<Tick>>,
}

thread_local! {
    static LAST: RefCell<Option<(String, Running)>> = const { RefCell::new(None) };
}

/// Takes the stream of a charge with that nonce, if it is the last one. Whoever fails with it leaves
/// nothing behind.
pub(super) fn take(nonce: &str) -> Option<Running> {
    LAST.take().filter(|(last, _)| last == nonce).map(|(_, running)| running)
}

pub(super) fn keep(nonce: &str, running: Running) {
    LAST.set(Some((nonce.to_string(), running)));
}
