//! The exact sampler of a [`Law`]; the parent module has the proof.

use super::acceptance::Acceptance;
use super::law::{Blocks, Law, Power};
use super::table::{Table, WORD_BITS};
use super::words::RandomWords;
use num_bigint::BigUint;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The samplers that were made last: all nodes of a level and repeated releases have the same laws.
/// What is kept follows from public parameters alone, unlike random words, and may outlive a
/// release. It is 20 KiB for each at most.
static RECENT: Mutex<VecDeque<Sampler>> = Mutex::new(VecDeque::new());
const RECENT_LIMIT: usize = 64;

/// Draws from a [`Law`]. Clones share their tables, which are made when the first draw needs them.
#[derive(Debug, Clone)]
pub(super) struct Sampler(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    law: Law,
    tables: OnceLock<Tables>,
}

impl Sampler {
    pub(super) fn new(law: Law) -> Sampler {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = recent.iter().rev().find(|sampler| sampler.0.law == law) {
            return same.clone();
        }
        if recent.len() == RECENT_LIMIT {
            recent.pop_front();
        }
        let sampler = Sampler(Arc::new(Shared { law, tables: OnceLock::new() }));
        recent.push_back(sampler.clone());
        sampler
    }

    /// One exact draw.
    #[inline]
    pub(super) fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        self.0.tables.get_or_init(|| Tables::new(&self.0.law)).sample(words)
    }
}

/// How many bits of a word go to the table where the others serve the coin and the offset. Up to
/// [`super::MAX_SCALE`] an offset has 26 bits at most, which leaves 13 to the coin. So most draws
/// take one word.
const TABLE_BITS: u32 = 24;

#[derive(Debug)]
struct Tables {
    blocks: Blocks,
    table: Table,
    /// thins the magnitudes of a block out; none where a block is a single magnitude
    acceptance: Option<Acceptance>,
}

impl Tables {
    fn new(law: &Law) -> Tables {
        let blocks = law.blocks();
        let table = Table::new(&blocks);
        let acceptance = (blocks.width_bits > 0)
            .then(|| Acceptance::new(law.rate_num.clone(), law.rate_den.clone()));
        Tables { blocks, table, acceptance }
    }

    #[inline]
    fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        loop {
            if let Some(value) = self.propose(words) {
                return value;
            }
        }
    }

    /// A value, unless it is rejected.
    #[inline]
    fn propose<R: RandomWords + ?Sized>(&self, words: &mut R) -> Option<i64> {
        let word = words.next_u64();
        let Some(acceptance) = &self.acceptance else {
            // from the top: the table's bits, the sign
            let magnitude = self.find(word >> 1, 0, words) as u64;
            return Some(signed(magnitude, word & 1));
        };
        // from the top: the table's bits, the sign, the coin's bits, the offset
        let (width_bits, others) = (self.blocks.width_bits, 64 - TABLE_BITS - 1);
        let start = (self.find(word >> 1, others, words) as u64) << width_bits;
        let negative = word >> others & 1;
        let offset = (word & ((1 << width_bits) - 1)) + negative;
        // E(start + offset) - E(start) over the rate
        let n = match self.blocks.power {
            Power::One => u128::from(offset),
            Power::Two => u128::from(2 * start + offset) * u128::from(offset),
        };
        let (coin, spare) = (word << (64 - others), 64 - others + width_bits);
        acceptance.accepts(n, coin, spare, words).then(|| signed(start + offset, negative))
    }

    #[inline]
    fn find<R: RandomWords + ?Sized>(&self, word: u64, spare: u32, words: &mut R) -> usize {
        self.table
            .find(word, spare)
            .unwrap_or_else(|| self.find_with_more_words(word, spare, words))
    }

    /// The smallest i with U < F(i), where the first bits of U are the highest of the 63 of `word`,
    /// all but the lowest `spare` ones. First the spare ones are filled, then more bits are taken
    /// until bounds of F at their precision can tell.
    #[cold]
    fn find_with_more_words<R: RandomWords + ?Sized>(
        &self,
        word: u64,
        spare: u32,
        words: &mut R,
    ) -> usize {
        let mut word = word;
        if spare > 0 {
            word = word >> spare << spare | words.next_u64() >> (64 - spare);
            if let Some(found) = self.table.find(word, 0) {
                return found;
            }
        }
        let (mut digits, mut bits) = (BigUint::from(word), u64::from(WORD_BITS));
        loop {
            digits = digits << 64 | BigUint::from(words.next_u64());
            bits += 64;
            // U lies in [digits, digits + 1) / 2^bits: not below the first F(i), i < found
            let cumulative = self.blocks.cumulative(bits);
            let found = cumulative.partition_point(|bounds| bounds.high <= digits);
            if cumulative.get(found).is_some_and(|bounds| digits < bounds.low) {
                return found;
            }
        }
    }
}

