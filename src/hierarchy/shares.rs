//! How a release by the cut divides its budget among the levels.
//!
//! # A first look
//!
//! A small part of the budget measures the root before anything else. What it releases tells how
//! many groups of which sizes to expect in every region, hence how far off each level will be at
//! every division of the rest; the division with the least predicted error is carried out. A level
//! can get nothing: then its regions are the sums of those below. As long as no level is measured, the look
//! also says what to expect of the regions that are measured next ([`measuring`](super::measuring)).
//!
//! # Privacy
//!
//! The first look and the levels compose adaptively: whatever the look releases, the epsilons of
//! the levels that it leads to add up to what it left, so all together satisfy epsilon-differential
//! privacy. The numbers of groups that are used besides it are public.
//!
//! # Prediction
//!
//! Per stretch of sizes, every region of a level is taken to have the root's groups in proportion to
//! its own number. [`CutNoise`] says how far off a region's own estimate is. Least squares up and
//! down the tree ([`matching`](super::consistency)) joins these: let A be the sum of the variances
//! of a level's own estimates and C that of the level below. Up the tree both are joined, 1 / (1/A +
//! 1/C). Down the tree, where a region has k children, a child keeps the part 1 - 1/k of its
//! variance and gets the part 1/k of its parent's, which is no more than it would have kept.
//!
//! Sums of estimates have a bias that does not average out, as estimates are smoothed and no number is
//! below 0 or above G: of a share b of the standard deviation, so the square error of a sum of k is
//! 1 + k b^2 times as large, on whatever level it is: the bias of a sum is a bias of the sums above.
//! b^2 = 0.0002 v up to 0.03, with v the noise's variance, is about what sums of 16 to 3,144 leaves'
//! estimates have; but where these hold groups of few sizes among many, b^2 was up to 0.3.
//!
//! Of integers that are off by a variance V the mean error is about V (1 + V pi / 2)^(-1/2): V where
//! it is rarely not 0, and that of a normal distribution where it is large. It is the square of this that
//! joining two estimates makes less, as above: the mean of an estimate that is off by 1 and of one that is
//! not is off by 1 or not, whatever the variances say. And as these are known roughly, the weights are not
//! the best ones: where both are as good, the square of a mean's error is up to 1.3 times the least, and where
//! one is much better about the least. So predicted, the errors of seven hierarchies at epsilons from 0.1 to 6
//! were within a quarter of the true ones, nearly all, and the leaves' within a tenth where nothing else is
//! measured.
//!
//! # The best division
//!
//! The geometric mean of the levels' errors is made least. No level may get worse than by equal shares
//! by a larger factor than all get better by in that mean, of which a twentieth does not count, as
//! predictions are off by that; and by no more than a fifth: about so much better than the best of Kuo
//! et al.'s combinations the cut is with equal shares, level by level. Where the gain is less than a
//! tenth, all levels get the same.
//!
//! Where groups are few beside the look's noise, what it tells is noise: groups are then taken to have the
//! sizes that [`heavy_tail`] guesses. So few groups get equal shares, too, where they are few in each leaf.

use super::consistency::{
    CutNoise, densities, expected_densities, mean_magnitude, parallel, width,
};
use super::prior::{GUESSED_MEAN_SIZE, heavy_tail};
use super::tree::Tree;
use crate::coco::{Estimate, tells};
use crate::noise::{DiscreteLaplace, Scale};
use crate::privacy::{best_parts, equal_parts};
use crate::work::poll;
use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;

/// The part of the budget that the first look gets.
pub(super) const LOOK: f64 = 0.01;

/// How many times the scale of the look's noise the number of groups has to be for it to tell anything.
const SEEN: f64 = 32.0;

/// How many times the mean magnitude of noise a leaf's groups have to be for a guess to be followed: of
/// poorer leaves little can be foretold.
const RICH: f64 = 2.0;

/// Shares are multiples of one part in so many.
pub(super) const PARTS: usize = 48;

/// Predictions are off by more than a few hundredths: the mean error must be less than this part of
/// that of equal shares.
const WORTHWHILE: f64 = 0.9;

/// How many times that of equal shares the error of a level may be at most.
const WORST: f64 = 1.2;

/// Predicted gains may be this many times too large.
const UNSURE: f64 = 1.06;

/// Smoothing by a region above is as good as [`CutNoise`] says where that one's share of noise, so
/// many times, is not larger than the own.
const CLEARLY: f64 = 8.0;

/// How much larger the square error of a mean is than the least, where both of its parts are as good: by half
/// of this.
const LOSS: f64 = 0.6;

/// Errors are compared from here on: smaller ones are as good as none.
const LEAST_ERROR: f64 = 1e-3;

