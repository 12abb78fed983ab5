//! Prints a made-up census, or noisy counts of it, as rows that COPY reads.

mod noise;
mod population;

use noise::noisy_counts;
use pg_dp::hierarchy::Tree;
use population::Census;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

const USAGE: &str = "\
Prints a made-up census (the data are synthetic) to standard output, one line per region of the
lowest level and group size that occurs there, tab-separated for COPY:
    state, county, size, groups
With --noisy, one line per region of any level and size from 0 on, whose number of groups has noise
as M_H adds it (discrete Laplace of scale 2 levels / EPSILON):
    path (text[]), size, groups, variance

cargo run --profile pure --no-default-features --example census -- [OPTION VALUE]...
    --seed SEED           another census; the same seed prints the same
    --levels 2|3          nation and states, or (default) counties as well; with 2 there is no county
    --states COUNT        only the first of the 52
    --counties COUNT      at most so many in each state
    --groups COUNT        in the whole nation, instead of 117,630,445
    --max-size SIZE       of a group, instead of 1,000
    --noisy EPSILON";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((census, epsilon)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let printed = match epsilon {
        None => print_exact(&census),
        Some(epsilon) => print_noisy(&census, epsilon),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("census: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<(Census, Option<f64>)> {
    let (mut census, mut epsilon) = (Census::default(), None);
    for argument in arguments.chunks(2) {
        let [name, value] = argument else { return None };
        match name.as_str() {
            "--seed" => census.seed = value.parse().ok()?,
            "--levels" => census.levels = value.parse().ok().filter(|n| [2, 3].contains(n))?,
            "--states" => census.states = value.parse().ok().filter(|&n| n > 0)?,
            "--counties" => census.counties = value.parse().ok().filter(|&n| n > 0)?,
            "--groups" => census.groups = value.parse().ok()?,
            "--max-size" => census.max_size = value.parse().ok().filter(|&n| n > 0)?,
            "--noisy" => epsilon = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some((census, epsilon))
}

fn print_exact(census: &Census) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(stdout().lock());
    for (path, histogram) in census.leaves() {
        for run in histogram.runs() {
            writeln!(out, "{}\t{}\t{}", path.join("\t"), run.size, run.groups)?;
        }
    }
    Ok(out.flush()?)
}

fn print_noisy(census: &Census, epsilon: f64) -> Result<(), Box<dyn Error>> {
    let (tree, leaves) = Tree::from_leaves(census.levels - 1, census.leaves())?;
    let words = &mut ChaCha20Rng::seed_from_u64(census.seed);
    words.set_stream(1); // the census itself is drawn from stream 0
    let truth = tree.sums(leaves);
    let (counts, variance) = noisy_counts(&tree, &truth, census.max_size, epsilon, words)
        .map_err(|error| format!("EPSILON {epsilon} {error}"))?;
    let mut out = BufWriter::new(stdout().lock());
    for (number, region) in tree.regions().iter().enumerate() {
        let path: Vec<String> = region.path.names().map(|name| format!("\"{name}\"")).collect();
        let path = path.join(",");
        for (size, groups) in counts.iter().skip(number).step_by(truth.len()).enumerate() {
            writeln!(out, "{{{path}}}\t{size}\t{groups}\t{variance}")?;
        }
    }
    Ok(out.flush()?)
}
