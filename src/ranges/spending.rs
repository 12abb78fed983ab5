//! From a budget to noise, and to what is charged for it.

use super::calibration::Calibration;
use super::noise::NoiseParameter;
use crate::noise::ScaleError;
use crate::privacy::{
    Epsilon, GaussianBudget, GaussianLoss, PrivacyLoss, gaussian_sigma, rho_of_gaussian,
};
use num_rational::Ratio;

/// The sum of the parts of a rho exceeds its rounded sum by less than this share, 2^-48, for up to
/// 25 levels.
pub(super) const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// What Gaussian noise is calibrated to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaussian {
    pub(super) delta: f64,
    pub(super) budget: GaussianBudget,
}

/// A release may make its measurements over, each time with a part of the budget: once for each level
/// of a hierarchy of regions, at most.
pub(super) const MOST_PARTS: u32 = 32;

/// A budget, and the kind of noise that it is spent on: discrete Gaussian where there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spending {
    pub(super) epsilon: Epsilon,
    pub(super) gaussian: Option<Gaussian>,
    /// records that one unit of privacy owns at most, at least 1
    pub(super) rows_per_unit: u32,
}

/// What is charged.
#[derive(Debug, Clone)]
pub(super) struct Price {
    pub(super) epsilon: Epsilon,
    /// 0 without Gaussian noise.
    pub(super) delta: f64,
    /// Of the whole release.
    pub(super) loss: PrivacyLoss,
}

/// Noise with its price. Nothing but a [`Spending`] makes one, and nothing else is planned with:
/// what is charged is the price of the noise that is drawn.
#[derive(Debug)]
pub(super) struct Priced {
    price: Price,
    calibration: Calibration,
    rows_per_unit: u32,
}

impl Priced {
    pub(super) fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    pub(super) fn rows_per_unit(&self) -> u32 {
        self.rows_per_unit
    }

    pub(super) fn into_parts(self) -> (Price, Calibration) {
        (self.price, self.calibration)
    }
}

impl Spending {
    /// Without Gaussian noise, at the epsilon.
    pub(super) fn pure(self) -> Spending {
        Spending { gaussian: None, ..self }
    }

    /// A share of a pure one and the rest, which compose sequentially.
    ///
    /// Errors: one is too small for a number.
    pub(super) fn divided(self, share: f64) -> Result<(Spending, Spending), ScaleError> {
        let part = |share: f64| {
            let epsilon = Epsilon::new(self.epsilon.whole() * share * (1.0 - MARGIN));
            let epsilon = epsilon.map_err(|_| ScaleError::NotPositiveFinite)?;
            Ok(Spending { epsilon, ..self.pure() })
        };
        Ok((part(share)?, part(1.0 - share)?))
    }

    /// Errors: the noise of a count that has all of it cannot be sampled.
    pub(super) fn check_a_count(self) -> Result<(), ScaleError> {
        self.on_groups(&[1.0])?.calibration.noise_per_group().map(drop)
    }

    /// Groups of measurements, one per share, of which a row moves one of each, by 1. The shares
    /// sum to 1.
    pub(super) fn on_groups(self, shares: &[f64]) -> Result<Priced, ScaleError> {
        let rows = u64::from(self.rows_per_unit);
        let noise: Vec<NoiseParameter> = match self.gaussian {
            None => {
                let parts =
                    self.epsilon.split(shares).map_err(|_| ScaleError::NotPositiveFinite)?;
                let part = |epsilon| NoiseParameter::Laplace { sensitivity: rows, epsilon };
                parts.into_iter().map(part).collect()
            }
            Some(Gaussian { budget, .. }) => {
                let sum: f64 = shares.iter().sum();
                let largest = shares.iter().copied().fold(0.0, f64::max) / sum;
                let integers = shares.len() as u64 * rows * u64::from(MOST_PARTS);
                let rho = budget.rho((rows * rows) as f64 / largest, integers);
                let part = |share: &f64| {
                    let rho = rho * (1.0 - MARGIN) * (share / sum);
                    NoiseParameter::Gaussian {
                        sigma: gaussian_sigma(Ratio::from(rows * rows), rho),
                    }
                };
                shares.iter().map(part).collect()
            }
        };
        let of_a_unit = |noise: &NoiseParameter| match *noise {
            NoiseParameter::Laplace { epsilon, .. } => PrivacyLoss::of_pure([epsilon]),
            NoiseParameter::Gaussian { sigma } => PrivacyLoss::of_gaussian(GaussianLoss {
                rho: rho_of_gaussian(rows as f64, sigma),
                least_variance: sigma * sigma,
                coordinates: rows,
            }),
        };
        let loss = PrivacyLoss::of_all(noise.iter().map(of_a_unit));
        Ok(self.priced(loss, Calibration::per_group(noise)))
    }

    /// Measurements that share one sensitivity, with Gaussian noise: k rows move them up to k times
    /// as far as one, which costs k^2 times as much.
    ///
    /// # Panics
    /// If the spending is on Laplace noise.
    pub(super) fn on_all_together(self) -> Priced {
        let budget = self.gaussian.expect("a spending on Gaussian noise").budget;
        let rows = f64::from(self.rows_per_unit);
        let of_a_row = budget.of_one_of(rows * (1.0 + MARGIN));
        // until it is settled what is measured
        let gaussian =
            GaussianLoss { rho: budget.highest(), least_variance: 0.0, coordinates: u64::MAX };
        self.priced(PrivacyLoss::of_gaussian(gaussian), Calibration::by(of_a_row))
    }

    fn priced(self, loss: PrivacyLoss, calibration: Calibration) -> Priced {
        let price = Price { epsilon: self.epsilon, delta: self.delta(), loss };
        Priced { price, calibration, rows_per_unit: self.rows_per_unit }
    }

    /// What is spent besides epsilon: 0 without Gaussian noise.
    pub(super) fn delta(self) -> f64 {
        self.gaussian.map_or(0.0, |gaussian| gaussian.delta)
    }
}
