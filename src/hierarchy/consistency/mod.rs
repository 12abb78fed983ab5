//! Consistency: from what was measured per region to histograms whose children sum to their
//! parents.

use super::chain::chain;
use super::cumulative::{Totals, cumulative};
use super::curve::{Curve, Noise};
use super::matching::{Merge, match_and_merge};
use super::measurement::{Cells, Measured, estimates};
use super::noisy_counts::{NoisyCounts, histograms};
use super::pgsr::pgsr;
use super::plan::ReleasePlan;
use super::release::Observer;
use super::sharing::shared;
use super::topdown::topdown;
use super::tree::Tree;
use crate::coco::{Coco, Estimate, Method};
use crate::work::poll;

/// How the regions' histograms are made to agree. Post-processing of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Top-down: groups matched at least cost, sizes merged by inverse variance (Kuo et al.,
    /// algorithm 1). Where the cut measures every level, least squares up the tree and a matching
    /// down it: [`curve`](super::curve), [`sharing`](super::sharing).
    Matching,
    /// The same with plain means, for comparison.
    MatchingUnweighted,
    /// The consistent numbers of groups of each size nearest to the noisy ones in the L2 norm, as
    /// exact integers (Fioretto, Van Hentenryck, Zhu 2020: with H this is M_H^dp, with Hc_l2
    /// M_c^dp). Of the public totals it keeps the root's alone.
    Pgsr,
    /// The same numbers, but level by level: each parent's shared among its children (TopDown in
    /// the same paper).
    TopDown,
    /// The same with cumulative counts, as near as a solver comes and then rounded (M_c in the same
    /// paper, without its violations). It keeps all public totals.
    Cumulative,
    /// Running totals over all regions of a level, and the consistent ones nearest to them (M_c^ch
    /// in the same paper, with a sensitivity that makes it private: [`chain`](super::chain)).
    Chain,
    /// The leaves are all that is measured; every other region is the sum of its children.
    BottomUp,
    /// Every region keeps its own estimate; they do not add up.
    None,
}

impl Consistency {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Consistency); 8] = [
        (Consistency::Matching.word(), Consistency::Matching),
        (Consistency::MatchingUnweighted.word(), Consistency::MatchingUnweighted),
        (Consistency::BottomUp.word(), Consistency::BottomUp),
        (Consistency::Pgsr.word(), Consistency::Pgsr),
        (Consistency::TopDown.word(), Consistency::TopDown),
        (Consistency::Cumulative.word(), Consistency::Cumulative),
        (Consistency::Chain.word(), Consistency::Chain),
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
            Consistency::TopDown => "topdown",
            Consistency::Cumulative => "cumulative",
            Consistency::Chain => "chain",
            Consistency::None => "none",
        }
    }

    /// The word for the estimator that is best with a consistency method.
    pub const AUTO: &'static str = "auto";

    /// The estimator that a word means with this method. What solves for cells wants all of them
    /// measured; elsewhere the cut is the most accurate (docs/accuracy.md).
    pub fn estimator(self, word: &str) -> Option<Method> {
        match word {
            Consistency::AUTO if self.is_dense() => Some(Method::Hc),
            Consistency::AUTO => Some(Method::Cut),
            _ => Method::parse(word),
        }
    }

    /// Whether regions of this level are measured.
    pub fn measures(self, level: usize, depth: usize) -> bool {
        self != Consistency::BottomUp || level + 1 == depth
    }

    /// Whether an estimator has a meaning with this method. Running totals are cumulative counts, and
    /// these are fitted in the L2 norm in any case.
    pub fn takes(self, estimator: Method) -> bool {
        match self {
            Consistency::Cumulative | Consistency::Chain => {
                matches!(estimator, Method::Hc | Method::HcL2)
            }
            _ => true,
        }
    }

    /// Whether the method holds a number for every region and size at once.
    pub fn is_dense(self) -> bool {
        match self {
            Consistency::Pgsr
            | Consistency::TopDown
            | Consistency::Cumulative
            | Consistency::Chain => true,
            Consistency::Matching
            | Consistency::MatchingUnweighted
            | Consistency::BottomUp
            | Consistency::None => false,
        }
    }

    /// How many parents' groups are matched with their children's.
    pub fn parents_to_match(self, tree: &Tree) -> usize {
        match self {
            Consistency::Matching | Consistency::MatchingUnweighted => tree.leaves().start,
            _ => 0,
        }
    }

    /// One histogram per region from what was measured of each by a plan, in the tree's order. `totals`:
    /// the regions' public numbers of groups. The observer's checkpoint is called at least once per
    /// region; it may unwind.
    pub(super) fn apply(
        plan: &ReleasePlan,
        tree: &Tree,
        totals: &[u64],
        measured: Vec<Measured>,
        observer: &mut dyn Observer,
    ) -> Vec<Coco> {
        let of_root =
            |solve: Solve| move |noisy: &NoisyCounts| solve(noisy, totals.first().copied());
        match plan.consistency() {
            Consistency::Matching => match plan.noise_of_cuts() {
                Some(noise) => combined(tree, &noise, &estimates(measured), observer),
                None => matched(tree, estimates(measured), Merge::Weighted, observer),
            },
            Consistency::MatchingUnweighted => {
                matched(tree, estimates(measured), Merge::Mean, observer)
            }
            Consistency::BottomUp => sums_of_leaves(tree, &estimates(measured)),
            Consistency::Pgsr => solved(tree, measured, of_root(pgsr)),
            Consistency::TopDown => solved(tree, measured, of_root(topdown)),
            Consistency::Chain => solved(tree, measured, of_root(chain)),
            Consistency::Cumulative => {
                let totals = Totals::Regions(totals);
                let solve = |noisy: &NoisyCounts| cumulative(noisy, totals).counts;
                solved(tree, measured, solve)
            }
            Consistency::None => {
                let histogram = |estimate: &Estimate| {
                    poll();
                    estimate.histogram()
                };
                estimates(measured).iter().map(histogram).collect()
            }
        }
    }
}

