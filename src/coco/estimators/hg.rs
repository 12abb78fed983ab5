//! `Hg`: noise on the sorted list of sizes, fitted by isotonic regression in the L2 norm (Kuo et
//! al. 2018, section 4.2). It is the [cut](super::cut) at 0.

use super::cut::CutAt;
use super::estimator::HistogramEstimator;
use super::kept::{NumberKind, Sequence};
use super::node::NoisyNode;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;

pub(super) struct Hg;

impl HistogramEstimator for Hg {
    /// Raise the last group of size s, and the list stays sorted with one entry changed.
    fn sensitivity(&self) -> u32 {
        1
    }

    fn draws(&self, groups: u64, _max_size: u64) -> Option<u64> {
        Some(groups)
    }

    fn work(&self, groups: u64, _max_size: u64, _below: bool) -> u64 {
        groups
    }

    fn variance_of_counts(&self, variance: f64) -> f64 {
        variance
    }

    fn estimate(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        CutAt(0).estimate(node, truth, add_noise)
    }

    fn sequence(&self, _node: &NoisyNode, _noisy: &[i64]) -> Sequence {
        Sequence { kind: NumberKind::Column, count: 0 }
    }
}
