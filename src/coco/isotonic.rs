//! Isotonic regression: the non-decreasing sequence nearest to a noisy one.

use std::collections::BinaryHeap;
use std::ops::AddAssign;

/// A non-decreasing sequence of integers with the least sum of absolute distances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MedianFit {
    pub values: Vec<i64>,
    /// Where the least cost, as a function of a bound of the last value, changes its slope: in
    /// descending order.
    kinks: Vec<i64>,
}

impl MedianFit {
    /// By how much the least cost grows when no value may exceed `bound`, and before none could
    /// exceed `bound` + 1. It grows the faster the lower the bound. The fit under a bound is this
    /// one, capped.
    pub(super) fn cost_of_bound(&self, bound: i64) -> usize {
        self.kinks.partition_point(|kink| *kink > bound)
    }
}

/// Blocks take medians; of an interval of best values the lowest is taken. (The mean of the lowest
/// and the highest fit, also optimal, was no more accurate.) The heap form of the slope trick,
/// O(n log n).
pub(super) fn isotonic_l1(noisy: &[i64]) -> MedianFit {
    let mut kinks = BinaryHeap::with_capacity(noisy.len());
    let mut values: Vec<i64> = noisy
        .iter()
        .map(|&value| {
            kinks.push(value);
            match kinks.peek_mut() {
                Some(mut top) if *top > value => *top = value,
                _ => {}
            }
            kinks.peek().copied().unwrap_or(value)
        })
        .collect();
    // the best last value is final; every earlier one is its own best, capped by its successor
    for i in (1..values.len()).rev() {
        values[i - 1] = values[i - 1].min(values[i]);
    }
    let mut kinks = kinks.into_sorted_vec();
    kinks.reverse();
    MedianFit { values, kinks }
}

/// How sums and weights of a least-squares fit are computed: exactly in `i128`, where values and
/// weights are integers, else in `f64`.
pub(crate) trait Arithmetic: Copy + AddAssign {
    /// Whether the mean of one block is at least that of another; weights are positive.
    fn mean_at_least(block: &Block<Self>, other: &Block<Self>) -> bool;
    /// A block's mean rounded to the nearest integer, halves upwards.
    fn rounded_mean(block: &Block<Self>) -> i128;
}

impl Arithmetic for i128 {
    fn mean_at_least(block: &Block<i128>, other: &Block<i128>) -> bool {
        block.sum * other.weight >= other.sum * block.weight
    }

    fn rounded_mean(block: &Block<i128>) -> i128 {
        (2 * block.sum + block.weight).div_euclid(2 * block.weight)
    }
}

impl Arithmetic for f64 {
    /// By the rounded means, so that those of a fit's blocks increase.
    fn mean_at_least(block: &Block<f64>, other: &Block<f64>) -> bool {
        block.sum / block.weight >= other.sum / other.weight
    }

    fn rounded_mean(block: &Block<f64>) -> i128 {
        let mean = block.sum / block.weight;
        let floor = mean.floor();
        floor as i128 + i128::from(mean - floor >= 0.5)
    }
}

/// Consecutive positions that share one value of a least-squares isotonic fit, the mean
/// sum / weight of what was observed at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block<T = i128> {
    sum: T,
    weight: T,
    count: u64,
}

impl<T: Arithmetic> Block<T> {
    /// One position: the sum of its observations times their weights, and that of the weights.
    pub(crate) fn position(sum: T, weight: T) -> Block<T> {
        Block { sum, weight, count: 1 }
    }

    /// How many positions it has.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The mean rounded to the nearest integer, halves upwards. In a fit whose values must be
    /// integers, this is the optimum: a value of k or more is worth it where k - 1/2 or more is.
    pub(crate) fn rounded_mean(&self) -> i128 {
        T::rounded_mean(self)
    }
}

/// The non-decreasing sequence with the least sum of squared distances, as its blocks in order.
pub(super) fn isotonic_l2(values: impl Iterator<Item = i64>) -> Vec<Block> {
    pool_adjacent_violators(values.map(|value| Block::position(value.into(), 1)))
}

