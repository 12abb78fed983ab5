//! The consistent counts whose running totals are nearest to noisy ones.

use crate::fit::{Arithmetic, Block, pool_adjacent_violators};
use crate::hierarchy::consistency::noisy_counts::{LARGEST_SUM, NoisyCounts, NoisyTarget, Weights};
use crate::hierarchy::tree::Tree;
use crate::work::{Paced, done};
use std::iter::repeat_n;

/// The consistent counts whose running totals are nearest to noisy ones: they minimise the sum of
/// w (x - y)^2 over the running totals x. Counts are integers >= 0 in the order of the noisy
/// values, children summing to their parents for every size, the root's summing to `total` if it is
/// given; each level's last noisy value then has no meaning.
///
/// The optimum is exact where the values are integers and have no weights; otherwise up to the
/// rounding of a block's mean in `f64`. The constraints hold in any case.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub(super) fn chain(noisy: &NoisyCounts, total: Option<u64>) -> Vec<u64> {
    if !noisy.has_room_for(total) {
        return vec![0; noisy.values.len()];
    }
    let equal = matches!(noisy.weights, Weights::Equal);
    if equal && noisy.values.iter().paced().all(|value| value.fract() == 0.0) {
        fit(noisy, total, |target| (target.value as i128, 1))
    } else {
        let weighted = |NoisyTarget { value, weight }: NoisyTarget| (value * weight, weight);
        fit(noisy, total, weighted)
    }
}

/// [`chain`] in one arithmetic. `observation`: a target's value times its weight, and its weight.
fn fit<T: Arithmetic + Default>(
    noisy: &NoisyCounts,
    total: Option<u64>,
    observation: impl Fn(NoisyTarget) -> (T, T),
) -> Vec<u64> {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let leaves = tree.leaves();
    let ends = regions_by_last_leaf(tree);
    let position = |size: usize, leaf: usize| {
        let (mut sum, mut weight) = (T::default(), T::default());
        for &region in &ends[leaf] {
            let (own_sum, own_weight) = observation(noisy.target(region, size));
            sum += own_sum;
            weight += own_weight;
        }
        Block::position(sum, weight)
    };
    // the last running total is the public one
    let positions = leaves.len() * sizes - usize::from(total.is_some());
    let positions = (0..positions).paced();
    let blocks =
        pool_adjacent_violators(positions.map(|i| position(i / leaves.len(), i % leaves.len())));

    let most = total.unwrap_or(LARGEST_SUM);
    let running_totals = blocks
        .iter()
        .flat_map(|block| {
            let value = block.rounded_mean().clamp(0, most.into()) as u64;
            repeat_n(value, block.count() as usize)
        })
        .chain(total);
    let mut counts = vec![0; noisy.values.len()];
    let mut before = 0;
    for (i, running_total) in running_totals.enumerate().paced() {
        let leaf = leaves.start + i % leaves.len();
        counts[noisy.cell(leaf, i / leaves.len())] = running_total - before;
        before = running_total;
    }
    for counts in counts.chunks_exact_mut(tree.regions().len()) {
        done(counts.len() as u64);
        for parent in (0..leaves.start).rev() {
            counts[parent] = counts[tree.regions()[parent].children.clone()].iter().sum();
        }
    }
    counts
}

/// For every leaf, the regions that it ends: itself, and those whose last child ends with it.
fn regions_by_last_leaf(tree: &Tree) -> Vec<Vec<usize>> {
    let leaves = tree.leaves();
    let mut ends: Vec<Vec<usize>> = leaves.clone().map(|leaf| vec![leaf]).collect();
    let mut last: Vec<usize> = (0..leaves.end).map(|r| r.saturating_sub(leaves.start)).collect();
    for region in (0..leaves.start).rev() {
        last[region] = last[tree.regions()[region].children.end - 1];
        ends[last[region]].push(region);
    }
    ends
}

#[cfg(test)]
mod tests;
