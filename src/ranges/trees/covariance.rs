//! The exact variances of estimates that add up along a tree.
//!
//! The estimates of `flat`, `tree_consistent`, `quad`, `wavelet` (and of any cascade) have one
//! structure in common: given a node's estimated sum X, the estimates inside it are independent of
//! everything outside, and its children's have the covariance diag(d) - d d^T / S, where d holds
//! one number per child, its *slack*, S is their sum, and child c's mean moves with X by d_c / S.
//!
//! *Least squares* on a tree is the mean of a Gaussian posterior, where d_c is the variance of c's
//! best estimate from its own subtree alone. *Haar*: the children are (X + C)/2 and (X - C)/2 with
//! an independent C of variance v, which is the structure with both slacks v/2.
//!
//! A sum of estimates below a node, weighted in any way, is then known by two numbers: by alpha it
//! moves with X, and beta is its variance given X. From the children's,
//!
//!   alpha = sum d_c alpha_c / S,   beta = sum (beta_c + d_c alpha_c^2) - S alpha^2,
//!
//! and at the root the variance is beta + alpha^2 Var X. A range has alpha = 1, beta = 0 at a node
//! that it contains, alpha = beta = 0 at one that it does not meet, so that only the nodes around
//! its two ends need work.

use super::envelope::{Line, UpperEnvelope};
use super::shape::TreeShape;
use crate::work::{Paced, done};
use std::ops::Range;

/// What ends in one child is counted as work at a time, up to so many parts.
const PARTS_AT_A_TIME: usize = 1 << 12;

/// A number for every node of a level: all regular ones have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerNode {
    pub regular: f64,
    pub last: f64,
}

/// The covariance of the bins' estimates.
#[derive(Debug, Clone)]
pub struct TreeCovariance {
    shape: TreeShape,
    /// levels 0 .. h, without the root
    slacks: Vec<PerNode>,
    /// of the root's estimated sum
    root_variance: f64,
}

/// How a sum of estimates below a node depends on the node's own.
#[derive(Debug, Clone, Copy)]
struct PartBelow {
    alpha: f64,
    beta: f64,
}

/// Sums over all prefixes of a node that are not empty.
#[derive(Debug, Clone, Copy)]
struct PrefixMoments {
    count: f64,
    alpha: f64,
    alpha_square: f64,
    beta: f64,
}

impl PartBelow {
    const WHOLE: PartBelow = PartBelow { alpha: 1.0, beta: 0.0 };
}

impl TreeCovariance {
    /// `slacks`: of levels 0 .. h, all positive.
    pub fn new(shape: TreeShape, slacks: Vec<PerNode>, root_variance: f64) -> TreeCovariance {
        assert_eq!(slacks.len(), shape.height());
        TreeCovariance { shape, slacks, root_variance }
    }

    /// Of levels 0 .. h.
    pub fn slacks(&self) -> &[PerNode] {
        &self.slacks
    }

    fn slack(&self, level: usize, node: usize) -> f64 {
        let PerNode { regular, last } = self.slacks[level];
        if self.shape.is_last(level, node) { last } else { regular }
    }

    /// S of a regular node of a level above the leaves.
    fn regular_total(&self, level: usize) -> f64 {
        self.shape.branching() as f64 * self.slacks[level - 1].regular
    }

    /// S of the last node of a level above the leaves.
    fn last_total(&self, level: usize) -> f64 {
        let PerNode { regular, last } = self.slacks[level - 1];
        (self.shape.children_of_last(level) - 1) as f64 * regular + last
    }

    /// S of any node above the leaves.
    fn total(&self, level: usize, node: usize) -> f64 {
        if self.shape.is_last(level, node) {
            self.last_total(level)
        } else {
            self.regular_total(level)
        }
    }

