//! Trees whose noisy counts are made consistent by least squares, over a line and over a grid of
//! bins.

pub(in crate::ranges) mod grid;
mod grid_covariance;
pub(in crate::ranges) mod line;
pub(super) mod method;
