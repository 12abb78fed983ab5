//! Releases hierarchies by each of the estimators Hc, Hg and cut, and writes how far off they are in
//! earth mover's distance: docs/estimators.md.

#[path = "../accuracy/data.rs"]
#[expect(dead_code, reason = "the other report says more of the data")]
mod data;
#[path = "../census/population.rs"]
mod population;
mod synthetic;

use data::Data;
use pg_dp::coco::emd;
use pg_dp::hierarchy::{Observer, ReleasePlan, release};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

const USAGE: &str = "\
Releases four hierarchies by the estimators Hc, Hg and cut, so many times each, and writes a report on
their errors. RUNS is at least 2. The errors depend on RUNS alone, the times on the machine.

cargo run --profile pure --no-default-features --example estimators -- RUNS FILE";

const ESTIMATORS: [&str; 3] = ["Hc", "Hg", "cut"];
const CONSISTENCY: [&str; 2] = ["none", "matching"];
const EPSILONS_PER_LEVEL: [f64; 5] = [0.05, 0.1, 0.5, 1.0, 2.0];
const SEED: u64 = 2018;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [runs, file] => runs.parse().ok().filter(|&runs| runs > 1).map(|runs| (runs, file)),
        _ => None,
    };
    let Some((runs, file)) = parsed else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match report(runs).and_then(|text| Ok(std::fs::write(file, text)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("estimators: {error}");
            ExitCode::FAILURE
        }
    }
}

fn hierarchies() -> Result<[Data; 4], Box<dyn Error>> {
    let levels = ["nation", "states", "counties"];
    let (sparse, dense) = (synthetic::sparse(SEED), synthetic::dense(SEED));
    Ok([
        Data::new("Sparse", "", levels, sparse, synthetic::SPARSE_MAX_SIZE)?,
        Data::new("Dense", "", levels, dense, synthetic::DENSE_MAX_SIZE)?,
        data::flights()?,
        data::census()?,
    ])
}

fn report(runs: u64) -> Result<String, Box<dyn Error>> {
    let mut text = format!(
        "# Accuracy of the estimators

`make accuracy` wrote this page, from {runs} releases each. The error of a region is the earth mover's
distance (emd) of its released histogram from the true one: the mean over the regions of a level and
the releases, ± its standard error. ε is that of a level. *Ratio* is the error of `cut` over that of
the better of `Hc` and `Hg` in that row. The data are described in `examples/estimators` and
`examples/census`.
"
    );
    let hierarchies = hierarchies()?;
    let sections = thread::scope(|scope| {
        let threads = hierarchies.each_ref().map(|data| {
            scope.spawn(move || section(data, runs).map_err(|error| error.to_string()))
        });
        threads.map(|thread| thread.join().map_err(|_| "a thread failed".to_string()).flatten())
    });
    let mut ratios = Vec::new();
    for section in sections {
        let (section, of_section) = section?;
        text += &section;
        ratios.extend(of_section);
    }
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let won = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
    writeln!(
        text,
        "\n**In all:** `cut` has the least error in {won} of {} rows, and at most {worst:.2} times \
         the least in the others.",
        ratios.len()
    )?;
    Ok(text)
}

/// What the report says of one hierarchy, and the ratios in it.
fn section(data: &Data, runs: u64) -> Result<(String, Vec<f64>), Box<dyn Error>> {
    let mut ratios = Vec::new();
    let mut text = format!(
        "\n## {}\n\n{} groups, `max_size` {}.\n\n\
         | ε | consistency | level | Hc | Hg | cut | ratio |\n|--:|---|---|--:|--:|--:|--:|\n",
        data.title,
        data.groups(),
        data.max_size
    );
    let mut seconds = [0.0; ESTIMATORS.len()];
    for epsilon in EPSILONS_PER_LEVEL {
        for consistency in CONSISTENCY {
            let mut errors = Vec::new();
            for (estimator, seconds) in ESTIMATORS.iter().zip(&mut seconds) {
                let start = Instant::now();
                errors.push(errors_of(data, epsilon, estimator, consistency, runs)?);
                *seconds += start.elapsed().as_secs_f64();
            }
            for (level, name) in data.levels.iter().enumerate() {
                let [hc, hg, cut] = [0, 1, 2].map(|estimator| errors[estimator][level]);
                let ratio = cut.0 / hc.0.min(hg.0);
                ratios.push(ratio);
                let [hc, hg, cut] =
                    [hc, hg, cut].map(|(mean, deviation)| format!("{mean:.1} ± {deviation:.1}"));
                writeln!(
                    text,
                    "| {epsilon} | {consistency} | {name} | {hc} | {hg} | {cut} | {ratio:.2} |"
                )?;
            }
            eprintln!("==> {}, epsilon {epsilon}, {consistency}", data.title);
        }
    }
    let releases = (runs as usize * EPSILONS_PER_LEVEL.len() * CONSISTENCY.len()) as f64;
    let [hc, hg, cut] = seconds.map(|all| all / releases);
    writeln!(
        text,
        "\nSeconds per release, the error's computation included: `Hc` {hc:.3}, `Hg` {hg:.3}, \
         `cut` {cut:.3}."
    )?;
    Ok((text, ratios))
}

struct Silent;

impl Observer for Silent {
    fn checkpoint(&mut self) {}
    fn level_measured(&mut self, _: usize, _: usize) {}
}

/// For each level the mean error of a region and its standard error.
fn errors_of(
    data: &Data,
    epsilon: f64,
    estimator: &str,
    consistency: &str,
    runs: u64,
) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let depth = data.tree.depth();
    let plan = ReleasePlan::new(
        depth,
        epsilon * depth as f64,
        &[estimator.to_string()],
        consistency,
        data.max_size as i64,
        None,
        1,
    )?;
    let mut errors = vec![Vec::new(); depth];
    for run in 0..runs {
        let mut words = ChaCha20Rng::seed_from_u64(SEED);
        words.set_stream(run);
        // the hierarchies share the cores
        let threads = NonZeroUsize::MIN;
        let released = release(&plan, &data.tree, data.leaves(), &mut words, threads, &mut Silent)?;
        for (level, errors) in errors.iter_mut().enumerate() {
            let regions = data.tree.level(level);
            let mut sum = 0.0;
            for region in regions.clone() {
                sum += emd(released[region].histogram(), &data.truth[region])? as f64;
            }
            errors.push(sum / regions.len() as f64);
        }
    }
    let summary = |errors: Vec<f64>| {
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0) / count).sqrt())
    };
    Ok(errors.into_iter().map(summary).collect())
}
