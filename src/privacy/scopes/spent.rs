//! What charges come to, in whole numbers: these add up to the same in any order.

use std::ops::AddAssign;

/// None of the three is ever less than what was charged: a part of a unit counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Spent {
    /// In units of 10^-24.
    pub epsilon: i128,
    /// In units of 10^-24.
    pub rho: i128,
    /// In units of 10^-36: deltas are small, and less than 1.
    pub delta: i128,
}

impl Spent {
    /// Decimal digits of the units.
    pub(super) const DIGITS: usize = 24;
    pub(super) const DELTA_DIGITS: usize = 36;

    fn each(self, other: Spent, of: impl Fn(i128, i128) -> i128) -> Spent {
        Spent {
            epsilon: of(self.epsilon, other.epsilon),
            rho: of(self.rho, other.rho),
            delta: of(self.delta, other.delta),
        }
    }

    /// Each at least that of both.
    pub(super) fn largest(self, other: Spent) -> Spent {
        self.each(other, i128::max)
    }

    /// The rest of a sum, which has not been too much to add.
    pub(super) fn without(self, part: Spent) -> Spent {
        self.each(part, |sum, part| sum - part)
    }

    /// What is more than `most` no longer shows by how much.
    pub(super) fn capped(self, most: i128) -> Spent {
        self.each(self, |sum, _| sum.min(most))
    }

    /// What is more than `most` is more than all numbers.
    pub(super) fn uncapped(self, most: i128) -> Spent {
        self.each(self, |sum, _| if sum > most { i128::MAX } else { sum })
    }

    /// Whether none of the three is more than the other's.
    pub(super) fn is_within(self, other: Spent) -> bool {
        self.largest(other) == other
    }

    pub fn epsilon_decimal(&self) -> String {
        decimal(self.epsilon, Spent::DIGITS)
    }

    pub fn delta_decimal(&self) -> String {
        decimal(self.delta, Spent::DELTA_DIGITS)
    }

    /// Within some units of roundoff. What is more than units can say is infinite.
    pub(super) fn epsilon(&self) -> f64 {
        value(self.epsilon)
    }

    /// The same.
    pub fn rho(&self) -> f64 {
        value(self.rho)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        *self = self.each(other, i128::saturating_add);
    }
}

fn value(units: i128) -> f64 {
    if units == i128::MAX { f64::INFINITY } else { units as f64 / 1e24 }
}

fn decimal(units: i128, places: usize) -> String {
    let digits = format!("{units:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let spent = Spent { epsilon: 9 * 10i128.pow(24) / 4, rho: 0, delta: 5 * 10i128.pow(29) };
        assert_eq!(spent.epsilon_decimal(), "2.250000000000000000000000");
        assert_eq!(spent.delta_decimal(), "0.000000500000000000000000000000000000");
        assert_eq!(Spent::default().epsilon_decimal(), "0.000000000000000000000000");
    }

    #[test]
    fn what_is_too_much_to_add_stays_too_much() {
        let huge = Spent { epsilon: i128::MAX, rho: i128::MAX - 1, delta: 1 };
        let mut more = huge;
        more += huge;
        assert_eq!(more, Spent { epsilon: i128::MAX, rho: i128::MAX, delta: 2 });
        assert_eq!((more.rho(), more.epsilon()), (f64::INFINITY, f64::INFINITY));
    }
}
