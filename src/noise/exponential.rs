//! Certified bounds of e^-x in big integers, to any precision.

use num_bigint::BigUint;
use std::ops::{Add, Mul};

/// A real number v >= 0 between two integers at a precision of `bits`:
/// `low` <= 2^bits v <= `high`. The precision is known from the context.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub(super) low: BigUint,
    pub(super) high: BigUint,
}

impl Bounds {
    pub(super) fn exactly(value: BigUint) -> Bounds {
        Bounds { low: value.clone(), high: value }
    }

    pub(super) fn plus(&self, other: &Bounds) -> Bounds {
        Bounds { low: (&self.low).add(&other.low), high: (&self.high).add(&other.high) }
    }

    /// The product, both factors and the result at a precision of `bits`.
    pub(super) fn times(&self, other: &Bounds, bits: u64) -> Bounds {
        Bounds {
            low: (&self.low).mul(&other.low) >> bits,
            high: ((&self.high).mul(&other.high) >> bits) + 1u32,
        }
    }

    /// These bounds at a precision that is lower by `bits`.
    fn coarser(&self, bits: u64) -> Bounds {
        Bounds { low: &self.low >> bits, high: (&self.high >> bits) + 1u32 }
    }
}

/// 2^bits e^(-num/den), between bounds that differ by 2 at most, for num >= 0 and den > 0.
pub(super) fn exp_neg(num: &BigUint, den: &BigUint, bits: u64) -> Bounds {
    if *num == BigUint::ZERO {
        return Bounds::exactly(BigUint::from(1u32) << bits);
    }
    // from x = bits on, e^-x is below 2^-bits
    if *num >= den * bits {
        return Bounds { low: BigUint::ZERO, high: BigUint::from(1u32) };
    }
    // e^-x = (e^-y)^(2^halvings) with y = x / 2^halvings < 2^-8; a squaring doubles the distance of
    // the bounds and adds 1 at each end, which the extra bits absorb
    let halvings = (num.bits() + 9).saturating_sub(den.bits());
    let precision = bits + halvings + 16;
    let one = BigUint::from(1u32) << precision;
    let low = (num << (precision - halvings)) / den;
    let y = Bounds { high: &low + 1u32, low };
    // e^y by its series of positive terms; those that are left out sum to less than the last one
    let mut term = Bounds::exactly(one.clone());
    let mut sum = term.clone();
    for n in 1u32.. {
        term = term.times(&y, precision);
        term = Bounds { low: term.low / n, high: term.high / n + 1u32 };
        sum = sum.plus(&term);
        if term.high.bits() < 3 {
            sum.high += term.high;
            break;
        }
    }
    let square = one << precision;
    let mut power = Bounds { low: &square / sum.high, high: square / sum.low + 1u32 };
    for _ in 0..halvings {
        power = power.times(&power, precision);
    }
    power.coarser(halvings + 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_hold_the_known_digits_of_1_over_e() {
        // Napier's constant's reciprocal, OEIS A068985
        let digits = "36787944117144232159552377016146086744581113103176783450783680169746";
        let known: BigUint = digits.parse().unwrap();
        let ten = BigUint::from(10u32).pow(digits.len() as u32);
        for bits in [1u64, 8, 63, 64, 120, 200] {
            let Bounds { low, high } = exp_neg(&BigUint::from(7u32), &BigUint::from(7u32), bits);
            // known / ten <= 1/e <= (known + 1) / ten
            assert!(&low * &ten <= (&known + 1u32) << bits, "{bits}");
            assert!(&high * &ten >= &known << bits, "{bits}");
            assert!(&high - &low <= BigUint::from(2u32), "{bits}");
        }
    }

    /// e^-x e^-y = e^-(x+y), and more digits lie within the bounds of fewer.
    #[test]
    fn bounds_are_tight_and_consistent_for_small_and_large_arguments() {
        let rationals = [
            (0u128, 1u128),
            (1, 1 << 80),
            (1, 1_000_000_007),
            (3, 7),
            (1, 1),
            ((1 << 89) - 1, 1 << 85),
            (50, 1),
            (100_000, 3),
        ];
        for (num, den) in rationals {
            let (num, den) = (BigUint::from(num), BigUint::from(den));
            let fine = exp_neg(&num, &den, 700);
            for bits in [5u64, 64, 127, 300] {
                let coarse = exp_neg(&num, &den, bits);
                assert!(&coarse.high - &coarse.low <= BigUint::from(2u32));
                assert!(coarse.low << (700 - bits) <= fine.high, "{num}/{den}, {bits}");
                assert!(coarse.high << (700 - bits) >= fine.low, "{num}/{den}, {bits}");
            }
            let value = fine.low.bits() as f64 - 700.0;
            let exact = -(num.to_string().parse::<f64>().unwrap())
                / den.to_string().parse::<f64>().unwrap()
                / std::f64::consts::LN_2;
            if exact > -690.0 {
                assert!((value - exact).abs() <= 1.0 + 1e-6, "{num}/{den}: {value} {exact}");
            }
            let double = exp_neg(&(&num * 2u32), &den, 300);
            let single = exp_neg(&num, &den, 300);
            let product = single.times(&single, 300);
            assert!(product.low <= double.high && double.low <= product.high, "{num}/{den}");
        }
    }
}
