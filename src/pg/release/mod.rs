//! The way of a release from a dataset to the caller: the order that every release keeps, and those
//! that are stored under a name, and may then be read by all.

mod content;
pub(super) mod named;
pub(super) mod order;
pub(super) mod published;
mod store;
pub(super) mod stored;
