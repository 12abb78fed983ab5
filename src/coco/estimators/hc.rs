//! `Hc`: noise on the cumulative counts, fitted by isotonic regression in the L1 norm (Kuo et al.
//! 2018, section 4.3). It is the [cut](super::cut) at K.

use super::columns::columns;
use super::cut::CutAt;
use super::estimator::HistogramEstimator;
use super::kept::{NumberKind, Sequence};
use super::node::NoisyNode;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;

pub(super) struct Hc;

impl HistogramEstimator for Hc {
    /// A group that grows beyond s leaves the count of those up to s, and no other.
    fn sensitivity(&self) -> u32 {
        1
    }

    fn draws(&self, _groups: u64, max_size: u64) -> Option<u64> {
        Some(max_size)
    }

    fn work(&self, _groups: u64, max_size: u64, _below: bool) -> u64 {
        max_size
    }

    fn variance_of_counts(&self, variance: f64) -> f64 {
        2.0 * variance
    }

    fn estimate(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        CutAt(node.max_size).estimate(node, truth, add_noise)
    }

    fn cumulative_counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        columns(truth, node.max_size).map(add_noise).chain([node.groups as i64]).collect()
    }

    fn sequence(&self, _node: &NoisyNode, noisy: &[i64]) -> Sequence {
        Sequence { kind: NumberKind::Column, count: noisy.len() }
    }
}