    /// The variance of a range's sum, in O(h). The range lies within 0 .. N.
    pub fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let branching = self.shape.branching();
        // the nodes of the level that hold the range's ends, with what it is there
        let (mut left, mut right) = (range.start, range.end - 1);
        let (mut suffix, mut prefix) = (PartBelow::WHOLE, PartBelow::WHOLE);
        let mut level = 0;
        while left / branching != right / branching {
            let parent = right / branching;
            // a node with another to its right is regular, and so are its children
            let regular = self.slacks[level].regular;
            let (before, after) = (right % branching, branching - 1 - left % branching);
            suffix = suffix.beside(regular, after, regular, self.regular_total(level + 1));
            let (slack, total) = (self.slack(level, right), self.total(level + 1, parent));
            prefix = prefix.beside(slack, before, regular, total);
            (left, right, level) = (left / branching, parent, level + 1);
        }
        let mut part = suffix;
        if left != right {
            let regular = self.slacks[level].regular;
            let (slack, between) = (self.slack(level, right), (right - left - 1) as f64);
            let total = self.total(level + 1, right / branching);
            let alpha = (regular * (suffix.alpha + between) + slack * prefix.alpha) / total;
            let own = suffix.beta + regular * suffix.alpha.powi(2);
            let other = prefix.beta + slack * prefix.alpha.powi(2);
            part =
                PartBelow { alpha, beta: own + other + regular * between - total * alpha.powi(2) };
            (right, level) = (right / branching, level + 1);
        }
        while level < self.shape.height() {
            let (slack, total) =
                (self.slack(level, right), self.total(level + 1, right / branching));
            part = part.beside(slack, 0, 0.0, total);
            (right, level) = (right / branching, level + 1);
        }
        self.at_root(part)
    }

    /// The covariances of the bins' estimates with the sum Z of all of them, each times its weight,
    /// in O(N).
    ///
    /// With alpha as above for Z, a child's covariance given its parent's estimate is
    /// d_c (alpha_c - alpha), and d_c / S of the parent's comes with its own.
    pub fn covariances(&self, weights: &[f64]) -> Vec<f64> {
        let (shape, branching) = (self.shape, self.shape.branching());
        let mut alphas = vec![weights.to_vec()];
        for level in 1..=shape.height() {
            let below = alphas[level - 1].chunks(branching).enumerate().paced();
            let above = below.map(|(node, children)| {
                let (last, others) = children.split_last().expect("a child");
                let slack = self.slack(level - 1, node * branching + others.len());
                let own = self.slacks[level - 1].regular * others.iter().sum::<f64>();
                (own + slack * last) / self.total(level, node)
            });
            let above = above.collect();
            alphas.push(above);
        }
        let mut above = vec![self.root_variance * alphas[shape.height()][0]];
        for level in (0..shape.height()).rev() {
            let own = alphas[level].iter().enumerate().paced().map(|(node, alpha)| {
                let (slack, parent) = (self.slack(level, node), node / branching);
                let total = self.total(level + 1, parent);
                slack * (above[parent] / total + alpha - alphas[level + 1][parent])
            });
            above = own.collect();
        }
        above
    }

    fn at_root(&self, part: PartBelow) -> f64 {
        part.beta + part.alpha.powi(2) * self.root_variance
    }

    /// The mean variance over all ranges that are not empty, in O(h).
    ///
    /// With P_i the estimated sum of the first i bins, the variances of P_j - P_i over all
    /// 0 <= i < j <= N add up to (N + 1) sum Var P_i - Var (sum P_i).
    pub fn mean_over_all(&self) -> f64 {
        let bins = self.shape.bins() as f64;
        let sums = self.root_prefix_sums();
        let prefixes = sums.beta + sums.alpha_square * self.root_variance;
        let together = self.at_root(self.sum_of_prefixes());
        ((bins + 1.0) * prefixes - together) / (bins * (bins + 1.0) / 2.0)
    }

    /// Over all prefixes of the root.
    fn root_prefix_sums(&self) -> PrefixMoments {
        let leaf = PrefixMoments { count: 1.0, alpha: 1.0, alpha_square: 1.0, beta: 0.0 };
        let (mut regular, mut last) = (leaf, leaf);
        for level in 1..=self.shape.height() {
            let slacks = self.slacks[level - 1];
            let total = self.last_total(level);
            let before = self.shape.children_of_last(level) - 1;
            last = regular
                .beside_each(before, slacks.regular, slacks.regular, total)
                .plus(last.beside(slacks.last, before as f64, slacks.regular, total));
            let (branching, total) = (self.shape.branching(), self.regular_total(level));
            regular = regular.beside_each(branching, slacks.regular, slacks.regular, total);
        }
        last
    }

    /// The sum of all P_i, in which bin j, counted from 0, has the weight N - j.
    fn sum_of_prefixes(&self) -> PartBelow {
        let bins = self.shape.bins() as f64;
        // A regular node's alpha is the mean weight of its bins; beta is the same for all of them,
        // since it does not change when all weights do by the same amount.
        let mean_weight = |first: f64, width: f64| bins - first - (width - 1.0) / 2.0;
        let mut regular_beta = 0.0;
        let mut last = PartBelow { alpha: 1.0, beta: 0.0 };
        for level in 1..=self.shape.height() {
            let PerNode { regular, last: last_slack } = self.slacks[level - 1];
            let width = self.shape.width(level - 1) as f64;
            // sum of the squared deviations of n numbers that are `width` apart
            let scatter = |n: f64| width.powi(2) * (n.powi(3) - n) / 12.0;

            let before = (self.shape.children_of_last(level) - 1) as f64;
            let first = (self.shape.nodes(level) - 1) as f64 * self.shape.width(level) as f64;
            let alpha = mean_weight(first, before * width);
            let (own, total) = (before * regular, before * regular + last_slack);
            last = PartBelow {
                alpha: (own * alpha + last_slack * last.alpha) / total,
                beta: before * regular_beta
                    + last.beta
                    + regular * scatter(before)
                    + own * last_slack / total * (alpha - last.alpha).powi(2),
            };
            let branching = self.shape.branching() as f64;
            regular_beta = branching * regular_beta + regular * scatter(branching);
        }
        last
    }

    /// The largest variance of any range, in O(N log N).
    ///
    /// A range that ends in two children of the node p, m of which lie between, has the variance
    ///
    ///   beta_l + d_l alpha_l^2 + beta_r + d_r alpha_r^2 + m d
    ///     - k (d_l alpha_l + m d + d_r alpha_r)^2
    ///
    /// where k = (S - Var X_p) / S^2: its alpha at p is the last bracket over S. For one left end
    /// that is, up to terms of the right end alone, a line in x = m d + d_r alpha_r. So the best
    /// left end for every x is read off the upper envelope of the lines of all left ends. Among
    /// the regular nodes p of a level the one with the largest Var X_p has the largest variances.
    pub fn max_over_all(&self) -> f64 {
        let variances = self.largest_node_variances();
        let mut max = variances[0].regular.max(variances[0].last);
        let (mut regular, mut last) = (vec![PartBelow::WHOLE], vec![PartBelow::WHOLE]);
        for ((level, &slacks), variance) in (1..).zip(&self.slacks).zip(&variances[1..]) {
            let ends = Ends { regular: &regular, last: &last, slacks };
            let (children, total) = (self.shape.children_of_last(level), self.last_total(level));
            max = max.max(ends.max_at(children, total, variance.last));
            if level == self.shape.height() {
                break; // the root is the last node of its level and the only one
            }
            let last_prefixes = ends.prefixes(children, total);
            let slacks = PerNode { last: slacks.regular, ..slacks };
            let ends = Ends { regular: &regular, last: &regular, slacks };
            let (children, total) = (self.shape.branching(), self.regular_total(level));
            max = max.max(ends.max_at(children, total, variance.regular));
            (regular, last) = (ends.prefixes(children, total), last_prefixes);
        }
        max
    }

    /// Var X of the last node of each level 0 ..= h, and the largest of the regular nodes.
    fn largest_node_variances(&self) -> Vec<PerNode> {
        let height = self.shape.height();
        let root = PerNode { regular: 0.0, last: self.root_variance };
        let mut variances = vec![root; height + 1];
        for level in (1..=height).rev() {
            let PerNode { regular, last } = self.slacks[level - 1];
            let above = variances[level];
            let child = |slack: f64, total: f64, variance: f64| {
                slack - slack * slack / total + (slack / total).powi(2) * variance
            };
            let of_last = child(regular, self.last_total(level), above.last);
            let of_regular = child(regular, self.regular_total(level), above.regular);
            let mut largest = 0.0f64;
            if self.shape.children_of_last(level) > 1 {
                largest = of_last;
            }
            if self.shape.nodes(level) > 1 {
                largest = largest.max(of_regular);
            }
            variances[level - 1] =
                PerNode { regular: largest, last: child(last, self.last_total(level), above.last) };
        }
        variances
    }
}

