//! Isotonic regression: the non-decreasing sequence nearest to a noisy one.

use std::collections::BinaryHeap;

/// The non-decreasing sequence with the least sum of absolute distances, in integers.
///
/// Blocks take medians; of an interval of best values the lowest is taken. (The mean of the lowest
/// and the highest fit, also optimal, was no more accurate.) The heap form of the slope trick,
/// O(n log n).
pub(super) fn isotonic_l1(values: &[i64]) -> Vec<i64> {
    let mut kinks = BinaryHeap::with_capacity(values.len());
    let mut fit: Vec<i64> = values
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
    for i in (1..fit.len()).rev() {
        fit[i - 1] = fit[i - 1].min(fit[i]);
    }
    fit
}

/// Consecutive positions that share one value of a least-squares isotonic fit, sum / count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    sum: i128,
    count: u64,
}

impl Block {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The mean rounded to the nearest integer, halves upwards.
    pub(super) fn rounded_mean(&self) -> i128 {
        let count = i128::from(self.count);
        (2 * self.sum + count).div_euclid(2 * count)
    }

    fn mean_at_least(&self, other: &Block) -> bool {
        self.sum * i128::from(other.count) >= other.sum * i128::from(self.count)
    }
}

/// The non-decreasing sequence with the least sum of squared distances, as its blocks in order.
///
/// Pool-adjacent-violators in O(n) time over a stream; the memory is that of the blocks.
pub(super) fn isotonic_l2(values: impl Iterator<Item = i64>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for value in values {
        let mut last = Block { sum: i128::from(value), count: 1 };
        while let Some(previous) = blocks.pop_if(|previous| previous.mean_at_least(&last)) {
            last.sum += previous.sum;
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
        #[test]
        fn l1_is_optimal_and_monotone(values in prop::collection::vec(-9i64..10, 0..12)) {
            let fit = isotonic_l1(&values);
            prop_assert!(fit.is_sorted());
            prop_assert_eq!(l1_cost(&values, &fit), least_l1_cost(&values));
        }

        /// The min-max formula: x_i = max over a <= i of min over b >= i of mean(a..=b).
        #[test]
        fn l2_is_the_min_max_solution(values in prop::collection::vec(-9i64..10, 1..12)) {
            let blocks = isotonic_l2(values.iter().copied());
            let fit: Vec<f64> = blocks
                .iter()
                .flat_map(|b| vec![b.sum as f64 / b.count as f64; b.count as usize])
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
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        let values = [i64::MAX, i64::MIN, i64::MAX, i64::MIN];
        assert!(isotonic_l1(&values).is_sorted());
        assert_eq!(isotonic_l2(values.into_iter()).len(), 1);
    }

    #[test]
    fn halves_round_upwards() {
        let mean = |sum, count| Block { sum, count }.rounded_mean();
        assert_eq!((mean(3, 2), mean(-3, 2), mean(5, 3), mean(-5, 3)), (2, -1, 2, -2));
    }
}