/// No magnitude is beyond i64: the F of its block would not fit into memory.
fn signed(magnitude: u64, negative: u64) -> i64 {
    if negative == 1 { -(magnitude as i64) } else { magnitude as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::Script;
    use crate::noise::rational::Scale;
    use std::collections::BTreeMap;

    fn laplace(epsilon: f64) -> Tables {
        Tables::new(&Law::laplace(Scale::new(1, epsilon).unwrap()))
    }

    fn gaussian(sigma: f64) -> Tables {
        Tables::new(&Law::gaussian(sigma))
    }

    /// Words that agree with F(i) in 63, 127 and 191 bits, which no table can decide.
    #[test]
    fn words_on_a_threshold_are_decided_as_by_exact_arithmetic() {
        for tables in [laplace(1e-3), laplace(0.7), laplace(20.0), gaussian(0.4), gaussian(1e4)] {
            let bits = u64::from(WORD_BITS) + 192;
            let exact = tables.blocks.cumulative(bits);
            // where thresholds are a word apart, a third word does not reach the next one
            let distances = tables.table.thresholds.windows(2).map(|pair| pair[1] - pair[0]);
            let last = distances.take_while(|&distance| distance > 4).count();
            for i in [0, 1, 2, 5, 30].into_iter().filter(|&i| i < last) {
                let digits = &exact[i].low >> 64u32;
                assert_eq!(digits, &exact[i].high >> 64u32);
                let from = |shift: u32| (&digits >> shift).iter_u64_digits().next().unwrap_or(0);
                let (first, second, third) = (from(128), from(64), from(0));
                let find = |more: &[u64]| {
                    assert_eq!(tables.table.find(first, 0), None);
                    tables.find_with_more_words(first, 0, &mut Script(more))
                };
                // bounds may leave a last place open, so that one more word is asked for
                assert_eq!(find(&[second - 3]), i);
                assert_eq!(find(&[second, third - 3]), i);
                assert_eq!(find(&[second, third, 0, 0]), i);
                assert_eq!(find(&[second, third + 3]), i + 1);
                assert_eq!(find(&[second + 3]), i + 1);
            }
        }
    }

    /// At the end of the table all digits that it has are ones: more are appended there, too.
    #[test]
    fn the_tail_goes_on_beyond_the_table() {
        let tables = laplace(1.0);
        // P(|X| > m) = 2 e^-(m+1) / (1 + 1/e): 2^-63 - 2^-127 lies between those of 44 and 43
        let ones = u64::MAX >> 1;
        assert_eq!(tables.table.find(ones, 0), None);
        assert_eq!(tables.find_with_more_words(ones, 0, &mut Script(&[0])), 44);
        // 1 - U = 2^-127: m + 1 > 127 ln 2 + ln 2 - ln(1 + 1/e) = 88.41
        let almost_one = [u64::MAX, 0];
        assert_eq!(tables.find_with_more_words(ones, 0, &mut Script(&almost_one)), 88);
        let mut words = Script(&[u64::MAX, u64::MAX, 0]);
        assert_eq!(tables.sample(&mut words), -88);
    }

    /// The law of the draws, from the numbers of words that lead to each outcome: all first words
    /// by the table's intervals, all second words by the boundary of acceptance. What stays
    /// undecided is a share of 2^-50.
    #[test]
    fn all_words_together_give_the_stated_law() {
        let weight = |rate: f64, power: i32, k: i64| (-rate * (k as f64).abs().powi(power)).exp();
        for (tables, rate, power) in [
            (laplace(0.7), 0.7, 1),
            (gaussian(3.0), 1.0 / 18.0, 2),
            (laplace(0.02), 0.02, 1),
            (laplace(0.011), 0.011, 1),
            (gaussian(25.0), 1.0 / 1250.0, 2),
            (gaussian(100.0), 1.0 / 20_000.0, 2),
        ] {
            let shares = enumerate(&tables);
            let accepted: f64 = shares.values().sum();
            let total: f64 = (-9000..=9000).map(|k| weight(rate, power, k)).sum();
            for (&k, share) in &shares {
                let (drawn, stated) = (share / accepted, weight(rate, power, k) / total);
                let error = (drawn - stated).abs();
                assert!(error < 1e-11 * stated + 1e-17, "{rate}, {k}: {drawn} for {stated}");
            }
            let (first, last) = (*shares.keys().next().unwrap(), *shares.keys().last().unwrap());
            assert_eq!(shares.len() as i64, last - first + 1, "{rate}: a value is never drawn");
            assert!(weight(rate, power, last.min(-first)) / total < 1e-10, "{rate}");
        }
    }

    /// The share of the words that lead to each value, before any word is rejected.
    fn enumerate(tables: &Tables) -> BTreeMap<i64, f64> {
        let mut shares = BTreeMap::new();
        let width_bits = tables.blocks.width_bits;
        let mut first = 0;
        for (block, &threshold) in tables.table.thresholds.iter().enumerate() {
            // of one word and more than that nothing can be said by shares
            if threshold - first < 1 << 20 {
                break;
            }
            let share = (threshold + 1 - first) as f64 / 2f64.powi(64);
            let last = threshold - 2;
            for negative in [0, 1] {
                for rest in 0..1 << width_bits {
                    let magnitude = ((block as i64) << width_bits) + rest as i64;
                    let value =
                        [magnitude, -magnitude - i64::from(width_bits > 0)][negative as usize];
                    // as many values of the coin's U are accepted, the smallest ones
                    let (mut accepted, mut rejected) = (0, 1u128 << 64);
                    while accepted < rejected {
                        let middle = accepted + (rejected - accepted) / 2;
                        let proposed = propose(tables, last, negative, middle as u64, rest);
                        assert!(proposed.is_none_or(|proposed| proposed == value));
                        if proposed.is_some() {
                            accepted = middle + 1;
                        } else {
                            rejected = middle;
                        }
                    }
                    let part = accepted as f64 / 2f64.powi(64 + width_bits as i32);
                    *shares.entry(value).or_insert(0.0) += share * part;
                }
            }
            first = threshold + 1;
        }
        shares
    }

    /// What is proposed if the table's digits are the 63 of `digits`, and the coin's those of
    /// `coin`.
    fn propose(tables: &Tables, digits: u64, negative: u64, coin: u64, offset: u64) -> Option<i64> {
        let width_bits = tables.blocks.width_bits;
        if width_bits == 0 {
            return tables.propose(&mut Script(&[digits << 1 | negative]));
        }
        let word = (digits >> 39 << 40)
            | negative << 39
            | coin >> (25 + width_bits) << width_bits
            | offset;
        let (more_digits, more_coin) = (digits << 25, coin << (39 - width_bits));
        // the digits lie next to a threshold, so the rest of them is always asked for
        tables.propose(&mut Script(&[word, more_digits, more_coin, 0]))
    }
}
