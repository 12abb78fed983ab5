//! Where to cut: from what was released of the parent, or from the columns as they come.
//!
//! # The price of a column and of a row
//!
//! Where a histogram has d groups per size, its cumulative counts rise by d from one column to the
//! next. Without more knowledge than that, isotonic regression of noise of scale t leaves an error
//! of about t^(2/3) d^(1/3) per column (the cube-root rate of monotone fits), but not more than t,
//! the noise itself. Measured by rows the same stretch has d rows per size, and sizes rise by 1/d
//! from one to the next: per size the error is d t^(2/3) d^(-1/3), but not more than d t. The two
//! are equal at d = 1, whatever t is: *columns where there is more than one group per size, rows
//! where there are fewer*. So it is decided where nothing was released before.
//!
//! Below a released region it is known how the counts should rise, but for what chance adds, of
//! variance d, and columns are smoothed accordingly ([`prior`](super::prior)): a walk with steps of
//! variance d, seen through noise of variance about t^2, is known to within about sqrt(t) d^(1/4).
//! The two are equal at d = t^(-2/5) where that is less than 1: smoothing pays for somewhat more
//! columns.

use crate::coco::estimators::node::NoisyNode;
use crate::coco::estimators::profile::Profile;

/// How much larger the error of rows is than that of smoothed columns where there are `density`
/// groups per size: for one size, and as a multiple of t.
fn saving(density: f64, scale: f64) -> f64 {
    let columns = (density.sqrt() / scale).sqrt().min(1.0);
    let rows =
        if density * scale > 1.0 { (density * density / scale).powf(1.0 / 3.0) } else { density };
    rows - columns
}

/// The cut with the least predicted error for a node where groups of all sizes are rarer than in
/// the region above, in proportion.
pub(super) fn cut_below(parent: &Profile, node: &NoisyNode) -> u64 {
    let share = parent.share(node.groups);
    let (mut best, mut saved, mut from) = ((0.0, 0), 0.0, 0);
    // every cut measures groups of size K alike
    let (_, below_largest) = parent.stretches().split_last().unwrap_or((&(0, 0), &[]));
    for &(edge, groups) in below_largest {
        let sizes = (edge - from) as f64;
        saved += sizes * saving(groups as f64 * share / sizes, node.scale);
        if saved > best.0 {
            best = (saved, edge);
        }
        from = edge;
    }
    best.1
}

/// What is left is larger than all sizes so far, and nothing tells how much larger: it is taken to spread
/// over so many times as many sizes.
const SPREAD: f64 = 3.0;

/// Whether the noisy columns so far say that rows should follow: since the last edge there was less
/// than one group per size, also with the noise against it, and so there is of what is left.
///
/// (Columns that end in a gap below the first size, or between two crowds, leave a crowd to the rows. With what
/// is left spread up to `max_size`, which is to be generous, histograms with such gaps had up to 24 times the
/// error of the best fixed cut; now 0.92 times on average and 1.8 times at most, where noise is not as large as
/// the number of groups.)
pub(super) fn cut_here(node: &NoisyNode, noisy: &[i64]) -> bool {
    let edge = noisy.len();
    let odd = edge >> edge.trailing_zeros();
    if !matches!(odd, 1 | 3) {
        return false;
    }
    let last = if odd == 1 { edge - edge / 4 } else { edge - edge / 3 };
    let at = |edge: usize| edge.checked_sub(1).map_or(0.0, |column| noisy[column] as f64);
    let groups = at(edge) - at(last);
    let left = node.groups as f64 - at(edge);
    groups + node.scale < (edge - last) as f64 && left < SPREAD * edge as f64
}

/// After how many of the noisy numbers it was said that they were the last columns.
pub(super) fn columns_as_they_come(node: &NoisyNode, noisy: &[i64]) -> usize {
    let most = noisy.len().min(node.max_size as usize);
    (1..most).find(|&columns| cut_here(node, &noisy[..columns])).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coco::{Estimate, EstimatedRun};

    fn node(groups: u64, max_size: u64, scale: f64) -> NoisyNode<'static> {
        NoisyNode { groups, max_size, scale, variance: 2.0 * scale * scale, parent: None }
    }

    /// About `density` / size^2 groups of each size up to 10,000.
    fn falling(density: f64) -> Estimate {
        let run = |size: u64| EstimatedRun {
            size,
            variance: 1.0,
            groups: (density / size as f64) as u64 - (density / (size + 1) as f64) as u64,
        };
        Estimate::new((1..10_000).map(run).collect())
    }

    /// A density of d is at 100 d^(-1/2) for the parent and, for a child with 1/25 of its groups,
    /// at 20 d^(-1/2). Rows are as good as columns where d is 1 or, if that is less, t^(-2/5).
    #[test]
    fn the_cut_is_where_rows_are_as_good_as_columns() {
        let parent = falling(10_000.0);
        let groups: u64 = parent.runs().iter().map(|run| run.groups).sum();
        let profile = Profile::new(&parent, 10_000, 0.0);
        for (scale, density) in [(0.5, 1.0), (1.0, 1.0), (10.0, 0.4), (100.0, 0.16f64)] {
            let ratio = |groups, size: f64| {
                cut_below(&profile, &node(groups, 10_000, scale)) as f64 / (size / density.sqrt())
            };
            for ratio in [ratio(groups, 100.0), ratio(groups / 25, 20.0)] {
                assert!((0.6..1.7).contains(&ratio), "{scale}: {ratio}");
            }
            let node = node(u64::MAX / 2, 1000, scale);
            assert_eq!(cut_below(&Profile::new(&parent, 1000, 0.0), &node), 1000);
        }
        assert!(cut_below(&profile, &node(1, 10_000, 1.0)) <= 2);
    }

    /// Sizes that hardly occur can lie below those that matter.
    #[test]
    fn a_late_crowd_is_measured_by_columns() {
        let crowd = (100..200).map(|size| EstimatedRun { size, variance: 1.0, groups: 1000 });
        let profile = Profile::new(&Estimate::new(crowd.collect()), 10_000, 0.0);
        assert_eq!(cut_below(&profile, &node(100_000, 10_000, 1.0)), 256);
    }

    #[test]
    fn an_estimate_without_groups_tells_nothing() {
        assert_eq!(cut_below(&Profile::new(&Estimate::default(), 10, 0.0), &node(5, 10, 1.0)), 0);
    }

    #[test]
    fn columns_go_on_while_groups_are_dense_or_many() {
        let parent = falling(10_000.0);
        let upto = |size: u64| -> u64 {
            let runs = parent.runs().iter().take_while(|run| run.size <= size);
            runs.map(|run| run.groups).sum()
        };
        let columns: Vec<i64> = (0..10_000).map(|size| upto(size) as i64).collect();
        let public = node(upto(10_000), 10_000, 3.0);
        let stop = (1..=columns.len()).find(|&count| cut_here(&public, &columns[..count]));
        assert!(stop.is_some_and(|cut| (96..=192).contains(&cut)), "{stop:?}");
    }

    /// Whatever the largest size: what is left would be a crowd if it spread over three times as many sizes.
    #[test]
    fn columns_go_on_through_a_gap_before_a_crowd() {
        for max_size in [1000, 1 << 40] {
            assert!(!cut_here(&node(290, max_size, 3.0), &[0; 96]));
            assert!(cut_here(&node(280, max_size, 3.0), &[0; 96]));
        }
    }
}
