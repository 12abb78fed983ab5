//! Range sums of all regions of a hierarchy at once: a strategy over the tree of regions times one
//! over the bins.
//!
//! Each level of the tree gets a share of the budget, and each region of a level that has one is
//! measured as a line of bins is: by the same method on all levels, whose noise alone differs. That
//! is the Kronecker product of the weighted levels of the tree with the strategy over the bins.
//!
//! *Privacy.* A row lies in one region of each level. So it moves the measurements of one region,
//! by what it moves those of a line of bins: the regions of a level together spend what one of them
//! spends, and the levels compose sequentially. k rows of one unit move them k times as far at
//! most, wherever they lie, as for a line: by the triangle inequality, in L1 and in L2.
//!
//! *Estimates.* Both factors are linear, so least squares over the product is least squares over
//! the bins of each region, and then over the tree, of whole vectors of bins: see `combination`.

mod combination;
mod level;
pub(super) mod plan;
pub(super) mod release;
mod shapes;
pub(super) mod tree;

#[cfg(test)]
mod histogram_properties;
#[cfg(test)]
mod properties;
