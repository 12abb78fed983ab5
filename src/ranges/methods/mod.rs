//! The methods, one file or folder each.

pub(super) mod cascade;
pub(super) mod optimal;
pub(super) mod prefix;
pub(super) mod tree;
pub(super) mod tree_consistent;
pub(super) mod wavelet;