impl PartBelow {
    /// At the parent: this part of one child, with `whole` other children in full.
    fn beside(self, slack: f64, whole: usize, whole_slack: f64, total: f64) -> PartBelow {
        let whole = whole as f64 * whole_slack;
        let alpha = (slack * self.alpha + whole) / total;
        let beta = self.beta + slack * self.alpha.powi(2) + whole - total * alpha.powi(2);
        PartBelow { alpha, beta }
    }
}

impl PrefixMoments {
    const NONE: PrefixMoments =
        PrefixMoments { count: 0.0, alpha: 0.0, alpha_square: 0.0, beta: 0.0 };

    fn plus(self, other: PrefixMoments) -> PrefixMoments {
        PrefixMoments {
            count: self.count + other.count,
            alpha: self.alpha + other.alpha,
            alpha_square: self.alpha_square + other.alpha_square,
            beta: self.beta + other.beta,
        }
    }

    /// [`PartBelow::beside`] summed over the prefixes.
    fn beside(self, slack: f64, whole: f64, whole_slack: f64, total: f64) -> PrefixMoments {
        self.beside_moments([1.0, whole, whole * whole], slack, whole_slack, total)
    }

    /// [`PartBelow::beside`] summed over the prefixes and over 0 .. `children` children in full.
    fn beside_each(
        self,
        children: usize,
        slack: f64,
        whole_slack: f64,
        total: f64,
    ) -> PrefixMoments {
        let n = children as f64;
        let moments = [n, n * (n - 1.0) / 2.0, n * (n - 1.0) * (2.0 * n - 1.0) / 6.0];
        if children == 0 {
            return PrefixMoments::NONE;
        }
        self.beside_moments(moments, slack, whole_slack, total)
    }

