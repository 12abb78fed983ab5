//! Kuo et al., sections 5.2 and 5.3: match a parent's groups to its children's, merge each pair.

use crate::coco::{Estimate, EstimatedRun};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How the two estimates of a matched group's size are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Weights inversely proportional to the variances (equations 5 and 6).
    Weighted,
    /// The plain mean.
    Mean,
}

/// `groups` of a parent's groups matched to as many of one child's.
#[derive(Debug, Clone, Copy)]
struct Matched {
    child: usize,
    parent_run: EstimatedRun,
    child_run: EstimatedRun,
    groups: u64,
}

/// The children's estimates, updated by merging them with their parent's along the cheapest
/// matching. The parent has as many groups as its children together.
pub(super) fn match_and_merge(
    parent: &Estimate,
    children: &[&Estimate],
    merge: Merge,
) -> Vec<Estimate> {
    let mut merged = vec![Vec::new(); children.len()];
    match_groups(parent, children, |pair: Matched| {
        let (p, c) = (pair.parent_run, pair.child_run);
        let (size, variance) = merge.join((p.size, p.variance), (c.size, c.variance));
        merged[pair.child].push(EstimatedRun { size, variance, groups: pair.groups });
    });
    merged.into_iter().map(Estimate::new).collect()
}

impl Merge {
    /// The size, rounded to the nearest integer, and its variance.
    fn join(self, (s, v): (u64, f64), (t, w): (u64, f64)) -> (u64, f64) {
        // equal sizes stay as they are, also where floating point has no room for them
        let mean = |share: f64| {
            let step = (share * (t as f64 - s as f64)).round();
            if step < 0.0 { s - (-step) as u64 } else { s + step as u64 }
        };
        match self {
            // without any noise both variances are 0, and the sizes mostly equal
            Merge::Weighted if v + w > 0.0 => (mean(v / (v + w)), v * w / (v + w)),
            _ => (mean(0.5), (v + w) / 4.0),
        }
    }
}

/// The least-cost matching of lemma 5: always the parent's smallest unmatched size with the
/// children's smallest.
///
/// Where several children hold groups of that size and not all can be matched now, the parent's are
/// shared among them in proportion to their numbers there, by largest remainders.
fn match_groups(parent: &Estimate, children: &[&Estimate], mut emit: impl FnMut(Matched)) {
    let mut cursors: Vec<RunCursor> = children.iter().map(|child| RunCursor::new(child)).collect();
    let mut by_size: BinaryHeap<Reverse<(u64, usize)>> = cursors
        .iter()
        .enumerate()
        .filter_map(|(child, cursor)| Some(Reverse((cursor.size()?, child))))
        .collect();

    let mut holders = Vec::new();
    for parent_run in parent.runs() {
        let mut unmatched = parent_run.groups;
        while let Some(&Reverse((size, _))) = by_size.peek()
            && unmatched > 0
        {
            holders.clear();
            while let Some(&Reverse((other, child))) = by_size.peek()
                && other == size
            {
                by_size.pop();
                holders.push((child, cursors[child].groups_of_size(size)));
            }
            let available: u64 = holders.iter().map(|(_, groups)| groups).sum();
            let matched = unmatched.min(available);
            let shares = apportion(matched, holders.iter().map(|(_, groups)| *groups), available);
            for (&(child, _), share) in holders.iter().zip(shares) {
                cursors[child].take(share, |child_run, groups| {
                    emit(Matched { child, parent_run: *parent_run, child_run, groups });
                });
                by_size.extend(cursors[child].size().map(|size| Reverse((size, child))));
            }
            unmatched -= matched;
        }
    }
}

/// `total` seats in proportion to the weights, whose sum is given, by largest remainders; ties go
/// to the first. No share exceeds its weight as long as the total does not exceed the sum.
fn apportion(total: u64, weights: impl Iterator<Item = u64>, sum: u64) -> Vec<u64> {
    let (mut shares, mut remainders) = (Vec::new(), Vec::new());
    for (i, weight) in weights.enumerate() {
        let exact = u128::from(total) * u128::from(weight);
        shares.push((exact / u128::from(sum)) as u64);
        remainders.push((Reverse(exact % u128::from(sum)), i));
    }
    let missing = (total - shares.iter().sum::<u64>()) as usize;
    if missing > 0 {
        remainders.select_nth_unstable(missing - 1);
        for (_, i) in &remainders[..missing] {
            shares[*i] += 1;
        }
    }
    shares
}

/// A child's groups that are not matched yet, the smallest first.
struct RunCursor<'a> {
    rest: &'a [EstimatedRun],
    /// How many groups of the first run are matched already.
    used: u64,
}

