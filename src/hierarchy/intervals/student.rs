//! How many spreads wide bars are.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, SQRT_2};

/// How many spreads a number is off by at most with this probability, by which of two laws that is
/// more: Student's with n degrees of freedom, odd and more than 1, as a spread is known from few
/// replicates; and Laplace's, which is that of the noise, and has the longer tails.
pub(super) fn widest_quantile(n: usize, confidence: f64) -> f64 {
    quantile(n, confidence).max(-(1.0 - confidence).ln() / SQRT_2)
}

/// What a variable of Student's law, with an odd number n > 1 of degrees of freedom, exceeds in absolute
/// value with probability 1 - `confidence`.
///
/// It is at most sqrt(n) tan(a) with probability
/// 2/pi (a + sin a (cos a + 2/3 cos^3 a + (2 4)/(3 5) cos^5 a + ... up to cos^(n - 2) a)).
fn quantile(n: usize, confidence: f64) -> f64 {
    let probability = |angle: f64| {
        let (sine, cosine) = angle.sin_cos();
        let (mut term, mut sum) = (cosine, 0.0);
        for power in (1..n - 1).step_by(2) {
            sum += term;
            term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        }
        FRAC_2_PI * (angle + sine * sum)
    };
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if probability(middle) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    (n as f64).sqrt() * low.tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let is = |found: f64, table: f64| assert!((found - table).abs() < 5e-4, "{found} {table}");
        for (confidence, table) in [(0.5, 0.703), (0.9, 1.833), (0.95, 2.262), (0.999, 4.781)] {
            is(quantile(9, confidence), table);
        }
        is(quantile(27, 0.9), 1.703);
        is(quantile(27, 0.99), 2.771);
        is(quantile(3, 0.95), 3.182);
        is(widest_quantile(27, 0.9), 1.703);
        is(widest_quantile(27, 0.99), 4.605 / SQRT_2);
    }
}
