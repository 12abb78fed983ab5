//! Releases of range sums.
//!
//! Of a release the answers that estimate its measurements are kept, and of those the privacy loss
//! between two neighbours as if they were the noisy measurements themselves: the statistic of the
//! likeliest events, for Gaussian noise the projection on the direction in which the neighbours
//! differ. Any statistic proves as much; this one loses nothing where the answers give the noisy
//! measurements back, and for Gaussian noise wherever they are those of least squares.
//!
//! *False alarms.* Two tests of correct builds judge at most [`MOST_PROMISES`] = 200 promises each.
//!
//! *Power.* See [`planted_bugs_are_rejected`].

use crate::tester::{Finding, Promise, RUNS, compare};
use pg_dp::charge::Receipt;
use pg_dp::noise::{DiscreteLaplace, RandomWords, Scale, words_from_system};
use pg_dp::ranges::{
    Calibration, Cascade, MeasurementNoise, MethodChoice, NoiseParameter, RangeMechanism,
    RangePlan, RangeRequest, TreeOverBins,
};
use std::ops::Range;

/// How many promises, each about a pair of neighbours, one test of correct builds may judge.
const MOST_PROMISES: usize = 200;

/// The unit in which a loss is rounded to a number that an output is known by.
const LOSS_UNIT: f64 = 0.1;

/// The public arguments of a release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub(super) bins: usize,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) method: &'static str,
    pub(super) rows_per_unit: u32,
}

impl Arguments {
    pub(super) fn plan(&self) -> RangePlan {
        let Arguments { bins, epsilon, delta, method, rows_per_unit } = *self;
        let (bins, method) = (bins as i64, MethodChoice::parse(method).unwrap());
        RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit, method }).unwrap()
    }
}

/// Every table with so many rows more, in any bins.
fn neighbours(counts: &[u64], rows: u32) -> Vec<Vec<u64>> {
    let mut tables = vec![counts.to_vec()];
    for _ in 0..rows {
        let more = |table: &Vec<u64>| {
            let one_more = |bin: usize| {
                let mut table = table.clone();
                table[bin] += 1;
                table
            };
            (0..counts.len()).map(one_more).collect::<Vec<_>>()
        };
        tables = tables.iter().flat_map(more).collect();
    }
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// What a mechanism measures, by its matrix.
pub(super) struct Strategy<'a> {
    mechanism: &'a dyn RangeMechanism,
    /// of each measurement, what it multiplies the bins' counts with
    rows: Vec<Vec<f64>>,
    noise: Vec<MeasurementNoise>,
}

impl Strategy<'_> {
    pub(super) fn of(mechanism: &dyn RangeMechanism) -> Strategy<'_> {
        let unit = |bin| {
            let mut counts = vec![0; mechanism.bins()];
            counts[bin] = 1;
            mechanism.measure(&counts)
        };
        let columns: Vec<Vec<i64>> = (0..mechanism.bins()).map(unit).collect();
        let row = |row: usize| columns.iter().map(|column| column[row] as f64).collect();
        let rows = (0..columns[0].len()).map(row).collect();
        let groups = mechanism.measurements().groups().iter();
        let noise =
            groups.flat_map(|group| vec![group.noise.clone(); group.measurements]).collect();
        Strategy { mechanism, rows, noise }
    }

    /// The measurements as answers tell them.
    fn told_by(&self, answer: impl Fn(Range<usize>) -> f64) -> Vec<f64> {
        let bins: Vec<f64> = (0..self.mechanism.bins()).map(|bin| answer(bin..bin + 1)).collect();
        let told = |row: &Vec<f64>| {
            // a tree's node is a question of its own, whose answer need not be its bins'
            match node(row) {
                Some(node) => answer(node),
                None => row.iter().zip(&bins).map(|(weight, bin)| weight * bin).sum(),
            }
        };
        self.rows.iter().map(told).collect()
    }

    /// ln P / Q of noisy measurements, P for one table and Q for the other.
    fn loss(&self, one: &[u64], other: &[u64]) -> impl Fn(&Vec<f64>) -> f64 {
        let [one, other] = [one, other].map(|counts| self.mechanism.measure(counts));
        let noise = self.noise.iter().map(|noise| match noise {
            MeasurementNoise::Laplace(law) => (1, law.scale().as_f64()),
            MeasurementNoise::Gaussian(law) => (2, 2.0 * law.sigma() * law.sigma()),
        });
        let noise: Vec<(i32, f64)> = noise.collect();
        let moved: Vec<usize> = (0..one.len()).filter(|&i| one[i] != other[i]).collect();
        move |noisy| {
            let term = |&i: &usize| {
                let (power, scale) = noise[i];
                let distance = |exact: i64| (noisy[i] - exact as f64).abs().powi(power);
                (distance(other[i]) - distance(one[i])) / scale
            };
            moved.iter().map(term).sum()
        }
    }
}

