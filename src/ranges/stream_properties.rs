//! What a stream promises: its ticks together are one measurement of all counts, of the sensitivity
//! that was charged, and errors are as stated.

use super::*;
use crate::charge::{Costs, Receipt};
use crate::noise::words_from_system;
use serde_json::Value;
use std::f64::consts::PI;
use std::ops::Range;

/// With discrete Gaussian, and with discrete Laplace noise.
const DELTAS: [f64; 2] = [1e-6, 0.0];

fn plan(horizon: usize, delta: f64, rows_per_unit: u32) -> StreamPlan {
    let horizon = horizon as i64;
    StreamPlan::new(StreamRequest { horizon, epsilon: 1.0, delta, rows_per_unit }).unwrap()
}

/// All that has a form, with a name.
fn mechanisms(horizon: usize) -> Vec<(String, Box<dyn TickMechanism>)> {
    let mut mechanisms: Vec<(String, Box<dyn TickMechanism>)> = Vec::new();
    for rho in [0.02435, 1.7] {
        let noise = Calibration::together(rho);
        let root = WeightedRoot::new(Workload::Prefix, horizon, &noise).unwrap();
        mechanisms.push((format!("root of {horizon}, rho = {rho}"), Box::new(root)));
    }
    for branching in 2..=4 {
        for levels in 1..=CausalTree::most_levels(horizon, branching) {
            let noise = asked::uneven(levels);
            let tree = CausalTree::new(horizon, branching, levels, &noise).unwrap();
            let name = format!("tree of {horizon}, b = {branching}, {levels} levels");
            mechanisms.push((name, Box::new(tree)));
        }
    }
    mechanisms
}

/// What the ticks measure, by its place.
fn measured_by_ticks(mechanism: &dyn TickMechanism, counts: &[u64]) -> Vec<i64> {
    let ticks = (1..=counts.len()).flat_map(|time| mechanism.measure_last(&counts[..time]));
    let mut measured: Vec<(usize, i64)> = ticks.collect();
    measured.sort_unstable();
    // each once
    assert!(measured.iter().map(|(place, _)| *place).eq(0..measured.len()));
    measured.into_iter().map(|(_, value)| value).collect()
}

fn some_counts(horizon: usize) -> Vec<u64> {
    (0..horizon as u64).map(|tick| tick * tick % 11).collect()
}

/// The stream that follows if just that is measured.
fn ticks_of(mechanism: &dyn TickMechanism, noisy: &[i64]) -> Vec<Tick> {
    let counts = some_counts(mechanism.horizon());
    let mut ticks = Vec::new();
    for time in 1..=mechanism.horizon() {
        let places = mechanism.measure_last(&counts[..time]).into_iter();
        let noisy: Vec<i64> = places.map(|(place, _)| noisy[place]).collect();
        let estimates = mechanism.estimate_last(&ticks, &noisy);
        ticks.push(Tick { count: counts[time - 1], noisy, estimates });
    }
    ticks
}

#[test]
fn ticks_measure_what_is_measured_of_all_at_once() {
    for horizon in (1..=20).chain([64, 100]) {
        for (name, mechanism) in mechanisms(horizon) {
            let counts = some_counts(horizon);
            assert_eq!(
                measured_by_ticks(&*mechanism, &counts),
                mechanism.measure(&counts),
                "{name}"
            );
            let groups = mechanism.measurements().groups().iter();
            let drawn: usize = groups.map(|group| group.measurements).sum();
            assert_eq!(drawn, mechanism.measure(&counts).len(), "{name}");
        }
    }
}

