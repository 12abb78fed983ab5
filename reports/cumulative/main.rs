//! How near the integers of consistency "cumulative" come to the optimum, on the made-up census.

#[path = "../census/population.rs"]
mod population;

use pg_dp::charge::Receipt;
use pg_dp::coco::{Estimator, HistogramMeasurement};
use pg_dp::hierarchy::{KnownTotals, NoisyCounts, Tree, Weights, cumulative};
use population::Census;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
Fits the noisy cumulative counts of the made-up census (M_c) and prints the sum of squared distances:
a proven lower bound of it, that of the real-valued solution, that of the integers.

cargo run --profile pure --no-default-features --example cumulative -- EPSILON...";

fn main() -> ExitCode {
    let epsilons: Result<Vec<f64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let epsilons = match epsilons {
        Ok(epsilons) if !epsilons.is_empty() => epsilons,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match epsilons.into_iter().try_for_each(fit) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cumulative: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fit(epsilon: f64) -> Result<(), Box<dyn Error>> {
    let census = Census::default();
    let (tree, leaves) = Tree::from_leaves(census.levels - 1, census.leaves())?;
    let truth = tree.sums(leaves);
    let words = &mut ChaCha20Rng::seed_from_u64(census.seed);
    words.set_stream(1); // the census itself is drawn from stream 0
    let sizes = census.max_size as usize + 1;
    let mut values = vec![0.0; truth.len() * sizes];
    let share = epsilon / tree.depth() as f64;
    let measurement = HistogramMeasurement::new(Estimator::HcL2, census.max_size, 1, share)
        .map_err(|error| format!("EPSILON {epsilon} {error}"))?;
    for (number, region) in truth.iter().enumerate() {
        let of_region = Receipt::uncharged(measurement.of_groups(region.groups()));
        let noisy = of_region.cumulative_counts(region, words);
        let cells = values.iter_mut().skip(number).step_by(truth.len());
        cells.zip(noisy).for_each(|(cell, count)| *cell = count as f64);
    }
    let totals: Vec<u64> = truth.iter().map(|region| region.groups()).collect();
    let noisy = NoisyCounts::new(&tree, sizes, &values, Weights::Equal);

    let begin = Instant::now();
    let fit = cumulative(&noisy, KnownTotals::Regions(&totals));
    println!(
        "epsilon {epsilon}: {} cells in {:.2} s; lower bound {:.1}, real-valued solution {:.1} \
         ({:.1e} above it), integers {:.1} ({:.1e} above it)",
        values.len(),
        begin.elapsed().as_secs_f64(),
        fit.lower_bound,
        fit.real_cost,
        fit.real_cost / fit.lower_bound - 1.0,
        fit.cost,
        fit.cost / fit.lower_bound - 1.0,
    );
    Ok(())
}
