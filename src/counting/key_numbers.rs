//! Keys and their numbers, in the order in which they occurred first.
//!
//! There may be millions, and most that are looked for occur the first time. So a place of the table is a
//! single word, of the beginning of a key's hash and of its number: one look into memory tells that a key is
//! new, and another puts it there. Places are in the order of the hashes, so that a table that grows is read
//! and written from one end to the other.

use super::group_key::{GroupKey, KeyHasher};
use std::hash::BuildHasher;
use std::hint::black_box;

/// A word's last bits hold a number plus 1, the others the beginning of a hash. Zero is a place that is free.
const NUMBER_BITS: u32 = 24;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// The first table has 2^6 places; one that is fuller is made twice as large.
const FIRST_BITS: u32 = 6;
const MOST_FULL: (usize, usize) = (3, 4);

pub(super) struct KeyNumbers {
    /// By number.
    keys: Vec<GroupKey>,
    /// A power of two of them.
    places: Vec<u64>,
    hasher: KeyHasher,
}

/// Where a key that did not occur before is to be put.
pub(super) struct NewKey {
    key: GroupKey,
    hash: u64,
    place: usize,
}

impl KeyNumbers {
    /// More keys than these have no numbers.
    pub(super) const MOST: usize = NUMBER as usize;

    pub(super) fn new(hasher: KeyHasher) -> KeyNumbers {
        KeyNumbers { keys: Vec::new(), places: vec![0; 1 << FIRST_BITS], hasher }
    }

    /// Looks at where each of these keys will be looked for. So the processor fetches the places of many at once;
    /// one after the other, each would have to wait for its own.
    pub(super) fn fetch(&self, keys: &[GroupKey]) {
        let place = |key| self.places[first_place(self.hasher.hash_one(key), self.places.len())];
        black_box(keys.iter().fold(0, |seen, key| seen ^ place(key)));
    }

    /// The number of a key, or where it is to be put.
    pub(super) fn find(&self, key: GroupKey) -> Result<u32, NewKey> {
        let hash = self.hasher.hash_one(key);
        let mut place = first_place(hash, self.places.len());
        loop {
            let word = self.places[place];
            if word == 0 {
                return Err(NewKey { key, hash, place });
            }
            let number = (word & NUMBER) as usize - 1;
            if (word ^ hash) >> NUMBER_BITS == 0 && self.keys[number] == key {
                return Ok(number as u32);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// Numbers a key that was just not found; there are fewer than [`KeyNumbers::MOST`].
    pub(super) fn put(&mut self, NewKey { key, hash, place }: NewKey) -> u32 {
        let number = self.keys.len();
        self.keys.push(key);
        self.places[place] = hash & !NUMBER | (number as u64 + 1);
        if self.keys.len() * MOST_FULL.1 > self.places.len() * MOST_FULL.0 {
            self.grow();
        }
        number as u32
    }

    fn grow(&mut self) {
        let mut places = vec![0; 2 * self.places.len()];
        let last = places.len() - 1;
        for &word in self.places.iter().filter(|word| **word != 0) {
            let mut place = first_place(word, places.len());
            while places[place] != 0 {
                place = (place + 1) & last;
            }
            places[place] = word;
        }
        self.places = places;
    }
}

/// Of so many, a power of two that is not larger than what a word has of the hash.
fn first_place(hash: u64, places: usize) -> usize {
    (hash >> (u64::BITS - places.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeMap;

    fn none(seed: u64) -> KeyNumbers {
        KeyNumbers::new(KeyHasher::new(&mut ChaCha20Rng::seed_from_u64(seed)))
    }

    impl KeyNumbers {
        fn number(&mut self, key: GroupKey) -> u32 {
            self.find(key).unwrap_or_else(|new| self.put(new))
        }
    }

    proptest! {
        #[test]
        fn keys_are_numbered_as_they_occur(
            seed: u64,
            keys in prop::collection::vec((0..40u64, 0..40u64), 0..2000),
        ) {
            let (mut numbers, mut expected) = (none(seed), BTreeMap::new());
            for key in keys {
                let next = expected.len() as u32;
                let number = *expected.entry(key).or_insert(next);
                prop_assert_eq!(numbers.number(GroupKey::from([key.0, key.1])), number);
            }
            for ((low, high), number) in expected {
                prop_assert_eq!(numbers.find(GroupKey::from([low, high])).ok(), Some(number));
            }
        }
    }

    /// Where many hashes begin alike the last places are full, and what follows is at the beginning.
    #[test]
    fn places_go_round() {
        let mut numbers = none(1);
        let hash = |key| KeyHasher::new(&mut ChaCha20Rng::seed_from_u64(1)).hash_one(key);
        let last = (0..).map(|n| GroupKey::from([n, 7])).filter(|key| hash(*key) >> 59 == 31);
        let keys: Vec<GroupKey> = last.take(300).collect();
        for _ in 0..2 {
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(numbers.number(*key), number as u32);
            }
        }
    }
}
