//! The SQL functions: each takes its arguments apart, calls what the rooms below offer, and returns
//! rows or a value. What releases goes through [`release::order`](crate::pg::release::order).
//!
//! One file each for releases ([`hierarchy`], [`ranges`], [`rectangles`], [`grids`],
//! [`region_ranges`], [`region_range_release`], [`regions`], [`bounds`], [`histogram`]), what they would be like
//! ([`explain_hierarchy`], [`explain_ranges`],
//! [`explain_rectangles`]), what is made of released numbers ([`intervals`], [`consistent`],
//! [`accessors`], [`quantiles`], [`estimates`]), rows that several return ([`release_rows`]), aggregates, the owner's functions ([`datasets`], [`access`],
//! [`budget`], [`releases`], [`publications`]), and progress.

mod access;
mod accessors;
mod aggregates;
mod bounds;
mod budget;
mod budget_periods;
mod checksum;
mod consistent;
mod datasets;
mod deeds;
mod estimates;
mod explain_hierarchy;
mod explain_ranges;
mod explain_rectangles;
mod explain_region_ranges;
mod explain_stream;
mod grids;
mod hierarchy;
mod histogram;
mod intervals;
mod progress;
mod publications;
mod quantiles;
mod ranges;
mod rectangles;
mod region_range_release;
mod region_ranges;
mod regions;
mod release_rows;
mod releases;
mod streams;
mod watch;
