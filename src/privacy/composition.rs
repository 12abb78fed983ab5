//! What releases cost together that were all settled beforehand: exactly, as far as noise has a
//! curve, in place of the bounds that a [ledger](super::accounting) of adaptively chosen ones adds up.
//!
//! The loss of them all is that of their randomized responses and Gaussian noise
//! ([`PrivacyLoss`]), which are independent: delta(epsilon) is the mean, over the joint loss l of
//! the responses, of the Gaussian curve at epsilon - l. What may fail takes its part of delta first.
//! Everything that is computed is rounded up.

use super::accounting::zcdp_epsilon;
use super::gaussian_curve::{GIVEN_UP, Smoothing};
use super::loss::PrivacyLoss;
use super::responses::Responses;
use libm::erfc;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

/// Cells for responses of epsilons that have no common part.
const CELLS: usize = 1 << 18;

/// The most responses times cells: a second at most. Nothing polls here.
const WORK: usize = 1 << 28;

/// Cells where the Gaussian curve is asked for each of them, some dozen times.
const CELLS_OF_CURVES: usize = 1 << 13;

/// What a delta may lack, as a share.
const NEGLIGIBLE: f64 = 1e-14;

/// Of delta: below, there are too few digits.
const LEAST_DELTA: f64 = 1e-280;

/// The smallest epsilon that is found for which releases of this loss, settled beforehand, are
/// (epsilon, `delta`)-DP together, rounded up: at most that of the zCDP conversion. None where there
/// is no finite one.
pub fn composed_epsilon(loss: &PrivacyLoss, delta: f64) -> Option<f64> {
    let delta = loss.delta_left(delta)?;
    if delta >= 1.0 {
        return Some(0.0);
    }
    if delta.is_nan() || delta < LEAST_DELTA {
        let sum = || loss.responses().iter().fold(0.0, |sum: f64, next| (sum + next).next_up());
        return loss.gaussian().is_none().then(sum);
    }
    let zcdp = zcdp_epsilon(loss.rho(), delta);
    let exact = match loss.gaussian() {
        None => responses(loss, CELLS).map(|responses| responses.epsilon(delta)),
        Some(_) => with_gaussian(loss, delta, zcdp?),
    };
    exact.into_iter().chain(zcdp).reduce(f64::min)
}

/// On a lattice of up to so many cells, and one more for each response, to which each is rounded up.
/// None for more responses than [`WORK`] has room for.
fn responses(loss: &PrivacyLoss, cells: usize) -> Option<Responses> {
    let responses = loss.responses();
    let room = (WORK / responses.len().max(1)).saturating_sub(responses.len());
    (room > 0).then(|| Responses::new(responses, cells.min(room)))
}

/// A bound as it is shown, and charged: to nine digits after the point, upwards.
pub fn shown_bound(bound: f64) -> f64 {
    (bound * 1e9).ceil() / 1e9
}

/// None where the noise has no curve, or one that is above `highest`.
fn with_gaussian(loss: &PrivacyLoss, delta: f64, highest: f64) -> Option<f64> {
    let gaussian = loss.gaussian()?;
    let curves = GIVEN_UP.into_iter().filter_map(|(given_up, _)| {
        let (mu, smoothing) =
            (gaussian.mu(given_up)?, Smoothing::new(given_up, gaussian.coordinates));
        let alone = smallest(highest, delta, |epsilon| smoothing.delta(mu, epsilon))?;
        Some((alone, mu, smoothing))
    });
    // the best for the Gaussian part alone
    let (_, mu, smoothing) =
        curves.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    let responses = responses(loss, CELLS_OF_CURVES)?;
    let curve = |epsilon: f64| smoothing.delta(mu, epsilon);
    smallest(highest, delta, |epsilon| responses.mean(epsilon, delta * NEGLIGIBLE, curve))
}

/// An epsilon from 0 to `highest`, within 2^-40 of the smallest there, at which a falling function is
/// at most `delta`.
fn smallest(highest: f64, delta: f64, falling: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high): (f64, f64) = (0.0, highest);
    if falling(high) > delta {
        return None;
    }
    for _ in 0..40 {
        let middle = low.midpoint(high);
        if falling(middle) <= delta { high = middle } else { low = middle }
    }
    Some(high)
}

