//! `chain`, M_c^ch: counts in one chain of running totals per level (Fioretto, Van Hentenryck, Zhu
//! 2020, section 9.2), with a sensitivity for which it is private, and without the paper's cost
//! tables.
//!
//! # The chain
//!
//! Order all cells (region, size) by size, those of a size in post-order of the regions, which is
//! the tree's order within a level. A cell's *running total* is the number of groups in all cells
//! of its level up to and including it. The last one of a level is G, which is public.
//!
//! # Sensitivity
//!
//! *The paper claims that one entity changes one running total of a level by 1. That is wrong*, and
//! noise of that scale is not private. Take two regions, GA and NY, and the sizes 1 and 2:
//!
//! | | (GA, 1) | (NY, 1) | (GA, 2) | (NY, 2) |
//! |---|---|---|---|---|
//! | groups | 2 | 1 | 0 | 1 |
//! | running totals | 2 | 3 | 3 | 4 |
//! | running totals when a group in GA grows from 1 to 2 | 1 | 2 | 3 | 4 |
//!
//! The L1 distance is 2. In general a group of region r that grows from size s to s + 1 is missing
//! from the running totals from (r, s) up to the one just before (r, s + 1), and from no other.
//! These are one for each region of the level: of size s for r and the regions after it, of size
//! s + 1 for those before it. So with R regions *the sensitivity is R*, whatever the data; capping
//! sizes at K removes the steps from K on and changes no other. The noise is larger than that of
//! cumulative counts per region by this factor.
//!
//! # Post-processing
//!
//! The nearest running totals in the weighted L2 norm: integers that increase along the chain, from
//! 0 to G, a parent's equal to its last child's. So a region's cell equals that of the last leaf
//! below it, and all cells that are equal by this are one variable with several observations, at a
//! position (size, leaf). What is left is an isotonic regression over the leaves' chain, which
//! pool-adjacent-violators solves; its bounds clamp it, and the nearest integer of a block's mean
//! is the optimum among integers. O(regions sizes) for any counts.

mod fit;
mod measurement;
mod running_totals;

pub use measurement::ChainMeasurement;
pub(in crate::hierarchy) use running_totals::running_totals;

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use crate::coco::Estimator;
use crate::hierarchy::observer::Observer;
use fit::chain;

pub(super) struct Chain;

impl ConsistencyMethod for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn quantity(&self) -> Quantity {
        Quantity::RunningTotals
    }

    fn auto(&self) -> Estimator {
        Estimator::Hc
    }

    /// Running totals are cumulative counts, and these are fitted in the L2 norm in any case.
    fn takes(&self, estimator: Estimator) -> bool {
        matches!(estimator, Estimator::Hc | Estimator::HcL2)
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        known.solved_exactly(chain)
    }
}
