//! Exponents of growth: slopes of logarithms.

/// How a time grows with a quantity: as its power of these exponents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slopes {
    /// By least squares over the points in the upper half of the quantity's logarithmic range, as
    /// what a release costs in any case flattens the lower half; at least three.
    pub fitted: f64,
    /// How many points these are.
    pub points: usize,
    /// Between the last two points.
    pub last: f64,
}

/// The lower one of two. Panics if there are no numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[(numbers.len() - 1) / 2]
}

/// `points`: quantities, increasing, and times, all positive; None if there are less than three.
pub fn slopes(points: &[(f64, f64)]) -> Option<Slopes> {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let [first, .., before, last] = logarithms.as_slice() else { return None };
    let middle = (first.0 + last.0) / 2.0;
    // of a middle that is a point itself, rounding must not decide
    let lower = logarithms.iter().take_while(|point| point.0 < middle - 1e-9).count();
    let upper = &logarithms[lower.min(logarithms.len() - 3)..];
    let count = upper.len() as f64;
    let mean_x = upper.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = upper.iter().map(|point| point.1).sum::<f64>() / count;
    let products = upper.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    let squares = upper.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    Some(Slopes {
        fitted: products / squares,
        points: upper.len(),
        last: (last.1 - before.1) / (last.0 - before.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: impl Iterator<Item = i32>, time: impl Fn(f64) -> f64) -> Slopes {
        let point = |size| (2f64.powi(size), time(2f64.powi(size)));
        slopes(&sizes.map(point).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_power_has_its_exponent() {
        let slopes = of(3..=11, |x| 0.3 * x.powf(1.4));
        assert!((slopes.fitted - 1.4).abs() < 1e-9 && (slopes.last - 1.4).abs() < 1e-9);
        // 2^7 to 2^11
        assert_eq!(slopes.points, 5);
    }

    /// Twenty doublings of x + 2^10: the upper half is hardly touched by what all releases cost.
    #[test]
    fn fixed_costs_do_not_flatten_the_fit() {
        let slopes = of(0..=20, |x| x + 1024.0);
        assert!((0.8..1.0).contains(&slopes.fitted), "{slopes:?}");
        assert!(slopes.last > 0.99);
    }

    /// The middle one of three points lies in the middle, and a fit of two would be no fit.
    #[test]
    fn three_points_are_the_least() {
        assert_eq!(of(1..=3, |x| x).points, 3);
        assert_eq!(of(1..=4, |x| x).points, 3);
        assert_eq!(slopes(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }

    #[test]
    fn medians_leave_outliers_out() {
        assert_eq!(median(vec![3.0, 900.0, 1.0, 2.0, 800.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
    }
}
