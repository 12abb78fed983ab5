//! Datasets: what their owners declare (`catalog`, `source`), what has to hold of their tables
//! (`check`, `one_region`, `tables`, `relation`, `kinship`, `time_column`), and how their private rows are
//! read: planned before the charge (`leaf_reading`, `hidden_groups`, `bin_reading`, `cell_reading`,
//! `region_reading`, `region_finding`, `bound_finding`, `counted_bins`), by queries whose plans tell nothing (`query`), row by row
//! (`stream`, `streamed_row`), as they lie in the pages (`plain_scan`, `tuples`, `pages`), counted as they come
//! (`leaves`, `row_counting`, `known_groups`, `row_keys`, `row_regions`, `leaf_histograms`) or by PostgreSQL (`sizes_query`). Tables that releases do not read themselves
//! are counted beforehand (`leaf_count`, `leaf_query`).

pub(super) mod asked_part;
mod bin_reading;
mod bound_choice;
mod bound_finding;
pub(super) mod catalog;
mod cell_reading;
mod charged_part;
mod check;
pub(super) mod counted_bins;
mod declaration;
mod hidden_groups;
mod kinship;
mod known_groups;
mod layout;
mod leaf_count;
mod leaf_histograms;
mod leaf_query;
mod leaf_reading;
mod leaves;
mod names;
mod one_region;
mod pages;
pub(super) mod part;
mod plain_scan;
mod query;
pub(super) mod reading;
pub(super) mod region_finding;
pub(super) mod region_reading;
pub(super) mod relation;
mod row_counting;
mod row_keys;
mod row_regions;
mod sizes_query;
pub(super) mod source;
pub(super) mod stream;
mod streamed_row;
mod tables;
pub(super) mod time_column;
mod tuples;
