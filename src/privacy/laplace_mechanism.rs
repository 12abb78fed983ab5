//! The Laplace mechanism: integers get noise of the scale that their sensitivity asks for.

use super::accounting::rho_of_pure;
#[cfg(test)]
use super::replay::{self, NoiseOf};
use crate::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};

/// Sensitivity and noise of what is measured, which cannot be had apart: noise of another
/// sensitivity than the one that is stated cannot be drawn.
///
/// The discrete form of the Laplace mechanism (Dwork et al. 2006; Ghosh et al. 2012): integers of
/// which neighbours differ by at most the sensitivity in the L1 norm, each with discrete Laplace
/// noise of the scale sensitivity / epsilon, satisfy epsilon-differential privacy together.
///
/// ```
/// # use pg_dp::privacy::LaplaceMechanism;
/// let noise = LaplaceMechanism::new(2, 0.5)?;
/// assert_eq!((noise.sensitivity(), noise.scale().as_f64()), (2, 4.0));
/// # Ok::<(), pg_dp::noise::ScaleError>(())
/// ```
///
/// To state one sensitivity and to draw the noise of another does not compile:
///
/// ```compile_fail
/// # use pg_dp::noise::{DiscreteLaplace, Scale};
/// # use pg_dp::privacy::LaplaceMechanism;
/// let noise = DiscreteLaplace::new(Scale::new(1, 0.5).unwrap());
/// let noise = LaplaceMechanism { sensitivity: 2, epsilon: 0.5, noise };
/// ```
#[derive(Debug, Clone)]
pub struct LaplaceMechanism {
    sensitivity: u64,
    epsilon: f64,
    noise: DiscreteLaplace,
}

impl LaplaceMechanism {
    /// Cheap: tables for sampling are made for the first draw, and clones share them.
    ///
    /// Errors: a scale that cannot be sampled; a sensitivity of 0.
    pub fn new(sensitivity: u64, epsilon: f64) -> Result<LaplaceMechanism, ScaleError> {
        let noise = DiscreteLaplace::new(Scale::new(sensitivity, epsilon)?);
        Ok(LaplaceMechanism { sensitivity, epsilon, noise })
    }

    /// By how much neighbours differ at most, in the L1 norm.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The zero-concentrated loss.
    pub fn rho(&self) -> f64 {
        rho_of_pure(self.epsilon)
    }

    pub fn scale(&self) -> Scale {
        self.noise.scale()
    }

    /// Of what a measured number is off by.
    pub fn variance(&self) -> f64 {
        self.noise.variance()
    }

    /// The number with fresh noise.
    #[inline]
    pub(crate) fn add<R: RandomWords + ?Sized>(&self, exact: i64, words: &mut R) -> i64 {
        let noisy = exact.saturating_add(self.noise.sample(words));
        #[cfg(test)]
        let noisy = replay::noisy(exact, NoiseOf::Laplace(self.scale().as_f64()), noisy);
        noisy
    }
}

/// The noise follows from the rest.
impl PartialEq for LaplaceMechanism {
    fn eq(&self, other: &LaplaceMechanism) -> bool {
        (self.sensitivity, self.epsilon) == (other.sensitivity, other.epsilon)
    }
}
