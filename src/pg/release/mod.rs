//! The way of a release from a dataset to the caller: the order that every release keeps, and those
//! that are stored under a name.

pub(super) mod order;
pub(super) mod stored;
