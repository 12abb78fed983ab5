//! A coin for what may be told only if many have it: whether something that n units of privacy have
//! appears, by the largest probabilities p(n) that (epsilon, delta) allows.
//!
//! Of all mechanisms that are (epsilon, delta)-DP, that never let appear what nobody has, and where
//! one unit more or less changes n by 1, none lets anything appear more often (Desfontaines, Voss,
//! Gipson, Mandayam 2022, theorem 1) than with p(0) = 0 and
//!
//!   p(n + 1) = min(e^epsilon p(n) + delta,  1 - e^-epsilon (1 - p(n) - delta),  1).
//!
//! The first says that "it appears" is not likelier by more than (epsilon, delta) for one more, the
//! second that "it does not" is not for one less. (Truncated geometric noise and a threshold have
//! nearly that law, ibid. theorem 2. A threshold of Gaussian noise takes more units where each has one
//! thing, some 33 for 19 at epsilon 1 and delta 1e-8, about as many at three things, and fewer at
//! more, as it grows with the root of their number: that is not built.)
//!
//! Here the probabilities are integers P(n) in units of 2^-127, and the coin is U < P(n) for a U of
//! 127 random bits: its law is exactly P(n) / 2^127. Each P(n + 1) follows from P(n) itself, not from
//! p(n), with bounds of e^-epsilon and every step rounded down. So the integers keep both
//! conditions, not only what they stand for:
//!
//! - With E >= 2^127 e^-epsilon and D <= 2^127 delta,
//!   P(n + 1) <= floor(2^127 P(n) / E) + D <= e^epsilon P(n) + 2^127 delta.
//! - 2^127 - P(n + 1) >= ceil(E (2^127 - P(n) - D) / 2^127) >= e^-epsilon (2^127 - P(n) - 2^127 delta).
//! - The other two directions follow as P never falls: both bounds are at least P(n) + D.

use super::exponential::exp_neg;
use super::rational::Scale;
use super::words::RandomWords;
use num_bigint::BigUint;
use std::fmt;
use std::sync::Arc;

/// The places of a probability.
const BITS: u32 = 127;
/// A probability of 1.
pub(crate) const CERTAIN: u128 = 1 << BITS;

/// Of a delta: smaller ones are no integer of many digits.
pub const MIN_DELTA: f64 = 1e-30;

/// From how many units on something is certain to appear at most: what more of them have is rare,
/// and the probabilities are a table.
const MOST_UNITS: usize = 1 << 20;

/// What is calibrated to is smaller than the delta that is asked for by this share, as the ledger adds
/// up decimals, which may be below the `f64`.
const MARGIN_BITS: u32 = 48;

/// Why there is no such coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppearanceError {
    /// delta / things is below [`MIN_DELTA`], or 1 or more.
    Delta,
    /// Nothing would be certain to appear that fewer than a million units have.
    Faint,
}

/// The probabilities P(n) for n from 0 up to where it is certain.
#[derive(Clone, PartialEq, Eq)]
pub struct Appearance {
    probabilities: Arc<[u128]>,
}

impl Appearance {
    /// For units that have up to so many things: of each the probability changes by
    /// (1 / scale, delta / things) at most, so of all by (things / scale, delta).
    ///
    /// Errors: as they say.
    pub fn new(scale: Scale, delta: f64, things: u32) -> Result<Appearance, AppearanceError> {
        if !(delta > 0.0 && delta < 1.0 && delta >= MIN_DELTA * f64::from(things)) {
            return Err(AppearanceError::Delta);
        }
        // a power of two changes no digit, and what is behind the point is cut off
        let whole = (delta * CERTAIN as f64) as u128;
        let delta = (whole - (whole >> MARGIN_BITS) - 1) / u128::from(things);
        let (num, den) = scale.rate();
        let fall = exp_neg(&num.into(), &den.into(), BITS.into()).high;
        let mut probabilities = vec![0];
        let mut last = 0;
        while last < CERTAIN {
            if probabilities.len() > MOST_UNITS {
                return Err(AppearanceError::Faint);
            }
            last = next(last, delta, &fall);
            probabilities.push(last);
        }
        Ok(Appearance { probabilities: probabilities.into() })
    }

