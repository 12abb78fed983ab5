//! A coin that lands heads with probability e^-x, mostly decided by the spare bits of one word.

use super::exponential::exp_neg;
use super::words::RandomWords;
use num_bigint::BigUint;

/// Decides whether U < e^-x for x = rate n, with a rational rate below 1 and a natural n.
#[derive(Debug)]
pub(super) struct Acceptance {
    rate_num: BigUint,
    rate_den: BigUint,
    /// ceil(2^120 rate)
    rate: u128,
    /// 2^120 x <= n `rate` <= 2^119 for n up to here
    limit: u128,
}

impl Acceptance {
    pub(super) fn new(rate_num: BigUint, rate_den: BigUint) -> Acceptance {
        let rate = ((&rate_num << 120u32) + &rate_den - 1u32) / &rate_den;
        let rate = u128::try_from(rate).expect("a rate below 1");
        Acceptance { rate_num, rate_den, rate, limit: (1 << 119) / rate }
    }

    /// Whether U < e^-(rate n) for a uniform U from [0, 1), whose first bits are the highest of
    /// `word`, all but the lowest `spare` ones. Further bits are taken from `words` where these
    /// cannot tell: for n <= 2^62, with probability 2^(spare - 56) or less.
    #[inline]
    pub(super) fn accepts<R: RandomWords + ?Sized>(
        &self,
        n: u128,
        word: u64,
        spare: u32,
        words: &mut R,
    ) -> bool {
        if n <= self.limit {
            let high_x = ((self.rate * n) >> 56) + 1;
            // U < (last + 1) / 2^64 <= 1 - x <= e^-x
            let last = word | ((1 << spare) - 1);
            if u128::from(last) + high_x < 1 << 64 {
                return true;
            }
        }
        self.decides(n, word, spare, words)
    }

    /// Whether to accept, for the few words that are not clearly below e^-x.
    #[cold]
    fn decides<R: RandomWords + ?Sized>(
        &self,
        n: u128,
        word: u64,
        spare: u32,
        words: &mut R,
    ) -> bool {
        let (mut word, mut spare) = (word, spare);
        loop {
            let (first, last) = (word >> spare << spare, word | ((1 << spare) - 1));
            if n <= self.limit
                && let Some(decision) = self.compare_with_series(n, first, last)
            {
                return decision;
            }
            if spare == 0 {
                break;
            }
            word = first | words.next_u64() >> (64 - spare);
            spare = 0;
        }
        let exponent = &self.rate_num * n;
        let (mut digits, mut bits) = (BigUint::from(word), 64);
        loop {
            // U lies in [digits, digits + 1) / 2^bits
            let bounds = exp_neg(&exponent, &self.rate_den, bits);
            if digits < bounds.low {
                return true;
            }
            if digits >= bounds.high {
                return false;
            }
            digits = digits << 64 | BigUint::from(words.next_u64());
            bits += 64;
        }
    }

    /// Whether U < e^-x for U in [`first`, `last` + 1) / 2^64 and x <= 1/2, if 64 places can tell.
    ///
    /// e^-x lies between any two consecutive partial sums of 1 - x + x^2/2! - x^3/3! ... (Taylor's
    /// theorem). All numbers are multiples of 2^-64, those in `low_` rounded down, in `high_` up.
    fn compare_with_series(&self, n: u128, first: u64, last: u64) -> Option<bool> {
        let (low_x, high_x) = (((self.rate - 1) * n) >> 56, ((self.rate * n) >> 56) + 1);
        let (mut low_term, mut high_term) = (low_x, high_x);
        let (mut low_sum, mut high_sum) = (1u128 << 64, 1u128 << 64);
        for power in 1u128.. {
            if power % 2 == 1 {
                low_sum -= high_term;
                high_sum -= low_term;
                if u128::from(last) < low_sum {
                    return Some(true);
                }
            } else {
                low_sum += low_term;
                high_sum += high_term;
                if u128::from(first) >= high_sum {
                    return Some(false);
                }
            }
            if high_term <= 2 {
                break;
            }
            low_term = ((low_term * low_x) >> 64) / (power + 1);
            high_term = (((high_term * high_x) >> 64) + 1) / (power + 1) + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::Script;

    /// The words whose first bits lie 2^k beside those of e^-x, and those that agree with it in all
    /// their bits and in 64 and 128 more, at small and large x.
    #[test]
    fn decisions_are_those_of_exact_arithmetic() {
        for (num, den) in
            [(1, 40), (2, 65), ((1 << 80) + 1, 1u128 << 85), (1, 1_000_000_007), (1, 1 << 61)]
        {
            let acceptance = Acceptance::new(num.into(), den.into());
            let unit = den / num; // where x is about 1
            for n in [1, unit / 1000, unit / 30, unit / 3, unit, 3 * unit, 20 * unit] {
                for spare in [1, 5, 26] {
                    if n > 0 {
                        check(&acceptance, n, spare);
                    }
                }
            }
        }
    }

    fn check(acceptance: &Acceptance, n: u128, spare: u32) {
        // the first digits of e^-x: three words
        let exponent = &acceptance.rate_num * n;
        let bounds = exp_neg(&exponent, &acceptance.rate_den, 256);
        let digits = bounds.low >> 64u32;
        assert_eq!(digits, bounds.high >> 64u32);
        let from = |shift: u32| (&digits >> shift).iter_u64_digits().next().unwrap_or(0);
        let (first, second, third) = (from(128), from(64), from(0));

        let decide = |first: u64, more: &[u64]| {
            let (word, others) = (first >> spare << spare, (1 << spare) - 1);
            let script = [&[first << (64 - spare)], more].concat();
            let decision = acceptance.accepts(n, word, spare, &mut Script(&script));
            // the spare bits are no part of U
            assert_eq!(decision, acceptance.accepts(n, word | others, spare, &mut Script(&script)));
            decision
        };
        let context = format!("{acceptance:?}, n {n}, spare {spare}");
        for k in 0..64 {
            // small x and a distance of 2^-52 need no big integers
            let fixed = n <= acceptance.limit && n < 1 << 61 && k >= 12;
            let more = |word| if fixed { vec![] } else { vec![word] };
            if first >= 1 << k {
                assert!(decide(first - (1 << k), &more(u64::MAX)), "{context}, 2^{k} below");
            }
            if let Some(above) = first.checked_add(1 << k) {
                assert!(!decide(above, &more(0)), "{context}, 2^{k} above");
            }
        }
        let beyond = |distance: i128| {
            let digits = u128::from(second) << 64 | u128::from(third);
            let digits = digits.wrapping_add_signed(distance);
            [(digits >> 64) as u64, digits as u64]
        };
        for distance in [3 << 64, 3] {
            let [second, third] = beyond(-distance);
            assert!(decide(first, &[second, third, u64::MAX]), "{context}, {distance} below");
            let [second, third] = beyond(distance);
            assert!(!decide(first, &[second, third, 0]), "{context}, {distance} above");
        }
    }

    #[test]
    fn the_largest_weight_of_a_block_is_always_kept() {
        let acceptance = Acceptance::new(1u32.into(), 40u32.into());
        assert!(acceptance.accepts(0, u64::MAX, 7, &mut Script(&[u64::MAX])));
    }
}
