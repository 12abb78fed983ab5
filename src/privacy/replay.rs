//! Releases that are recorded and replayed, for tests: what noise was added to, number by number.
//!
//! The release of a table is recorded. That of its neighbour is replayed: every noisy number is the
//! recorded one, so that whatever follows from those is the same, and the two differ by what was
//! measured alone. How far that is apart, in units of the noise, is the privacy loss at those
//! outcomes; where the number of measurements or their noise differs, it is infinite.
//!
//! It sees what passes the two places where numbers meet noise, on this thread: a
//! [`LaplaceMechanism`](super::LaplaceMechanism) and a group of measurements of range sums. That the
//! samplers keep their laws is for their own tests.

use super::accounting::{rho_of_gaussian, rho_of_pure};
use std::cell::RefCell;

/// The noise that a number got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NoiseOf {
    /// Of that scale.
    Laplace(f64),
    /// Of that sigma.
    Gaussian(f64),
}

/// A number that was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    exact: i64,
    noise: NoiseOf,
    noisy: i64,
}

/// Of two neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Distance {
    /// The sum of |distance| / scale; infinite where there is Gaussian noise.
    pub(crate) epsilon: f64,
    /// The sum of distance^2 / (2 sigma^2), and of what Laplace noise costs.
    pub(crate) rho: f64,
}

struct Tape {
    recorded: Vec<Number>,
    numbers: Vec<Number>,
}

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// What a release measures.
pub(crate) fn record(release: impl FnOnce()) -> Vec<Number> {
    replay(&[], release)
}

/// What a release measures if its noisy numbers are those.
pub(crate) fn replay(recorded: &[Number], release: impl FnOnce()) -> Vec<Number> {
    TAPE.set(Some(Tape { recorded: recorded.to_vec(), numbers: Vec::new() }));
    release();
    TAPE.take().expect("a tape").numbers
}

/// Where a number meets noise: the noisy number that stands.
pub(crate) fn noisy(exact: i64, noise: NoiseOf, noisy: i64) -> i64 {
    TAPE.with_borrow_mut(|tape| {
        let Some(Tape { recorded, numbers }) = tape else { return noisy };
        let noisy = recorded.get(numbers.len()).map_or(noisy, |recorded| recorded.noisy);
        numbers.push(Number { exact, noise, noisy });
        noisy
    })
}

/// How far what was measured of two neighbours is apart.
pub(crate) fn distance(one: &[Number], other: &[Number]) -> Distance {
    if one.len() != other.len() || one.iter().zip(other).any(|(a, b)| a.noise != b.noise) {
        return Distance { epsilon: f64::INFINITY, rho: f64::INFINITY };
    }
    let of_pair = |(a, b): (&Number, &Number)| {
        let moved = a.exact.abs_diff(b.exact) as f64;
        match a.noise {
            _ if moved == 0.0 => Distance { epsilon: 0.0, rho: 0.0 },
            NoiseOf::Laplace(scale) => {
                Distance { epsilon: moved / scale, rho: rho_of_pure(moved / scale) }
            }
            NoiseOf::Gaussian(sigma) => {
                Distance { epsilon: f64::INFINITY, rho: rho_of_gaussian(moved, sigma) }
            }
        }
    };
    one.iter().zip(other).map(of_pair).fold(Distance { epsilon: 0.0, rho: 0.0 }, |sum, one| {
        Distance { epsilon: sum.epsilon + one.epsilon, rho: sum.rho + one.rho }
    })
}

/// The pairs of neighbours of one mechanism, for a table of all of them.
pub(crate) struct Replayed {
    mechanism: String,
    /// The number that is charged, and whether it is a rho.
    declared: (f64, bool),
    pairs: usize,
    largest: f64,
}

impl Replayed {
    pub(crate) fn of_epsilon(mechanism: &str, epsilon: f64) -> Replayed {
        Replayed::new(mechanism, (epsilon, false))
    }

    pub(crate) fn of_rho(mechanism: &str, rho: f64) -> Replayed {
        Replayed::new(mechanism, (rho, true))
    }

    fn new(mechanism: &str, declared: (f64, bool)) -> Replayed {
        Replayed { mechanism: mechanism.into(), declared, pairs: 0, largest: 0.0 }
    }

    /// Two neighbours, each released by that.
    pub(crate) fn pair<T: ?Sized>(&mut self, one: &T, other: &T, release: impl Fn(&T)) {
        let recorded = record(|| release(one));
        assert!(!recorded.is_empty(), "{}: nothing is measured", self.mechanism);
        let distance = distance(&recorded, &replay(&recorded, || release(other)));
        let distance = if self.declared.1 { distance.rho } else { distance.epsilon };
        self.pairs += 1;
        self.largest = self.largest.max(distance);
    }

    /// None is farther apart than is declared, and some are that far, but for a share of `slack`.
    /// Printed for `make audit`.
    pub(crate) fn check(self, slack: f64) {
        let Replayed { mechanism, declared: (declared, is_rho), pairs, largest } = self;
        let kind = if is_rho { "rho" } else { "epsilon" };
        println!("replayed|{mechanism}|{kind}|{declared:.6}|{pairs}|{largest:.6}");
        let share = largest / declared;
        assert!(share <= 1.0 + 1e-12, "{mechanism}: {largest} of {declared}");
        assert!(share >= 1.0 - slack, "{mechanism} attains {largest} of {declared}");
    }
}

mod tests {
    use super::super::LaplaceMechanism;
    use super::*;
    use crate::noise::words_from_system;

    /// The second number is measured with noise that follows from the first one, or from the data.
    fn adaptive(exact: i64, follows: bool) {
        let words = &mut words_from_system().unwrap();
        let first = LaplaceMechanism::new(1, 0.5).unwrap().add(exact, words);
        let told = if follows { exact } else { first };
        let epsilon = if told % 2 == 0 { 0.25 } else { 0.75 };
        LaplaceMechanism::new(2, epsilon).unwrap().add(2 * exact, words);
    }

    #[test]
    fn what_follows_from_noisy_numbers_is_replayed_and_what_follows_from_data_is_found() {
        for _ in 0..50 {
            let recorded = record(|| adaptive(7, false));
            let other = replay(&recorded, || adaptive(8, false));
            let Distance { epsilon, rho } = distance(&recorded, &other);
            assert!(epsilon == 0.75 || epsilon == 1.25, "{epsilon}");
            assert!(rho > 0.0 && rho < epsilon, "{rho}");
            let leaking = replay(&recorded, || adaptive(8, true));
            if recorded[1].noise != leaking[1].noise {
                assert_eq!(distance(&recorded, &leaking).epsilon, f64::INFINITY);
            }
        }
        let [recorded, other] = [7, 8].map(|exact| record(|| adaptive(exact, true)));
        assert_eq!(distance(&recorded, &other).rho, f64::INFINITY);
        assert_eq!(distance(&recorded, &recorded[..1]).epsilon, f64::INFINITY);
    }
}
