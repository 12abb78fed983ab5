//! Gaussian noise for an (epsilon, delta) budget.

use super::accounting::zcdp_epsilon;
use super::epsilon::Epsilon;
use super::gaussian_curve::{GIVEN_UP, Smoothing};
use num_rational::Ratio;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::f64::consts::PI;
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

/// The noise that an (epsilon, delta) budget asks of Gaussian noise, by the better of two rules.
///
/// - *zCDP*: the sum of a^2 / (2 sigma^2) over the distances a of neighbours is at most the rho that
///   the tight conversion allows.
/// - *The curve*: with s^2 of the [curves](super::gaussian_curve) given up, the sum of
///   a^2 / (2 (sigma^2 - s^2)) is at most what the exact curve allows, which is more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GaussianBudget {
    zcdp: f64,
    /// For each s^2; 0 where it allows nothing.
    curves: [f64; GIVEN_UP.len()],
    /// How many times each s^2 is given up.
    given_up: f64,
}

impl GaussianBudget {
    /// Errors: delta outside 0 to 1, or so small (below 2e-308) that nothing is bounded.
    pub fn new(epsilon: Epsilon, delta: f64) -> Result<GaussianBudget, DeltaError> {
        let zcdp = zcdp_rho(epsilon, delta)?;
        // delta and epsilon may be the `f64`s nearest to decimals
        let (at, most) = (epsilon.whole(), delta * (1.0 - MARGIN));
        let curves = GIVEN_UP.map(|(given_up, coordinates)| {
            let smoothing = Smoothing::new(given_up, coordinates);
            let mu = |rho: f64| (2.0 * rho).sqrt() * (1.0 + MARGIN);
            let within = |rho| smoothing.delta(mu(rho), at) <= most;
            if within(0.0) { largest(within) } else { 0.0 }
        });
        Ok(GaussianBudget { zcdp, curves, given_up: 1.0 })
    }

    /// By zCDP alone.
    pub fn of_zcdp(rho: f64) -> GaussianBudget {
        GaussianBudget { zcdp: rho, curves: [0.0; GIVEN_UP.len()], given_up: 1.0 }
    }

    /// For one of `k` rows that move the integers together, all of them `k` times as far as one; or
    /// each other ones, where regions have integers of their own.
    //
    // In regions of their own they move `k` times as many integers, less far. For each s^2, s^2 and
    // ln(k) / (2 pi^2) are given up, which has a k-th of its k: so d of them for `k` times as many
    // integers are what they were. No s^2 is below 1/2, so all that times 1 + ln(k) / pi^2 is enough.
    pub fn of_one_of(self, k: f64) -> GaussianBudget {
        let given_up = self.given_up * (1.0 + k.ln() / (PI * PI));
        GaussianBudget { given_up, ..self.times(1.0 / (k * k)) }
    }

    /// For a part with a share of the loss: whatever its `square`, of the rho that the whole has for
    /// it. So all parts go by the same rule, as they have to, and of each s^2 is given up.
    pub fn part(self, share: f64) -> GaussianBudget {
        GaussianBudget { given_up: self.given_up / share, ..self.times(share) }
    }

    fn times(self, factor: f64) -> GaussianBudget {
        let curves = self.curves.map(|curve| curve * factor);
        GaussianBudget { zcdp: self.zcdp * factor, curves, ..self }
    }

    /// Whether noise can be had by it, whatever it was read from.
    pub fn is_some(self) -> bool {
        let mut numbers = self.curves.into_iter().chain([self.zcdp, self.given_up]);
        numbers.all(|number| number.is_finite() && number >= 0.0) && self.zcdp > 0.0
    }

    /// The largest rho of all.
    pub fn highest(self) -> f64 {
        self.curves.into_iter().fold(self.zcdp, f64::max)
    }

    /// The rho for [`gaussian_sigma`] where every measurement has noise by it, the least of all of
    /// them that for `square`, and a unit of privacy moves at most so many integers, or
    /// [one of several](GaussianBudget::of_one_of) rows does.
    //
    // By a curve the least sigma^2 is square / (2 rho) + s^2, and that of a larger square' is larger in
    // proportion: by more than s^2 above square' / (2 rho), as it has to be.
    pub fn rho(self, square: f64, coordinates: u64) -> f64 {
        let curves = GIVEN_UP.iter().zip(self.curves).filter(|((_, most), _)| coordinates <= *most);
        let rho = |(&(given_up, _), curve): (&(f64, u64), f64)| {
            let given_up = given_up * self.given_up;
            curve / (1.0 + 2.0 * curve * given_up / square) * (1.0 - MARGIN)
        };
        curves.map(rho).fold(self.zcdp, f64::max)
    }

    /// For a ledger's readers.
    pub fn describe(self) -> Value {
        json!({"zcdp": self.zcdp, "curves": self.curves, "given_up": self.given_up})
    }
}

/// The largest rho for which [`zcdp_epsilon`] stays within `epsilon` at `delta`: every rho-zCDP
/// mechanism is (epsilon, delta)-DP, by the tight conversion and rounded down.
///
/// Errors: as for [`GaussianBudget::new`].
fn zcdp_rho(epsilon: Epsilon, delta: f64) -> Result<f64, DeltaError> {
    let within = |rho: f64| zcdp_epsilon(rho, delta).is_some_and(|e| e <= epsilon.value());
    if !(delta < 1.0 && within(0.0)) {
        return Err(DeltaError { delta });
    }
    Ok(largest(within))
}

