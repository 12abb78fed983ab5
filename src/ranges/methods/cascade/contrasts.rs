//! The integers of a cascade, without their noise.

use super::tree::TreeOverBins;
use crate::ranges::workload::UNITS_PER_VARIANCE;
use crate::work::{Paced, done};
use num_rational::Ratio;
use num_traits::AsPrimitive;
use std::ops::Range;

/// The integers that a cascade measures over one tree, whatever their noise.
///
/// They come in the order of the laws: the total, then, for each number of children m that a node
/// has and each j = 1 .. m - 1, contrast j of all nodes with m children, breadth first.
#[derive(Debug, Clone)]
pub(in crate::ranges) struct Contrasts {
    pub(super) tree: TreeOverBins,
    laws: Vec<ContrastLaw>,
    /// By number of children m, the law of contrast 1; as long as the most children need.
    pub(super) first_law: Vec<usize>,
}

/// Measurements that have the same noise.
#[derive(Debug, Clone, Copy)]
pub(in crate::ranges) struct ContrastLaw {
    /// The noise's variance in units of the total's.
    pub(in crate::ranges) weight: Ratio<u64>,
    pub(in crate::ranges) measurements: usize,
}

/// The variance of contrast j of m children, in units of the total's.
pub(super) fn contrast_weight(m: usize, j: usize) -> Ratio<u64> {
    Ratio::new(((m + 1) * j * (j + 1)) as u64, m as u64)
}

/// Where the next contrasts of nodes with each number of children are among the measurements.
struct Places<'a> {
    contrasts: &'a Contrasts,
    /// of each law, its first measurement
    firsts: Vec<usize>,
    /// by number of children, the nodes that were passed
    passed: Vec<usize>,
}

impl Places<'_> {
    /// The places of the contrasts 1 .. m - 1 of the next node, breadth first, which has m
    /// children.
    fn next(&mut self, m: usize) -> impl Iterator<Item = usize> {
        let node = self.passed[m];
        self.passed[m] += 1;
        let law = self.contrasts.first_law[m];
        self.firsts[law..law + m.saturating_sub(1)].iter().map(move |first| first + node)
    }
}

impl Contrasts {
    pub(in crate::ranges) fn new(tree: TreeOverBins) -> Contrasts {
        let most = (0..tree.nodes()).map(|node| tree.children(node).len()).max().unwrap_or(0);
        let mut nodes_with = vec![0; most + 1];
        (0..tree.nodes()).for_each(|node| nodes_with[tree.children(node).len()] += 1);
        let mut laws = vec![ContrastLaw { weight: Ratio::from(1), measurements: 1 }];
        let mut first_law = Vec::with_capacity(nodes_with.len());
        for (m, measurements) in nodes_with.into_iter().enumerate() {
            first_law.push(laws.len());
            if measurements > 0 {
                laws.extend(
                    (1..m).map(|j| ContrastLaw { weight: contrast_weight(m, j), measurements }),
                );
            }
        }
        Contrasts { tree, laws, first_law }
    }

    pub(in crate::ranges) fn bins(&self) -> usize {
        self.tree.bins()
    }

    pub(in crate::ranges) fn laws(&self) -> &[ContrastLaw] {
        &self.laws
    }

    /// The square of the distance of a row, in units of the total's noise.
    pub(in crate::ranges) fn sensitivity_squared(&self) -> Ratio<u64> {
        self.tree.sensitivity_squared()
    }

    /// No integer exceeds the sum of the counts' magnitudes times this: contrast j is the
    /// difference of j sums and j times another one.
    pub(in crate::ranges) fn largest_factor(&self) -> u64 {
        self.first_law.len() as u64
    }

