//! How long the paper's cost tables take, and how long `pgsr` does, for the same noisy census.

#[path = "../census/noise.rs"]
mod noise;
#[path = "../census/population.rs"]
mod population;
mod tables;

use noise::noisy_counts;
use pg_dp::hierarchy::{NoisyCounts, Tree, Weights, pgsr};
use population::Census;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
Times the optimum of M_H^dp on noisy counts of the made-up census, by the paper's cost tables and by
pgsr, in turns, and compares their objective values. The tables' time and memory grow with the
noise's variance, so the scale is to be chosen for each epsilon.

cargo run --profile pure --no-default-features --example cost_tables -- EPSILON MAX_SIZE STATES ROUNDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((census, epsilon, rounds)) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match compare(&census, epsilon, rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost_tables: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<(Census, f64, usize)> {
    let [epsilon, max_size, states, rounds] = arguments else { return None };
    let max_size = max_size.parse().ok().filter(|&size| size > 0)?;
    let states = states.parse().ok().filter(|&count| count > 0)?;
    let census = Census { max_size, states, ..Census::default() };
    Some((census, epsilon.parse().ok()?, rounds.parse().ok().filter(|&count| count > 0)?))
}

fn compare(census: &Census, epsilon: f64, rounds: usize) -> Result<(), Box<dyn Error>> {
    let (tree, leaves) = Tree::from_leaves(census.levels - 1, census.leaves())?;
    let truth = tree.sums(leaves);
    let words = &mut ChaCha20Rng::seed_from_u64(census.seed);
    words.set_stream(1); // the census itself is drawn from stream 0
    let (counts, _) = noisy_counts(&tree, &truth, census.max_size, epsilon, words)
        .map_err(|error| format!("EPSILON {epsilon} {error}"))?;
    let sizes = census.max_size as usize + 1;
    let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let noisy = NoisyCounts::new(&tree, sizes, &values, Weights::Equal);
    let total = truth[0].groups();
    let half_width = tables::half_width(2.0 * tree.depth() as f64 / epsilon);
    println!(
        "epsilon {epsilon}: {} regions, {sizes} sizes, {} cells, {total} groups; domains of the \
         tables: noisy count +- {half_width}",
        tree.regions().len(),
        counts.len(),
    );

    let (mut pgsr_times, mut table_times) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let begin = Instant::now();
        let exact = pgsr(&noisy, Some(total));
        pgsr_times.push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        let by_tables = tables::consistent(&tree, sizes, &counts, total, half_width)
            .ok_or("nothing consistent lies within the tables' domains")?;
        table_times.push(begin.elapsed().as_secs_f64());
        println!(
            "round {round}: pgsr {:.3} s, cost tables {:.3} s",
            pgsr_times[round - 1],
            table_times[round - 1]
        );
        if round == rounds {
            let (cost, table_cost) = (noisy.cost(&exact), noisy.cost(&by_tables));
            let outside = exact
                .iter()
                .zip(&counts)
                .filter(|(exact, count)| (**exact as i64).abs_diff(**count) > half_width)
                .count();
            let verdict = if cost == table_cost { "equal" } else { "DIFFERENT" };
            println!(
                "objective values: pgsr {cost}, cost tables {table_cost}: {verdict}; cells of the \
                 optimum outside the tables' domains: {outside}"
            );
        }
    }
    let (pgsr_time, table_time) = (median(pgsr_times), median(table_times));
    println!(
        "medians: pgsr {pgsr_time:.3} s, cost tables {table_time:.3} s, ratio {:.1}",
        table_time / pgsr_time
    );
    Ok(())
}

/// The lower one of two.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) / 2]
}
