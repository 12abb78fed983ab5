//! Consistency: from an estimate per region to histograms whose children sum to their parents.

use super::matching::{Merge, match_and_merge};
use super::tree::Tree;
use crate::coco::{Coco, Estimate};

/// How the regions' estimates are made to agree. Post-processing of released estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Top-down: groups matched at least cost, sizes merged by inverse variance (Kuo et al.,
    /// algorithm 1).
    Matching,
    /// The same with plain means, for comparison.
    MatchingUnweighted,
    /// The leaves are all that is measured; every other region is the sum of its children.
    BottomUp,
    /// Every region keeps its own estimate; they do not add up.
    None,
}

impl Consistency {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Consistency); 4] = [
        (Consistency::Matching.word(), Consistency::Matching),
        (Consistency::MatchingUnweighted.word(), Consistency::MatchingUnweighted),
        (Consistency::BottomUp.word(), Consistency::BottomUp),
        (Consistency::None.word(), Consistency::None),
    ];

    pub fn parse(word: &str) -> Option<Consistency> {
        Consistency::WORDS.iter().find(|(known, _)| *known == word).map(|(_, c)| *c)
    }

    pub const fn word(self) -> &'static str {
        match self {
            Consistency::Matching => "matching",
            Consistency::MatchingUnweighted => "matching_unweighted",
            Consistency::BottomUp => "bottom_up",
            Consistency::None => "none",
        }
    }

    /// Whether regions of this level are measured.
    pub fn measures(self, level: usize, depth: usize) -> bool {
        self != Consistency::BottomUp || level + 1 == depth
    }

    /// One histogram per region from one estimate per region, in the tree's order. The estimates
    /// of a parent's children have as many groups together as the parent's, where both are
    /// measured. `checkpoint` is called once per region; it may unwind.
    pub(super) fn apply(
        self,
        tree: &Tree,
        estimates: Vec<Estimate>,
        checkpoint: &mut dyn FnMut(),
    ) -> Vec<Coco> {
        let merge = match self {
            Consistency::Matching => Merge::Weighted,
            Consistency::MatchingUnweighted => Merge::Mean,
            Consistency::BottomUp => return sums_of_leaves(tree, &estimates),
            Consistency::None => return estimates.iter().map(Estimate::histogram).collect(),
        };
        let mut estimates = estimates;
        for parent in 0..tree.leaves().start {
            checkpoint();
            let children = tree.regions()[parent].children.clone();
            let own: Vec<&Estimate> = estimates[children.clone()].iter().collect();
            let merged = match_and_merge(&estimates[parent], &own, merge);
            for (child, estimate) in children.zip(merged) {
                estimates[child] = estimate;
            }
        }
        sums_of_leaves(tree, &estimates)
    }
}

/// Back-substitution: what holds at the leaves holds above.
fn sums_of_leaves(tree: &Tree, estimates: &[Estimate]) -> Vec<Coco> {
    tree.sums(estimates[tree.leaves()].iter().map(Estimate::histogram).collect())
}
