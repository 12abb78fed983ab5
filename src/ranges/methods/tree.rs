//! H_b: noisy counts of the nodes of a tree, and a range as the sum of the fewest of them.

use super::descriptor::{Descriptor, Noises, Options, Settings, Settled};
use super::levels;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::limits::MAX_BINS;
use crate::ranges::measurements::{CountMechanism, Measurements};
use crate::ranges::mechanism::{RangeMechanism, Split, running_sums};
use crate::ranges::method::MethodChoice;
use crate::ranges::spending::Spending;
use crate::ranges::trees::measured::MeasuredTree;
use crate::ranges::trees::shape::TreeShape;
use crate::work::Paced;
use std::ops::Range;

pub(super) struct TreeMethod;

impl Descriptor for TreeMethod {
    fn word(&self) -> &'static str {
        "tree"
    }

    fn noises(&self) -> Noises {
        Noises::Laplace
    }

    fn options(&self) -> Options {
        Options { branching: Some(MAX_BINS as u32), budgets: true, ..Options::NONE }
    }

    fn adds_up(&self) -> bool {
        false
    }

    fn settle(
        &self,
        bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        levels::settle(bins, choice.branching, choice.budgets, spending, mean_over_all)
    }

    fn fits(&self, settings: Settings) -> bool {
        levels::fits(settings)
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(RawTree::new(levels::shape(settings), settings.calibration)?))
    }

    fn reconstruction_length(&self, settings: Settings) -> usize {
        levels::shape(settings).measured_nodes() + 1
    }
}

/// H_b without constrained inference: answers to adjacent ranges need not add up.
#[derive(Debug, Clone)]
pub struct RawTree {
    tree: MeasuredTree,
    /// the first node of each level among all
    offsets: Vec<usize>,
}

impl RawTree {
    /// `calibration`: of levels 0 .. h, from the leaves up.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If it is that of another number of levels.
    pub fn new(shape: TreeShape, calibration: &Calibration) -> Result<RawTree, ScaleError> {
        let offsets = (0..shape.height())
            .scan(0, |below, level| {
                *below += shape.nodes(level);
                Some(*below - shape.nodes(level))
            })
            .collect();
        Ok(RawTree { tree: MeasuredTree::new(shape, calibration)?, offsets })
    }

    /// The fewest nodes that make up a range: at most two runs of nodes per level.
    ///
    /// They are the maximal nodes within the range. Where a node covers the same bins as its only
    /// child, it is the node.
    fn runs(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let shape = self.tree.shape;
        let inside = move |level: usize| {
            let width = shape.width(level);
            let first = range.start.div_ceil(width);
            let end =
                if range.end == shape.bins() { shape.nodes(level) } else { range.end / width };
            first..end.max(first)
        };
        (0..shape.height()).flat_map(move |level| {
            let nodes = inside(level);
            // what is left and what is right of the children of the parents inside
            let parents = if level + 1 < shape.height() { inside(level + 1) } else { 0..0 };
            let (left, right) = if parents.is_empty() {
                (nodes.clone(), nodes.end..nodes.end)
            } else {
                let last = shape.children(level + 1, parents.end - 1).end;
                (nodes.start..parents.start * shape.branching(), last..nodes.end)
            };
            [(level, left), (level, right)]
        })
    }
}

impl CountMechanism for RawTree {
    fn measurements(&self) -> &Measurements {
        &self.tree.measurements
    }

    fn largest_count(&self) -> u64 {
        self.tree.largest_count()
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        self.tree.measure(counts)
    }
}

impl RangeMechanism for RawTree {
    fn bins(&self) -> usize {
        self.tree.shape.bins()
    }