/// The largest rho that is within what grows with it; 0 is.
fn largest(within: impl Fn(f64) -> bool) -> f64 {
    // positive f64s are ordered as their bits are; whatever rounding does to the order of
    // neighbouring epsilons, `low` is within at the end
    let (mut low, mut high) = (0.0f64.to_bits(), f64::MAX.to_bits());
    while high - low > 1 {
        let middle = low.midpoint(high);
        if within(f64::from_bits(middle)) { low = middle } else { high = middle }
    }
    f64::from_bits(low)
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
    use super::super::accounting::rho_of_gaussian;
    use super::super::composition::composed_epsilon;
    use super::super::gaussian_curve::MOST_INTEGERS;
    use super::super::loss::{GaussianLoss, PrivacyLoss};
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

    /// Against Balle and Wang's sigma for continuous noise, which no discrete noise is below, and
    /// zCDP's: for a single count, one in a hierarchy, a tree of 20 levels, and a large strategy.
    #[test]
    fn the_curve_asks_for_less_noise() {
        for (epsilon, delta, continuous, variances) in [
            (0.1, 1e-6, 36.304_690_43, ["0.847", "0.847", "0.846", "0.846"]),
            (1.0, 1e-6, 4.224_678_88, ["0.905", "0.905", "0.872", "0.869"]),
            (1.0, 1e-9, 5.495_266_15, ["0.927", "0.927", "0.906", "0.904"]),
            (4.0, 1e-9, 1.487_803_67, ["1.000", "1.000", "0.934", "0.913"]),
        ] {
            let budget = GaussianBudget::new(Epsilon::new(epsilon).unwrap(), delta).unwrap();
            let cases = [(1u64, 1u64), (1, 32), (20, 640), (1 << 30, 1 << 32)];
            for ((square, coordinates), variance) in cases.into_iter().zip(variances) {
                let square_root = (square as f64).sqrt();
                let sigma =
                    gaussian_sigma(Ratio::from(square), budget.rho(square as f64, coordinates));
                let zcdp = gaussian_sigma(Ratio::from(square), budget.zcdp);
                assert_eq!(
                    format!("{:.3}", (sigma / zcdp).powi(2)),
                    variance,
                    "{epsilon} {square}"
                );
                assert!(sigma >= continuous * square_root, "{sigma}");
            }
        }
    }

    /// A part has the rho of the whole by whichever rule the whole goes.
    #[test]
    fn parts_go_by_the_rule_of_the_whole() {
        for epsilon in [1.0, 4.0, 9.0] {
            let budget = GaussianBudget::new(Epsilon::new(epsilon).unwrap(), 1e-6).unwrap();
            for square in [0.3, 1.0, 7.0, 1e6] {
                for share in [0.001, 0.3, 0.999] {
                    let ratio =
                        budget.part(share).rho(square, 99) / (share * budget.rho(square, 99));
                    assert!((ratio - 1.0).abs() < 1e-14, "{epsilon} {square} {share}: {ratio}");
                }
            }
        }
    }

    /// `k` rows in regions of their own move `k` times as many integers; of their noise so much more is
    /// given up that they have the same factor and shift.
    #[test]
    fn rows_in_regions_of_their_own_keep_the_curve() {
        let budget = GaussianBudget::new(Epsilon::new(1.0).unwrap(), 1e-6).unwrap();
        for k in [1.0f64, 2.0, 3.0, 1000.0, 2f64.powi(31)] {
            let more = k.ln() / (2.0 * PI * PI);
            for ((given_up, coordinates), curve) in GIVEN_UP.into_iter().zip(budget.curves) {
                let of_one = Smoothing::new(given_up, coordinates);
                let of_all = Smoothing::new(given_up + more, k as u64 * coordinates);
                for epsilon in [0.1, 1.0, 5.0] {
                    let (one, all) = (of_one.delta(0.3, epsilon), of_all.delta(0.3, epsilon));
                    assert!(all <= one * (1.0 + 1e-9), "{k} {given_up}: {one} {all}");
                }
                let square = 5.0;
                let alone = GaussianBudget { zcdp: 0.0, ..budget.of_one_of(k) };
                let sigma = gaussian_sigma(Ratio::from(5), alone.rho(square, coordinates));
                let left = sigma * sigma - given_up - more;
                let best = budget.curves.into_iter().fold(curve, f64::max);
                assert!(left >= square * k * k / (2.0 * best) * (1.0 - 1e-12), "{k}: {left}");
            }
        }
    }

    proptest! {
        /// What is asked for keeps the budget, as composition sees it.
        #[test]
        fn the_noise_keeps_the_budget(
            epsilon in 0.01f64..8.0, ln_delta in -30.0f64..-2.0, square in 1..40u64,
            coordinates in 1..(1u64 << 20),
        ) {
            let delta = ln_delta.exp();
            let budget = GaussianBudget::new(Epsilon::new(epsilon).unwrap(), delta).unwrap();
            for coordinates in [coordinates, MOST_INTEGERS] {
            let rho = budget.rho(square as f64, coordinates);
            let sigma = gaussian_sigma(Ratio::from(square), rho);
                let loss = PrivacyLoss::of_gaussian(GaussianLoss {
                    rho: rho_of_gaussian((square as f64).sqrt(), sigma),
                    least_variance: sigma * sigma,
                    coordinates,
                });
                let spent = composed_epsilon(&loss, delta).unwrap();
                prop_assert!(spent <= epsilon * (1.0 + 1e-10), "{spent}");
                let zcdp = gaussian_sigma(Ratio::from(square), budget.zcdp);
            prop_assert!(sigma <= zcdp, "{sigma} {zcdp}");
        }
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
