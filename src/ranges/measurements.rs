//! What is measured: integers in groups, their noise, and what a row moves them by.

use super::calibration::Calibration;
use super::noise::MeasurementNoise;
use super::spending::MOST_PARTS;
use crate::noise::{RandomWords, ScaleError};
#[cfg(test)]
use crate::privacy::replay;
use crate::privacy::{PrivacyLoss, gaussian_sigma};
use crate::work::{Paced, done};
use num_rational::Ratio;

/// What no measured integer exceeds in magnitude; noise has the rest of 64 bits.
pub(super) const MEASURED_LIMIT: u64 = 1 << 62;

/// A rho that is computed exceeds its formula by this share, 2^-48: 32 units of roundoff.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// Draws of noise that are counted as work at a time.
const DRAWS_AT_A_TIME: usize = 1 << 12;

/// Consecutive measurements with one kind of noise, such as the nodes of a level.
#[derive(Debug, Clone)]
pub struct MeasurementGroup {
    pub measurements: usize,
    pub noise: MeasurementNoise,
}

impl MeasurementGroup {
    /// The only place where counts and noise meet.
    fn noisy<R: RandomWords + ?Sized>(&self, exact: i64, words: &mut R) -> i64 {
        // a sum beyond i64 stays at its end, which is post-processing
        let noisy = exact.saturating_add(self.noise.sample(words));
        #[cfg(test)]
        let noisy = replay::noisy(exact, self.noise.of_replay(), noisy);
        noisy
    }
}

/// What one row, in whichever bin, moves a mechanism's exact integers by at most, in units of their
/// noise: the privacy loss of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Of discrete Laplace noise: the sum of |distance| / t, t the scale.
    Epsilon(f64),
    /// Of discrete Gaussian noise: the sum of distance^2 / (2 sigma^2).
    Rho(f64),
}

/// How far one row, in whichever bin, moves the exact integers at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sensitivity {
    /// One measurement of every group, by 1.
    OneOfEach,
    /// All together: the square of the L2 length of the distance, in units of the first group's
    /// noise.
    Squared(Ratio<u64>),
}

/// All that a mechanism measures, group after group: from its sensitivity and a [`Calibration`]
/// follow both its noise and its loss, so that neither is that of another sensitivity.
#[derive(Debug, Clone)]
pub struct Measurements {
    groups: Vec<MeasurementGroup>,
    sensitivity: Sensitivity,
}

impl Measurements {
    /// Of which one row moves one of every group, by 1. `sizes`: of the groups.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the calibration is not one of so many groups.
    pub(super) fn one_of_each(
        sizes: impl IntoIterator<Item = usize>,
        calibration: &Calibration,
    ) -> Result<Measurements, ScaleError> {
        let mut noise = calibration.noise_per_group()?.into_iter();
        let mut noise_of_next = || noise.next().expect("noise of every group");
        let sizes = sizes.into_iter();
        let groups: Vec<MeasurementGroup> = sizes
            .map(|measurements| MeasurementGroup { measurements, noise: noise_of_next() })
            .collect();
        assert_eq!(Some(groups.len()), calibration.groups(), "noise of other groups");
        Ok(Measurements { groups, sensitivity: Sensitivity::OneOfEach })
    }

    /// With Gaussian noise, of which a row moves all by the square root of `sensitivity_squared` at
    /// most: the L2 length of the distance in units of the first group's noise. `groups`: their
    /// sizes, and the variance of their noise in units of the first one's.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there is no group, or the calibration is one of groups.
    pub(super) fn together(
        sensitivity_squared: Ratio<u64>,
        groups: impl IntoIterator<Item = (usize, Ratio<u64>)>,
        calibration: &Calibration,
    ) -> Result<Measurements, ScaleError> {
        let groups: Vec<(usize, Ratio<u64>)> = groups.into_iter().collect();
        let square = |weight: Ratio<u64>| {
            let square = sensitivity_squared * weight;
            *square.numer() as f64 / *square.denom() as f64
        };
        let least = groups.iter().map(|(_, weight)| square(*weight)).fold(f64::INFINITY, f64::min);
        let integers: usize = groups.iter().map(|(measurements, _)| measurements).sum();
        let rho = calibration.budget().rho(least, integers as u64 * u64::from(MOST_PARTS));
        let group = |(measurements, weight): (usize, Ratio<u64>)| {
            let sigma = gaussian_sigma(sensitivity_squared * weight, rho);
            Ok(MeasurementGroup { measurements, noise: MeasurementNoise::gaussian(sigma)? })
        };
        let groups: Vec<MeasurementGroup> =
            groups.into_iter().map(group).collect::<Result<_, ScaleError>>()?;
        assert!(!groups.is_empty(), "nothing is measured");
        Ok(Measurements { groups, sensitivity: Sensitivity::Squared(sensitivity_squared) })
    }

