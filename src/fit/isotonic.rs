//! Isotonic regression: the non-decreasing sequence nearest to a noisy one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::from_fn;
use std::mem::replace;
use std::ops::AddAssign;

/// A non-decreasing sequence of integers with the least sum of absolute distances.
#[derive(Debug, Clone)]
pub(crate) struct MedianFit {
    pub values: Vec<i64>,
    /// Where the least cost, as a function of a bound of the last value, changes its slope.
    kinks: Kinks,
}

impl MedianFit {
    pub(crate) fn costs_of_bounds(&self) -> CostsOfBounds {
        let mut kinks: Vec<i64> = self.kinks.iter().collect();
        kinks.sort_unstable_by_key(|kink| Reverse(*kink));
        CostsOfBounds(kinks)
    }
}

/// The kinks of a [`MedianFit`] in descending order.
#[derive(Debug, Clone, Default)]
pub(crate) struct CostsOfBounds(Vec<i64>);

impl CostsOfBounds {
    /// By how much the least cost grows when no value may exceed `bound`, and before none could
    /// exceed `bound` + 1. It grows the faster the lower the bound. The fit under a bound is this
    /// one, capped.
    pub(crate) fn of(&self, bound: i64) -> usize {
        self.0.partition_point(|kink| *kink > bound)
    }
}

/// Numbers of which the largest can be had. Many of a sequence that hardly decreases are added in
/// ascending order: only the others need a heap.
#[derive(Debug, Clone, Default)]
struct Kinks {
    ascending: Vec<i64>,
    others: BinaryHeap<i64>,
}

/// There is room for so many that are no ascending ones at once.
const MOST_AT_FIRST: usize = 16;

impl Kinks {
    fn with_capacity(capacity: usize) -> Kinks {
        let others = BinaryHeap::with_capacity(capacity.min(MOST_AT_FIRST));
        Kinks { ascending: Vec::with_capacity(capacity), others }
    }

    /// Roughly in descending order.
    fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.ascending.iter().rev().chain(&self.others).copied()
    }

    fn largest(&self) -> Option<i64> {
        self.ascending.last().max(self.others.peek()).copied()
    }

    fn push(&mut self, kink: i64) {
        if self.ascending.last().is_none_or(|last| *last <= kink) {
            self.ascending.push(kink);
        } else {
            self.others.push(kink);
        }
    }

    fn pop_largest(&mut self) {
        if self.ascending.last() >= self.others.peek() {
            self.ascending.pop();
        } else {
            self.others.pop();
        }
    }
}

/// Blocks take medians; of an interval of best values the lowest is taken. (The mean of the lowest
/// and the highest fit, also optimal, was no more accurate.) The heap form of the slope trick,
/// O(n log n).
pub(crate) fn isotonic_l1(noisy: &[i64]) -> MedianFit {
    if noisy.is_sorted() {
        let kinks = Kinks { ascending: noisy.to_vec(), ..Kinks::default() };
        return MedianFit { values: noisy.to_vec(), kinks };
    }
    let mut kinks = Kinks::with_capacity(noisy.len());
    let mut largest = i64::MIN;
    let mut values: Vec<i64> = noisy
        .iter()
        .map(|&value| {
            if value < largest {
                kinks.pop_largest();
                kinks.push(value);
            }
            kinks.push(value);
            largest = kinks.largest().unwrap_or(value);
            largest
        })
        .collect();
    // the best last value is final; every earlier one is its own best, capped by its successor
    for i in (1..values.len()).rev() {
        values[i - 1] = values[i - 1].min(values[i]);
    }
    MedianFit { values, kinks }
}

/// How sums and weights of a least-squares fit are computed: exactly where values and weights are
/// integers, in `i64` if all their sums fit it, else in `i128`; otherwise in `f64`.
pub(crate) trait Arithmetic: Copy + AddAssign {
    /// Whether the mean of one block is at least that of another; weights are positive.
    fn mean_at_least(block: &Block<Self>, other: &Block<Self>) -> bool;
    /// A block's mean rounded to the nearest integer, halves upwards.
    fn rounded_mean(block: &Block<Self>) -> i128;
}

impl Arithmetic for i64 {
    fn mean_at_least(block: &Block<i64>, other: &Block<i64>) -> bool {
        let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
        product(block.sum, other.weight) >= product(other.sum, block.weight)
    }

    fn rounded_mean(block: &Block<i64>) -> i128 {
        block.wide().rounded_mean()
    }
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

impl<T: Arithmetic> AddAssign for Block<T> {
    fn add_assign(&mut self, other: Block<T>) {
        self.sum += other.sum;
        self.weight += other.weight;
        self.count += other.count;
    }
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

impl Block<i64> {
    fn wide(&self) -> Block {
        Block { sum: self.sum.into(), weight: self.weight.into(), count: self.count }
    }
}

/// The non-decreasing sequence with the least sum of squared distances, as its blocks in order.
///
/// Most values are small, and the first of them are pooled in `i64`, a third faster: as many as
/// have sums within it whatever their signs. Pooling goes on from blocks as it would from their
/// values.
pub(crate) fn isotonic_l2(values: impl Iterator<Item = i64>) -> Vec<Block> {
    let mut values = values.peekable();
    let mut room = i64::MAX.unsigned_abs();
    let small = from_fn(|| {
        let value = values.next_if(|value| value.unsigned_abs() <= room)?;
        room -= value.unsigned_abs();
        Some(Block::position(value, 1i64))
    });
    let blocks = pool_adjacent_violators(small).into_iter().map(|block| block.wide());
    let others = values.map(|value| Block::position(value.into(), 1));
    pool_adjacent_violators(blocks.chain(others))
}

/// The non-decreasing sequence with the least weighted sum of squared distances, of positions with
/// several observations or weights; as its blocks in order.
///
/// O(n) time over a stream; the memory is that of the blocks.
pub(crate) fn pool_adjacent_violators<T: Arithmetic>(
    positions: impl Iterator<Item = Block<T>>,
) -> Vec<Block<T>> {
    let mut positions = positions;
    let mut blocks: Vec<Block<T>> = Vec::new();
    let Some(mut last) = positions.next() else { return blocks };
    for position in positions {
        if !T::mean_at_least(&last, &position) {
            blocks.push(replace(&mut last, position));
            continue;
        }
        last += position;
        while let Some(previous) = blocks.pop_if(|previous| T::mean_at_least(previous, &last)) {
            last += previous;
        }
    }
    blocks.push(last);
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
            let costs = fit.costs_of_bounds();
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
                prop_assert_eq!(costs.of(bound) as i64, cost - cost_below(bound + 1).0);
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

    /// The sums leave `i64` after three values.
    #[test]
    fn small_values_and_large_ones_are_pooled_alike() {
        let large = i64::MAX / 2;
        let values = [3, 1, large, large, large - 2, -large, large];
        let wide =
            pool_adjacent_violators(values.map(|v| Block::position(v.into(), 1)).into_iter());
        assert_eq!(isotonic_l2(values.into_iter()), wide);
        assert_eq!(wide.iter().map(Block::count).collect::<Vec<_>>(), [2, 4, 1]);
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
