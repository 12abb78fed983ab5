//! The largest error of a release, by releasing.

use crate::methods::{MINIMAX_PREFIX, Method, OPTIMAL_PREFIX, for_all_ranges};
use crate::{DELTA, SEED};
use pg_dp::ranges::RangeMechanism;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::iter::repeat_n;
use std::ops::Range;
use std::thread;

/// Of one method over so many bins.
pub struct Simulated {
    /// Its name.
    pub method: &'static str,
    pub bins: usize,
    /// The largest squared error among all ranges.
    pub all: Estimate,
    /// The same among the prefixes.
    pub prefix: Estimate,
}

/// An expectation from a sample.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub mean: f64,
    pub standard_error: f64,
}

impl Estimate {
    /// Of at least two values.
    fn of(values: &[f64]) -> Estimate {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Estimate { mean, standard_error: (squares / (count - 1.0) / count).sqrt() }
    }
}

/// So many releases of empty bins by every method over 2^4 to 2^12 of them, on all cores. The error
/// of a release does not depend on what is counted.
pub fn simulate(releases: usize) -> Result<Vec<Simulated>, Box<dyn Error>> {
    let jobs: Vec<(Method, usize)> = methods()
        .into_iter()
        .flat_map(|method| (4..=12).map(move |power| (method, 1 << power)))
        .collect();
    // every release has its own stream of random words, whichever thread makes it
    let run = |job: usize| -> Result<Simulated, String> {
        let (method, bins) = jobs[job];
        let made = method.make(bins, DELTA).map_err(|e| format!("{}: {e}", method.name))?;
        let (mut all, mut prefix) = (Vec::new(), Vec::new());
        for release in 0..releases {
            let mut words = ChaCha20Rng::seed_from_u64(SEED);
            words.set_stream((job * releases + release) as u64);
            let errors = Errors::draw(made.mechanism(), &mut words);
            all.push(errors.worst_within(0..bins).powi(2));
            prefix.push(errors.worst_prefix().powi(2));
        }
        Ok(Simulated {
            method: method.name,
            bins,
            all: Estimate::of(&all),
            prefix: Estimate::of(&prefix),
        })
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let work = |first: usize| -> Result<Vec<(usize, Simulated)>, String> {
        (first..jobs.len()).step_by(threads).map(|job| Ok((job, run(job)?))).collect()
    };
    let mut done = thread::scope(|scope| -> Result<Vec<(usize, Simulated)>, String> {
        let threads: Vec<_> = (0..threads).map(|first| scope.spawn(move || work(first))).collect();
        let mut done = vec![];
        for thread in threads {
            done.extend(thread.join().map_err(|_| "a thread failed")??);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(job, _)| *job);
    Ok(done.into_iter().map(|(_, simulated)| simulated).collect())
}

/// Of both workloads.
fn methods() -> Vec<Method> {
    for_all_ranges().into_iter().chain([OPTIMAL_PREFIX, MINIMAX_PREFIX]).collect()
}

/// What a release of empty bins answers.
struct Errors<'a> {
    mechanism: &'a dyn RangeMechanism,
    reconstruction: Vec<f64>,
}

impl<'a> Errors<'a> {
    fn draw(mechanism: &'a dyn RangeMechanism, words: &mut ChaCha20Rng) -> Errors<'a> {
        let groups = mechanism.measurements().groups();
        let noise = groups.iter().flat_map(|group| repeat_n(&group.noise, group.measurements));
        let noisy: Vec<i64> = noise.map(|noise| noise.sample(words)).collect();
        Errors { mechanism, reconstruction: mechanism.reconstruct(&noisy) }
    }

    fn of(&self, range: Range<usize>) -> f64 {
        self.mechanism.answer(&self.reconstruction, range)
    }

    fn worst_prefix(&self) -> f64 {
        (1..=self.mechanism.bins()).map(|hi| self.of(0..hi).abs()).fold(0.0, f64::max)
    }

    /// The largest |error| among the ranges within a node of a binary tree over a power of two of
    /// bins, in O(n log n) answers instead of one for each of the n^2 / 2 ranges.
    ///
    /// A range across the middle of a node, unless it is the node, has an answer that is the sum of
    /// the answers for its parts on either side: so are the fewest nodes of the binary tree, and
    /// other methods' answers are differences of prefixes.
    fn worst_within(&self, node: Range<usize>) -> f64 {
        let whole = self.of(node.clone()).abs();
        if node.len() == 1 {
            return whole;
        }
        let middle = node.start + node.len() / 2;
        let (left, right) = (node.start..middle, middle..node.end);
        // of the parts of a half that reach the middle: the empty one and all others but the half
        let lefts = extremes((left.start + 1..=middle).map(|lo| self.of(lo..middle)));
        let rights = extremes((middle..right.end).map(|hi| self.of(middle..hi)));
        let (left_half, right_half) = (self.of(left.clone()), self.of(right.clone()));
        let across = [
            lefts.0 + rights.0.min(right_half),
            lefts.1 + rights.1.max(right_half),
            left_half + rights.0,
            left_half + rights.1,
        ];
        let inside = [whole, self.worst_within(left), self.worst_within(right)];
        across.into_iter().map(f64::abs).chain(inside).fold(0.0, f64::max)
    }
}

/// The least and the largest.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, largest), value| {
        (least.min(value), largest.max(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pg_dp::ranges::Workload;

    #[test]
    fn the_worst_range_is_found() {
        for method in methods() {
            let made = method.make(16, DELTA).unwrap();
            for seed in 0..50 {
                let errors = Errors::draw(made.mechanism(), &mut ChaCha20Rng::seed_from_u64(seed));
                let slow = Workload::All.ranges(16).map(|range| errors.of(range).abs());
                let slow = slow.fold(0.0, f64::max);
                let fast = errors.worst_within(0..16);
                let close = (fast - slow).abs() <= 1e-9 * slow;
                assert!(close, "{}, seed {seed}: {fast} {slow}", method.name);
            }
        }
    }
}
