//! The discrete Laplace distribution (double-geometric, "geometric mechanism").

use super::law::Law;
use super::rational::Scale;
use super::sampler::Sampler;
use super::words::RandomWords;

/// P(X = k) = (1 - e^(-1/t)) / (1 + e^(-1/t)) e^(-|k|/t) on the integers, t the scale.
///
/// Adding it to integers of L1 sensitivity D with t = D/epsilon satisfies epsilon-differential
/// privacy. (Kuo et al., definition 3, print the normaliser with epsilon for epsilon/D.)
#[derive(Debug, Clone)]
pub struct DiscreteLaplace {
    scale: Scale,
    sampler: Sampler,
}

impl DiscreteLaplace {
    /// Cheap: the tables for sampling are made for the first draw, and clones share them.
    pub fn new(scale: Scale) -> DiscreteLaplace {
        DiscreteLaplace { scale, sampler: Sampler::new(Law::laplace(scale)) }
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// One exact draw.
    #[inline]
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        self.sampler.sample(words)
    }

    /// 2 e^(-1/t) / (1 - e^(-1/t))^2, in floating point, for predictions.
    pub fn variance(&self) -> f64 {
        let rate = 1.0 / self.scale.as_f64();
        2.0 * (-rate).exp() / (-rate).exp_m1().powi(2)
    }

    /// P(X = k), in floating point.
    #[cfg(test)]
    pub(super) fn pmf(&self, k: i64) -> f64 {
        let rate = 1.0 / self.scale.as_f64();
        -(-rate).exp_m1() / (1.0 + (-rate).exp()) * (-rate * k.unsigned_abs() as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::{DRAWS, rejects_counts, rejects_masses};
    use crate::noise::words_from_system;

    fn laplace(epsilon: f64) -> DiscreteLaplace {
        DiscreteLaplace::new(Scale::new(1, epsilon).unwrap())
    }

    /// P(first <= X <= last) = (e^(-first/t) - e^(-(last+1)/t)) / (1 + e^(-1/t)) for 0 <= first.
    fn mass(law: &DiscreteLaplace, first: i64, last: i64) -> f64 {
        match (first, last) {
            (1.., _) => {
                let rate = 1.0 / law.scale().as_f64();
                let count = (last - first + 1) as f64;
                -(-rate * first as f64).exp() * (-rate * count).exp_m1() / (1.0 + (-rate).exp())
            }
            (_, ..=-1) => mass(law, -last, -first),
            _ => {
                law.pmf(0)
                    + if first < 0 { mass(law, 1, -first) } else { 0.0 }
                    + if last > 0 { mass(law, 1, last) } else { 0.0 }
            }
        }
    }

    /// Fails with probability 1e-7 at most. Of the scales some are next to those where the tables
    /// change their form: at 32, 64 and so on. At the smallest one only 90 draws are not 0: there a
    /// scale has to be 25 % off to be noticed without fail.
    #[test]
    fn draws_follow_the_pmf_and_a_scale_10_percent_off_is_noticed() {
        let mut words = words_from_system().unwrap();
        let epsilons = [
            10.0,
            4.0,
            2.0,
            1.0,
            0.37,
            0.1,
            0.032,
            1.0 / 32.0,
            0.031,
            0.016,
            0.015,
            0.013,
            1e-3,
            1e-4,
            1e-6,
            1.2e-9,
        ];
        for epsilon in epsilons {
            let law = laplace(epsilon);
            let draws: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            let rejected = |law: &DiscreteLaplace| {
                rejects_masses(&draws, |first, last| mass(law, first, last), law.variance())
            };
            assert!(!rejected(&law), "epsilon {epsilon}");
            let off = if epsilon < 10.0 { 0.1 } else { 0.25 };
            for factor in [1.0 - off, 1.0 + off] {
                assert!(rejected(&laplace(epsilon * factor)), "epsilon {epsilon} times {factor}");
            }
        }
    }

    /// The cells of the test above are half a standard deviation wide; here are the places below
    /// them. Fails with probability 2e-9.
    #[test]
    fn low_bits_of_wide_noise_are_uniform_for_either_sign() {
        let mut words = words_from_system().unwrap();
        for epsilon in [1e-6, 1e-9] {
            let law = laplace(epsilon);
            let mut counts = [0.0; 64];
            for _ in 0..DRAWS {
                let draw = law.sample(&mut words);
                counts[(draw.rem_euclid(32) + if draw < 0 { 32 } else { 0 }) as usize] += 1.0;
            }
            let expected = DRAWS as f64 / 64.0;
            // the exact shares differ from these by 32 epsilon, relatively
            assert!(!rejects_counts(&counts, &[expected; 64]), "epsilon {epsilon}");
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
