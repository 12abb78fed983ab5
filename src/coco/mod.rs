//! Count-of-counts (group-size) histograms: the exact ones, their private estimation, their error.
//!
//! A histogram says how many groups there are of each size. Three views of it, with K the largest
//! size and G the public number of groups (Kuo et al. 2018):
//! `H[i]` groups of size i; `Hc[i]` groups of size at most i; `Hg` the G sizes in ascending order.
//! It is held as runs (size, groups), so the work grows with the number of distinct sizes or with
//! K, never with G, except for the noise of `Hg`.

mod estimate;
mod estimators;
mod histogram;
mod statistics;
mod storage;

pub use estimate::{Estimate, EstimatedRun};
pub use estimators::{
    Estimator, HistogramMeasurement, MAX_SIZE_LIMIT, MeasuredNumbers, NodeMeasurement, NumberKind,
    Profile,
};
pub use histogram::{Coco, DpCoco, MAX_DISTINCT_SIZES, Run, Tally};
pub use statistics::{StatisticsError, emd};
pub use storage::CocoFormatError;

pub(crate) use estimators::{MOST_PLACES, Pool, tells};
pub(crate) use histogram::exactly;
#[cfg(test)]
pub(crate) use histogram::{LARGEST, tests::of_sizes};
pub(crate) use statistics::emd_with_empty_groups;
pub(crate) use storage::take_histogram;
