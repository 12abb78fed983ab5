//! Projection of a noisy histogram on the integer histograms with a known total.

/// The point of `{h >= 0, sum h = total}` nearest to the values in the L2 norm, rounded down, with
/// what is missing to the total added to the cells of the largest fractional parts.
///
/// The projection is max(value - shift, 0) for one shift, so all cells of its support have the same
/// fractional part: they tie, and the largest values are rounded up first. O(n log n), in integers.
pub(super) fn project_on_total(values: &[i64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|&i| (std::cmp::Reverse(values[i]), i));

    // the support is the longest prefix of the order whose last value exceeds its shift,
    // (sum of the prefix - total) / length
    let total_wide = i128::from(total);
    let (mut sum, mut support, mut support_sum) = (0i128, 0usize, 0i128);
    for (rank, &i) in order.iter().enumerate() {
        sum += i128::from(values[i]);
        let length = rank as i128 + 1;
        if i128::from(values[i]) * length > sum - total_wide {
            (support, support_sum) = (rank + 1, sum);
        }
    }
    let mut histogram = vec![0u64; values.len()];
    if support == 0 {
        return histogram; // only for a total of 0: the largest value exceeds its own shift else
    }
    // floor(value - shift) = value - ceil(shift)
    let length = support as i128;
    let excess = support_sum - total_wide;
    let shift_up = -(-excess).div_euclid(length);
    let mut missing = shift_up * length - excess;
    for &i in &order[..support] {
        let floor = i128::from(values[i]) - shift_up;
        let up = i128::from(missing > 0);
        missing -= up;
        histogram[i] = u64::try_from(floor + up).unwrap_or(0);
    }
    histogram
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
    }

    #[test]
    fn what_fits_already_stays() {
        assert_eq!(project_on_total(&[0, 2, 1, 0, 1], 4), [0, 2, 1, 0, 1]);
    }
}
