use super::{Marginal, MonotoneSequence, Room, Wanted};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Passes until windows are fine enough: what all observations say, and how likely they are if the
/// sequence begins at each place.
fn settled(chain: &MonotoneSequence) -> (Vec<Marginal>, Vec<f64>) {
    let mut windows = chain.windows();
    loop {
        let forward = chain.forward(windows, &mut Room::default()).unwrap();
        let pass = |wanted| chain.posterior(&forward, None, wanted, &mut Room::default()).unwrap();
        let posterior = pass(Wanted::NextPass);
        let last = pass(Wanted::ValuesAndBegins);
        assert_eq!((&last.values, &last.ln_begins), (&posterior.values, &posterior.ln_begins));
        assert!(last.next.is_none());
        for (alone, value) in pass(Wanted::Values).values.iter().zip(&last.values) {
            let has_median = value.begun >= 0.5;
            assert_eq!(*alone, if has_median { *value } else { Marginal::default() });
        }
        let Some(next) = posterior.next.filter(|next| !next.settled) else {
            return (posterior.values, posterior.ln_begins);
        };
        windows = next.windows;
    }
}

/// A chain that begins at once.
fn at_once(places: usize) -> Vec<f64> {
    (0..=places).map(|place| if place == 0 { 0.0 } else { f64::NEG_INFINITY }).collect()
}

/// Every sequence of a chain, as values of which the first ones may be missing, with its weight.
fn sequences(chain: &MonotoneSequence) -> Vec<(Vec<Option<i64>>, f64)> {
    let places = chain.observed.len();
    let mut all = vec![(vec![], 1.0)];
    for place in 0..places {
        let mut longer = Vec::new();
        for (values, weight) in &all {
            let before: Option<i64> = values.last().copied().flatten();
            for value in before.map_or(-1, |value| value)..=chain.top {
                let value = (value >= 0).then_some(value);
                let near = value.unwrap_or(0).abs_diff(chain.observed[place]) as f64;
                let mut weight: f64 = weight * (-near / chain.scale).exp();
                if let Some(value) = value {
                    if before.is_none() {
                        weight *= chain.begins[place].exp();
                    }
                    if let Some(steps) = chain.steps {
                        let ratio = steps[place] / (1.0 + steps[place]);
                        weight *= ratio.powi((value - before.unwrap_or(0)) as i32);
                    }
                    let stretch = chain.weights.iter().find(|(end, _)| value < *end);
                    weight *= stretch.map_or(1.0, |(_, weight)| *weight);
                }
                longer.push(([values.as_slice(), &[value]].concat(), weight));
            }
        }
        all = longer;
    }
    for (values, weight) in &mut all {
        if values.iter().all(|value| value.is_none()) {
            *weight *= chain.begins[places].exp();
        }
    }
    all
}

/// What all sequences say of one value.
#[derive(Debug)]
struct Exact {
    begun: f64,
    variance: f64,
    /// The probability that it is not begun, or at most 0, 1, ...
    up_to: Vec<f64>,
}

impl Exact {
    /// Where two values tie, rounding decides.
    fn has_median(&self, median: Option<i64>) -> bool {
        let place = median.map_or(0, |median| median as usize + 1);
        self.up_to[place] > 0.5 - 1e-5 && (place == 0 || self.up_to[place - 1] < 0.5 + 1e-5)
    }
}

