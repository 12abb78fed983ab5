//! Gaussian noise for an (epsilon, delta) budget, by way of zCDP.

use super::accounting::zcdp_epsilon;
use super::epsilon::Epsilon;
use num_rational::Ratio;
use std::fmt;

/// A sigma exceeds its formula by this share, 2^-48: 32 units of roundoff for the 5 that the
/// formula's conversions, quotients and root may err by.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// delta is not a number between 0 and 1, both excluded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaError {
    pub delta: f64,
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be greater than 0 and less than 1, got {}", self.delta)
    }
}

impl std::error::Error for DeltaError {}

/// The largest rho for which [`zcdp_epsilon`] stays within `epsilon` at `delta`: every rho-zCDP
/// mechanism is (epsilon, delta)-DP, by the tight conversion and rounded down.
///
/// Errors: delta outside 0 to 1, or so small (below 2e-308) that nothing is bounded.
pub fn zcdp_rho(epsilon: Epsilon, delta: f64) -> Result<f64, DeltaError> {
    let within = |rho: f64| zcdp_epsilon(rho, delta).is_some_and(|e| e <= epsilon.value());
    if !(delta < 1.0 && within(0.0)) {
        return Err(DeltaError { delta });
    }
    // positive f64s are ordered as their bits are; whatever rounding does to the order of
    // neighbouring epsilons, `low` is within at the end
    let (mut low, mut high) = (0.0f64.to_bits(), f64::MAX.to_bits());
    while high - low > 1 {
        let middle = low.midpoint(high);
        if within(f64::from_bits(middle)) { low = middle } else { high = middle }
    }
    Ok(f64::from_bits(low))
}

/// The parameter of the discrete Gaussian that `rho` asks for where neighbours' integers are at
/// most sqrt(`square`) apart in the L2 norm: sqrt(`square` / (2 rho)), rounded up, so that exactly
/// square / (2 sigma^2) <= rho (Canonne, Kamath, Steinke 2020, theorem 4).
///
/// With a noise of its own for each integer, of parameters sigma_i = sqrt(`square` w_i / (2 rho))
/// from this function, the same holds for `square` = the largest sum of a_i^2 / w_i over the
/// differences a of neighbours: the sum of a_i^2 / (2 sigma_i^2) is at most rho.
///
/// Infinite if rho is 0, for the sampler to refuse; not a number if it is negative.
pub fn gaussian_sigma(square: Ratio<u64>, rho: f64) -> f64 {
    let square = *square.numer() as f64 / *square.denom() as f64;
    (square / (2.0 * rho)).sqrt() * (1.0 + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn rho(epsilon: f64, delta: f64) -> f64 {
        zcdp_rho(Epsilon::new(epsilon).unwrap(), delta).unwrap()
    }

    #[test]
    fn sigmas_of_the_tight_conversion() {
        for (epsilon, delta, sigma) in
            [(0.1, 1e-6, "39.46"), (1.0, 1e-6, "4.531"), (1.0, 1e-9, "5.779"), (4.0, 1e-9, "1.557")]
        {
            let found = gaussian_sigma(Ratio::from(1), rho(epsilon, delta));
            let digits = sigma.len() - sigma.find('.').unwrap() - 1;
            assert_eq!(format!("{found:.digits$}"), sigma);
        }
    }

    /// value = mantissa * 2^exponent, the value positive and normal.
    fn parts(value: f64) -> (BigUint, i64) {
        let bits = value.to_bits();
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        (BigUint::from(mantissa), (bits >> 52) as i64 - 1075)
    }

    proptest! {
        #[test]
        fn the_loss_is_at_most_what_was_asked_and_no_less_would_do(
            ln_epsilon in -9.0f64..4.0, ln_delta in -300.0f64..-0.1,
            num in 1..u64::MAX, den in 1..u64::MAX,
        ) {
            let (epsilon, delta) = (ln_epsilon.exp(), ln_delta.exp());
            let rho = rho(epsilon, delta);
            prop_assert!(zcdp_epsilon(rho, delta).unwrap() <= epsilon);
            prop_assert!(zcdp_epsilon(rho * (1.0 + 1e-9), delta).unwrap() > epsilon);

            let sigma = gaussian_sigma(Ratio::new(num, den), rho);
            // num / den <= 2 rho sigma^2, in integers
            let (r, r_exponent) = parts(rho);
            let (s, s_exponent) = parts(sigma);
            let exponent = 1 + r_exponent + 2 * s_exponent;
            let left = BigUint::from(num) << (-exponent).max(0) as u64;
            let right = (&r * &s * &s * den) << exponent.max(0) as u64;
            prop_assert!(left <= right);
            let slack = BigUint::from(1u64 << 47);
            prop_assert!(left * (&slack + 1u32) > right * (&slack - 1u32));
        }
    }

    #[test]
    fn a_delta_that_bounds_nothing_is_refused() {
        for delta in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::from_bits(1)] {
            assert!(zcdp_rho(Epsilon::new(1.0).unwrap(), delta).is_err(), "{delta}");
        }
        assert_eq!(gaussian_sigma(Ratio::from(1), 0.0), f64::INFINITY);
    }
}
