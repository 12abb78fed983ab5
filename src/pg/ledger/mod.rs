//! What is spent, and the order in which that happens.

pub(super) mod charge;