/// The bins of a row that adds up neighbouring ones.
fn node(row: &[f64]) -> Option<Range<usize>> {
    let first = row.iter().position(|weight| *weight != 0.0)?;
    let ones = row[first..].iter().take_while(|weight| **weight == 1.0).count();
    let all = row[first + ones..].iter().all(|weight| *weight == 0.0);
    (all && ones > 0).then_some(first..first + ones)
}

/// What is tested: the answers to the measurements in one release of a table.
pub(super) type Build<'a> = &'a dyn Fn(&[u64], &mut dyn RandomWords) -> Vec<f64>;

/// The library as it is: whole releases.
pub(super) fn released<'a>(
    arguments: &'a Arguments,
    strategy: &'a Strategy,
) -> impl Fn(&[u64], &mut dyn RandomWords) -> Vec<f64> + 'a {
    move |counts, words| {
        let release = Receipt::uncharged(arguments.plan()).release(counts, words);
        strategy.told_by(|range| release.sum(range))
    }
}

/// The mechanism with noise that is narrower by a factor than its own. With the factor 1 that is
/// what a release does, without a plan for each of them, which takes a millisecond where there is a
/// delta.
pub(super) fn drawn<'a>(
    strategy: &'a Strategy,
    factor: f64,
) -> impl Fn(&[u64], &mut dyn RandomWords) -> Vec<f64> + 'a {
    let narrower = |noise: &MeasurementNoise| match noise {
        MeasurementNoise::Laplace(law) => {
            let scale = Scale::new(1, factor / law.scale().as_f64()).unwrap();
            MeasurementNoise::Laplace(DiscreteLaplace::new(scale))
        }
        MeasurementNoise::Gaussian(law) => {
            let sigma = law.sigma() / factor;
            MeasurementNoise::new(NoiseParameter::Gaussian { sigma }).unwrap()
        }
    };
    let noise: Vec<MeasurementNoise> = strategy.noise.iter().map(narrower).collect();
    move |counts, words| {
        let mechanism = strategy.mechanism;
        let exact = mechanism.measure(counts);
        let noisy = exact.iter().zip(&noise).map(|(exact, noise)| exact + noise.sample(words));
        let reconstruction = mechanism.reconstruct(&noisy.collect::<Vec<i64>>());
        strategy.told_by(|range| mechanism.answer(&reconstruction, range))
    }
}

/// [`RUNS`] releases of a table, and of each neighbour.
pub(super) fn findings(
    build: Build,
    strategy: &Strategy,
    counts: &[u64],
    neighbours: &[Vec<u64>],
    promises: &[Promise],
) -> Vec<(Promise, Finding)> {
    let mut words = words_from_system().unwrap();
    let mut releases =
        |counts: &[u64]| -> Vec<_> { (0..RUNS).map(|_| build(counts, &mut words)).collect() };
    let here = releases(counts);
    let mut findings = Vec::new();
    for neighbour in neighbours {
        let loss = strategy.loss(counts, neighbour);
        let outputs = |releases: &[Vec<f64>]| -> Vec<u64> {
            releases.iter().map(|noisy| (loss(noisy) / LOSS_UNIT).round() as i64 as u64).collect()
        };
        let (here, there) = (outputs(&here), outputs(&releases(neighbour)));
        findings.extend(promises.iter().map(|&promise| (promise, compare(&here, &there, promise))));
    }
    findings
}

