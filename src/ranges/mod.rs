//! Sums over ranges of bins, any number of them from one private histogram.
//!
//! A mechanism measures integers, adds exact noise, and answers every range from them without bias;
//! it knows the variance of each answer before anything is spent. Methods after Qardaji, Yang, Li
//! 2013, "Understanding Hierarchical Methods for Differentially Private Histograms", after
//! Dharangutte, Gao, Gong, Wang 2025 on correlated noise, and matrix mechanisms in closed form.
//!
//! Neighbours are databases that differ by one row, which is counted in one bin: the counts x and
//! x + e_j. Where a unit of privacy owns up to k rows, all distances are at most k times as large.

mod bins;
mod bound;
mod budget;
mod cascade;
mod cells;
mod consistent;
mod convolution;
mod covariance;
mod envelope;
mod explain;
mod mechanism;
mod method;
mod noise;
mod optimal;
mod parameters;
mod plan;
mod plane;
mod prefix;
mod release;
mod released;
mod shape;
mod spending;
mod tree;
mod wavelet;

pub use bins::{Bins, Bounds, BoundsError, FormatError, OtherBounds};
pub use bound::svd_bound;
pub use budget::LevelBudgets;
pub use cascade::{Cascade, MAX_FAN_OUT, StreamError, StreamingCascade, Tree, TreeError};
pub use cells::Cells;
pub use consistent::ConsistentTree;
pub use covariance::{PerNode, TreeCovariance};
pub use explain::{ExplainedMethod, explain};
pub use mechanism::{Group, Loss, RangeMechanism, Spread, Workload};
pub use method::{MethodChoice, RangeMethod, Target};
pub use noise::{Noise, NoiseParameter};
pub use optimal::{DenseStrategy, GramError, MAX_DENSE_BINS, SineStrategy, gram_of_ranges};
pub use parameters::RangeParameters;
pub use plan::{RangePlan, RangePlanError};
pub use plane::{
    Grid, MAX_GRID_FAN_OUT, MAX_SEARCHED, PlaneCascade, PlaneMechanism, PlanePlan, PlanePlanError,
    PlaneRelease, PlaneTree, Rectangle,
};
pub use prefix::PrefixFactorisation;
pub use release::{RangeFormatError, RangeRelease};
pub use released::{DpRanges, DpRangesFormatError};
pub use shape::TreeShape;
pub use tree::RawTree;
pub use wavelet::Wavelet;

/// The most bins that a mechanism takes.
pub const MAX_BINS: usize = 1 << 24;

/// The most bins of the mechanisms whose measurements are convolutions: those take about 230 bytes
/// of memory a bin, and a transform, which cannot be cancelled, about 0.1 seconds at this number.
pub const MAX_CONVOLUTION_BINS: usize = 1 << 20;

#[cfg(test)]
mod figures;
#[cfg(test)]
mod properties;
