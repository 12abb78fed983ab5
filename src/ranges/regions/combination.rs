//! Weighted least squares over the tree: estimates of each region by itself become estimates that
//! add up.
//!
//! Let y(v) be the estimate of region v by itself, s its variance, which is that of the level.
//!
//! *Up the tree* the own estimate is joined with the sum of the children's, by their precisions:
//! z(v) = p y(v) + (1 - p) S(v), with S(v) the sum of z over the children, u(v) the variance of
//! z(v), 1 / u(v) = 1 / s + 1 / U(v), U(v) the sum of u over the children, and p = u(v) / s. A leaf
//! has z = y; a level that is not measured has p = 0.
//!
//! *Down the tree* what the children miss is shared among them, by their variances: x = z at the
//! root, and x(c) = z(c) + b(c) (x(v) - S(v)), b(c) = u(c) / U(v), for each child c of v. These b
//! add up to 1, so the x of the children add up to that of v.
//!
//! These are the least-squares estimates (Hay et al. 2010, for any fan-out and variances): each
//! step joins independent unbiased estimates in the best way. The weights depend on the levels'
//! variances alone, and are the same for all bins: what adds up over the bins before does so after.
//!
//! # Exact variances
//!
//! Of v take x(v) = A z(v) + o, where o is made of measurements outside of v's subtree; for the root
//! A = 1 and o = 0. For a child c
//!
//! x(c) = z(c) + b (A (p y(v) + (1 - p) S(v)) + o - S(v))
//!      = (1 + b k) z(c) + b (A p y(v) + k (S(v) - z(c)) + o),   k = A (1 - p) - 1,
//!
//! so that A(c) = 1 + b k, and o(c) is the rest: y(v), the z of the siblings, and o have no
//! measurement in common, with each other or with z(c). So the squares of their coefficients add up,
//! level by level: what [`Combination::coefficients`] sums up. Whatever the weights are made for,
//! the variance of any linear function of the bins is the sum over the levels of these squares times
//! the variance that it has in a single region of the level.

use super::tree::RegionTree;
use crate::work::{Paced, done};

/// The variance of an estimate that joins one of this precision with another of that variance.
pub(super) fn joined(precision: f64, variance: f64) -> f64 {
    1.0 / (precision + 1.0 / variance)
}

/// The weights by which estimates are combined.
#[derive(Debug)]
pub(super) struct Combination<'a> {
    tree: &'a RegionTree,
    /// of each level's own estimates; 0 where there are none
    precisions: Vec<f64>,
    /// u: up the tree, of each region
    variances: Vec<f64>,
}

impl Combination<'_> {
    /// `precisions`: of the levels' own estimates, 1 / s; 0 for a level that is not measured. The
    /// last level is.
    pub(super) fn new(tree: &RegionTree, precisions: Vec<f64>) -> Combination<'_> {
        let of_leaves = 1.0 / precisions[tree.levels() - 1];
        let mut variances = vec![of_leaves; tree.regions()];
        for (level, region) in tree.parents().rev().paced() {
            let below: f64 = variances[tree.children(region)].iter().sum();
            variances[region] = joined(precisions[level], below);
        }
        Combination { tree, precisions, variances }
    }

    /// p: the weight of a region's own estimate.
    fn own(&self, level: usize, region: usize) -> f64 {
        self.precisions[level] * self.variances[region]
    }

    /// b: of the children of a region, each with its share of what they miss.
    fn shares(&self, region: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let children = self.tree.children(region);
        let all: f64 = self.variances[children.clone()].iter().sum();
        children.map(move |child| (child, self.variances[child] / all))
    }

    /// Makes estimates of the regions by themselves, of `width` numbers each, into combined ones.
    /// What stands for a region that was not measured is not looked at.
    pub(super) fn combine(&self, estimates: &mut [f64], width: usize) {
        let sum_up = |estimates: &[f64], region: usize| {
            let mut sums = vec![0.0; width];
            let children = self.tree.children(region);
            for child in estimates[children.start * width..children.end * width].chunks(width) {
                done(1 + width as u64 / 8);
                sums.iter_mut().zip(child).for_each(|(sum, value)| *sum += value);
            }
            sums
        };
        for (level, region) in self.tree.parents().rev() {
            let own = self.own(level, region);
            let sums = sum_up(estimates, region);
            for (value, sum) in estimates[region * width..].iter_mut().zip(sums) {
                *value = if own > 0.0 { own * *value + (1.0 - own) * sum } else { sum };
            }
        }
        for (_, region) in self.tree.parents() {
            let sums = sum_up(estimates, region);
            let (above, below) = estimates.split_at_mut(self.tree.children(region).start * width);
            let own = &above[region * width..(region + 1) * width];
            let missing: Vec<f64> = own.iter().zip(sums).map(|(own, sum)| own - sum).collect();
            for ((_, share), child) in self.shares(region).zip(below.chunks_mut(width)) {
                child.iter_mut().zip(&missing).for_each(|(value, part)| *value += share * part);
            }
        }
    }

    /// Of each region, for each level: the sum of the squares of the coefficients that the own
    /// estimates of the level's regions have in the combined one.
    pub(super) fn coefficients(&self) -> Vec<f64> {
        let levels = self.tree.levels();
        let mut of_z = vec![0.0; self.tree.regions() * levels];
        for leaf in self.tree.leaves() {
            of_z[leaf * levels + levels - 1] = 1.0;
        }
        for (level, region) in self.tree.parents().rev() {
            let own = self.own(level, region);
            let children = self.tree.children(region);
            done((children.len() * levels) as u64);
            for l in level + 1..levels {
                let below: f64 = children.clone().map(|child| of_z[child * levels + l]).sum();
                of_z[region * levels + l] = (1.0 - own).powi(2) * below;
            }
            of_z[region * levels + level] = own * own;
        }
        // A, and the squares of o, which become those of x
        let mut inside = vec![1.0; self.tree.regions()];
        let mut squares = vec![0.0; of_z.len()];
        let mut shares = vec![];
        for (level, region) in self.tree.parents() {
            let (own, of_self) = (self.own(level, region), inside[region]);
            let k = of_self * (1.0 - own) - 1.0;
            shares.clear();
            shares.extend(self.shares(region));
            done((shares.len() * levels) as u64);
            for l in 0..levels {
                let children = self.tree.children(region);
                let below: f64 = children.map(|child| of_z[child * levels + l]).sum();
                let own = if l == level { (of_self * own).powi(2) } else { 0.0 };
                let above = squares[region * levels + l];
                for &(child, share) in &shares {
                    // not negative, whatever the roundoff
                    let siblings = (below - of_z[child * levels + l]).max(0.0);
                    squares[child * levels + l] = share * share * (own + k * k * siblings + above);
                }
            }
            for &(child, share) in &shares {
                inside[child] = 1.0 + share * k;
            }
        }
        let of_regions = squares.chunks_mut(levels).zip(of_z.chunks(levels)).zip(inside);
        for ((squares, of_z), inside) in of_regions.paced() {
            squares.iter_mut().zip(of_z).for_each(|(square, z)| *square += inside * inside * z);
        }
        squares
    }
}
