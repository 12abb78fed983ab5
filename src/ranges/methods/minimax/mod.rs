//! The matrix mechanism with a strategy whose largest variance is close to the least possible one.
//!
//! The square root of the matrix of prefixes, see [`prefix`](super::prefix), measures all of its
//! rows alike. Here every row has a weight, see [`weights`], and every column a factor that makes
//! it as long as the others: A = E T D, with T the root, E and D diagonal. Like T it is
//! lower-triangular: what is measured of a bin is the sum of the bins up to there, each times
//! something.

pub(in crate::ranges::methods) mod method;
pub(in crate::ranges) mod strategy;
#[cfg(test)]
mod tests;
pub(in crate::ranges) mod weights;
