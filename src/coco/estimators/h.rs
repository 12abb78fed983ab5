//! `H`: noise on the number of groups of each size, projected on the known total (Kuo et al. 2018,
//! section 4.1).

use super::estimator::HistogramEstimator;
use super::kept::{NumberKind, Sequence};
use super::node::NoisyNode;
use crate::coco::estimate::{Estimate, EstimatedRun};
use crate::coco::histogram::Coco;
use crate::fit::project_on_total;

pub(super) struct H;

impl HistogramEstimator for H {
    /// One cell loses a group, the next gains it.
    fn sensitivity(&self) -> u32 {
        2
    }

    fn draws(&self, _groups: u64, max_size: u64) -> Option<u64> {
        Some(max_size + 1)
    }

    fn work(&self, _groups: u64, max_size: u64, _below: bool) -> u64 {
        max_size
    }

    fn variance_of_counts(&self, variance: f64) -> f64 {
        variance
    }

    /// A cell of n groups of one size is known to within v, so each of their sizes to within v / n.
    fn estimate(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        let counts = project_on_total(&self.counts(node, truth, add_noise), node.groups);
        let runs =
            counts.iter().zip(0..).filter(|(groups, _)| **groups > 0).map(|(&groups, size)| {
                EstimatedRun { size, variance: node.variance / groups as f64, groups }
            });
        Estimate::new(runs.collect())
    }

    fn counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        truth.counts(node.max_size).into_iter().map(add_noise).collect()
    }

    fn sequence(&self, _node: &NoisyNode, noisy: &[i64]) -> Sequence {
        Sequence { kind: NumberKind::Count, count: noisy.len() }
    }
}
