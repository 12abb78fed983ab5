//! `bottom_up`: the leaves are all that is measured; every other region is the sum of its children.

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use crate::coco::{Coco, Estimate, Estimator};
use crate::hierarchy::observer::Observer;
use crate::hierarchy::tree::Tree;
use crate::work::poll;

pub(super) struct BottomUp;

impl ConsistencyMethod for BottomUp {
    fn name(&self) -> &'static str {
        "bottom_up"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Estimates
    }

    fn auto(&self) -> Estimator {
        Estimator::Cut
    }

    fn measures_leaves_alone(&self) -> bool {
        true
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        let tree = known.tree;
        Consistent::exactly(sums_of_leaves(tree, &known.estimates()))
    }
}

/// Back-substitution: what holds at the leaves holds above.
pub(super) fn sums_of_leaves(tree: &Tree, estimates: &[Estimate]) -> Vec<Coco> {
    let leaves = estimates[tree.leaves()].iter().map(|leaf| {
        poll();
        leaf.histogram()
    });
    let leaves = leaves.collect();
    tree.sums(leaves)
}