impl<'a> RunCursor<'a> {
    fn new(estimate: &'a Estimate) -> RunCursor<'a> {
        RunCursor { rest: estimate.runs(), used: 0 }
    }

    fn size(&self) -> Option<u64> {
        self.rest.first().map(|run| run.size)
    }

    /// The number of unmatched groups of the smallest size, over runs of different variance.
    fn groups_of_size(&self, size: u64) -> u64 {
        let all: u64 =
            self.rest.iter().take_while(|run| run.size == size).map(|run| run.groups).sum();
        all - self.used
    }

    fn take(&mut self, mut groups: u64, mut visit: impl FnMut(EstimatedRun, u64)) {
        while let Some((first, rest)) = self.rest.split_first()
            && groups > 0
        {
            let taken = groups.min(first.groups - self.used);
            visit(*first, taken);
            groups -= taken;
            self.used += taken;
            if self.used == first.groups {
                (self.rest, self.used) = (rest, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimate(sizes: &[u64]) -> Estimate {
        let run = |&size| EstimatedRun { size, variance: 1.0, groups: 1 };
        Estimate::new(sizes.iter().map(run).collect())
    }

    /// The least cost over all ways to assign the parent's groups to the children's, recursively.
    fn brute_force(parent: &[u64], children: &mut Vec<u64>) -> u64 {
        let Some((first, rest)) = parent.split_first() else { return 0 };
        let mut best = u64::MAX;
        for i in 0..children.len() {
            let size = children.swap_remove(i);
            best = best.min(first.abs_diff(size) + brute_force(rest, children));
            children.push(size);
            let last = children.len() - 1;
            children.swap(i, last);
        }
        best
    }

    proptest! {
        #[test]
        fn the_matching_is_perfect_and_of_least_cost(
            pairs in prop::collection::vec((0u64..8, 0u64..8, 0usize..3), 0..7),
        ) {
            let parent: Vec<u64> = pairs.iter().map(|(size, _, _)| *size).collect();
            let mut all: Vec<u64> = pairs.iter().map(|(_, size, _)| *size).collect();
            let of_child = |wanted| -> Vec<u64> {
                pairs.iter().filter(|(_, _, c)| *c == wanted).map(|(_, size, _)| *size).collect()
            };
            let children: Vec<Estimate> = (0..3).map(|c| estimate(&of_child(c))).collect();
            let mut cost = 0;
            let mut matched = [0u64; 3];
            match_groups(&estimate(&parent), &children.iter().collect::<Vec<_>>(), |pair| {
                cost += pair.groups * pair.parent_run.size.abs_diff(pair.child_run.size);
                matched[pair.child] += pair.groups;
            });
            for (child, groups) in matched.into_iter().enumerate() {
                prop_assert_eq!(groups, of_child(child).len() as u64);
            }
            prop_assert_eq!(cost, brute_force(&parent, &mut all));
        }

        #[test]
        fn apportionment_is_within_one_of_proportional(
            weights in prop::collection::vec(0u64..50, 1..8),
            share in 0.0f64..=1.0,
        ) {
            let sum: u64 = weights.iter().sum();
            prop_assume!(sum > 0);
            let total = (sum as f64 * share) as u64;
            let shares = apportion(total, weights.iter().copied(), sum);
            prop_assert_eq!(shares.iter().sum::<u64>(), total);
            for (share, weight) in shares.iter().zip(&weights) {
                prop_assert!(share <= weight);
                let exact = total as f64 * *weight as f64 / sum as f64;
                prop_assert!((*share as f64 - exact).abs() < 1.0);
            }
        }
    }

    /// The paper's example in section 5.2.1: 300 of the parent, children with 200, 100 and 100.
    #[test]
    fn scarce_groups_are_shared_in_proportion() {
        let run = |size, groups| Estimate::new(vec![EstimatedRun { size, variance: 1.0, groups }]);
        let parent = Estimate::new(vec![
            EstimatedRun { size: 1, variance: 1.0, groups: 300 },
            EstimatedRun { size: 2, variance: 1.0, groups: 100 },
        ]);
        let children = [run(1, 200), run(1, 100), run(1, 100)];
        let mut at_size_one = [0; 3];
        match_groups(&parent, &children.iter().collect::<Vec<_>>(), |pair| {
            if pair.parent_run.size == 1 {
                at_size_one[pair.child] += pair.groups;
            }
        });
        assert_eq!(at_size_one, [150, 75, 75]);
    }

    #[test]
    fn merging_weighs_by_the_inverse_variances() {
        assert_eq!(Merge::Weighted.join((10, 1.0), (20, 3.0)), (13, 0.75)); // 12.5 rounds up
        assert_eq!(Merge::Weighted.join((20, 3.0), (10, 1.0)), (12, 0.75));
        assert_eq!(Merge::Mean.join((10, 1.0), (20, 3.0)), (15, 1.0));
        assert_eq!(Merge::Weighted.join((7, 0.0), (7, 0.0)), (7, 0.0));
        assert_eq!(Merge::Weighted.join((7, 0.0), (9, 1.0)), (7, 0.0));
        let largest = i64::MAX as u64;
        assert_eq!(Merge::Mean.join((largest, 1.0), (largest, 1.0)).0, largest);
    }
}
