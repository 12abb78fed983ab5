//! The matrix mechanism with a strategy in closed form that is close to the best for a workload.
//!
//! For all ranges, or prefixes, with the Gram matrix G (entry i, j: how many questions ask for both bins), let
//! the strategy be A = G^(1/4) D, with D diagonal so that every column has length 1. Its total
//! squared error at a given privacy is within a few percent of the lower bound that holds for every
//! strategy, (sum of the singular values of the workload)^2 / n (Li & Miklau 2013). For ranges
//! that are asked the best weights of bins are searched for: [`weights`].
//!
//! Either form here rounds a scaled A to an integer matrix B, and B is the strategy from then on:
//! B x is measured exactly, the sensitivity is the exact length of B's longest column, and
//! estimates and variances are those of B. Rounding costs accuracy, which is stated, and no proof.

mod axis;
pub(in crate::ranges) mod dense;
pub(in crate::ranges) mod gram;
pub(in crate::ranges) mod grid;
mod kernel;
pub(in crate::ranges::methods) mod method;
pub(in crate::ranges) mod sine;
pub(in crate::ranges::methods) mod spread;
#[cfg(test)]
mod tests;
mod weights;
