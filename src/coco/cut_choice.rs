//! Where to cut: from what was released of the parent, or from the columns as they come.
//!
//! # The price of a column and of a row
//!
//! Where a histogram has d groups per size, its cumulative counts rise by d from one column to the
//! next, and isotonic regression of noise of scale t leaves an error of about t^(2/3) d^(1/3) per
//! column (the cube-root rate of monotone fits), but not more than t, the noise itself. Measured by
//! rows the same stretch has d rows per size, and sizes rise by 1/d from one to the next: per size
//! the error is d t^(2/3) d^(-1/3), but not more than d t. The two are equal at d = 1, whatever t is:
//! *columns where there is more than one group per size, rows where there are fewer*.
//!
//! Sizes are looked at in stretches between 0, 1, 2, 3, 4, 6, 8, 12, 16, ... and K, since what is
//! known of a density is noisy, and the error changes little within a factor of 1.5 of the best cut.

use super::cut::Public;
use super::estimate::Estimate;
use std::iter::{once, successors};

/// 1, 2, 3, 4, 6, 8, 12, ...: powers of two, and what lies halfway between them.
fn next_edge(edge: u64) -> u64 {
    if edge.is_power_of_two() { edge + (edge / 2).max(1) } else { edge + edge / 3 }
}

/// All edges below `max_size`, and `max_size`.
fn edges(max_size: u64) -> impl Iterator<Item = u64> {
    let inner = successors(Some(1), |edge| Some(next_edge(*edge)));
    inner.take_while(move |edge| *edge < max_size).chain(once(max_size))
}

/// How much larger the error of rows is than that of columns where there are `density` groups per
/// size: for one size, and as a multiple of t.
fn saving(density: f64, scale: f64) -> f64 {
    let relative = density / scale;
    let columns = relative.cbrt().min(1.0);
    let rows = (relative.cbrt() * density.cbrt()).min(density);
    rows - columns
}

/// The cut with the least predicted error for a node whose parent has this estimate, scaled to the
/// node's number of groups.
pub(super) fn cut_like(parent: &Estimate, node: &Public) -> u64 {
    let of_parent: u64 = parent.runs().iter().map(|run| run.groups).sum();
    let share = node.groups as f64 / (of_parent as f64).max(1.0);
    let mut runs = parent.runs().iter().peekable();
    let (mut best, mut saved, mut from) = ((0.0, 0), 0.0, 0);
    for edge in edges(node.max_size) {
        let mut groups = 0;
        while let Some(run) = runs.next_if(|run| run.size < edge) {
            groups += run.groups;
        }
        let sizes = (edge - from) as f64;
        saved += sizes * saving(groups as f64 * share / sizes, node.scale);
        if saved > best.0 {
            best = (saved, edge);
        }
        from = edge;
    }
    best.1
}

/// Whether the noisy columns so far say that rows should follow: since the last edge there was less
/// than one group per size, also with the noise against it, and there are fewer rows left than
/// columns.
pub(super) fn cut_here(node: &Public, noisy: &[i64]) -> bool {
    let edge = noisy.len();
    let odd = edge >> edge.trailing_zeros();
    if !matches!(odd, 1 | 3) {
        return false;
    }
    let last = if odd == 1 { edge - edge / 4 } else { edge - edge / 3 };
    let at = |edge: usize| edge.checked_sub(1).map_or(0.0, |column| noisy[column] as f64);
    let groups = at(edge) - at(last);
    let rows = node.groups as f64 - at(edge);
    let columns = (node.max_size - edge as u64) as f64;
    groups + node.scale < (edge - last) as f64 && rows < columns
}
