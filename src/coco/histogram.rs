//! The histogram in runs, and the accumulator that builds it.

use crate::work::done;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest size and the largest number of groups: what PostgreSQL's `bigint` holds.
pub(crate) const LARGEST: u64 = i64::MAX as u64;

/// How many distinct sizes a histogram that is read or aggregated may have: some hundred megabytes.
/// Releases cap sizes at max_size, which is less.
pub const MAX_DISTINCT_SIZES: usize = 6_000_000;

/// `groups` groups of `size` entities each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub size: u64,
    pub groups: u64,
}

/// An exact count-of-counts histogram. Confidential.
///
/// Runs are in ascending order of size, each size once, no run is empty. Numbers saturate at
/// `i64::MAX`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coco {
    runs: Vec<Run>,
}

/// The same in no more memory than they need: there may be millions of lists. A copy leaves a hole
/// that the next one fits into; to shrink each would leave millions that nothing does.
pub(crate) fn exactly<T: Copy>(list: Vec<T>) -> Vec<T> {
    if list.len() == list.capacity() { list } else { list.as_slice().to_vec() }
}

/// A histogram that satisfies differential privacy, safe to publish. Only a mechanism makes one
/// from an exact histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DpCoco(Coco);

impl Coco {
    /// The runs as they are, if they keep the type's promises.
    pub(crate) fn from_sorted_runs(runs: Vec<Run>) -> Option<Coco> {
        let ascending = runs.windows(2).all(|pair| pair[0].size < pair[1].size);
        let in_range =
            runs.iter().all(|run| run.size <= LARGEST && (1..=LARGEST).contains(&run.groups));
        let total = runs.iter().try_fold(0u64, |sum, run| sum.checked_add(run.groups));
        let total_fits = total.is_some_and(|sum| sum <= LARGEST);
        (ascending && in_range && total_fits).then_some(Coco { runs })
    }

    /// Of runs in ascending order of size, each size once; those without groups are left out.
    pub(crate) fn from_ascending(runs: impl Iterator<Item = Run>) -> Coco {
        let mut left = LARGEST;
        let runs = runs.filter_map(|Run { size, groups }| {
            let groups = groups.min(left);
            left -= groups;
            (groups > 0).then_some(Run { size, groups })
        });
        Coco { runs: exactly(runs.collect()) }
    }

    /// Of the groups of all these histograms.
    pub(crate) fn sum(histograms: &[Coco]) -> Coco {
        Coco::from_ascending(merged(histograms).into_iter())
    }

    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The number of groups, G.
    pub fn groups(&self) -> u64 {
        self.runs.iter().map(|run| run.groups).sum()
    }

    /// Its so many largest groups, and where there are fewer, empty ones besides.
    ///
    /// *Sensitivity.* Let two histograms be an entity in one group apart, which only one of them may
    /// have, or an empty group. Their sizes in descending order, followed by zeros without end, are
    /// apart in one entry at most, by 1. Cut off after so many entries, they still are.
    pub(crate) fn with_groups(&self, groups: u64) -> Coco {
        let mut left = groups.min(LARGEST);
        let mut runs = Vec::with_capacity(self.runs.len() + 1);
        for run in self.runs.iter().rev().filter(|run| run.size > 0) {
            let groups = run.groups.min(left);
            left -= groups;
            runs.extend((groups > 0).then_some(Run { groups, ..*run }));
        }
        runs.extend((left > 0).then_some(Run { size: 0, groups: left }));
        runs.reverse();
        done(self.runs.len() as u64);
        Coco { runs }
    }

    /// The histogram with all sizes above `max_size` counted at `max_size`.
    pub(crate) fn capped(&self, max_size: u64) -> impl Iterator<Item = Run> + '_ {
        self.runs.iter().map(move |run| Run { size: run.size.min(max_size), ..*run })
    }

    /// H[0..=K] for K = `max_size`.
    pub(super) fn counts(&self, max_size: u64) -> Vec<i64> {
        let mut counts = vec![0; max_size as usize + 1];
        for run in self.capped(max_size) {
            counts[run.size as usize] += run.groups as i64;
        }
        counts
    }
}

/// So many runs are sorted at a time where histograms are summed.
const MOST_SORTED: usize = 1 << 10;

/// All their runs in ascending order of size, each size once: those of one half of the histograms
/// merged with those of the other, or all sorted where they are few.
fn merged(histograms: &[Coco]) -> Vec<Run> {
    let count = histograms.iter().map(|histogram| histogram.runs.len()).sum();
    if histograms.len() < 2 || count <= MOST_SORTED {
        let mut runs = Vec::with_capacity(count);
        histograms.iter().for_each(|histogram| runs.extend_from_slice(&histogram.runs));
        runs.sort_unstable_by_key(|run| run.size);
        runs.dedup_by(|next, last| {
            let same = next.size == last.size;
            last.groups = last.groups.saturating_add(if same { next.groups } else { 0 });
            same
        });
        done(count as u64);
        return runs;
    }
    let (left, right) = histograms.split_at(histograms.len() / 2);
    let (left, right) = (merged(left), merged(right));
    done((left.len() + right.len()) as u64);
    let mut runs = Vec::with_capacity(left.len() + right.len());
    let mut right = right.into_iter().peekable();
    for Run { size, groups } in left {
        while let Some(smaller) = right.next_if(|run| run.size < size) {
            runs.push(smaller);
        }
        let more = right.next_if(|run| run.size == size).map_or(0, |run| run.groups);
        runs.push(Run { size, groups: groups.saturating_add(more) });
    }
    runs.extend(right);
    runs
}

