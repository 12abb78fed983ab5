//! The noise of a measurement: one type over both distributions.

use crate::noise::{DiscreteGaussian, DiscreteLaplace, RandomWords, Scale, ScaleError};
#[cfg(test)]
use crate::privacy::replay::NoiseOf;
use crate::privacy::{rho_of_gaussian, rho_of_pure};
use serde::{Deserialize, Serialize};

/// What determines a noise distribution exactly; stored with every release.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum NoiseParameter {
    /// Discrete Laplace noise of scale `sensitivity` / `epsilon`.
    Laplace { sensitivity: u64, epsilon: f64 },
    /// Discrete Gaussian noise.
    Gaussian { sigma: f64 },
}

impl NoiseParameter {
    /// The noise of a share of the loss, but for some units of roundoff.
    pub(super) fn part(self, share: f64) -> NoiseParameter {
        match self {
            NoiseParameter::Laplace { sensitivity, epsilon } => {
                NoiseParameter::Laplace { sensitivity, epsilon: epsilon * share }
            }
            NoiseParameter::Gaussian { sigma } => {
                NoiseParameter::Gaussian { sigma: sigma / share.sqrt() }
            }
        }
    }
}

/// Independent noise that is added to each measurement of a group.
#[derive(Debug, Clone)]
pub enum MeasurementNoise {
    Laplace(DiscreteLaplace),
    Gaussian(DiscreteGaussian),
}

impl MeasurementNoise {
    /// Errors: a scale that cannot be sampled.
    pub fn new(parameter: NoiseParameter) -> Result<MeasurementNoise, ScaleError> {
        match parameter {
            NoiseParameter::Laplace { sensitivity, epsilon } => Scale::new(sensitivity, epsilon)
                .map(DiscreteLaplace::new)
                .map(MeasurementNoise::Laplace),
            NoiseParameter::Gaussian { sigma } => {
                DiscreteGaussian::new(sigma).map(MeasurementNoise::Gaussian)
            }
        }
    }

    /// Discrete Gaussian noise.
    pub(super) fn gaussian(sigma: f64) -> Result<MeasurementNoise, ScaleError> {
        MeasurementNoise::new(NoiseParameter::Gaussian { sigma })
    }

    /// One exact draw.
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        match self {
            MeasurementNoise::Laplace(law) => law.sample(words),
            MeasurementNoise::Gaussian(law) => law.sample(words),
        }
    }

    /// What tests record of it.
    #[cfg(test)]
    pub(super) fn of_replay(&self) -> NoiseOf {
        match self {
            MeasurementNoise::Laplace(law) => NoiseOf::Laplace(law.scale().as_f64()),
            MeasurementNoise::Gaussian(law) => NoiseOf::Gaussian(law.sigma()),
        }
    }

    /// The loss of a distance of 1: None for Gaussian noise, which has no bound of this kind.
    pub(super) fn epsilon(&self) -> Option<f64> {
        match self {
            MeasurementNoise::Laplace(law) => Some(1.0 / law.scale().as_f64()),
            MeasurementNoise::Gaussian(_) => None,
        }
    }

    /// The zero-concentrated loss of a distance of 1.
    pub(super) fn rho(&self) -> f64 {
        match self {
            MeasurementNoise::Laplace(law) => rho_of_pure(1.0 / law.scale().as_f64()),
            MeasurementNoise::Gaussian(law) => rho_of_gaussian(1.0, law.sigma()),
        }
    }

    /// The variance of the noise of a share of the loss.
    ///
    /// Errors: a noise that cannot be sampled.
    pub(super) fn variance_of_part(&self, share: f64) -> Result<f64, ScaleError> {
        let parameter = match self {
            MeasurementNoise::Laplace(law) => {
                NoiseParameter::Laplace { sensitivity: 1, epsilon: 1.0 / law.scale().as_f64() }
            }
            MeasurementNoise::Gaussian(law) => NoiseParameter::Gaussian { sigma: law.sigma() },
        };
        MeasurementNoise::new(parameter.part(share)).map(|noise| noise.variance())
    }

    /// That of the discrete distribution, not of its continuous namesake; at least 1e-100, so that
    /// quotients of variances that underflow are numbers.
    pub fn variance(&self) -> f64 {
        let variance = match self {
            MeasurementNoise::Laplace(law) => law.variance(),
            MeasurementNoise::Gaussian(law) => law.variance(),
        };
        variance.max(1e-100)
    }
}
