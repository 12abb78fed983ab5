//! Datasets: what is declared, what has to hold of it, and how its private rows are read.

pub(super) mod bin_reading;
pub(super) mod catalog;
pub(super) mod kinship;
pub(super) mod leaf_histograms;
pub(super) mod leaf_reading;
pub(super) mod leaves;
pub(super) mod query;
pub(super) mod relation;
pub(super) mod source;
pub(super) mod stream;
