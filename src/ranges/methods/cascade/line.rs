//! The cascade over a line of bins, with its noise.

use super::contrasts::{Contrasts, Law};
use super::tree::Tree;
use crate::noise::ScaleError;
use crate::privacy::gaussian_sigma;
use crate::ranges::mechanism::{Group, Loss, MEASURED_LIMIT, RangeMechanism};
use crate::ranges::methods::tree::running_sums;
use crate::ranges::noise::Noise;
use std::ops::Range;

/// The cascade over one tree, with its noise.
#[derive(Debug, Clone)]
pub struct Cascade {
    pub(super) contrasts: Contrasts,
    /// Of the contrasts' laws.
    laws: Vec<Group>,
    /// Of the laws.
    variances: Vec<f64>,
}

impl Cascade {
    /// A release is `rho`-zCDP.
    ///
    /// Errors: a noise that cannot be sampled.
    pub fn new(tree: Tree, rho: f64) -> Result<Cascade, ScaleError> {
        let contrasts = Contrasts::new(tree);
        let square = contrasts.sensitivity_squared();
        let group = |law: &Law| {
            let noise = Noise::gaussian(gaussian_sigma(square * law.weight, rho))?;
            Ok(Group { measurements: law.measurements, noise })
        };
        let laws = contrasts.laws().iter().map(group).collect::<Result<Vec<_>, ScaleError>>()?;
        let variances = laws.iter().map(|law| law.noise.variance()).collect();
        Ok(Cascade { contrasts, laws, variances })
    }

    pub fn tree(&self) -> &Tree {
        &self.contrasts.tree
    }
}

impl RangeMechanism for Cascade {
    fn bins(&self) -> usize {
        self.contrasts.bins()
    }

    fn groups(&self) -> Vec<Group> {
        self.laws.clone()
    }

    /// Of all integers together, see the module's documentation: the sensitivity in units of the
    /// total's noise.
    fn loss(&self) -> Loss {
        let square = self.contrasts.sensitivity_squared();
        let square = *square.numer() as f64 / *square.denom() as f64;
        Loss::Rho(square * self.laws[0].noise.rho())
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / (self.bins() as u64 * self.contrasts.largest_factor())
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        self.contrasts.measure(counts)
    }

    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64> {
        running_sums(self.contrasts.bin_estimates(noisy).into_iter())
    }

    /// Exact for the discrete noise. Time: fan-out times depth.
    fn variance(&self, range: Range<usize>) -> f64 {
        let mut variance = 0.0;
        self.contrasts.squares(&range, |law, square| variance += square * self.variances[law]);
        variance
    }

    fn mean_over_all(&self) -> f64 {
        let squares = self.contrasts.mean_squares();
        squares.iter().zip(&self.variances).map(|(square, variance)| square * variance).sum()
    }

    fn max_over_all(&self) -> f64 {
        self.contrasts.worst_range(&self.variances)
    }
}