/// Without noise the answers are the truth, and noise of variance v in one measurement has in an
/// answer v times the square of how often the answer takes it.
#[test]
fn answers_are_unbiased_with_the_variances_stated() {
    for horizon in [1, 2, 3, 7, 12, 16] {
        for (name, mechanism) in mechanisms(horizon) {
            let counts = some_counts(horizon);
            let exact = mechanism.measure(&counts);
            let truth = ticks_of(&*mechanism, &exact);
            let groups = mechanism.measurements().groups().iter();
            let variances: Vec<f64> =
                groups.flat_map(|group| vec![group.noise.variance(); group.measurements]).collect();
            // of a noise so large that what is rounded is small beside it
            let unit = 1 << 40;
            let responses: Vec<Vec<Tick>> = (0..exact.len())
                .map(|place| {
                    let noise = (0..exact.len()).map(|other| i64::from(other == place) * unit);
                    ticks_of(&*mechanism, &noise.collect::<Vec<_>>())
                })
                .collect();
            let prefixes = Workload::Prefix.ranges(horizon);
            let one_by_one = Spread::of(prefixes.map(|range| mechanism.variance_of(range)));
            let spread = mechanism.spread_of_prefixes();
            assert!((spread.mean / one_by_one.mean - 1.0).abs() < 1e-9, "{name}");
            assert!((spread.max / one_by_one.max - 1.0).abs() < 1e-9, "{name}");
            for range in Workload::All.ranges(horizon).chain([0..0, horizon..horizon]) {
                let context = format!("{name}, {range:?}");
                let sum: u64 = counts[range.clone()].iter().sum();
                let answer = mechanism.sum_of(&truth, range.clone());
                assert!((answer - sum as f64).abs() < 1e-6, "{context}: {answer} {sum}");
                let variance_by = |sum: &dyn Fn(&[Tick]) -> f64| -> f64 {
                    let squares = responses.iter().zip(&variances);
                    squares.map(|(ticks, v)| v * (sum(ticks) / unit as f64).powi(2)).sum()
                };
                let expected = variance_by(&|ticks| mechanism.sum_of(ticks, range.clone()));
                let of_totals = variance_by(&|ticks| {
                    let total = |end| mechanism.sum_of(ticks, 0..end);
                    total(range.end) - total(range.start)
                });
                let stated = mechanism.variance_of(range);
                assert!(stated <= of_totals * (1.0 + 1e-9), "{context}: {stated} {of_totals}");
                assert!(
                    (stated - expected).abs() <= 1e-9 * expected,
                    "{context}: {stated} {expected}"
                );
            }
        }
    }
}

/// What the ledger's entry tells is all that a stream's mechanism is built of, and built to.
#[test]
fn the_description_is_of_one_mechanism() {
    let described = |horizon, delta| plan(horizon, delta, 1).cost().mechanism;
    let [root, tree] = DELTAS.map(|delta| described(64, delta));
    let square = plan(64, DELTAS[0], 1).mechanism().measurements().sensitivity();
    let Sensitivity::Squared(square) = square else { panic!("no root") };
    assert_eq!(root["sensitivity_squared"], square.to_string());
    assert_eq!(root["integers"].as_str().map(str::len), Some(32));
    assert_eq!(root, described(64, DELTAS[0]));
    assert_ne!(root["integers"], described(65, DELTAS[0])["integers"]);
    assert_eq!((&tree["sensitivity_squared"], &tree["integers"]), (&Value::Null, &Value::Null));
}

