//! The methods that see the data before they measure them, by name.

use super::limits::{MAX_AWARE_BINS, MAX_STRUCTURE_BINS};

/// How buckets are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketMethod {
    /// From noisy deviations of the bins of each possible bucket.
    Aware,
    /// A number of them that is settled beforehand; where each begins is selected, one after another.
    StructureFirst,
}

impl BucketMethod {
    pub const ALL: [BucketMethod; 2] = [BucketMethod::Aware, BucketMethod::StructureFirst];

    pub fn word(self) -> &'static str {
        match self {
            BucketMethod::Aware => "aware",
            BucketMethod::StructureFirst => "structure_first",
        }
    }

    pub(super) fn parse(word: &str) -> Option<BucketMethod> {
        BucketMethod::ALL.into_iter().find(|method| method.word() == word)
    }

    pub(super) fn most_bins(self) -> usize {
        match self {
            BucketMethod::Aware => MAX_AWARE_BINS,
            BucketMethod::StructureFirst => MAX_STRUCTURE_BINS,
        }
    }
}
