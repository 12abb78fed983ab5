//! What a sequence of releases spends: two ways to compose them, of which the smaller counts.
//!
//! A charge comes with an epsilon, a delta (0 for a pure one) and a rho: the release it pays for is
//! both (epsilon, delta)-DP and rho-zCDP, i.e. for neighbours its Rényi divergences D_a are at most
//! a rho at every order a > 1 (Bun & Steinke 2016, def. 1.1). A charge, its amounts chosen by what
//! was released before, is allowed if after it at least one of these holds:
//!
//! - *basic*: the epsilons sum to at most the budget, the deltas to at most the basic view's share
//!   of the delta budget;
//! - *zCDP*: [`zcdp_epsilon`] of the sum of the rhos, at the zCDP view's share of the delta budget,
//!   is at most the budget.
//!
//! # Why this keeps (E, D), for budgets E and D = D_b + D_z that nothing released decides
//!
//! Let p and q be the distributions of the transcript (all answers, refusals among them) on two
//! neighbours; (E, D) means that the integral of (p - e^E q)+ is at most D. None of the sums ever
//! falls, so a view that holds at a transcript's end held all along it. Split the transcripts by
//! whether the zCDP view holds at the end; where it does not, the basic one does. A budget that was
//! raised in between is the raised one from the start, of which less was allowed for a while: as far as
//! it was raised must not follow from what was released, or E and D are the largest that could have
//! become of them.
//!
//! *Those where it holds.* Let p', q' belong to a ledger that refuses, besides, every charge after
//! which the zCDP view would not hold. Such a transcript has no such charge, so p = p' and q = q'
//! there, and this part is at most the integral of (p' - e^E q')+ over everything. In that ledger
//! the rhos sum to at most R on every path, R being the largest with zCDP epsilon at most E. With
//! r_i the likelihood ratio of step i given the past, the conditional mean of r_i^a under q' is at
//! most exp((a-1) a rho_i), and rho_i is known from the past: the product of the
//! r_i^a exp(-(a-1) a rho_i) is a supermartingale, so that the mean of prod r_i^a is at most
//! exp((a-1) a R), D_a(p' || q') <= a R (Feldman & Zrnic 2021), and the conversion gives D_z.
//!
//! *The others*, in the same way, have the probabilities of a ledger that refuses, besides, every
//! charge after which the basic view would not hold. If all charges are pure, prod r_i <= e^E at
//! every transcript: p - e^E q is never positive and this part is 0. In general it is at most D_b,
//! as basic composition holds for adaptively chosen amounts (Rogers, Roth, Ullman, Vadhan 2016).
//!
//! A stream is charged when it is created and answers while other releases are charged and made. So
//! the steps are interactive mechanisms whose answers are interleaved. Rényi divergences bound each
//! answer given all before, so that the zCDP view's argument is as above, tick by tick. Filters of
//! (epsilon, delta) hold for interleaved mechanisms, too, by the same sums (Haney, Shoemate, Tian,
//! Vadhan, Vyrros, Xu, Zhang 2023, "Concurrent composition for interactive differential privacy with
//! adaptive privacy-loss parameters", after Lyu 2022 and Vadhan & Zhang 2023).
//!
//! What is proved is the rule, with its budget. The number that a view shows on the way is no
//! guarantee of its own for a sequence that was chosen adaptively (ibid., filters and odometers).
//!
//! # Charges that may fail
//!
//! The delta of a charge is one of two kinds. That of Gaussian noise is a point of its curve, and the
//! zCDP view does without it. Other releases tell all with a probability of delta, and have no rho: so
//! does one that finds regions. Such a charge comes with the rho that it has unless it fails (that of
//! randomized response), and is allowed only if, besides one of the above,
//!
//! - the deltas of all charges sum to at most the basic view's share after it, whichever view bounds
//!   epsilon.
//!
//! *Why this keeps (E, D).* At each step draw beforehand, with probability delta_i, whether it fails;
//! where it does not, p and q at a step that may fail have likelihood ratios within e^epsilon_i
//! (Kairouz, Oh, Viswanath 2015). Of the transcripts where the zCDP view holds at the end, those
//! without a failure of such a step have weights of p and q that are products of one factor and of
//! transcripts of pure steps: they come to D_z, as above. Of the others, those without a failure at
//! any step come to 0, as the epsilons sum to E. What is left is the probability that some step fails
//! that counts: one that may fail, or a Gaussian one after which the basic view holds (as it does all
//! along where it holds at the end). After the last step that counts, all deltas so far sum to at most
//! D_b: by the rule, if it may fail, and else as the basic view holds. So this probability is at most
//! D_b.
//!
//! # Plans
//!
//! Several releases whose losses are all settled before the first of them can be one charge: the
//! epsilon at which they [compose](super::composition) at some delta, that delta, and the sum of their
//! rhos. The rule asks of a charge that what it pays for, as one interactive mechanism, is
//! (epsilon, delta)-DP and rho-zCDP, which they are together, whatever else is answered in between. A
//! release that may fail is no part of one: at the step of a plan it would count by its failure alone
//! where the zCDP view holds, and by the plan's delta where the basic one does, and the two events are
//! not one.
//!
//! # Why each view has a share of delta, not all of it
//!
//! The two parts add up, and reach more than D if both views are given D_b = D_z = D. Take E = 10,
//! D = 0.001 and R = 2.6068 as above. First a Gaussian release of rho = R/5, which is
//! (3.221, D)-DP exactly. If its privacy loss came out above 3.221, go on with randomized response
//! of epsilon 10 - 3.221 (basic: epsilons 10, deltas D); if not, with a Gaussian release of rho =
//! 4R/5 (zCDP: R). At epsilon 10 the whole needs a delta of 1.199 D. So D is divided, and once and
//! for all: a division that depended on answers could be played in the same way. Giving all of D to
//! the zCDP view is sound too, but then the basic one counts only as long as every charge is pure,
//! and one large pure release blocks every Gaussian one after it.

