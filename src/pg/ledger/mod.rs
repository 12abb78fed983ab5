//! The budget ledger: what a release is charged to, and the worker that records charges. Every
//! charge is a [`Receipt`](crate::charge::Receipt) of an [`Account`](account::Account); what
//! private rows are read with is sealed for those.

pub(super) mod account;
pub(super) mod deed;
pub(crate) mod grantees;
mod message;
pub(super) mod parts;
mod periods;
mod plan;
mod promise;
pub(super) mod publication;
mod quotes;
mod record;
pub(super) mod room;
pub(super) mod serve;
mod sql;
pub(super) mod telling;
mod together;
