//! Hierarchies of regions, and releases of a histogram per region that add up.
//!
//! Level 0 is the root, which holds all groups; every group lies in one region of each level.

mod consistency;
mod discovery;
mod distance;
mod explain;
mod group_counts;
mod histogram;
mod intervals;
mod measurement;
mod measuring;
mod noisy_table;
mod observer;
mod plan;
mod pooling;
mod prior;
mod release;
mod selection;
mod shares;
mod tree;

pub use consistency::{
    ChainMeasurement, Consistency, Consistent, CumulativeFit, KnownTotals, Merge, NoisyCounts,
    Quantity, Weights, cumulative, matched, pgsr, pgsr_relaxed,
};
pub use discovery::{Discovery, DiscoveryError, Finder};
pub use explain::{Candidate, ExpectedError, MAX_GROUPS_OF_HG, candidates, expected_errors};
pub use histogram::HistogramMechanism;
pub use intervals::{
    Confidence, Interval, RegionIntervals, Replicated, SizeIntervals, Statistic, replicates,
};
pub use measurement::{LevelMeasurement, RegionMeasurement};
pub use measuring::KeptNumbers;
pub use noisy_table::{NoisyRows, NoisyTable, NoisyTableError};
pub use observer::Observer;
pub use plan::{FirstLook, MAX_LEVELS, PlanError, ReleasePlan, ReleaseRequest, estimator_names};
pub use prior::{GUESSED_MEAN_SIZE, Prior, Shape};
pub use release::{ReleaseError, Released};
pub use selection::Mechanism;
pub use tree::{Region, Tree, TreeError, path_text};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod replay;
