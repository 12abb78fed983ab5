//! The exact privacy curve of Gaussian noise, and what it says of discrete Gaussian noise.
//!
//! For a sensitivity of mu standard deviations continuous Gaussian noise is (epsilon, delta)-DP if
//! and only if delta is at least
//!
//!   delta_G(mu, epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//!
//! (Balle & Wang 2018, theorem 8), at any real epsilon. One coordinate of discrete Gaussian noise
//! can lie above that curve, by some percent of delta: the ends of its steps do. It keeps a curve
//! that is hardly worse, of slightly less noise.
//!
//! # Theorem
//!
//! Let the integers of two neighbours differ in at most d coordinates, by a_1 .. a_d, and have
//! independent discrete Gaussian noise of parameters sigma_i > s. With
//! k = 2 sum over j >= 1 of exp(-2 pi^2 s^2 j^2) < 1, mu^2 = sum a_i^2 / (sigma_i^2 - s^2) and
//! xi = ln((1 + k) / (1 - k)),
//!
//!   delta(epsilon) <= (1 + k)^d delta_G(mu, epsilon - d xi).
//!
//! Proof. Let phi_t be the density of N(0, t^2). The noise has P(z) = phi_sigma(z - a) / N, where
//! N = sum over integers j of phi_sigma(j) = 1 + 2 sum exp(-2 pi^2 sigma^2 j^2) >= 1 (Poisson) is
//! that of every integer a. Send y to the integer z with probability phi_s(z - y) / N_s(y);
//! N_s(y) = 1 + 2 sum exp(-2 pi^2 s^2 j^2) cos(2 pi j y) lies within 1 - k and 1 + k. What becomes of
//! y from N(a, sigma^2 - s^2) has K_a(z) = integral of phi(y - a) phi_s(z - y) / N_s(y), which lies
//! between phi_sigma(z - a) / (1 + k) and phi_sigma(z - a) / (1 - k). So with b the neighbour's
//! integers, over the coordinates that differ,
//!
//!   P_a - e^epsilon P_b <= N^-d ((1 + k)^d K_a - e^epsilon (1 - k)^d K_b)
//!                       =  N^-d (1 + k)^d (K_a - e^(epsilon - d xi) K_b),
//!
//! and the positive parts of the last bracket sum to at most delta_G(mu, epsilon - d xi), since the
//! map is the same for a and b, and the continuous noises differ by mu of their deviations. The
//! other coordinates have one distribution for both, and drop out.
//!
//! # Distances that follow from what was told
//!
//! The counts of a stream may follow from ticks that were told before, and so may the a_i. The same
//! bound holds if sum a_i^2 / (sigma_i^2 - s^2) is at most mu^2 on every path and at most d
//! coordinates differ on any: the two bounds on K hold for each coordinate given those before, so
//! they multiply along a transcript; and continuous Gaussian noise whose distances are chosen so is
//! no easier to tell apart than one of mu (Smith & Thakurta 2022, "Fully adaptive composition for
//! Gaussian differential privacy").
//!
//! The larger s^2 is, the nearer the curve is to the continuous one of the noise that remains.

use libm::erfc;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Variances s^2 that are given up for a curve, of which the best is taken, each with a number of
/// coordinates that it serves well: that adds less than 0.01 to epsilon, or 0.0004 from the second on.
pub(super) const GIVEN_UP: [(f64, u64); 5] =
    [(0.5, 1 << 5), (0.75, 1 << 8), (1.0, 1 << 14), (1.5, 1 << 24), (2.0, MOST_INTEGERS)];

/// What is more has no curve.
pub(super) const MOST_INTEGERS: u64 = 1 << 32;

/// What s^2 and a number of coordinates make of the curve: a factor of delta, and an addition to
/// epsilon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoothing {
    factor: f64,
    shift: f64,
}

impl Smoothing {
    /// `given_up`: s^2, at least 1/2. `coordinates`: d.
    pub(super) fn new(given_up: f64, coordinates: u64) -> Smoothing {
        // k < 2.01 exp(-2 pi^2 s^2) from s^2 = 1/2 on, the later terms being below 10^-12 of the
        // first; xi <= 2 k / (1 - k)
        let k = 2.01 * (-2.0 * PI * PI * given_up).exp();
        let d = coordinates as f64;
        Smoothing { factor: (1.001 * k * d).exp() * (1.0 + 1e-15), shift: 2.01 * k * d }
    }

    /// At least the delta of discrete Gaussian noise at epsilon.
    pub(super) fn delta(self, mu: f64, epsilon: f64) -> f64 {
        let shifted = epsilon - self.shift;
        // by so much the difference may be rounded up
        self.factor * gaussian_delta(mu, shifted - shifted.abs() * f64::EPSILON)
    }
}

