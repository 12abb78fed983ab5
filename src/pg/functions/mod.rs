//! The SQL functions.

mod accessors;
mod aggregates;
mod consistent;
mod datasets;
mod explain_hierarchy;
mod explain_ranges;
mod hierarchy;
mod histogram;
mod ranges;
