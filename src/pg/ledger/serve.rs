//! The ledger's worker: what it is asked it does in one transaction, as superuser.

use super::message::Message;
use super::record::check_and_record;
use super::together::{charge_all, show};
use crate::pg::errors::{Result, internal};
use crate::pg::server::worker::serve;
use pgrx::prelude::*;

/// The worker's function, by which PostgreSQL finds it in the library.
pub(super) const WORKER: &str = "pg_dp_worker_main";

// SAFETY: no other library that PostgreSQL loads has a function of that name.
#[pg_guard]
#[unsafe(no_mangle)]
extern "C-unwind" fn pg_dp_worker_main(argument: pg_sys::Datum) {
    serve(argument, answer);
}

fn answer(message: &[u8]) -> Result<Vec<u8>> {
    match serde_json::from_slice(message).map_err(internal)? {
        Message::Charge(request) => {
            let answer = Spi::connect_mut(|client| check_and_record(client, &request));
            serde_json::to_vec(&answer.map_err(internal)?)
        }
        Message::Publish(request) => serde_json::to_vec(&charge_all(&request).map_err(internal)?),
        Message::Show { publication, who } => {
            serde_json::to_vec(&show(&publication, who).map_err(internal)?)
        }
    }
    .map_err(internal)
}
