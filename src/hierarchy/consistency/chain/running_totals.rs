//! From counts to running totals.

use crate::hierarchy::tree::Tree;
use crate::work::{Paced, done};
use std::ops::AddAssign;

/// The running totals of every level, from counts of groups per region and size; both in the order
/// of [`NoisyCounts`](crate::hierarchy::NoisyCounts).
///
/// Panics where there are not as many counts of every region.
pub(in crate::hierarchy) fn running_totals<T: Copy + Default + AddAssign>(
    tree: &Tree,
    counts: &[T],
) -> Vec<T> {
    assert!(counts.len().is_multiple_of(tree.regions().len()), "one count per region and size");
    let mut totals = counts.to_vec();
    let mut sums = vec![T::default(); tree.depth()];
    for cells in totals.chunks_exact_mut(tree.regions().len()) {
        done(cells.len() as u64);
        for (level, sum) in sums.iter_mut().enumerate() {
            for cell in &mut cells[tree.level(level)] {
                *sum += *cell;
                *cell = *sum;
            }
        }
    }
    totals
}

/// Turns one level's counts into its running totals.
pub(super) fn accumulate<T: Copy + Default + AddAssign>(sizes: usize, level: &mut [T]) {
    let mut total = T::default();
    let regions = level.len().checked_div(sizes).unwrap_or(0);
    let cells = (0..sizes).flat_map(|size| (0..regions).map(move |region| region * sizes + size));
    for cell in cells.paced() {
        total += level[cell];
        level[cell] = total;
    }
}
