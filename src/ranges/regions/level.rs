//! A level of the tree that is measured.

use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::parameters::RangeParameters;

/// A level with a share of the budget: each of its regions is measured by this.
pub(super) struct MeasuredLevel {
    pub(super) parameters: RangeParameters,
    pub(super) mechanism: Box<dyn RangeMechanism>,
    /// the mean over the target of what the level's own estimates have
    pub(super) mean_variance: f64,
}
