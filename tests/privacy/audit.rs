//! A lower bound for every mechanism, one line each for the table of `make audit`, under the names
//! and with the settings by which `src/hierarchy/replay.rs` and `src/ranges/replay.rs` replay them.
//!
//! Hierarchies, the pure methods over bins, buckets and amounts are released as a whole. Of the
//! others what is measured is drawn, as they take milliseconds to plan.
//!
//! *False alarms.* At most 83 pairs are judged, as each test says of itself.

use crate::histograms::{self, Table};
use crate::ranges::{self, Strategy};
use crate::tester::{ALPHA, Finding, Promise, RUNS, compare};
use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Run};
use pg_dp::hierarchy::{Discovery, HistogramMechanism};
use pg_dp::noise::words_from_system;
use pg_dp::ranges::{
    AmountBounds, BinBounds, BinSums, CountMechanism, MeasurementNoise, MethodChoice, PlanePlan,
    PlaneRequest, RangeCells, RangeRequest, RegionPlan, RegionRequest, RegionTree, ReleaseChoice,
    ReleasePlan, ReleaseRequest, StreamPlan, StreamRequest,
};

const EPSILON: f64 = 2.0;
const DELTA: f64 = 0.1;

/// The pairs that were judged, which all keep what is promised.
#[derive(Default)]
struct Judged(usize);

impl Judged {
    /// Of the pairs of one mechanism the one that proves most.
    fn add(&mut self, name: &str, promise: Promise, findings: &[Finding]) {
        self.0 += findings.len();
        let of_least = |a: &&Finding, b: &&Finding| a.lower_bound.total_cmp(&b.lower_bound);
        let Finding { lower_bound, estimate } = findings.iter().max_by(of_least).unwrap();
        let lower_bound = lower_bound.max(0.0);
        let kind = match promise {
            Promise::Epsilon(_) => "epsilon",
            Promise::Rho(_) => "rho",
            Promise::Delta { .. } => "delta",
        };
        let declared = promise.number();
        println!("estimated|{name}|{kind}|{declared:.6}|{lower_bound:.4}|{estimate:.4}|{ALPHA:e}");
        assert!(lower_bound <= declared, "{name}: {lower_bound} of {declared}");
    }

    fn check(self, most: usize) {
        assert!(self.0 <= most, "{}", self.0);
    }
}

#[test]
fn hierarchies_keep_epsilon() {
    let mut judged = Judged::default();
    let asked = |estimators, consistency| {
        let new = histograms::Arguments::new(EPSILON, estimators, consistency);
        histograms::Arguments { max_size: 4, ..new }
    };
    let root = || Table::new([("", &[1, 1])]);
    let two = || Table::new([("a", &[0]), ("b", &[1])]);
    let three = || Table::new([("a", &[0]), ("b", &[0]), ("c", &[0])]);
    let matching = asked(&["Hc"], "matching");
    for (name, arguments, table) in [
        ("H", asked(&["H"], "none"), root()),
        ("Hc", asked(&["Hc"], "none"), root()),
        ("Hc_l2", asked(&["Hc_l2"], "none"), root()),
        ("Hg", asked(&["Hg"], "none"), root()),
        ("cut", asked(&["cut"], "none"), root()),
        ("cut:1", asked(&["cut:1"], "none"), root()),
        ("matching", matching, two()),
        ("bottom_up", asked(&["Hc"], "bottom_up"), two()),
        ("pgsr", asked(&["H"], "pgsr"), two()),
        ("topdown", asked(&["H"], "topdown"), two()),
        ("cumulative", asked(&["Hc"], "cumulative"), two()),
        ("chain", asked(&["Hc"], "chain"), two()),
        ("first look", asked(&["cut"], "matching"), two()),
        ("chain of 3 regions", asked(&["Hc"], "chain"), three()),
        ("unit of 2 rows", histograms::Arguments { rows_per_unit: 2, ..matching }, two()),
        (
            "kept measurements",
            histograms::Arguments { keep_measurements: true, ..asked(&["Hc"], "none") },
            Table::new([("", &[1])]),
        ),
        (
            "given shares",
            histograms::Arguments { shares: Some(&[0.2, 0.8]), ..asked(&["Hg"], "matching") },
            two(),
        ),
        ("select", asked(&["select:Hc|Hg"], "matching"), two()),
    ] {
        let findings = histograms::findings(histograms::correct, &arguments, &table);
        let findings: Vec<Finding> = findings.into_iter().map(|(_, finding)| finding).collect();
        judged.add(name, Promise::Epsilon(EPSILON), &findings);
    }
    judged.check(40);
}

