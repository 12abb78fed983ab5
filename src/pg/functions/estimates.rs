//! What answers are made of what was measured.

use crate::pg::errors::{Result, error, invalid, required};
use crate::pg::values::amounts::Amounts;
use crate::ranges::{AdaptiveAnswers, MAX_ADAPTIVE_BINS, RangeRelease, ReleasePlan};
use crate::work::{Paced, poll};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::panic::ErrorReport;
use std::ops::Range;

/// Of a column's ranges, times the cells between their ends: some seconds with the slowest method.
const MOST_AT_ONCE: usize = 1 << 22;

/// The argument `estimate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Estimate {
    Unbiased,
    Adaptive,
}

impl Estimate {
    /// Error: there is no such estimate.
    pub(super) fn parse(word: Option<&str>) -> Result<Estimate> {
        match required(word, "estimate")? {
            "unbiased" => Ok(Estimate::Unbiased),
            "adaptive" => Ok(Estimate::Adaptive),
            other => Err(invalid(
                format!("estimate must be unbiased or adaptive, got \"{other:.40}\""),
                "unbiased answers with the noise alone; adaptive learns from the release where \
                 neighbouring bins hold alike.",
            )),
        }
    }

    /// Error: sums that can be negative have no shape to be seen.
    pub(super) fn check_amounts(self, amounts: Option<&Amounts>) -> Result<()> {
        if self == Estimate::Unbiased || !amounts.is_some_and(Amounts::can_be_negative) {
            return Ok(());
        }
        Err(invalid(
            "estimate adaptive has no meaning for amounts below 0",
            "Sum the magnitudes of negative amounts apart, or take estimate => 'unbiased'.",
        ))
    }

    /// Errors: so many bins have no such estimate, or answers that do not add up.
    fn check(self, bins: usize, adds_up: bool) -> Result<()> {
        if self == Estimate::Unbiased {
            return Ok(());
        }
        if bins > MAX_ADAPTIVE_BINS {
            return Err(invalid(
                format!("estimate adaptive takes up to {MAX_ADAPTIVE_BINS} bins, got {bins}"),
                "Count in wider bins, or take estimate => 'unbiased'.",
            ));
        }
        if adds_up {
            return Ok(());
        }
        Err(invalid(
            "estimate adaptive needs a method whose answers add up, which those of tree do not",
            "Release with another method, such as tree_consistent or auto, or take estimate => \
             'unbiased'.",
        ))
    }

    /// Errors: those of [`Estimate::check`]; so many answers would take too long after the charge.
    pub(super) fn check_answers(self, plan: &ReleasePlan, ranges: usize) -> Result<()> {
        let cells = plan.bins();
        self.check(cells, plan.adds_up())?;
        if self == Estimate::Unbiased || ranges.saturating_mul(cells) <= MOST_AT_ONCE {
            return Ok(());
        }
        let message = format!(
            "estimate adaptive answers at most {MOST_AT_ONCE} ranges times cells at once, got \
             {ranges} ranges, which divide the bins into {cells} cells"
        );
        let hint = "Nothing was spent. Release the bins with bins_agg and dp_range_release, and ask \
                    of that as often as you like.";
        Err(error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message).set_hint(hint))
    }

    /// `widths`: how many bins each of the release's stands for. None if no release has such noise,
    /// or it was not checked.
    pub(super) fn of(
        self,
        release: &RangeRelease,
        widths: impl FnOnce() -> Vec<f64>,
    ) -> Option<Answers<'_>> {
        match self {
            Estimate::Unbiased => Some(Answers::Unbiased(release)),
            Estimate::Adaptive => Some(Answers::Adaptive(release.adaptive(&widths())?)),
        }
    }

    /// Of a stored release, with an error if it is a forged one.
    pub(super) fn of_bins(self, release: &RangeRelease) -> Result<Answers<'_>> {
        let mechanism = release.mechanism().ok_or_else(forged)?;
        self.check(mechanism.bins(), mechanism.adds_up())?;
        self.of(release, || vec![1.0; release.bins()]).ok_or_else(forged)
    }
}

pub(super) fn forged() -> ErrorReport {
    invalid(
        "r: no release has noise of this scale",
        "Only a value that dp_range_release made has answers.",
    )
}

/// What has answers.
pub(super) enum Answers<'a> {
    Unbiased(&'a RangeRelease),
    Adaptive(AdaptiveAnswers<'a>),
}

impl Answers<'_> {
    /// To a range of bins by their positions, with its standard deviation. None if no release has
    /// such noise.
    pub(super) fn answer(&self, bins: Range<usize>) -> Option<(f64, f64)> {
        poll();
        let variance = match self {
            Answers::Unbiased(release) => release.variance(bins.clone())?,
            Answers::Adaptive(estimate) => estimate.variance(bins.clone()),
        };
        Some((self.sum(bins), variance.sqrt()))
    }

    /// To every bin.
    pub(super) fn of_bins(&self) -> Option<Vec<(f64, f64)>> {
        let variances = match self {
            Answers::Unbiased(release) => release.variances_of_bins()?,
            Answers::Adaptive(estimate) => estimate.variances_of_bins(),
        };
        let answer = |(bin, variance): (usize, f64)| (self.sum(bin..bin + 1), variance.sqrt());
        Some(variances.into_iter().paced().enumerate().map(answer).collect())
    }

    fn sum(&self, bins: Range<usize>) -> f64 {
        match self {
            Answers::Unbiased(release) => release.sum(bins),
            Answers::Adaptive(estimate) => estimate.sum(bins),
        }
    }
}