/// A dense method that keeps the root's total if it is given.
type Solve = fn(&NoisyCounts, Option<u64>) -> Vec<u64>;

/// One histogram per region from an estimate of each, in the tree's order: Kuo et al., algorithm 1.
/// The estimates of a parent's children have as many groups together as the parent's.
///
/// `checkpoint` is called for every parent; it may unwind.
///
/// Panics where a region has no estimate.
pub fn matched(
    tree: &Tree,
    mut estimates: Vec<Estimate>,
    merge: Merge,
    observer: &mut dyn Observer,
) -> Vec<Coco> {
    for parent in 0..tree.leaves().start {
        poll();
        let children = tree.regions()[parent].children.clone();
        let own: Vec<&Estimate> = estimates[children.clone()].iter().collect();
        let merged = match_and_merge(&estimates[parent], &own, merge);
        for (child, estimate) in children.zip(merged) {
            estimates[child] = estimate;
        }
        observer.parent_matched();
    }
    sums_of_leaves(tree, &estimates)
}

/// The same from estimates by the cut. `noise`: of each level.
fn combined(
    tree: &Tree,
    noise: &[Noise],
    estimates: &[Estimate],
    observer: &mut dyn Observer,
) -> Vec<Coco> {
    let mut curves = vec![Curve::default(); estimates.len()];
    for (level, noise) in noise.iter().enumerate().rev() {
        for region in tree.level(level) {
            poll();
            let children = &curves[tree.regions()[region].children.clone()];
            curves[region] = Curve::new(&estimates[region], *noise, children);
        }
    }
    let mut histograms = vec![curves[0].histogram()];
    for parent in 0..tree.leaves().start {
        poll();
        // they follow on those of the parents before
        let children = &curves[tree.regions()[parent].children.clone()];
        let shares = shared(&histograms[parent], children);
        histograms.extend(shares);
        observer.parent_matched();
    }
    histograms
}

/// The consistent counts that a dense method makes of all regions' cells.
fn solved(
    tree: &Tree,
    measured: Vec<Measured>,
    solve: impl Fn(&NoisyCounts) -> Vec<u64>,
) -> Vec<Coco> {
    let cells = Cells::new(tree, measured);
    let counts = solve(&cells.noisy(tree));
    drop(cells);
    histograms(tree, 0.., &counts)
}

/// Back-substitution: what holds at the leaves holds above.
fn sums_of_leaves(tree: &Tree, estimates: &[Estimate]) -> Vec<Coco> {
    let leaves = estimates[tree.leaves()].iter().map(|leaf| {
        poll();
        leaf.histogram()
    });
    let leaves = leaves.collect();
    tree.sums(leaves)
}
