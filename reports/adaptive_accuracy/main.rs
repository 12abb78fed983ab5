//! Compares estimates that see the shape with unbiased ones and with DAWA, on real histograms:
//! docs/adaptive-accuracy.md.

mod cases;
#[path = "../command.rs"]
mod command;
mod dawa;
mod histograms;
#[path = "../accuracy/numbers.rs"]
mod numbers;
#[path = "../accuracy/parallel.rs"]
mod parallel;
mod report;

use cases::{Case, Errors, SIGNALS, cases};
use histograms::{Histogram, histograms};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Compares adaptive estimates of range sums with unbiased ones and writes adaptive-accuracy.md into a
directory, from so many releases of each histogram and signal. What it says depends on that number
alone.

cargo run --profile pure --no-default-features --example adaptive_accuracy -- RELEASES DIRECTORY";

const EPSILON: f64 = 0.1;
const DELTA: f64 = 1e-6;
const SEED: u64 = 2026;
/// One in so many releases has structure_first beside it.
const STRUCTURE_FIRST: usize = 10;

/// What was measured.
struct Results {
    histograms: Vec<Histogram>,
    cases: Vec<Case>,
    /// Of each case, histogram and signal.
    errors: Vec<Errors>,
    releases: usize,
}

impl Results {
    fn of(&self, case: usize, histogram: usize, signal: usize) -> &Errors {
        let histograms = self.histograms.len();
        &self.errors[(case * histograms + histogram) * SIGNALS.len() + signal]
    }
}

fn main() -> ExitCode {
    command::run("adaptive_accuracy", USAGE, 1, measure_and_write)
}

fn measure_and_write(releases: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let (histograms, cases) = (histograms()?, cases());
    let cells = cases.len() * histograms.len() * SIGNALS.len();
    let measured = parallel::measure("adaptive", releases, cells, |run, cell| {
        let (of_case, signal) = (cell / SIGNALS.len(), cell % SIGNALS.len());
        let (case, histogram) = (of_case / histograms.len(), of_case % histograms.len());
        let place = (run * cells + cell) as u64;
        let structure_first = run % STRUCTURE_FIRST == 0;
        cases[case].release(&histograms[histogram], SIGNALS[signal], place, structure_first)
    })?;
    let mut errors = vec![Errors::default(); cells];
    measured.into_iter().enumerate().for_each(|(place, one)| errors[place % cells].add(one));
    let results = Results { histograms, cases, errors, releases };
    Ok(std::fs::write(directory.join("adaptive-accuracy.md"), report::report(&results))?)
}
