//! The workers' function. A release with a name may have one worker for its charge and its store.

use super::store::insert;
use crate::pg::ledger::serve::answer;
use crate::pg::server::worker::{Work, serve};
use pgrx::prelude::*;

// SAFETY: no other library that PostgreSQL loads has a function of that name.
#[pg_guard]
#[unsafe(no_mangle)]
extern "C-unwind" fn pg_dp_worker_main(argument: pg_sys::Datum) {
    serve(argument, |work, message| match work {
        Work::Ledger => answer(message),
        Work::Store => insert(message),
    });
}