/// The same from all sequences.
fn by_enumeration(chain: &MonotoneSequence) -> Vec<Exact> {
    let all = sequences(chain);
    let sum = |of: &dyn Fn(&[Option<i64>]) -> f64| -> f64 {
        all.iter().map(|(values, weight)| weight * of(values)).sum()
    };
    let total = sum(&|_| 1.0);
    let marginal = |place: usize| {
        let begun = sum(&|values| f64::from(u8::from(values[place].is_some())));
        let up_to = |most: i64| sum(&|values| f64::from(u8::from(values[place] <= Some(most))));
        let moment = |power: i32| {
            sum(&|values| values[place].map_or(0.0, |value| (value as f64).powi(power))) / begun
        };
        Exact {
            begun: begun / total,
            variance: moment(2) - moment(1).powi(2),
            up_to: (-1..=chain.top).map(|most| up_to(most) / total).collect(),
        }
    };
    (0..chain.observed.len()).map(marginal).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Scales at which cells are single integers: flat and geometric steps, weights, and sequences
    /// that begin at once or late.
    #[test]
    fn marginals_are_those_of_all_sequences(
        places in prop::collection::vec((-3i64..9, 0.05f64..5.0, -2.0f64..2.0), 1..5),
        scale in prop::sample::select(vec![0.3, 1.0, 1.9]),
        top in 1i64..6,
        (stepped, late) in any::<(bool, bool)>(),
        weights in prop::sample::select(vec![vec![], vec![(2, 0.3), (4, 0.05), (9, 0.6)]]),
    ) {
        let observed: Vec<i64> = places.iter().map(|place| place.0).collect();
        let steps: Vec<f64> = places.iter().map(|place| place.1).collect();
        let late_begins = places.iter().map(|place| place.2).chain([0.4]).collect();
        let begins = if late { late_begins } else { at_once(places.len()) };
        // what lies beyond the limits weighs as much as what is at them
        let within: Vec<i64> = observed.iter().map(|value| (*value).clamp(0, top)).collect();
        let chain = |observed| MonotoneSequence {
            observed,
            scale,
            top,
            steps: stepped.then_some(&steps[..]),
            begins: &begins,
            weights: &weights,
        };
        let (found, ln_begins) = settled(&chain(&observed));
        let expected = by_enumeration(&chain(&within));
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found.begun - expected.begun).abs() < 1e-4, "{found:?} {expected:?}");
            prop_assert!((found.variance - expected.variance).abs() < 1e-3);
            prop_assert!(expected.has_median(found.median), "{found:?} {expected:?}");
        }
        // the probabilities of where it begins, from their likelihoods
        let likely: Vec<f64> = ln_begins.iter().zip(&begins).map(|(a, b)| (a + b).exp()).collect();
        let all: f64 = likely.iter().sum();
        prop_assert!((likely[0] / all - expected[0].begun).abs() < 1e-4);
        let total: f64 = sequences(&chain(&within)).iter().map(|sequence| sequence.1).sum();
        prop_assert!((all / total - 1.0).abs() < 1e-4, "{all} {total}");
    }

    #[test]
    fn medians_ascend_within_the_limits(
        observed in prop::collection::vec(-300i64..900, 1..60),
        scale in prop::sample::select(vec![0.2, 3.0, 20.0, 150.0]),
        top in 1i64..600,
        mean in prop::sample::select(vec![1.0, 30.0, f64::INFINITY]),
    ) {
        let steps = vec![mean; observed.len()];
        let begins = at_once(observed.len());
        let steps = Some(&steps[..]);
        let chain = MonotoneSequence { observed: &observed, scale, top, steps, begins: &begins, weights: &[] };
        let (values, _) = settled(&chain);
        let medians: Vec<i64> = values.iter().map(|value| value.median.unwrap()).collect();
        prop_assert!(medians.is_sorted() && medians[0] >= 0 && medians.last() <= Some(&top));
        prop_assert!(values.iter().all(|value| value.variance >= 0.0));
    }
}