/// What is returned exceeds what is computed by this share of its terms' magnitudes, 2^-48.
///
/// That is 32 units of roundoff (2^-53). The evaluations below err by less than 10 where the
/// platform's ln, ln_1p and tanh err by at most 2 units in the last place. The rest covers
/// arguments, and the budget that the result is compared with, being the `f64`s nearest to the
/// decimals that are meant.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// The basic view's share of a dataset's delta budget; the zCDP view has the rest. Half costs
/// either view no more than ln 2 of ln(1/delta).
const BASIC_SHARE: f64 = 0.5;

/// A rho such that every `epsilon`-DP mechanism is rho-zCDP: `epsilon * tanh(epsilon / 2)`, rounded
/// up; randomized response needs no less. It is below the epsilon^2/2 of Bun & Steinke 2016,
/// prop. 1.4, by a share of epsilon^2/12 for small epsilon, and below epsilon for large.
///
/// Measurements that compose within one release, such as the levels of a hierarchy, have the sum of
/// their own rhos, which is less than the rho of the sum of their epsilons.
///
/// Infinite, so that no zCDP view remains, if epsilon is negative or not a number.
//
// Proof. The likelihood ratio r of neighbours lies in [e^-eps, e^eps] and has mean 1 under q. r^a
// is convex, so its mean is at most that of the two-point distribution on the ends with mean 1,
// which is randomized response: D_a <= ln(cosh((a - 1/2) eps) / cosh(eps/2)) / (a - 1).
// g(s) = ln cosh(sqrt(s) eps) is concave: g'(s) = eps tanh(sqrt(s) eps) / (2 sqrt(s)) falls in s.
// Hence g((a - 1/2)^2) - g(1/4) <= ((a - 1/2)^2 - 1/4) g'(1/4) = a (a - 1) eps tanh(eps/2), that is
// D_a <= a eps tanh(eps/2), with equality in the limit a -> 1. (Steinke 2024 has the same bound.)
pub fn rho_of_pure(epsilon: f64) -> f64 {
    if epsilon.is_nan() || epsilon < 0.0 {
        return f64::INFINITY;
    }
    if epsilon == 0.0 { 0.0 } else { rounded_up(epsilon * (epsilon / 2.0).tanh()) }
}

