//! A count for every bin of an interval, in the order of the bins.

pub(super) mod bounds;
pub(super) mod counts;
pub(super) mod forms;
