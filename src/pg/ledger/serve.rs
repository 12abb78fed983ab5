//! The ledger's worker: what it is asked it does in one transaction, as superuser.

use super::deed;
use super::message::Message;
use super::record::check_and_record;
use super::telling::tell;
use super::together::{charge_all, show};
use crate::pg::errors::{Result, internal};
use crate::pg::server::worker::Answer;
use pgrx::prelude::*;

/// Answers a message in the current transaction.
pub(crate) fn answer(message: &[u8]) -> Result<Answer> {
    let mut afterwards = None;
    let bytes = match serde_json::from_slice(message).map_err(internal)? {
        Message::Charge(request) => {
            let answer = Spi::connect_mut(|client| check_and_record(client, &request));
            serde_json::to_vec(&answer.map_err(internal)?)
        }
        Message::Raise(deed) => {
            let raised = Spi::connect_mut(|client| deed::record(client, &deed));
            serde_json::to_vec(&raised.map_err(internal)?)
        }
        Message::Open(opening) => {
            let opened = Spi::connect_mut(|client| deed::record_opening(client, &opening));
            serde_json::to_vec(&opened.map_err(internal)?)
        }
        Message::Publish(request) => serde_json::to_vec(&charge_all(&request).map_err(internal)?),
        Message::Show { publication, who } => {
            let shown = show(&publication, who).map_err(internal)?;
            let is_shown = shown.is_some();
            afterwards = shown.map(tell);
            serde_json::to_vec(&is_shown)
        }
    }
    .map_err(internal)?;
    Ok(Answer { bytes, afterwards })
}