#[test]
fn one_histogram_keeps_epsilon() {
    let mut judged = Judged::default();
    let mechanism = HistogramMechanism::new(EPSILON, "Hc", 4).unwrap();
    let mut words = words_from_system().unwrap();
    let outputs = [1, 2].map(|larger| {
        let truth: Coco = [1, larger].map(|size| Run { size, groups: 1 }).into_iter().collect();
        let mut output = || -> u64 {
            let receipt = Receipt::uncharged(mechanism.clone());
            let released = receipt.release(&truth, &mut words, &mut ());
            released
                .histogram()
                .runs()
                .iter()
                .fold(0, |hash, run| hash * 25 + run.size * 5 + run.groups)
        };
        (0..RUNS).map(|_| output()).collect::<Vec<_>>()
    });
    let promise = Promise::Epsilon(EPSILON);
    judged.add("one histogram", promise, &[compare(&outputs[0], &outputs[1], promise)]);
    judged.check(1);
}

/// Which of some regions are found, of which the first few have a unit more.
#[test]
fn found_regions_keep_delta() {
    let mut judged = Judged::default();
    let mut words = words_from_system().unwrap();
    for (name, epsilon, regions_per_unit) in
        [("found regions", 1.0, 1), ("found regions, unit of 2 regions", 3.0, 2)]
    {
        let promise = Promise::Delta { epsilon, delta: DELTA };
        let finding = |units: u64| {
            let outputs = [0, 1].map(|more| {
                let mut output = || {
                    let discovery = Discovery::new(epsilon, DELTA, regions_per_unit).unwrap();
                    let finder = Receipt::uncharged(discovery).finder();
                    let of_region = |region: u32| {
                        let units = units + if region < regions_per_unit { more } else { 0 };
                        u64::from(finder.finds(units, &mut words)) << region
                    };
                    (0..3).map(of_region).sum::<u64>()
                };
                (0..RUNS).map(|_| output()).collect::<Vec<_>>()
            });
            compare(&outputs[0], &outputs[1], promise)
        };
        let findings: Vec<Finding> = [0, 2].map(finding).into();
        judged.add(name, promise, &findings);
    }
    judged.check(4);
}