/// What is public of a hierarchy, or released of its root.
pub(super) struct Outlook {
    /// Those of the root.
    groups: f64,
    /// Groups per size of the root, in each stretch.
    densities: Vec<f64>,
    levels: Vec<Regions>,
    max_size: u64,
    rows_per_unit: u32,
    /// Whether the first look tells anything; else a guess stands for it.
    is_seen: bool,
}

/// The regions of a level.
struct Regions {
    count: f64,
    /// Shares of the root's groups that are alike: their mean, and how many regions have it.
    alike: Vec<(f64, f64)>,
}

/// The variances of a level's own estimates, summed over its regions, in each stretch.
struct Variances {
    /// Where a level above is measured, too.
    smoothed: Vec<f64>,
    /// Where none is, and as parts of sums. (What the look and the other regions of the level then tell is left out:
    /// it depends on how alike these are, which nothing foretells.)
    plain: Vec<f64>,
    /// The square of the bias in units of the variance.
    bias: f64,
    /// The variance of the noise.
    noise: f64,
}

impl Outlook {
    /// `root`: the first look's estimate, of noise of that scale. `groups`: the public number of each region of
    /// the tree.
    pub(super) fn new(
        (root, scale): (&Estimate, f64),
        tree: &Tree,
        groups: impl Fn(usize) -> u64,
        max_size: u64,
        rows_per_unit: u32,
    ) -> Outlook {
        let all = (groups(0) as f64).max(1.0);
        let is_seen = all >= SEEN * scale;
        let regions = |level: usize| {
            let mut alike: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
            for region in tree.level(level) {
                let share = groups(region) as f64 / all;
                if share > 0.0 {
                    let (sum, count) =
                        alike.entry((2.0 * share.log2()).round() as i32).or_default();
                    *sum += share;
                    *count += 1.0;
                }
            }
            let count = alike.values().map(|(_, count)| count).sum::<f64>().max(1.0);
            Regions { count, alike: alike.into_values().map(|(sum, n)| (sum / n, n)).collect() }
        };
        Outlook {
            groups: all,
            densities: if is_seen {
                let runs = root.runs().iter();
                densities(runs.map(|run| (run.size, run.groups as f64)), max_size)
            } else {
                expected_densities(|size| all * heavy_tail(GUESSED_MEAN_SIZE, size), max_size)
            },
            is_seen,
            levels: (0..tree.depth()).map(regions).collect(),
            max_size,
            rows_per_unit,
        }
    }

    /// The parts of `epsilon` for the levels, of [`PARTS`] in all, with the least predicted error.
    /// The last level gets one at least. Equal ones where nothing tells what is best.
    pub(super) fn best_parts(&self, epsilon: f64) -> Vec<usize> {
        let depth = self.levels.len();
        let equal = equal_parts(depth, PARTS);
        if !self.is_seen && self.are_leaves_poor(epsilon) {
            return equal;
        }
        let of_level = |level| -> Vec<Option<Variances>> {
            let of_parts = |parts| self.variances(level, epsilon * parts as f64 / PARTS as f64);
            (0..=PARTS).map(of_parts).collect()
        };
        let variances: Vec<Vec<Option<Variances>>> = (0..depth).map(of_level).collect();
        let errors = |parts: &[usize]| -> Vec<f64> {
            let own = |(level, parts): (usize, &usize)| variances[level][*parts].as_ref();
            self.errors(&parts.iter().enumerate().map(own).collect::<Vec<_>>())
        };
        let of_equal = errors(&equal);
        let cost = |parts: &[usize]| -> f64 {
            poll();
            let ratio =
                |(error, equal): (f64, &f64)| ((error + LEAST_ERROR) / (equal + LEAST_ERROR)).ln();
            let ratios: Vec<f64> = errors(parts).into_iter().zip(&of_equal).map(ratio).collect();
            let mean = ratios.iter().sum::<f64>() / depth as f64;
            let most = (-mean - UNSURE.ln()).clamp(0.0, WORST.ln());
            // what is beyond the limit outweighs all else
            mean + ratios.iter().map(|ratio| 1e3 * (ratio - most).max(0.0)).sum::<f64>()
        };
        let (cost, best) = best_parts(depth, PARTS, cost);
        if cost < WORTHWHILE.ln() { best } else { equal }
    }

    /// Whether the lowest regions have too few groups for noise of all of `epsilon`.
    fn are_leaves_poor(&self, epsilon: f64) -> bool {
        let of_leaf = self.levels.last().map_or(0.0, |leaves| self.groups / leaves.count);
        self.noise(epsilon).is_none_or(|noise| of_leaf < RICH * mean_magnitude(noise))
    }

    /// The variance of a level's noise; None where it is not measured.
    fn noise(&self, epsilon: f64) -> Option<f64> {
        let scale = Scale::new(self.rows_per_unit.into(), epsilon).ok()?;
        Some(DiscreteLaplace::new(scale).variance())
    }

