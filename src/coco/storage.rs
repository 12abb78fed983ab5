//! Text and binary forms of histograms.
//!
//! Text: `{1:2, 2:1, 4:1}`, sizes ascending. Binary: a version byte, then the runs as postcard
//! writes them (a length and pairs of variable-length integers).

use super::histogram::{Coco, LARGEST, MAX_DISTINCT_SIZES, Run, Tally};
use crate::work::Paced;
use std::fmt::{self, Write};

/// The first byte of every stored histogram; a new layout takes the next number.
const VERSION: u8 = 1;

/// Why a text or a byte string is no histogram. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CocoFormatError {
    Braces,
    Pair,
    Number,
    Overflow,
    TooLong,
    Version(u8),
    Corrupt,
}

impl fmt::Display for CocoFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CocoFormatError::Braces => write!(f, "the histogram must stand in braces"),
            CocoFormatError::Pair => write!(f, "each entry must be size:groups"),
            CocoFormatError::Number => {
                write!(f, "sizes and numbers of groups must be integers from 0 to {LARGEST}")
            }
            CocoFormatError::Overflow => write!(f, "there are more than {LARGEST} groups"),
            CocoFormatError::TooLong => {
                write!(f, "there are more than {MAX_DISTINCT_SIZES} different sizes")
            }
            CocoFormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            CocoFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for CocoFormatError {}

impl Coco {
    /// Reads `{size:groups, ...}`, in any order; entries of one size add up.
    pub fn parse(text: &str) -> Result<Coco, CocoFormatError> {
        let inner = text
            .trim()
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .ok_or(CocoFormatError::Braces)?;
        let mut tally = Tally::default();
        let mut total = 0u64;
        if !inner.trim().is_empty() {
            for entry in inner.split(',').paced() {
                let (size, groups) = entry.split_once(':').ok_or(CocoFormatError::Pair)?;
                let (size, groups) = (parse_number(size)?, parse_number(groups)?);
                total = total.checked_add(groups).ok_or(CocoFormatError::Overflow)?;
                tally.add(size, groups);
                if tally.distinct_sizes() > MAX_DISTINCT_SIZES {
                    return Err(CocoFormatError::TooLong);
                }
            }
        }
        if total > LARGEST { Err(CocoFormatError::Overflow) } else { Ok(tally.histogram()) }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // most runs take no more than three bytes
        let mut bytes = Vec::with_capacity(4 + 3 * self.runs().len());
        bytes.push(VERSION);
        // writing integers into a growing vector cannot fail
        postcard::to_extend(self.runs(), bytes).unwrap_or_default()
    }

    /// Reads what [`Coco::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<Coco, CocoFormatError> {
        let (version, body) = bytes.split_first().ok_or(CocoFormatError::Corrupt)?;
        if *version != VERSION {
            return Err(CocoFormatError::Version(*version));
        }
        match take_histogram(body)? {
            (histogram, []) => Ok(histogram),
            _ => Err(CocoFormatError::Corrupt),
        }
    }

    /// What [`Coco::parse`] reads.
    pub fn to_text(&self) -> String {
        let entry = |text: &mut String, run: &Run| write!(text, "{}:{}", run.size, run.groups);
        self.in_braces(", ", entry)
    }

    /// `{"1":2,"2":1,"4":1}`.
    pub fn to_json(&self) -> String {
        let entry = |text: &mut String, run: &Run| write!(text, "\"{}\":{}", run.size, run.groups);
        self.in_braces(",", entry)
    }

    fn in_braces(
        &self,
        separator: &str,
        entry: impl Fn(&mut String, &Run) -> fmt::Result,
    ) -> String {
        let mut text = String::from("{");
        for (i, run) in self.runs().iter().paced().enumerate() {
            text.push_str(if i == 0 { "" } else { separator });
            let _ = entry(&mut text, run); // writing into a string cannot fail
        }
        text.push('}');
        text
    }
}

/// Reads runs as postcard writes them; gives back the bytes that follow them.
pub(crate) fn take_histogram(bytes: &[u8]) -> Result<(Coco, &[u8]), CocoFormatError> {
    // the length comes first; nothing is allocated for one that cannot be
    let (length, mut rest) = match postcard::take_from_bytes::<usize>(bytes) {
        Ok((length, _)) if length > MAX_DISTINCT_SIZES => return Err(CocoFormatError::TooLong),
        Ok(taken) => taken,
        Err(_) => return Err(CocoFormatError::Corrupt),
    };
    let mut runs = Vec::with_capacity(length.min(rest.len()));
    for _ in (0..length).paced() {
        let run: Run;
        (run, rest) = postcard::take_from_bytes(rest).map_err(|_| CocoFormatError::Corrupt)?;
        runs.push(run);
    }
    let histogram = Coco::from_sorted_runs(runs).ok_or(CocoFormatError::Corrupt)?;
    Ok((histogram, rest))
}

fn parse_number(text: &str) -> Result<u64, CocoFormatError> {
    match text.trim().parse::<u64>() {
        Ok(number) if number <= LARGEST => Ok(number),
        _ => Err(CocoFormatError::Number),
    }
}

impl fmt::Display for Coco {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::super::of_sizes;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_forms_read_back(sizes in prop::collection::vec(0u64..=LARGEST, 0..20)) {
            let histogram = of_sizes(&sizes);
            prop_assert_eq!(&Coco::parse(&histogram.to_string()).unwrap(), &histogram);
            prop_assert_eq!(&Coco::from_bytes(&histogram.to_bytes()).unwrap(), &histogram);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_valid_histogram(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut stored = vec![VERSION];
            stored.extend(&bytes);
            if let Ok(histogram) = Coco::from_bytes(&stored) {
                prop_assert_eq!(histogram.to_bytes(), stored);
            }
        }
    }

    #[test]
    fn the_text_form_is_the_documented_one() {
        assert_eq!(of_sizes(&[4, 2, 1, 1]).to_string(), "{1:2, 2:1, 4:1}");
        assert_eq!(Coco::default().to_string(), "{}");
        assert_eq!(Coco::parse(" { 4:1,1 : 2, 1:1, 9:0 } ").unwrap().to_string(), "{1:3, 4:1}");
        assert_eq!(of_sizes(&[1, 1, 9]).to_json(), r#"{"1":2,"9":1}"#);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for (text, error) in [
            ("", CocoFormatError::Braces),
            ("{1:1", CocoFormatError::Braces),
            ("{1}", CocoFormatError::Pair),
            ("{1:1,}", CocoFormatError::Pair),
            ("{-1:1}", CocoFormatError::Number),
            ("{1:x}", CocoFormatError::Number),
            ("{1:9223372036854775808}", CocoFormatError::Number),
            ("{1:9223372036854775807, 2:1}", CocoFormatError::Overflow),
        ] {
            assert_eq!(Coco::parse(text), Err(error), "{text}");
        }
        assert_eq!(Coco::from_bytes(&[]), Err(CocoFormatError::Corrupt));
        assert_eq!(Coco::from_bytes(&[2, 0]), Err(CocoFormatError::Version(2)));
        assert_eq!(Coco::from_bytes(&[1, 0, 0]), Err(CocoFormatError::Corrupt));
        assert_eq!(Coco::from_bytes(&[1, 255, 255, 255, 255, 15]), Err(CocoFormatError::TooLong));
    }
}