/// The same for positions with several observations or weights.
///
/// O(n) time over a stream; the memory is that of the blocks.
pub(crate) fn pool_adjacent_violators<T: Arithmetic>(
    positions: impl Iterator<Item = Block<T>>,
) -> Vec<Block<T>> {
    let mut blocks: Vec<Block<T>> = Vec::new();
    for mut last in positions {
        while let Some(previous) = blocks.pop_if(|previous| T::mean_at_least(previous, &last)) {
            last.sum += previous.sum;
            last.weight += previous.weight;
            last.count += previous.count;
        }
        blocks.push(last);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn l1_cost(values: &[i64], fit: &[i64]) -> i64 {
        values.iter().zip(fit).map(|(v, x)| (v - x).abs()).sum()
    }

    /// The least L1 cost over all non-decreasing sequences, by dynamic programming over the values
    /// that occur (some optimum takes only those).
    fn least_l1_cost(values: &[i64]) -> i64 {
        let mut levels = values.to_vec();
        levels.sort_unstable();
        let mut best = vec![0; levels.len()];
        for value in values {
            let mut reached = i64::MAX;
            for (cost, level) in best.iter_mut().zip(&levels) {
                reached = reached.min(*cost);
                *cost = reached + (value - level).abs();
            }
        }
        best.into_iter().min().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2500))]

        #[test]
        fn l1_is_optimal_and_monotone(values in prop::collection::vec(-9i64..10, 0..12)) {
            let fit = isotonic_l1(&values);
            prop_assert!(fit.values.is_sorted());
            prop_assert_eq!(l1_cost(&values, &fit.values), least_l1_cost(&values));
            let cost_below = |bound: i64| {
                let capped: Vec<i64> = fit.values.iter().map(|value| bound.min(*value)).collect();
                let bounded: Vec<i64> = values.iter().map(|value| bound.min(*value)).collect();
                let above: i64 = values.iter().zip(&bounded).map(|(v, b)| v - b).sum();
                // what lies above the bound costs its distance from it in any case
                (l1_cost(&values, &capped), least_l1_cost(&bounded) + above)
            };
            for bound in -11..11 {
                let (cost, least) = cost_below(bound);
                prop_assert_eq!(cost, least);
                prop_assert_eq!(fit.cost_of_bound(bound) as i64, cost - cost_below(bound + 1).0);
            }
        }

        /// The min-max formula: x_i = max over a <= i of min over b >= i of mean(a..=b).
        #[test]
        fn l2_is_the_min_max_solution(values in prop::collection::vec(-9i64..10, 1..12)) {
            let blocks = isotonic_l2(values.iter().copied());
            let fit: Vec<f64> = blocks
                .iter()
                .flat_map(|b| vec![b.sum as f64 / b.weight as f64; b.count as usize])
                .collect();
            for (i, value) in fit.into_iter().enumerate() {
                let mean = |a: usize, b: usize| {
                    values[a..=b].iter().sum::<i64>() as f64 / (b - a + 1) as f64
                };
                let expected = (0..=i)
                    .map(|a| (i..values.len()).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min))
                    .fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((value - expected).abs() < 1e-9);
            }
        }

        /// A weight is a number of equal observations; in floating point as in integers.
        #[test]
        fn weights_count_observations(
            observed in prop::collection::vec((-9i64..10, 1usize..5), 0..12),
        ) {
            let integers = observed.iter().map(|&(value, weight)| {
                Block::position(i128::from(value) * weight as i128, weight as i128)
            });
            let reals = observed.iter().map(|&(value, weight)| {
                Block::position(value as f64 * weight as f64, weight as f64)
            });
            let integers = pool_adjacent_violators(integers);
            let reals = pool_adjacent_violators(reals);
            prop_assert_eq!(integers.len(), reals.len());
            for (integer, real) in integers.iter().zip(&reals) {
                prop_assert_eq!(integer.count(), real.count());
                prop_assert_eq!(integer.rounded_mean(), real.rounded_mean());
            }
            let fit = |blocks: &[Block]| -> Vec<i128> {
                let values = blocks.iter().map(|b| (b.rounded_mean(), b.count() as usize));
                values.flat_map(|(value, count)| vec![value; count]).collect()
            };
            // the copies of a position, one after the other, get one value where none decreases
            let copies = observed.iter().flat_map(|&(value, weight)| vec![value; weight]);
            let firsts = observed.iter().scan(0, |at, &(_, weight)| {
                *at += weight;
                Some(*at - weight)
            });
            let fit_of_copies = fit(&isotonic_l2(copies));
            let expected: Vec<i128> = firsts.map(|first| fit_of_copies[first]).collect();
            prop_assert_eq!(fit(&integers), expected);
        }
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        let values = [i64::MAX, i64::MIN, i64::MAX, i64::MIN];
        assert!(isotonic_l1(&values).values.is_sorted());
        assert_eq!(isotonic_l2(values.into_iter()).len(), 1);
    }

    #[test]
    fn halves_round_upwards() {
        for (sum, weight, mean) in [(3, 2, 2), (-3, 2, -1), (5, 3, 2), (-5, 3, -2)] {
            assert_eq!(Block::position(i128::from(sum), i128::from(weight)).rounded_mean(), mean);
            assert_eq!(Block::position(f64::from(sum), f64::from(weight)).rounded_mean(), mean);
        }
        // where adding 1/2 would round
        assert_eq!(Block::position(0.5f64.next_down(), 1.0).rounded_mean(), 0);
        assert_eq!(Block::position(2f64.powi(52) + 1.0, 1.0).rounded_mean(), (1 << 52) + 1);
    }
}
