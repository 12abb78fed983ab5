//! Buckets whose number is settled beforehand, and where they begin is selected: StructureFirst (Xu,
//! Zhang, Xiao, Yang, Yu, Winslett 2013), in its form with medians.
//!
//! Let T(j, t) be the least sum of deviations of j buckets of the first t bins. The start of the last
//! of k buckets is selected among all t by how little T(k - 1, t) + D(t, n) is, privately, with a share
//! of epsilon of its own; then that of the one before, among the t before that; and so on.
//!
//! *Sensitivity.* Of squared errors, which the paper begins with, it grows with the largest count, which
//! is private. Here D is the [deviation from the median](super::deviations), which a row moves by 1 at
//! most, and that of one bucket of each partition alone. So it moves the sum of each partition, and the
//! least of them, by 1 at most; and k rows by k.
//!
//! *Selection.* Instead of the exponential mechanism, the noisy least: each sum is lowered by geometric
//! noise, P(Z = z) proportional to e^(-z / t) for z = 0, 1, ..., with t = 2 k / epsilon, and the candidate
//! of the least is taken, the first of several. That is epsilon-DP: fix the noise of all others. A
//! candidate is taken if its noise is at least some integer z that follows from its sum and the noisy
//! sums of the others. For a neighbour its own sum is larger by k at most, and those of the others less
//! by k at most, so z is larger by 2 k at most. And P(Z >= z + 2 k) >= e^(-2 k / t) P(Z >= z), as P(Z >= z)
//! is e^(-z / t) for z >= 0, and 1 before. (Noise to either side would do, and is twice as wide; with
//! exponential noise that is "permute and flip", McKenna and Sheldon 2020, never worse than the
//! exponential mechanism.)
//!
//! What is selected from next follows from what was selected before: adaptive composition. At last the
//! deviation of each bucket is measured, to know how far off answers within may be. A row is in one
//! bucket.

use super::costs::Costs;
use super::within;
use crate::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};
use crate::privacy::PrivacyLoss;
#[cfg(test)]
use crate::privacy::replay;
use crate::ranges::buckets::Buckets;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{MEASURED_LIMIT, Measurements};
use crate::ranges::spending::Spending;
use crate::work::Paced;
use serde_json::{Value, json};

/// So many bins are a bucket, in the mean. Neither 2, 3 or 32 nor other shares made it better on columns
/// of R's example data: where bins are few boundaries, where they are many noise is what it errs by.
const BINS_PER_BUCKET: usize = 10;

/// Of the budget, for the selections.
const SHARE: f64 = 0.5;

/// Of what is left of it, for the deviations of the buckets.
const SHARE_OF_DEVIATIONS: f64 = 1.0 / 16.0;

/// How buckets are found and what is told of them, settled from public arguments.
#[derive(Debug)]
pub(super) struct Structure {
    buckets: usize,
    /// Of each selection but for the last bucket's end.
    of_selection: f64,
    noise: Geometric,
    deviations: Measurements,
    calibration: Calibration,
}

impl Structure {
    /// Also its loss, and what is left.
    ///
    /// Errors: a noise that cannot be sampled.
    pub(super) fn new(
        bins: usize,
        all: Spending,
    ) -> Result<(Structure, PrivacyLoss, Spending), ScaleError> {
        let buckets = (bins / BINS_PER_BUCKET).max(2);
        let (selections, others) = all.divided(SHARE)?;
        let (of_deviations, rest) = others.divided(SHARE_OF_DEVIATIONS)?;
        let parts = selections.epsilon.split_equally(buckets - 1);
        let of_selection = parts.iter().copied().fold(f64::INFINITY, f64::min);
        let noise = Geometric::new(2 * u64::from(all.rows_per_unit), of_selection)?;
        let (price, calibration) = of_deviations.on_groups(&[1.0])?.into_parts();
        let deviations = Measurements::one_of_each([buckets], &calibration)?;
        let loss = PrivacyLoss::of_pure(parts).and(price.loss);
        let structure = Structure { buckets, of_selection, noise, deviations, calibration };
        Ok((structure, loss, rest))
    }

