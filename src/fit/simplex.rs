//! Projection of noisy counts on the integer counts with a known total: exact for integers, and in
//! floating point for real values and weights.

use std::cmp::Reverse;

/// The point of `{h >= 0, sum h = total}` nearest to the values in the L2 norm, rounded down, with
/// what is missing to the total added to the cells of the largest fractional parts.
///
/// The projection is max(value - shift, 0) for one shift, so all cells of its support have the same
/// fractional part: they tie, and the largest values are rounded up first. In integers; sorts the
/// support alone, of the other values each passes a few times (Michelot 1986).
pub(crate) fn project_on_total(values: &[i64], total: u64) -> Vec<u64> {
    // The shift at which any cells alone would sum to the total is no larger than that of all, so
    // the support is among those with values above it; if that is all of them, it is they. Integers
    // are above the shift if they are above its floor.
    let mut support: Vec<usize> = (0..values.len()).collect();
    let mut histogram = vec![0u64; values.len()];
    let mut excess = values.iter().copied().map(i128::from).sum::<i128>() - i128::from(total);
    loop {
        let length = support.len();
        let Some(floor) = excess.checked_div_euclid(length as i128) else {
            return histogram; // only for a total of 0: the largest value exceeds its own shift else
        };
        support.retain(|&i| {
            let value = i128::from(values[i]);
            if value <= floor {
                excess -= value;
            }
            value > floor
        });
        if support.len() == length {
            break;
        }
    }
    support.sort_unstable_by_key(|&i| (Reverse(values[i]), i));
    // floor(value - shift) = value - ceil(shift)
    let length = support.len() as i128;
    let shift_up = -(-excess).div_euclid(length);
    let mut missing = shift_up * length - excess;
    for i in support {
        let floor = i128::from(values[i]) - shift_up;
        let up = i128::from(missing > 0);
        missing -= up;
        histogram[i] = u64::try_from(floor + up).unwrap_or(0);
    }
    histogram
}

/// The point of `{x >= 0, sum x = total}` with the least sum of w (x - y)^2 for targets (y, w),
/// rounded by largest remainders: the sum is exact, whatever the rounding errors. O(n log n).
///
/// Panics without targets if the total is above 0. Weights are positive and finite.
pub(crate) fn project_weighted(targets: &[(f64, f64)], total: u64) -> Vec<u64> {
    if total == 0 {
        return vec![0; targets.len()];
    }
    round_to_total(&nearest_with_sum(targets, total as f64), total)
}

/// The projection for a total > 0, up to rounding: max(y - shift / w, 0) for one shift.
fn nearest_with_sum(targets: &[(f64, f64)], total: f64) -> Vec<f64> {
    // the support is where w y, the shift at which a value becomes 0, is largest
    let vanishes_at = |i: usize| targets[i].0 * targets[i].1;
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_unstable_by(|&i, &j| vanishes_at(j).total_cmp(&vanishes_at(i)).then(i.cmp(&j)));
    // how far the shift lies below the largest w y is a sum of positive terms: nothing cancels
    let largest = vanishes_at(order[0]);
    let (mut below, mut sum, mut inverse_weights) = (f64::INFINITY, total, 0.0);
    let mut support = 0;
    for &i in &order {
        let own = largest - vanishes_at(i);
        if own >= below {
            break;
        }
        sum += own / targets[i].1;
        inverse_weights += 1.0 / targets[i].1;
        below = sum / inverse_weights;
        support += 1;
    }
    // a light value multiplies the rounding error of the shift: one step of Newton's corrects it
    let mut numbers = vec![0.0; targets.len()];
    let mut excess = -total;
    for &i in &order[..support] {
        numbers[i] = targets[i].0 - (largest - below) / targets[i].1;
        excess += numbers[i];
    }
    for &i in &order[..support] {
        numbers[i] = (numbers[i] - excess / inverse_weights / targets[i].1).clamp(0.0, total);
    }
    numbers
}

