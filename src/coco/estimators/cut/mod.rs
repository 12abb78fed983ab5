//! `cut` and `cut:T`: cumulative counts of the sizes below a cut, sorted sizes from there on. The
//! cut is public, or it follows from what is released: of the region above, or of the columns as
//! they come.

mod choice;
mod expected;
mod inference;
mod prior;
mod strips;

use super::estimator::HistogramEstimator;
use super::kept::{MeasuredNumbers, NumberKind, Sequence};
use super::node::NoisyNode;
use super::profile::Profile;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;
use choice::{columns_as_they_come, cut_below};
pub(crate) use inference::MOST_PLACES;
use prior::{ColumnPrior, FROM_A_PARENT, FROM_A_POOL};
use strips::Strips;

/// The region above tells where to cut, or, where there is none, the noisy columns as they come.
pub(super) struct Cut;

/// A public cut; one beyond K is at K. With its ends it is the published method: fits, and no
/// inference.
pub(super) struct CutAt(pub u64);

/// The region above, if it tells what to expect of the node.
fn telling<'a>(node: &NoisyNode<'a>) -> Option<&'a Profile> {
    node.parent.filter(|parent| parent.tells(node.groups, node.variance))
}

/// What noisy columns say of a node by themselves: groups beyond the last of them get the size of the cut.
/// `None` of too many.
pub(super) fn of_columns(node: &NoisyNode, noisy: &[i64]) -> Option<Estimate> {
    Strips { node, prior: None, inferred: true }.again(noisy, &[])
}

/// For how many draws the processor's time to infer one column would do.
pub(super) const DRAWS_PER_COLUMN: u64 = 50;

impl HistogramEstimator for Cut {
    /// See [`strips`].
    fn sensitivity(&self) -> u32 {
        1
    }

    fn work(&self, groups: u64, max_size: u64, _below: bool) -> u64 {
        groups.min(max_size).saturating_mul(DRAWS_PER_COLUMN)
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
        let Some(parent) = telling(node) else {
            let node = &NoisyNode { parent: None, ..*node };
            return Strips { node, prior: None, inferred: true }.estimate(truth, None, add_noise);
        };
        let cut = cut_below(parent, node);
        let prior = ColumnPrior::new(parent, node, cut, FROM_A_PARENT);
        Strips { node, prior: prior.as_ref(), inferred: true }.estimate(truth, Some(cut), add_noise)
    }

    /// The cut is found as it was found before: by what was released.
    fn sequence(&self, node: &NoisyNode, noisy: &[i64]) -> Sequence {
        let count = match telling(node) {
            Some(parent) => cut_below(parent, node).min(node.max_size) as usize,
            None => columns_as_they_come(node, noisy),
        };
        Sequence { kind: NumberKind::Column, count }
    }

    fn again(
        &self,
        node: &NoisyNode,
        numbers: &[MeasuredNumbers],
        below: &Profile,
    ) -> Option<Estimate> {
        let columns = MeasuredNumbers::values_of(numbers, NumberKind::Column);
        let rows = MeasuredNumbers::values_of(numbers, NumberKind::Row);
        let cut = columns.len() as i64;
        let rows: Vec<i64> = rows.iter().rev().map(|size| size.saturating_sub(cut)).collect();
        let node = &NoisyNode { parent: Some(below), ..*node };
        let prior = ColumnPrior::new(below, node, columns.len() as u64, FROM_A_POOL);
        Strips { node, prior: prior.as_ref(), inferred: true }.again(columns, &rows)
    }

    fn follows(&self) -> bool {
        true
    }
}

impl HistogramEstimator for CutAt {
    /// See [`strips`].
    fn sensitivity(&self) -> u32 {
        1
    }

    fn work(&self, groups: u64, _max_size: u64, _below: bool) -> u64 {
        groups.saturating_add(self.0)
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
        Strips { node, prior: None, inferred: false }.estimate(truth, Some(self.0), add_noise)
    }

    fn sequence(&self, node: &NoisyNode, _noisy: &[i64]) -> Sequence {
        Sequence { kind: NumberKind::Column, count: self.0.min(node.max_size) as usize }
    }
}

#[cfg(test)]
mod tests;
