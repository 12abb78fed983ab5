//! Sums over ranges of bins, any number of them from one private histogram.
//!
//! A mechanism measures integers, adds exact noise, and answers every range from them without bias;
//! it knows the variance of each answer before anything is spent. Methods after Qardaji, Yang, Li
//! 2013, "Understanding Hierarchical Methods for Differentially Private Histograms".
//!
//! Neighbours are databases that differ by one row, which is counted in one bin.

mod bins;
mod consistent;
mod covariance;
mod envelope;
mod mechanism;
mod noise;
mod released;
mod shape;
mod standin;
mod tree;
mod wavelet;

pub use bins::{Bins, Bounds, BoundsError, FormatError, MAX_BINS, OtherBounds};
pub use consistent::ConsistentTree;
pub use covariance::{PerNode, TreeCovariance};
pub use mechanism::{Group, RangeMechanism, Spread, TooManyRows, Workload};
pub use noise::{Noise, NoiseParameter};
pub use released::{DpRanges, ReleaseFormatError};
pub use shape::TreeShape;
pub use standin::{Answers, PlanError, RangePlan, Release};
pub use tree::RawTree;
pub use wavelet::Wavelet;

#[cfg(test)]
mod properties;