/// A mu, rounded up, for which releases of this loss are mu-GDP together (Dong, Roth, Su 2022): two
/// neighbours are no easier to tell apart than N(0, 1) and N(mu, 1). None where none is known.
pub fn gdp_mu(loss: &PrivacyLoss) -> Option<f64> {
    if loss.failure() > 0.0 {
        return None;
    }
    let responses: Option<Vec<f64>> = loss.responses().iter().copied().map(mu_of_pure).collect();
    let gaussian = match loss.gaussian() {
        None => 0.0,
        Some(gaussian) => mu_of_discrete(gaussian.mu(GIVEN_UP_FOR_GDP)?, gaussian.coordinates)?,
    };
    let squares: f64 = responses?.iter().map(|mu| mu * mu).sum::<f64>() + gaussian * gaussian;
    Some(squares.sqrt() * (1.0 + 1e-12))
}

/// The mu of an epsilon-DP release: Phi(-mu/2) = 1 / (1 + e^epsilon). None beyond what an `f64` has
/// digits for.
//
// The trade-off of a response has its kink where it meets the diagonal, there it meets that of mu, and
// as that one is convex and ends where it ends it lies below everywhere.
fn mu_of_pure(epsilon: f64) -> Option<f64> {
    let share = 1.0 / (1.0 + epsilon.exp());
    // 2 Phi^-1 of the share at epsilon 600 is below 70
    let (mut low, mut high): (f64, f64) = (0.0, 70.0);
    for _ in 0..60 {
        let middle = low.midpoint(high);
        let tail = erfc(middle / 2.0 * FRAC_1_SQRT_2) / 2.0;
        if tail > share { low = middle } else { high = middle }
    }
    // the share has 2^-54 of roundoff, and the density there is at least 1/4 where it tells
    (epsilon < 600.0).then_some(high * (1.0 + 1e-12) + 2e-15)
}

/// s^2 of a curve that is all but the continuous one.
const GIVEN_UP_FOR_GDP: f64 = 3.0;

/// Of discrete Gaussian noise whose curve is that of `mu` with a factor 1 + x of delta and y added to
/// epsilon, where x and y are far below roundoff: k < 10^-25 for [`GIVEN_UP_FOR_GDP`].
//
// Of h(mu, epsilon) = delta_G and x_1 = mu/2 - epsilon/mu, x_2 = mu/2 + epsilon/mu the derivatives are
// h_mu = phi(x_1) and -h_epsilon = phi(x_1) M(x_2), where Mills' ratio M is at most sqrt(pi/2) at
// x_2 >= 0. So a step of sqrt(pi/2) y of mu makes up for one of y of epsilon, at epsilon >= 0. And
// h <= phi(x_1) M(-x_1), M(-x_1) <= sqrt(2 pi) e^(mu^2/8): a step of 3 x e^(mu^2/8) makes up for the
// factor, where phi(x_1) hardly falls within it. From epsilon >= 0 the rest of the trade-off follows,
// as one that is the same for both neighbours.
fn mu_of_discrete(mu: f64, coordinates: u64) -> Option<f64> {
    let k = 1e-25 * coordinates as f64;
    let step = 4.0 * k * (FRAC_PI_2.sqrt() + (mu * mu / 8.0).exp());
    (step < 1e-9).then_some(mu + step)
}

#[cfg(test)]
mod tests {
    use super::super::loss::GaussianLoss;
    use super::*;
    use crate::privacy::rho_of_gaussian;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    fn pure(epsilons: &[f64]) -> PrivacyLoss {
        PrivacyLoss::of_pure(epsilons.iter().copied())
    }

    fn gaussian(sigmas: &[f64]) -> PrivacyLoss {
        PrivacyLoss::of_gaussian(GaussianLoss {
            rho: sigmas.iter().map(|sigma| rho_of_gaussian(1.0, *sigma)).sum(),
            least_variance: sigmas.iter().map(|sigma| sigma * sigma).fold(f64::INFINITY, f64::min),
            coordinates: sigmas.len() as u64,
        })
    }

