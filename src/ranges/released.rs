//! A release together with the bins that it is about, and how it is written.

use super::bins::bounds::BinBounds;
use super::buckets::Uneven;
use super::combined::Part;
use super::json::read_json;
use super::parameters::RangeParameters;
use super::release::{RangeFormatError, RangeRelease};
use crate::work::Paced;
use serde::Deserialize;
use std::fmt::{self, Write};

/// A histogram over bins that satisfies differential privacy, safe to publish: every range sum can
/// be read off it, with its exact variance. Only a mechanism makes one.
pub struct DpRanges {
    bounds: BinBounds,
    release: RangeRelease,
}

/// Why a text or a byte string is no release. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DpRangesFormatError {
    Text,
    Bounds,
    Binary(RangeFormatError),
}

impl fmt::Display for DpRangesFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DpRangesFormatError::Text => write!(f, "it is not the JSON of a release"),
            DpRangesFormatError::Bounds => write!(f, "the release does not fit its bounds"),
            DpRangesFormatError::Binary(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DpRangesFormatError {}

/// The text form.
#[derive(Deserialize)]
struct Text {
    lo: i64,
    hi: i64,
    /// the lengths of what stands in place of the bins
    #[serde(default)]
    buckets: Option<Vec<u32>>,
    /// of those
    #[serde(default)]
    uneven: Vec<Uneven>,
    parameters: Measured,
    values: Vec<f64>,
}

/// What estimates were made of.
#[derive(Deserialize)]
#[serde(untagged)]
enum Measured {
    Once(RangeParameters),
    Combined(Vec<Part>),
}

impl DpRanges {
    pub(super) fn of(bounds: BinBounds, release: RangeRelease) -> DpRanges {
        DpRanges { bounds, release }
    }

    pub fn bounds(&self) -> BinBounds {
        self.bounds
    }

    /// Answers to any ranges, by the positions of the bins.
    pub fn release(&self) -> &RangeRelease {
        &self.release
    }

    fn new(lo: i64, hi: Option<i64>, release: RangeRelease) -> Option<DpRanges> {
        let end = lo.checked_add(release.bins() as i64)?;
        let bounds = BinBounds::new(lo, end).ok()?;
        hi.is_none_or(|hi| hi == end).then_some(DpRanges { bounds, release })
    }

    /// Reads what [`DpRanges::to_text`] gives.
    pub fn parse(text: &str) -> Result<DpRanges, DpRangesFormatError> {
        let Text { lo, hi, buckets, uneven, parameters, values } =
            read_json(text).ok_or(DpRangesFormatError::Text)?;
        let buckets = buckets.map(|lengths| (lengths, uneven));
        let parts = match parameters {
            Measured::Once(parameters) => vec![Part::whole(parameters)],
            Measured::Combined(parts) => parts,
        };
        let release = RangeRelease::from_parts(parts, buckets, values);
        release
            .and_then(|release| DpRanges::new(lo, Some(hi), release))
            .ok_or(DpRangesFormatError::Bounds)
    }

    /// The release's bytes, which begin with a version, and eight for `lo`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.release.to_bytes();
        bytes.extend(self.bounds.lo().to_le_bytes());
        bytes
    }

    /// Reads what [`DpRanges::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<DpRanges, DpRangesFormatError> {
        let corrupt = DpRangesFormatError::Binary(RangeFormatError::Corrupt);
        let (release, lo) = bytes.split_last_chunk().ok_or(corrupt)?;
        let release = RangeRelease::from_bytes(release).map_err(DpRangesFormatError::Binary)?;
        DpRanges::new(i64::from_le_bytes(*lo), None, release).ok_or(DpRangesFormatError::Bounds)
    }

    /// `{"hi":100,"lo":0,"parameters":{"method": ...},"values":[...]}`, and first
    /// `"buckets":[...],"uneven":[...]` if there are any. Of one that was combined, the parameters are a
    /// list of its parts: `[{"weight":0.2,"parameters":{...}}, ...]`.
    pub fn to_text(&self) -> String {
        let parameters = match self.release.whole() {
            Some(parameters) => serde_json::json!(parameters),
            None => serde_json::json!(self.release.parts()),
        };
        let (hi, lo) = (self.bounds.hi(), self.bounds.lo());
        let buckets = self.release.stored_buckets().map(|(lengths, uneven)| {
            let (lengths, uneven) = (serde_json::json!(lengths), serde_json::json!(uneven));
            format!("\"buckets\":{lengths},\"uneven\":{uneven},")
        });
        let buckets = buckets.unwrap_or_default();
        let mut text =
            format!("{{{buckets}\"hi\":{hi},\"lo\":{lo},\"parameters\":{parameters},\"values\":[");
        for (i, &value) in self.release.values().iter().paced().enumerate() {
            text.push_str(if i == 0 { "" } else { "," });
            let _ = write!(text, "{}", serde_json::json!(value)); // into a string: cannot fail
        }
        text + "]}"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Receipt;
    use crate::noise::words_from_system;
    use crate::ranges::{
        Bins, Calibration, MAX_CONVOLUTION_BINS, NoiseParameter, RangeMethod, ReleaseChoice,
        ReleasePlan, ReleaseRequest, TargetRanges, Workload,
    };
    use crate::work::watched;
    use proptest::prelude::*;

    fn plan(bins: usize, epsilon: f64, method: &str) -> ReleasePlan {
        let choice = ReleaseChoice::parse(method).unwrap();
        let (bins, widths, delta, rows_per_unit) = (bins as i64, None, 1e-6, 1);
        let negative = false;
        let request =
            ReleaseRequest { bins, widths, epsilon, delta, rows_per_unit, negative, choice };
        ReleasePlan::new(request).unwrap()
    }

    fn released(bins: usize, method: &str) -> DpRanges {
        let plan = plan(bins, 0.3, method);
        let truth = Bins::empty(BinBounds::new(-3, bins as i64 - 3).unwrap());
        Receipt::uncharged(plan).release_bins(&truth, &mut words_from_system().unwrap())
    }

    fn answers(value: &DpRanges) -> Vec<(f64, f64)> {
        let bins = value.bounds().bins();
        let estimate = &value.release;
        let ranges = (0..bins).map(|lo| lo..bins);
        ranges
            .map(|range| (estimate.sum(range.clone()), estimate.variance(range).unwrap_or(0.0)))
            .collect()
    }

    #[test]
    fn all_forms_read_back() {
        for (bins, method) in [
            (1, "flat"),
            (37, "tree:3"),
            (20, "gaussian"),
            (9, "wavelet"),
            (11, "cascade:3"),
            (12, "optimal"),
            (13, "minimax:prefix"),
            (200, "aware:nodes"),
            (150, "structure_first"),
        ] {
            let value = released(bins, method);
            let text = value.to_text();
            let parsed = DpRanges::parse(&text).unwrap();
            assert_eq!(parsed.to_text(), text);
            let stored = DpRanges::from_bytes(&value.to_bytes()).unwrap();
            assert_eq!(stored.to_bytes(), value.to_bytes());
            let truth = answers(&value);
            assert_eq!(answers(&parsed), truth);
            assert_eq!(answers(&stored), truth);
        }
    }

    #[test]
    fn what_is_no_release_is_refused() {
        let refused = |text: &str| DpRanges::parse(text).err().unwrap();
        let refused_bytes = |bytes: &[u8]| DpRanges::from_bytes(bytes).err().unwrap();
        let value = released(5, "flat");
        for (field, other) in
            [("hi", 7.into()), ("hi", (-7).into()), ("lo", i64::MAX.into()), ("values", [1].into())]
        {
            let mut json: serde_json::Value = serde_json::from_str(&value.to_text()).unwrap();
            json[field] = other;
            assert_eq!(refused(&json.to_string()), DpRangesFormatError::Bounds);
        }
        for text in ["", "{}", "[0,5){}", "{\"lo\": 0}"] {
            assert_eq!(refused(text), DpRangesFormatError::Text);
        }
        let corrupt = DpRangesFormatError::Binary(RangeFormatError::Corrupt);
        let bytes = value.to_bytes();
        for bytes in [vec![], vec![1; 8], [bytes.clone(), vec![0]].concat()] {
            assert_eq!(refused_bytes(&bytes), corrupt);
        }
        let version = DpRangesFormatError::Binary(RangeFormatError::Version(77));
        let other = [vec![77], bytes[1..].to_vec()].concat();
        assert_eq!(refused_bytes(&other), version);
        let at_the_end =
            [bytes[..bytes.len() - 8].to_vec(), i64::MAX.to_le_bytes().into()].concat();
        assert_eq!(refused_bytes(&at_the_end), DpRangesFormatError::Bounds);
    }

    /// A few bytes that ask for the strategy of a million bins.
    #[test]
    fn values_are_counted_before_anything_is_computed() {
        let ReleasePlan::Strategy(plan) = plan(MAX_CONVOLUTION_BINS, 1.0, "flat") else {
            panic!("a strategy");
        };
        let target = Some(TargetRanges::Workload(Workload::All));
        let flat = plan.parameters().clone();
        for method in [RangeMethod::Prefix, RangeMethod::Optimal, RangeMethod::Minimax] {
            let calibration = Calibration::together(0.1);
            let parameters =
                RangeParameters { method, calibration, target: target.clone(), ..flat.clone() };
            let values = vec![0.0; 3];
            let ask = &mut || panic!("work on {method:?}");
            assert!(
                watched(ask, || RangeRelease::from_parts(
                    vec![Part::whole(parameters)],
                    None,
                    values
                ))
                .is_none()
            );
        }
    }

    /// Of buckets: what is no release's.
    #[test]
    fn forged_buckets_are_refused() {
        let stored = |method: &str| {
            let release = released(200, method).release;
            let (lengths, uneven) = release.stored_buckets().unwrap();
            let parameters = release.parts()[0].parameters.clone();
            (parameters, lengths, uneven.to_vec(), release.values().to_vec())
        };
        let is_read = |parameters: RangeParameters, lengths, uneven, values| {
            let parts = vec![Part::whole(parameters)];
            RangeRelease::from_parts(parts, Some((lengths, uneven)), values).is_some()
        };
        for method in ["aware", "structure_first"] {
            let (parameters, lengths, uneven, values) = stored(method);
            let read = |uneven: &[(u32, f64)]| {
                let of =
                    |(length, square): &(u32, f64)| Uneven { length: *length, square: *square };
                let uneven = uneven.iter().map(of).collect();
                is_read(parameters.clone(), lengths.clone(), uneven, values.clone())
            };
            assert!(is_read(parameters.clone(), lengths.clone(), uneven, values.clone()));
            assert!(read(&[(4, 1.0), (16, 1e299)]) && read(&[(0, 1.0)]) && read(&[]));
            // sums without end; nodes that do not grow; whole buckets beside others
            for forged in [
                vec![(4, 1e300)],
                vec![(4, f64::INFINITY)],
                vec![(4, f64::NAN)],
                vec![(4, -1.0)],
                vec![(1, 1.0)],
                vec![(4, 1.0), (4, 1.0)],
                vec![(16, 1.0), (4, 1.0)],
                vec![(0, 1.0), (4, 1.0)],
                vec![(0, 1.0), (0, 1.0)],
                (2..20).map(|length| (length, 1.0)).collect(),
            ] {
                assert!(!read(&forged), "{forged:?}");
            }
            // Gaussian noise, of a strategy that has either kind
            let groups = parameters.calibration.groups().unwrap();
            let noise = NoiseParameter::Gaussian { sigma: 3.0 };
            let calibration = Calibration::per_group(vec![noise; groups]);
            let parameters = RangeParameters { calibration, ..parameters };
            let parts = vec![Part::whole(parameters.clone())];
            let bins = RangeRelease::from_parts(parts, None, values.clone());
            assert!(bins.is_some());
            assert!(!is_read(parameters, lengths, Vec::new(), values));
        }
    }

    /// A few bytes of a million bins in one bucket answer as they should, and no more bins are taken.
    #[test]
    fn large_buckets_are_read_up_to_the_limit() {
        let release = released(1, "flat").release;
        let (parts, values) = (release.parts().to_vec(), release.values().to_vec());
        let read = |length: u32| {
            let buckets = Some((vec![length], Vec::new()));
            RangeRelease::from_parts(parts.clone(), buckets, values.clone())
        };
        let release = read(1 << 20).unwrap();
        assert_eq!(release.bins(), 1 << 20);
        let (half, all) = (release.sum(0..1 << 19), release.sum(0..1 << 20));
        assert!((2.0 * half - all).abs() < 1e-9);
        assert!(read((1 << 20) + 1).is_none() && read(0).is_none() && read(u32::MAX).is_none());
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_an_error_or_answer(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
            (bins, method) in prop_oneof![Just((9, "tree_consistent:3")), Just((70, "aware"))],
        ) {
            let mut stored = released(bins, method).to_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            stored.truncate(stored.len() - cut);
            if let Ok(value) = DpRanges::from_bytes(&stored) {
                prop_assert!(answers(&value).iter().all(|(_, variance)| *variance >= 0.0));
            }
        }
    }
}