    fn places(&self) -> Places<'_> {
        let firsts = self.laws.iter().scan(0, |next, law| {
            *next += law.measurements;
            Some(*next - law.measurements)
        });
        let firsts = firsts.collect();
        Places { contrasts: self, firsts, passed: vec![0; self.first_law.len()] }
    }

    pub(in crate::ranges) fn measure(&self, counts: &[impl AsPrimitive<i64>]) -> Vec<i64> {
        let tree = &self.tree;
        let mut sums = vec![0i64; tree.nodes()];
        for node in (0..tree.nodes()).rev().paced() {
            sums[node] = match tree.children(node) {
                leaf if leaf.is_empty() => counts[tree.first_bin(node)].as_(),
                children => sums[children].iter().sum(),
            };
        }
        let mut measured = vec![0; tree.bins()];
        measured[0] = sums[0];
        let mut places = self.places();
        for node in (0..tree.nodes()).paced() {
            let children = &sums[tree.children(node)];
            let mut before = 0;
            for (j, place) in (1..).zip(places.next(children.len())) {
                before += children[j - 1];
                measured[place] = before - j as i64 * children[j];
            }
        }
        measured
    }

    /// The estimate of every bin from what is measured with noise; linear, and the inverse of
    /// [`Contrasts::measure`].
    pub(in crate::ranges) fn bin_estimates(&self, noisy: &[impl AsPrimitive<f64>]) -> Vec<f64> {
        let nodes = self.node_estimates(noisy);
        let mut bins = vec![0.0; self.tree.bins()];
        for (node, estimate) in nodes.into_iter().enumerate() {
            if self.tree.is_leaf(node) {
                bins[self.tree.first_bin(node)] = estimate;
            }
        }
        bins
    }

    /// The estimate of every node's sum, breadth first, from the noisy integers.
    ///
    /// Unbiased, and equal to the sum of the children's up to the roundoff of `f64`. In binary
    /// trees of depth k the quotients are dyadic, and exact while integers are below 2^(52 - k).
    pub(super) fn node_estimates(&self, noisy: &[impl AsPrimitive<f64>]) -> Vec<f64> {
        let tree = &self.tree;
        let mut estimates = vec![0.0; tree.nodes()];
        estimates[0] = noisy[0].as_();
        let mut places = self.places();
        let mut contrasts: Vec<f64> = Vec::new();
        for node in (0..tree.nodes()).paced() {
            let children = tree.children(node);
            contrasts.clear();
            contrasts.extend(places.next(children.len()).map(|place| noisy[place].as_()));
            let share = estimates[node] / children.len() as f64;
            // child j has h_j = -j, and 1 in all the contrasts after it
            let mut after = 0.0;
            for (j, child) in children.enumerate().rev() {
                estimates[child] = share + after;
                if j > 0 {
                    estimates[child] -= contrasts[j - 1] / (j + 1) as f64;
                    after += contrasts[j - 1] / (j * (j + 1)) as f64;
                }
            }
        }
        estimates
    }

    /// The part of the estimates in `range` that a node hands down to them, as a multiple of its
    /// own estimate; `add` gets the factors of the contrasts below it, with their laws.
    ///
    /// Those are independent of the node's estimate and of one another.
    fn share_of(
        &self,
        node: usize,
        span: Range<usize>,
        range: &Range<usize>,
        add: &mut impl FnMut(usize, f64),
    ) -> f64 {
        if range.start <= span.start && span.end <= range.end {
            return 1.0;
        }
        if range.end <= span.start || span.end <= range.start {
            return 0.0;
        }
        let shares =
            self.tree.spans(node, span.end).map(|(c, span)| self.share_of(c, span, range, add));
        let shares: Vec<f64> = shares.collect();
        self.combine(&shares, add)
    }

    /// The share of a node from its children's, of which there are some.
    fn combine(&self, shares: &[f64], add: &mut impl FnMut(usize, f64)) -> f64 {
        let laws = self.first_law[shares.len()]..;
        let mut before = shares[0];
        for ((j, share), law) in (1..).zip(&shares[1..]).zip(laws) {
            // h_j . shares / |h_j|^2
            add(law, (before - j as f64 * share) / (j * (j + 1)) as f64);
            before += share;
        }
        before / shares.len() as f64
    }

    /// The squares of the measurements' factors in the estimated sum of a range, each with its law.
    /// Time: fan-out times depth.
    pub(in crate::ranges) fn squares(&self, range: &Range<usize>, mut add: impl FnMut(usize, f64)) {
        if !range.is_empty() {
            let mut squared = |law, factor: f64| add(law, factor * factor);
            let share = self.share_of(0, 0..self.tree.bins(), range, &mut squared);
            squared(0, share);
        }
    }

    /// Of each node its share of the sum of the bins' estimates times `weights`; `add` gets the
    /// factors of all contrasts.
    fn shares(&self, weights: &[f64], mut add: impl FnMut(usize, f64)) -> Vec<f64> {
        let mut shares = vec![0.0; self.tree.nodes()];
        for node in (0..self.tree.nodes()).rev().paced() {
            shares[node] = match self.tree.children(node) {
                leaf if leaf.is_empty() => weights[self.tree.first_bin(node)],
                children => self.combine(&shares[children], &mut add),
            };
        }
        shares
    }

    /// The covariances of the bins' estimates with the sum of all of them, each times its weight, if
    /// the laws have these variances: the estimates from what the sum has of each measurement, times
    /// its variance.
    pub(super) fn covariances(&self, weights: &[f64], variances: &[f64]) -> Vec<f64> {
        let tree = &self.tree;
        let shares = self.shares(weights, |_, _| ());
        let mut measured = vec![0.0; tree.bins()];
        measured[0] = shares[0] * variances[0];
        let mut places = self.places();
        for node in (0..tree.nodes()).paced() {
            let children = &shares[tree.children(node)];
            let mut places = places.next(children.len());
            if !children.is_empty() {
                self.combine(children, &mut |law, factor| {
                    places.next().into_iter().for_each(|p| measured[p] = factor * variances[law]);
                });
            }
        }
        self.bin_estimates(&measured)
    }

    /// For each law, the sum of the squares of a range, in the mean over all ranges that are not
    /// empty.
    pub(in crate::ranges) fn mean_squares(&self) -> Vec<f64> {
        let bins = self.tree.bins();
        let mut sums = vec![0.0; self.laws.len()];
        // a range is a difference of two of the n + 1 prefixes P, the empty one among them: the sum
        // of the squares of P_i - P_j over pairs is (n + 1) sum P_i^2 - (sum P_i)^2
        for end in 1..=bins {
            done(UNITS_PER_VARIANCE);
            self.squares(&(0..end), |law, square| sums[law] += (bins + 1) as f64 * square);
        }
        let weights: Vec<f64> = (1..=bins).rev().map(|count| count as f64).collect();
        let total = self.shares(&weights, |law, factor| sums[law] -= factor * factor)[0];
        sums[0] -= total * total;
        let ranges = bins as f64 * (bins + 1) as f64 / 2.0;
        sums.into_iter().map(|sum| sum / ranges).collect()
    }
}
