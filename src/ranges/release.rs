//! What is released: all that answers and their variances follow from.

use super::adaptive::counted::variance_of_count;
use super::adaptive::estimate::AdaptiveEstimate;
use super::buckets::{BEYOND_RELEASES, Buckets, Shares, Uneven};
use super::combined::{CombinedMechanism, Part};
use super::limits::MAX_AWARE_BINS;
use super::measurements::noisy_difference;
use super::mechanism::{RangeMechanism, Split};
use super::parameters::RangeParameters;
use crate::noise::RandomWords;
use crate::work::{Paced, poll};
use serde::de::DeserializeOwned;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;

/// The first byte of every stored release; a new layout takes the next number.
const VERSION: u8 = 1;
/// Of one of buckets.
const BUCKETS_VERSION: u8 = 2;
/// Of one that was combined from several measurements.
const COMBINED_VERSION: u8 = 3;

/// Of a hierarchy, with the root: so many measurements are combined at most.
const MOST_LEVELS: usize = 10;

/// Answers to any ranges, each with its variance.
pub struct RangeRelease {
    /// what the estimates were made of: one measurement, or several by one strategy
    parts: Vec<Part>,
    /// what stands in place of the bins, of a method that sees the data
    buckets: Option<Buckets>,
    /// of a stored release whose strategy takes work to set up, only once it is asked for
    mechanism: OnceCell<CombinedMechanism>,
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
                write!(
                    f,
                    "format version {version} is not known, expected {VERSION} to \
                     {COMBINED_VERSION}"
                )
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
        let mechanism = OnceCell::from(CombinedMechanism::from(mechanism));
        RangeRelease { parts: vec![Part::whole(parameters)], buckets: None, mechanism, values }
    }

    /// What was measured of the bins is of buckets of them.
    pub(super) fn over(self, buckets: Buckets) -> RangeRelease {
        assert_eq!(buckets.count(), self.measured_bins(), "other buckets");
        RangeRelease { buckets: Some(buckets), ..self }
    }

    /// Of the strategy, over bins or over buckets, with the noise of each measurement.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many the strategy is over, bins or buckets.
    fn measured_bins(&self) -> usize {
        self.parts[0].parameters.bins()
    }

    /// What the mechanism made of its noisy measurements.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.buckets.as_ref().map_or(self.measured_bins(), Buckets::bins)
    }

    /// The estimate of the sum over the part of the range that lies within 0 .. N; 0 if there is
    /// none. Unbiased, but for a range that has a part of a bucket.
    pub fn sum(&self, range: Range<usize>) -> f64 {
        let range = self.inside(range);
        let Some(buckets) = &self.buckets else { return self.measured(range) };
        let up_to = |end| buckets.sum_up_to(end, |bucket| self.measured(0..bucket));
        up_to(range.end) - up_to(range.start)
    }

    /// Of what was measured, bins or buckets.
    fn measured(&self, range: Range<usize>) -> f64 {
        match self.mechanism.get() {
            Some(mechanism) => mechanism.answer(&self.values, range),
            // those that are set up late answer by differences
            None => self.values[range.end] - self.values[range.start],
        }
    }

    /// The variance of [`RangeRelease::sum`], of the noise and of what the range is off by as it has
    /// parts of buckets; None if the release is a forged one, with noise that cannot be sampled. The
    /// first call can take seconds where the method is a matrix mechanism over a million bins.
    pub fn variance(&self, range: Range<usize>) -> Option<f64> {
        let (range, mechanism) = (self.inside(range), self.mechanism()?);
        let Some(buckets) = &self.buckets else { return Some(mechanism.variance(range)) };
        let noise = buckets.variance(&range, |buckets| mechanism.variance(buckets));
        Some(noise + buckets.bias(&range))
    }

    /// The variances of the sums over each single bin; None if the release is a forged one, with
    /// noise that cannot be sampled.
    pub fn variances_of_bins(&self) -> Option<Vec<f64>> {
        let variances = self.mechanism()?.variances_of_blocks(1);
        let Some(buckets) = &self.buckets else { return Some(variances) };
        Some(buckets.variances_of_bins(&variances))
    }

    /// Estimates that see the shape, of bins as wide as that; where buckets were measured, of the
    /// buckets. None if the method's answers do not add up, or the release is a forged one, with
    /// noise that cannot be sampled or values beyond floating point.
    ///
    /// # Panics
    /// If there are not as many widths as bins.
    pub fn adaptive(&self, widths: &[f64]) -> Option<AdaptiveAnswers<'_>> {
        assert_eq!(widths.len(), self.bins());
        let of_buckets: Vec<f64>;
        let widths = match &self.buckets {
            None => widths,
            Some(buckets) => {
                of_buckets = buckets.totals(widths);
                &of_buckets
            }
        };
        let measured = 0..self.measured_bins();
        let unbiased: Vec<f64> = measured.map(|bin| self.measured(bin..bin + 1)).collect();
        let estimate = AdaptiveEstimate::new(self.mechanism()?, &unbiased, widths)?;
        Some(AdaptiveAnswers { estimate, buckets: self.buckets.as_ref() })
    }

    /// See [`RangeMechanism::splits`]; None if the release is a forged one, with noise that cannot
    /// be sampled.
    pub(super) fn splits(&self) -> Option<Vec<Split>> {
        let mechanism = self.mechanism()?;
        let splits = mechanism.splits();
        let Some(buckets) = &self.buckets else { return Some(splits) };
        let of_buckets = mechanism.variances_of_blocks(1);
        let between = |(bin, (bucket, share)): (usize, (usize, f64))| match of_buckets.get(bucket) {
            Some(variance) if share > 0.0 => {
                let split = splits[bucket].between(splits[bucket + 1], *variance, share);
                split.off_by(buckets.bias(&(0..bin)))
            }
            _ => splits[bucket],
        };
        Some(buckets.places().enumerate().map(between).collect())
    }

    /// What has made it; None if it is a forged one, with noise that cannot be sampled.
    pub fn mechanism(&self) -> Option<&CombinedMechanism> {
        if self.mechanism.get().is_none() {
            let mechanism = CombinedMechanism::of(&self.parts).ok()?;
            self.mechanism.get_or_init(|| mechanism);
        }
        self.mechanism.get()
    }

    fn inside(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.bins());
        range.start.min(end)..end
    }

    /// A version byte, then parameters, the lengths of the buckets if there are any, and values as
    /// postcard writes them; of one that was combined its parts for the parameters.
    pub fn to_bytes(&self) -> Vec<u8> {
        let RangeRelease { parts, values, .. } = self;
        // writing numbers into a growing vector cannot fail
        let bytes = match (self.whole(), self.stored_buckets()) {
            (None, _) => postcard::to_extend(&(parts, values), vec![COMBINED_VERSION]),
            (Some(parameters), None) => postcard::to_extend(&(parameters, values), vec![VERSION]),
            (Some(parameters), Some((lengths, uneven))) => {
                let release = (parameters, lengths, uneven, values);
                postcard::to_extend(&release, vec![BUCKETS_VERSION])
            }
        };
        bytes.unwrap_or_default()
    }

    /// The parameters of the one measurement, if nothing was combined.
    pub(super) fn whole(&self) -> Option<&RangeParameters> {
        match self.parts.as_slice() {
            [Part { weight: 1.0, parameters }] => Some(parameters),
            _ => None,
        }
    }

    /// The lengths of the buckets, and how uneven they are.
    pub(super) fn stored_buckets(&self) -> Option<(Vec<u32>, &[Uneven])> {
        let buckets = self.buckets.as_ref()?;
        Some((buckets.lengths().map(|length| length as u32).collect(), buckets.uneven()))
    }

    /// Reads what [`RangeRelease::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<RangeRelease, RangeFormatError> {
        let (version, body) = bytes.split_first().ok_or(RangeFormatError::Corrupt)?;
        let corrupt = RangeFormatError::Corrupt;
        let (parts, buckets, values) = match *version {
            VERSION => {
                let (parameters, values) = read_whole(body).ok_or(corrupt)?;
                (vec![Part::whole(parameters)], None, values)
            }
            BUCKETS_VERSION => {
                let (parameters, lengths, uneven, values) = read_whole(body).ok_or(corrupt)?;
                (vec![Part::whole(parameters)], Some((lengths, uneven)), values)
            }
            COMBINED_VERSION => {
                let (parts, values) = read_whole(body).ok_or(corrupt)?;
                (parts, None, values)
            }
            other => return Err(RangeFormatError::Version(other)),
        };
        RangeRelease::from_parts(parts, buckets, values).ok_or(corrupt)
    }

    /// None if the parameters are nobody's, or not those of so many values, of such buckets, or of
    /// one strategy. `buckets`: their lengths, and how uneven they are.
    pub(super) fn from_parts(
        parts: Vec<Part>,
        buckets: Option<(Vec<u32>, Vec<Uneven>)>,
        values: Vec<f64>,
    ) -> Option<RangeRelease> {
        // before the mechanism is built, lest a few bytes cost the work of millions of bins
        let Part { parameters, .. } = parts.first()?;
        let fit = parts.len() <= MOST_LEVELS
            && parts.iter().all(|part| part.fits(parameters))
            && values.len() == parameters.reconstruction_length()
            && values.iter().all(|value| value.is_finite());
        if !fit {
            return None;
        }
        let takes_work = parameters.takes_work();
        let buckets = match buckets {
            None => None,
            Some((lengths, uneven)) => {
                // strategies over buckets have Laplace noise, and are set up at once
                let fit = lengths.len() == parameters.bins()
                    && (parameters.method().adds_up() && !takes_work)
                    && parameters.calibration.epsilons().is_some()
                    && values.iter().all(|value| value.abs() < BEYOND_RELEASES);
                Some(Buckets::of_lengths(&lengths, uneven, MAX_AWARE_BINS).filter(|_| fit)?)
            }
        };
        let mechanism = match takes_work {
            true => OnceCell::new(),
            false => CombinedMechanism::of(&parts).ok()?.into(),
        };
        Some(RangeRelease { parts, buckets, mechanism, values })
    }
}

