//! What many regions say together of what to expect of each.
//!
//! Noise is independent from region to region, so the sum of n regions' columns is known with n times
//! the variance of one, and in proportion, a region's share of about 1/n, with 1/n of it. A region's own
//! estimate is an inference from far noisier numbers, and errs in the direction of what is smooth: where no
//! group has a size, or very many do, some of its groups go to the sizes beside it. Noise averages out in the
//! sum of such estimates, that bias adds up.
//!
//! # Estimates where they are right, columns where they are not
//!
//! Let A be the sum of the estimates' columns, B that of the noisy columns, and C the medians given B, as of
//! one region with noise of B's variance V. A is smoother than C, and the better of the two where it is not
//! biased: then B - A is noise, of variance V or less. In each stretch of sizes A is therefore drawn
//! towards C by the factor of James and Stein, 1 - V / (mean of (B - A)^2), or not at all, where that is
//! negative. As the mean of k squares is itself uncertain, it is taken to be lower by a part of
//! 1 - 1/(1 + k^(-1/2)).
//!
//! Measured by A alone the root of 130 regions of up to seven sizes, of which the leaves alone were
//! measured, had 0.7 of the error that it has without the pool, by C alone 0.23, drawn like this 0.4. Where
//! groups are of many sizes, C alone was up to 1.2 times as far off as A.
//!
//! # Privacy
//!
//! All of this is computed from what was released of the regions: post-processing.

use super::columns::columns;
use super::cut::{DRAWS_PER_COLUMN, of_columns};
use super::kept::{MeasuredNumbers, NumberKind};
use super::node::NoisyNode;
use super::profile::{Profile, edges};
use crate::coco::estimate::{Estimate, EstimatedRun};
use crate::coco::histogram::{Coco, Run, Tally};
use crate::fit::isotonic_l1;

/// Regions that were measured with noise of the same variance.
pub(crate) struct Pool {
    max_size: u64,
    /// Of the noise in a column of one region.
    variance: f64,
    regions: u64,
    /// The sum of the estimates.
    sum: Tally,
    /// B - A: by how much the noisy columns exceed those of the estimates.
    excess: Vec<i64>,
}

impl Pool {
    pub(crate) fn new(max_size: u64, variance: f64) -> Pool {
        Pool { max_size, variance, regions: 0, sum: Tally::default(), excess: Vec::new() }
    }

    /// `numbers`: those that the estimate was made of. The columns end where a stretch of sizes does.
    pub(crate) fn add(&mut self, estimate: &Estimate, numbers: &[MeasuredNumbers]) {
        self.regions += 1;
        let histogram = estimate.histogram();
        histogram.runs().iter().for_each(|run| self.sum.add(run.size, run.groups));
        let noisy = MeasuredNumbers::values_of(numbers, NumberKind::Column);
        if self.excess.len() < noisy.len() {
            self.excess.resize(noisy.len(), 0);
        }
        let own = columns(&histogram, noisy.len() as u64);
        for ((excess, noisy), own) in self.excess.iter_mut().zip(noisy).zip(own) {
            *excess = excess.saturating_add(noisy.saturating_sub(own));
        }
    }

    /// Of the noise in the sum of the columns.
    pub(crate) fn variance(&self) -> f64 {
        self.regions as f64 * self.variance
    }

    /// About how long that of a profile takes, in draws.
    pub(crate) fn work(&self) -> u64 {
        DRAWS_PER_COLUMN.saturating_mul(self.excess.len() as u64)
    }

    /// What is released of all together, as a region above them.
    pub(crate) fn profile(&self) -> Profile {
        let variance = self.variance();
        let sum = self.sum.histogram();
        let groups = sum.groups();
        let own: Vec<i64> = columns(&sum, self.excess.len() as u64).collect();
        let observed = own.iter().zip(&self.excess).map(|(own, off)| own.saturating_add(*off));
        let observed: Vec<i64> = observed.collect();
        let (max_size, scale) = (self.max_size, (variance / 2.0).sqrt());
        let node = NoisyNode { groups, max_size, scale, variance, parent: None };
        let medians = of_columns(&node, &observed);
        let medians: Vec<i64> = match medians.map(|estimate| estimate.histogram()) {
            Some(medians) => columns(&medians, self.excess.len() as u64).collect(),
            None => isotonic_l1(&observed).values,
        };
        let mut drawn = Vec::with_capacity(own.len());
        for edge in edges(max_size) {
            let to = (edge as usize).min(own.len());
            let stretch = drawn.len()..to;
            let part = unexplained(&self.excess[stretch.clone()], variance);
            drawn.extend(stretch.map(|size| {
                let towards = part * medians[size].saturating_sub(own[size]) as f64;
                own[size].saturating_add(towards.round() as i64)
            }));
        }
        let drawn = isotonic_l1(&drawn).values;
        let runs = with_columns(&sum, &drawn)
            .into_iter()
            .map(|Run { size, groups }| EstimatedRun { size, groups, variance });
        Profile::new(&Estimate::new(runs.collect()), max_size, variance)
    }
}

