//! Inversion by a table of certified thresholds.

use super::exponential::Bounds;
use super::law::{Blocks, Power};
use num_bigint::BigUint;

/// The bits of a word that a table takes; the last one is left for a sign.
pub(super) const WORD_BITS: u32 = 63;

/// log2 of the number of equal parts of [0, 1) for which the search's start is known.
const GUIDE_BITS: u32 = 10;

/// Thresholds T of a distribution function F with |T(i) - 2^63 F(i)| <= 1, as far as that F can be
/// told from 1.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) thresholds: Box<[u64]>,
    /// for each part of [0, 1) the first threshold that is not below the part's begin
    guide: Box<[u16]>,
}

impl Table {
    /// 5 to 20 microseconds of work.
    pub(super) fn new(blocks: &Blocks) -> Table {
        let thresholds = thresholds(blocks);
        let mut guide = Vec::with_capacity(1 << GUIDE_BITS);
        let mut first = 0;
        for part in 0..1u64 << GUIDE_BITS {
            while thresholds[first] < part << (WORD_BITS - GUIDE_BITS) {
                first += 1;
            }
            guide.push(first as u16);
        }
        Table { thresholds: thresholds.into(), guide: guide.into() }
    }

    /// The smallest i with U < F(i), where the first digits of U are the highest of the 63 bits of
    /// `word`, all but the lowest `spare` ones; or nothing if these are too near to a threshold.
    ///
    /// With them, U lies in [`first`, `last` + 1) / 2^63, and i is the smallest with `first` <=
    /// T(i). From `first` >= T(i-1) + 1 follows U >= F(i-1), and from `last` + 1 <= T(i) - 1
    /// follows U < F(i).
    #[inline]
    pub(super) fn find(&self, word: u64, spare: u32) -> Option<usize> {
        let (first, last) = (word >> spare << spare, word | ((1 << spare) - 1));
        let mut i = usize::from(self.guide[(word >> (WORD_BITS - GUIDE_BITS)) as usize]);
        // the last threshold is 2^63 - 1, which no word exceeds
        while first > self.thresholds[i] {
            i += 1;
        }
        (last + 2 <= self.thresholds[i]).then_some(i)
    }
}

/// The binary places of the fixed-point numbers from which thresholds are made.
const PLACES: u32 = 120;
const ONE: u128 = 1 << PLACES;

/// floor(a b / 2^120)
fn product(a: u128, b: u128) -> u128 {
    let (low, high) = a.carrying_mul(b, 0);
    high << (128 - PLACES) | low >> PLACES
}

/// A real number v from 0 to 1: `low` <= 2^120 v <= `low` + `error`.
#[derive(Clone, Copy)]
struct Fixed {
    low: u128,
    error: u128,
}

impl Fixed {
    /// With a = a' + d and b = b' + e, the lower bounds being a' and b', the product is
    /// a' b' + d b' + a e <= a' b' + d + e.
    fn times(self, other: Fixed) -> Fixed {
        Fixed { low: product(self.low, other.low), error: self.error + other.error + 1 }
    }
}

