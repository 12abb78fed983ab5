//! What every run of bins would deviate by as one bucket.

use super::deviations::Bin;
use crate::work::{Paced, done};

/// Steps of a tree of sums that take as long as a unit of [`done`].
const STEPS_PER_UNIT: usize = 8;

/// D, as [`deviations`](super::deviations) has it, of all runs of bins. One row more moves each by at
/// most 1, those that do not hold it by nothing.
#[derive(Debug)]
pub(super) struct Costs {
    /// of the runs with the same end one after another, by their starts
    of: Vec<i64>,
    bins: usize,
}

impl Costs {
    /// Time n^2 log n, the same whatever is counted: no sort that sees runs, no search that ends early.
    ///
    /// `counts`: each at most 2^62 over their number. `widths`: of the bins, less than 2^63 together.
    pub(super) fn new(counts: &[u64], widths: &[u64]) -> Costs {
        let bins: Vec<Bin> = Bin::all(counts, widths);
        let n = bins.len();
        // among all, by density; of equal ones the first comes first
        let rank = |(place, bin): (usize, &Bin)| -> usize {
            done((n / STEPS_PER_UNIT) as u64);
            let before = |(i, other): (usize, &Bin)| {
                let (a, b) = (other.count * bin.width, bin.count * other.width);
                usize::from((a < b) | ((a == b) & (i < place)))
            };
            bins.iter().enumerate().map(before).sum()
        };
        let ranks: Vec<usize> = bins.iter().enumerate().map(rank).collect();
        let mut by_rank = bins.clone();
        ranks.iter().zip(&bins).for_each(|(&rank, &bin)| by_rank[rank] = bin);

        let mut costs = Costs { of: vec![0; n * (n + 1) / 2], bins: n };
        for start in 0..n {
            let mut sums = RankSums::new(n);
            for end in start + 1..=n {
                sums.add(ranks[end - 1], bins[end - 1]);
                let place = Costs::first_of(end) + start;
                costs.of[place] = sums.deviation(&by_rank);
            }
        }
        costs
    }

    pub(super) fn bins(&self) -> usize {
        self.bins
    }

    /// Of the runs before that end, which is 1 or more, those that start at 0, 1, ...
    pub(super) fn until(&self, end: usize) -> &[i64] {
        let first = Costs::first_of(end);
        &self.of[first..first + end]
    }

    fn first_of(end: usize) -> usize {
        (end - 1) * end / 2
    }

    /// The least sums of costs: of 1, 2, ... `most` runs side by side, that end at 0 ..= N. Where there
    /// are fewer bins than runs, what stands there is none. All are at most the sum of the counts.
    pub(super) fn least(&self, most: usize) -> Vec<Vec<i64>> {
        let of_one = std::iter::once(0).chain((1..=self.bins).map(|end| self.until(end)[0]));
        let mut least = vec![of_one.collect::<Vec<i64>>()];
        for runs in 1..most {
            let before = &least[runs - 1];
            let best = |end: usize| {
                done((end / STEPS_PER_UNIT) as u64);
                let sums = before[..end].iter().zip(self.until(end)).skip(runs);
                sums.fold(NONE, |least, (before, last)| least.min(before + last))
            };
            let next = std::iter::once(NONE).chain((1..=self.bins).map(best)).collect();
            least.push(next);
        }
        least
    }
}

const NONE: i64 = i64::MAX;

/// Sums of counts and widths of the bins that were added: a tree over their ranks, where whatever is
/// added or looked for takes as many steps.
struct RankSums {
    /// the root at 1, the children of i at 2 i and 2 i + 1
    nodes: Vec<Sums>,
}

/// Of some bins; neither reaches 2^63.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    width: i64,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums { count: self.count + other.count, width: self.width + other.width }
    }
}

impl RankSums {
    fn new(ranks: usize) -> RankSums {
        let nodes = 0..2 * ranks.next_power_of_two();
        RankSums { nodes: nodes.paced().map(|_| Sums::default()).collect() }
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    fn add(&mut self, rank: usize, bin: Bin) {
        let steps = self.nodes.len().ilog2() as usize;
        done((steps / STEPS_PER_UNIT + 1) as u64);
        let bin = Sums { count: bin.count as i64, width: bin.width as i64 };
        let mut node = self.leaves() + rank;
        while node > 0 {
            self.nodes[node] = self.nodes[node].plus(bin);
            node /= 2;
        }
    }

    /// Of the bins that were added, at least one.
    fn deviation(&self, by_rank: &[Bin]) -> i64 {
        let all = self.nodes[1];
        // down to the median: before it are those that end before half of the width
        let (mut node, mut before) = (1, Sums::default());
        while node < self.leaves() {
            let left = self.nodes[2 * node];
            let until = before.width + left.width;
            let goes_right = i64::from(until < all.width - until);
            before.count += goes_right * left.count;
            before.width += goes_right * left.width;
            node = 2 * node + goes_right as usize;
        }
        let Bin { count, width } = by_rank[node - self.leaves()];
        // above it less below it
        let (counts, widths) = (
            i128::from(all.count - before.count) - i128::from(before.count),
            i128::from(all.width - before.width) - i128::from(before.width),
        );
        ((counts * width - count * widths) / width) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::aware::deviations::tests::deviation;
    use proptest::prelude::*;

    fn bins() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        (1usize..14).prop_flat_map(|bins| {
            let counts = prop_oneof![Just(0), 0u64..5, 0u64..1000];
            (prop::collection::vec(counts, bins), prop::collection::vec(1u64..6, bins))
        })
    }

    /// Of all ways to divide so many bins into runs.
    fn least(counts: &[u64], widths: &[u64], runs: usize) -> i64 {
        match runs {
            1 => deviation(counts, widths),
            _ => (runs - 1..counts.len())
                .map(|at| {
                    let (counts, own) = counts.split_at(at);
                    let (widths, widths_of_own) = widths.split_at(at);
                    least(counts, widths, runs - 1) + deviation(own, widths_of_own)
                })
                .min()
                .unwrap_or(NONE),
        }
    }

    proptest! {
        #[test]
        fn every_run_deviates_as_it_does_by_itself((counts, widths) in bins()) {
            let costs = Costs::new(&counts, &widths);
            for end in 1..=counts.len() {
                let alone = (0..end).map(|at| deviation(&counts[at..end], &widths[at..end]));
                prop_assert_eq!(costs.until(end), alone.collect::<Vec<_>>());
            }
        }

        #[test]
        fn the_least_sums_are_those_of_all_partitions((counts, widths) in bins(), runs in 1usize..5) {
            let found = Costs::new(&counts, &widths).least(runs);
            for runs in 1..=runs {
                for end in runs..=counts.len() {
                    let exact = least(&counts[..end], &widths[..end], runs);
                    prop_assert_eq!(found[runs - 1][end], exact);
                }
            }
        }

        #[test]
        fn the_largest_counts_fit(widths in prop::collection::vec(1u64..1 << 58, 16)) {
            let mut counts = vec![0; 16];
            counts.iter_mut().step_by(2).for_each(|count| *count = 1 << 58);
            let least = Costs::new(&counts, &widths).least(3);
            prop_assert!((0..=1 << 62).contains(&least[2][16]));
        }
    }
}
