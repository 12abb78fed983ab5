//! What is known of all regions before they agree: what a release has measured, or anyone's table.

use super::cells::NoisyCells;
use super::cut_noise::CutNoise;
use super::noisy_counts::{NoisyCounts, histograms};
use super::totals::KnownTotals;
use crate::coco::{Coco, Estimate};
use crate::hierarchy::tree::Tree;
use std::num::NonZeroUsize;

/// What a consistency method wants to know of every region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// An estimate of its histogram, with the public number of groups.
    Estimates,
    /// A noisy number of groups of each size.
    Counts,
    /// A noisy number of groups of each size or less.
    CumulativeCounts,
    /// Noisy running totals over all regions of a level, size by size.
    RunningTotals,
}

/// What is known of a tree's regions.
pub(in crate::hierarchy) struct KnownRegions<'a> {
    pub tree: &'a Tree,
    pub evidence: Evidence<'a>,
    pub totals: Option<KnownTotals<'a>>,
    /// The most that may work at a time; what comes out does not depend on it.
    pub threads: NonZeroUsize,
}

/// Of the [`Quantity`] that the method wants.
pub(in crate::hierarchy) enum Evidence<'a> {
    Estimates {
        /// Of each region, in the tree's order.
        estimates: Vec<Estimate>,
        /// Of each level, where the cut has made all estimates; None for a level that is not
        /// measured.
        cut_noise: Option<Vec<Option<CutNoise>>>,
    },
    Cells {
        cells: NoisyCells<'a>,
        /// Ascending; those from 0 on where there are none.
        sizes: Option<&'a [u64]>,
    },
}

/// What became of a noisy hierarchy.
#[derive(Debug, Clone)]
pub struct Consistent {
    /// One per region, in the tree's order.
    pub histograms: Vec<Coco>,
    /// How far `cumulative`, before its numbers were rounded, was from the optimum at most, as a
    /// share of its cost; 0 for the other methods.
    pub gap: f64,
}

impl Consistent {
    pub(super) fn exactly(histograms: Vec<Coco>) -> Consistent {
        Consistent { histograms, gap: 0.0 }
    }
}

impl KnownRegions<'_> {
    /// Where the method wants [`Quantity::Estimates`].
    pub(super) fn estimates(self) -> Vec<Estimate> {
        match self.evidence {
            Evidence::Estimates { estimates, .. } => estimates,
            Evidence::Cells { .. } => vec![Estimate::default(); self.tree.regions().len()],
        }
    }

    /// Where the method wants cells: the histograms of the counts that solve for them, and the gap.
    pub(super) fn solved(
        self,
        solve: impl FnOnce(&NoisyCounts, Option<KnownTotals>) -> (Vec<u64>, f64),
    ) -> Consistent {
        let KnownRegions { tree, evidence, totals, .. } = self;
        let (cells, sizes) = match evidence {
            Evidence::Cells { cells, sizes } => (cells, sizes),
            Evidence::Estimates { .. } => (NoisyCells::measured(tree, vec![]), None),
        };
        let (counts, gap) = solve(&cells.counts(tree), totals);
        drop(cells);
        let histograms = match sizes {
            Some(sizes) => histograms(tree, sizes.iter().copied(), &counts),
            None => histograms(tree, 0.., &counts),
        };
        Consistent { histograms, gap }
    }

    /// As [`KnownRegions::solved`], by an exact solver that keeps the root's total if it is given.
    pub(super) fn solved_exactly(
        self,
        solve: fn(&NoisyCounts, Option<u64>) -> Vec<u64>,
    ) -> Consistent {
        self.solved(|noisy, totals| (solve(noisy, totals.map(KnownTotals::root)), 0.0))
    }
}
