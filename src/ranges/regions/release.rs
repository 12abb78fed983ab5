//! What is released of all regions.

use super::level::MeasuredLevel;
use super::tree::RegionTree;
use crate::noise::RandomWords;
use crate::ranges::bins::bounds::BinBounds;
use crate::ranges::bins::sums::SignedSums;
use crate::ranges::combined::Part;
use crate::ranges::measurements::noisy_difference;
use crate::ranges::release::RangeRelease;
use crate::ranges::released::DpRanges;
use crate::work::done;
use std::ops::Range;

/// Answers to any ranges in any region, each with its variance. Children's answers add up to that
/// of their parent, those to adjacent ranges to that of both.
pub struct RegionRelease {
    tree: RegionTree,
    levels: Vec<Option<MeasuredLevel>>,
    /// squares of coefficients of each region, one for each level
    coefficients: Vec<f64>,
    /// of each region what its level's mechanism answers from
    estimates: Vec<f64>,
}

/// Measures every region of the levels that have a share of the budget: `width` numbers that
/// answers follow from, zeros for the other regions. `sums`: of the bins, leaf after leaf.
pub(super) fn measured<R: RandomWords + ?Sized>(
    tree: &RegionTree,
    levels: &[Option<MeasuredLevel>],
    mut sums: SignedSums,
    width: usize,
    words: &mut R,
) -> Vec<f64> {
    let bins = sums.above.len() / tree.leaves().len();
    let mut estimates = vec![0.0; tree.regions() * width];
    for (level, measured) in levels.iter().enumerate().rev() {
        let regions = tree.level(level);
        if level + 1 < levels.len() {
            sums = sums.map(|below| of_parents(tree, regions.clone(), below, bins));
        }
        let SignedSums { above, below } = &sums;
        let Some(MeasuredLevel { mechanism, .. }) = measured else { continue };
        for (place, region) in regions.enumerate() {
            done(width as u64);
            let line = place * bins..(place + 1) * bins;
            let below = below.as_ref().map(|below| &below[line.clone()]);
            let noisy = noisy_difference(&**mechanism, &above[line], below, words);
            let own = mechanism.reconstruct(&noisy);
            estimates[region * width..(region + 1) * width].copy_from_slice(&own);
        }
    }
    estimates
}

/// The sums of regions from those of the level below. What is beyond `u64` stays at its end, which
/// keeps the distance of neighbours.
pub(super) fn of_parents(
    tree: &RegionTree,
    regions: Range<usize>,
    below: &[u64],
    bins: usize,
) -> Vec<u64> {
    let mut sums = vec![0u64; regions.len() * bins];
    let first = regions.end;
    for (region, sums) in regions.zip(sums.chunks_mut(bins)) {
        for child in tree.children(region) {
            done(1 + bins as u64 / 8);
            let child = &below[(child - first) * bins..(child - first + 1) * bins];
            sums.iter_mut().zip(child).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
    }
    sums
}

impl RegionRelease {
    pub(super) fn new(
        tree: RegionTree,
        levels: Vec<Option<MeasuredLevel>>,
        coefficients: Vec<f64>,
        estimates: Vec<f64>,
    ) -> RegionRelease {
        RegionRelease { tree, levels, coefficients, estimates }
    }

    pub fn tree(&self) -> &RegionTree {
        &self.tree
    }

    /// What answers in a region follow from.
    fn own(&self, region: usize) -> &[f64] {
        let width = self.estimates.len() / self.tree.regions();
        &self.estimates[region * width..(region + 1) * width]
    }

    /// Of the coefficients that the own estimates of each level have in a region's.
    fn squares(&self, region: usize) -> &[f64] {
        let levels = self.levels.len();
        &self.coefficients[region * levels..(region + 1) * levels]
    }

    /// A region by itself: a histogram over these bins that gives the same answers, with the same
    /// variances.
    ///
    /// # Panics
    /// If there is no such region, or there are not so many bins.
    pub fn of_region(&self, region: usize, bounds: BinBounds) -> DpRanges {
        let parts = self.levels.iter().zip(self.squares(region)).filter_map(|(level, &weight)| {
            let parameters = level.as_ref()?.parameters.clone();
            Some(Part { weight, parameters })
        });
        let release = RangeRelease::from_parts(parts.collect(), None, self.own(region).to_vec())
            .expect("measurements by one strategy");
        assert_eq!(release.bins(), bounds.bins(), "another number of bins");
        DpRanges::of(bounds, release)
    }

    /// The unbiased estimate of the sum over a range of bins in a region.
    ///
    /// # Panics
    /// If there is no such region, or the range reaches beyond the bins.
    pub fn sum(&self, region: usize, range: Range<usize>) -> f64 {
        let own = self.own(region);
        // all levels' mechanisms answer alike; the last one has one
        self.levels.iter().flatten().last().map_or(0.0, |level| level.mechanism.answer(own, range))
    }

    /// The variances that a range has in a single region of each level, by itself; 0 where nothing
    /// is measured: for [`RegionRelease::variance`].
    pub fn level_variances(&self, range: Range<usize>) -> Vec<f64> {
        let variance = |level: &Option<MeasuredLevel>| {
            level.as_ref().map_or(0.0, |level| level.mechanism.variance(range.clone()))
        };
        self.levels.iter().map(variance).collect()
    }

    /// The exact variance of [`RegionRelease::sum`] over a range with these variances on the levels.
    pub fn variance(&self, region: usize, level_variances: &[f64]) -> f64 {
        self.squares(region)
            .iter()
            .zip(level_variances)
            .map(|(square, variance)| square * variance)
            .sum()
    }
}