    /// In units of 2^-127.
    pub(crate) fn chance(&self, units: u64) -> u128 {
        let last = self.probabilities.len() - 1;
        self.probabilities[usize::try_from(units).unwrap_or(last).min(last)]
    }

    /// The probability that something appears that so many have, for predictions.
    pub fn probability(&self, units: u64) -> f64 {
        self.chance(units) as f64 / CERTAIN as f64
    }

    /// How many must have something so that it appears with at least this probability.
    pub fn least_units(&self, probability: f64) -> u64 {
        let enough = (probability.clamp(0.0, 1.0) * CERTAIN as f64) as u128;
        self.probabilities.partition_point(|chance| *chance < enough) as u64
    }

    /// Whether something appears that so many have: one exact draw. It takes the same words whatever
    /// that number is.
    pub(crate) fn appears<R: RandomWords + ?Sized>(&self, units: u64, words: &mut R) -> bool {
        let word = u128::from(words.next_u64()) << 64 | u128::from(words.next_u64());
        word >> (u128::BITS - BITS) < self.chance(units)
    }
}

/// P(n + 1). `fall`: e^-epsilon, rounded up.
fn next(last: u128, delta: u128, fall: &BigUint) -> u128 {
    let Some(missing) = CERTAIN.checked_sub(last + delta).filter(|missing| *missing > 0) else {
        return CERTAIN;
    };
    let missing = (fall * missing + (CERTAIN - 1)) >> BITS;
    let below = CERTAIN - u128::try_from(missing).unwrap_or(CERTAIN);
    let grown: BigUint = (BigUint::from(last) << BITS) / fall + delta;
    u128::try_from(grown).map_or(below, |grown| grown.min(below))
}

/// Not the whole table.
impl fmt::Debug for Appearance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Appearance(certain from {})", self.probabilities.len() - 1)
    }
}

