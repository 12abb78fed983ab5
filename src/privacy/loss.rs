//! What a release tells of a row at most, as what any such release is made of: randomized responses,
//! Gaussian noise, and a chance that it tells all.

use super::accounting::rho_of_pure;

/// The privacy loss of a release. Whatever it publishes can be made, for either of two neighbours,
/// of independent randomized responses to the question which of them is there, and of the noisy
/// numbers of Gaussian noise, by a map that does not ask any more; unless it fails, with a
/// probability that is known.
///
/// An epsilon-DP measurement is made of one response of that epsilon, an (epsilon, delta)-DP one also
/// of a failure with probability delta (Kairouz, Oh, Viswanath 2015).
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyLoss {
    responses: Vec<f64>,
    gaussian: Option<GaussianLoss>,
    /// The probability that which of them is there is told at once.
    failure: f64,
}

/// Of independent discrete Gaussian noise on the integers that a row moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianLoss {
    /// The sum of a^2 / (2 sigma^2) over the distances a.
    pub rho: f64,
    /// sigma^2, the least of them; 0 where it is not known.
    pub least_variance: f64,
    /// How many integers a row moves at most.
    pub coordinates: u64,
}

impl PrivacyLoss {
    /// Of independent measurements that are pure, with an epsilon each.
    pub fn of_pure(epsilons: impl IntoIterator<Item = f64>) -> PrivacyLoss {
        PrivacyLoss { responses: epsilons.into_iter().collect(), gaussian: None, failure: 0.0 }
    }

    pub fn of_gaussian(gaussian: GaussianLoss) -> PrivacyLoss {
        PrivacyLoss { responses: Vec::new(), gaussian: Some(gaussian), failure: 0.0 }
    }

    /// The same, which may also fail with that probability.
    pub fn failing(self, probability: f64) -> PrivacyLoss {
        PrivacyLoss { failure: probability, ..self }
    }

    /// Of all these releases.
    pub fn of_all(losses: impl IntoIterator<Item = PrivacyLoss>) -> PrivacyLoss {
        losses.into_iter().fold(PrivacyLoss::of_pure([]), PrivacyLoss::and)
    }

    /// Of both releases.
    pub fn and(mut self, other: PrivacyLoss) -> PrivacyLoss {
        self.responses.extend(other.responses);
        self.gaussian = match (self.gaussian, other.gaussian) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        if other.failure > 0.0 {
            self.failure = (self.failure + other.failure).next_up();
        }
        self
    }

    /// Of a release made in so many parts, each with its share of the Gaussian noise's loss on integers
    /// of its own: the noise of a part is no less.
    pub fn in_parts(mut self, parts: u64) -> PrivacyLoss {
        if let Some(gaussian) = &mut self.gaussian {
            gaussian.coordinates = gaussian.coordinates.saturating_mul(parts);
        }
        self
    }

    /// The same, of whose Gaussian noise more is known: at most this rho, at least this variance, on at
    /// most so many integers.
    pub fn with_noise(mut self, rho: f64, least_variance: f64, coordinates: u64) -> PrivacyLoss {
        if let Some(gaussian) = &mut self.gaussian {
            gaussian.rho = gaussian.rho.min(rho);
            gaussian.least_variance = gaussian.least_variance.max(least_variance);
            gaussian.coordinates = gaussian.coordinates.min(coordinates);
        }
        self
    }

    /// The epsilons of the randomized responses.
    pub fn responses(&self) -> &[f64] {
        &self.responses
    }

    pub fn gaussian(&self) -> Option<GaussianLoss> {
        self.gaussian
    }

    /// The probability that it fails, rounded up.
    pub fn failure(&self) -> f64 {
        self.failure
    }

    /// What failures leave of a delta, rounded down; None if that is less than nothing.
    pub fn delta_left(&self, delta: f64) -> Option<f64> {
        if self.failure == 0.0 {
            return Some(delta);
        }
        Some((delta - self.failure).next_down()).filter(|left| *left >= 0.0)
    }

    /// The zero-concentrated loss, unless it fails: the sum over all parts, rounded up.
    pub fn rho(&self) -> f64 {
        let pure: f64 = self.responses.iter().copied().map(rho_of_pure).sum();
        let gaussian = self.gaussian.map_or(0.0, |gaussian| gaussian.rho);
        // a sum of n terms errs by less than n units of roundoff
        let terms = self.responses.len() + 1;
        ((pure + gaussian) * (1.0 + terms as f64 * f64::EPSILON)).next_up()
    }
}

impl GaussianLoss {
    fn and(self, other: GaussianLoss) -> GaussianLoss {
        GaussianLoss {
            rho: (self.rho + other.rho).next_up(),
            least_variance: self.least_variance.min(other.least_variance),
            coordinates: self.coordinates.saturating_add(other.coordinates),
        }
    }

    /// An upper bound of mu for [a curve](super::gaussian_curve) of noise of so much less variance;
    /// None where there is not so much.
    ///
    /// a^2 / (sigma^2 - s^2) is at most a^2 / sigma^2 times v / (v - s^2), v the least sigma^2.
    pub(super) fn mu(self, given_up: f64) -> Option<f64> {
        // what is known of sigma^2 errs by some units of roundoff
        let left = self.least_variance * (1.0 - 4.0 * f64::EPSILON) - given_up;
        let mu = (2.0 * self.rho * (self.least_variance / left)).sqrt() * (1.0 + 1e-15);
        (left > 0.0 && mu.is_finite()).then_some(mu)
    }
}
