//! Random words: a ChaCha20 key stream with a fresh key from the operating system.

use rand::rngs::SysRng;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// What the samplers draw from: a cryptographically secure stream of uniform words.
pub trait RandomWords: rand::CryptoRng {}
impl<R: rand::CryptoRng + ?Sized> RandomWords for R {}

/// The operating system gave no random bytes; the release has to fail.
#[derive(Debug)]
pub struct EntropyError(rand::rngs::SysError);

impl std::fmt::Display for EntropyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the operating system's random generator failed: {}", self.0)
    }
}

impl std::error::Error for EntropyError {}

/// What [`words_from_system`] gives.
pub type SystemWords = ChaCha20Rng;

/// A stream keyed from the operating system's generator at this very call.
///
/// Call it once per release and never keep the stream across releases: a key that was drawn before
/// a process forked would be shared by both sides of the fork.
pub fn words_from_system() -> Result<SystemWords, EntropyError> {
    ChaCha20Rng::try_from_rng(&mut SysRng).map_err(EntropyError)
}

/// A key for a stream of its own, drawn from another stream: for parts of a release that are not
/// drawn in a fixed order, as on several threads.
///
/// The streams of n keys are as good as one. Who could tell them from independent uniform words
/// could tell at least one of n + 1 ChaCha20 streams, the one that the keys come from and theirs,
/// from uniform words: replace them by such words one after the other, that one first. That nobody
/// can is what a single stream rests on already. Two of the keys, 256 bits each, are equal with a
/// probability below n^2 / 2^257.
#[derive(Clone)]
pub(crate) struct Key(<ChaCha20Rng as SeedableRng>::Seed);

impl Key {
    pub(crate) fn draw<R: RandomWords + ?Sized>(words: &mut R) -> Key {
        let mut key = Key(Default::default());
        words.fill_bytes(&mut key.0);
        key
    }

    /// The stream from its beginning. A key serves one purpose.
    pub(crate) fn words(&self) -> impl RandomWords + use<> {
        ChaCha20Rng::from_seed(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn keys_and_their_streams_follow_from_the_stream_they_are_drawn_from() {
        let first_words = || {
            let mut words = ChaCha20Rng::seed_from_u64(7);
            [(); 3].map(|()| Key::draw(&mut words).words().next_u64())
        };
        assert_eq!(first_words(), first_words());
        let [first, second, third] = first_words();
        assert!(first != second && second != third && first != third);
    }

    #[test]
    fn two_streams_have_different_keys() {
        let mut first = words_from_system().unwrap();
        let mut second = words_from_system().unwrap();
        let draw = |words: &mut dyn Rng| [words.next_u64(), words.next_u64()];
        // equal with probability 2^-128
        assert_ne!(draw(&mut first), draw(&mut second));
    }
}
