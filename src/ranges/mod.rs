//! Range sums: how many rows lie between any two bins, from one private histogram.

mod bins;
mod released;
mod standin;

pub use bins::{Bins, Bounds, BoundsError, FormatError, MAX_BINS, OtherBounds};
pub use released::{DpRanges, ReleaseFormatError};
pub use standin::{Answers, PlanError, RangePlan, Release};
