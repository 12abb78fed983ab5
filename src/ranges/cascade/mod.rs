//! Correlated noise of equal variance on every node of a tree over the bins, with node sums that
//! are the sums of their children (Dharangutte, Gao, Gong, Wang 2025), in exact integers.
//!
//! # The noise
//!
//! The root has noise X of variance s^2. Where a node has m children and noise X, child i has
//! X/m + w_i, the w of covariance ((m+1)/m) (I - J/m) s^2, J all ones: they sum to X, and each has
//! variance s^2/m^2 + ((m+1)/m) (1 - 1/m) s^2 = s^2. For m = 2 that is X/2 +- sqrt(3)/2 Y; an only
//! child has its parent's noise.
//!
//! # The measurement
//!
//! The same, from integers: the total with noise of variance s^2 and, at every node, the Helmert
//! contrasts x_1 + ... + x_j - j x_{j+1} of the children's sums, j = 1 .. m - 1, with noise of
//! variance ((m+1)/m) j (j+1) s^2 each. Those are n integers for n bins. They determine the bins, going down, by
//! quotients with m and j (j+1): with the contrasts' vectors h_j, which are orthogonal, of
//! square length j (j+1) and orthogonal to the ones, child i is X/m + sum_j h_j[i] c_j / (j (j+1)),
//! and the noise of the second term has covariance ((m+1)/m) s^2 sum_j h_j h_j^T / |h_j|^2, where
//! the sum is the projection I - J/m.
//!
//! # The sensitivity
//!
//! A row in a bin adds 1 to the total, and at every ancestor h_j[i] to contrast j, i being the
//! child on the way. In units of the noise's variance over s^2 the square of the distance is
//!   1 + sum over ancestors of (m/(m+1)) sum_j h_j[i]^2 / (j (j+1)),
//! where sum_j h_j[i]^2 / |h_j|^2 = 1 - 1/m, again the projection's diagonal: whatever i is, an
//! ancestor adds (m-1)/(m+1). For a perfect binary tree of height k that is 1 + k/3.

mod contrasts;
mod spread;
mod streaming;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use contrasts::{Contrasts, Law};
pub use streaming::{StreamError, StreamingCascade};
pub use tree::{MAX_FAN_OUT, Tree, TreeError};

use crate::noise::ScaleError;
use crate::privacy::gaussian_sigma;
use crate::ranges::mechanism::{Group, Loss, MEASURED_LIMIT, RangeMechanism};
use crate::ranges::noise::Noise;
use crate::ranges::tree::running_sums;
use std::ops::Range;

/// The cascade over one tree, with its noise.
#[derive(Debug, Clone)]
pub struct Cascade {
    contrasts: Contrasts,
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