/// A rho such that independent discrete Gaussian noise of parameter `sigma` on each coordinate of
/// an integer vector is rho-zCDP: `delta_2^2 / (2 sigma^2)`, rounded up, where `delta_2` is the
/// largest L2 distance of the vectors of neighbours (Canonne, Kamath, Steinke 2020, theorem 4,
/// whose bounds per coordinate add up).
///
/// Infinite, so that no zCDP view remains, if sigma is not positive, or `delta_2` is negative, or
/// either is not a number.
pub fn rho_of_gaussian(delta_2: f64, sigma: f64) -> f64 {
    let ratio = delta_2 / sigma;
    if delta_2 < 0.0 || sigma <= 0.0 || ratio.is_nan() {
        return f64::INFINITY;
    }
    if delta_2 == 0.0 { 0.0 } else { rounded_up(ratio * ratio / 2.0) }
}

/// The smallest epsilon for which the tight conversion makes every `rho`-zCDP mechanism
/// (epsilon, `delta`)-DP, rounded up; never negative. Where it is positive and delta at most
/// 1/2, it exceeds the infimum by less than 1e-13 of the largest term of the formula below.
///
/// The conversion is delta = inf over a > 1 of exp((a-1)(a rho - epsilon)) / (a-1) * (1 - 1/a)^a
/// (Canonne, Kamath, Steinke 2020, corollary 13).
///
/// `rho` and `delta` may be the `f64`s nearest to decimals, and the result may be compared with the
/// `f64` nearest to a decimal budget.
///
/// None where there is no finite bound: delta is not positive (or below `f64::MIN_POSITIVE`, where
/// an `f64` holds too few digits), rho is negative or too large, either is not a number.
//
// For one order a = 1 + x the equation is solved by
//   epsilon = (1 + x) rho + (ln(1/delta) - ln(1 + x)) / x - ln(1 + 1/x),
// a valid bound at every x > 0: a poor x costs tightness, never privacy. The derivative in x is
// rho - (ln(1/delta) - ln(1 + x)) / x^2, so the one minimum is where rho x^2 + ln(1 + x), which
// grows with x, reaches ln(1/delta).
pub fn zcdp_epsilon(rho: f64, delta: f64) -> Option<f64> {
    if !(rho >= 0.0 && delta >= f64::MIN_POSITIVE) {
        return None;
    }
    if rho == 0.0 || delta >= 1.0 {
        return Some(0.0);
    }
    let log = -delta.ln();

    // both terms are at most ln(1/delta) at the minimum, and one of them at least half of it
    let mut low = (log / 2.0 / rho).sqrt().min((log / 2.0).exp_m1());
    let mut high = (log / rho).sqrt().min(log.exp_m1());
    // high/low < e^355: ends within 1e-12 of the minimum, where the bound is flat
    for _ in 0..48 {
        let middle = low.sqrt() * high.sqrt();
        if rho * middle * middle + middle.ln_1p() < log {
            low = middle;
        } else {
            high = middle;
        }
    }

    let x = high;
    let divergence = rho + rho * x;
    let gain = (1.0 / x).ln_1p();
    let epsilon = divergence + (log - x.ln_1p()) / x - gain;
    // the 1 in the middle term is for an error of delta: d ln(delta) = d delta / delta
    let magnitude = divergence + (log + x.ln_1p() + 1.0) / x + gain;
    let bound = epsilon + MARGIN * magnitude;
    // before max, which would make 0 of a NaN
    bound.is_finite().then_some(bound.max(0.0))
}

/// The sums over all charges to a dataset, the one that is asked for included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    pub epsilon_sum: f64,
    /// In the units of [`rho_of_pure`], added exactly or rounded up.
    pub rho: f64,
    /// Of the charges' own deltas, so 0 while all are pure.
    pub delta_sum: f64,
}

