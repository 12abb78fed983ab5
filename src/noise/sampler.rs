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
            let word = words.next_u64();
            let negative = word & 1;
            let block = match self.table.find(word >> 1) {
                Some(block) => block,
                None => self.find_with_more_words(word >> 1, words),
            };
            let mut magnitude = block as u64;
            if let Some(acceptance) = &self.acceptance {
                let word = words.next_u64();
                let width_bits = self.blocks.width_bits;
                let start = magnitude << width_bits;
                let offset = (word & ((1 << width_bits) - 1)) + negative;
                // E(start + offset) - E(start) over the rate
                let n = match self.blocks.power {
                    Power::One => u128::from(offset),
                    Power::Two => u128::from(2 * start + offset) * u128::from(offset),
                };
                if !acceptance.accepts(n, word, width_bits, words) {
                    continue;
                }
                magnitude = start + offset;
            }
            // no magnitude is beyond i64: its block's F would not fit into memory
            return if negative == 1 { -(magnitude as i64) } else { magnitude as i64 };
        }
    }

    /// The smallest i with U < F(i), where the first bits of U are `word`: more bits are taken until
    /// bounds of F at their precision can tell.
    #[cold]
    fn find_with_more_words<R: RandomWords + ?Sized>(&self, word: u64, words: &mut R) -> usize {
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
                    assert_eq!(tables.table.find(first), None);
                    tables.find_with_more_words(first, &mut Script(more))
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

    /// The same at the end of the table, where all digits that it has are ones.
    #[test]
    fn the_tail_goes_on_beyond_the_table() {
        let tables = laplace(1.0);
        // P(|X| > m) = 2 e^-(m+1) / (1 + 1/e): 2^-63 - 2^-127 lies between those of 44 and 43
        let ones = u64::MAX >> 1;
        assert_eq!(tables.table.find(ones), None);
        assert_eq!(tables.find_with_more_words(ones, &mut Script(&[0])), 44);
        // 1 - U = 2^-127: m + 1 > 127 ln 2 + ln 2 - ln(1 + 1/e) = 88.41
        let almost_one = [u64::MAX, 0];
        assert_eq!(tables.find_with_more_words(ones, &mut Script(&almost_one)), 88);
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
            for negative in [0, 1] {
                for rest in 0..1 << width_bits {
                    let magnitude = ((block as i64) << width_bits) + rest as i64;
                    let value = [magnitude, -magnitude - i64::from(width_bits > 0)][negative];
                    let draw = |high: u64| {
                        // after a rejection the noughts lead to 0
                        let second = high << width_bits | rest;
                        let word = (threshold - 2) << 1 | negative as u64;
                        tables.sample(&mut Script(&[word, second, 0, 0, 0, 0, 0, 0]))
                    };
                    // as many second words are accepted, those with the smallest U
                    let (mut accepted, mut rejected) = (0, 1u128 << (64 - width_bits));
                    while accepted < rejected {
                        let middle = accepted + (rejected - accepted) / 2;
                        if draw(middle as u64) == value {
                            accepted = middle + 1;
                        } else {
                            rejected = middle;
                        }
                    }
                    *shares.entry(value).or_insert(0.0) += share * accepted as f64 / 2f64.powi(64);
                }
            }
            first = threshold + 1;
        }
        shares
    }
}
