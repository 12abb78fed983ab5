//! The way of a release from a dataset to the caller: the order that every release keeps, and those
//! that are stored under a name, and may then be read by all.

mod content;
pub(super) mod named;
pub(super) mod order;
pub(super) mod published;
mod running;
mod serve;
mod store;
mod store_regions;
mod store_stream;
pub(super) mod stored;
pub(super) mod stream;
pub(super) mod ticking;
