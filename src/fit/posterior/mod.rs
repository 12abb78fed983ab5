//! What noisy observations of a monotone sequence say of each of its values.
//!
//! # The posterior
//!
//! Unknown integers 0 <= x_0 <= x_1 <= ... <= x_(n-1) <= top are observed as y_i = x_i + noise,
//! discrete Laplace of scale t. Isotonic regression returns the most likely sequence. Here are the
//! marginal distributions of all x_i instead, given all y: as every sequence is monotone, they are
//! stochastically ordered, so that *their medians are monotone by themselves*; and these minimise
//! the expected sum of |x_i - x^_i|, which for cumulative counts is the earth mover's distance.
//!
//! With weights pi_i(s) of a step s = x_i - x_(i-1) and w_i(x) = e^(-|x - y_i|/t),
//!
//!   F_i(x) = w_i(x) sum over x' <= x of pi_i(x - x') F_(i-1)(x')
//!
//! sums up all beginnings that end in x, B_i(x) likewise all that can follow, and P(x_i = x | y) is
//! proportional to F_i(x) B_i(x). Steps are all equally likely (a flat prior: every sequence has
//! the same weight), or geometric with a mean for each place, pi_i(s) proportional to q_i^s: then a
//! sum follows from the one before it, and a place costs O(window).
//!
//! Values can have weights, too, which multiply w_i. Where group sizes are a list in ascending
//! order and the number of groups of each size s is geometric with mean d_s, a list has the
//! probability of the product of d / (1 + d) over its groups, times a constant: the weights say
//! what the steps of cumulative counts say, seen from the side.
//!
//! A sequence may *begin late*: before some place there is nothing, which is observed like 0. It is
//! so with the largest groups' sizes where it is not known how many groups there are.
//!
//! # Cells and windows
//!
//! A place's window is where its mass lies. Windows are found from coarse to fine: first those
//! within t (12 + ln n) of the isotonic fit, with cells of about t; then where the posterior of the
//! cells before has its mass, but for a millionth at each end, and one cell more; until cells are
//! single integers, or a third of the posterior's standard deviation where nothing changes much
//! from cell to cell. Coarse cells make steps vary more than they do, hence the posterior wider: so
//! each marginal misses at most two millionths of its mass by its own window, and at most n times
//! that by all. A pass takes O(n) cells times a hundred or so, whatever t is; the last one backwards
//! ends where no value has a median, unless it is to say where the sequence begins.
//!
//! All numbers are released ones: floating point does no harm.

mod cells;
mod chain;
mod marginal;
mod weighing;

pub(crate) use chain::{Forward, MonotoneSequence, Posterior, Room, Wanted};
pub(crate) use marginal::Marginal;

#[cfg(test)]
mod tests;