/// All neighbours, by a unit's rows, of a small table.
fn assert_correct(name: &str, cases: &[Arguments]) {
    let mut promised = 0;
    for arguments in cases {
        let plan = arguments.plan();
        assert_eq!(plan.delta(), arguments.delta, "{arguments:?}: what is tested is another noise");
        let strategy = Strategy::of(plan.mechanism());
        let counts: Vec<u64> = [3, 0, 1, 7, 2].into_iter().cycle().take(arguments.bins).collect();
        let Arguments { epsilon, delta, rows_per_unit, .. } = *arguments;
        let promises = match delta {
            0.0 => vec![Promise::Epsilon(epsilon)],
            _ => vec![Promise::Rho(plan.rho()), Promise::Delta { epsilon, delta }],
        };
        let neighbours = neighbours(&counts, rows_per_unit);
        let (released, drawn) = (released(arguments, &strategy), drawn(&strategy, 1.0));
        let build: Build = if delta == 0.0 { &released } else { &drawn };
        let findings = findings(build, &strategy, &counts, &neighbours, &promises);
        promised += findings.len();
        let mut most = f64::NEG_INFINITY;
        for (promise, finding) in findings {
            let Finding { lower_bound, .. } = finding;
            assert!(lower_bound <= promise.number(), "{promise:?} {finding:?} {arguments:?}");
            most = most.max(lower_bound / promise.number());
        }
        println!("{name}: {arguments:?}, lower bounds / what is promised: at most {most:.2}");
    }
    assert!(promised <= MOST_PROMISES, "{promised}");
}

#[test]
fn pure_releases_keep_epsilon() {
    let one = |bins, method| Arguments { bins, epsilon: 1.0, delta: 0.0, method, rows_per_unit: 1 };
    let two = |bins, method| Arguments { rows_per_unit: 2, ..one(bins, method) };
    assert_correct(
        "pure",
        &[
            one(1, "flat"),
            one(5, "flat"),
            two(3, "flat"),
            one(4, "tree:2"),
            one(5, "tree:2:geometric"),
            one(6, "tree:3"),
            two(4, "tree:2"),
            one(4, "tree_consistent:2"),
            one(5, "tree_consistent:2:geometric"),
            two(4, "tree_consistent:2"),
            one(4, "quad"),
            one(5, "quad"),
            two(4, "quad"),
            one(2, "wavelet"),
            one(4, "wavelet"),
            one(5, "wavelet"),
            two(4, "wavelet"),
        ],
    );
}

/// At a delta so large that an event can show it.
#[test]
fn gaussian_releases_keep_rho_and_delta() {
    let one = |bins, method| Arguments { bins, epsilon: 2.0, delta: 0.1, method, rows_per_unit: 1 };
    let two = |bins, method| Arguments { rows_per_unit: 2, ..one(bins, method) };
    assert_correct(
        "Gaussian",
        &[
            one(3, "gaussian"),
            two(2, "gaussian"),
            one(5, "binary_tree"),
            two(3, "binary_tree"),
            one(5, "tree_consistent:2"),
            two(3, "tree_consistent:2"),
            one(5, "wavelet"),
            two(3, "wavelet"),
            one(5, "cascade"),
            one(7, "cascade:3"),
            two(3, "cascade"),
            one(5, "prefix"),
            two(3, "prefix"),
            one(5, "optimal"),
            one(4, "optimal:prefix"),
            two(3, "optimal"),
            two(3, "optimal:nodes"),
            one(5, "minimax"),
            one(4, "minimax:prefix"),
        ],
    );
}

/// Bug: the bins have one limit for their sum, so that a row in one bin takes one from another.
fn limited_sum(counts: &[u64], limit: u64) -> Vec<u64> {
    let mut left = limit;
    let limited = counts.iter().map(|count| {
        let kept = (*count).min(left);
        left -= kept;
        kept
    });
    limited.collect()
}

/// The square of the distance that a row in a bin makes, in units of the noise.
fn square_length(strategy: &Strategy, bin: usize) -> f64 {
    let noise = strategy.noise.iter().map(|noise| match noise {
        MeasurementNoise::Laplace(law) => law.scale().as_f64(),
        MeasurementNoise::Gaussian(law) => law.sigma(),
    });
    strategy.rows.iter().zip(noise).map(|(row, unit)| (row[bin] / unit).powi(2)).sum()
}