/// All streams of up to 6 counts of 0 and 1, and all that differ from them by the rows of a unit,
/// wherever these lie: what the ticks measure differs by what is charged at most, and by just that
/// somewhere.
#[test]
fn no_neighbours_are_farther_apart_than_is_charged() {
    for delta in DELTAS {
        for rows in [1u32, 2, 3] {
            for horizon in 1..=6usize {
                let plan = plan(horizon, delta, rows);
                let mechanism = plan.mechanism();
                let groups = mechanism.measurements().groups().iter();
                let noises: Vec<&MeasurementNoise> =
                    groups.flat_map(|group| vec![&group.noise; group.measurements]).collect();
                let loss = |distance: i64, noise: &MeasurementNoise| match noise.epsilon() {
                    Some(epsilon) => distance.abs() as f64 * epsilon,
                    None => (distance as f64).powi(2) * noise.rho(),
                };
                let mut largest = 0f64;
                for stream in 0..1u32 << horizon {
                    let counts: Vec<u64> =
                        (0..horizon).map(|tick| u64::from(stream >> tick & 1)).collect();
                    let measured = measured_by_ticks(mechanism, &counts);
                    for places in 0..horizon.pow(rows) {
                        let mut more = counts.clone();
                        for row in 0..rows {
                            more[places / horizon.pow(row) % horizon] += 1;
                        }
                        let other = measured_by_ticks(mechanism, &more);
                        let distances = measured.iter().zip(other).zip(&noises);
                        let loss: f64 = distances.map(|((a, b), noise)| loss(b - a, noise)).sum();
                        largest = largest.max(loss);
                    }
                }
                let charged = if delta == 0.0 { plan.epsilon().value() } else { plan.rho() };
                let spent = largest / charged;
                let context = format!("{delta} {rows} {horizon}: {spent}");
                assert!((1.0 - 1e-9..=1.0 + 1e-12).contains(&spent), "{context}");
                assert_eq!(plan.cost().delta, delta);
            }
        }
    }
}

/// 4,000 streams: the mean square of each answer's error is within 7 of its standard deviations of
/// the variance stated. That of a Gaussian error is sqrt(2 / 4000); a Laplace one's kurtosis of 6
/// makes it sqrt(5 / 4000). Below 1e-6 for each of the 240 answers together.
#[test]
fn errors_have_the_variances_stated() {
    let (horizon, streams) = (15, 4_000);
    let counts = some_counts(horizon);
    let ranges: Vec<Range<usize>> = Workload::All.ranges(horizon).collect();
    let mut words = words_from_system().unwrap();
    for (delta, kurtosis) in DELTAS.into_iter().zip([3.0, 6.0]) {
        let mut squares = vec![0.0; ranges.len()];
        let mut variances = Vec::new();
        for _ in 0..streams {
            let mut stream = Receipt::uncharged(plan(horizon, delta, 1)).stream(Vec::new());
            for &count in &counts {
                stream.tick(count, &mut words).unwrap();
            }
            for (range, square) in ranges.iter().zip(&mut squares) {
                let truth: u64 = counts[range.clone()].iter().sum();
                *square += (stream.sum(range.clone()) - truth as f64).powi(2) / f64::from(streams);
            }
            if variances.is_empty() {
                variances = ranges.iter().map(|range| stream.variance(range.clone())).collect();
            }
        }
        let most = 7.0 * ((kurtosis - 1.0) / f64::from(streams)).sqrt();
        for ((range, square), variance) in ranges.iter().zip(squares).zip(variances) {
            let off = square / variance - 1.0;
            assert!(off.abs() < most, "{delta} {range:?}: {off}");
        }
    }
}

/// Against what a batch can have at the best, and the best published constant for the worst case.
#[test]
fn waiting_for_no_later_count_costs_little() {
    for horizon in [1024, 4096, 8760] {
        let plan = plan(horizon, 1e-6, 1);
        let unit = plan.unit_variance();
        let Spread { mean, max } = plan.mechanism().spread_of_prefixes();
        let bound = svd_bound(Workload::Prefix, horizon).unwrap();
        let mean = mean / unit / bound;
        assert!((1.0..1.05).contains(&mean), "{horizon}: {mean}");
        let published = (0.846 + (horizon as f64).ln() / PI).powi(2);
        let worst = max / unit / published;
        assert!(worst < 0.99, "{horizon}: {worst}");
    }
}

/// Of all its trees; one of a single level is every count by itself.
#[test]
fn no_tree_is_better_than_the_one_that_is_taken() {
    for horizon in [1, 2, 5, 24, 365] {
        let taken = plan(horizon, 0.0, 1).mechanism().spread_of_prefixes().mean;
        for branching in 2..=7 {
            for levels in 1..=CausalTree::most_levels(horizon, branching) {
                let noise = asked::equal(asked::laplace(1.0 / levels as f64), levels);
                let tree = CausalTree::new(horizon, branching, levels, &noise).unwrap();
                let mean = tree.spread_of_prefixes().mean;
                assert!(taken <= mean * (1.0 + 1e-12), "{horizon} {branching} {levels}");
            }
        }
    }
}

