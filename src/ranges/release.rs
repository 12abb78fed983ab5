//! What is released: all that answers and their variances follow from.

use super::adaptive::estimate::AdaptiveEstimate;
use super::measurements::noisy_difference;
use super::mechanism::{RangeMechanism, Split};
use super::parameters::{Parameters, RangeParameters};
use crate::noise::RandomWords;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;

/// The first byte of every stored release; a new layout takes the next number.
const VERSION: u8 = 1;

/// Answers to any ranges, each with its variance.
pub struct RangeRelease {
    parameters: RangeParameters,
    /// of a stored release whose strategy takes work to set up, only once it is asked for
    mechanism: OnceCell<Box<dyn RangeMechanism>>,
    /// the mechanism's reconstruction
    values: Vec<f64>,
}

/// Why a byte string is no release. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeFormatError {
    Version(u8),
    Corrupt,
}

impl fmt::Display for RangeFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeFormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            RangeFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for RangeFormatError {}

impl RangeRelease {
    /// Measures the counts above, less those below, adds noise, and reconstructs.
    pub(super) fn draw<R: RandomWords + ?Sized>(
        parameters: RangeParameters,
        mechanism: Box<dyn RangeMechanism>,
        above: &[u64],
        below: Option<&[u64]>,
        words: &mut R,
    ) -> RangeRelease {
        let values = mechanism.reconstruct(&noisy_difference(&*mechanism, above, below, words));
        RangeRelease { parameters, mechanism: mechanism.into(), values }
    }

    pub fn parameters(&self) -> &RangeParameters {
        &self.parameters
    }

    /// What the mechanism made of its noisy measurements.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.parameters.bins()
    }

    /// The unbiased estimate of the sum over the part of the range that lies within 0 .. N; 0 if
    /// there is none.
    pub fn sum(&self, range: Range<usize>) -> f64 {
        let range = self.inside(range);
        match self.mechanism.get() {
            Some(mechanism) => mechanism.answer(&self.values, range),
            // those that are set up late answer by differences
            None => self.values[range.end] - self.values[range.start],
        }
    }

    /// The variance of [`RangeRelease::sum`]; None if the release is a forged one, with noise that
    /// cannot be sampled. The first call can take seconds where the method is a matrix mechanism
    /// over a million bins.
    pub fn variance(&self, range: Range<usize>) -> Option<f64> {
        Some(self.mechanism()?.variance(self.inside(range)))
    }

    /// The variances of the sums over each single bin; None if the release is a forged one, with
    /// noise that cannot be sampled.
    pub fn variances_of_bins(&self) -> Option<Vec<f64>> {
        Some(self.mechanism()?.variances_of_blocks(1))
    }

    /// Estimates that see the shape, of bins as wide as that. None if the method's answers do not add
    /// up, or the release is a forged one, with noise that cannot be sampled or values beyond floating
    /// point.
    ///
    /// # Panics
    /// If there are not as many widths as bins.
    pub fn adaptive(&self, widths: &[f64]) -> Option<AdaptiveEstimate<'_>> {
        assert_eq!(widths.len(), self.bins());
        let unbiased: Vec<f64> = (0..self.bins()).map(|bin| self.sum(bin..bin + 1)).collect();
        AdaptiveEstimate::new(self.mechanism()?, &unbiased, widths)
    }

    /// See [`RangeMechanism::splits`]; None if the release is a forged one, with noise that cannot
    /// be sampled.
    pub(super) fn splits(&self) -> Option<Vec<Split>> {
        Some(self.mechanism()?.splits())
    }

    /// What has made it; None if it is a forged one, with noise that cannot be sampled.
    pub fn mechanism(&self) -> Option<&dyn RangeMechanism> {
        if self.mechanism.get().is_none() {
            let mechanism = self.parameters.mechanism().ok()?;
            self.mechanism.get_or_init(|| mechanism);
        }
        self.mechanism.get().map(|mechanism| mechanism.as_ref())
    }

    fn inside(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.bins());
        range.start.min(end)..end
    }

    /// A version byte, then parameters and values as postcard writes them.
    pub fn to_bytes(&self) -> Vec<u8> {
        // writing numbers into a growing vector cannot fail
        postcard::to_extend(&(&self.parameters, &self.values), vec![VERSION]).unwrap_or_default()
    }

    /// Reads what [`RangeRelease::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<RangeRelease, RangeFormatError> {
        let (version, body) = bytes.split_first().ok_or(RangeFormatError::Corrupt)?;
        if *version != VERSION {
            return Err(RangeFormatError::Version(*version));
        }
        let corrupt = RangeFormatError::Corrupt;
        let ((parameters, values), rest) =
            postcard::take_from_bytes::<(RangeParameters, Vec<f64>)>(body).map_err(|_| corrupt)?;
        if !rest.is_empty() {
            return Err(corrupt);
        }
        RangeRelease::from_parts(parameters, values).ok_or(corrupt)
    }

    /// None if the parameters are nobody's, or not those of so many values.
    pub(super) fn from_parts(
        parameters: RangeParameters,
        values: Vec<f64>,
    ) -> Option<RangeRelease> {
        // before the mechanism is built, lest a few bytes cost the work of millions of bins
        let fit = parameters.fit_together()
            && values.len() == parameters.reconstruction_length()
            && values.iter().all(|value| value.is_finite());
        if !fit {
            return None;
        }
        let mechanism = match parameters.takes_work() {
            true => OnceCell::new(),
            false => parameters.mechanism().ok()?.into(),
        };
        Some(RangeRelease { parameters, mechanism, values })
    }
}
