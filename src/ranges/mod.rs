//! Range sums: how many rows lie between any two bins, from one private histogram.

mod bins;

pub use bins::{Bins, Bounds, BoundsError, FormatError, MAX_BINS, OtherBounds};
