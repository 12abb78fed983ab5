//! Releases that are recorded and replayed, for tests: what noise was added to, number by number.
//!
//! The release of a table is recorded. That of its neighbour is replayed: every noisy number is the
//! recorded one, so that whatever follows from those is the same, and the two differ by what was
//! measured alone. How far that is apart, in units of the noise, is the privacy loss at those
//! outcomes; where the number of measurements or their noise differs, it is infinite.
//!
//! A selection is replayed, too: what is taken is the recorded candidate.
//!
//! It sees what passes the places where numbers meet noise, on this thread: a
//! [`LaplaceMechanism`](super::LaplaceMechanism), a group of measurements of range sums, and the
//! selections of `structure_first`. That the samplers keep their laws is for their own tests.

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

/// What was told of the data.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Number {
        exact: i64,
        noise: NoiseOf,
        noisy: i64,
    },
    /// The place of a candidate, by the least of their numbers, each lowered by geometric noise.
    Least {
        exact: Vec<i64>,
        scale: f64,
        place: usize,
    },
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
    recorded: Vec<Told>,
    told: Vec<Told>,
}

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// What a release tells.
pub(crate) fn record(release: impl FnOnce()) -> Vec<Told> {
    replay(&[], release)
}

/// What a release tells if its noisy numbers and what it selects are those.
pub(crate) fn replay(recorded: &[Told], release: impl FnOnce()) -> Vec<Told> {
    TAPE.set(Some(Tape { recorded: recorded.to_vec(), told: Vec::new() }));
    release();
    TAPE.take().expect("a tape").told
}

/// Where a number meets noise: the noisy number that stands.
pub(crate) fn noisy(exact: i64, noise: NoiseOf, noisy: i64) -> i64 {
    TAPE.with_borrow_mut(|tape| {
        let Some(Tape { recorded, told }) = tape else { return noisy };
        let noisy = match recorded.get(told.len()) {
            Some(Told::Number { noisy, .. }) => *noisy,
            _ => noisy,
        };
        told.push(Told::Number { exact, noise, noisy });
        noisy
    })
}

/// Where the noisy least of some numbers is selected, with geometric noise of that scale: the place
/// that stands.
pub(crate) fn least(exact: Vec<i64>, scale: f64, place: usize) -> usize {
    TAPE.with_borrow_mut(|tape| {
        let Some(Tape { recorded, told }) = tape else { return place };
        let place = match recorded.get(told.len()) {
            Some(Told::Least { place, .. }) => *place,
            _ => place,
        };
        told.push(Told::Least { exact, scale, place });
        place
    })
}

/// How far what two neighbours tell is apart.
pub(crate) fn distance(one: &[Told], other: &[Told]) -> Distance {
    let none = Distance { epsilon: 0.0, rho: 0.0 };
    let all = Distance { epsilon: f64::INFINITY, rho: f64::INFINITY };
    if one.len() != other.len() {
        return all;
    }
    let pure = |epsilon| Distance { epsilon, rho: rho_of_pure(epsilon) };
    let of_pair = |(a, b): (&Told, &Told)| match (a, b) {
        (Told::Number { exact: a, noise, .. }, Told::Number { exact: b, noise: of_b, .. })
            if noise == of_b =>
        {
            let moved = a.abs_diff(*b) as f64;
            match *noise {
                _ if moved == 0.0 => none,
                NoiseOf::Laplace(scale) => pure(moved / scale),
                NoiseOf::Gaussian(sigma) => {
                    Distance { epsilon: f64::INFINITY, rho: rho_of_gaussian(moved, sigma) }
                }
            }
        }
        // the one that is taken may move towards the others, and these towards it
        (Told::Least { exact: a, scale, .. }, Told::Least { exact: b, scale: of_b, .. })
            if scale == of_b && a.len() == b.len() =>
        {
            match a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max() {
                None | Some(0) => none,
                Some(moved) => pure(2.0 * moved as f64 / scale),
            }
        }
        _ => all,
    };
    one.iter().zip(other).map(of_pair).fold(none, |sum, one| Distance {
        epsilon: sum.epsilon + one.epsilon,
        rho: sum.rho + one.rho,
    })
}

/// The pairs of neighbours of one mechanism, for a table of all of them.
pub(crate) struct Replayed {
    mechanism: String,
    /// The number that is charged, and of what kind it is.
    declared: (f64, &'static str),
    pairs: usize,
    largest: f64,
}

impl Replayed {
    pub(crate) fn of_epsilon(mechanism: &str, epsilon: f64) -> Replayed {
        Replayed::new(mechanism, (epsilon, "epsilon"))
    }

    pub(crate) fn of_rho(mechanism: &str, rho: f64) -> Replayed {
        Replayed::new(mechanism, (rho, "rho"))
    }

    pub(crate) fn of_delta(mechanism: &str, delta: f64) -> Replayed {
        Replayed::new(mechanism, (delta, "delta"))
    }

    fn new(mechanism: &str, declared: (f64, &'static str)) -> Replayed {
        Replayed { mechanism: mechanism.into(), declared, pairs: 0, largest: 0.0 }
    }

    /// Two neighbours, each released by that.
    pub(crate) fn pair<T: ?Sized>(&mut self, one: &T, other: &T, release: impl Fn(&T)) {
        let recorded = record(|| release(one));
        assert!(!recorded.is_empty(), "{}: nothing is measured", self.mechanism);
        let distance = distance(&recorded, &replay(&recorded, || release(other)));
        self.apart(if self.declared.1 == "rho" { distance.rho } else { distance.epsilon });
    }

    /// Two neighbours that are so far apart.
    pub(crate) fn apart(&mut self, distance: f64) {
        self.pairs += 1;
        self.largest = self.largest.max(distance);
    }

    /// None is farther apart than is declared, and some are that far, but for a share of `slack`.
    /// Printed for `make audit`.
    pub(crate) fn check(self, slack: f64) {
        let Replayed { mechanism, declared: (declared, kind), pairs, largest } = self;
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
            let noise = |told: &[Told]| match told[1] {
                Told::Number { noise, .. } => noise,
                Told::Least { .. } => panic!("nothing is selected"),
            };
            if noise(&recorded) != noise(&leaking) {
                assert_eq!(distance(&recorded, &leaking).epsilon, f64::INFINITY);
            }
        }
        let [recorded, other] = [7, 8].map(|exact| record(|| adaptive(exact, true)));
        assert_eq!(distance(&recorded, &other).rho, f64::INFINITY);
        assert_eq!(distance(&recorded, &recorded[..1]).epsilon, f64::INFINITY);
    }
}
