//! What a consistency method is.

use super::known_regions::{Consistent, KnownRegions, Quantity};
use crate::coco::Estimator;
use crate::hierarchy::observer::Observer;
use crate::hierarchy::tree::Tree;

/// A way to make the regions' histograms agree, which states all that a release has to know of it.
/// Post-processing of what was measured.
pub(super) trait ConsistencyMethod: Sync {
    /// What a user writes.
    fn name(&self) -> &'static str;

    /// What is measured for it.
    fn quantity(&self) -> Quantity;

    /// The estimator that is best with it (docs/accuracy.md).
    fn auto(&self) -> Estimator;

    /// Whether an estimator has a meaning with it.
    fn takes(&self, _estimator: Estimator) -> bool {
        true
    }

    /// Whether the leaves are all that is measured, with the whole of epsilon.
    fn measures_leaves_alone(&self) -> bool {
        false
    }

    /// Whether it joins what is known of all levels by how well it is known, so that some of them
    /// need not be measured.
    fn weighs_levels(&self) -> bool {
        false
    }

    /// How many parents' groups are matched with their children's.
    fn parents_to_match(&self, _tree: &Tree) -> usize {
        0
    }

    /// One histogram per region from what is known of each, in the tree's order.
    fn consistent(&self, known: KnownRegions, observer: &mut dyn Observer) -> Consistent;
}
