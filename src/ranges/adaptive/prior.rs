//! What a level of differences looks like, learned from the level itself.
//!
//! A difference is normal around 0, its standard deviation one of twelve shares c of the node's size:
//! with c = 0 the halves hold the same, with c = 1 one of them may hold everything. How often each
//! share occurs is the level's own: the weights of largest likelihood, found by expectation and
//! maximisation (Dempster, Laird, Rubin 1977), after [`ADDED`] observations of what real data hold, so
//! that a level of few differences is not taken for flat by chance.

use crate::work::done;

/// c.
const SHARES: [f64; 12] = [0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0];

/// Four observations that are added, of each c as many as levels of 60 histograms of real data had of it
/// in the mean, none of which is in the report: the halves of a node seldom hold nearly the same.
const ADDED: [f64; SHARES.len()] =
    [0.0, 0.04, 0.08, 0.12, 0.12, 0.2, 0.36, 0.56, 0.8, 1.2, 0.48, 0.04];

const ROUNDS: usize = 30;

/// An unbiased estimate of a difference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) difference: f64,
    /// Of its noise.
    pub(super) variance: f64,
}

impl Measured {
    /// `size_squared`: of the node, the mean of its size's square, as far as that is known.
    pub(super) fn of(self, size_squared: f64) -> Observed {
        let Measured { difference, variance } = self;
        Observed { difference, variance, size_squared }
    }
}

/// With what it is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    difference: f64,
    variance: f64,
    size_squared: f64,
}

/// For each of the level's differences, how likely it is to have each c.
struct Posterior<'a> {
    level: &'a [Observed],
    /// The densities of the observations for each c, up to a factor of each observation's.
    likelihoods: Vec<[f64; SHARES.len()]>,
}

impl Observed {
    /// Of the true difference.
    fn prior_variance(&self, share: f64) -> f64 {
        share * share * self.size_squared
    }

    fn likelihoods(&self) -> [f64; SHARES.len()] {
        let logarithms = SHARES.map(|share| {
            let variance = self.variance + self.prior_variance(share);
            -(self.difference * self.difference / variance + variance.ln()) / 2.0
        });
        let largest = logarithms.into_iter().fold(f64::NEG_INFINITY, f64::max);
        logarithms.map(|logarithm| (logarithm - largest).exp())
    }
}

impl Posterior<'_> {
    fn of(level: &[Observed]) -> Posterior<'_> {
        done((SHARES.len() * level.len()) as u64);
        Posterior { level, likelihoods: level.iter().map(Observed::likelihoods).collect() }
    }

    /// For each difference, with these weights.
    fn probabilities(
        &self,
        weights: [f64; SHARES.len()],
    ) -> impl Iterator<Item = [f64; SHARES.len()]> {
        self.likelihoods.iter().map(move |likelihoods| {
            let mut joint = *likelihoods;
            joint.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
            let sum: f64 = joint.iter().sum();
            joint.map(|value| value / sum)
        })
    }

    fn weights(&self) -> [f64; SHARES.len()] {
        let mut weights = [1.0 / SHARES.len() as f64; SHARES.len()];
        for _ in 0..ROUNDS {
            done(self.level.len() as u64);
            let mut counts = ADDED;
            for probabilities in self.probabilities(weights) {
                counts.iter_mut().zip(probabilities).for_each(|(count, p)| *count += p);
            }
            let sum: f64 = counts.iter().sum();
            weights = counts.map(|count| count / sum);
        }
        weights
    }

    fn learned(&self) -> Vec<Learned> {
        let probabilities = self.probabilities(self.weights());
        let learned = |(observed, probabilities): (&Observed, [f64; SHARES.len()])| {
            let (mut kept, mut taken, mut square) = (0.0, 0.0, 0.0);
            for (share, probability) in SHARES.into_iter().zip(probabilities) {
                let variance = observed.prior_variance(share);
                let both = variance + observed.variance;
                kept += probability * variance / both;
                // apart, as it can be tiny
                taken += probability * observed.variance / both;
                square += probability * (variance / both).powi(2);
            }
            let between = (square - kept * kept).max(0.0);
            let between = between * observed.difference.powi(2) / observed.variance;
            Learned { kept, taken, between }
        };
        self.level.iter().zip(probabilities).map(learned).collect()
    }
}

/// What its posterior makes of a difference, taken alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Learned {
    /// By how much the unbiased estimate is multiplied in the mean, and what is missing to 1.
    kept: f64,
    taken: f64,
    /// The variance between the means of different c, over that of the noise.
    between: f64,
}

/// The variances are kept within these parts of the noise's.
const KEPT: f64 = 1e-5;
const TAKEN: f64 = 1e-6;

/// What is kept of a difference is this mean, the geometric one, of what the model says and of all: the
/// model is wrong of differences that hang together, as those of a comb of bins do, and a little less
/// shrinkage costs little where it is right.
const OF_MODEL: f64 = 0.8;

impl Learned {
    /// Of what variance the truth has to be, over the noise's, for the mean to keep so much.
    pub(super) fn for_mean(self) -> f64 {
        let kept = OF_MODEL * (-self.taken.min(1.0 - KEPT)).ln_1p();
        kept.exp() / -kept.exp_m1()
    }

    /// For the same variance of the posterior, which has two parts: the mean of what each c leaves,
    /// and that between their means. That no count is below 0 comes later, with
    /// [`counted`](super::counted).
    pub(super) fn for_variance(self) -> f64 {
        (self.kept + self.between).max(KEPT) / (self.taken - self.between).max(TAKEN)
    }

    /// The mean and the variance of the true difference.
    pub(super) fn difference(self, observed: &Observed) -> (f64, f64) {
        (self.kept * observed.difference, (self.kept + self.between) * observed.variance)
    }
}

/// Of each of a level's differences.
pub(super) fn learned(level: &[Observed]) -> Vec<Learned> {
    Posterior::of(level).learned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    /// Differences of nodes of size 1,000, whose truth has that standard deviation and whose noise
    /// has 10.
    fn level(truth: f64, count: usize) -> Vec<Observed> {
        let mut random = ChaCha20Rng::seed_from_u64(4);
        let deviation = (truth * truth + 100.0_f64).sqrt();
        let one = || {
            let normal: f64 = StandardNormal.sample(&mut random);
            Measured { difference: deviation * normal, variance: 100.0 }.of(1e6)
        };
        std::iter::repeat_with(one).take(count).collect()
    }

    #[test]
    fn a_level_of_noise_is_taken_for_noise_and_one_of_differences_for_those() {
        let mean_kept = |truth| {
            let learned = learned(&level(truth, 500));
            learned.iter().map(|one| one.kept).sum::<f64>() / 500.0
        };
        assert!(mean_kept(0.0) < 0.1, "{}", mean_kept(0.0));
        // half of what varies is truth; then nearly all
        assert!((0.3..0.6).contains(&mean_kept(10.0)), "{}", mean_kept(10.0));
        assert!(mean_kept(200.0) > 0.98, "{}", mean_kept(200.0));
    }

    #[test]
    fn what_may_be_large_or_not_is_less_certain() {
        let mut mixed = level(0.0, 100);
        mixed.extend(level(300.0, 20));
        mixed[0].difference = 33.0;
        let one = learned(&mixed)[0];
        assert!(one.between > 0.2 && one.for_variance() > 1.5 * one.for_mean(), "{one:?}");
        assert!((one.kept + one.taken - 1.0).abs() < 1e-12);
    }
}