/// Sums over 9 bins, of one row in the middle.
#[test]
fn sums_over_bins_keep_epsilon_and_rho() {
    let mut judged = Judged::default();
    let asked = |bins, method, delta, rows_per_unit| ranges::Arguments {
        bins,
        epsilon: EPSILON,
        delta,
        method,
        rows_per_unit,
    };
    let with_delta = |method| (format!("{method}, delta"), asked(9, method, DELTA, 1));
    let pure = ["flat", "tree", "tree_consistent", "quad", "wavelet"];
    let pure = pure.map(|method| (method.to_string(), asked(9, method, 0.0, 1)));
    let gaussian = [
        "gaussian",
        "binary_tree",
        "tree_consistent:2",
        "wavelet",
        "cascade",
        "prefix",
        "optimal",
        "minimax",
    ];
    let units = [
        ("flat, unit of 3 rows".to_string(), asked(5, "flat", 0.0, 3)),
        ("optimal, unit of 3 rows, delta".to_string(), asked(5, "optimal", DELTA, 3)),
    ];
    for (name, arguments) in pure.into_iter().chain(gaussian.map(with_delta)).chain(units) {
        let plan = arguments.plan();
        let strategy = Strategy::of(plan.mechanism());
        let counts: Vec<u64> = (0..arguments.bins as u64).collect();
        let mut more = counts.clone();
        more[arguments.bins / 2] += u64::from(arguments.rows_per_unit);
        let promise = match plan.delta() {
            0.0 => Promise::Epsilon(EPSILON),
            _ => Promise::Rho(plan.rho()),
        };
        let (released, drawn) =
            (ranges::released(&arguments, &strategy), ranges::drawn(&strategy, 1.0));
        let build: ranges::Build = if arguments.delta == 0.0 { &released } else { &drawn };
        let found = ranges::findings(build, &strategy, &counts, &[more], &[promise]);
        judged.add(&name, promise, &[found[0].1]);
    }
    judged.check(15);
}

/// Buckets and amounts: the answer to the bin where a row is more.
#[test]
fn buckets_and_amounts_keep_epsilon() {
    let mut judged = Judged::default();
    let mut words = words_from_system().unwrap();
    let promise = Promise::Epsilon(EPSILON);
    let asked = |bins: i64, method, rows_per_unit, negative| ReleaseRequest {
        bins,
        widths: None,
        epsilon: EPSILON,
        delta: 0.0,
        rows_per_unit,
        negative,
        choice: ReleaseChoice::parse(method).unwrap(),
    };

    for (method, bins, place) in [("aware", 256, 100), ("structure_first", 64, 0)] {
        let request = asked(bins as i64, method, 1, false);
        let outputs = [0, 1].map(|rows| {
            let mut counts = vec![0; bins];
            counts[place] = rows;
            let mut output = || {
                let plan = ReleasePlan::new(request.clone()).unwrap();
                let release = Receipt::uncharged(plan).release(&counts, &mut words);
                release.sum(place..place + 1).round() as i64 as u64
            };
            (0..RUNS).map(|_| output()).collect::<Vec<_>>()
        });
        judged.add(method, promise, &[compare(&outputs[0], &outputs[1], promise)]);
    }

    let (bounds, amounts) = (BinBounds::new(0, 4).unwrap(), AmountBounds::new(-3, 5).unwrap());
    let request = asked(4, "flat", amounts.weight(1).unwrap(), true);
    let cells = RangeCells::of(&[0..1, 1..2, 2..3, 3..4], 4);
    let outputs = [None, Some(i64::MAX)].map(|amount| {
        let mut sums = BinSums::empty(bounds, amounts);
        amount.into_iter().for_each(|amount| sums.add(2, amount));
        let sums = sums.of_cells(&cells);
        let mut output = || {
            let plan = ReleasePlan::new(request.clone()).unwrap();
            let release = Receipt::uncharged(plan).release_sums(&sums, &mut words);
            release.sum(2..3).round() as i64 as u64
        };
        (0..RUNS).map(|_| output()).collect::<Vec<_>>()
    });
    judged.add("amounts", promise, &[compare(&outputs[0], &outputs[1], promise)]);
    judged.check(3);
}

