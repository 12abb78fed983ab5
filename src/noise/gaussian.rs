//! The discrete Gaussian distribution.

use super::law::Law;
use super::rational::ScaleError;
use super::sampler::Sampler;
use super::words::RandomWords;

/// P(X = k) proportional to e^(-k^2 / (2 sigma^2)) on the integers.
#[derive(Debug, Clone)]
pub struct DiscreteGaussian {
    sigma: f64,
    sampler: Sampler,
}

impl DiscreteGaussian {
    /// sigma is taken as the exact rational that the `f64` is. Cheap: the tables for sampling are
    /// made for the first draw, and clones share them.
    ///
    /// Errors: sigma not positive and finite, or outside the supported range of scales.
    pub fn new(sigma: f64) -> Result<DiscreteGaussian, ScaleError> {
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(ScaleError::NotPositiveFinite);
        }
        if !(super::MIN_SCALE..=super::MAX_SCALE).contains(&sigma) {
            return Err(ScaleError::OutOfRange { scale: sigma });
        }
        Ok(DiscreteGaussian { sigma, sampler: Sampler::new(Law::gaussian(sigma)) })
    }

    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// sum k^2 e^(-k^2 / (2 sigma^2)) / sum e^(-k^2 / (2 sigma^2)), a little below sigma^2.
    pub fn variance(&self) -> f64 {
        let square = self.sigma * self.sigma;
        // by Poisson's formula the two differ by a share below 8 (pi sigma)^2 e^(-2 (pi sigma)^2)
        if self.sigma >= 2.0 {
            return square;
        }
        // 1 + 40 sigma: the terms that are left out are below e^-800
        let terms = (1..=(1.0 + 40.0 * self.sigma) as u32).map(|k| {
            let k_square = f64::from(k) * f64::from(k);
            (k_square, (-k_square / (2.0 * square)).exp())
        });
        let (sum, mass) =
            terms.fold((0.0, 0.5), |(sum, mass), (k_square, p)| (sum + k_square * p, mass + p));
        sum / mass
    }

    /// One exact draw.
    #[inline]
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        self.sampler.sample(words)
    }

    /// The probabilities of -reach ..= reach, normalised over that range, in floating point.
    #[cfg(test)]
    pub(super) fn pmf_table(&self, reach: i64) -> Vec<f64> {
        let weight = |k: i64| (-((k * k) as f64) / (2.0 * self.sigma * self.sigma)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        (-reach..=reach).map(|k| weight(k) / total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::{DRAWS, rejects, rejects_counts, rejects_masses};
    use crate::noise::words_from_system;
    use statrs::distribution::{ContinuousCDF, Normal};

    fn pmf_and_variance(sigma: f64) -> (impl Fn(i64) -> f64, f64) {
        let reach = (40.0 * sigma).ceil() as i64 + 3;
        let table = DiscreteGaussian::new(sigma).unwrap().pmf_table(reach);
        let variance = table.iter().zip(-reach..).map(|(p, k)| p * (k * k) as f64).sum::<f64>();
        let pmf = move |k: i64| {
            usize::try_from(k + reach).ok().and_then(|i| table.get(i)).copied().unwrap_or(0.0)
        };
        (pmf, variance)
    }

    /// Fails with probability 2e-8. Of the sigmas some are next to those where the tables change
    /// their form: at 22.63, 45.25 and so on.
    #[test]
    fn draws_follow_the_pmf_and_a_sigma_10_percent_off_is_noticed() {
        let mut words = words_from_system().unwrap();
        for sigma in [0.25, 0.5, 1.0, 3.7, 22.6, 22.7, 45.2, 45.3, 55.5, 1e3, 1e4] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let draws: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            let (pmf, variance) = pmf_and_variance(sigma);
            assert!(!rejects(&draws, pmf, variance), "sigma {sigma}");
            for factor in [0.9, 1.1] {
                let (pmf, variance) = pmf_and_variance(sigma * factor);
                assert!(rejects(&draws, pmf, variance), "sigma {sigma}, power at {factor}");
            }
        }
        for sigma in [1e6, 1e9 / 1.1] {
            // integrals of the density are the sums to within a share of e^(-2 (pi sigma)^2)
            let rejected = |draws: &[i64], sigma: f64| {
                let normal = Normal::new(0.0, sigma).unwrap();
                let mass = |first: i64, last: i64| {
                    normal.cdf(last as f64 + 0.5) - normal.cdf(first as f64 - 0.5)
                };
                rejects_masses(draws, mass, sigma * sigma)
            };
            let law = DiscreteGaussian::new(sigma).unwrap();
            let draws: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            assert!(!rejected(&draws, sigma), "sigma {sigma}");
            assert!(rejected(&draws, 0.9 * sigma) && rejected(&draws, 1.1 * sigma), "power");
            let mut counts = [0.0; 64];
            for draw in draws {
                counts[(draw.rem_euclid(32) + if draw < 0 { 32 } else { 0 }) as usize] += 1.0;
            }
            let expected = [DRAWS as f64 / 64.0; 64];
            assert!(!rejects_counts(&counts, &expected), "low bits, sigma {sigma}");
        }
    }

    #[test]
    fn the_variance_is_the_one_of_the_pmf() {
        for sigma in [0.01, 0.1, 0.3, 0.5, 1.0, 1.5, 1.999, 2.0, 3.0, 20.0] {
            let exact = pmf_and_variance(sigma).1;
            let variance = DiscreteGaussian::new(sigma).unwrap().variance();
            assert!((variance - exact).abs() <= 1e-13 * exact, "{sigma}: {variance} {exact}");
        }
    }

    #[test]
    fn the_ends_of_the_supported_range_work() {
        let mut words = words_from_system().unwrap();
        let narrow = DiscreteGaussian::new(1e-6).unwrap();
        assert!((0..100).all(|_| narrow.sample(&mut words) == 0));
        let wide = DiscreteGaussian::new(1e9).unwrap();
        let draws = 2_000;
        let mean_square: f64 =
            (0..draws).map(|_| (wide.sample(&mut words) as f64).powi(2)).sum::<f64>()
                / f64::from(draws);
        // 6 standard errors of a mean of squares are 6 sqrt(2 / 2000) = 19 %
        assert!((mean_square / 1e18 - 1.0).abs() < 0.19, "{mean_square}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9, 1e-7] {
            assert!(DiscreteGaussian::new(bad).is_err());
        }
    }
}