    pub(super) fn describe(&self) -> Value {
        json!({
            "number_of_buckets": self.buckets,
            "selections": {"noise": "geometric", "epsilon": self.of_selection},
            "deviations": self.calibration.describe(),
        })
    }

    /// For who has paid.
    pub(super) fn find<R: RandomWords + ?Sized>(
        &self,
        counts: &[u64],
        widths: &[u64],
        words: &mut R,
    ) -> Buckets {
        // one by one, which keeps the sensitivity
        let largest = MEASURED_LIMIT / counts.len() as u64;
        let counts: Vec<u64> = counts.iter().map(|count| *count.min(&largest)).collect();
        let costs = Costs::new(&counts, widths);
        let ends = self.select(&costs, words);
        let of = |(place, ends): (usize, &[usize])| {
            let exact = costs.until(ends[1])[ends[0]];
            self.deviations.with_noise(place, exact, words)
        };
        let noisy: Vec<i64> = ends.windows(2).enumerate().map(of).collect();
        let lengths: Vec<usize> = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let uneven = within::of_whole(&lengths, &noisy, self.deviations.first_noise());
        Buckets::new(lengths, widths).with(vec![uneven])
    }

    #[cfg(test)]
    pub(super) fn of_selection(&self) -> f64 {
        self.of_selection
    }

    #[cfg(test)]
    pub(super) fn deviations(&self) -> &Measurements {
        &self.deviations
    }

    /// Where the buckets begin, and the number of bins.
    pub(super) fn select<R: RandomWords + ?Sized>(
        &self,
        costs: &Costs,
        words: &mut R,
    ) -> Vec<usize> {
        let least = costs.least(self.buckets - 1);
        let mut ends = vec![costs.bins()];
        for buckets in (1..self.buckets).rev() {
            let end = ends[ends.len() - 1];
            let noisy = candidates(&costs.until(end)[..end], &least[buckets - 1], buckets)
                .paced()
                .map(|(start, cost)| (cost.saturating_sub(self.noise.sample(words)), start));
            // no bucket is empty, so there is one to select
            let start = noisy.min().map_or(buckets, |(_, start)| start);
            #[cfg(test)]
            let start = {
                let exact = candidates(&costs.until(end)[..end], &least[buckets - 1], buckets);
                let exact = exact.map(|(_, cost)| cost).collect();
                buckets + replay::least(exact, self.noise.scale(), start - buckets)
            };
            ends.push(start);
        }
        ends.push(0);
        ends.reverse();
        ends
    }
}

/// Where the bucket before an end can begin after so many others, each with what is to be little.
/// `last`: of that bucket. `least`: of the others.
pub(super) fn candidates<'a>(
    last: &'a [i64],
    least: &'a [i64],
    others: usize,
) -> impl Iterator<Item = (usize, i64)> + 'a {
    let sums = last.iter().zip(least).enumerate().skip(others);
    sums.map(|(start, (last, least))| (start, last + least))
}

/// P(Z = z) proportional to e^(-z / t), z = 0, 1, ...
#[derive(Debug)]
struct Geometric(DiscreteLaplace);

impl Geometric {
    /// t = sensitivity / epsilon.
    fn new(sensitivity: u64, epsilon: f64) -> Result<Geometric, ScaleError> {
        Scale::new(sensitivity, epsilon).map(|scale| Geometric(DiscreteLaplace::new(scale)))
    }

    #[cfg(test)]
    fn scale(&self) -> f64 {
        self.0.scale().as_f64()
    }

    /// One exact draw: of the discrete Laplace law, with -1, -2, ... in place of 0, 1, ..., so that z has
    /// the mass of z and of -z - 1, which is (1 + e^(-1 / t)) times that of z for all z.
    fn sample<R: RandomWords + ?Sized>(&self, words: &mut R) -> i64 {
        let draw = self.0.sample(words);
        if draw < 0 { !draw } else { draw }
    }
}
