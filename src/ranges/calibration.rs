//! What the noise of a release follows from.

use super::noise::{MeasurementNoise, NoiseParameter};
use crate::noise::ScaleError;
use crate::privacy::GaussianBudget;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The noise that a mechanism adds, whatever it measures: stored with every release. Together with
/// a mechanism's sensitivity it is all that its noise is made of, see
/// [`Measurements`](super::measurements::Measurements).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration(Kind);

// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Kind {
    /// Of each group of measurements, in their order.
    PerGroup(Vec<NoiseParameter>),
    /// All measurements together have a loss within this for one row.
    Together(GaussianBudget),
}

impl Calibration {
    /// Of each group of measurements, in their order; a row moves one measurement of each, by 1.
    pub fn per_group(noise: Vec<NoiseParameter>) -> Calibration {
        Calibration(Kind::PerGroup(noise))
    }

    /// Gaussian noise, with this zero-concentrated loss of all measurements together for one row.
    pub fn together(rho: f64) -> Calibration {
        Calibration::by(GaussianBudget::of_zcdp(rho))
    }

    /// Gaussian noise of all measurements together, by the better of two rules.
    pub(super) fn by(budget: GaussianBudget) -> Calibration {
        Calibration(Kind::Together(budget))
    }

    /// The noise of a share of the loss, but for some units of roundoff.
    pub(super) fn part(&self, share: f64) -> Calibration {
        Calibration(match &self.0 {
            Kind::PerGroup(noise) => {
                Kind::PerGroup(noise.iter().map(|noise| noise.part(share)).collect())
            }
            Kind::Together(budget) => Kind::Together(budget.part(share)),
        })
    }

    /// Of each group, the loss of a unit of privacy that discrete Laplace noise is calibrated to;
    /// None of Gaussian noise.
    pub(super) fn epsilons(&self) -> Option<Vec<f64>> {
        let Kind::PerGroup(noise) = &self.0 else { return None };
        let epsilon = |noise: &NoiseParameter| match *noise {
            NoiseParameter::Laplace { epsilon, .. } => Some(epsilon),
            NoiseParameter::Gaussian { .. } => None,
        };
        noise.iter().map(epsilon).collect()
    }

    /// The number of groups that have noise of their own; None if it is calibrated together.
    pub(super) fn groups(&self) -> Option<usize> {
        match &self.0 {
            Kind::PerGroup(noise) => Some(noise.len()),
            Kind::Together(_) => None,
        }
    }

    /// Whether all measurements have one loss, and that is one.
    pub(super) fn is_together(&self) -> bool {
        matches!(self.0, Kind::Together(budget) if budget.is_some())
    }

    /// Of each group.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If it is calibrated together.
    pub(super) fn noise_per_group(&self) -> Result<Vec<MeasurementNoise>, ScaleError> {
        match &self.0 {
            Kind::PerGroup(noise) => noise.iter().copied().map(MeasurementNoise::new).collect(),
            Kind::Together(_) => panic!("noise of groups that is calibrated together"),
        }
    }

    /// Of all measurements together, for one row.
    ///
    /// # Panics
    /// If the groups have noise of their own.
    pub(super) fn budget(&self) -> GaussianBudget {
        match self.0 {
            Kind::Together(budget) => budget,
            Kind::PerGroup(_) => panic!("noise of each group that is to be calibrated together"),
        }
    }

    /// For the ledger's readers.
    pub(super) fn describe(&self) -> Value {
        let noise = |parameter: &NoiseParameter| match *parameter {
            NoiseParameter::Laplace { sensitivity, epsilon } => {
                json!({"noise": "discrete Laplace", "sensitivity": sensitivity, "epsilon": epsilon})
            }
            NoiseParameter::Gaussian { sigma } => {
                json!({"noise": "discrete Gaussian", "sigma": sigma})
            }
        };
        match &self.0 {
            Kind::PerGroup(groups) => groups.iter().map(noise).collect(),
            Kind::Together(budget) => {
                json!({"noise": "discrete Gaussian", "rho": budget.describe()})
            }
        }
    }
}
