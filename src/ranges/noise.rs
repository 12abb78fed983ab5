//! The noise of a measurement: one type over both distributions.

use crate::noise::{DiscreteGaussian, DiscreteLaplace, RandomWords, Scale, ScaleError};
use serde::{Deserialize, Serialize};

/// What determines a noise distribution exactly; stored with every release.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum NoiseParameter {
    /// Discrete Laplace noise of scale `sensitivity` / `epsilon`.
    Laplace { sensitivity: u64, epsilon: f64 },
    /// Discrete Gaussian noise.
    Gaussian { sigma: f64 },
}

/// Independent noise that is added to each measurement of a group.
#[derive(Debug, Clone)]
pub enum Noise {
    Laplace(DiscreteLaplace),
    Gaussian(DiscreteGaussian),
}

impl Noise {
    /// Errors: a scale that cannot be sampled.
    pub fn new(parameter: NoiseParameter) -> Result<Noise, ScaleError> {
        match parameter {
            NoiseParameter::Laplace { sensitivity, epsilon } => {
                Scale::new(sensitivity, epsilon).map(DiscreteLaplace::new).map(Noise::Laplace)
            }
            NoiseParameter::Gaussian { sigma } => DiscreteGaussian::new(sigma).map(Noise::Gaussian),
        }
    }

    /// One exact draw.
    pub fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        match self {
            Noise::Laplace(law) => law.sample(words),
            Noise::Gaussian(law) => law.sample(words),
        }
    }

    /// That of the discrete distribution, not of its continuous namesake.
    pub fn variance(&self) -> f64 {
        match self {
            Noise::Laplace(law) => law.variance(),
            Noise::Gaussian(law) => law.variance(),
        }
    }
}
