//! Bounds that the data choose, with noise: how many rows of a unit of privacy are used, the largest
//! amount, the largest size. One that is too low leaves out much, one that is too high asks for much
//! noise.
//!
//! A [`BoundSearch`] counts what lies between the candidates of a fixed [`Grid`], with noise, and all
//! else follows from these noisy counts: what there may be ([`posterior`]), how much each candidate would
//! then leave out, what noise it would bring, and which is never far from the best ([`choice`]).
//!
//! # Privacy
//!
//! The grid is public: nothing in it follows from data. What is measured is a vector of counts, of
//! which a unit of privacy moves so much, in the L1 norm:
//!
//! - *Rows of a unit*: how many units have a number of rows between two candidates. A unit, with all of
//!   its rows, is in one class: it changes one count by 1. No bound on its rows takes part.
//! - *Amounts*: how many rows have an amount between two candidates. A row changes one count by 1,
//!   and of a unit no more rows are read than the dataset declares: by that number.
//! - *Sizes*: how many entities lie in groups between two candidates, as if the entities of each group
//!   stood upon one another: a group of size s has min(s, b) - min(s, a) between a and b. A group of one
//!   entity more has one more in one layer. So an entity changes one count by 1, and a unit by
//!   the number of its rows.
//!
//! Where more counts than an `i64` holds, it stays there: what two neighbours count is no farther apart
//! then. What was counted gets discrete Laplace noise of that sensitivity; the rest is post-processing.

mod bounded;
mod choice;
mod error;
mod grid;
mod posterior;
mod search;
mod tail;

pub use bounded::Bounded;
pub use choice::{Candidate, Choice, choose};
pub use error::BoundError;
pub use grid::{Grid, Tally};
pub use search::BoundSearch;

#[cfg(test)]
mod replay;