impl DpCoco {
    /// For mechanisms and for reading stored releases back.
    pub(crate) fn new(histogram: Coco) -> DpCoco {
        DpCoco(histogram)
    }

    pub fn histogram(&self) -> &Coco {
        &self.0
    }
}

impl FromIterator<Run> for Coco {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Coco {
        let mut tally = Tally::default();
        for run in runs {
            tally.add(run.size, run.groups);
        }
        tally.histogram()
    }
}

/// Collects groups of any size in any order.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    groups_by_size: BTreeMap<u64, u64>,
    total: u64,
}

impl Tally {
    /// Adds `groups` groups of one size; the total saturates at `i64::MAX` groups.
    pub fn add(&mut self, size: u64, groups: u64) {
        let groups = groups.min(LARGEST - self.total);
        if groups > 0 {
            self.total += groups;
            *self.groups_by_size.entry(size.min(LARGEST)).or_default() += groups;
        }
    }

    pub fn merge(&mut self, histogram: &Coco) {
        for run in histogram.runs() {
            self.add(run.size, run.groups);
        }
    }

    /// The number of distinct sizes so far.
    pub fn distinct_sizes(&self) -> usize {
        self.groups_by_size.len()
    }

    pub fn histogram(&self) -> Coco {
        let runs = self.groups_by_size.iter().map(|(&size, &groups)| Run { size, groups });
        Coco { runs: runs.collect() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The histogram of a list of group sizes.
    pub(crate) fn of_sizes(sizes: &[u64]) -> Coco {
        sizes.iter().map(|&size| Run { size, groups: 1 }).collect()
    }

    #[test]
    fn the_posters_example() {
        let histogram = of_sizes(&[4, 2, 1, 1]);
        let runs: Vec<_> = histogram.runs().iter().map(|r| (r.size, r.groups)).collect();
        assert_eq!(runs, [(1, 2), (2, 1), (4, 1)]);
        assert_eq!(histogram.groups(), 4);
    }

    #[test]
    fn merging_parts_equals_the_whole() {
        let mut tally = Tally::default();
        tally.merge(&of_sizes(&[1, 1, 5]));
        tally.merge(&of_sizes(&[5, 7, 0]));
        assert_eq!(tally.histogram(), of_sizes(&[0, 1, 1, 5, 5, 7]));
        assert_eq!(tally.distinct_sizes(), 4);
    }

    #[test]
    fn a_sum_has_all_groups_of_its_parts() {
        let sizes = [[1, 1, 5], [5, 7, 0], [2, 2, 9], [0, 5, 9], [3, 3, 3]];
        let parts = sizes.map(|sizes| of_sizes(&sizes));
        for n in 0..=parts.len() {
            assert_eq!(Coco::sum(&parts[..n]), of_sizes(&sizes[..n].concat()));
        }
    }

    #[test]
    fn the_largest_groups_are_kept_and_empty_ones_fill_up() {
        let histogram = of_sizes(&[0, 0, 1, 1, 1, 5, 7]);
        for (groups, sizes) in [
            (0, &[][..]),
            (1, &[7]),
            (3, &[1, 5, 7]),
            (5, &[1, 1, 1, 5, 7]),
            (6, &[0, 1, 1, 1, 5, 7]),
            (7, &[0, 0, 1, 1, 1, 5, 7]),
            (9, &[0, 0, 0, 0, 1, 1, 1, 5, 7]),
        ] {
            assert_eq!(histogram.with_groups(groups), of_sizes(sizes), "{groups}");
        }
        assert_eq!(Coco::default().with_groups(2), of_sizes(&[0, 0]));
    }

    #[test]
    fn numbers_saturate_and_never_wrap() {
        let mut tally = Tally::default();
        tally.add(3, u64::MAX);
        tally.add(3, 5);
        tally.add(u64::MAX, 1);
        let all = [Run { size: 3, groups: LARGEST }];
        assert_eq!(tally.histogram().runs(), all);
        let parts = [tally.histogram(), of_sizes(&[3, 4]), tally.histogram()];
        assert_eq!(Coco::sum(&parts).runs(), all);
    }

    #[test]
    fn runs_that_break_the_promises_are_refused() {
        let run = |size, groups| Run { size, groups };
        assert!(Coco::from_sorted_runs(vec![run(1, 1), run(2, 9)]).is_some());
        for bad in [
            vec![run(2, 1), run(1, 1)],
            vec![run(1, 1), run(1, 1)],
            vec![run(1, 0)],
            vec![run(u64::MAX, 1)],
            vec![run(1, LARGEST), run(2, 1)],
        ] {
            assert_eq!(Coco::from_sorted_runs(bad), None);
        }
    }
}
