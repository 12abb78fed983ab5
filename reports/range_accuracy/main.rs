//! Compares the methods for range sums at equal privacy, over ever more bins, and writes a report
//! with figures: docs/range-accuracy.md.

#[path = "../command.rs"]
mod command;
mod exact;
mod figures;
mod methods;
#[path = "../accuracy/numbers.rs"]
mod numbers;
mod plot;
mod regions;
mod report;
mod simulation;

use exact::{Line, Published, compare, published};
use methods::{for_all_ranges, for_prefixes, granted_rho};
use pg_dp::ranges::Workload;
use report::report;
use simulation::{Simulated, simulate};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Compares the methods for range sums and writes range-accuracy.md and its figures into a directory.
Expected variances are exact; the expected worst error is the mean over so many releases of each
method, at least 2. What the report says depends on that number alone.

cargo run --profile pure --no-default-features --example range_accuracy -- RELEASES DIRECTORY";

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;
const SEED: u64 = 2025;

/// Everything that is reported.
struct Results {
    /// The zero-concentrated loss that [`EPSILON`] and [`DELTA`] allow.
    granted: f64,
    /// At [`EPSILON`] and [`DELTA`].
    all: Vec<Line>,
    prefix: Vec<Line>,
    /// At [`EPSILON`] without a delta, over all ranges.
    pure: Vec<Line>,
    published: Vec<Published>,
    simulated: Vec<Simulated>,
    releases: usize,
}

fn main() -> ExitCode {
    command::run("range_accuracy", USAGE, 2, measure_and_write)
}

fn measure_and_write(releases: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let results = Results {
        granted: granted_rho(DELTA)?,
        all: compare(&for_all_ranges(), Workload::All, DELTA)?,
        prefix: compare(&for_prefixes(), Workload::Prefix, DELTA)?,
        pure: compare(&methods::pure(), Workload::All, 0.0)?,
        published: published()?,
        simulated: simulate(releases)?,
        releases,
    };
    figures::draw(&results, directory)?;
    Ok(std::fs::write(directory.join("range-accuracy.md"), report(&results)?)?)
}