/// At least 2^`bits` e^-epsilon.
#[cfg(test)]
pub(crate) fn exp_neg_above(epsilon: f64, bits: u64) -> BigUint {
    let (num, den) = super::rational::exact_fraction(epsilon);
    exp_neg(&num.into(), &den.into(), bits).high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness_of_fit::rejects_counts;
    use crate::noise::words_from_system;

    const SETTINGS: [(f64, f64); 9] = [
        (1.0, 1e-6),
        (0.1, 1e-9),
        (3.0, 1e-12),
        (0.01, 1e-5),
        (2.0, 0.1),
        (1e-3, 0.3),
        (20.0, 1e-30),
        (200.0, 1e-10),
        (0.5, 0.999),
    ];

    fn of(epsilon: f64, delta: f64) -> Appearance {
        Appearance::new(Scale::new(1, epsilon).unwrap(), delta, 1).unwrap()
    }

    /// The four conditions between all neighbouring n, in integers: of the first two with e^-epsilon
    /// rounded up, which is harder.
    #[test]
    fn integers_of_neighbours_keep_epsilon_and_delta() {
        for (epsilon, delta) in SETTINGS {
            let law = of(epsilon, delta);
            let fall = exp_neg_above(epsilon, 300);
            let delta = (delta * CERTAIN as f64) as u128;
            // e^-epsilon (one - delta) <= other
            let keeps = |one: u128, other: u128| {
                &fall * one.saturating_sub(delta) <= BigUint::from(other) << 300u32
            };
            assert_eq!(law.chance(0), 0);
            for (n, pair) in law.probabilities.windows(2).enumerate() {
                let [less, more] = [pair[0], pair[1]];
                let (no_less, no_more) = (CERTAIN - less, CERTAIN - more);
                assert!(keeps(more, less) && keeps(less, more), "{epsilon} {delta} {n}");
                assert!(
                    keeps(no_more, no_less) && keeps(no_less, no_more),
                    "{epsilon} {delta} {n}"
                );
            }
        }
    }

    /// What one unit alone has appears with a probability of delta at most, also if it has several
    /// things: with any of them.
    #[test]
    fn what_one_unit_has_appears_with_delta_at_most() {
        for (epsilon, delta) in SETTINGS {
            for things in [1, 2, 7, 1000] {
                let scale = Scale::new(things.into(), epsilon).unwrap();
                let Ok(law) = Appearance::new(scale, delta, things) else { continue };
                let allowed = (delta * CERTAIN as f64) as u128;
                let one = law.chance(1);
                assert!(one * u128::from(things) <= allowed, "{epsilon} {delta} {things}");
                assert!(one as f64 * f64::from(things) > allowed as f64 * (1.0 - 1e-7));
            }
        }
    }

    /// Against the closed form of the theorem.
    #[test]
    fn probabilities_are_the_largest_that_are_allowed() {
        for (epsilon, delta) in [(1.0f64, 1e-6f64), (0.1, 1e-9), (0.01, 1e-5), (2.0, 1e-3)] {
            let law = of(epsilon, delta);
            let grow = epsilon.exp();
            let first =
                (((grow + 2.0 * delta - 1.0) / (delta * (grow + 1.0))).ln() / epsilon) as u64;
            let first = first + 1;
            let up_to = |n: u64| (epsilon * n as f64).exp_m1() / epsilon.exp_m1() * delta;
            let optimal = |n: u64| match n.checked_sub(first) {
                None | Some(0) => up_to(n),
                Some(more) => {
                    let fall = (-epsilon * more as f64).exp();
                    ((1.0 - fall) * (1.0 + delta / epsilon.exp_m1()) + fall * up_to(first)).min(1.0)
                }
            };
            for n in 0..law.probabilities.len() as u64 + 2 {
                let (exact, optimal) = (law.probability(n), optimal(n));
                assert!(
                    (exact - optimal).abs() <= 1e-9 * optimal,
                    "{epsilon} {n}: {exact} {optimal}"
                );
            }
            let half = law.least_units(0.5);
            assert!(law.probability(half) >= 0.5 && law.probability(half - 1) < 0.5);
            assert_eq!(law.least_units(1.0), law.probabilities.len() as u64 - 1);
            assert_eq!(law.chance(u64::MAX), CERTAIN);
        }
    }

    /// Fails with probability 1e-8 at most; a law that is one unit off does not pass.
    #[test]
    fn coins_land_as_often_as_the_integers_say() {
        let mut words = words_from_system().unwrap();
        let law = of(0.5, 0.05);
        let draws = 100_000;
        for n in [0, 1, 2, 3, 4, 5, 40] {
            let appeared = (0..draws).filter(|_| law.appears(n, &mut words)).count() as f64;
            let rejects = |n| {
                let expected = law.probability(n) * f64::from(draws);
                match law.chance(n) {
                    0 => appeared > 0.0,
                    CERTAIN => appeared < f64::from(draws),
                    _ => {
                        let rest = f64::from(draws);
                        rejects_counts(&[appeared, rest - appeared], &[expected, rest - expected])
                    }
                }
            };
            assert!(!rejects(n), "{n}: {appeared}");
            assert!(rejects(n + 1) || n == 40, "{n}: {appeared}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let scale = |epsilon| Scale::new(1, epsilon).unwrap();
        for delta in [0.0, -1.0, 1.0, f64::NAN, 1e-31, f64::MIN_POSITIVE] {
            let refused = Appearance::new(scale(1.0), delta, 1);
            assert_eq!(refused.unwrap_err(), AppearanceError::Delta, "{delta}");
        }
        assert!(Appearance::new(scale(1.0), 1e-30, 1).is_ok());
        assert_eq!(Appearance::new(scale(1.0), 1e-30, 2).unwrap_err(), AppearanceError::Delta);
        assert_eq!(Appearance::new(scale(1e-6), 1e-9, 1).unwrap_err(), AppearanceError::Faint);
    }
}