/// delta_G, rounded up; 1 where mu is not a number.
///
/// Its terms are Phi(-x) = erfc(u) / 2, u = x / sqrt 2. The argument is a difference, whose error is
/// less than 4 units of roundoff of the sum w of its terms' magnitudes, and |erfc'| is at most
/// 2 (|u| + 1) erfc; erfc itself and the exponential err by few units.
pub(super) fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return (-epsilon.exp_m1()).max(0.0);
    }
    let (ratio, half) = (epsilon / mu, mu / 2.0);
    let (u, v) = ((ratio - half) * FRAC_1_SQRT_2, (ratio + half) * FRAC_1_SQRT_2);
    let w = ratio.abs() + half;
    // so far apart, the argument's error would be no small one any more
    if half > 1e6 {
        return 1.0;
    }
    let error = |u: f64| (16.0 + 8.0 * w * (u.abs() + 1.0) + 4.0 * epsilon.abs()) * f64::EPSILON;
    let (above, tail) = (erfc(u) / 2.0, erfc(v) / 2.0);
    let below = epsilon.exp() * tail * (1.0 - error(v)).max(0.0);
    // below the normal numbers there are few digits
    let below = if tail.is_normal() && below.is_normal() { below } else { 0.0 };
    let delta = above * (1.0 + error(u)) + f64::MIN_POSITIVE - below;
    // not `min`, which would make 1 of what is not a number by accident
    if delta < 1.0 { delta.max(0.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of discrete Gaussian noise of one coordinate that moves by `by`, summed up.
    fn exact_delta(sigma: f64, by: i64, epsilon: f64) -> f64 {
        let reach = (40.0 * sigma) as i64 + by + 2;
        let weight = |z: i64| (-(z as f64 / sigma).powi(2) / 2.0).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        let terms = (-reach..=reach).map(|z| weight(z - by) - epsilon.exp() * weight(z));
        terms.map(|term| term.max(0.0)).sum::<f64>() / total
    }

    /// Balle and Wang's formula with 60 digits, rounded down.
    #[test]
    fn the_curve_is_tight_and_rounded_up() {
        for (mu, epsilon, exact) in [
            (0.236, 1.0, 9.403_388_888_08e-7),
            (0.025, 0.1, 1.877_767_417_47e-7),
            (1e-06, 1e-06, 8.331_551_224_54e-8),
            (2.5e-07, 1e-06, 1.786_315_501_25e-12),
            (1.0, 0.0, 3.829_249_225_48e-1),
            (1.0, -1.0, 6.788_179_748_86e-1),
            (0.1, -0.5, 3.934_693_444_46e-1),
            (3.0, 4.0, 4.404_297_627_86e-1),
            (5.0, 30.0, 1.313_262_711_13e-4),
            (0.5, 9.0, 2.346_852_642_91e-72),
            (8.0, 2.0, 9.998_326_045_98e-1),
            (0.01, 0.3, 1.896_039_567_93e-201),
        ] {
            let delta = gaussian_delta(mu, epsilon);
            assert!(delta >= exact && delta <= exact * (1.0 + 1e-5), "{mu} {epsilon}: {delta:e}");
        }
        assert_eq!(gaussian_delta(0.0, 1.0), 0.0);
        assert_eq!(gaussian_delta(f64::NAN, 1.0), 1.0);
        assert_eq!(gaussian_delta(1e300, 1.0), 1.0);
        assert!(gaussian_delta(0.1, 1e3) < 1e-300);
    }

    #[test]
    fn one_coordinate_can_lie_above_the_continuous_curve() {
        let above =
            |epsilon: f64| exact_delta(4.2, 1, epsilon) / gaussian_delta(1.0 / 4.2, epsilon);
        let most = (1..400).map(|step| above(f64::from(step) / 400.0)).fold(0.0, f64::max);
        assert!(most > 1.01, "{most}");
    }

    proptest! {
        #[test]
        fn discrete_noise_stays_below_its_bound(
            sigma in 0.9f64..12.0, by in 1..5i64, epsilon in -1.0f64..6.0,
        ) {
            let exact = exact_delta(sigma, by, epsilon);
            for given_up in GIVEN_UP.map(|(s, _)| s).into_iter().filter(|s| *s < sigma * sigma) {
                let mu = by as f64 / (sigma * sigma - given_up).sqrt();
                let bound = Smoothing::new(given_up, 1).delta(mu, epsilon);
                prop_assert!(exact <= bound + 1e-15, "{given_up}: {exact:e} {bound:e}");
            }
        }

        #[test]
        fn delta_grows_with_mu_and_falls_with_epsilon(
            mu in 0.01f64..6.0, epsilon in -2.0f64..8.0, step in 1e-6f64..1.0,
        ) {
            let delta = gaussian_delta(mu, epsilon);
            prop_assert!(gaussian_delta(mu + step, epsilon) >= delta * (1.0 - 1e-9));
            prop_assert!(gaussian_delta(mu, epsilon + step) <= delta * (1.0 + 1e-9) + 1e-300);
        }
    }
}
