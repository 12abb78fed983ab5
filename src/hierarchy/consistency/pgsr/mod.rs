//! `pgsr`, PGSR: the consistent counts nearest to noisy ones, as exact integers (Fioretto, Van
//! Hentenryck, Zhu 2020, the post-processing of M_H^dp), without the paper's cost tables.
//!
//! Given noisy counts y and weights w > 0 per region and size, find integers x >= 0 that minimise
//! the sum of w (x - y)^2, where for every size a parent's x is the sum of its children's and, if a
//! total G is given, the root's x over all sizes sum to G.
//!
//! # Algorithm
//!
//! A *price* p is what one more group earns. A subtree *responds* to p with a root count k that
//! minimises (its least cost with root count k) - p k. Below a region v all children see the same
//! price. Per size:
//!
//! 1. Relax integrality. From the leaves up, the real response X_v(p) is piecewise linear with one
//!    kink per leaf: the children's responses add up, and v's own cost takes the child price q with
//!    response X to the price q + 2 w (X - y). From the root down this gives every region a price.
//! 2. From the leaves up, make the *integer* response of every subtree to its region's price: start
//!    with the rounded real response at a leaf, with the sum of the children's integer responses
//!    above. Then, as long as a unit more costs no more than the price (or the last one costs more
//!    than it), add (remove) a unit at the leaf where that is cheapest.
//!
//! The root's price is 0 where no total is given. Otherwise it is the one to which the real
//! responses of all sizes add up to G, and after step 2 units are added to, or taken from, the
//! cheapest size until the sum is G.
//!
//! # Why the result is optimal
//!
//! Let c_v(k) be the least cost of v's subtree with root count k, and m_v(k) = c_v(k+1) - c_v(k).
//!
//! *c_v is convex, and from an optimum for k the cheapest single unit at a leaf leads to one for
//! k+1, and the cheapest to be removed to one for k-1.* Clear at a leaf. Above, the children's
//! optimal costs together are an infimal convolution of convex sequences: its sequence of marginal
//! costs is theirs merged in order, which is non-decreasing; adding v's own, 2 w (k - y) + w, keeps
//! it so. Counts k_c are optimal for their sum if and only if m_a(k_a) >= m_b(k_b - 1) for all
//! children a, b, and the next optimum adds a unit where m is least, within that child's subtree by
//! induction at its cheapest leaf.
//!
//! *Step 2 therefore keeps every finished subtree optimal for its own root count*: children that
//! respond to the same p have m(k - 1) <= p <= m(k), which is the condition above, so together they
//! are optimal for their sum, and from there only cheapest units are moved. At the root, -down <= 0
//! <= up is optimality without a total; with one, the sizes are children of an imaginary region
//! that has no cost. None of this depends on where the prices come from: a rounding error in
//! step 1 costs time, never the optimum. In other words, the result is a solution that no exchange
//! of a single unit improves, and for this (laminar) problem such a solution is a global optimum.
//!
//! # Why it is fast
//!
//! *An integer response k of v to any price p is within B = (leaves below v) / 2 of the real
//! response x = X_v(p).* At a leaf it is the real one rounded. The bound adds up over children; let
//! it hold for them together, and let q be the price that they see at x. If k > x + B, the last
//! unit fits a child price of p - 2 w (k - 1/2 - y) < q, as k - 1/2 >= k - B > x; so the children's
//! real response to it, at least k - B, is at most that to q, which is x: a contradiction. Likewise
//! if k < x - B.
//!
//! So v's children together start within 2 B of the response that v looks for, and each region
//! costs at most as many moves as it has leaves: at most depth x leaves moves per size, and at the
//! top half the number of sizes times leaves. Above every region's children stands a tournament for
//! the cheapest, so a move costs O(depth + log regions). All together that is
//! O(regions sizes depth (depth + log regions)), whatever the counts. (In `f64` the starts are off
//! by a further 2^-52 of the counts.)
//!
//! # Exactness
//!
//! Marginal costs along a path are sums of at most `depth` terms w (2 (x - y) + 1), in `f64`. With
//! integer y and integer weights they are integers, and as long as they stay below 2^53 all that
//! decides optimality is exact: the result is an exact optimum. Otherwise two moves are told apart
//! up to the rounding of the terms on their paths. A term that is large although the total is small
//! has cancelled against another one, so its |x - y| is at least 1/2 and its share of the cost as
//! large as itself: what rounding can lose is of the order of 2^-52 of the cost per unit moved.
//! Feasibility is integer arithmetic and holds in any case.
//!
//! Where several optima cost the same, every size's root count is the largest one if no total is
//! given. Otherwise ties go to the first size and to the first child.

mod allocation;
mod relaxation;

pub(super) use relaxation::last_price;

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use super::noisy_counts::NoisyCounts;
use crate::coco::Estimator;
use crate::hierarchy::observer::Observer;
use allocation::{Allocation, Tournament, reach};
use relaxation::Market;

pub(super) struct Pgsr;

impl ConsistencyMethod for Pgsr {
    fn name(&self) -> &'static str {
        "pgsr"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Counts
    }

    /// What solves for cells wants all of them measured.
    fn auto(&self) -> Estimator {
        Estimator::Hc
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        known.solved_exactly(pgsr)
    }
}

/// The consistent counts of least cost: integers >= 0 in the order of the noisy ones, children
/// summing to their parents for every size, the root's summing to `total` if it is given.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub fn pgsr(noisy: &NoisyCounts, total: Option<u64>) -> Vec<u64> {
    if !noisy.has_room_for(total) {
        return vec![0; noisy.values.len()];
    }
    let mut market = Market::new(noisy, total);
    let tournament = Tournament::new(noisy.tree);
    let mut offers = Vec::with_capacity(noisy.sizes);
    let mut counts = Vec::with_capacity(noisy.values.len());
    for size in 0..noisy.sizes {
        let targets = noisy.targets(size);
        let prices = market.prices(size, &targets);
        let allocation = Allocation::responding(&tournament, &targets, &prices);
        offers.push(allocation.moves[0]);
        counts.extend_from_slice(&allocation.counts);
    }
    if let Some(total) = total {
        reach(noisy, &tournament, &offers, &mut counts, total);
    }
    counts
}

/// The real-valued optimum of the same problem, of which [`pgsr`] is the integer one: the counts
/// add up but for rounding errors. Rounded one by one, as M_H^r does, they would not any more.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub fn pgsr_relaxed(noisy: &NoisyCounts, total: Option<u64>) -> Vec<f64> {
    if !noisy.has_room_for(total) {
        return vec![0.0; noisy.values.len()];
    }
    let (regions, leaves) = (noisy.tree.regions(), noisy.tree.leaves());
    let mut market = Market::new(noisy, total);
    let mut counts = vec![0.0; noisy.values.len()];
    for (size, counts) in counts.chunks_exact_mut(regions.len()).enumerate() {
        let targets = noisy.targets(size);
        let prices = market.prices(size, &targets);
        for leaf in leaves.clone() {
            counts[leaf] = targets[leaf].response(prices[leaf]).max(0.0);
        }
        for region in (0..leaves.start).rev() {
            counts[region] = regions[region].children.clone().map(|child| counts[child]).sum();
        }
    }
    counts
}

#[cfg(test)]
pub(super) mod tests;
