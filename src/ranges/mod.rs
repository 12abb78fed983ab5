//! Sums over ranges of bins, any number of them from one private histogram.
//!
//! A mechanism measures integers, adds exact noise, and answers every range from them without bias;
//! it knows the variance of each answer before anything is spent. Methods after Qardaji, Yang, Li
//! 2013, "Understanding Hierarchical Methods for Differentially Private Histograms".
//!
//! Neighbours are databases that differ by one row, which is counted in one bin.

mod bins;
mod budget;
mod consistent;
mod covariance;
mod envelope;
mod mechanism;
mod method;
mod noise;
mod parameters;
mod plan;
mod release;
mod released;
mod shape;
mod tree;
mod wavelet;

pub use bins::{Bins, Bounds, BoundsError, FormatError, OtherBounds};
pub use budget::LevelBudgets;
pub use consistent::ConsistentTree;
pub use covariance::{PerNode, TreeCovariance};
pub use mechanism::{Group, RangeMechanism, Spread, TooManyRows, Workload};
pub use method::{MethodChoice, RangeMethod};
pub use noise::{Noise, NoiseParameter};
pub use parameters::RangeParameters;
pub use plan::{RangePlan, RangePlanError};
pub use release::{RangeEstimate, RangeFormatError, RangeRelease};
pub use released::{DpRanges, DpRangesFormatError};
pub use shape::TreeShape;
pub use tree::RawTree;
pub use wavelet::Wavelet;

/// The most bins that a mechanism takes.
pub const MAX_BINS: usize = 1 << 24;

#[cfg(test)]
mod properties;