/// What was stored of a stream, with its parameters, is all that it takes to go on.
#[test]
fn streams_go_on_from_what_was_stored() {
    let mut words = words_from_system().unwrap();
    for delta in DELTAS {
        let (mut ticks, mut sums) = (Vec::new(), Vec::new());
        for time in 0..9 {
            let plan = plan(9, delta, 1);
            let parameters = serde_json::to_string(plan.parameters()).unwrap();
            let parameters: StreamParameters = serde_json::from_str(&parameters).unwrap();
            assert_eq!(&parameters, plan.parameters());
            let request = StreamRequest { horizon: 9, epsilon: 1.0, delta, rows_per_unit: 1 };
            let again = StreamPlan::again(request, parameters.tree()).unwrap();
            assert_eq!((again.cost(), again.parameters()), (plan.cost(), &parameters));
            for other in [None, Some((2, 9)), Some((1, 1)), Some((2, 0))] {
                let fits = other == parameters.tree();
                assert_eq!(StreamPlan::again(request, other).is_ok(), fits, "{other:?}");
            }
            let mut stream = Receipt::uncharged(plan).stream(ticks);
            assert_eq!(stream.time(), time);
            let earlier: Vec<f64> = (0..time).map(|end| stream.sum(0..end + 1)).collect();
            assert_eq!(earlier, sums, "what was told changes");
            // what has no tick yet counts nothing
            assert_eq!(stream.sum(0..9), stream.sum(0..time));
            assert_eq!(stream.variance(time..9), 0.0);
            stream.tick(time as u64, &mut words).unwrap();
            sums.push(stream.sum(0..time + 1));
            let stored = serde_json::to_string(&stream.ticks()).unwrap();
            ticks = serde_json::from_str(&stored).unwrap();
            assert!(stream.ticks() == ticks);
        }
        let mut stream = Receipt::uncharged(plan(9, delta, 1)).stream(ticks);
        assert!(stream.tick(1, &mut words).is_none(), "beyond the horizon");
    }
}

#[test]
fn counts_of_any_size_are_no_overflow() {
    let mut words = words_from_system().unwrap();
    for delta in DELTAS {
        for horizon in [1, 100] {
            let mut stream = Receipt::uncharged(plan(horizon, delta, 1)).stream(Vec::new());
            for _ in 0..horizon {
                stream.tick(u64::MAX, &mut words).unwrap();
            }
            assert!(stream.sum(0..horizon) > (1u64 << 28) as f64);
        }
    }
}

#[test]
fn what_cannot_be_planned_is_refused_by_the_name_of_its_argument() {
    let refused = |horizon, epsilon, delta| {
        let request = StreamRequest { horizon, epsilon, delta, rows_per_unit: 1 };
        StreamPlan::new(request).err().unwrap().to_string()
    };
    for (horizon, epsilon, delta, message) in [
        (0, 1.0, 0.0, "horizon must be from 1 to 16384, got 0"),
        (16_385, 1.0, 1e-6, "horizon must be from 1 to 16384, got 16385"),
        (-1, 1.0, 0.0, "horizon must be from 1 to 16384, got -1"),
        (9, 0.0, 0.0, "epsilon must be a positive, finite number, got 0"),
        (9, 1.0, -0.5, "delta must be at least 0 and less than 1, got -0.5"),
        (9, 1.0, f64::NAN, "delta must be at least 0 and less than 1, got NaN"),
    ] {
        assert_eq!(refused(horizon, epsilon, delta), message);
    }
    assert!(refused(9, 1e-12, 0.0).starts_with("epsilon 0.000000000001 "));
}
