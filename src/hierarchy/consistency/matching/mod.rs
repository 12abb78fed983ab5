//! `matching` and `matching_unweighted`: top-down, groups matched at least cost, sizes merged (Kuo
//! et al., algorithm 1). Where the cut measures every level, `matching` is least squares up the
//! tree and a matching down it: [`curve`], [`sharing`].

mod curve;
mod merge;
mod sharing;

pub use merge::Merge;

use super::bottom_up::sums_of_leaves;
use super::cut_noise::CutNoise;
use super::known_regions::{Consistent, Evidence, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use crate::coco::{Coco, Estimate, Estimator};
use crate::hierarchy::observer::Observer;
use crate::hierarchy::tree::Tree;
use crate::work::poll;
use curve::Curve;
use merge::match_and_merge;
use sharing::shared;

/// Sizes merged by inverse variance.
pub(super) struct Matching;

/// With plain means, for comparison.
pub(super) struct MatchingUnweighted;

impl ConsistencyMethod for Matching {
    fn name(&self) -> &'static str {
        "matching"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Estimates
    }

    fn auto(&self) -> Estimator {
        Estimator::Cut
    }

    /// Where the cut measures all levels.
    fn weighs_levels(&self) -> bool {
        true
    }

    fn parents_to_match(&self, tree: &Tree) -> usize {
        tree.leaves().start
    }

    fn consistent(&self, known: KnownRegions, observer: &mut dyn Observer) -> Consistent {
        let tree = known.tree;
        Consistent::exactly(match known.evidence {
            Evidence::Estimates { estimates, cut_noise: Some(noise) } => {
                combined(tree, &noise, &estimates, observer)
            }
            _ => matched(tree, known.estimates(), Merge::Weighted, observer),
        })
    }
}

impl ConsistencyMethod for MatchingUnweighted {
    fn name(&self) -> &'static str {
        "matching_unweighted"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Estimates
    }

    fn auto(&self) -> Estimator {
        Estimator::Cut
    }

    fn parents_to_match(&self, tree: &Tree) -> usize {
        tree.leaves().start
    }

    fn consistent(&self, known: KnownRegions, observer: &mut dyn Observer) -> Consistent {
        let tree = known.tree;
        Consistent::exactly(matched(tree, known.estimates(), Merge::Mean, observer))
    }
}

/// One histogram per region from an estimate of each, in the tree's order: Kuo et al., algorithm 1.
/// The estimates of a parent's children have as many groups together as the parent's.
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

/// One histogram per region from estimates by the cut. `noise`: of each level that is measured.
fn combined(
    tree: &Tree,
    noise: &[Option<CutNoise>],
    estimates: &[Estimate],
    observer: &mut dyn Observer,
) -> Vec<Coco> {
    let mut curves = vec![Curve::default(); estimates.len()];
    for (level, noise) in noise.iter().enumerate().rev() {
        for region in tree.level(level) {
            poll();
            let children = &curves[tree.regions()[region].children.clone()];
            curves[region] = match noise {
                Some(noise) => Curve::new(&estimates[region], *noise, children),
                None => Curve::of_children(children),
            };
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
