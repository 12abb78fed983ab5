//! Exact histograms of many regions from rows in any order: the keys of groups, their sizes, and
//! how many groups of each size there are, in bounded memory.

mod first_paths;
mod group_key;
mod group_sizes;
mod region_tallies;
mod row_files;
mod tallies;

pub use first_paths::FirstPaths;
pub use group_key::{GroupKey, KeyColumn, KeyHasher, KeyMaker};
pub use group_sizes::GroupSizes;
pub use region_tallies::{
    RegionHistograms, RegionTallies, TooManyRegions, read_histograms, write_histograms,
};
pub use row_files::{GroupRow, RowForm, TemporaryFile};
pub use tallies::Tallies;
