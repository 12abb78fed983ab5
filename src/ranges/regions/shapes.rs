//! How the levels share a budget.
//!
//! What is made least is the geometric mean over the levels of the mean variance of a level's regions
//! over the ranges of the target, so that no level is given up for another: a tenth off the root's
//! variance is worth what a tenth off the counties' is, however many these are. Among all divisions
//! by which the mean over all regions is not above that of either release that needs no combination:
//! each level by itself with an equal share, and the leaves alone. In that mean no level drowns: with
//! all of the budget in the leaves, each level's variances have the same sum, that of all leaves.
//!
//! It depends on the shape of the tree alone, exactly, but that a variance is taken to grow with a
//! level's noise as the mean of its groups does. Regions of one parent whose subtrees have the same
//! shape are alike, and there are far fewer kinds of them than regions.
//!
//! There can be several minima; descents from the leaves alone and from equal shares end at none that
//! is worse than either, and one of the two is a division that is allowed.

use super::combination::joined;
use super::tree::RegionTree;
use crate::privacy::best_parts;
use crate::work::{Paced, done};
use std::collections::HashMap;
use std::ops::Range;

/// Shares are hundredths.
const PARTS: usize = 100;

/// Of the logarithms of means that are the same.
const ROUNDOFF: f64 = 1e-9;

/// More than any sum of logarithms of variances.
const NOT_ALLOWED: f64 = 1e6;

/// Regions that are alike, as a tree, the root first.
struct Shape {
    level: usize,
    /// how many a parent has
    siblings: f64,
    /// how many there are
    regions: f64,
    children: Range<usize>,
}

/// The tree of regions with those together that are alike.
pub(super) struct Shapes(Vec<Shape>);

impl Shapes {
    pub(super) fn of(tree: &RegionTree) -> Shapes {
        // kinds of subtrees: how many children of which kinds
        let mut kinds: Vec<Vec<(usize, usize)>> = vec![vec![]];
        let mut known: HashMap<Vec<(usize, usize)>, usize> = HashMap::new();
        let mut of_regions = vec![0; tree.regions()];
        for (_, region) in tree.parents().rev().paced() {
            let mut below = of_regions[tree.children(region)].to_vec();
            done(below.len() as u64);
            below.sort_unstable();
            let kind: Vec<(usize, usize)> =
                below.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
            of_regions[region] = *known.entry(kind).or_insert_with_key(|kind| {
                kinds.push(kind.clone());
                kinds.len() - 1
            });
        }
        let mut shapes = vec![Shape { level: 0, siblings: 1.0, regions: 1.0, children: 0..0 }];
        let mut kind_of = vec![of_regions[0]];
        let mut next = 0;
        while let Some(&kind) = kind_of.get(next) {
            done(1);
            let (level, regions, first) = (shapes[next].level, shapes[next].regions, shapes.len());
            for &(kind, siblings) in &kinds[kind] {
                let siblings = siblings as f64;
                let regions = regions * siblings;
                shapes.push(Shape { level: level + 1, siblings, regions, children: 0..0 });
                kind_of.push(kind);
            }
            shapes[next].children = first..shapes.len();
            next += 1;
        }
        Shapes(shapes)
    }

    /// The mean variance of a region's combined estimate, from the precisions of the levels' own;
    /// infinite where the leaves have none.
    pub(super) fn mean_variance(&self, precisions: &[f64]) -> f64 {
        mean_over_regions(&self.level_variances(precisions))
    }

    /// Of each level the sum of those variances, and the number of its regions.
    fn level_variances(&self, precisions: &[f64]) -> Vec<(f64, f64)> {
        let Shapes(shapes) = self;
        done(shapes.len() as u64);
        if precisions.last() == Some(&0.0) {
            return vec![(f64::INFINITY, 1.0); precisions.len()];
        }
        let mut up = vec![0.0; shapes.len()];
        let below = |up: &[f64], shape: &Shape| -> f64 {
            shape.children.clone().map(|child| shapes[child].siblings * up[child]).sum()
        };
        for (shape, of) in shapes.iter().enumerate().rev() {
            let precision = precisions[of.level];
            let is_leaf = of.children.is_empty();
            up[shape] = if is_leaf { 1.0 / precision } else { joined(precision, below(&up, of)) };
        }
        // down the tree a region keeps the part 1 - b of its variance, and gets the part b^2 of its
        // parent's, b its share of the children's variances
        let mut down = up.clone();
        let mut levels = vec![(0.0, 0.0); precisions.len()];
        for (shape, of) in shapes.iter().enumerate() {
            let (sum, regions) = &mut levels[of.level];
            *sum += of.regions * down[shape];
            *regions += of.regions;
            let all = below(&up, of);
            for child in of.children.clone() {
                let share = up[child] / all;
                down[child] = up[child] * (1.0 - share) + share * share * down[shape];
            }
        }
        levels
    }

    /// The best shares of the levels. `precision`: of a level's own estimate with such a share of the
    /// budget.
    pub(super) fn best_shares(&self, levels: usize, precision: impl Fn(f64) -> f64) -> Vec<f64> {
        let share = |parts: usize| parts as f64 / PARTS as f64;
        let precisions: Vec<f64> = (0..=PARTS).map(|parts| precision(share(parts))).collect();
        let mut leaves_alone = vec![0.0; levels];
        leaves_alone[levels - 1] = precisions[PARTS];
        let by_themselves = 1.0 / precision(1.0 / levels as f64);
        let most = self.mean_variance(&leaves_alone).min(by_themselves);
        let (_, parts) = best_parts(levels, PARTS, |parts| {
            let precisions: Vec<f64> = parts.iter().map(|parts| precisions[*parts]).collect();
            let variances = self.level_variances(&precisions);
            let excess = (mean_over_regions(&variances) / most).ln();
            let logarithms = variances.iter().map(|(sum, regions)| (sum / regions).ln());
            // any that is allowed, before one that is not
            if excess <= ROUNDOFF { logarithms.sum() } else { NOT_ALLOWED + excess }
        });
        parts.into_iter().map(share).collect()
    }
}

/// Of the levels' sums and numbers of regions.
fn mean_over_regions(levels: &[(f64, f64)]) -> f64 {
    let sum = |of: fn(&(f64, f64)) -> f64| levels.iter().map(of).sum::<f64>();
    sum(|level| level.0) / sum(|level| level.1)
}