/// Numbers >= 0 that sum to the total, up to rounding errors, as integers that do so exactly: all
/// rounded down, those with the largest remainders up, of several the larger numbers.
fn round_to_total(numbers: &[f64], total: u64) -> Vec<u64> {
    let mut counts: Vec<u64> = numbers.iter().map(|&number| (number as u64).min(total)).collect();
    let mut missing =
        i128::from(total) - counts.iter().map(|&count| i128::from(count)).sum::<i128>();
    if missing == 0 {
        return counts;
    }
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by(|&i, &j| {
        let by_remainder = numbers[j].fract().total_cmp(&numbers[i].fract());
        by_remainder.then(numbers[j].total_cmp(&numbers[i])).then(i.cmp(&j))
    });
    for &i in &order {
        if missing > 0 {
            counts[i] += 1;
            missing -= 1;
        }
    }
    // What is left now are rounding errors of large numbers, about 2^-50 of them or less: the
    // largest ones bear them.
    order.sort_unstable_by_key(|&i| (Reverse(counts[i]), i));
    for &i in &order {
        let count = (i128::from(counts[i]) + missing).max(0);
        missing -= count - i128::from(counts[i]);
        counts[i] = count as u64; // at most the total
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The real-valued projection by bisection on the shift.
    fn real_projection(values: &[i64], total: u64) -> Vec<f64> {
        let at = |shift: f64| -> Vec<f64> {
            values.iter().map(|&v| (v as f64 - shift).max(0.0)).collect()
        };
        let (mut low, mut high) = (-1e6, 1e6);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if at(middle).iter().sum::<f64>() > total as f64 { low = middle } else { high = middle }
        }
        at(high)
    }

    proptest! {
        #[test]
        fn it_rounds_the_projection_and_keeps_the_total(
            values in prop::collection::vec(-30i64..30, 1..12),
            total in 0u64..60,
        ) {
            let histogram = project_on_total(&values, total);
            prop_assert_eq!(histogram.iter().sum::<u64>(), total);
            for (h, real) in histogram.iter().zip(real_projection(&values, total)) {
                prop_assert!((*h as f64 - real).abs() < 1.0 + 1e-6);
            }
        }

        /// Karush, Kuhn, Tucker: the slope w (x - y) is the same where x > 0, and no less
        /// elsewhere.
        #[test]
        fn the_weighted_projection_is_optimal(targets in targets(-30.0..30.0), total in 1u64..60) {
            let x = nearest_with_sum(&targets, total as f64);
            prop_assert!((x.iter().sum::<f64>() - total as f64).abs() < 1e-9);
            let slope = |i: usize| targets[i].1 * (x[i] - targets[i].0);
            prop_assert!(x.iter().all(|&x| x >= 0.0));
            for i in (0..x.len()).filter(|&i| x[i] > 0.0) {
                for j in 0..x.len() {
                    let rounding = 1e-11 * (targets[i].1 + targets[j].1);
                    prop_assert!(slope(i) <= slope(j) + rounding, "{x:?}");
                }
            }
        }

        #[test]
        fn rounding_keeps_the_total_and_prefers_large_remainders(
            targets in targets(-30.0..30.0),
            total in 0u64..60,
        ) {
            let counts = project_weighted(&targets, total);
            prop_assert_eq!(counts.iter().sum::<u64>(), total);
            let real = match total {
                0 => vec![0.0; targets.len()],
                _ => nearest_with_sum(&targets, total as f64),
            };
            let (mut least_up, mut most_down) = (1.0f64, 0.0f64);
            for (&count, real) in counts.iter().zip(real) {
                let up = count as f64 - real;
                prop_assert!(up.abs() < 1.0);
                if up > 1e-9 { least_up = least_up.min(1.0 - up) }
                if up < -1e-9 { most_down = most_down.max(-up) }
            }
            prop_assert!(most_down <= least_up + 1e-9);
        }

        /// Of integers with equal weights: the same total, and the same cost, as the exact one.
        #[test]
        fn both_projections_agree(
            values in prop::collection::vec(-30i64..30, 1..12),
            weight in prop::sample::select(vec![1.0, 0.37, 1e-100, 1e100]),
            total in 0u64..60,
        ) {
            let targets: Vec<(f64, f64)> = values.iter().map(|&v| (v as f64, weight)).collect();
            let cost = |counts: &[u64]| -> i64 {
                counts.iter().zip(&values).map(|(&x, v)| (x as i64 - v).pow(2)).sum()
            };
            let weighted = project_weighted(&targets, total);
            prop_assert_eq!(weighted.iter().sum::<u64>(), total);
            prop_assert_eq!(cost(&weighted), cost(&project_on_total(&values, total)));
        }

        #[test]
        fn any_magnitudes_sum_to_the_total(
            targets in targets(-4.6e18..4.6e18),
            total in prop_oneof![0u64..10, 0..1u64 << 62],
        ) {
            prop_assert_eq!(project_weighted(&targets, total).iter().sum::<u64>(), total);
        }

        /// With numbers that do not sum to the total at all, too.
        #[test]
        fn any_numbers_are_rounded_to_the_total(
            numbers in prop::collection::vec(prop_oneof![0.0..9.0, 0.0..1e19], 1..6),
            total in prop_oneof![0u64..10, 0..1u64 << 62],
        ) {
            prop_assert_eq!(round_to_total(&numbers, total).iter().sum::<u64>(), total);
        }
    }

    fn targets(value: std::ops::Range<f64>) -> impl Strategy<Value = Vec<(f64, f64)>> {
        let weight = prop_oneof![
            Just(1.0),
            0.1f64..10.0,
            (-6i32..=6).prop_map(|exponent| 10f64.powi(exponent)),
        ];
        prop::collection::vec((value, weight), 1..12)
    }

    /// Although 2^62 - 1 is 2^62 in floating point.
    #[test]
    fn a_small_total_goes_to_the_largest_value() {
        let largest = 2f64.powi(62);
        let targets = [(-largest, 1.0), (0.0, 1.0), (largest, 1.0), (-1.0, 1.0)];
        assert_eq!(project_weighted(&targets, 1), [0, 0, 1, 0]);
    }

    #[test]
    fn what_fits_already_stays() {
        assert_eq!(project_on_total(&[0, 2, 1, 0, 1], 4), [0, 2, 1, 0, 1]);
    }
}
