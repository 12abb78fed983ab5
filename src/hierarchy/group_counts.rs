//! How many groups each region has, where that is private: measured first, so that all that follows
//! takes the released numbers for the public ones (Kuo et al. 2018, footnote 4).
//!
//! # What is hidden
//!
//! Neighbours differ by one entity, with which its group may appear or vanish, or by one empty
//! group. Where a unit of privacy owns up to k entities, they differ by these, and by up to g groups
//! that appear or vanish with them.
//!
//! # The mechanism
//!
//! 1. A share of epsilon measures the number of groups of every region. A level's regions hold
//!    disjoint groups, so all of its numbers together change by at most g.
//! 2. The root's is estimated by least squares over all of them. The nearest numbers that add up to
//!    it, integers and not negative, are those that are released: [`pgsr`] of a single size.
//! 3. Each region's exact histogram gets that number of groups: its largest ones, with empty ones
//!    where there are not so many ([`Coco::with_groups`]).
//! 4. The rest of epsilon releases these histograms, as where numbers of groups are public.
//!
//! # Privacy
//!
//! Take two neighbours and numbers of groups that were released. Step 3 leads to histograms with the
//! same numbers of groups, which over all regions of a level are at most k entities apart: that is
//! its sensitivity for each entity. These are neighbours in the sense of all that is measured where
//! the numbers are public, of which step 4 then keeps the promise, whatever it measures. Nothing of
//! it sees the true numbers: lengths of what is measured, divisions of the budget, or how long it
//! takes follow from the released ones. Steps 1 and 4 compose, adaptively.
//!
//! # The levels' parts
//!
//! The leaves get most: their numbers are the smallest, so that an error is the largest share of
//! them. Sums of the leaves alone would do for the levels above only where there are few: n of them
//! are off by the root of n, and as none is below 0, those without groups add up to too many. A
//! little for each level above keeps its sums near what they should be; and that the root's number is
//! settled before any is kept from being negative leaves it without that bias.

use super::consistency::{NoisyCounts, Weights, pgsr};
use super::tree::Tree;
use crate::coco::Coco;
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::LaplaceMechanism;
use crate::work::poll;
use serde_json::{Value, json};

/// The share of epsilon that the numbers of groups get. Of few and large groups those that are left
/// out weigh most (`benches/groups`): with a tenth, the lowest regions were off by half as much again
/// at epsilon 1, and by nearly twice as much at 0.3.
pub(super) const SHARE: f64 = 0.25;

/// Of the parts that they are divided into the leaves get so many for each that the levels above have
/// together.
const LEAVES: f64 = 3.0;

/// Noise of a larger scale leaves nothing of the numbers, and could make millions of groups of none,
/// for each of which there may be a number to draw.
pub(super) const LARGEST_SCALE: f64 = 100_000.0;

/// What is measured of the numbers of groups, level by level from the root down.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupCounts {
    levels: Vec<LaplaceMechanism>,
}

impl GroupCounts {
    /// `groups_per_unit`: how many groups appear or vanish with one unit of privacy at most.
    /// `epsilon`: what all levels together are calibrated to.
    ///
    /// Errors: a scale that cannot be sampled.
    pub(super) fn new(
        levels: usize,
        groups_per_unit: u32,
        epsilon: f64,
    ) -> Result<GroupCounts, ScaleError> {
        let part = |level: usize| match levels - 1 {
            0 => epsilon,
            above if level == above => epsilon * (LEAVES / (LEAVES + 1.0)),
            above => epsilon / (LEAVES + 1.0) / above as f64,
        };
        let level = |level| LaplaceMechanism::new(groups_per_unit.into(), part(level));
        Ok(GroupCounts { levels: (0..levels).map(level).collect::<Result<_, _>>()? })
    }

    /// What each level's numbers are calibrated to.
    pub(super) fn epsilons(&self) -> impl Iterator<Item = f64> + '_ {
        self.levels.iter().map(LaplaceMechanism::epsilon)
    }

    /// That of the widest noise.
    pub(super) fn scale(&self) -> f64 {
        self.levels.iter().map(|level| level.scale().as_f64()).fold(0.0, f64::max)
    }

    /// For the ledger's readers.
    pub(super) fn describe(&self) -> Value {
        let level = |noise: &LaplaceMechanism| {
            let (sensitivity, epsilon) = (noise.sensitivity(), noise.epsilon());
            json!({ "sensitivity": sensitivity, "epsilon": epsilon })
        };
        json!({ "levels": self.levels.iter().map(level).collect::<Vec<_>>() })
    }

    /// Histograms of all regions, in the tree's order, with the numbers of groups that are released.
    pub(super) fn complete<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        truth: &[Coco],
        words: &mut R,
    ) -> Vec<Coco> {
        let groups = self.release(tree, truth.iter().map(Coco::groups), words);
        let completed = |(truth, groups): (&Coco, u64)| {
            poll();
            truth.with_groups(groups)
        };
        truth.iter().zip(groups).map(completed).collect()
    }

    /// The numbers that are released of these exact ones.
    fn release<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        groups: impl Iterator<Item = u64>,
        words: &mut R,
    ) -> Vec<u64> {
        let largest = NoisyCounts::largest(tree);
        let last = self.levels.len() - 1;
        // the inverse of the variance, but for a factor: then costs are whole numbers, and exact
        let weight =
            |level| if level == last { (LEAVES * last as f64).max(1.0).powi(2) } else { 1.0 };
        let regions = (0..=last).flat_map(|level| tree.level(level).map(move |_| level));
        let (noisy, weights): (Vec<f64>, Vec<f64>) = regions
            .zip(groups)
            .map(|(level, groups)| {
                let exact = groups.min(i64::MAX as u64) as i64;
                let noisy = self.levels[level].add(exact, words) as f64;
                (noisy.clamp(-largest, largest), weight(level))
            })
            .unzip();
        let root = root(tree, &noisy, &weights);
        pgsr(&NoisyCounts::new(tree, 1, &noisy, Weights::OfRegions(&weights)), Some(root))
    }
}

/// The root's number by least squares: up the tree each region's own and the sum of its children's
/// are joined by their variances.
fn root(tree: &Tree, noisy: &[f64], weights: &[f64]) -> u64 {
    if tree.leaves().is_empty() {
        return 0;
    }
    let mut known: Vec<(f64, f64)> =
        noisy.iter().zip(weights).map(|(number, weight)| (*number, 1.0 / weight)).collect();
    for region in (0..tree.leaves().start).rev() {
        let of_children = &known[tree.regions()[region].children.clone()];
        let (sum, of_sum) = of_children
            .iter()
            .fold((0.0, 0.0), |(sum, of_sum), (number, of)| (sum + number, of_sum + of));
        let (own, of_own) = known[region];
        let share = of_sum / (of_sum + of_own);
        known[region] = (share * own + (1.0 - share) * sum, share * of_own);
    }
    known[0].0.max(0.0).round() as u64
}

#[cfg(test)]
mod tests;
