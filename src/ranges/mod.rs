//! Sums over ranges of bins, any number of them from one private histogram.
//!
//! A mechanism measures integers, adds exact noise, and answers every range from them without bias;
//! it knows the variance of each answer before anything is spent. Methods after Qardaji, Yang, Li
//! 2013, "Understanding Hierarchical Methods for Differentially Private Histograms", after
//! Dharangutte, Gao, Gong, Wang 2025 on correlated noise, and matrix mechanisms in closed form.
//!
//! Neighbours are databases that differ by one row, which is counted in one bin: the counts x and
//! x + e_j. Where a unit of privacy owns up to k rows, all distances are at most k times as large.
//! So they are where a row has an amount of up to k units, which are summed instead of rows counted.

mod adaptive;
mod amounts;
mod aware;
mod bins;
mod bound;
mod bucket_method;
mod buckets;
mod calibration;
mod cells;
mod choice;
mod combined;
mod convolution;
mod error;
mod explain;
mod explain_rectangles;
mod json;
mod least;
mod limits;
mod measurements;
mod mechanism;
mod method;
mod methods;
mod noise;
mod parameters;
mod plan;
mod plane;
mod planner;
mod quantiles;
mod regions;
mod release;
mod release_plan;
mod released;
mod released_grid;
mod spending;
mod stream;
mod ticks;
mod trees;
mod workload;

pub use amounts::{AmountBounds, AmountUnit, NotWhole};
pub use aware::plan::{BucketPlan, BucketRequest};
pub use bins::bounds::{BinBounds, BoundsError};
pub use bins::counts::{Bins, OtherBins};
pub use bins::filled::FilledBins;
pub use bins::forms::BinsFormatError;
pub use bins::sums::{BinSums, SignedSums};
pub use bound::svd_bound;
pub use bucket_method::BucketMethod;
pub use calibration::Calibration;
pub use cells::RangeCells;
pub use choice::ReleaseChoice;
pub use combined::CombinedMechanism;
pub use error::{Dimensions, RangePlanError};
pub use explain::{ExplainRequest, ExplainedMethod, explain};
pub use explain_rectangles::{ExplainRectangles, ExplainedRectangles, explain_rectangles};
pub use limits::{
    MAX_ADAPTIVE_BINS, MAX_AWARE_BINS, MAX_BINS, MAX_CONVOLUTION_BINS, MAX_STRUCTURE_BINS,
    MAX_WEIGHTED_BINS, MIN_AWARE_BINS,
};
pub use measurements::{CountMechanism, Loss, MeasurementGroup, Measurements, Sensitivity};
pub use mechanism::{RangeMechanism, Split};
pub use method::{MethodChoice, RangeMethod};
pub use methods::cascade::grid::{MAX_GRID_FAN_OUT, PlaneCascade};
pub use methods::cascade::line::Cascade;
pub use methods::cascade::tree::{MAX_FAN_OUT, TreeOverBins, TreeOverBinsError};
pub use methods::causal_tree::CausalTree;
pub use methods::minimax::strategy::WeightedRoot;
pub use methods::optimal::dense::DenseStrategy;
pub use methods::optimal::gram::{GramError, MAX_DENSE_BINS, gram_of_ranges};
pub use methods::optimal::grid::PlaneOptimal;
pub use methods::optimal::sine::SineStrategy;
pub use methods::prefix::PrefixFactorisation;
pub use methods::tree::RawTree;
pub use methods::tree_consistent::grid::PlaneTree;
pub use methods::tree_consistent::line::ConsistentTree;
pub use methods::wavelet::Wavelet;
pub use noise::{MeasurementNoise, NoiseParameter};
pub use parameters::{Parameters, PlaneParameters, RangeParameters};
pub use plan::{Plan, PlanePlan, RangePlan};
pub use plane::bounds::{GridBounds, TooManyCells};
pub use plane::cell_counts::{CellCounts, OtherGrid};
pub use plane::cell_forms::GridFormatError;
pub use plane::counts::{CellSums, GridAxis};
pub use plane::grid::{CellGrid, Rectangle};
pub use plane::mechanism::{MAX_SEARCHED, PlaneMechanism};
pub use plane::release::PlaneRelease;
pub use planner::{PlaneRequest, RangeRequest};
pub use quantiles::Quantile;
pub use regions::plan::{RegionPlan, RegionRequest};
pub use regions::release::RegionRelease;
pub use regions::tree::RegionTree;
pub use release::{AdaptiveAnswers, RangeFormatError, RangeRelease};
pub use release_plan::{ReleasePlan, ReleaseRequest};
pub use released::{DpRanges, DpRangesFormatError};
pub use released_grid::{DpGrid, DpGridFormatError};
pub use stream::{CountStream, StreamParameters, StreamPlan, StreamRequest};
pub use ticks::{Tick, TickMechanism};
pub use trees::budgets::LevelBudgets;
pub use trees::covariance::{PerNode, TreeCovariance};
pub use trees::shape::TreeShape;
pub use workload::{Spread, TargetRanges, Workload};

#[cfg(test)]
mod amount_properties;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod stream_properties;
