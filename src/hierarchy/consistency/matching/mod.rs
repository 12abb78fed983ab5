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
use crate::work::{poll, share, share_and_tell};
use curve::{Curve, of_estimate};
use merge::match_and_merge;
use sharing::shared;
use std::borrow::Borrow;
use std::iter::{Empty, empty};
use std::num::NonZeroUsize;

/// To join what is known of a region with one run of a child takes about as long as so many draws.
const DRAWS_PER_RUN: u64 = 4;

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
                combined(tree, &noise, &estimates, known.threads, observer)
            }
            _ => {
                let threads = known.threads;
                matched(tree, known.estimates(), Merge::Weighted, threads, observer)
            }
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
        let (tree, threads) = (known.tree, known.threads);
        Consistent::exactly(matched(tree, known.estimates(), Merge::Mean, threads, observer))
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
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Vec<Coco> {
    for level in 0..tree.depth() - 1 {
        let parents = tree.level(level);
        let children = |place: usize| tree.regions()[parents.start + place].children.clone();
        let runs = |place| estimates[children(place)].iter().map(|child| child.runs().len() as u64);
        let works = (0..parents.len()).map(|place| DRAWS_PER_RUN * runs(place).sum::<u64>());
        let works: Vec<u64> = works.collect();
        let known = &estimates;
        let match_children = |place| {
            poll();
            let own: Vec<&Estimate> = known[children(place)].iter().collect();
            match_and_merge(&known[parents.start + place], &own, merge)
        };
        let merged = share_and_tell(&works, threads, match_children, || observer.parent_matched());
        // those of a level lie one after the other
        let below = tree.level(level + 1);
        estimates.splice(below, merged.into_iter().flatten());
    }
    sums_of_leaves(tree, &estimates)
}

/// One histogram per region from estimates by the cut. `noise`: of each level that is measured.
/// The regions of a level are shared by so many threads.
///
/// Curves of leaves are made one by one where they are needed, and their steps twice: there may be
/// millions of them.
fn combined(
    tree: &Tree,
    noise: &[Option<CutNoise>],
    estimates: &[Estimate],
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Vec<Coco> {
    let leaves = tree.leaves();
    let children = |region: usize| tree.regions()[region].children.clone();
    let work = |region: usize| {
        let runs = |child: usize| estimates[child].runs().len() as u64 + 1;
        DRAWS_PER_RUN * children(region).map(runs).sum::<u64>()
    };
    let of_leaf = |leaf: usize| {
        let noise = noise[tree.depth() - 1];
        noise.map_or_else(Curve::default, |noise| Curve::new(&estimates[leaf], noise, NO_CURVES))
    };
    if leaves.start == 0 {
        return vec![of_leaf(0).histogram()];
    }
    let mut curves = vec![Curve::default(); leaves.start];
    for level in (0..tree.depth() - 1).rev() {
        let regions = tree.level(level);
        let works: Vec<u64> = regions.clone().map(work).collect();
        let known = &curves;
        let joined = share(&works, threads, |place| {
            poll();
            let region = regions.start + place;
            let (below, estimate) = (children(region), &estimates[region]);
            if below.end > leaves.start {
                joined(estimate, noise[level], below.map(of_leaf))
            } else {
                joined(estimate, noise[level], known[below].iter())
            }
        });
        curves.splice(regions, joined);
    }
    let mut histograms = vec![curves[0].histogram()];
    for level in 0..tree.depth() - 1 {
        let regions = tree.level(level);
        let works: Vec<u64> = regions.clone().map(work).collect();
        let known = &histograms;
        let share_groups = |place: usize| {
            poll();
            let region = regions.start + place;
            let below = children(region);
            if below.end > leaves.start {
                let steps = below.map(|leaf| of_estimate(&estimates[leaf]));
                shared(&known[region], &steps.collect::<Vec<_>>())
            } else {
                shared(&known[region], &curves[below])
            }
        };
        let shares = share_and_tell(&works, threads, share_groups, || observer.parent_matched());
        // they follow on those of the parents before
        histograms.extend(shares.into_iter().flatten());
    }
    histograms
}

const NO_CURVES: Empty<Curve> = empty();

/// What is known of a region by itself, if it is measured, and by its children.
fn joined(
    estimate: &Estimate,
    noise: Option<CutNoise>,
    children: impl ExactSizeIterator<Item: Borrow<Curve>>,
) -> Curve {
    match noise {
        Some(noise) => Curve::new(estimate, noise, children),
        None => Curve::of_children(children),
    }
}
