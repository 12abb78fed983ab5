//! `cumulative`: cumulative counts made consistent, the post-processing of M_c (Fioretto, Van
//! Hentenryck, Zhu 2020, model 2), with a rounding that violates nothing.
//!
//! Given a noisy number of groups of size at most s for every region and size, and weights w > 0,
//! find the cumulative counts that minimise the sum of w (c - noisy)^2, where every region's counts
//! are non-decreasing in s, a parent's are the sums of its children's, and the public totals hold.
//!
//! The paper solves this over the reals, up to its solver's precision, and rounds every number on
//! its own; its tables then count violations by the thousand. Here [`relaxation`] proves how near
//! its real solution is to the best one, and [`rounding`] finds integers next to it that satisfy
//! every constraint. The integers need not be the best: [`CumulativeFit::cost`] and
//! [`CumulativeFit::lower_bound`] enclose the optimum.

mod dual;
mod relaxation;
mod rounding;

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use super::noisy_counts::{LARGEST_SUM, NoisyCounts, transposed};
use super::totals::KnownTotals;
use crate::coco::Estimator;
use crate::hierarchy::observer::Observer;
use crate::hierarchy::tree::Tree;
use crate::work::poll;

pub(super) struct Cumulative;

impl ConsistencyMethod for Cumulative {
    fn name(&self) -> &'static str {
        "cumulative"
    }

    fn quantity(&self) -> Quantity {
        Quantity::CumulativeCounts
    }

    fn auto(&self) -> Estimator {
        Estimator::Hc
    }

    /// Cumulative counts are fitted in the L2 norm in any case.
    fn takes(&self, estimator: Estimator) -> bool {
        matches!(estimator, Estimator::Hc | Estimator::HcL2)
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        known.solved(|noisy, totals| {
            // where nobody knows the root's total, it is what was measured of it
            let measured = || match noisy.sizes.checked_sub(1) {
                Some(last) => noisy.target(0, last).value.round() as u64,
                None => 0,
            };
            let totals = totals.unwrap_or_else(|| KnownTotals::Root(measured()));
            let fit = cumulative(noisy, totals);
            let gap = (fit.real_cost - fit.lower_bound) / fit.real_cost.max(f64::MIN_POSITIVE);
            (fit.counts, gap)
        })
    }
}

/// Panics where no hierarchy of this tree and so many sizes has such totals.
fn check(totals: KnownTotals, tree: &Tree, sizes: usize) {
    assert!(totals.root() <= LARGEST_SUM, "the total is too large");
    let places = if tree.leaves().is_empty() { 0 } else { sizes };
    assert!(totals.root() == 0 || places > 0, "groups without a place to be");
    if let KnownTotals::Regions(totals) = totals {
        assert_eq!(totals.len(), tree.regions().len(), "one total per region");
        for (region, parent) in tree.regions().iter().enumerate() {
            let children = totals[parent.children.clone()].iter();
            let sum: u128 = children.map(|&total| u128::from(total)).sum();
            let adds_up = parent.children.is_empty() || sum == u128::from(totals[region]);
            assert!(adds_up, "children that do not sum to parents");
        }
    }
}

/// Consistent counts near noisy cumulative ones. The costs leave out the counts that are public.
#[derive(Debug, Clone, PartialEq)]
pub struct CumulativeFit {
    /// How many groups are of each size, not cumulative, in the order of the noisy counts.
    pub counts: Vec<u64>,
    /// The sum of w (c - noisy)^2 of the cumulative counts c.
    pub cost: f64,
    /// That of the real-valued solution that was rounded.
    pub real_cost: f64,
    /// No real-valued solution costs less, up to the rounding of the sum.
    pub lower_bound: f64,
}

/// Consistent counts whose cumulative counts are near the noisy ones, by least weighted squares.
///
/// The real solution's cost is above the least one by at most 10^-8 of it, or every sum in it is
/// within a thousandth of a group of what the optimality conditions ask for. A limit on the steps
/// and the precision of `f64` can prevent that, where regions weigh some 100 times as much as the
/// leaves below them or counts exceed 10^13; the fit tells the bound that was reached in any case.
/// The counts satisfy all constraints whatever happens.
///
/// Panics where totals cannot be met: above 2^62, above 0 where there are no leaves or sizes, or
/// those of children not summing to their parent's.
pub fn cumulative(noisy: &NoisyCounts, totals: KnownTotals) -> CumulativeFit {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    check(totals, tree, sizes);
    if tree.leaves().is_empty() || sizes == 0 {
        let counts = vec![0; noisy.values.len()];
        let cost = cost(noisy, totals, &counts);
        return CumulativeFit { counts, cost, real_cost: cost, lower_bound: cost };
    }
    // a root alone has all its totals
    let root = [totals.root()];
    let totals = if tree.depth() == 1 { KnownTotals::Regions(&root) } else { totals };

    let relaxed = relaxation::relax(noisy, totals);
    let rounded = rounding::round(tree, sizes, &relaxed.counts, totals);
    let mut counts = transposed(&rounded, sizes);
    let cost = cost(noisy, totals, &counts);
    for size in (1..sizes).rev() {
        poll();
        for region in 0..tree.regions().len() {
            counts[noisy.cell(region, size)] -= counts[noisy.cell(region, size - 1)];
        }
    }
    CumulativeFit { counts, cost, real_cost: relaxed.cost, lower_bound: relaxed.lower_bound }
}

/// The cost of cumulative counts.
fn cost(noisy: &NoisyCounts, totals: KnownTotals, counts: &[u64]) -> f64 {
    let mut cost = 0.0;
    for (size, counts) in counts.chunks_exact(noisy.tree.regions().len()).enumerate() {
        poll();
        let last = size + 1 == noisy.sizes;
        for (region, (target, &count)) in noisy.targets(size).iter().zip(counts).enumerate() {
            if !(last && totals.of(region).is_some()) {
                cost += target.cost(count);
            }
        }
    }
    cost
}

#[cfg(test)]
mod tests;
