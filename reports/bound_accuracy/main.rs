//! Compares bounds that dp_find_bound chooses with the best fixed ones: docs/bound-accuracy.md.

#[path = "../command.rs"]
mod command;
mod least;
mod report;
mod shapes;

use least::least;
use pg_dp::bounds::{BoundSearch, Bounded};
use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Run, emd};
use pg_dp::hierarchy::HistogramMechanism;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use shapes::{Shape, shapes};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Compares bounds that are chosen privately with the best fixed ones and writes bound-accuracy.md into a
directory, from so many searches of each shape. What it says depends on that number alone.

cargo run --profile pure --no-default-features --example bound_accuracy -- SEARCHES DIRECTORY";

/// Of search and release together.
const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];
const SEED: u64 = 2026;
/// The rows of a unit where amounts are bounded.
const ROWS: u32 = 4;
/// Releases of a histogram for each bound.
const RELEASES: usize = 20;

/// What was measured of a shape at an epsilon.
pub struct Cell {
    pub best_bound: u64,
    /// The mean error of the best fixed bound, with all of epsilon.
    pub best: f64,
    /// That of what was chosen, with what the search leaves.
    pub auto: f64,
    /// The middle one of the bounds that were chosen.
    pub chosen: u64,
    /// What no search is better than, as a multiple of the best: see [`least`].
    pub least: f64,
}

fn main() -> ExitCode {
    command::run("bound_accuracy", USAGE, 1, measure_and_write)
}

fn measure_and_write(searches: usize, directory: &Path) -> Result<(), Box<dyn Error>> {
    let shapes = shapes(&mut ChaCha20Rng::seed_from_u64(SEED));
    let mut measured = Vec::new();
    for bounded in Bounded::ALL {
        let of_shape = |(n, shape): (u64, &Shape)| {
            EPSILONS.iter().map(|epsilon| measure(bounded, shape, *epsilon, searches, n)).collect()
        };
        let rows: Result<Vec<Vec<Cell>>, _> = (0..).zip(&shapes).map(of_shape).collect();
        measured.push((bounded, rows?));
        eprintln!("==> {}", bounded.word());
    }
    Ok(std::fs::write(
        directory.join("bound-accuracy.md"),
        report::report(&shapes, &measured, searches),
    )?)
}

fn measure(
    bounded: Bounded,
    shape: &Shape,
    epsilon: f64,
    searches: usize,
    n: u64,
) -> Result<Cell, Box<dyn Error>> {
    let words = &mut ChaCha20Rng::seed_from_u64(SEED + 1 + n);
    let rows = if bounded == Bounded::Amounts { ROWS } else { 1 };
    let largest = shape.values.iter().copied().max().unwrap_or(1);
    let search = |epsilon| BoundSearch::new(bounded, epsilon, None, rows);
    let share = epsilon / (1.0 + BoundSearch::RELEASE);
    let left = epsilon - share;

    // each bound that could be fixed: in steps of a tenth, up to the largest value
    let mut bounds = vec![1u64];
    while bounds[bounds.len() - 1] < largest {
        let last = bounds[bounds.len() - 1];
        bounds.push((last + 1).max(last * 11 / 10).min(largest));
    }
    let mut error = Errors { bounded, shape, rows, of_releases: Vec::new() };
    let mut best = (1, f64::INFINITY);
    for bound in &bounds {
        let of_bound = error.mean(*bound, epsilon, words)?;
        if of_bound < best.1 {
            best = (*bound, of_bound);
        }
    }
    let least = match bounded {
        Bounded::Sizes => 0.0,
        Bounded::Rows | Bounded::Amounts => least(shape, rows, &bounds, epsilon, share),
    };
    let (mut auto, mut chosen) = (0.0, Vec::new());
    for _ in 0..searches {
        let search = search(share)?;
        let mut tally = search.tally();
        shape.values.iter().for_each(|value| match bounded {
            Bounded::Sizes => tally.add_groups(*value, 1),
            Bounded::Rows | Bounded::Amounts => tally.add(*value),
        });
        let found = Receipt::uncharged(search).find(&tally, words);
        let bound = found.candidates.iter().find(|one| one.chosen).map_or(1, |one| one.bound);
        auto += error.mean(bound, left, words)? / searches as f64;
        chosen.push(bound);
    }
    chosen.sort_unstable();
    Ok(Cell { best_bound: best.0, best: best.1, auto, chosen: chosen[chosen.len() / 2], least })
}

/// How far off releases with a bound are.
struct Errors<'a> {
    bounded: Bounded,
    shape: &'a Shape,
    rows: u32,
    /// Of histograms, which are released: bound and epsilon, with the mean error.
    of_releases: Vec<(u64, f64, f64)>,
}

impl Errors<'_> {
    /// Of Laplace noise around what is left out.
    fn of_sum(shape: &Shape, rows: u32, bound: u64, epsilon: f64) -> f64 {
        let left_out: f64 =
            shape.values.iter().map(|value| value.saturating_sub(bound) as f64).sum();
        let scale = bound as f64 * f64::from(rows) / epsilon;
        left_out + scale * (-left_out / scale).exp()
    }

    fn mean(
        &mut self,
        bound: u64,
        epsilon: f64,
        words: &mut ChaCha20Rng,
    ) -> Result<f64, Box<dyn Error>> {
        if self.bounded != Bounded::Sizes {
            return Ok(Errors::of_sum(self.shape, self.rows, bound, epsilon));
        }
        if let Some((.., mean)) =
            self.of_releases.iter().find(|one| (one.0, one.1) == (bound, epsilon))
        {
            return Ok(*mean);
        }
        let truth: Coco =
            self.shape.values.iter().map(|size| Run { size: *size, groups: 1 }).collect();
        let mut sum = 0.0;
        for _ in 0..RELEASES {
            let mechanism = HistogramMechanism::new(epsilon, "auto", bound as i64)?;
            let released = Receipt::uncharged(mechanism).release(&truth, words, &mut ());
            sum += emd(&truth, released.histogram())? as f64;
        }
        let mean = sum / RELEASES as f64;
        self.of_releases.push((bound, epsilon, mean));
        Ok(mean)
    }
}
