//! A count for every bin of an interval, or the sum of an amount, in the order of the bins.

pub(super) mod bounds;
pub(super) mod counts;
pub(super) mod filled;
pub(super) mod forms;
pub(super) mod sums;
