//! What an estimator is.

use super::columns::columns;
use super::kept::{MeasuredNumbers, Sequence};
use super::node::NoisyNode;
use super::profile::Profile;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;

/// A way to measure a histogram and to make an estimate of the noisy numbers. It states what is
/// measured, its sensitivity, and how the estimate is made.
///
/// Neighbours are databases that differ by one entity; groups are public. An entity moves one group
/// from size s to s + 1 (or back). Where the unit of privacy may own up to k entities, which can
/// lie in any groups, neighbours differ by k such steps, and every distance is at most k times as
/// large.
pub(super) trait HistogramEstimator {
    /// The L1 distance by which one entity moves what is measured, whatever was measured before.
    /// Capping sizes at max_size can only shrink it.
    fn sensitivity(&self) -> u32;

    /// How many numbers are measured of so many groups, where that is known beforehand.
    fn draws(&self, _groups: u64, _max_size: u64) -> Option<u64> {
        None
    }

    /// About how long it takes, in draws, to estimate a node of so many groups, which may be one
    /// below a released region; from what is public.
    fn work(&self, groups: u64, max_size: u64, below: bool) -> u64;

    /// The variance of a number of groups of one size, before any smoothing, where `variance` is
    /// that of the noise.
    fn variance_of_counts(&self, variance: f64) -> f64;

    /// An estimate of the node's G groups, of sizes 0 ..= K. `add_noise` gets every exact number
    /// that is measured, one after the other; nothing else of the truth is used.
    fn estimate(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate;

    /// The numbers of groups of sizes 0 ..= K: noisy ones as they were measured, where this
    /// estimator measures these; else those of its estimate.
    fn counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        self.estimate(node, truth, add_noise).histogram().counts(node.max_size)
    }

    /// The numbers of groups of size at most s for s = 0 ..= K, the last one the public G: noisy
    /// ones as they were measured, where this estimator measures these; else those of its estimate.
    fn cumulative_counts(
        &self,
        node: &NoisyNode,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        let estimate = self.estimate(node, truth, add_noise).histogram();
        columns(&estimate, node.max_size).chain([node.groups as i64]).collect()
    }

    /// What the node's numbers are of which `noisy` were released.
    fn sequence(&self, node: &NoisyNode, noisy: &[i64]) -> Sequence;

    /// What the same noisy numbers say of the node below a region with that profile; `None` where it follows
    /// none, or is unlike it.
    fn again(
        &self,
        _node: &NoisyNode,
        _numbers: &[MeasuredNumbers],
        _below: &Profile,
    ) -> Option<Estimate> {
        None
    }

    /// Whether a node is measured otherwise where an estimate of the region above it is known.
    fn follows(&self) -> bool {
        false
    }
}
