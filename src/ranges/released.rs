//! What is released: noisy integers, how they were measured, and which bins they are about.

use super::bins::{Bins, Bounds, BoundsError};
use super::{Answers, RangePlan, Release};
use crate::noise::RandomWords;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The first byte of every stored value; a new layout takes the next number.
const VERSION: u8 = 1;

/// A histogram over bins that satisfies differential privacy, safe to publish: every range sum can
/// be read off it, with its exact variance. Only a mechanism makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct DpRanges {
    bounds: Bounds,
    release: Release,
}

/// The text form, as JSON, and the binary form after the version byte, as postcard writes it.
#[derive(Serialize, Deserialize)]
struct Stored<R> {
    lo: i64,
    hi: i64,
    release: R,
}

/// Why a text or a byte string is no release. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseFormatError {
    Text,
    Bounds(BoundsError),
    Release,
    Version(u8),
    Corrupt,
}

impl fmt::Display for ReleaseFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReleaseFormatError::Text => write!(f, "it is not the JSON of a release"),
            ReleaseFormatError::Bounds(error) => error.fmt(f),
            ReleaseFormatError::Release => write!(f, "the release does not fit its bounds"),
            ReleaseFormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            ReleaseFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for ReleaseFormatError {}

impl DpRanges {
    /// Adds the noise of a plan, which is one for as many bins as `truth` has.
    pub fn release<R: RandomWords + ?Sized>(
        plan: &RangePlan,
        truth: &Bins,
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> DpRanges {
        let release = plan.release(truth.counts(), words, checkpoint);
        DpRanges { bounds: truth.bounds(), release }
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The sum and the variance of any range, by the positions of the bins.
    pub fn answers(&self) -> Answers {
        self.release.answers()
    }

    fn stored(&self) -> Stored<&Release> {
        Stored { lo: self.bounds.lo(), hi: self.bounds.hi(), release: &self.release }
    }

    fn checked(stored: Stored<Release>) -> Result<DpRanges, ReleaseFormatError> {
        let bounds = Bounds::new(stored.lo, stored.hi).map_err(ReleaseFormatError::Bounds)?;
        if stored.release.bins() != bounds.bins() {
            return Err(ReleaseFormatError::Release);
        }
        Ok(DpRanges { bounds, release: stored.release })
    }

    pub fn parse(text: &str) -> Result<DpRanges, ReleaseFormatError> {
        DpRanges::checked(serde_json::from_str(text).map_err(|_| ReleaseFormatError::Text)?)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // writing numbers into a growing vector cannot fail
        postcard::to_extend(&self.stored(), vec![VERSION]).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<DpRanges, ReleaseFormatError> {
        let (version, body) = bytes.split_first().ok_or(ReleaseFormatError::Corrupt)?;
        if *version != VERSION {
            return Err(ReleaseFormatError::Version(*version));
        }
        match postcard::take_from_bytes(body) {
            Ok((stored, [])) => DpRanges::checked(stored),
            _ => Err(ReleaseFormatError::Corrupt),
        }
    }

    /// `{"lo": 0, "hi": 100, "release": ...}`
    pub fn to_json(&self) -> serde_json::Value {
        // numbers and words alone: nothing that JSON could not hold
        serde_json::to_value(self.stored()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::words_from_system;
    use proptest::prelude::*;

    fn released(bins: usize, method: &str) -> DpRanges {
        let plan = RangePlan::new(bins, 0.5, 1e-6, method, 1).unwrap();
        let truth = Bins::empty(Bounds::new(-3, bins as i64 - 3).unwrap());
        DpRanges::release(&plan, &truth, &mut words_from_system().unwrap(), &mut || ())
    }

    #[test]
    fn all_forms_read_back() {
        for bins in [1, 2, 37] {
            let value = released(bins, "flat");
            assert_eq!(DpRanges::parse(&value.to_json().to_string()), Ok(value.clone()));
            assert_eq!(DpRanges::from_bytes(&value.to_bytes()), Ok(value));
        }
    }

    #[test]
    fn what_is_no_release_is_refused() {
        let value = released(5, "flat");
        let mut other = value.to_json();
        other["hi"] = 7.into();
        assert_eq!(DpRanges::parse(&other.to_string()), Err(ReleaseFormatError::Release));
        other["hi"] = (-7).into();
        assert_eq!(
            DpRanges::parse(&other.to_string()),
            Err(ReleaseFormatError::Bounds(BoundsError::Empty { lo: -3, hi: -7 }))
        );
        for text in ["", "{}", "[0,5){}", "{\"lo\": 0}"] {
            assert_eq!(DpRanges::parse(text), Err(ReleaseFormatError::Text));
        }
        let bytes = value.to_bytes();
        assert_eq!(DpRanges::from_bytes(&[]), Err(ReleaseFormatError::Corrupt));
        assert_eq!(DpRanges::from_bytes(&[7]), Err(ReleaseFormatError::Version(7)));
        assert_eq!(
            DpRanges::from_bytes(&[bytes, vec![0]].concat()),
            Err(ReleaseFormatError::Corrupt)
        );
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
        ) {
            let mut stored = released(9, "flat").to_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            stored.truncate(stored.len() - cut);
            if let Ok(value) = DpRanges::from_bytes(&stored) {
                let answers = value.answers();
                prop_assert!(answers.variance(0..value.bounds().bins()) >= 0.0 || byte > 0);
            }
        }
    }
}
