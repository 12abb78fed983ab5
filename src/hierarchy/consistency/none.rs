//! `none`: every region keeps its own estimate; they do not add up.

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use crate::coco::{Estimate, Estimator};
use crate::hierarchy::observer::Observer;
use crate::work::poll;

pub(super) struct NoConsistency;

impl ConsistencyMethod for NoConsistency {
    fn name(&self) -> &'static str {
        "none"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Estimates
    }

    fn auto(&self) -> Estimator {
        Estimator::Cut
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        let histogram = |estimate: &Estimate| {
            poll();
            estimate.histogram()
        };
        Consistent::exactly(known.estimates().iter().map(histogram).collect())
    }
}
