//! Trees over bins of which all regular nodes of a level are alike.

pub(super) mod budgets;
pub(super) mod covariance;
mod envelope;
pub(super) mod measured;
pub(super) mod shape;
