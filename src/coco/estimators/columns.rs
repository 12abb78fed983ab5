//! Cumulative counts, the columns of a Young diagram ([`strips`](super::cut)): what is measured of
//! them, and what fitted ones say of the sizes.

use super::node::NoisyNode;
use crate::coco::estimate::EstimatedRun;
use crate::coco::histogram::Coco;

/// The numbers of groups of size at most i, for i = 0 .. K - 1.
pub(super) fn columns(truth: &Coco, max_size: u64) -> impl Iterator<Item = i64> + '_ {
    let mut runs = truth.runs().iter().peekable();
    let mut below = 0;
    (0..max_size).map(move |size| {
        if let Some(run) = runs.next_if(|run| run.size == size) {
            below += run.groups as i64;
        }
        below
    })
}

/// The smallest groups, so many, with the sizes that fitted columns give them.
///
/// A cell of n groups is the difference of two columns: 2 v over its n groups; v alone for the
/// first and the last cell, whose other end (0, or G) is known.
pub(super) fn push_columns(
    node: &NoisyNode,
    columns: &[i64],
    groups: u64,
    runs: &mut Vec<EstimatedRun>,
) {
    let mut below = 0;
    for (size, value) in (0..).zip(columns.iter().copied().chain([node.groups as i64])) {
        let upto = node.clamped(value).min(groups);
        let groups = upto.saturating_sub(below);
        if groups > 0 {
            let ends = if size == 0 || size == node.max_size { 1.0 } else { 2.0 };
            let variance = ends * node.variance / groups as f64;
            runs.push(EstimatedRun { size, variance, groups });
            below = upto;
        }
    }
}
