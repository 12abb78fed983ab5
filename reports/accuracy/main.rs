//! Releases hierarchies many times by every method of Kuo et al. (2018), of Fioretto, Van
//! Hentenryck and Zhu (2020) and of this extension, and writes how far off they are:
//! docs/accuracy.md.

mod check;
mod coverage;
mod data;
mod emd;
mod l1;
mod lines;
#[path = "../census/noise.rs"]
mod noise;
mod numbers;
mod parallel;
#[path = "../range_accuracy/plot.rs"]
mod plot;
#[path = "../census/population.rs"]
mod population;
mod releases;
mod statistics;
mod synthetic;
mod times;

use emd::Hierarchies;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use synthetic::Geography;

const USAGE: &str = "\
Releases hierarchies by every method, so many times each, and writes accuracy.md and its figures into
a directory. RUNS is at least 2; the errors depend on it alone, the times on the machine. The word
\"quick\" takes its place for a check with fewer and smaller data in 2 minutes, which fails where a
release breaks a promise or what is released by default is worse than the published methods.

With the word \"coverage\" before RUNS it writes coverage.md, how often error bars hold what is true.

cargo run --profile pure --no-default-features --example accuracy -- [coverage] RUNS|quick DIRECTORY";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["quick", directory] => check::quick(Path::new(directory)),
        ["coverage", runs, directory] if runs.parse().is_ok_and(|runs: usize| runs > 0) => {
            cover(runs.parse().unwrap_or_default(), Path::new(directory))
        }
        [runs, directory] if runs.parse().is_ok_and(|runs: usize| runs > 1) => {
            full(runs.parse().unwrap_or_default(), Path::new(directory))
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("accuracy: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Everything, with the figures.
fn full(runs: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let [gap, rooms, few] = data::hard()?;
    let hierarchies = [
        Hierarchies::new(data::housing(Geography { states: 30, counties: 30 })?)?,
        Hierarchies::new(data::dense(Geography { states: 52, counties: 60 })?)?,
        Hierarchies::new(data::taxis()?)?,
        Hierarchies::new(data::census()?)?,
        Hierarchies::new(data::flights()?)?,
        Hierarchies::new(gap)?,
        Hierarchies::new(rooms)?,
        Hierarchies::new(few)?,
    ];
    let [_, _, taxis, census, flights, ..] = hierarchies.each_ref().map(Hierarchies::all);
    let times = times::measure(census)?;
    let counts = l1::Comparison::measure(vec![census, taxis, flights], runs)?;
    let sizes = emd::Comparison::measure(&hierarchies, &emd::EPSILONS, runs)?;
    emd::figures::draw(&sizes, directory)?;
    l1::figures::draw(&counts, directory)?;
    let text = emd::report::report(&sizes, &format!("make accuracy RUNS={runs}"))
        + &l1::report::report(&counts)
        + &times::report(census, &times);
    Ok(std::fs::write(directory.join("accuracy.md"), text)?)
}

/// The error bars alone.
fn cover(runs: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(directory.join("coverage.md"), coverage::page(runs)?)?)
}