fn thresholds(blocks: &Blocks) -> Vec<u64> {
    let Bounds { low, high } = blocks.first_ratio(PLACES.into());
    let mut ratio = Fixed { low: to_u128(&low), error: to_u128(&(high - low)) };
    let step = match blocks.power {
        Power::One => Fixed { low: ONE, error: 0 },
        Power::Two => ratio.times(ratio),
    };
    let mut weight = Fixed { low: ONE, error: 0 };
    let mut sum = if blocks.halves_the_first() { ONE / 2 } else { ONE };
    let mut error = 0; // of the sum
    let mut sums = Vec::with_capacity(1 << 11);
    loop {
        sums.push(sum);
        weight = weight.times(ratio);
        if weight.low >> 24 == 0 {
            break;
        }
        ratio = ratio.times(step);
        sum += weight.low;
        error += weight.error;
    }
    // the ratios do not grow, so the rest is at most a geometric series
    let rest = (weight.low + weight.error) * (ONE / (ONE - ratio.low - ratio.error) + 1);
    // A quotient of sum and total is at most 1, the total at least 1/2. So the upper bounds below
    // exceed the quotients by less than 4 (error + rest) + 64, which has to be below 2^57.
    assert!(error + rest < 1 << 54, "the errors of a table add up to {error} and {rest}");
    let reciprocal = to_u128(&((BigUint::from(1u32) << (2 * PLACES)) / sum)) + 1;
    let mut thresholds = Vec::with_capacity(sums.len());
    let largest = (1 << WORD_BITS) - 1;
    for sum in sums {
        let share = product(sum + error, reciprocal) + 1;
        let threshold = ((share >> (PLACES - WORD_BITS)) as u64).min(largest);
        thresholds.push(threshold);
        if threshold == largest {
            break;
        }
    }
    thresholds
}

fn to_u128(value: &BigUint) -> u128 {
    u128::try_from(value).expect("a number below 256 with 120 binary places")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::law::Law;
    use crate::noise::rational::Scale;
    use proptest::prelude::*;

    /// Laws of all forms: next to nothing but 0, single magnitudes, blocks, the widest blocks, and
    /// both sides of where one form goes over into the next.
    fn laws() -> Vec<Law> {
        let rates =
            [1e6, 100.0, 44.0, 43.0, 2.0, 1.0, 0.37, 0.1, 1.0 / 32.0, 0.03124, 0.0156, 1e-3, 1e-9];
        let sigmas = [1e-6, 0.1, 0.11, 0.5, 1.0, 10.0, 22.627, 22.628, 45.25, 45.26, 1e3, 1e9];
        let laplace = rates.iter().map(|&rate| Law::laplace(Scale::new(1, rate).unwrap()));
        laplace.chain(sigmas.iter().map(|&sigma| Law::gaussian(sigma))).collect()
    }

    #[test]
    fn thresholds_are_within_1_of_the_exact_distribution_function() {
        for law in laws() {
            let blocks = law.blocks();
            let exact = blocks.cumulative(u64::from(WORD_BITS) + 64);
            let thresholds = Table::new(&blocks).thresholds;
            for (&threshold, exact) in thresholds.iter().zip(&exact) {
                assert!(exact.high <= BigUint::from(threshold + 1) << 64, "{law:?}");
                assert!(exact.low >= BigUint::from(threshold - 1) << 64, "{law:?}");
            }
            assert!(thresholds.len() <= exact.len() && thresholds.is_sorted());
            assert_eq!(thresholds.last(), Some(&((1 << WORD_BITS) - 1)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// The errors stay within the bound that making a table asserts, whatever the parameter.
        #[test]
        fn every_supported_law_has_a_table(ln_scale in -13.8f64..20.7) {
            let scale = ln_scale.exp();
            for law in [Law::laplace(Scale::new(1, 1.0 / scale).unwrap()), Law::gaussian(scale)] {
                prop_assert!(Table::new(&law.blocks()).thresholds.len() < 1 << 11);
            }
        }
    }

    /// Together with the thresholds' error this covers all 2^63 words: those between neighbouring
    /// thresholds find one and the same block.
    #[test]
    fn every_word_finds_its_block_or_is_undecided() {
        for law in laws() {
            let table = Table::new(&law.blocks());
            let mut first = 0;
            for (i, &threshold) in table.thresholds.iter().enumerate() {
                if first + 2 <= threshold {
                    let inside = [first, first + (threshold - first) / 3, threshold - 2];
                    assert!(
                        inside.iter().all(|&word| table.find(word, 0) == Some(i)),
                        "{law:?}, {i}"
                    );
                }
                for word in (threshold - 1).max(first)..=threshold {
                    assert_eq!(table.find(word, 0), None, "{law:?}, {i}");
                }
                first = threshold + 1;
            }
            assert_eq!(first, 1 << WORD_BITS);
        }
    }
}
