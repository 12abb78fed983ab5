//! Exact histograms of many regions from rows in any order: the keys of groups, their sizes, and
//! how many groups of each size there are, in bounded memory.

mod block_file;
mod first_paths;
mod group_key;
mod group_row;
mod group_sizes;
mod group_table;
mod key_numbers;
mod other_table;
mod part_counting;
mod parts;
mod region_tallies;
mod tallies;

pub use block_file::{BLOCK, Block, TemporaryFile};
pub use first_paths::FirstPaths;
pub use group_key::{GroupKey, KeyColumn, KeyHasher, KeyMaker};
pub use group_row::{GroupRow, RowForm};
pub use group_sizes::GroupSizes;
pub use parts::MakeRows;
pub use region_tallies::{
    RegionHistograms, RegionTallies, TooManyRegions, read_histograms, write_histograms,
};
pub use tallies::Tallies;
