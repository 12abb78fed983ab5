//! What a release's answers and their noise follow from: one mechanism, or several whose estimates
//! were combined.

use super::mechanism::{RangeMechanism, Split};
use super::parameters::{Parameters, RangeParameters};
use crate::noise::ScaleError;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What estimates were made of: measurements by one strategy, each with noise of its own, which the
/// squares of the coefficients that they have in the estimates tell of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The sum of these squares.
    pub(super) weight: f64,
    pub(super) parameters: RangeParameters,
}

impl Part {
    /// All there is.
    pub(super) fn whole(parameters: RangeParameters) -> Part {
        Part { weight: 1.0, parameters }
    }

    /// Whether it can be combined with measurements of these parameters: it is by the same strategy,
    /// whatever its noise.
    pub(super) fn fits(&self, other: &RangeParameters) -> bool {
        let Part { weight, parameters } = self;
        let calibration = other.calibration.clone();
        (weight.is_finite() && *weight >= 0.0)
            && parameters.fit_together()
            && RangeParameters { calibration, ..parameters.clone() } == *other
    }
}

/// Independent estimates of the same bins by one strategy over them, times coefficients: what is
/// quadratic in their noise adds up, with the squares as weights.
pub struct CombinedMechanism {
    /// At least one.
    parts: Vec<(f64, Box<dyn RangeMechanism>)>,
}

impl From<Box<dyn RangeMechanism>> for CombinedMechanism {
    fn from(mechanism: Box<dyn RangeMechanism>) -> CombinedMechanism {
        CombinedMechanism { parts: vec![(1.0, mechanism)] }
    }
}

impl CombinedMechanism {
    /// Error: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there are no parts, or they do not fit together.
    pub(super) fn of(parts: &[Part]) -> Result<CombinedMechanism, ScaleError> {
        assert!(!parts.is_empty(), "estimates of nothing");
        let part = |part: &Part| Ok((part.weight, part.parameters.mechanism()?));
        Ok(CombinedMechanism { parts: parts.iter().map(part).collect::<Result<_, ScaleError>>()? })
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.strategy().bins()
    }

    /// All parts make the same answers of estimates.
    fn strategy(&self) -> &dyn RangeMechanism {
        self.parts[0].1.as_ref()
    }

    /// See [`RangeMechanism::answer`].
    pub(super) fn answer(&self, reconstruction: &[f64], range: Range<usize>) -> f64 {
        self.strategy().answer(reconstruction, range)
    }

    /// See [`RangeMechanism::adds_up`].
    pub fn adds_up(&self) -> bool {
        self.strategy().adds_up()
    }

    /// See [`RangeMechanism::variance`].
    pub fn variance(&self, range: Range<usize>) -> f64 {
        self.parts.iter().map(|(weight, part)| weight * part.variance(range.clone())).sum()
    }

    /// See [`RangeMechanism::variances_of_blocks`].
    pub(super) fn variances_of_blocks(&self, width: usize) -> Vec<f64> {
        let of_parts = self.parts.iter().map(|(weight, part)| {
            let variances = part.variances_of_blocks(width).into_iter();
            variances.map(|variance| weight * variance).collect()
        });
        added(of_parts)
    }

    /// See [`RangeMechanism::covariances`].
    pub(super) fn covariances(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let of_parts = self.parts.iter().map(|(weight, part)| {
            let covariances = part.covariances(weights)?.into_iter();
            Some(covariances.map(|covariance| weight * covariance).collect())
        });
        of_parts.collect::<Option<Vec<_>>>().map(|of_parts| added(of_parts.into_iter()))
    }

    /// See [`RangeMechanism::splits`].
    pub(super) fn splits(&self) -> Vec<Split> {
        let of_parts = self.parts.iter().map(|(weight, part)| {
            part.splits().into_iter().map(|split| split.times(*weight)).collect()
        });
        of_parts
            .reduce(|sums: Vec<Split>, more| {
                sums.into_iter().zip(more).map(|(sum, split)| sum.and(split)).collect()
            })
            .unwrap_or_default()
    }
}

fn added(lists: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let add = |sums: Vec<f64>, more: Vec<f64>| {
        sums.into_iter().zip(more).map(|(sum, value)| sum + value).collect()
    };
    lists.reduce(add).unwrap_or_default()
}
