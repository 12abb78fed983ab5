//! H_b^c: the tree's noisy counts made consistent by least squares; with one level, the plain
//! histogram.

use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, Measurements};
use crate::ranges::mechanism::{RangeMechanism, running_sums};
use crate::ranges::trees::covariance::{PerNode, TreeCovariance};
use crate::ranges::trees::measured::MeasuredTree;
use crate::ranges::trees::shape::TreeShape;
use crate::work::Paced;
use std::ops::Range;

/// H_b with constrained inference (Qardaji et al., section 3.3): the estimate that among all
/// unbiased linear ones has the least variance for every range, since the weights are the inverse
/// variances of the noise. Also for incomplete trees and levels of unequal noise, in linear time.
///
/// The root is not measured, so a tree of height 1 is the noisy histogram itself.
#[derive(Debug, Clone)]
pub struct ConsistentTree {
    tree: MeasuredTree,
    covariance: TreeCovariance,
}

impl ConsistentTree {
    /// `calibration`: of levels 0 .. h, from the leaves up.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If it is that of another number of levels.
    pub fn new(shape: TreeShape, calibration: &Calibration) -> Result<ConsistentTree, ScaleError> {
        let tree = MeasuredTree::new(shape, calibration)?;
        let covariance = least_squares_covariance(shape, &tree.variances);
        Ok(ConsistentTree { tree, covariance })
    }
}

/// The mean variance over all ranges of a tree whose level l has node variance `variances[l]`.
pub(in crate::ranges) fn mean_over_all(shape: TreeShape, variances: &[f64]) -> f64 {
    least_squares_covariance(shape, variances).mean_over_all()
}

/// Of the least-squares estimates where level l has node variance `variances[l]`.
///
/// A node's slack is the variance of its best estimate from its own subtree: its noisy count and
/// its children's sum, weighted by their inverse variances. The actual numbers of children enter;
/// the closed form with powers of b holds for complete trees alone.
fn least_squares_covariance(shape: TreeShape, variances: &[f64]) -> TreeCovariance {
    // for the leaves their noisy counts are all there is
    let (mut regular, mut last) = (f64::INFINITY, f64::INFINITY);
    let both = |own: f64, children: f64| own / (1.0 + own / children);
    let mut slacks = Vec::with_capacity(variances.len());
    for (level, &own) in (1..).zip(variances) {
        let slack = PerNode { regular: both(own, regular), last: both(own, last) };
        let regular_children = (shape.children_of_last(level) - 1) as f64;
        last = regular_children * slack.regular + slack.last;
        regular = shape.branching() as f64 * slack.regular;
        slacks.push(slack);
    }
    // the root is not measured: there its children's sum is all there is
    TreeCovariance::new(shape, slacks, last)
}

impl CountMechanism for ConsistentTree {
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

impl RangeMechanism for ConsistentTree {
    fn bins(&self) -> usize {
        self.tree.shape.bins()
    }

    /// Weighted averaging up the tree, mean consistency down.
    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        let shape = self.tree.shape;
        let height = shape.height();
        let mut values: Vec<f64> = noisy.iter().map(|value| *value as f64).collect();
        let mut begin = 0;
        // up: a node's best estimate from its own subtree, in place of its noisy count
        for level in 1..height {
            let parents = begin + shape.nodes(level - 1);
            let PerNode { regular, last } = self.covariance.slacks()[level];
            let own = self.tree.variances[level];
            let (below, level_and_above) = values.split_at_mut(parents);
            let nodes = &mut level_and_above[..shape.nodes(level)];
            let count = nodes.len();
            for (i, (node, children)) in
                nodes.iter_mut().zip(below[begin..].chunks(shape.branching())).paced().enumerate()
            {
                // of the inverse variances 1/slack, the noisy count has 1/own
                let weight = if i + 1 == count { last / own } else { regular / own };
                *node = weight * *node + (1.0 - weight) * children.iter().sum::<f64>();
            }
            begin = parents;
        }
        // down: what a parent's estimate exceeds its children's sum by is shared among them in
        // proportion to their slacks; the root is not measured, its estimate is that sum
        for level in (1..height).rev() {
            let parents = begin;
            begin -= shape.nodes(level - 1);
            let PerNode { regular, last } = self.covariance.slacks()[level - 1];
            let (below, level_and_above) = values.split_at_mut(parents);
            let nodes = &level_and_above[..shape.nodes(level)];
            let count = nodes.len();
            for (i, (node, children)) in
                nodes.iter().zip(below[begin..].chunks_mut(shape.branching())).paced().enumerate()
            {
                let excess = node - children.iter().sum::<f64>();
                let last = if i + 1 == count { last } else { regular };
                let before = children.len() - 1;
                let total = before as f64 * regular + last;
                for child in &mut children[..before] {
                    *child += excess * (regular / total);
                }
                children[before] += excess * (last / total);
            }
        }
        running_sums(values[..shape.bins()].iter().copied())
    }

    fn variance(&self, range: Range<usize>) -> f64 {
        self.covariance.variance(range)
    }

    fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        Some(self.covariance.covariances(weights))
    }

    fn mean_over_all(&self) -> f64 {
        self.covariance.mean_over_all()
    }

    fn max_over_all(&self) -> f64 {
        self.covariance.max_over_all()
    }
}
