//! What stands for a group's key while its entities are counted: 128 bits.
//!
//! Keys whose columns have a fixed width of 16 bytes together, such as one or two integers or a
//! UUID, stand for themselves. Of longer keys SipHash makes 128 bits, under a key drawn for each
//! use. Two different keys of n then meet with probability n^2 / 2^129, less than 2^-60 for 10^10
//! keys, whatever the keys are. If they did, two groups would count as one: an error of accuracy
//! alone, as each entity still is in one group.

use rand::Rng;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::{BuildHasher, Hash, Hasher};

/// Equal for equal keys, and different for different ones as far as the module says.
#[derive(Debug, Clone, Copy, Eq)]
pub struct GroupKey(pub(super) [u64; 2]);

impl Hash for GroupKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|&word| state.write_u64(word));
    }
}

impl PartialEq for GroupKey {
    #[inline]
    fn eq(&self, other: &GroupKey) -> bool {
        // word by word: just made, they are in registers
        let [low, high] = self.0;
        low == other.0[0] && high == other.0[1]
    }
}

/// Up to two columns of 8 bytes each, followed by zeros.
impl From<[u64; 2]> for GroupKey {
    #[inline]
    fn from(words: [u64; 2]) -> GroupKey {
        GroupKey(words)
    }
}

/// A column of a key, by what PostgreSQL holds of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyColumn {
    /// That many bytes.
    Fixed(usize),
    /// Any number of bytes.
    Varying,
}

/// Makes [`GroupKey`]s of keys with the same columns, column by column.
#[derive(Debug, Clone)]
pub struct KeyMaker(Columns);

/// The columns so far.
#[derive(Debug, Clone)]
enum Columns {
    /// Of keys that stand for themselves; zeros follow.
    Exact {
        bytes: [u8; KEY],
        length: usize,
    },
    Hashed {
        bytes: Vec<u8>,
        hasher: SipHasher13,
    },
}

const KEY: usize = size_of::<GroupKey>();

impl Columns {
    const NO_EXACT: Columns = Columns::Exact { bytes: [0; KEY], length: 0 };
}

impl KeyMaker {
    pub fn new(columns: &[KeyColumn], words: &mut impl Rng) -> KeyMaker {
        let width = columns.iter().try_fold(0usize, |sum, column| match column {
            KeyColumn::Fixed(width) => sum.checked_add(*width),
            KeyColumn::Varying => None,
        });
        if width.is_some_and(|width| width <= KEY) {
            return KeyMaker(Columns::NO_EXACT);
        }
        let hasher = SipHasher13::new_with_keys(words.next_u64(), words.next_u64());
        KeyMaker(Columns::Hashed { bytes: Vec::new(), hasher })
    }

    /// The next column's value, of 8 bytes.
    #[inline]
    pub fn word(&mut self, value: [u8; 8]) {
        self.fixed(&value);
    }

    /// The next column's value, of a fixed width.
    #[inline]
    pub fn fixed(&mut self, value: &[u8]) {
        match &mut self.0 {
            Columns::Exact { bytes, length } => {
                let begin = *length;
                *length += value.len();
                bytes[begin..*length].copy_from_slice(value);
            }
            Columns::Hashed { bytes, .. } => bytes.extend_from_slice(value),
        }
    }

    /// The next column's value, of any length.
    pub fn varying(&mut self, value: &[u8]) {
        // the length first, or ("a", "bc") would be ("ab", "c")
        self.word(value.len().to_le_bytes());
        self.fixed(value);
    }

    /// The key of one column of any length.
    pub fn of(&mut self, value: &[u8]) -> GroupKey {
        self.varying(value);
        self.finish()
    }

    /// The key of the columns since the last one.
    #[inline]
    pub fn finish(&mut self) -> GroupKey {
        match &mut self.0 {
            Columns::Exact { bytes, .. } => {
                let (words, _) = bytes.as_chunks::<8>();
                let key = [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])];
                self.0 = Columns::NO_EXACT;
                GroupKey(key)
            }
            Columns::Hashed { bytes, hasher } => {
                let mut hasher = *hasher;
                hasher.write(bytes);
                bytes.clear();
                let hash = hasher.finish128();
                GroupKey([hash.h1, hash.h2])
            }
        }
    }
}

/// Spreads keys by folded multiplication (the product of two 64-bit words, its halves added), under
/// a key of its own, so that no keys that someone chose crowd together.
#[derive(Debug, Clone)]
pub struct KeyHasher {
    key: [u64; 2],
}

impl KeyHasher {
    pub fn new(words: &mut impl Rng) -> KeyHasher {
        KeyHasher { key: [words.next_u64(), words.next_u64() | 1] }
    }
}

impl BuildHasher for KeyHasher {
    type Hasher = FoldedMultiply;

    fn build_hasher(&self) -> FoldedMultiply {
        FoldedMultiply { state: self.key[0], factor: self.key[1] }
    }
}

pub struct FoldedMultiply {
    state: u64,
    factor: u64,
}

impl Hasher for FoldedMultiply {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        self.state = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::HashSet;

    fn maker(columns: &[KeyColumn]) -> KeyMaker {
        KeyMaker::new(columns, &mut ChaCha20Rng::seed_from_u64(1))
    }

    #[test]
    fn short_keys_stand_for_themselves() {
        let mut keys = maker(&[KeyColumn::Fixed(8), KeyColumn::Fixed(8)]);
        keys.word(7u64.to_le_bytes());
        keys.fixed(&u64::MAX.to_le_bytes());
        assert_eq!(keys.finish(), GroupKey([7, u64::MAX]));
        let mut keys = maker(&[KeyColumn::Fixed(8)]);
        keys.word(7u64.to_le_bytes());
        assert_eq!(keys.finish(), GroupKey::from([7, 0]));
        let mut keys = maker(&[KeyColumn::Fixed(6)]);
        keys.fixed(&[1, 0, 0, 0, 0, 2]);
        assert_eq!(keys.finish(), GroupKey([1 + (2 << 40), 0]));
    }

    #[test]
    fn other_keys_differ_in_every_column_and_in_where_a_column_ends() {
        for columns in [[KeyColumn::Varying; 2], [KeyColumn::Varying, KeyColumn::Varying]] {
            let mut keys = maker(&columns);
            let mut seen = HashSet::new();
            for (a, b) in [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), ("bc", "a")] {
                let mut key = || {
                    keys.varying(a.as_bytes());
                    keys.varying(b.as_bytes());
                    keys.finish()
                };
                assert_eq!(key(), key());
                assert!(seen.insert(key()));
            }
        }
    }

    #[test]
    fn wide_columns_are_hashed_whole() {
        let mut keys = maker(&[KeyColumn::Fixed(8), KeyColumn::Fixed(16)]);
        let mut seen = HashSet::new();
        for i in 0..24 {
            let mut value = [0u8; 24];
            value[i] = 1;
            keys.fixed(&value[..8]);
            keys.fixed(&value[8..]);
            assert!(seen.insert(keys.finish()));
        }
    }
}
