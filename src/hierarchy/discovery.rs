//! Which regions there are, where private rows alone tell: those that enough units of privacy have.
//!
//! Each lowest region that occurs is found or not by a coin of its own ([`Appearance`]), whose law
//! follows from how many units have it. A region that nobody has is never found.
//!
//! # Privacy
//!
//! A unit changes the numbers of up to k regions, each by 1. Take one of these regions: whether it is
//! found is (epsilon / k, delta / k)-DP for one more or less that has it. What becomes of the others
//! is decided by coins of their own, with the same law for both neighbours. So all together is the
//! composition of k, and (epsilon, delta)-DP. Which k regions of a unit count may be drawn, from
//! nothing but that unit's own rows: it holds for each outcome of these draws, and so for their
//! mixture.
//!
//! It has a delta that Gaussian noise has not: with a probability of delta a region is found that one
//! unit alone has, which tells all of it. So the loss is that of k randomized responses, and beside
//! it a [failure](PrivacyLoss::failure) of probability delta (Kairouz, Oh, Viswanath 2015: each
//! (epsilon, delta)-DP measurement is made of both).
//!
//! That the regions above are told of which one below is found, and those that are found in their
//! order, is post-processing.

use crate::charge::{Cost, Costs, Receipt};
use crate::noise::{Appearance, AppearanceError, MIN_DELTA, RandomWords, Scale, ScaleError, shown};
use crate::privacy::{Epsilon, PrivacyLoss};
use serde_json::json;
use std::fmt;

/// A search for regions. It is carried out by a receipt:
///
/// ```
/// use pg_dp::charge::Receipt;
/// use pg_dp::hierarchy::Discovery;
/// use pg_dp::noise::words_from_system;
///
/// let discovery = Discovery::new(1.0, 1e-6, 1)?;
/// let words = &mut words_from_system()?;
/// let finder = Receipt::uncharged(discovery).finder();
/// assert!(finder.finds(1000, words) && !finder.finds(0, words));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Discovery {
    epsilon: Epsilon,
    delta: f64,
    regions_per_unit: u32,
    /// Of a region that so many units have.
    law: Appearance,
}

/// Why regions cannot be looked for so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DiscoveryError {
    Epsilon { value: f64 },
    Scale { value: f64, error: ScaleError },
    Delta { value: f64, regions_per_unit: u32 },
    Faint { epsilon: f64, regions_per_unit: u32 },
}

impl Discovery {
    /// `regions_per_unit`: in how many regions a unit of privacy counts at most.
    ///
    /// Errors: as they say.
    pub fn new(
        epsilon: f64,
        delta: f64,
        regions_per_unit: u32,
    ) -> Result<Discovery, DiscoveryError> {
        let value = epsilon;
        let epsilon = Epsilon::new(value).map_err(|_| DiscoveryError::Epsilon { value })?;
        let scale = Scale::new(regions_per_unit.into(), epsilon.whole())
            .map_err(|error| DiscoveryError::Scale { value, error })?;
        let law = Appearance::new(scale, delta, regions_per_unit).map_err(|error| match error {
            AppearanceError::Delta => DiscoveryError::Delta { value: delta, regions_per_unit },
            AppearanceError::Faint => DiscoveryError::Faint { epsilon: value, regions_per_unit },
        })?;
        Ok(Discovery { epsilon, delta, regions_per_unit, law })
    }

    /// Of each region.
    pub fn law(&self) -> &Appearance {
        &self.law
    }
}

impl Costs for Discovery {
    fn cost(&self) -> Cost {
        let Discovery { epsilon, delta, regions_per_unit, law } = self;
        let of_each = epsilon.split_equally(*regions_per_unit as usize);
        Cost {
            epsilon: *epsilon,
            delta: *delta,
            mechanism: json!({
                "selection": "of regions that enough units have",
                "regions_per_unit": regions_per_unit,
                "epsilon_of_region": of_each.first(),
                "delta_of_region": delta / f64::from(*regions_per_unit),
                "found_for_certain_from": law.least_units(1.0),
            }),
            loss: PrivacyLoss::of_pure(of_each).failing(*delta),
        }
    }
}

/// Tosses the coins of regions, one for each.
pub struct Finder {
    law: Appearance,
}

impl<P> Receipt<Discovery, P> {
    pub fn finder(self) -> Finder {
        Finder { law: self.into_mechanism().law }
    }
}

impl Finder {
    /// Whether a region is found that so many units have. To be asked once of each.
    pub fn finds<R: RandomWords + ?Sized>(&self, units: u64, words: &mut R) -> bool {
        self.law.appears(units, words)
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiscoveryError::Epsilon { value } => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            DiscoveryError::Scale { value, error } => {
                write!(f, "epsilon {} {error}", shown(*value))
            }
            DiscoveryError::Delta { value, regions_per_unit } => write!(
                f,
                "delta must be from {:e} up to, not including, 1, got {}",
                MIN_DELTA * f64::from(*regions_per_unit),
                shown(*value)
            ),
            DiscoveryError::Faint { epsilon, .. } => write!(
                f,
                "epsilon {} is too small: hardly a region would be found that fewer than a million \
                 have",
                shown(*epsilon)
            ),
        }
    }
}

impl std::error::Error for DiscoveryError {}

impl DiscoveryError {
    /// What the caller can do about it.
    pub fn hint(&self) -> String {
        match self {
            DiscoveryError::Epsilon { .. } => "Typical values are 0.1 to 10.".into(),
            DiscoveryError::Scale { .. } => {
                "The noise scale is the number of regions that a unit counts in over epsilon."
                    .into()
            }
            DiscoveryError::Delta { .. } => {
                "It is the probability with which a region may be found that one unit alone has, \
                 such as 1e-8."
                    .into()
            }
            DiscoveryError::Faint { regions_per_unit: 1, .. } => {
                "Choose a larger one. dp_explain_regions tells how many rows a region needs.".into()
            }
            DiscoveryError::Faint { regions_per_unit, .. } => format!(
                "A unit may be in {regions_per_unit} regions, which divide epsilon by that number. \
                 Choose a larger one, or declare the dataset with less max_rows_per_unit."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged() {
        let cost = Discovery::new(1.0, 1e-6, 4).unwrap().cost();
        assert_eq!((cost.epsilon.value(), cost.delta, cost.loss.failure()), (1.0, 1e-6, 1e-6));
        assert_eq!(cost.loss.responses().len(), 4);
        assert!(cost.loss.responses().iter().sum::<f64>() <= 1.0);
    }

    #[test]
    fn what_cannot_be_looked_for_is_refused() {
        for (epsilon, delta, regions_per_unit, message) in [
            (0.0, 1e-6, 1, "epsilon must be a positive, finite number, got 0"),
            (1e9, 1e-6, 1, "epsilon 1000000000 leads to"),
            (1.0, 0.0, 1, "delta must be from 1e-30 up to, not including, 1, got 0"),
            (1.0, 1.0, 1, "delta must be from 1e-30 up to, not including, 1, got 1"),
            (1.0, f64::NAN, 1, "delta must be from 1e-30 up to, not including, 1, got NaN"),
            (1e-5, 1e-9, 1, "epsilon 0.00001 is too small"),
            (1.0, 1e-6, 1_000_000, "epsilon 1 is too small"),
        ] {
            let error = Discovery::new(epsilon, delta, regions_per_unit).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
}
