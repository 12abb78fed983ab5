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

/// A stream keyed from the operating system's generator at this very call.
///
/// Call it once per release and never keep the stream across releases: a key that was drawn before
/// a process forked would be shared by both sides of the fork.
pub fn words_from_system() -> Result<impl RandomWords, EntropyError> {
    ChaCha20Rng::try_from_rng(&mut SysRng).map_err(EntropyError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn two_streams_have_different_keys() {
        let mut first = words_from_system().unwrap();
        let mut second = words_from_system().unwrap();
        let draw = |words: &mut dyn Rng| [words.next_u64(), words.next_u64()];
        // equal with probability 2^-128
        assert_ne!(draw(&mut first), draw(&mut second));
    }
}
