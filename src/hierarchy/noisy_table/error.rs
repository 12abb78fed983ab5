//! Why a noisy table is none.

use crate::hierarchy::consistency::MAX_CELLS;
use crate::hierarchy::tree::path_text;
use std::fmt;

/// Up to here every whole number is an `f64` of its own, and none is rounded to it.
pub(super) const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// What is wrong with a table, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum NoisyTableError {
    MissingParent { path: Vec<String> },
    UnevenDepth { path: Vec<String>, depth: usize },
    Size { path: Vec<String>, size: f64 },
    DuplicateSize { path: Vec<String>, size: u64 },
    Count { path: Vec<String>, size: u64, groups: f64 },
    LargeCounts { path: Vec<String>, largest: f64 },
    Variance { path: Vec<String>, size: u64, variance: f64 },
    TooManyCells { regions: usize, sizes: usize },
    Total { path: Vec<String>, groups: f64 },
    MissingTotal { path: Vec<String> },
    TotalsContradict { path: Vec<String>, total: u64, children: u128 },
}

impl fmt::Display for NoisyTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoisyTableError::MissingParent { path } => {
                write!(f, "region {} has no parent", path_text(path))
            }
            NoisyTableError::UnevenDepth { path, depth } => write!(
                f,
                "region {} has no children, others go down to level {depth}",
                path_text(path)
            ),
            NoisyTableError::Size { path, size } => write!(
                f,
                "source: size must be a whole number from 0 to {LARGEST_EXACT}, got {size} in \
                 region {}",
                path_text(path)
            ),
            NoisyTableError::DuplicateSize { path, size } => {
                write!(f, "source: region {} has two rows of size {size}", path_text(path))
            }
            NoisyTableError::Count { path, size, groups } => write!(
                f,
                "source: groups must be finite, got {groups} in region {}, size {size}",
                path_text(path)
            ),
            NoisyTableError::LargeCounts { path, largest } => write!(
                f,
                "source: groups of a level must sum to {largest:e} in magnitude at most; with \
                 region {} they exceed it",
                path_text(path)
            ),
            NoisyTableError::Variance { path, size, variance } => write!(
                f,
                "source: variance must be positive and finite, got {variance} in region {}, \
                 size {size}",
                path_text(path)
            ),
            NoisyTableError::TooManyCells { regions, sizes } => write!(
                f,
                "source: {regions} regions with {sizes} different sizes exceed {MAX_CELLS} cells"
            ),
            NoisyTableError::Total { path, groups } => write!(
                f,
                "totals: groups must be a whole number from 0 to {LARGEST_EXACT}, got {groups} in \
                 region {}",
                path_text(path)
            ),
            NoisyTableError::MissingTotal { path } => {
                write!(f, "totals: region {} is missing", path_text(path))
            }
            NoisyTableError::TotalsContradict { path, total, children } => write!(
                f,
                "totals: region {} has {total} groups, its children have {children}",
                path_text(path)
            ),
        }
    }
}

impl std::error::Error for NoisyTableError {}

impl NoisyTableError {
    /// What the caller can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            NoisyTableError::MissingParent { .. } => {
                "Every region needs a row on every level above it; the root's path is '{}'."
            }
            NoisyTableError::UnevenDepth { .. } => {
                "All regions without children must lie on one level."
            }
            NoisyTableError::Size { .. } => "Sizes count the entities of a group.",
            NoisyTableError::DuplicateSize { .. } => "A region has one row for each size at most.",
            NoisyTableError::Count { .. } => "Leave out what was not measured.",
            NoisyTableError::LargeCounts { .. } => "All sums have to fit a bigint.",
            NoisyTableError::Variance { .. } => {
                "Leave the column variance out if the variances are not known."
            }
            NoisyTableError::TooManyCells { .. } => "Join the rare large sizes to a few.",
            NoisyTableError::Total { .. } => "Totals are public and exact.",
            NoisyTableError::MissingTotal { .. } => {
                "Give the root's total alone, or that of every region."
            }
            NoisyTableError::TotalsContradict { .. } => {
                "The numbers of groups of a region's children must sum to its own."
            }
        }
    }
}
