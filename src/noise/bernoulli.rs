//! Coins with probability p and exp(-p), p rational, decided by integers alone.

use super::words::RandomWords;
use num_bigint::BigUint;

/// The integers that the coins compute with: `u128` where the products fit, big integers elsewhere.
pub(super) trait Natural: Clone + Ord {
    /// Uniform on 0 .. bound (bound excluded); bound > 0.
    fn uniform_below<R: RandomWords + ?Sized>(bound: &Self, words: &mut R) -> Self;
    fn times(&self, factor: u32) -> Self;
    fn minus(&self, other: &Self) -> Self;
}

impl Natural for u128 {
    fn uniform_below<R: RandomWords + ?Sized>(bound: &u128, words: &mut R) -> u128 {
        // rejection from the smallest power of two that covers the bound: at most 2 tries expected
        let mask = u128::MAX.checked_shr((bound - 1).leading_zeros()).unwrap_or(0);
        loop {
            let low = u128::from(words.next_u64());
            let word = if mask >> 64 == 0 { low } else { u128::from(words.next_u64()) << 64 | low };
            let candidate = word & mask;
            if candidate < *bound {
                return candidate;
            }
        }
    }

    fn times(&self, factor: u32) -> u128 {
        self * u128::from(factor)
    }

    fn minus(&self, other: &u128) -> u128 {
        self - other
    }
}

impl Natural for BigUint {
    fn uniform_below<R: RandomWords + ?Sized>(bound: &BigUint, words: &mut R) -> BigUint {
        let bits = (bound - 1u32).bits();
        loop {
            let mut digits: Vec<u32> = (0..bits.div_ceil(32)).map(|_| words.next_u32()).collect();
            if let (Some(top), 1..) = (digits.last_mut(), bits % 32) {
                *top &= (1 << (bits % 32)) - 1;
            }
            let candidate = BigUint::new(digits);
            if candidate < *bound {
                return candidate;
            }
        }
    }

    fn times(&self, factor: u32) -> BigUint {
        self * factor
    }

    fn minus(&self, other: &BigUint) -> BigUint {
        self - other
    }
}

/// True with probability exp(-num/den), exactly, for any num/den >= 0 (CKS 2020, algorithm 1).
pub(super) fn bernoulli_exp_neg<N: Natural, R: RandomWords + ?Sized>(
    num: &N,
    den: &N,
    words: &mut R,
) -> bool {
    let mut rest = num.clone();
    // exp(-p) = exp(-1)^floor(p) * exp(-(p - floor(p))); the loop ends at the first failed coin
    while rest > *den {
        if !bernoulli_exp_neg_unit(den, den, words) {
            return false;
        }
        rest = rest.minus(den);
    }
    bernoulli_exp_neg_unit(&rest, den, words)
}

/// True with probability exp(-p), for p = num/den from 0 to 1: the number of successes before the
/// first failure of coins with probabilities p/1, p/2, p/3, ... is even with probability exp(-p)
/// (von Neumann's series).
fn bernoulli_exp_neg_unit<N: Natural, R: RandomWords + ?Sized>(
    num: &N,
    den: &N,
    words: &mut R,
) -> bool {
    let mut tries = 1;
    while N::uniform_below(&den.times(tries), words) < *num {
        tries += 1;
    }
    tries % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::words_from_system;

    /// |frequency - p| > 6 standard deviations has probability below 2e-9; a coin whose exponent
    /// is 10 % off differs by more than 12 of them in every case below.
    fn check(p: f64, mut coin: impl FnMut() -> bool) {
        let draws = 200_000;
        let hits = (0..draws).filter(|_| coin()).count() as f64;
        let deviation = (f64::from(draws) * p * (1.0 - p)).sqrt();
        assert!((hits - f64::from(draws) * p).abs() < 6.0 * deviation, "p = {p}, hits = {hits}");
    }

    #[test]
    fn coins_land_as_often_as_they_should() {
        let mut words = words_from_system().unwrap();
        for (num, den) in [(1u128, 3u128), (1, 1), (5, 2), (7, 3)] {
            let p = (-(num as f64) / den as f64).exp();
            check(p, || bernoulli_exp_neg(&num, &den, &mut words));
            let (num, den) = (BigUint::from(num) << 150, BigUint::from(den) << 150);
            check(p, || bernoulli_exp_neg(&num, &den, &mut words));
        }
    }

    #[test]
    fn uniform_values_cover_exactly_the_range() {
        let mut words = words_from_system().unwrap();
        for bound in [1u128, 2, 3, 5, 8] {
            // a value is missed by 2,000 draws with probability below 8 * (7/8)^2000 < 1e-115
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..2_000 {
                seen.insert(u128::uniform_below(&bound, &mut words));
                let big = BigUint::uniform_below(&BigUint::from(bound), &mut words);
                assert!(big < BigUint::from(bound));
            }
            assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..bound).collect::<Vec<_>>());
        }
        let wide = 3u128 << 100;
        let mut top = 0;
        for _ in 0..200 {
            let value = u128::uniform_below(&wide, &mut words);
            assert!(value < wide);
            top = top.max(value);
        }
        // the highest of 200 lies below half the range with probability 2^-200
        assert!(top > wide / 2);
    }
}