/// Two bounds on epsilon, each for comparison with the epsilon budget; None where a view has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Views {
    pub basic: Option<f64>,
    pub zcdp: Option<f64>,
}

impl Totals {
    /// Both bounds, for a dataset's `delta_budget` from 0 up to, not including, 1, which once something
    /// was released may only grow, by what does not follow from it. A charge is allowed if either is
    /// within the budget.
    pub fn views(&self, delta_budget: f64) -> Views {
        Views { basic: self.basic(delta_budget), zcdp: self.zcdp(delta_budget) }
    }

    /// The sum of the epsilons, if the deltas sum to at most half of `delta_budget`; a pure charge
    /// adds nothing to them, so that this view always counts while all charges are pure.
    ///
    /// A caller that adds epsilons as decimals compares its own sum and takes from here only that
    /// it counts.
    pub fn basic(&self, delta_budget: f64) -> Option<f64> {
        let share = delta_budget * BASIC_SHARE;
        let counts = self.epsilon_sum >= 0.0 && (0.0..=share).contains(&self.delta_sum);
        counts.then_some(self.epsilon_sum)
    }

    /// The epsilon of the sum of the rhos, at the other half of `delta_budget`. The charges' own
    /// deltas play no part in it.
    pub fn zcdp(&self, delta_budget: f64) -> Option<f64> {
        zcdp_epsilon(self.rho, Totals::zcdp_delta(delta_budget))
    }

    /// What the zCDP view has of a delta budget.
    pub fn zcdp_delta(delta_budget: f64) -> f64 {
        delta_budget * (1.0 - BASIC_SHARE)
    }
}

impl Views {
    /// The smaller bound, to be compared with the budget. None, where there is none, is to refuse.
    pub fn smaller(&self) -> Option<f64> {
        match (self.basic, self.zcdp) {
            (Some(basic), Some(zcdp)) => Some(basic.min(zcdp)),
            (basic, zcdp) => basic.or(zcdp),
        }
    }
}

