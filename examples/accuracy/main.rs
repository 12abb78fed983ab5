//! Releases the made-up census and the flights many times by every method, and writes how far off
//! they are: docs/accuracy.md.

mod data;
mod errors;
mod methods;
#[path = "../census/noise.rs"]
mod noise;
mod numbers;
#[path = "../census/population.rs"]
mod population;
mod report;

use data::Data;
use errors::Errors;
use methods::METHODS;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use report::{Sample, report};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

const USAGE: &str = "\
Releases the made-up census and the flights by every method, so many times each, and writes a report
on their errors. What the report says depends on the number of runs alone; it is at least 2.

cargo run --profile pure --no-default-features --example accuracy -- RUNS FILE";

const EPSILONS: [f64; 3] = [0.1, 0.5, 1.0];
const SEED: u64 = 2020;

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
    match measure_and_write(runs, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("accuracy: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_and_write(runs: usize, file: &str) -> Result<(), Box<dyn Error>> {
    let data = [data::census()?, data::flights()?];
    let mut samples = Vec::new();
    for index in 0..data.len() {
        for epsilon in EPSILONS {
            for method in 0..METHODS.len() {
                samples.push(Sample { data: index, epsilon, method, runs: vec![] });
            }
        }
    }
    measure(&data, &mut samples, runs)?;
    Ok(std::fs::write(file, report(&data, &samples, runs, SEED))?)
}

/// Fills the samples, on all cores. Every release has its own stream of random words, so the result
/// does not depend on which of them is ready first.
fn measure(data: &[Data], samples: &mut [Sample], runs: usize) -> Result<(), String> {
    let releases = samples.len() * runs;
    // one run of all samples, then the next: the time that is left can be told after the first
    let next = Mutex::new(0..releases);
    let progress = Mutex::new((Instant::now(), 0));
    let one = |release: usize, sample: &Sample| -> Result<Errors, String> {
        let mut words = ChaCha20Rng::seed_from_u64(SEED);
        words.set_stream(release as u64);
        let data = &data[sample.data];
        let released = METHODS[sample.method]
            .run(data, sample.epsilon, &mut words)
            .map_err(|error| format!("{}: {error}", METHODS[sample.method].name))?;
        let mut progress = progress.lock().map_err(|_| "another thread failed")?;
        progress.1 += 1;
        if progress.1 % samples.len() == 0 {
            let (done, minutes) = (progress.1, progress.0.elapsed().as_secs_f64() / 60.0);
            eprintln!(
                "==> {} of {runs} runs after {minutes:.1} minutes, about {:.1} to go",
                done / samples.len(),
                minutes * (releases - done) as f64 / done as f64,
            );
        }
        drop(progress);
        Ok(Errors::of(&data.tree, &data.truth, &released))
    };
    let work = || -> Result<Vec<(usize, Errors)>, String> {
        let mut done = vec![];
        while let Some(release) = next.lock().ok().and_then(|mut next| next.next()) {
            done.push((release, one(release, &samples[release % samples.len()])?));
        }
        Ok(done)
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let mut done = thread::scope(|scope| -> Result<Vec<(usize, Errors)>, String> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut done = vec![];
        for thread in threads {
            done.extend(thread.join().map_err(|_| "a thread failed")??);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(release, _)| *release);
    for (release, errors) in done {
        samples[release % samples.len()].runs.push(errors);
    }
    Ok(())
}