    /// The sums of the first 0, 1, 2, ... noisy counts: any run of nodes is then one difference,
    /// exact while all sums stay below 2^53.
    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        running_sums(noisy.iter().map(|value| *value as f64))
    }

    fn answer(&self, reconstruction: &[f64], range: Range<usize>) -> f64 {
        let sum = |(level, nodes): (usize, Range<usize>)| {
            let offset = self.offsets[level];
            reconstruction[offset + nodes.end] - reconstruction[offset + nodes.start]
        };
        self.runs(range).map(sum).sum()
    }

    fn variance(&self, range: Range<usize>) -> f64 {
        self.runs(range).map(|(level, nodes)| nodes.len() as f64 * self.tree.variances[level]).sum()
    }

    /// Of bins alone, answers add up.
    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let of_bins = self.tree.variances[0];
        let one_level = self.tree.shape.height() == 1;
        one_level.then(|| weights.iter().map(|weight| weight * of_bins).collect())
    }

    /// Of different nodes, so the noise is independent. (The sum of both is made of other nodes
    /// than the total.)
    fn splits(&self) -> Vec<Split> {
        let bins = self.tree.shape.bins();
        let split = |bin: usize| Split {
            before: self.variance(0..bin),
            after: self.variance(bin..bins),
            covariance: 0.0,
        };
        (0..=bins).paced().map(split).collect()
    }

    fn mean_over_all(&self) -> f64 {
        mean_over_all(self.tree.shape, &self.tree.variances)
    }

    fn max_over_all(&self) -> f64 {
        max_over_all(self.tree.shape, &self.tree.variances)
    }
}

/// The mean variance over all ranges of H_b whose level l has node variance `variances[l]`: a node
/// serves every range that contains it, but for those that contain its parent, too (ibid.,
/// proposition 1). O(h), the counts being exact.
pub(in crate::ranges) fn mean_over_all(shape: TreeShape, variances: &[f64]) -> f64 {
    let bins = shape.bins() as i128;
    // how many pairs of a node and a range that contains it, `each` times for a regular node and
    // `last` times for the last one: a node of the bins first .. end is in (first + 1)(N - end + 1)
    let containing = |level: usize, each: usize, last: usize| {
        let (width, regular) = (shape.width(level) as i128, shape.nodes(level) as i128 - 1);
        let (sum, squares) =
            (regular * (regular - 1) / 2, regular * (regular - 1) * (2 * regular - 1) / 6);
        let rest = bins + 1 - width;
        let in_regular = regular * rest + width * (rest - 1) * sum - width * width * squares;
        let in_last = regular * width + 1;
        in_regular * each as i128 + in_last * last as i128
    };
    let served = |level: usize| {
        let above = if level + 1 < shape.height() {
            containing(level + 1, shape.branching(), shape.children_of_last(level + 1))
        } else {
            0 // the root serves no range
        };
        containing(level, 1, 1) - above
    };
    let ranges = (bins * (bins + 1) / 2) as f64;
    variances.iter().zip(0..).map(|(variance, level)| served(level) as f64 * variance).sum::<f64>()
        / ranges
}

/// The largest variance of any range of H_b, in O(h).
fn max_over_all(shape: TreeShape, variances: &[f64]) -> f64 {
    let height = shape.height();
    // the top level's nodes are always among those that ranges are made of
    let mut max = variances[height - 1];
    // The largest variance of a prefix of a regular node (or of a suffix, which is the same), and
    // of the last node, that is neither empty nor the whole node; a leaf has none.
    let (mut regular, mut last) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (level, &node) in (1..=height).zip(variances) {
        let end = node.max(regular); // the largest of any prefix of a regular node of level - 1
        let run = |nodes: usize| nodes as f64 * node;
        // of the ranges that end in two children of a node, whose last child's prefixes are given
        let across = |children: usize, last: f64| {
            if children < 2 {
                return f64::NEG_INFINITY;
            }
            // from the first child to the last one; both in full are the node itself
            let widest = (regular + node.max(last)).max(node + last) + run(children - 2);
            // without the first child or without the last one
            let inner = if children > 2 { end + end.max(last) + run(children - 3) } else { node };
            widest.max(inner)
        };
        let prefix = |children: usize, last: f64| {
            let in_last = run(children - 1) + last;
            if children > 1 { in_last.max(run(children - 2) + end) } else { in_last }
        };
        let children = shape.children_of_last(level);
        max = max.max(across(children, last));
        if level == height {
            return max.max(run(children)); // the root itself is not measured
        }
        let next = prefix(children, last);
        max = max.max(across(shape.branching(), regular));
        (regular, last) = (prefix(shape.branching(), regular), next);
    }
    max
}
