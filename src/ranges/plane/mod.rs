//! Sums over rectangles of a grid of bins, any number of them from one private histogram.
//!
//! A bin is a pair, the row and the column of a cell. As in one dimension a mechanism measures
//! integers, adds exact noise, and answers every rectangle without bias; it knows the variance of
//! each answer before anything is spent. Methods after Qardaji, Yang, Li 2013, section 5, and
//! Dharangutte, Gao, Gong, Wang 2025, appendix D.3.
//!
//! With discrete Laplace noise a tree pays from about 50 x 50 cells on, with discrete Gaussian
//! noise the cascade does from a few rows and columns on, in the mean variance over all rectangles.
//!
//! Rows are the grid's here, what the table holds are *records*. Neighbours are databases that
//! differ by one record, which is counted in one cell. Where a unit of privacy owns up to k
//! records, all distances are at most k times as large.

pub(super) mod bounds;
pub(super) mod cell_counts;
pub(super) mod cell_forms;
pub(super) mod corner_sums;
pub(super) mod counts;
pub(super) mod grid;
pub(super) mod mechanism;
pub(super) mod release;

#[cfg(test)]
mod figures;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod properties;