/// Uniform in 0 .. 1.
fn uniform(words: &mut ChaCha20Rng) -> f64 {
    (words.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// So many values with geometric steps of such a mean, and the same with noise.
fn noisy(count: usize, mean: f64, scale: f64, seed: u64) -> (Vec<i64>, Vec<i64>) {
    let mut words = ChaCha20Rng::seed_from_u64(seed);
    let mut value = 0;
    let truth: Vec<i64> = (0..count)
        .map(|_| {
            value += (-uniform(&mut words).ln() / mean.recip().ln_1p()) as i64;
            value
        })
        .collect();
    let noise = |words: &mut ChaCha20Rng| {
        let size = -uniform(words).ln() * scale;
        if uniform(words) < 0.5 { -size } else { size }
    };
    let observed = truth.iter().map(|value| value + noise(&mut words).round() as i64).collect();
    (truth, observed)
}

/// Coarse cells leave medians and deviations where single integers have them, within a tenth of a
/// deviation, or two integers.
#[test]
fn coarse_cells_are_as_good_as_single_integers() {
    for (mean, scale) in [(0.05, 20.0), (1.0, 40.0), (30.0, 40.0), (1000.0, 40.0)] {
        for flat in [false, true] {
            let (truth, observed) = noisy(300, mean, scale, 5);
            let (steps, begins) = (vec![mean; 300], at_once(300));
            let top = truth[299];
            let steps = (!flat).then_some(&steps[..]);
            let chain = MonotoneSequence {
                observed: &observed,
                scale,
                top,
                steps,
                begins: &begins,
                weights: &[],
            };
            let (coarse, _) = settled(&chain);
            let forward =
                chain.forward(chain.windows().of_integers(top), &mut Room::default()).unwrap();
            let fine = chain
                .posterior(&forward, None, Wanted::NextPass, &mut Room::default())
                .unwrap()
                .values;
            for (coarse, fine) in coarse.iter().zip(&fine) {
                let deviation = fine.variance.sqrt();
                let off = coarse.median.unwrap() - fine.median.unwrap();
                assert!(
                    off.abs() as f64 <= 2.0 + deviation / 10.0,
                    "{mean} {flat} {coarse:?} {fine:?}"
                );
                let wider = coarse.variance.sqrt() - deviation;
                assert!(wider.abs() <= 0.5 + deviation / 10.0, "{mean} {flat} {coarse:?} {fine:?}");
            }
        }
    }
}

/// Where the prior is that of the truth.
#[test]
fn spreads_are_those_of_errors() {
    for (mean, scale) in [(0.1, 10.0), (3.0, 10.0), (200.0, 10.0)] {
        let (mut errors, mut variances) = (0.0, 0.0);
        for seed in 0..20 {
            let (truth, observed) = noisy(200, mean, scale, seed);
            let (steps, begins) = (vec![mean; 200], at_once(200));
            let (steps, top) = (Some(&steps[..]), 1 << 40);
            let chain = MonotoneSequence {
                observed: &observed,
                scale,
                top,
                steps,
                begins: &begins,
                weights: &[],
            };
            for (value, truth) in settled(&chain).0.iter().zip(&truth) {
                errors += ((value.median.unwrap() - truth) as f64).powi(2);
                variances += value.variance;
            }
        }
        let ratio = (errors / variances).sqrt();
        assert!((0.85..1.2).contains(&ratio), "{mean}: {ratio}");
    }
}

#[test]
fn with_hardly_any_noise_the_observations_are_the_values() {
    let observed = [0, 0, 3, 3, 90, 1 << 60, 1 << 60];
    for mean in [0.01, 1e9, f64::INFINITY] {
        let (steps, begins) = (vec![mean; 7], at_once(7));
        let steps = Some(&steps[..]);
        let chain = MonotoneSequence {
            observed: &observed,
            scale: 1e-6,
            top: 1 << 60,
            steps,
            begins: &begins,
            weights: &[],
        };
        let medians = settled(&chain).0.into_iter().map(|value| value.median.unwrap());
        assert!(medians.eq(observed), "{mean}");
    }
}

/// Values near 2^60, noise of any scale.
#[test]
fn huge_values_and_scales_stay_in_range() {
    let top = 1i64 << 60;
    for scale in [1.0, 1e3, 1e6, 1e12] {
        let noise = |i: i64| (i * 7919 % 13 - 6) * scale as i64;
        let observed: Vec<i64> = (0..400).map(|i| top - (400 - i) * 1000 + noise(i)).collect();
        // cells are far larger than such steps where the noise is larger than all of them
        let means = if scale > 1e3 { vec![f64::INFINITY] } else { vec![1000.0, f64::INFINITY] };
        for mean in means {
            let (steps, begins) = (vec![mean; 400], at_once(400));
            let steps = Some(&steps[..]);
            let chain = MonotoneSequence {
                observed: &observed,
                scale,
                top,
                steps,
                begins: &begins,
                weights: &[],
            };
            let (values, _) = settled(&chain);
            assert!(values.iter().all(|value| value.variance.is_finite()));
            let off = values
                .iter()
                .zip(&observed)
                .map(|(value, observed)| (value.median.unwrap() - observed).unsigned_abs());
            assert!(off.max() <= Some(20 * scale as u64 + 1), "{scale} {mean}");
        }
    }
}

/// Thousands of places with noise of scale 100 take a few hundred cells each, in all passes.
#[test]
fn the_work_is_a_few_hundred_cells_for_each_place() {
    for (mean, most) in [(0.01, 500), (1.0, 500), (50.0, 700), (1e5, 700)] {
        let (truth, observed) = noisy(2000, mean, 100.0, 3);
        let (steps, begins) = (vec![mean; 2000], at_once(2000));
        let steps = Some(&steps[..]);
        let top = truth[1999];
        let chain = MonotoneSequence {
            observed: &observed,
            scale: 100.0,
            top,
            steps,
            begins: &begins,
            weights: &[],
        };
        let (mut windows, mut cells) = (chain.windows(), 0);
        loop {
            cells += windows.cells();
            let forward = chain.forward(windows, &mut Room::default()).unwrap();
            let posterior =
                chain.posterior(&forward, None, Wanted::NextPass, &mut Room::default()).unwrap();
            let Some(next) = posterior.next.filter(|next| !next.settled) else { break };
            windows = next.windows;
        }
        assert!(cells < 2000 * most, "{mean}: {}", cells / 2000);
    }
}

#[test]
fn what_cannot_be_is_told() {
    let (begins, observed) = (at_once(2), [50, 0]);
    let chain = MonotoneSequence {
        observed: &observed,
        scale: 1e-3,
        top: 60,
        steps: None,
        begins: &begins,
        weights: &[],
    };
    assert!(chain.forward(chain.windows(), &mut Room::default()).is_none());
    let empty = MonotoneSequence { observed: &[], begins: &[0.0], ..chain };
    let forward = empty.forward(empty.windows(), &mut Room::default()).unwrap();
    assert_eq!(forward.ln_last(-1, 3), [f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]);
    assert!(
        empty
            .posterior(&forward, None, Wanted::NextPass, &mut Room::default())
            .unwrap()
            .values
            .is_empty()
    );
}
