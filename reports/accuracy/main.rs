//! Releases hierarchies many times by every method of Kuo et al. (2018), of Fioretto, Van
//! Hentenryck and Zhu (2020) and of this extension, and writes how far off they are:
//! docs/accuracy.md. And single histograms, against mechanisms for these: docs/rivals.md.

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
mod rivals;
mod statistics;
mod synthetic;
mod times;

use data::Data;
use emd::Hierarchies;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use synthetic::Geography;

const USAGE: &str = "\
Releases hierarchies by every method, so many times each, and writes accuracy.md and its figures into
a directory; and single histograms, and writes rivals.md. RUNS is at least 2; the errors depend on it
alone, the times on the machine. The word \"quick\" takes its place for a check with fewer and smaller
data in 2 minutes, which fails where a release breaks a promise or what is released by default is worse
than the published methods.

With the word \"rivals\" before RUNS it writes rivals.md alone; with \"coverage\" it writes coverage.md,
how often error bars hold what is true.

cargo run --profile pure --no-default-features --example accuracy -- [rivals|coverage] RUNS|quick DIRECTORY";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = |word: &str| word.parse().ok().filter(|runs: &usize| *runs > 1);
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["quick", directory] => check::quick(Path::new(directory)),
        [word, directory] if let Some(runs) = runs(word) => full(runs, Path::new(directory)),
        ["coverage", word, directory] if let Some(runs) = runs(word) => {
            cover(runs, Path::new(directory))
        }
        ["rivals", word, directory] if let Some(runs) = runs(word) => {
            data_sets().and_then(|data| single(data.iter(), runs, Path::new(directory)))
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

fn data_sets() -> Result<Vec<Data>, Box<dyn Error>> {
    let mut data = vec![
        data::housing(Geography { states: 30, counties: 30 })?,
        data::dense(Geography { states: 52, counties: 60 })?,
        data::taxis()?,
        data::census()?,
        data::flights()?,
    ];
    data.extend(data::hard()?);
    Ok(data)
}

/// Everything, with the figures.
fn full(runs: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let hierarchies = data_sets()?.into_iter().map(Hierarchies::new);
    let hierarchies: Vec<Hierarchies> = hierarchies.collect::<Result<_, _>>()?;
    let [taxis, census, flights] = [2, 3, 4].map(|number| hierarchies[number].all());
    let times = times::measure(census)?;
    let counts = l1::Comparison::measure(vec![census, taxis, flights], runs)?;
    let sizes = emd::Comparison::measure(&hierarchies, &emd::EPSILONS, runs)?;
    emd::figures::draw(&sizes, directory)?;
    l1::figures::draw(&counts, directory)?;
    let text = emd::report::report(&sizes, &format!("make accuracy RUNS={runs}"))
        + &l1::report::report(&counts)
        + &times::report(census, &times);
    std::fs::write(directory.join("accuracy.md"), text)?;
    single(hierarchies.iter().map(Hierarchies::all), runs, directory)
}

/// The page on single histograms.
fn single<'a>(
    data: impl Iterator<Item = &'a Data>,
    runs: usize,
    directory: &Path,
) -> Result<(), Box<dyn Error>> {
    let comparison = rivals::Comparison::measure(rivals::all(data)?, &rivals::EPSILONS, runs)?;
    let text = rivals::report::report(&comparison, &format!("make accuracy RUNS={runs}"));
    Ok(std::fs::write(directory.join("rivals.md"), text)?)
}

/// The error bars alone.
fn cover(runs: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(directory.join("coverage.md"), coverage::page(runs)?)?)
}
