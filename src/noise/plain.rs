//! The plain samplers of Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy"
//! (2020): the oracle that the fast ones are compared with.

use super::bernoulli::{Natural, bernoulli_exp_neg};
use super::rational::{Scale, exact_fraction};
use super::words::RandomWords;
use num_bigint::BigUint;

/// One draw of the discrete Laplace distribution (algorithm 2).
pub(super) fn laplace<R: RandomWords + ?Sized>(scale: Scale, words: &mut R) -> i64 {
    let (num, den) = scale.rate();
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
        let magnitude = i64::try_from(magnitude).unwrap();
        return if negative { -magnitude } else { magnitude };
    }
}

/// One draw of the discrete Gaussian distribution (algorithm 3): a discrete Laplace draw Y of scale
/// t = floor(sigma) + 1 is kept with probability exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2)).
pub(super) fn gaussian<R: RandomWords + ?Sized>(sigma: f64, words: &mut R) -> i64 {
    let (num, den) = exact_fraction(sigma);
    let (a, b) = (BigUint::from(num).pow(2), BigUint::from(den).pow(2));
    let t = sigma as u32 + 1;
    // with sigma^2 = a/b the exponent is (|Y| b t - a)^2 / (2 a b t^2)
    let den = ((&a * &b) << 1u32) * t * t;
    loop {
        let y = laplace(Scale::new(t.into(), 1.0).unwrap(), words);
        let left = &b * y.unsigned_abs() * t;
        let distance = if left > a { left - &a } else { &a - left };
        if bernoulli_exp_neg(&distance.pow(2), &den, words) {
            return y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::{DRAWS, differ, rejects};
    use crate::noise::{DiscreteGaussian, DiscreteLaplace, words_from_system};

    /// Fails with probability 4e-9: two tests of each of two laws.
    #[test]
    fn the_fast_laplace_sampler_agrees_with_the_plain_one() {
        let mut words = words_from_system().unwrap();
        for epsilon in [1.3, 0.02] {
            let scale = Scale::new(1, epsilon).unwrap();
            let law = DiscreteLaplace::new(scale);
            let plain: Vec<i64> = (0..DRAWS).map(|_| laplace(scale, &mut words)).collect();
            let fast: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            assert!(!rejects(&plain, |k| law.pmf(k), law.variance()), "epsilon {epsilon}");
            assert!(!differ(&plain, &fast, law.variance()), "epsilon {epsilon}");
            let other = DiscreteLaplace::new(Scale::new(1, 1.1 * epsilon).unwrap());
            let other: Vec<i64> = (0..DRAWS).map(|_| other.sample(&mut words)).collect();
            assert!(differ(&plain, &other, law.variance()), "epsilon {epsilon}, power");
        }
    }

    /// Fails with probability 4e-9.
    #[test]
    fn the_fast_gaussian_sampler_agrees_with_the_plain_one() {
        let mut words = words_from_system().unwrap();
        for sigma in [0.8, 40.0] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let table = law.pmf_table(1_000);
            let plain: Vec<i64> = (0..DRAWS).map(|_| gaussian(sigma, &mut words)).collect();
            let fast: Vec<i64> = (0..DRAWS).map(|_| law.sample(&mut words)).collect();
            let pmf = |k: i64| table[(k + 1_000) as usize];
            assert!(!rejects(&plain, pmf, law.variance()), "sigma {sigma}");
            assert!(!differ(&plain, &fast, law.variance()), "sigma {sigma}");
            let other = DiscreteGaussian::new(1.1 * sigma).unwrap();
            let other: Vec<i64> = (0..DRAWS).map(|_| other.sample(&mut words)).collect();
            assert!(differ(&plain, &other, law.variance()), "sigma {sigma}, power");
        }
    }
}