    /// delta at epsilon of one unit with noise of each sigma and responses, all outcomes summed up.
    fn enumerated(sigmas: &[f64], epsilons: &[f64], epsilon: f64) -> f64 {
        let mut losses = vec![(1.0f64, 0.0f64)];
        let also = |losses: Vec<(f64, f64)>, law: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let pair = |(p, l): (f64, f64)| law.iter().map(move |(q, m)| (p * q, l + m));
            losses.into_iter().flat_map(pair).collect()
        };
        for &epsilon in epsilons {
            let share = 1.0 / (1.0 + (-epsilon).exp());
            losses = also(losses, &[(share, epsilon), (1.0 - share, -epsilon)]);
        }
        for &sigma in sigmas {
            let reach = (9.0 * sigma) as i64;
            let weight = |z: i64| (-(z as f64 / sigma).powi(2) / 2.0).exp();
            let total: f64 = (-reach..=reach).map(weight).sum();
            // the loss of a noise z for a distance of 1
            let law = |z: i64| (weight(z) / total, (1.0 - 2.0 * z as f64) / (2.0 * sigma * sigma));
            losses = also(losses, &(-reach..=reach).map(law).collect::<Vec<_>>());
        }
        losses.iter().map(|(p, l)| p * (-(epsilon - l).exp_m1()).max(0.0)).sum()
    }

    #[test]
    fn published_and_peers_figures() {
        // 30 releases of 0.1; and, beside, the filter's bound
        let thirty = pure(&[0.1; 30]);
        let exact = composed_epsilon(&thirty, 1e-6).unwrap();
        let zcdp = zcdp_epsilon(thirty.rho(), 1e-6).unwrap();
        assert_eq!((format!("{exact:.3}"), format!("{zcdp:.3}")), ("2.346".into(), "2.672".into()));
        assert!((composed_epsilon(&thirty, 0.0).unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(composed_epsilon(&thirty, 1.0), Some(0.0));
        assert_eq!(composed_epsilon(&pure(&[]), 1e-6), Some(0.0));
        assert_eq!(composed_epsilon(&gaussian(&[5.0]), 0.0), None);
    }

    /// Against dp-accounting 0.6.0, whose lattice of step 1e-4 is exact for the responses here, and
    /// rounds up the losses of Gaussian noise, by less than 2e-4 of epsilon.
    #[test]
    fn a_peers_accountant_agrees() {
        let repeated = |epsilons: &[(f64, usize)]| {
            PrivacyLoss::of_pure(epsilons.iter().flat_map(|(e, n)| vec![*e; *n]))
        };
        for (epsilons, delta, peers) in [
            (vec![(0.1, 30)], 1e-6, 2.345_887_693_1),
            (vec![(0.1, 30), (0.25, 4)], 1e-6, 3.110_811_127_7),
            (vec![(1.0, 10)], 1e-9, 9.999_999_977_1),
            // with 40 digits; theirs is 6.6e-7 below
            (vec![(0.01, 1000)], 1e-9, 1.782_932_299_9),
        ] {
            let epsilon = composed_epsilon(&repeated(&epsilons), delta).unwrap();
            assert!((epsilon - peers).abs() < 1e-7, "{epsilons:?}: {epsilon}");
        }
        for (sigmas, epsilons, delta, peers) in [
            (vec![20.0; 16], vec![], 1e-6, 0.834_136),
            (vec![40.0; 100], vec![], 1e-9, 1.395_716),
            (vec![10.0; 4], vec![(0.1, 10)], 1e-6, 1.503_997),
            (vec![50.0; 20], vec![(0.2, 5), (0.5, 1)], 1e-7, 1.827_536),
        ] {
            let loss = gaussian(&sigmas).and(repeated(&epsilons));
            let epsilon = composed_epsilon(&loss, delta).unwrap();
            assert!(epsilon > peers - 2e-4 && epsilon < peers * 1.005, "{sigmas:?}: {epsilon}");
        }
    }

    /// So many that the lattice would take minutes: the zCDP bound stands in.
    #[test]
    fn a_million_responses_are_not_put_on_a_lattice() {
        let loss = pure(&vec![1e-6; 1_000_000]);
        assert!(responses(&loss, CELLS).is_none());
        assert_eq!(composed_epsilon(&loss, 1e-9), zcdp_epsilon(loss.rho(), 1e-9));
        let gaussian = PrivacyLoss::of_all([pure(&vec![1e-6; 1_000_000]), gaussian(&[9.0])]);
        assert_eq!(composed_epsilon(&gaussian, 1e-9), zcdp_epsilon(gaussian.rho(), 1e-9));
        // as many as there is work for
        for count in [1 << 10, 12_000] {
            let loss = pure(&vec![1.0 / f64::from(count); count as usize]);
            let exact = composed_epsilon(&loss, 1e-9).unwrap();
            assert!(exact < zcdp_epsilon(loss.rho(), 1e-9).unwrap(), "{exact}");
        }
    }

    /// delta of all together is 1 less the product of what is left by each failure and by the rest.
    #[test]
    fn failures_take_their_part_of_delta() {
        let failing =
            pure(&[0.1; 30]).and(pure(&[0.5; 2]).failing(4e-7)).and(pure(&[]).failing(1e-7));
        let alone = pure(&[0.1; 30]).and(pure(&[0.5; 2]));
        let (together, beside) =
            (composed_epsilon(&failing, 1e-6).unwrap(), composed_epsilon(&alone, 5e-7).unwrap());
        assert!((0.0..1e-9).contains(&(together - beside)), "{together} {beside}");
        let exact = 1.0 - (1.0 - 4e-7) * (1.0 - 1e-7) * (1.0 - 5e-7);
        assert!(exact <= 1e-6);
        assert_eq!(
            (composed_epsilon(&failing, 5e-7), composed_epsilon(&failing, 0.0)),
            (None, None)
        );
        assert_eq!(gdp_mu(&failing), None);
    }

    #[test]
    fn mu_of_some() {
        let normal = Normal::standard();
        for epsilon in [0.01, 0.1, 1.0, 5.0, 20.0] {
            let mu = gdp_mu(&pure(&[epsilon])).unwrap();
            let expected = -2.0 * normal.inverse_cdf(1.0 / (1.0 + f64::exp(epsilon)));
            assert!((mu / expected - 1.0).abs() < 1e-9, "{epsilon}: {mu} {expected}");
        }
        // rounded up where it is small, and where the tail hardly has digits
        for epsilon in [1e-15, 1e-9, 1e-5] {
            let mu = gdp_mu(&pure(&[epsilon])).unwrap();
            let exact = epsilon * FRAC_PI_2.sqrt();
            assert!(mu >= exact && mu < exact + 1e-14, "{epsilon}: {mu} {exact}");
        }
        for (epsilon, exact) in [(455.0, 60.045_2), (500.0, 62.968_6), (599.0, 68.966_1)] {
            let mu = gdp_mu(&pure(&[epsilon])).unwrap();
            assert!((mu - exact).abs() < 1e-4, "{epsilon}: {mu}");
        }
        let mu = gdp_mu(&gaussian(&[10.0; 4])).unwrap();
        assert!(mu > 0.2 && mu < 0.2 * (1.0 + 3.0 / 97.0), "{mu}");
        let both = gdp_mu(&gaussian(&[10.0; 4]).and(pure(&[0.1]))).unwrap();
        let one = gdp_mu(&pure(&[0.1])).unwrap();
        assert!((both - mu.hypot(one)).abs() < 1e-9);
        assert_eq!(gdp_mu(&gaussian(&[1.5])), None);
        assert_eq!(gdp_mu(&pure(&[1e3])), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn noise_and_responses_keep_what_is_told(
            sigmas in prop::collection::vec(1.2f64..7.0, 1..3),
            epsilons in prop::collection::vec(0.01f64..1.5, 0..5),
            ln_delta in -14.0f64..-1.0,
        ) {
            let delta = ln_delta.exp();
            let loss = gaussian(&sigmas).and(pure(&epsilons));
            let epsilon = composed_epsilon(&loss, delta).unwrap();
            prop_assert!(enumerated(&sigmas, &epsilons, epsilon) <= delta + 1e-15);
            prop_assert!(epsilon <= zcdp_epsilon(loss.rho(), delta).unwrap());
            // and every point of the trade-off of mu
            if let Some(mu) = gdp_mu(&loss) {
                for at in [0.0, epsilon / 2.0, epsilon] {
                    let told = super::super::gaussian_curve::gaussian_delta(mu, at);
                    prop_assert!(enumerated(&sigmas, &epsilons, at) <= told + 1e-15);
                }
            }
        }
    }

    /// Much noise hardly differs from the continuous one, whose curve is known.
    #[test]
    fn much_noise_costs_what_continuous_noise_does() {
        let loss = gaussian(&[200.0; 400]);
        let epsilon = composed_epsilon(&loss, 1e-6).unwrap();
        let continuous =
            smallest(20.0, 1e-6, |e| super::super::gaussian_curve::gaussian_delta(0.1, e));
        let ratio = epsilon / continuous.unwrap();
        assert!((1.0..1.0001).contains(&ratio), "{ratio}");
        assert!(epsilon < 0.95 * zcdp_epsilon(loss.rho(), 1e-6).unwrap());
    }
}