/// The leaves are on all levels: every inner node has a leaf as its first child, so that the first
/// bin is the one nearest to the root.
fn comb(bins: usize) -> TreeOverBins {
    let inner = [0, 2].repeat(bins - 2);
    TreeOverBins::from_fan_outs([2].into_iter().chain(inner).chain([0, 0])).unwrap()
}

/// Power: the lower bounds, which lie some six deviations of each frequency below the estimates,
/// were 1.5 and more times what is promised, and ten and more of their own deviations above it.
#[test]
fn planted_bugs_are_rejected() {
    let pure =
        |bins, method| Arguments { bins, epsilon: 2.0, delta: 0.0, method, rows_per_unit: 1 };
    let gaussian = |bins, method| Arguments { delta: 0.1, ..pure(bins, method) };
    let unit_of_two = |arguments| Arguments { rows_per_unit: 2, ..arguments };
    let planted = |name: &str, arguments: Arguments, factor: f64| {
        let plan = arguments.plan();
        let strategy = Strategy::of(plan.mechanism());
        let promise = match arguments.delta {
            0.0 => Promise::Epsilon(arguments.epsilon),
            _ => Promise::Rho(plan.rho()),
        };
        let counts = vec![0; arguments.bins];
        let mut neighbour = counts.clone();
        neighbour[arguments.bins / 2] = u64::from(arguments.rows_per_unit);
        reject(name, &drawn(&strategy, factor), &strategy, [&counts, &neighbour], promise);
    };
    for (bins, method) in
        [(2, "flat"), (4, "tree:2"), (4, "tree_consistent:2"), (4, "quad"), (4, "wavelet")]
    {
        planted(&format!("halved noise of {method}"), pure(bins, method), 2.0);
    }
    for (bins, method) in [(8, "tree:2"), (8, "tree_consistent:2")] {
        planted(&format!("{method} for one level of 3"), pure(bins, method), 3.0);
    }
    planted("wavelet for one level of 3", pure(4, "wavelet"), 3.0);
    planted("a unit of one row", unit_of_two(pure(3, "flat")), 2.0);
    for method in
        ["gaussian", "binary_tree", "tree_consistent:2", "wavelet", "cascade", "prefix", "optimal"]
    {
        planted(&format!("halved noise of {method}"), gaussian(5, method), 2.0);
        planted(&format!("{method}, a unit of one row"), unit_of_two(gaussian(3, method)), 2.0);
    }
    planted("binary_tree for one level of 4", gaussian(16, "binary_tree"), 2.0);
    // k = 6 levels
    planted("the cascade with sensitivity 1", gaussian(64, "cascade"), (1.0f64 + 6.0 / 3.0).sqrt());

    let rho = 0.6;
    let cascade = Cascade::new(comb(16), &Calibration::together(rho)).unwrap();
    let strategy = Strategy::of(&cascade);
    let [first, last] = [0, 15].map(|bin| square_length(&strategy, bin));
    let (counts, mut neighbour) = (vec![0; 16], vec![0; 16]);
    neighbour[15] = 1;
    let build = drawn(&strategy, (last / first).sqrt());
    reject(
        "the first bin's sensitivity",
        &build,
        &strategy,
        [&counts, &neighbour],
        Promise::Rho(rho),
    );

    let arguments = pure(2, "flat");
    let plan = arguments.plan();
    let strategy = Strategy::of(plan.mechanism());
    let [counts, neighbour] = [[2, 3], [3, 3]].map(|counts| limited_sum(&counts, 5));
    let build = released(&arguments, &strategy);
    let promise = Promise::Epsilon(arguments.epsilon);
    reject("one limit for all bins", &build, &strategy, [&counts, &neighbour], promise);
}

fn reject(name: &str, build: Build, strategy: &Strategy, tables: [&[u64]; 2], promise: Promise) {
    let [counts, neighbour] = tables;
    let found = findings(build, strategy, counts, &[neighbour.to_vec()], &[promise]);
    let (_, Finding { lower_bound, estimate }) = found[0];
    println!("{name}: {promise:?}, estimated {estimate:.2}, at least {lower_bound:.2}");
    assert!(lower_bound > promise.number(), "{name}: {promise:?} at least {lower_bound}");
}
