//! How long a release of range sums takes, how much of that is noise, and its peak of memory.

use pg_dp::charge::Receipt;
use pg_dp::noise::words_from_system;
use pg_dp::ranges::{MeasurementGroup, MethodChoice, RangePlan, RangeRequest};
use std::error::Error;
use std::fs::read_to_string;
use std::hint::black_box;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

const USAGE: &str = "\
Releases a histogram once, with epsilon 1. Prints four numbers: the processor's seconds for the plan,
for the release, for its noise, drawn once more by itself; and by how many bytes per bin the memory
grew up to the release's peak, of which 8 are the histogram itself.

cargo run --profile pure --no-default-features --example ranges_speed -- METHOD DELTA BINS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((method, delta, bins)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match measure(method, delta, bins) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ranges_speed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<(&str, f64, u32)> {
    let [method, delta, bins] = arguments else { return None };
    Some((method, delta.parse().ok()?, bins.parse().ok()?))
}

fn measure(method: &str, delta: f64, bins: u32) -> Result<(), Box<dyn Error>> {
    // what the program itself takes, once it has been loaded
    let method = MethodChoice::parse(method)?;
    let plan = |bins| {
        let (epsilon, rows_per_unit, method) = (1.0, 1, method.clone());
        RangePlan::new(RangeRequest { bins, epsilon, delta, rows_per_unit, method })
    };
    Receipt::uncharged(plan(64)?).release(&[0; 64], &mut words_from_system()?);
    let before = peak_bytes()?;
    let counts: Vec<u64> = (0..bins).map(|bin| u64::from(bin % 7)).collect();

    let begin = processor_seconds()?;
    let plan = plan(bins.into())?;
    let planning = processor_seconds()? - begin;
    let groups = plan.mechanism().measurements().groups().to_vec();

    let begin = processor_seconds()?;
    let release = Receipt::uncharged(plan).release(&counts, &mut words_from_system()?);
    let releasing = processor_seconds()? - begin;
    let peak = peak_bytes()? - before;
    black_box(release);

    let sampling = seconds_of_noise(&groups)?;
    println!("{planning} {releasing} {sampling} {}", peak as f64 / f64::from(bins));
    Ok(())
}

/// The most physical memory that this process has ever had.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("no VmHWM in /proc/self/status")?.parse::<u64>()? << 10)
}

/// That this process, which has one thread, has been running on a processor for: whatever else the
/// machine does, unlike the time of the clock.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    // brings the account up to date, which else is some milliseconds old
    sleep(Duration::from_nanos(1));
    let account = read_to_string("/proc/self/schedstat")?;
    let nanoseconds = account.split_whitespace().next().ok_or("an empty /proc/self/schedstat")?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}

/// As many draws of the same laws as a release takes, and nothing else.
fn seconds_of_noise(groups: &[MeasurementGroup]) -> Result<f64, Box<dyn Error>> {
    let mut words = words_from_system()?;
    let begin = processor_seconds()?;
    for group in groups {
        for _ in 0..group.measurements {
            black_box(group.noise.sample(&mut words));
        }
    }
    Ok(processor_seconds()? - begin)
}
