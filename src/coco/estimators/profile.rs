//! What a released region tells those within it.
//!
//! Sizes are looked at in stretches between 0, 1, 2, 3, 4, 6, 8, 12, 16, ... and K, since what is
//! known of a density is noisy, and an error changes little within a factor of 1.5 of the best cut.

use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;
use std::iter::{once, successors};

/// 1, 2, 3, 4, 6, 8, 12, ...: powers of two, and what lies halfway between them.
fn next_edge(edge: u64) -> u64 {
    if edge.is_power_of_two() { edge + (edge / 2).max(1) } else { edge + edge / 3 }
}

/// All edges below `max_size`, and `max_size`.
pub(super) fn edges(max_size: u64) -> impl Iterator<Item = u64> {
    let inner = successors(Some(1), |edge| Some(next_edge(*edge)));
    inner.take_while(move |edge| *edge < max_size).chain(once(max_size))
}

/// A released estimate as the nodes below it see it: how many groups it has in each stretch of
/// sizes tells their cuts, and how many of each size what to expect of their columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Where each stretch ends, and how many groups are in it; the last is that of K alone.
    stretches: Vec<(u64, u64)>,
    groups: u64,
    histogram: Coco,
    /// Of the noise that it was measured with.
    variance: f64,
}

/// Whether a region tells another what to expect that has a share of its groups: not where its own
/// noise, in proportion, is larger than that of the other. The variances are those of the noise of
/// the two.
pub(crate) fn tells(share: f64, of_region: f64, of_other: f64) -> bool {
    share * share * of_region <= of_other
}

impl Profile {
    /// `max_size`: the public K of the estimate and of all nodes below it. `variance`: of the noise
    /// that it was measured with.
    pub fn new(estimate: &Estimate, max_size: u64, variance: f64) -> Profile {
        let mut runs = estimate.runs().iter().peekable();
        let mut groups_below = |edge: u64| {
            let mut groups = 0;
            while let Some(run) = runs.next_if(|run| run.size < edge) {
                groups += run.groups;
            }
            groups
        };
        let ends = edges(max_size).chain([max_size + 1]);
        let histogram = estimate.histogram();
        Profile {
            stretches: ends.map(|end| (end, groups_below(end))).collect(),
            groups: histogram.groups(),
            histogram,
            variance,
        }
    }

    /// The share of the region's groups that a region within it has, which has so many.
    pub(super) fn share(&self, groups: u64) -> f64 {
        groups as f64 / (self.groups as f64).max(1.0)
    }

    /// Where each stretch of sizes ends, and how many groups are in it; the last is that of K alone.
    pub(super) fn stretches(&self) -> &[(u64, u64)] {
        &self.stretches
    }

    pub(super) fn groups(&self) -> u64 {
        self.groups
    }

    /// Whether it is known well enough to say what to expect of so many groups that are measured
    /// with noise of this variance.
    pub(super) fn tells(&self, groups: u64, variance: f64) -> bool {
        tells(self.share(groups), self.variance, variance)
    }

    /// Of the noise that it was measured with.
    pub(crate) fn variance(&self) -> f64 {
        self.variance
    }

    /// The released numbers of groups.
    pub(super) fn histogram(&self) -> &Coco {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_grow_by_at_most_a_half_and_end_with_the_largest_size() {
        assert_eq!(edges(20).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8, 12, 16, 20]);
        assert_eq!(edges(1).collect::<Vec<_>>(), [1]);
        assert_eq!(edges(8).last(), Some(8));
    }
}
