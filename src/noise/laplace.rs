//! The discrete Laplace distribution (double-geometric, "geometric mechanism").

use super::bernoulli::{Natural, bernoulli_exp_neg};
use super::rational::Scale;
use super::words::RandomWords;

/// P(X = k) = (1 - e^(-1/t)) / (1 + e^(-1/t)) e^(-|k|/t) on the integers, t the scale.
///
/// Adding it to integers of L1 sensitivity D with t = D/epsilon satisfies epsilon-differential
/// privacy. (Kuo et al., definition 3, print the normaliser with epsilon for epsilon/D.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteLaplace {
    scale: Scale,
}

impl DiscreteLaplace {
    pub fn new(scale: Scale) -> DiscreteLaplace {
        DiscreteLaplace { scale }
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// One exact draw, for every supported scale (CKS 2020, algorithm 2).
    ///
    /// The number of words taken depends on the randomness and on the scale, never on data.
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        let (num, den) = self.scale.rate();
        loop {
            // x is geometric with ratio e^(-1/den): its remainder mod den by rejection, its
            // quotient by coins of e^-1; floor(x / num) then has the ratio e^(-num/den)
            let remainder = u128::uniform_below(&den, words);
            if !bernoulli_exp_neg(&remainder, &den, words) {
                continue;
            }
            let mut quotient = 0u128;
            while bernoulli_exp_neg(&1u128, &1u128, words) {
                quotient += 1;
            }
            let magnitude = (remainder + den * quotient) / num;
            let negative = words.next_u32() & 1 == 1;
            if negative && magnitude == 0 {
                continue; // or zero would be counted twice
            }
            // beyond i64 only with probability e^(-9e9)
            let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
            return if negative { -magnitude } else { magnitude };
        }
    }

    /// 2 e^(-1/t) / (1 - e^(-1/t))^2, in floating point, for predictions.
    pub fn variance(&self) -> f64 {
        let rate = 1.0 / self.scale.as_f64();
        2.0 * (-rate).exp() / (-rate).exp_m1().powi(2)
    }

    /// P(X = k), in floating point, for predictions and tests.
    pub fn pmf(&self, k: i64) -> f64 {
        let rate = 1.0 / self.scale.as_f64();
        -(-rate).exp_m1() / (1.0 + (-rate).exp()) * (-rate * k.unsigned_abs() as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::{DRAWS, rejects};
    use crate::noise::words_from_system;

    fn laplace(epsilon: f64) -> DiscreteLaplace {
        DiscreteLaplace::new(Scale::new(1, epsilon).unwrap())
    }

    #[test]
    fn draws_follow_the_pmf_and_a_scale_10_percent_off_is_noticed() {
        let mut words = words_from_system().unwrap();
        for epsilon in [4.0, 1.0, 0.37, 0.1, 0.013, 1e-4] {
            let law = laplace(epsilon);
            let draws: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            assert!(!rejects(&draws, |k| law.pmf(k), law.variance()), "epsilon {epsilon}");
            for factor in [0.9, 1.1] {
                let wrong = laplace(epsilon * factor);
                assert!(
                    rejects(&draws, |k| wrong.pmf(k), wrong.variance()),
                    "epsilon {epsilon}, power at {factor}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_supported_range_work() {
        let mut words = words_from_system().unwrap();
        // e^-1000000 is the probability of anything but 0
        assert!((0..1000).all(|_| laplace(1e6).sample(&mut words) == 0));
        let wide = laplace(1e-9);
        let mean_magnitude: f64 =
            (0..20_000).map(|_| wide.sample(&mut words).unsigned_abs() as f64).sum::<f64>() / 2e4;
        // |X| is nearly exponential with mean 1e9; 6 standard errors of the mean are 4.3 %
        assert!((mean_magnitude / 1e9 - 1.0).abs() < 0.043, "{mean_magnitude}");
    }

    #[test]
    fn pmf_sums_to_one_with_the_stated_variance() {
        for epsilon in [3.0, 1.0, 0.2] {
            let law = laplace(epsilon);
            let (mut total, mut second) = (0.0, 0.0);
            for k in -2000..=2000 {
                total += law.pmf(k);
                second += law.pmf(k) * (k * k) as f64;
            }
            assert!((total - 1.0).abs() < 1e-12);
            assert!((second / law.variance() - 1.0).abs() < 1e-9);
        }
    }
}