    /// `moments`: sums of 1, m and m^2 over the numbers m of other children in full.
    fn beside_moments(
        self,
        moments: [f64; 3],
        slack: f64,
        whole_slack: f64,
        total: f64,
    ) -> PrefixMoments {
        let [zeroth, first, second] = moments;
        let (a, d) = (slack, whole_slack);
        let alpha_square = (a * a * self.alpha_square * zeroth
            + 2.0 * a * d * self.alpha * first
            + d * d * self.count * second)
            / (total * total);
        PrefixMoments {
            count: self.count * zeroth,
            alpha: (a * self.alpha * zeroth + d * self.count * first) / total,
            alpha_square,
            beta: (self.beta + a * self.alpha_square) * zeroth + d * self.count * first
                - total * alpha_square,
        }
    }
}

/// What ranges can be at the children of a node where they end: prefixes of regular children, which
/// are their suffixes too by symmetry, and of the last child; in order of length.
#[derive(Clone, Copy)]
struct Ends<'a> {
    regular: &'a [PartBelow],
    last: &'a [PartBelow],
    slacks: PerNode,
}

impl Ends<'_> {
    /// The largest variance of a range that ends in two of the children.
    fn max_at(&self, children: usize, total: f64, variance: f64) -> f64 {
        let PerNode { regular, last } = self.slacks;
        let bend = (total - variance) / (total * total);
        // as a function of x: what the left end contributes, and its product with x
        let mut lines: Vec<Line> = self
            .regular
            .iter()
            .paced()
            .map(|part| {
                let own = regular * part.alpha;
                Line {
                    slope: -2.0 * bend * own,
                    offset: part.beta + own * part.alpha - bend * own * own,
                }
            })
            .collect();
        // alpha grows with a prefix's length
        if bend > 0.0 {
            lines.reverse();
        }
        let envelope = UpperEnvelope::new(lines.into_iter().paced());
        let mut max = 0.0f64;
        let mut right_ends = |parts: &[PartBelow], slack: f64, between: Range<usize>| {
            for between in between {
                let between = between as f64 * regular;
                for parts in parts.chunks(PARTS_AT_A_TIME) {
                    done(parts.len() as u64);
                    for part in parts {
                        let own = slack * part.alpha;
                        let x = between + own;
                        let right = part.beta + own * part.alpha + between - bend * x * x;
                        max = max.max(right + envelope.at(x));
                    }
                }
            }
        };
        // among regular children alone, and with the last one
        right_ends(self.regular, regular, 0..children.saturating_sub(2));
        right_ends(self.last, last, 0..children.saturating_sub(1));
        max
    }

    /// The prefixes of the node itself.
    fn prefixes(&self, children: usize, total: f64) -> Vec<PartBelow> {
        let PerNode { regular, last } = self.slacks;
        let before = children - 1;
        let mut prefixes = Vec::with_capacity(before * self.regular.len() + self.last.len());
        let mut extend = |parts: &[PartBelow], slack: f64, whole: usize| {
            for parts in parts.chunks(PARTS_AT_A_TIME) {
                done(parts.len() as u64);
                prefixes.extend(parts.iter().map(|part| part.beside(slack, whole, regular, total)));
            }
        };
        (0..before).for_each(|whole| extend(self.regular, regular, whole));
        extend(self.last, last, before);
        prefixes
    }
}
