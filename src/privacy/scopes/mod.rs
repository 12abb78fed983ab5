//! Charges that touch a part of the data alone: what they come to for a row, wherever it lies.
//!
//! A *scope* is a subtree of the regions and a range of periods. A row lies in one region and in one
//! period, its *cell*, and a release reads no row outside of the scope that it is charged with. What
//! counts against the budget is then the largest sum over any cell: two states cost what one costs.
//!
//! # Why that keeps the budget
//!
//! Take two neighbours, one of which has a row more, in cell c. A release whose scope does not hold c
//! reads the same rows of both, and tells of them with the same probabilities. So do the ledger's
//! refusals, which follow from the charges alone. In the likelihood ratio of a transcript the factors
//! of all those steps are 1, and what remains is that of the charges whose scopes hold c. If after
//! each of these one of the [two views](super::accounting) holds of their sums, so does the proof
//! there, with those charges in place of all: every sum in it is one over the steps that have another
//! ratio than 1. Each cell may be bounded by another view. Which cells there are is not taken from the
//! rows: one counts whether a row lies there or not.
//!
//! A cell may have a budget of its own, less than that of others, as those of a period that was
//! *opened* with one have: the proof takes each cell by itself, and so the views at its own budget. Opened
//! periods are disjoint and stay, so that a cell has one budget for good. Where it
//! is opened after charges, and delta is not 0, its budget may follow from answers: then it bounds the sums
//! as an odometer does, and what is proved is the dataset's budget.
//!
//! A row that is changed is one row less and another more, as ever: if its new cell is another one,
//! what was charged to both counts.
//!
//! # Where regions change
//!
//! Where a public table says to which region a row's group belongs, the row's cell changes with that
//! table, and no row was changed. So each charge says [by what](Rule) its cells are told. For one row,
//! the charges by another rule come to at most the largest sum of that rule over its cells, each of
//! epsilon, delta and rho by itself; this is added to every cell. Two rules that differ in the table
//! of groups alone agree on a row's period: the largest sum is then taken among the regions of the
//! same period.
//!
//! All this bounds, for every row and wherever it was under each rule, the sums of the charges that
//! could tell of it, and these are what the views are asked about.

mod cells;
mod fullest;
mod kept;
mod scope;
mod spent;
mod summits;
#[cfg(test)]
mod tests;
mod tree;

pub use cells::{Cells, Scopes};
pub use fullest::{Fullest, Limits};
pub use kept::place;
pub use scope::{Period, Rule, Scope};
pub use spent::Spent;
pub use summits::Summits;