/// What is measured of some counts and of those with a row more in a place, by mechanisms whose noise
/// is independent: of both the noisy numbers, known by the privacy loss.
fn drawn<M: CountMechanism + ?Sized>(parts: &[&M], places: usize, promise: Promise) -> Finding {
    let none = vec![0; places];
    let mut one = none.clone();
    one[places / 2] = 1;
    let noises: Vec<&MeasurementNoise> = parts
        .iter()
        .flat_map(|part| part.measurements().groups())
        .flat_map(|group| vec![&group.noise; group.measurements])
        .collect();
    let [here, there] = [&none, &one]
        .map(|counts| parts.iter().flat_map(|part| part.measure(counts)).collect::<Vec<i64>>());
    let moved: Vec<usize> = (0..here.len()).filter(|&i| here[i] != there[i]).collect();
    let loss = |noisy: i64, i: usize| {
        let [there, here] = [there[i], here[i]].map(|exact| (noisy - exact).abs() as f64);
        match noises[i] {
            MeasurementNoise::Laplace(law) => (there - here) / law.scale().as_f64(),
            MeasurementNoise::Gaussian(law) => {
                (there.powi(2) - here.powi(2)) / (2.0 * law.sigma() * law.sigma())
            }
        }
    };
    let mut words = words_from_system().unwrap();
    let outputs = [&here, &there].map(|exact| {
        let mut output = || {
            let noisy = |&i: &usize| loss(exact[i] + noises[i].sample(&mut words), i);
            (moved.iter().map(noisy).sum::<f64>() * 10.0).round() as i64 as u64
        };
        (0..RUNS).map(|_| output()).collect::<Vec<_>>()
    });
    compare(&outputs[0], &outputs[1], promise)
}

/// In two dimensions, of the regions that a row lies in, and of streams.
#[test]
fn rectangles_regions_and_streams_keep_epsilon_and_rho() {
    let mut judged = Judged::default();
    let promise_of = |delta: f64, rho: f64| match delta {
        0.0 => Promise::Epsilon(EPSILON),
        _ => Promise::Rho(rho),
    };
    let with = |delta: f64| if delta > 0.0 { ", delta" } else { "" };
    for (method, delta) in [
        ("flat", 0.0),
        ("tree_consistent:2", 0.0),
        ("gaussian", DELTA),
        ("tree_consistent:2", DELTA),
        ("cascade", DELTA),
        ("optimal", DELTA),
    ] {
        let plan = PlanePlan::new(PlaneRequest {
            rows: 4,
            columns: 5,
            epsilon: EPSILON,
            delta,
            rows_per_unit: 1,
            method: MethodChoice::parse_for_grid(method).unwrap(),
            asked: Vec::new(),
        });
        let plan = plan.unwrap();
        let promise = promise_of(plan.delta(), plan.rho());
        let finding = drawn(&[plan.mechanism()], 20, promise);
        judged.add(&format!("rectangles {method}{}", with(delta)), promise, &[finding]);
    }
    for (method, delta) in [
        ("flat", 0.0),
        ("tree_consistent:2", 0.0),
        ("wavelet", 0.0),
        ("gaussian", DELTA),
        ("cascade:2", DELTA),
        ("optimal", DELTA),
    ] {
        for shares in [None, Some(vec![0.5, 0.3, 0.2])] {
            let given = if shares.is_some() { ", given shares" } else { "" };
            let method_choice = MethodChoice::parse(method).unwrap();
            let ranges = RangeRequest {
                bins: 4,
                epsilon: EPSILON,
                delta,
                rows_per_unit: 1,
                method: method_choice,
            };
            let tree = RegionTree::new(&[vec![2], vec![1, 2]]).unwrap();
            let plan = RegionPlan::new(RegionRequest { ranges, tree, shares }).unwrap();
            let promise = promise_of(plan.delta(), plan.rho());
            let levels: Vec<_> = (0..3).filter_map(|level| plan.mechanism(level)).collect();
            let name = format!("regions {method}{}{given}", with(delta));
            judged.add(&name, promise, &[drawn(&levels, 4, promise)]);
        }
    }
    for (name, delta) in [("stream", 0.0), ("stream, delta", DELTA)] {
        let request = StreamRequest { horizon: 7, epsilon: EPSILON, delta, rows_per_unit: 1 };
        let plan = StreamPlan::new(request).unwrap();
        let promise = promise_of(plan.delta(), plan.rho());
        judged.add(name, promise, &[drawn(&[plan.mechanism()], 7, promise)]);
    }
    judged.check(20);
}
