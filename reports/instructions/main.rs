//! One release of made-up data inside a function that callgrind is told to count: how the number of
//! instructions depends on data and on noise. benches/instructions runs it.

use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Estimator, HistogramMeasurement, NodeMeasurement, Run};
use pg_dp::hierarchy::{Mechanism, ReleaseRequest, Tree};
use pg_dp::noise::DiscreteLaplace;
use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::process::ExitCode;

const USAGE: &str = "\
Carries out one phase of a release, in the function `counted`, which nothing else is in:
  release METHOD     the estimator of one histogram: 100,000 groups, K = 10,000, epsilon 0.1
  replay METHOD      the same with given answers instead of noise: those of the data \"tail\"
  noise METHOD       nothing but as many draws as that takes
  sums -             the histograms of 111 regions from those of 100 leaves, of 1,000 groups each
  hierarchy METHOD   a release of these 111 regions, which begins with that; K = 1,000, epsilon 1
  ranges METHOD      2^16 bins, epsilon 1, delta 1e-6
DATA is empty, one (entity and no more), full, uniform or tail. SEED is the noise's. METHOD is an estimator, or for ranges a method.

cargo run --profile pure --no-default-features --example instructions -- PHASE METHOD DATA SEED";

const GROUPS: u64 = 100_000;
const MAX_SIZE: u64 = 10_000;
const EPSILON: f64 = 0.1;

/// Sizes up to `max_size`.
#[derive(Clone, Copy)]
enum Data {
    /// All groups are empty.
    Empty,
    /// All but one group, which has one entity: a neighbour of the empty data.
    One,
    /// All have the largest size.
    Full,
    Uniform,
    /// The i-th largest is 1/i of the largest.
    Tail,
}

impl Data {
    fn parse(word: &str) -> Option<Data> {
        Some(match word {
            "empty" => Data::Empty,
            "one" => Data::One,
            "full" => Data::Full,
            "uniform" => Data::Uniform,
            "tail" => Data::Tail,
            _ => return None,
        })
    }

    /// The numbers at so many places, the largest first.
    fn numbers(self, places: u64, largest: u64) -> impl Iterator<Item = u64> {
        (0..places).map(move |place| match self {
            Data::Empty => 0,
            Data::One => u64::from(place == 0),
            Data::Full => largest,
            Data::Uniform => largest - place * (largest + 1) / places,
            Data::Tail => largest / (place + 1),
        })
    }

    fn histogram(self, groups: u64, max_size: u64) -> Coco {
        self.numbers(groups, max_size).map(|size| Run { size, groups: 1 }).collect()
    }
}

/// Callgrind counts from where it is entered to where it is left.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [phase, method, data, seed] => {
            Data::parse(data).zip(seed.parse().ok()).map(|(data, seed)| (phase, method, data, seed))
        }
        _ => None,
    };
    let Some((phase, method, data, seed)) = parsed else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match carry_out(phase, method, data, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(phase: &str, method: &str, data: Data, seed: u64) -> Result<(), Box<dyn Error>> {
    let words = &mut ChaCha20Rng::seed_from_u64(seed);
    match phase {
        "release" => {
            let (measurement, _) = estimator(method)?;
            let truth = data.histogram(GROUPS, MAX_SIZE);
            let receipt = || Receipt::uncharged(measurement.clone());
            receipt().estimate(&truth, words); // makes the tables of the noise
            let receipt = receipt();
            counted(|| receipt.estimate(&truth, words));
        }
        "replay" => {
            let (measurement, noise) = estimator(method)?;
            let answers = answers(&measurement, &noise, words);
            let truth = data.histogram(GROUPS, MAX_SIZE);
            let mut given = answers.into_iter();
            counted(|| {
                measurement.estimate(&truth, |exact| {
                    black_box(exact);
                    given.next().unwrap_or(0)
                })
            });
        }
        "noise" => {
            let (measurement, noise) = estimator(method)?;
            let draws = answers(&measurement, &noise, words).len();
            counted(|| (0..draws).map(|_| noise.sample(words)).fold(0, i64::wrapping_add));
        }
        "sums" => {
            let (tree, leaves) = regions(data)?;
            counted(|| tree.sums(leaves));
        }
        "hierarchy" => {
            let (tree, leaves) = regions(data)?;
            let request =
                ReleaseRequest::new(tree.depth(), 1.0).by(&[method], "matching").up_to(1000);
            let receipt = Receipt::uncharged(Mechanism::new(&request)?);
            counted(|| receipt.release(&tree, leaves, words, NonZeroUsize::MIN, &mut ()))?;
        }
        "ranges" => {
            let bins = 1 << 16;
            let method = MethodChoice::parse(method)?;
            let (epsilon, delta, rows_per_unit) = (1.0, 1e-6, 1);
            let plan =
                RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit, method })?;
            let counts: Vec<u64> = data.numbers(bins as u64, 1_000_000).collect();
            counted(|| Receipt::uncharged(plan).release(&counts, words));
        }
        _ => return Err(format!("{phase}: no such phase").into()),
    }
    Ok(())
}

fn estimator(name: &str) -> Result<(NodeMeasurement<'static>, DiscreteLaplace), Box<dyn Error>> {
    let estimator = Estimator::parse(name).ok_or_else(|| format!("{name}: no such estimator"))?;
    let measurement = HistogramMeasurement::new(estimator, MAX_SIZE, 1, EPSILON)?;
    let noise = DiscreteLaplace::new(measurement.noise().scale());
    Ok((measurement.of_groups(GROUPS), noise))
}

/// What is measured of the data `tail`, with noise.
fn answers(
    measurement: &NodeMeasurement,
    noise: &DiscreteLaplace,
    words: &mut ChaCha20Rng,
) -> Vec<i64> {
    let mut answers = Vec::new();
    measurement.estimate(&Data::Tail.histogram(GROUPS, MAX_SIZE), |exact| {
        let answer = exact + noise.sample(words);
        answers.push(answer);
        answer
    });
    answers
}

/// 1 + 10 + 100 regions, and the histograms of the leaves.
fn regions(data: Data) -> Result<(Tree, Vec<Coco>), Box<dyn Error>> {
    let path = |leaf: u32| vec![format!("{}", leaf / 10), format!("{}", leaf % 10)];
    let leaf = |leaf: u32| match data {
        Data::One if leaf > 0 => Data::Empty.histogram(1000, 1000),
        _ => data.histogram(1000, 1000),
    };
    Ok(Tree::from_leaves(2, (0..100).map(|i| (path(i), leaf(i))).collect())?)
}