    /// None for a level that is not measured.
    fn variances(&self, level: usize, epsilon: f64) -> Option<Variances> {
        let variance = self.noise(epsilon)?;
        let noise = |smoothed| CutNoise { variance, smoothed, max_size: self.max_size };
        let sums = |noise: CutNoise| {
            let sum = |density: &f64| {
                let of =
                    |(share, regions): &(f64, f64)| regions * noise.variance_at(density * share);
                self.levels[level].alike.iter().map(of).sum()
            };
            self.densities.iter().map(sum).collect()
        };
        Some(Variances {
            smoothed: sums(noise(true)),
            plain: sums(noise(false)),
            bias: (0.0002 * variance).min(0.03),
            noise: variance,
        })
    }

    /// Whether the regions of each level are told what to expect by those of a level above.
    fn told(&self, own: &[Option<&Variances>]) -> Vec<bool> {
        let mut above: Option<(f64, f64)> = None;
        let told = own.iter().zip(&self.levels).map(|(own, level)| {
            let Some(own) = own else { return false };
            let told = above.is_some_and(|(variance, regions)| {
                tells(CLEARLY * regions / level.count, variance, own.noise)
            });
            above = Some((own.noise, level.count));
            told
        });
        told.collect()
    }

    /// The mean error of a region of each level, from the variances of their own estimates.
    fn errors(&self, own: &[Option<&Variances>]) -> Vec<f64> {
        let mut errors = vec![0.0; own.len()];
        let children = |level: usize| {
            let above = level.checked_sub(1).map_or(1.0, |above| self.levels[above].count);
            (self.levels[level].count / above).max(1.0)
        };
        let told = self.told(own);
        let mut of_children = vec![None; own.len()];
        for stretch in 0..self.densities.len() {
            let mut below: Option<Squares> = None;
            for (level, own) in own.iter().enumerate().rev() {
                of_children[level] = below.map(Squares::sum);
                let as_part = own.map(|own| Squares::of_regions(own.plain[stretch], own.bias));
                let joined = match (as_part, below) {
                    (Some(own), Some(below)) => Some(own.joined(below, self.levels[level].count)),
                    _ => as_part.or(below),
                };
                below = joined.map(|squares| squares.added_up(children(level)));
            }
            let mut above = 0.0;
            for (level, own) in own.iter().enumerate() {
                let own = own.map(|own| {
                    let variances = if told[level] { &own.smoothed } else { &own.plain };
                    variances[stretch]
                });
                let joined = match (own, of_children[level]) {
                    (Some(own), Some(below)) => joined(own, below, self.levels[level].count),
                    (own, below) => own.or(below).unwrap_or_default(),
                };
                let one = 1.0 / children(level);
                let rest = if level == 0 { joined } else { (1.0 - one) * joined };
                above = rest + (one * above).min(one * joined);
                let variance = above / self.levels[level].count;
                errors[level] +=
                    width(stretch, self.max_size) * squared_mean_error(variance).sqrt();
            }
        }
        errors
    }
}

/// Square errors of a level's estimates, summed over its regions.
#[derive(Debug, Clone, Copy)]
struct Squares {
    variance: f64,
    /// Of what all have in common.
    bias: f64,
}

impl Squares {
    /// `bias`: its square, in units of the variance.
    fn of_regions(variance: f64, bias: f64) -> Squares {
        Squares { variance, bias: bias * variance }
    }

    fn sum(self) -> f64 {
        self.variance + self.bias
    }

    /// Those of the level above, whose regions are sums of so many.
    fn added_up(self, children: f64) -> Squares {
        Squares { bias: self.bias * children, ..self }
    }

    /// Of the mean of both, weighed by their inverses.
    fn joined(self, other: Squares, regions: f64) -> Squares {
        let (a, b) = (self.sum(), other.sum());
        let of_mean = parallel(a, b);
        if of_mean == 0.0 {
            return Squares { variance: 0.0, bias: 0.0 };
        }
        let all = joined(a, b, regions) / of_mean;
        let (one, two) = (all * (b / (a + b)).powi(2), all * (a / (a + b)).powi(2));
        Squares {
            variance: one * self.variance + two * other.variance,
            bias: one * self.bias + two * other.bias,
        }
    }
}

/// Of integers that are off by so large a variance.
fn squared_mean_error(variance: f64) -> f64 {
    variance.powi(2) / (1.0 + variance * FRAC_PI_2)
}

/// The variance of the mean of two estimates that have these, each summed over so many regions: see above.
fn joined(one: f64, other: f64, regions: f64) -> f64 {
    let [one, other] = [one, other].map(|sum| squared_mean_error(sum / regions));
    if one + other == 0.0 {
        return 0.0;
    }
    let square = parallel(one, other) * (1.0 + LOSS * one.min(other) / (one + other));
    let half = square * FRAC_PI_2 / 2.0;
    regions * (half + (half * half + square).sqrt())
}

#[cfg(test)]
mod tests;