/// The part of what is left over that noise of this variance does not explain.
fn unexplained(left: &[i64], variance: f64) -> f64 {
    let count = left.len() as f64;
    let squares: f64 = left.iter().map(|off| (*off as f64).powi(2)).sum();
    if squares == 0.0 {
        return 0.0; // also of nothing
    }
    (1.0 - (1.0 + count.sqrt().recip()) * variance * count / squares).max(0.0)
}

/// As many groups with other columns; those beyond are in the same proportions.
fn with_columns(histogram: &Coco, columns: &[i64]) -> Vec<Run> {
    let (all, cut) = (histogram.groups(), columns.len() as u64);
    let mut runs = Vec::new();
    let mut below = 0;
    for (size, &column) in (0..).zip(columns) {
        let upto = (column.max(0) as u64).clamp(below, all);
        if upto > below {
            runs.push(Run { size, groups: upto - below });
        }
        below = upto;
    }
    let beyond = || histogram.runs().iter().filter(|run| run.size >= cut);
    let were: u64 = beyond().map(|run| run.groups).sum();
    let are = all - below;
    if were == 0 && are > 0 {
        runs.push(Run { size: cut, groups: are });
    }
    let (mut passed, mut placed) = (0, 0);
    for run in beyond() {
        passed += run.groups;
        let upto = (u128::from(passed) * u128::from(are) / u128::from(were)) as u64;
        if upto > placed {
            runs.push(Run { size: run.size, groups: upto - placed });
        }
        placed = upto;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_SIZE: u64 = 20;

    fn histogram(runs: &[(u64, u64)]) -> Coco {
        runs.iter().map(|&(size, groups)| Run { size, groups }).collect()
    }

    fn estimate(histogram: &Coco) -> Estimate {
        let run = |run: &Run| EstimatedRun { size: run.size, variance: 1.0, groups: run.groups };
        Estimate::new(histogram.runs().iter().map(run).collect())
    }

    /// Those below a cut at this size, with this noise.
    fn measured(histogram: &Coco, cut: u64, noise: impl Fn(usize) -> i64) -> Vec<MeasuredNumbers> {
        let columns = columns(histogram, cut).enumerate();
        let values = columns.map(|(size, column)| column + noise(size)).collect();
        vec![MeasuredNumbers { kind: NumberKind::Column, first: 0, values }]
    }

    #[test]
    fn estimates_that_noise_explains_are_added_up() {
        let members = [histogram(&[(1, 40), (3, 10)]), histogram(&[(1, 30), (15, 20)])];
        let mut pool = Pool::new(MAX_SIZE, 2.0);
        for (number, member) in members.iter().enumerate() {
            let noise = |size: usize| [1, -1][(size + number) % 2];
            pool.add(&estimate(member), &measured(member, [4, 8][number], noise));
        }
        assert_eq!(pool.variance(), 4.0);
        let profile = pool.profile();
        assert_eq!(*profile.histogram(), Coco::sum(&members));
        assert_eq!(profile.variance(), 4.0);
    }

    /// Each of 100 estimates has 2 groups beside the only size that there is; the columns' noise adds up
    /// to 0.
    #[test]
    fn a_bias_of_all_estimates_is_taken_out() {
        let truth = histogram(&[(4, 20)]);
        let smeared = estimate(&histogram(&[(3, 1), (4, 18), (5, 1)]));
        let mut pool = Pool::new(MAX_SIZE, 2.0);
        for number in 0..100 {
            pool.add(&smeared, &measured(&truth, 8, |_| [1, -1][number % 2]));
        }
        let profile = pool.profile();
        assert_eq!(profile.groups(), 2000);
        let of_four = profile.histogram().runs().iter().find(|run| run.size == 4);
        assert!(of_four.unwrap().groups > 1930, "{:?}", profile.histogram());
    }

    #[test]
    fn the_part_that_noise_does_not_explain() {
        assert_eq!(unexplained(&[], 1.0), 0.0);
        assert_eq!(unexplained(&[0, 0], 1.0), 0.0);
        assert_eq!(unexplained(&[2, -2, 2, -2], 4.0), 0.0);
        assert_eq!(unexplained(&[10, 10, -10, 10], 20.0), 0.7);
    }

    #[test]
    fn groups_beyond_other_columns_stay_in_proportion() {
        let groups = histogram(&[(0, 10), (5, 30), (9, 60)]);
        let with = |columns: &[i64]| with_columns(&groups, columns).into_iter().collect::<Coco>();
        assert_eq!(with(&[10, 10]), groups);
        assert_eq!(with(&[-3, 55]), histogram(&[(1, 55), (5, 15), (9, 30)]));
        assert_eq!(with(&[100]), histogram(&[(0, 100)]));
        assert_eq!(with(&[200, 300]), histogram(&[(0, 100)]));
        assert_eq!(with(&[0; 10]), histogram(&[(10, 100)]));
        assert_eq!(with(&[]), histogram(&[(0, 10), (5, 30), (9, 60)]));
    }
}
