//! The discrete Gaussian distribution.

use super::bernoulli::bernoulli_exp_neg;
use super::laplace::DiscreteLaplace;
use super::rational::{Scale, ScaleError, exact_fraction};
use super::words::RandomWords;
use num_bigint::BigUint;

/// P(X = k) proportional to e^(-k^2 / (2 sigma^2)) on the integers.
#[derive(Debug, Clone)]
pub struct DiscreteGaussian {
    sigma: f64,
    /// sigma^2 = `square_num` / `square_den`, exactly
    square_num: BigUint,
    square_den: BigUint,
    /// floor(sigma) + 1, the scale of the discrete Laplace that is thinned out
    proposal_scale: u32,
    proposal: DiscreteLaplace,
}

impl DiscreteGaussian {
    /// sigma is taken as the exact rational that the `f64` is.
    ///
    /// Errors: sigma not positive and finite, or outside the supported range of scales.
    pub fn new(sigma: f64) -> Result<DiscreteGaussian, ScaleError> {
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(ScaleError::NotPositiveFinite);
        }
        if !(super::MIN_SCALE..=super::MAX_SCALE).contains(&sigma) {
            return Err(ScaleError::OutOfRange { scale: sigma });
        }
        let (num, den) = exact_fraction(sigma);
        let proposal_scale = sigma as u32 + 1;
        Ok(DiscreteGaussian {
            sigma,
            square_num: BigUint::from(num).pow(2),
            square_den: BigUint::from(den).pow(2),
            proposal_scale,
            proposal: DiscreteLaplace::new(Scale::whole(proposal_scale)),
        })
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

    /// One exact draw (CKS 2020, algorithm 3): a discrete Laplace draw Y of scale
    /// t = floor(sigma) + 1 is kept with probability exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2)).
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        let (a, b) = (&self.square_num, &self.square_den);
        // with sigma^2 = a/b the exponent is (|Y| b t - a)^2 / (2 a b t^2)
        let den = (a * b) << 1u32;
        let den = den * self.proposal_scale * self.proposal_scale;
        loop {
            let y = self.proposal.sample(words);
            let left = b * y.unsigned_abs() * self.proposal_scale;
            let distance = if left > *a { left - a } else { a - left };
            if bernoulli_exp_neg(&distance.pow(2), &den, words) {
                return y;
            }
        }
    }

    /// The probabilities of -reach ..= reach, normalised over that range, in floating point.
    pub fn pmf_table(&self, reach: i64) -> Vec<f64> {
        let weight = |k: i64| (-((k * k) as f64) / (2.0 * self.sigma * self.sigma)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        (-reach..=reach).map(|k| weight(k) / total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::{DRAWS, rejects};
    use crate::noise::words_from_system;

    fn pmf_and_variance(sigma: f64) -> (impl Fn(i64) -> f64, f64) {
        let reach = (40.0 * sigma).ceil() as i64 + 3;
        let table = DiscreteGaussian::new(sigma).unwrap().pmf_table(reach);
        let variance = table.iter().zip(-reach..).map(|(p, k)| p * (k * k) as f64).sum::<f64>();
        let pmf = move |k: i64| {
            usize::try_from(k + reach).ok().and_then(|i| table.get(i)).copied().unwrap_or(0.0)
        };
        (pmf, variance)
    }

    #[test]
    fn draws_follow_the_pmf_and_a_sigma_10_percent_off_is_noticed() {
        let mut words = words_from_system().unwrap();
        for sigma in [0.5, 1.0, 3.7, 55.5] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let draws: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            let (pmf, variance) = pmf_and_variance(sigma);
            assert!(!rejects(&draws, pmf, variance), "sigma {sigma}");
            for factor in [0.9, 1.1] {
                let (pmf, variance) = pmf_and_variance(sigma * factor);
                assert!(rejects(&draws, pmf, variance), "sigma {sigma}, power at {factor}");
            }
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