    pub fn groups(&self) -> &[MeasurementGroup] {
        &self.groups
    }

    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// The sensitivity of all measurements together, in units of the noise.
    pub fn loss(&self) -> Loss {
        match self.sensitivity {
            Sensitivity::OneOfEach => {
                let noises = || self.groups.iter().map(|group| &group.noise);
                match noises().map(MeasurementNoise::epsilon).sum::<Option<f64>>() {
                    Some(epsilon) => Loss::Epsilon(epsilon),
                    None => Loss::Rho(noises().map(MeasurementNoise::rho).sum()),
                }
            }
            Sensitivity::Squared(square) => {
                let square = *square.numer() as f64 / *square.denom() as f64;
                Loss::Rho(square * self.first_noise().rho())
            }
        }
    }

    /// A release's loss, with what is known of Gaussian noise once it is known what is measured, for a
    /// unit of privacy of so many rows.
    pub(super) fn told_of(&self, loss: PrivacyLoss, rows: u32) -> PrivacyLoss {
        let variances = self.groups.iter().filter_map(|group| match &group.noise {
            MeasurementNoise::Gaussian(law) => Some(law.sigma() * law.sigma()),
            MeasurementNoise::Laplace(_) => None,
        });
        let integers = self.groups.iter().map(|group| group.measurements as u64).sum();
        let rho = match (self.sensitivity, self.loss()) {
            // k rows move all k times as far as one
            (Sensitivity::Squared(_), Loss::Rho(rho)) => rho * f64::from(rows) * f64::from(rows),
            _ => f64::INFINITY,
        };
        loss.with_noise(rho * (1.0 + MARGIN), variances.fold(f64::INFINITY, f64::min), integers)
    }

    /// Of the groups.
    pub(super) fn variances(&self) -> Vec<f64> {
        self.groups.iter().map(|group| group.noise.variance()).collect()
    }

    /// The noise of the first group.
    pub(super) fn first_noise(&self) -> &MeasurementNoise {
        &self.groups[0].noise
    }

    /// One measurement, with exact noise: of those that are made one by one.
    ///
    /// # Panics
    /// If no group holds that place.
    pub(super) fn with_noise<R: RandomWords + ?Sized>(
        &self,
        place: usize,
        exact: i64,
        words: &mut R,
    ) -> i64 {
        let mut before = place;
        for group in &self.groups {
            match before.checked_sub(group.measurements) {
                Some(rest) => before = rest,
                None => return group.noisy(exact, words),
            }
        }
        panic!("measurement {place} belongs to no group")
    }

    /// Adds exact noise to every measurement.
    ///
    /// # Panics
    /// If the groups are those of another number of measurements.
    fn add_noise<R: RandomWords + ?Sized>(&self, measured: &mut [i64], words: &mut R) {
        let mut rest = measured;
        for group in &self.groups {
            let (own, others) = rest.split_at_mut(group.measurements);
            for chunk in own.chunks_mut(DRAWS_AT_A_TIME) {
                done(chunk.len() as u64);
                for value in chunk {
                    *value = group.noisy(*value, words);
                }
            }
            rest = others;
        }
        // a measurement without noise would be published as it is
        assert!(rest.is_empty(), "{} measurements belong to no group", rest.len());
    }
}

/// A mechanism over counts, of bins on a line or of cells of a grid, with all its parameters
/// settled.
///
/// Neighbours differ by one row, so by 1 in one count. Lists of another length break the contract
/// and may panic.
pub trait CountMechanism {
    /// With their noise, and what a row moves them by.
    fn measurements(&self) -> &Measurements;

    /// What is counted at most in one place, lest an integer overflow: 2^62 over the most that a
    /// measurement can be if every place holds one row. A limit for each count by itself, unlike
    /// one for their sum, leaves the sensitivity as it is.
    fn largest_count(&self) -> u64;

    /// The exact integers that noise is added to, the groups' one after another.
    ///
    /// `counts`: each at most [`CountMechanism::largest_count`].
    fn measure(&self, counts: &[u64]) -> Vec<i64>;
}

/// What a mechanism measures of the difference of two lists of sums, with noise.
pub(super) fn noisy_difference<M: CountMechanism + ?Sized, R: RandomWords + ?Sized>(
    mechanism: &M,
    above: &[u64],
    below: Option<&[u64]>,
    words: &mut R,
) -> Vec<i64> {
    let mut noisy = difference(mechanism, above, below);
    mechanism.measurements().add_noise(&mut noisy, words);
    noisy
}

/// As measuring is linear, that of a difference is a difference. A count beyond the largest that the
/// mechanism takes is taken for that, one by one, which keeps the sensitivity.
pub(super) fn difference<M: CountMechanism + ?Sized>(
    mechanism: &M,
    above: &[u64],
    below: Option<&[u64]>,
) -> Vec<i64> {
    let largest = mechanism.largest_count();
    let measure = |counts: &[u64]| {
        let counts: Vec<u64> = counts.iter().map(|count| *count.min(&largest)).collect();
        mechanism.measure(&counts)
    };
    let mut measured = measure(above);
    if let Some(below) = below {
        for (value, below) in measured.iter_mut().zip(measure(below).into_iter().paced()) {
            // either is at most 2^62 in magnitude; a difference of 2^63 stays at the end of i64,
            // where no two are farther from each other than they were
            *value = value.saturating_sub(below);
        }
    }
    measured
}

/// Counts as signed integers.
pub(super) fn signed(counts: &[u64]) -> Vec<i64> {
    counts.iter().map(|&count| count as i64).collect()
}
