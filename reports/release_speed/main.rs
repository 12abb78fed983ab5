//! How long a release of the made-up census takes, its peak of memory, and how many numbers with
//! noise it is made of.

#[path = "../census/population.rs"]
mod population;

use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, HistogramMeasurement, NodeMeasurement, Profile};
use pg_dp::hierarchy::{Mechanism, ReleasePlan, ReleaseRequest, Tree};
use pg_dp::noise::{DiscreteLaplace, words_from_system};
use population::Census;
use std::error::Error;
use std::fs::read_to_string;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
Releases the made-up census (117,630,445 groups, 3 levels, 3,197 regions) once, with epsilon 1. Prints
one line, tab-separated:
    ESTIMATOR, CONSISTENCY, MAX_SIZE, THREADS as they were given
    seconds of the clock, and of all processors together
    peak of the process' memory in bytes, the exact census included
    draws of noise per region: their mean, the most, and the most by which a region's exceed 2 (T + m),
    where T of its numbers are cumulative counts (columns) and m groups are of size T or more; with equal
    shares of epsilon for all levels, without a first look

cargo run --profile pure --no-default-features --example release_speed -- \\
    ESTIMATOR CONSISTENCY MAX_SIZE THREADS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [estimator, consistency, max_size, threads] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (Ok(max_size), Ok(threads)) = (max_size.parse(), threads.parse()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match measure(estimator, consistency, max_size, threads) {
        Ok(figures) => {
            println!("{}\t{figures}", arguments.join("\t"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("release_speed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(
    estimator: &str,
    consistency: &str,
    max_size: i64,
    threads: NonZeroUsize,
) -> Result<String, Box<dyn Error>> {
    let census = Census::default();
    let (tree, leaves) = Tree::from_leaves(census.levels - 1, census.leaves())?;
    let request =
        ReleaseRequest::new(tree.depth(), 1.0).by(&[estimator], consistency).up_to(max_size);
    let plan = ReleasePlan::new(&request)?;
    let receipt = Receipt::uncharged(Mechanism::new(&request)?);
    let truth = tree.sums(leaves.clone());

    let (begin, processors) = (Instant::now(), processor_seconds());
    let words = &mut words_from_system()?;
    let released = receipt.release(&tree, leaves, words, threads, &mut ())?;
    let (seconds, processors) = (begin.elapsed().as_secs_f64(), processor_seconds() - processors);
    let peak = peak_bytes()?;
    black_box(released);

    let draws = draws(&plan, &tree, &truth)?;
    let mean = draws.iter().map(|draws| draws.all as f64).sum::<f64>() / draws.len() as f64;
    let most = draws.iter().map(|draws| draws.all).max().unwrap_or(0);
    let beyond = draws.iter().map(Draws::beyond).max().unwrap_or(0);
    Ok(format!("{seconds:.3}\t{processors:.3}\t{peak}\t{mean:.1}\t{most}\t{beyond}"))
}

/// The most physical memory that this process has ever had.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("no VmHWM in /proc/self/status")?.parse::<u64>()? << 10)
}

/// That all threads of this process have been running on a processor for.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes a time and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How many numbers are measured of a region.
struct Draws {
    all: u64,
    /// T
    columns: u64,
    /// m
    above: u64,
}

impl Draws {
    fn beyond(&self) -> i64 {
        self.all as i64 - 2 * (self.columns + self.above) as i64
    }
}

/// Those of every region that is measured, level by level, as a release does it.
fn draws(plan: &ReleasePlan, tree: &Tree, truth: &[Coco]) -> Result<Vec<Draws>, Box<dyn Error>> {
    let mut draws = Vec::new();
    let mut profiles: Vec<Option<Profile>> = vec![None; truth.len()];
    for (level, measurement) in plan.levels().iter().enumerate() {
        let Some(measurement) = measurement else { continue };
        let of_regions = measurement.of_regions().ok_or("a chain has no regions of its own")?;
        for (region, parent) in tree.level(level).zip(tree.parents(level)) {
            let parent = parent.and_then(|parent| profiles[parent].as_ref());
            let (of_region, profile) =
                draws_of_region(plan, of_regions.of_histogram(), &truth[region], parent)?;
            draws.push(of_region);
            profiles[region] = Some(profile);
        }
    }
    Ok(draws)
}

fn draws_of_region(
    plan: &ReleasePlan,
    measurement: &HistogramMeasurement,
    truth: &Coco,
    parent: Option<&Profile>,
) -> Result<(Draws, Profile), Box<dyn Error>> {
    let mut of_region = measurement.of_groups(truth.groups());
    if let Some(parent) = parent {
        of_region = of_region.below(parent);
    }
    let noise = DiscreteLaplace::new(of_region.noise().scale());
    let variance = of_region.noise().variance();
    let mut words = words_from_system()?;
    let (mut all, mut first) = (0, Vec::new());
    let estimate = of_region.estimate(truth, |exact| {
        let noisy = exact + noise.sample(&mut words);
        all += 1;
        if all <= plan.max_size() {
            first.push(noisy); // no more are columns
        }
        noisy
    });
    let columns = columns(&of_region, first);
    let above = truth.runs().iter().filter(|run| run.size >= columns).map(|run| run.groups).sum();
    Ok((Draws { all, columns, above }, Profile::new(&estimate, plan.max_size(), variance)))
}

/// How many of the noisy numbers are columns: as many as are measured of a histogram without
/// groups, which has no rows, where they come out the same.
fn columns(of_region: &NodeMeasurement, noisy: Vec<i64>) -> u64 {
    let (mut count, mut noisy) = (0, noisy.into_iter());
    of_region.estimate(&Coco::default(), |_| {
        count += 1;
        noisy.next().unwrap_or(0)
    });
    count
}
