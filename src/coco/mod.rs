//! Count-of-counts (group-size) histograms: the exact ones, their private estimation, their error.
//!
//! A histogram says how many groups there are of each size. Three views of it, with K the largest
//! size and G the public number of groups (Kuo et al. 2018):
//! `H[i]` groups of size i; `Hc[i]` groups of size at most i; `Hg` the G sizes in ascending order.
//! It is held as runs (size, groups), so the work grows with the number of distinct sizes or with
//! K, never with G, except for the noise of `Hg`.

mod cut;
mod cut_choice;
mod estimate;
mod group_key;
mod group_sizes;
mod histogram;
mod isotonic;
mod mechanism;
mod prior;
mod region_tallies;
mod simplex;
mod smoothing;
mod statistics;
mod storage;
mod tallies;

pub use cut_choice::Profile;
pub use estimate::{Estimate, EstimatedRun};
pub use group_key::{GroupKey, KeyColumn, KeyHasher, KeyMaker};
pub use group_sizes::{GroupRow, GroupSizes, TemporaryFile};
pub use histogram::{Coco, DpCoco, MAX_DISTINCT_SIZES, Run, Tally};
pub use mechanism::{CocoMechanism, MAX_SIZE_LIMIT, Method};
pub use region_tallies::{
    RegionHistograms, RegionTallies, TooManyRegions, read_histograms, write_histograms,
};
pub use statistics::{StatisticsError, emd};

pub(crate) use isotonic::{Arithmetic, Block, pool_adjacent_violators};
pub(crate) use simplex::project_weighted;
pub(crate) use statistics::emd_with_empty_groups;
pub use storage::FormatError;
pub use tallies::Tallies;
