//! What every method for range sums is: a mechanism that states what it measures, how far one row
//! moves that, the noise, how an answer is made of the noisy integers, and the error to expect.

use crate::noise::RandomWords;
use crate::ranges::method::Target;
use crate::ranges::noise::Noise;
use crate::work::poll;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What no measured integer exceeds in magnitude; noise has the rest of 64 bits.
pub(super) const MEASURED_LIMIT: u64 = 1 << 62;

/// Bins or tree nodes that are passed over between two calls of the caller's checkpoint.
pub(super) const CHECKPOINT_PASS: usize = 1 << 16;

/// Ranges whose variance is computed between two calls of the caller's checkpoint.
pub(super) const CHECKPOINT_VARIANCES: usize = 1 << 10;

/// Draws of noise between two calls of the caller's checkpoint.
const CHECKPOINT_DRAWS: usize = 1 << 12;

/// Consecutive measurements with one kind of noise, such as the nodes of a level.
#[derive(Debug, Clone)]
pub struct Group {
    pub measurements: usize,
    pub noise: Noise,
}

/// What one row, in whichever bin, moves a mechanism's exact integers by at most, in units of their
/// noise: the privacy loss of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Of discrete Laplace noise: the sum of |distance| / t, t the scale.
    Epsilon(f64),
    /// Of discrete Gaussian noise: the sum of distance^2 / (2 sigma^2).
    Rho(f64),
}

impl Loss {
    /// Where one row moves one measurement of every group, by 1.
    pub(super) fn of_groups(groups: &[Group]) -> Loss {
        let epsilon = |group: &Group| group.noise.epsilon();
        match groups.iter().map(epsilon).sum::<Option<f64>>() {
            Some(epsilon) => Loss::Epsilon(epsilon),
            None => Loss::Rho(groups.iter().map(|group| group.noise.rho()).sum()),
        }
    }
}

/// Adds exact noise to every measurement: the only place where counts and noise meet.
///
/// # Panics
/// If the groups are those of another number of measurements.
pub(super) fn add_noise<R: RandomWords + ?Sized>(
    groups: &[Group],
    measured: &mut [i64],
    words: &mut R,
) {
    let mut rest = measured;
    for group in groups {
        let (own, others) = rest.split_at_mut(group.measurements);
        for chunk in own.chunks_mut(CHECKPOINT_DRAWS) {
            poll();
            for value in chunk {
                // a sum beyond i64 stays at its end, which is post-processing
                *value = value.saturating_add(group.noise.sample(words));
            }
        }
        rest = others;
    }
    // a measurement without noise would be published as it is
    assert!(rest.is_empty(), "{} measurements belong to no group", rest.len());
}

/// Counts as signed integers.
pub(super) fn signed(counts: &[u64]) -> Vec<i64> {
    counts.iter().map(|&count| count as i64).collect()
}

/// A set of ranges whose answers' variances are summed up.
//
// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workload {
    /// The N (N + 1) / 2 ranges that are not empty.
    All,
    /// The N ranges that begin with the first bin.
    Prefix,
    /// The nodes of a binary tree over the bins, leaves and root included, whatever the mechanism's
    /// own tree: the ranges [j 2^i, (j + 1) 2^i), cut off at N, for i from 0 to the least with
    /// 2^i >= N.
    Nodes,
}

impl Workload {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Workload); 3] =
        [("all", Workload::All), ("prefix", Workload::Prefix), ("nodes", Workload::Nodes)];

    pub fn parse(word: &str) -> Option<Workload> {
        Workload::WORDS.iter().find(|(known, _)| *known == word).map(|(_, workload)| *workload)
    }

    pub fn word(self) -> &'static str {
        // every workload has a word
        Workload::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }

    /// Its ranges over so many bins.
    pub fn ranges(self, bins: usize) -> Box<dyn Iterator<Item = Range<usize>>> {
        match self {
            Workload::All => {
                Box::new((0..bins).flat_map(move |lo| (lo + 1..=bins).map(move |hi| lo..hi)))
            }
            Workload::Prefix => Box::new((1..=bins).map(|hi| 0..hi)),
            Workload::Nodes => {
                let levels = bins.next_power_of_two().ilog2();
                Box::new((0..=levels).flat_map(move |level| {
                    let width = 1 << level;
                    (0..bins).step_by(width).map(move |lo| lo..(lo + width).min(bins))
                }))
            }
        }
    }
}