/// What postcard has written, and nothing after it.
fn read_whole<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let (read, rest) = postcard::take_from_bytes(body).ok()?;
    rest.is_empty().then_some(read)
}

/// Answers by an [`AdaptiveEstimate`] of bins, or of buckets, within which rows are spread evenly.
pub struct AdaptiveAnswers<'a> {
    estimate: AdaptiveEstimate<'a>,
    buckets: Option<&'a Buckets>,
}

impl AdaptiveAnswers<'_> {
    /// N.
    pub fn bins(&self) -> usize {
        self.buckets.map_or(self.estimate.bins(), Buckets::bins)
    }

    /// Of a range within 0 .. N.
    pub fn sum(&self, range: Range<usize>) -> f64 {
        let Some(buckets) = self.buckets else { return self.estimate.sum(range) };
        let up_to = |end| buckets.sum_up_to(end, |bucket| self.estimate.sum(0..bucket));
        up_to(range.end) - up_to(range.start)
    }

    /// Of the truth of a range within 0 .. N, after all that was measured.
    pub fn variance(&self, range: Range<usize>) -> f64 {
        let variance = match self.buckets {
            None => self.estimate.variance(range.clone()),
            Some(buckets) => {
                let measured = match buckets.shares(&range) {
                    Shares::Whole(buckets) => self.estimate.variance(buckets),
                    Shares::Parts(shares) => self.estimate.variance_of(&shares),
                };
                measured + buckets.bias(&range)
            }
        };
        variance_of_count(self.sum(range), variance)
    }

    /// Of every bin.
    pub fn variances_of_bins(&self) -> Vec<f64> {
        let of_measured = |place: usize| {
            poll();
            self.estimate.variance(place..place + 1)
        };
        let measured: Vec<f64> = (0..self.estimate.bins()).map(of_measured).collect();
        let variances = match self.buckets {
            None => measured,
            Some(buckets) => buckets.variances_of_bins(&measured),
        };
        let of_bin = |(bin, variance)| variance_of_count(self.sum(bin..bin + 1), variance);
        variances.into_iter().paced().enumerate().map(of_bin).collect()
    }
}
