//! `cut` and `cut:T`: cumulative counts of the sizes below a cut, sorted sizes from there on. The
//! cut is public, or it follows from what is released: of the region above, or of the columns as
//! they come.

mod choice;
mod prior;
mod strips;

pub use choice::Profile;

use super::estimator::HistogramEstimator;
use super::node::NoisyNode;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;
use prior::ColumnPrior;
use strips::Strips;

/// The noisy columns tell where to cut, or the region above.
pub(super) struct Cut;

/// A cut that is known before anything is measured; one beyond K is at K.
#[derive(Debug, Clone)]
pub(super) struct CutAt {
    cut: u64,
    /// What the released estimate of the region above says of the columns.
    prior: Option<ColumnPrior>,
}

impl CutAt {
    /// A public cut.
    pub(super) fn public(cut: u64) -> CutAt {
        CutAt { cut, prior: None }
    }
}

/// For how many draws the processor's time to smooth one column would do.
const DRAWS_PER_COLUMN: u64 = 50;

impl HistogramEstimator for Cut {
    /// See [`strips`].
    fn sensitivity(&self) -> u32 {
        1
    }

    fn work(&self, groups: u64, max_size: u64, below: bool) -> u64 {
        let columns = groups.min(max_size);
        if below { columns.saturating_mul(DRAWS_PER_COLUMN) } else { columns }
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
        Strips { node, prior: None }.estimate(truth, None, add_noise)
    }

    fn below(&self, node: &NoisyNode, parent: &Profile) -> Option<CutAt> {
        let cut = parent.cut(node);
        Some(CutAt { cut, prior: ColumnPrior::new(parent, node, cut) })
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
        groups.saturating_add(self.cut)
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
        let strips = Strips { node, prior: self.prior.as_ref() };
        strips.estimate(truth, Some(self.cut), add_noise)
    }
}

#[cfg(test)]
mod tests;