/// The mean and the maximum over a workload of the variances of the answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    /// Of variances that come one by one; zeros for none.
    pub(super) fn of(variances: impl IntoIterator<Item = f64>) -> Spread {
        let (mut count, mut sum, mut max) = (0u64, 0.0, 0.0f64);
        for variance in variances {
            count += 1;
            sum += variance;
            max = max.max(variance);
        }
        Spread { mean: sum / count.max(1) as f64, max }
    }
}

/// A method for range sums with all its parameters settled.
///
/// Bins hold counts of rows. Neighbours differ by one row, so by 1 in one bin. Ranges are half-open
/// and lie within 0 .. N; a range outside, or lists of another length, break the contract and may
/// panic.
pub trait RangeMechanism {
    /// N, the number of bins; at least 1.
    fn bins(&self) -> usize;

    /// What is measured, group after group, all with the same kind of noise.
    fn groups(&self) -> Vec<Group>;

    /// The sensitivity of all measurements together, in units of the noise.
    ///
    /// Here: one row moves one measurement of every group, by 1.
    fn loss(&self) -> Loss {
        Loss::of_groups(&self.groups())
    }

    /// What a bin counts at most, lest an integer overflow: [`MEASURED_LIMIT`] over the most that
    /// a measurement can be if every bin holds one row. A limit for each bin by itself, unlike one
    /// for their sum, leaves the sensitivity as it is.
    fn largest_count(&self) -> u64;

    /// The exact integers that noise is added to, the groups' one after another.
    ///
    /// `counts`: one per bin, each at most [`RangeMechanism::largest_count`].
    fn measure(&self, counts: &[u64]) -> Vec<i64>;

    /// Post-processing: what [`RangeMechanism::answer`] takes, from the noisy measurements. Unless
    /// the method says otherwise these are the N + 1 estimated sums of the first 0 ..= N bins.
    fn reconstruct(&self, noisy: &[i64]) -> Vec<f64>;

    /// The unbiased estimate of a range's sum; 0 for an empty range.
    fn answer(&self, reconstruction: &[f64], range: Range<usize>) -> f64 {
        reconstruction[range.end] - reconstruction[range.start]
    }

    /// The variance of that answer; 0 for an empty range.
    fn variance(&self, range: Range<usize>) -> f64;

    /// The variances of the sums over each single bin.
    fn variances_of_bins(&self) -> Vec<f64> {
        let variance = |bin: usize| {
            if bin.is_multiple_of(CHECKPOINT_VARIANCES) {
                poll();
            }
            self.variance(bin..bin + 1)
        };
        (0..self.bins()).map(variance).collect()
    }

    /// The mean and maximum of the variances over a workload.
    fn spread(&self, workload: Workload) -> Spread {
        match workload {
            Workload::All => Spread { mean: self.mean_over_all(), max: self.max_over_all() },
            Workload::Prefix | Workload::Nodes => {
                self.spread_over(&mut workload.ranges(self.bins()))
            }
        }
    }

    /// The mean and maximum of the variances over any ranges.
    fn spread_over(&self, ranges: &mut dyn Iterator<Item = Range<usize>>) -> Spread {
        Spread::of(ranges.enumerate().map(|(i, range)| {
            if i.is_multiple_of(CHECKPOINT_VARIANCES) {
                poll();
            }
            self.variance(range)
        }))
    }

    /// The mean of the variances over the target.
    fn mean_over(&self, target: &Target) -> f64 {
        match target {
            Target::Workload(Workload::All) => self.mean_over_all(),
            Target::Workload(workload) => self.spread(*workload).mean,
            Target::Ranges(ranges) => self.spread_over(&mut ranges.iter().cloned()).mean,
        }
    }

    /// The mean variance over all ranges that are not empty.
    fn mean_over_all(&self) -> f64;

    /// The largest variance of any range.
    fn max_over_all(&self) -> f64;
}
