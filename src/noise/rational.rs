//! Scales of noise as the exact rational numbers that they are.

use std::fmt;

/// The smallest scale that the samplers support.
pub const MIN_SCALE: f64 = 1e-6;
/// The largest scale that the samplers support.
pub const MAX_SCALE: f64 = 1e9;

/// Budgets are rounded down by a hair before they become scales (see `privacy`), so a scale asked
/// for at either end of the range may come out beyond it by this much, relatively.
const RANGE_SLACK: f64 = 1e-12;

/// Why a scale cannot be sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScaleError {
    /// The budget is zero, negative, infinite or not a number.
    NotPositiveFinite,
    /// sensitivity / epsilon lies outside [`MIN_SCALE`], [`MAX_SCALE`].
    OutOfRange { scale: f64 },
}

/// A number as messages show it: not with the hundreds of zeros that some are written with.
pub fn shown(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-15..1e16).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}

impl fmt::Display for ScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScaleError::NotPositiveFinite => write!(f, "must be a positive, finite number"),
            ScaleError::OutOfRange { scale } => write!(
                f,
                "leads to a noise scale of {scale:e}, outside the supported range \
                 {MIN_SCALE:e} to {MAX_SCALE:e}"
            ),
        }
    }
}

impl std::error::Error for ScaleError {}

/// The scale t of a noise distribution, kept as the exact fraction 1/t = `rate_num` / `rate_den`.
///
/// Both parts stay below 2^90, which leaves the samplers room for their products in `u128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    rate_num: u128,
    rate_den: u128,
}

impl Scale {
    /// t = sensitivity / epsilon, with epsilon taken as the exact rational that the `f64` is.
    ///
    /// Errors: epsilon not positive and finite; t outside [`MIN_SCALE`], [`MAX_SCALE`].
    pub fn new(sensitivity: u64, epsilon: f64) -> Result<Scale, ScaleError> {
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(ScaleError::NotPositiveFinite);
        }
        let scale = sensitivity as f64 / epsilon;
        if !(MIN_SCALE * (1.0 - RANGE_SLACK)..=MAX_SCALE * (1.0 + RANGE_SLACK)).contains(&scale) {
            return Err(ScaleError::OutOfRange { scale });
        }
        let (num, den) = exact_fraction(epsilon);
        Ok(Scale { rate_num: num, rate_den: den * u128::from(sensitivity) })
    }

    /// 1/t as (numerator, denominator).
    pub(super) fn rate(&self) -> (u128, u128) {
        (self.rate_num, self.rate_den)
    }

    /// The scale as a floating-point number, for predictions and variances, never for sampling.
    pub fn as_f64(&self) -> f64 {
        self.rate_den as f64 / self.rate_num as f64
    }
}

/// A positive, finite `f64` as the fraction of integers that equals it.
///
/// The caller bounds the value to about 1e-10 .. 1e26, so both parts fit easily.
pub(super) fn exact_fraction(value: f64) -> (u128, u128) {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let biased = (bits >> MANTISSA_BITS) as i32;
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let mantissa = fraction | (1 << MANTISSA_BITS);
    let zeros = mantissa.trailing_zeros();
    let odd = u128::from(mantissa >> zeros);
    let exponent = biased - 1023 - MANTISSA_BITS as i32 + zeros as i32;
    if exponent >= 0 { (odd << exponent, 1) } else { (odd, 1 << -exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages() {
        for (value, text) in [
            (1.0, "1"),
            (0.0, "0"),
            (1e-12, "0.000000000001"),
            (1e-300, "1e-300"),
            (-2.5e300, "-2.5e300"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn a_float_is_the_fraction_it_stands_for() {
        assert_eq!(exact_fraction(1.0), (1, 1));
        assert_eq!(exact_fraction(0.75), (3, 4));
        assert_eq!(exact_fraction(6.0), (6, 1));
        // 0.1 as a double is not 1/10 but this dyadic rational
        assert_eq!(exact_fraction(0.1), (3602879701896397, 1 << 55));
        for value in [1e-9, 3.3e-7, 0.017, 1.0 / 3.0, 2.5, 1e6, 123456.789] {
            let (num, den) = exact_fraction(value);
            assert_eq!(num as f64 / den as f64, value);
        }
    }

    #[test]
    fn the_supported_range_is_inclusive_and_everything_else_is_refused() {
        assert!(Scale::new(1, 1e6).is_ok());
        assert!(Scale::new(1, 1e-9).is_ok());
        assert!(matches!(Scale::new(1, 1.1e6), Err(ScaleError::OutOfRange { .. })));
        assert!(matches!(Scale::new(2, 1e-9), Err(ScaleError::OutOfRange { .. })));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Scale::new(1, bad), Err(ScaleError::NotPositiveFinite));
        }
    }

    #[test]
    fn parts_stay_small_enough_for_products_in_u128() {
        for (sensitivity, epsilon) in [
            (1, 1.1e-9),
            (2, 2.1e-9),
            (1, 1e6),
            (2, 1.999999e6),
            (u64::MAX, 1.9e10),
            (u64::MAX, 1.8e25),
        ] {
            let (num, den) = Scale::new(sensitivity, epsilon).unwrap().rate();
            assert!(num < 1 << 90 && den < 1 << 90);
        }
    }
}
