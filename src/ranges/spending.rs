//! From a budget to the noise of measurements.

use crate::noise::ScaleError;
use crate::privacy::{Epsilon, gaussian_sigma, rho_of_gaussian, rho_of_pure};
use crate::ranges::noise::NoiseParameter;
use num_rational::Ratio;

/// The sum of the parts of a rho exceeds its rounded sum by less than this share, 2^-48, for up to
/// 25 levels.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// What Gaussian noise is calibrated to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zcdp {
    pub(super) delta: f64,
    pub(super) rho: f64,
}

/// A budget, and the kind of noise that it is spent on: discrete Gaussian where there is a rho.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spending {
    pub(super) epsilon: Epsilon,
    pub(super) gaussian: Option<Zcdp>,
    /// records that one unit of privacy owns at most, at least 1
    pub(super) rows_per_unit: u32,
}

impl Spending {
    /// The same epsilon, without Gaussian noise.
    pub(super) fn pure(self) -> Spending {
        Spending { gaussian: None, ..self }
    }

    /// The noise of one measurement of a row per share, each with an L1 and L2 sensitivity of 1. The
    /// shares sum to 1.
    pub(super) fn noise(self, shares: &[f64]) -> Result<Vec<NoiseParameter>, ScaleError> {
        let rows = u64::from(self.rows_per_unit);
        match self.gaussian {
            None => {
                let parts =
                    self.epsilon.split(shares).map_err(|_| ScaleError::NotPositiveFinite)?;
                let part = |epsilon| NoiseParameter::Laplace { sensitivity: rows, epsilon };
                Ok(parts.into_iter().map(part).collect())
            }
            Some(Zcdp { rho, .. }) => {
                let sum: f64 = shares.iter().sum();
                let part = |share: &f64| {
                    let rho = rho * (1.0 - MARGIN) * (share / sum);
                    NoiseParameter::Gaussian {
                        sigma: gaussian_sigma(Ratio::from(rows * rows), rho),
                    }
                };
                Ok(shares.iter().map(part).collect())
            }
        }
    }

    /// The zero-concentrated loss for one row of measurements that share one sensitivity: k rows
    /// move them up to k times as far, which costs k^2 times as much. 0 without Gaussian noise.
    pub(super) fn rho_of_a_row(self) -> f64 {
        let rho = self.gaussian.map_or(0.0, |zcdp| zcdp.rho);
        let rows = f64::from(self.rows_per_unit);
        rho * (1.0 - MARGIN) / (rows * rows)
    }

    /// The zero-concentrated loss of measurements with such noise for a unit, rounded up.
    pub(super) fn rho_of_noise(self, noise: &[NoiseParameter]) -> f64 {
        let rows = f64::from(self.rows_per_unit);
        let of = |noise: &NoiseParameter| match *noise {
            NoiseParameter::Laplace { epsilon, .. } => rho_of_pure(epsilon),
            NoiseParameter::Gaussian { sigma } => rho_of_gaussian(rows, sigma),
        };
        noise.iter().map(of).sum::<f64>().next_up()
    }

    /// The same of measurements with this loss for one row.
    pub(super) fn rho_of_rows(self, rho: f64) -> f64 {
        let rows = f64::from(self.rows_per_unit);
        (rho * rows * rows).next_up().next_up()
    }

    /// What is spent besides epsilon: 0 without Gaussian noise.
    pub(super) fn delta(self) -> f64 {
        self.gaussian.map_or(0.0, |zcdp| zcdp.delta)
    }
}
