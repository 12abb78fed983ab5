//! Consistency: from an estimate per region to histograms whose children sum to their parents.

use super::matching::{Merge, match_and_merge};
use super::pgsr::{NoisyCounts, pgsr};
use super::tree::Tree;
use crate::coco::{Coco, CocoMechanism, Estimate, Run};
use crate::noise::RandomWords;

/// How the regions' estimates are made to agree. Post-processing of released estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Top-down: groups matched at least cost, sizes merged by inverse variance (Kuo et al.,
    /// algorithm 1).
    Matching,
    /// The same with plain means, for comparison.
    MatchingUnweighted,
    /// The consistent numbers of groups of each size nearest to the noisy ones in the L2 norm, as
    /// exact integers (Fioretto, Van Hentenryck, Zhu 2020: with H this is M_H^dp, with Hc_l2
    /// M_c^dp). Of the public totals it keeps the root's alone.
    Pgsr,
    /// The leaves are all that is measured; every other region is the sum of its children.
    BottomUp,
    /// Every region keeps its own estimate; they do not add up.
    None,
}

impl Consistency {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Consistency); 5] = [
        (Consistency::Matching.word(), Consistency::Matching),
        (Consistency::MatchingUnweighted.word(), Consistency::MatchingUnweighted),
        (Consistency::BottomUp.word(), Consistency::BottomUp),
        (Consistency::Pgsr.word(), Consistency::Pgsr),
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
            Consistency::Pgsr => "pgsr",
            Consistency::None => "none",
        }
    }

    /// Whether regions of this level are measured.
    pub fn measures(self, level: usize, depth: usize) -> bool {
        self != Consistency::BottomUp || level + 1 == depth
    }

    /// One histogram per region from what was measured of each, in the tree's order. `total`: the
    /// root's public number of groups. `checkpoint` is called at least once per region; it may
    /// unwind.
    pub(super) fn apply(
        self,
        tree: &Tree,
        total: u64,
        measured: Vec<Measured>,
        checkpoint: &mut dyn FnMut(),
    ) -> Vec<Coco> {
        match self {
            Consistency::Matching => {
                top_down(tree, estimates(measured), Merge::Weighted, checkpoint)
            }
            Consistency::MatchingUnweighted => {
                top_down(tree, estimates(measured), Merge::Mean, checkpoint)
            }
            Consistency::BottomUp => sums_of_leaves(tree, &estimates(measured)),
            Consistency::Pgsr => nearest_counts(tree, total, &measured, checkpoint),
            Consistency::None => estimates(measured).iter().map(Estimate::histogram).collect(),
        }
    }

    /// What the method wants to know of a region that is measured.
    pub(super) fn measure<R: RandomWords + ?Sized>(
        self,
        mechanism: &CocoMechanism,
        truth: &Coco,
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> Measured {
        match self {
            Consistency::Pgsr => Measured::Counts {
                counts: mechanism.release_counts(truth, words, checkpoint),
                variance: mechanism.count_variance(),
            },
            _ => Measured::Estimate(mechanism.release(truth, words, checkpoint)),
        }
    }
}

/// What was released of a region, before consistency.
#[derive(Debug, Clone)]
pub(super) enum Measured {
    Estimate(Estimate),
    /// The noisy number of groups of each size from 0 on, all of one variance.
    Counts {
        counts: Vec<i64>,
        variance: f64,
    },
}

fn estimates(measured: Vec<Measured>) -> Vec<Estimate> {
    let estimate = |region| match region {
        Measured::Estimate(estimate) => estimate,
        Measured::Counts { .. } => Estimate::default(),
    };
    measured.into_iter().map(estimate).collect()
}

/// Kuo et al., algorithm 1. The estimates of a parent's children have as many groups together as
/// the parent's.
fn top_down(
    tree: &Tree,
    mut estimates: Vec<Estimate>,
    merge: Merge,
    checkpoint: &mut dyn FnMut(),
) -> Vec<Coco> {
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

/// The consistent integers nearest to all regions' counts, weighted by their inverse variances.
fn nearest_counts(
    tree: &Tree,
    total: u64,
    measured: &[Measured],
    checkpoint: &mut dyn FnMut(),
) -> Vec<Coco> {
    let sizes = measured.iter().map(|region| region.counts().0.len()).max().unwrap_or(0);
    let largest = NoisyCounts::largest(tree);
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    for region in measured {
        let (counts, variance) = region.counts();
        values.extend(counts.iter().map(|&count| (count as f64).clamp(-largest, largest)));
        values.resize(values.len() + sizes - counts.len(), 0.0);
        // without any noise the variance is 0 and all weights are the same
        let weight =
            (1.0 / variance).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end());
        weights.resize(values.len(), weight);
    }
    // equal weights are none: costs are then integers, and the optimum is exact
    let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
    let noisy = NoisyCounts::new(tree, sizes, &values, (!alike).then_some(&weights));
    let counts = pgsr(&noisy, Some(total), checkpoint);
    counts
        .chunks(sizes.max(1))
        .map(|region| {
            (0..).zip(region).map(|(size, &groups)| Run { size, groups }).collect::<Coco>()
        })
        .collect()
}

impl Measured {
    fn counts(&self) -> (&[i64], f64) {
        match self {
            Measured::Counts { counts, variance } => (counts, *variance),
            Measured::Estimate(_) => (&[], f64::INFINITY),
        }
    }
}

/// Back-substitution: what holds at the leaves holds above.
fn sums_of_leaves(tree: &Tree, estimates: &[Estimate]) -> Vec<Coco> {
    tree.sums(estimates[tree.leaves()].iter().map(Estimate::histogram).collect())
}