/// At least the true value of a positive expression that was computed with an error of a few units
/// of roundoff, or that underflowed.
fn rounded_up(value: f64) -> f64 {
    (value * (1.0 + MARGIN)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{Continuous, ContinuousCDF, Normal};

    /// x > 0 such that `holds` is true below it and false above.
    fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
        for _ in 0..200 {
            let middle = low.midpoint(high);
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// The conversion's epsilon at one order 1 + x.
    fn epsilon_at(x: f64, rho: f64, delta: f64) -> f64 {
        (1.0 + x) * rho + (-delta.ln() - x.ln_1p()) / x - (1.0 / x).ln_1p()
    }

    /// Balle & Wang 2018, theorem 8, in terms of rho = delta_2^2 / (2 sigma^2).
    fn gaussian_delta(rho: f64, epsilon: f64) -> f64 {
        let normal = Normal::standard();
        let ratio = (2.0 * rho).sqrt();
        normal.cdf(ratio / 2.0 - epsilon / ratio)
            - epsilon.exp() * normal.cdf(-ratio / 2.0 - epsilon / ratio)
    }

    fn gaussian_epsilon(rho: f64, delta: f64) -> f64 {
        bisect(0.0, 100.0, |epsilon| gaussian_delta(rho, epsilon) > delta)
    }

    /// The order-(1 + x) Rényi divergence of epsilon-DP randomized response.
    fn randomized_response(epsilon: f64, x: f64) -> f64 {
        let (tanh, y) = ((epsilon / 2.0).tanh(), x * epsilon);
        // cosh((x + 1/2) epsilon) / cosh(epsilon/2) = cosh(y) + sinh(y) tanh
        if y < 100.0 {
            (2.0 * (y / 2.0).sinh().powi(2) + y.sinh() * tanh).ln_1p() / x
        } else {
            epsilon + tanh.midpoint(1.0).ln() / x
        }
    }

    #[test]
    fn sigmas_of_the_tight_conversion() {
        for (epsilon, delta, sigma) in
            [(0.1, 1e-6, "39.46"), (1.0, 1e-6, "4.531"), (1.0, 1e-9, "5.779"), (4.0, 1e-9, "1.557")]
        {
            let found = bisect(0.1, 1e3, |sigma| {
                zcdp_epsilon(rho_of_gaussian(1.0, sigma), delta).unwrap() > epsilon
            });
            let digits = sigma.len() - sigma.find('.').unwrap() - 1;
            assert_eq!(format!("{found:.digits$}"), sigma);
        }
    }

    /// Against the minimum over all orders, computed with 60 digits for the same two `f64`s.
    #[test]
    fn the_conversion_is_tight_and_rounded_up() {
        for (rho, delta, exact) in [
            (1e-18, 1e-300, 5.160_625_509_273_237e-8),
            (1e-18, 1e-12, 4.495_577_154_212_81e-9),
            (1e-12, 1e-9, 4.495_578_070_114_65e-6),
            (1e-8, 1e-6, 0.000_345_588_178_801_012_56),
            (1e-6, 1e-300, 0.052_139_531_962_167_35),
            (0.005, 1e-5, 0.375_261_235_699_023_15),
            (0.02435, 1e-6, 0.999_868_737_056_306),
            (0.1, 1e-9, 2.715_481_886_730_502),
            (0.5, 1e-6, 5.221_534_444_530_169),
            (1.0, 1e-3, 5.419_919_168_219_451),
            (2.0, 0.5, 2.437_168_168_354_092_7),
            (12.5, 1e-10, 45.240_949_779_548_89),
            (1e3, 1e-30, 1_523.193_954_567_249),
            (1e6, 0.5, 1_001_657.017_494_383_4),
            (1e6, 1e-300, 1_052_560.565_812_817_8),
        ] {
            let epsilon = zcdp_epsilon(rho, delta).unwrap();
            assert!(epsilon > exact && epsilon < exact * (1.0 + 1e-12), "{rho} {delta}: {epsilon}");
        }
        // a negative minimum
        assert_eq!(zcdp_epsilon(1e-4, 1e-2), Some(0.0));
        assert_eq!(zcdp_epsilon(0.125, 0.5), Some(0.0));
    }

    proptest! {
        #[test]
        fn no_order_is_better(ln_rho in -41.5f64..13.9, ln_delta in -691.0f64..-0.6) {
            let (rho, delta) = (ln_rho.exp(), ln_delta.exp());
            let epsilon = zcdp_epsilon(rho, delta).unwrap();
            for step in -8_000..8_000 {
                let other = epsilon_at((f64::from(step) / 20.0).exp(), rho, delta).max(0.0);
                prop_assert!(epsilon <= other * (1.0 + 1e-10) + 1e-20, "{epsilon} {other}");
            }
        }

        #[test]
        fn grows_with_rho_and_falls_with_delta(
            ln_rho in -41.5f64..13.9, ln_delta in -690.0f64..-0.7, step in -21.0f64..1.0,
        ) {
            let (rho, delta, factor) = (ln_rho.exp(), ln_delta.exp(), 1.0 + step.exp());
            let epsilon = zcdp_epsilon(rho, delta).unwrap();
            prop_assert!(zcdp_epsilon(rho * factor, delta).unwrap() >= epsilon);
            prop_assert!(zcdp_epsilon(rho, delta / factor).unwrap() >= epsilon);
        }

        #[test]
        fn bounds_the_gaussian_curve(ln_rho in -9.0f64..2.5, ln_delta in -23.0f64..-2.0) {
            let (rho, delta) = (ln_rho.exp(), ln_delta.exp());
            prop_assert!(zcdp_epsilon(rho, delta).unwrap() >= gaussian_epsilon(rho, delta));
        }

        #[test]
        fn randomized_response_stays_below_its_rho(ln_epsilon in -6.0f64..4.0) {
            let epsilon = ln_epsilon.exp();
            let rho = rho_of_pure(epsilon);
            for step in -120..120 {
                let x = (f64::from(step) / 20.0).exp();
                let divergence = randomized_response(epsilon, x);
                prop_assert!(divergence <= (1.0 + x) * rho * (1.0 + 1e-13));
            }
            // and comes as near as one likes
            prop_assert!(randomized_response(epsilon, 1e-6) > rho * (1.0 - 1e-4));
            prop_assert!(rho <= epsilon.min(epsilon * epsilon / 2.0) * (1.0 + 1e-13));
        }

        /// The step of the proof that reduces any mechanism to randomized response.
        #[test]
        fn no_pure_mechanism_exceeds_its_rho(
            epsilon in 0.01f64..5.0,
            outcomes in prop::collection::vec((0.01f64..1.0, -1.0f64..1.0), 2..8),
        ) {
            // q and the ratios p/q, shifted to sum to 1 and then scaled into e^-eps ..= e^eps
            let total: f64 = outcomes.iter().map(|(q, _)| q).sum();
            let mean: f64 = outcomes.iter().map(|(q, s)| q * s).sum::<f64>() / total;
            let largest = outcomes.iter().fold(0.0, |m: f64, (_, s)| m.max((s - mean).abs()));
            let scale = (1.0 - (-epsilon).exp()) / largest;
            for alpha in [1.001, 1.5, 2.0, 5.0, 30.0] {
                let moment: f64 = outcomes
                    .iter()
                    .map(|(q, s)| q / total * (1.0 + scale * (s - mean)).powf(alpha))
                    .sum();
                let divergence = moment.ln() / (alpha - 1.0);
                prop_assert!(divergence <= alpha * rho_of_pure(epsilon) + 1e-9);
            }
        }
    }

    #[test]
    fn extremes_are_finite() {
        for rho in [f64::from_bits(1), 1e-300, 1e-18, 1e-9, 1.0, 1e6, 1e300] {
            for delta in [f64::MIN_POSITIVE, 1e-300, 1e-30, 0.5, 1.0 - 1e-10, 1.0f64.next_down()] {
                let epsilon = zcdp_epsilon(rho, delta).unwrap();
                assert!((0.0..1e301).contains(&epsilon), "{rho} {delta}: {epsilon}");
            }
            assert!(zcdp_epsilon(rho, 1e-300).unwrap() > 0.0 || rho < 1e-18);
            assert_eq!(zcdp_epsilon(rho, 1.0), Some(0.0));
        }
    }

    #[test]
    fn where_nothing_is_bounded() {
        for (rho, delta) in
            [(1.0, 0.0), (0.0, 0.0), (1.0, -1.0), (1.0, f64::from_bits(1)), (1.0, f64::NAN)]
        {
            assert_eq!(zcdp_epsilon(rho, delta), None);
        }
        for rho in [f64::INFINITY, f64::NAN, -1.0] {
            assert_eq!(zcdp_epsilon(rho, 0.1), None);
        }
        for bad in [-1.0, f64::NAN] {
            assert_eq!(rho_of_pure(bad), f64::INFINITY);
            assert_eq!(rho_of_gaussian(bad, 1.0), f64::INFINITY);
            assert_eq!(rho_of_gaussian(1.0, bad), f64::INFINITY);
        }
        assert_eq!(rho_of_gaussian(1.0, 0.0), f64::INFINITY);
        assert_eq!(rho_of_gaussian(0.0, 0.0), f64::INFINITY);
        assert_eq!(rho_of_gaussian(f64::INFINITY, f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn rhos_are_rounded_up() {
        assert_eq!(zcdp_epsilon(0.0, 1e-9), Some(0.0));
        assert_eq!((rho_of_pure(0.0), rho_of_gaussian(0.0, 1.0)), (0.0, 0.0));
        assert!(rho_of_pure(1e-200) > 0.0 && rho_of_gaussian(1e-200, 1e200) > 0.0);
        for (rho, exact) in [
            (rho_of_gaussian(1.0, 2.0), 0.125),
            (rho_of_gaussian(3.0, 0.5), 18.0),
            (rho_of_pure(100.0), 100.0),
            (rho_of_pure(1.0), 0.462_117_157_260_009_76),
            (rho_of_pure(0.1), 0.004_995_837_495_787_998),
        ] {
            assert!(rho > exact && rho < exact * (1.0 + 1e-14), "{rho} {exact}");
        }
    }

    #[test]
    fn ten_levels_of_a_hierarchy_cost_a_tenth() {
        let one = rho_of_pure(1.0);
        assert!(10.0 * rho_of_pure(0.1) < one / 9.0);
    }

    #[test]
    fn the_views_of_what_was_charged() {
        // a hundred pure releases
        let pure = Totals { epsilon_sum: 10.0, rho: 100.0 * rho_of_pure(0.1), delta_sum: 0.0 };
        let views = pure.views(1e-6);
        assert_eq!(views.basic, Some(10.0));
        assert_eq!(views.zcdp, zcdp_epsilon(pure.rho, 5e-7));
        assert_eq!(views.smaller(), views.zcdp);
        assert_eq!(pure.views(0.0), Views { basic: Some(10.0), zcdp: None });
        assert_eq!(pure.views(0.0).smaller(), Some(10.0));

        // one of them
        let pure = Totals { epsilon_sum: 0.1, rho: rho_of_pure(0.1), delta_sum: 0.0 };
        assert_eq!(pure.views(1e-6).smaller(), Some(0.1));

        // Gaussian ones may use half of delta in the basic view, and any in the other
        let gaussian = |delta_sum| Totals { epsilon_sum: 1.0, rho: 0.02, delta_sum }.views(1e-6);
        assert_eq!(gaussian(5e-7).basic, Some(1.0));
        assert_eq!(gaussian(5.1e-7).basic, None);
        assert_eq!(gaussian(1e-6).smaller(), zcdp_epsilon(0.02, 5e-7));

        let bad = Totals { epsilon_sum: f64::NAN, rho: f64::NAN, delta_sum: 0.0 };
        assert_eq!(bad.views(1e-6).smaller(), None);
        assert_eq!(Totals { delta_sum: f64::NAN, ..pure }.basic(1e-6), None);
        assert_eq!(pure.views(f64::NAN).smaller(), None);
    }

    #[test]
    fn an_empty_ledger_has_spent_nothing() {
        let nothing = Totals { epsilon_sum: 0.0, rho: 0.0, delta_sum: 0.0 };
        assert_eq!(nothing.views(0.0).smaller(), Some(0.0));
        assert_eq!(nothing.views(1e-9).smaller(), Some(0.0));
    }

    /// The delta, at epsilon, that an analyst reaches by the strategy of the module's
    /// documentation against views with `basic` and `zcdp` of delta.
    fn played_delta(epsilon: f64, basic: f64, zcdp: f64) -> f64 {
        let rho = bisect(0.0, 10.0, |rho| zcdp_epsilon(rho, zcdp).unwrap() <= epsilon);
        let (first, second) = (rho / 5.0, rho * 4.0 / 5.0);
        let first_epsilon = gaussian_epsilon(first, basic);
        // an excess z of the first loss over its epsilon counts 1 - e^-z if response is truthful
        let truthful = 1.0 / (1.0 + (first_epsilon - epsilon).exp());
        let by_basic = truthful * basic;
        let (mean, sd) = (first, (2.0 * first).sqrt());
        let loss = Normal::new(mean, sd).unwrap();
        let steps = 4_000;
        let start = mean - 10.0 * sd;
        let width = (first_epsilon - start) / f64::from(steps);
        let by_zcdp: f64 = (0..steps)
            .map(|step| start + (f64::from(step) + 0.5) * width)
            .map(|z| loss.pdf(z) * width * gaussian_delta(second, epsilon - z))
            .sum();
        by_basic + by_zcdp
    }

    #[test]
    fn delta_cannot_serve_both_views() {
        let both = played_delta(10.0, 1e-3, 1e-3);
        assert!((both - 1.199e-3).abs() < 2e-6, "{both}");
        let divided = played_delta(10.0, BASIC_SHARE * 1e-3, (1.0 - BASIC_SHARE) * 1e-3);
        assert!(divided < 1e-3, "{divided}");
    }
}
