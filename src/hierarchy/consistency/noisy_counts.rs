//! Noisy counts of a whole hierarchy, which the methods that hold all cells at once fit.

use crate::coco::{Coco, Tally};
use crate::hierarchy::tree::Tree;
use crate::work::poll;

/// How much the squared distances of noisy counts weigh.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// All as much as 1.
    Equal,
    /// Those of each region, in the tree's order.
    OfRegions(&'a [f64]),
    /// Those of each cell, in the order of the counts.
    OfCells(&'a [f64]),
}

/// Noisy counts of groups, one for every region and size, the regions in the tree's order.
///
/// Those of one size stand together: what sums over children is done size by size.
#[derive(Debug, Clone, Copy)]
pub struct NoisyCounts<'a> {
    pub(super) tree: &'a Tree,
    pub(super) sizes: usize,
    pub(super) values: &'a [f64],
    pub(super) weights: Weights<'a>,
}

impl<'a> NoisyCounts<'a> {
    /// The largest and the smallest weight that can be told apart safely from 0 and infinity.
    pub const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

    /// Cell (region, size) is at `size * regions + region`.
    ///
    /// Panics where there are too many or too few values or weights, where the magnitude of a
    /// value exceeds [`NoisyCounts::largest`], and where a weight is not in
    /// [`NoisyCounts::WEIGHTS`].
    pub fn new(
        tree: &'a Tree,
        sizes: usize,
        values: &'a [f64],
        weights: Weights<'a>,
    ) -> NoisyCounts<'a> {
        let regions = tree.regions().len();
        assert_eq!(values.len(), regions * sizes, "one value per region and size");
        let largest = NoisyCounts::largest(tree);
        assert!(values.iter().all(|value| value.abs() <= largest), "a value is too large");
        let weights_given = match weights {
            Weights::Equal => &[][..],
            Weights::OfRegions(of_regions) => {
                assert_eq!(of_regions.len(), regions, "one weight per region");
                of_regions
            }
            Weights::OfCells(of_cells) => {
                assert_eq!(of_cells.len(), values.len(), "one weight per value");
                of_cells
            }
        };
        let valid = |weight| NoisyCounts::WEIGHTS.contains(weight);
        assert!(weights_given.iter().all(valid), "a weight is not positive and finite");
        NoisyCounts { tree, sizes, values, weights }
    }

    /// The largest magnitude of a value: sums over the leaves, rounding errors included, still fit
    /// a count.
    pub fn largest(tree: &Tree) -> f64 {
        (LARGEST_SUM / 2) as f64 / tree.leaves().len().max(1) as f64
    }

    /// Weights that are inverse to variances, relative to that of the most certain value, and
    /// 10^-30 of it at least: beyond that nothing is left of the other one's influence but rounding
    /// errors, which cost time. A variance of 0, from noise that is practically never there, counts
    /// as 10^-10 of the least other one.
    pub(in crate::hierarchy) fn inverse_variances(variances: &[f64]) -> Vec<f64> {
        let positive = variances.iter().copied().filter(|variance| *variance > 0.0);
        let mut least = positive.fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            return vec![1.0; variances.len()];
        }
        if variances.contains(&0.0) {
            least *= 1e-10;
        }
        variances.iter().map(|variance| (least / variance.max(least)).max(1e-30)).collect()
    }

    /// The sum of w (x - y)^2, which [`pgsr()`](super::pgsr()) minimises.
    pub fn cost(&self, counts: &[u64]) -> f64 {
        assert_eq!(counts.len(), self.values.len());
        (0..self.sizes)
            .flat_map(|size| self.targets(size))
            .zip(counts)
            .map(|(target, &x)| target.cost(x))
            .sum()
    }

    /// Where a cell is.
    pub(super) fn cell(&self, region: usize, size: usize) -> usize {
        size * self.tree.regions().len() + region
    }

    /// Whether groups have a place to be: a leaf and a size.
    ///
    /// Panics where a total cannot be met: above 2^62, or above 0 without a place.
    pub(super) fn has_room_for(&self, total: Option<u64>) -> bool {
        let room = !self.tree.leaves().is_empty() && self.sizes > 0;
        assert!(room || total.unwrap_or(0) == 0, "groups without a place to be");
        assert!(total.unwrap_or(0) <= LARGEST_SUM, "the total is too large");
        room
    }

    pub(super) fn target(&self, region: usize, size: usize) -> NoisyTarget {
        let cell = self.cell(region, size);
        let weight = match self.weights {
            Weights::Equal => 1.0,
            Weights::OfRegions(weights) => weights[region],
            Weights::OfCells(weights) => weights[cell],
        };
        NoisyTarget { value: self.values[cell], weight }
    }

    /// One size's cells in all regions.
    pub(super) fn targets(&self, size: usize) -> Vec<NoisyTarget> {
        let regions = self.tree.regions().len();
        let cells = size * regions..(size + 1) * regions;
        let values = self.values[cells.clone()].iter();
        let target = |(&value, &weight)| NoisyTarget { value, weight };
        match self.weights {
            Weights::Equal => values.map(|value| target((value, &1.0))).collect(),
            Weights::OfRegions(weights) => values.zip(weights).map(target).collect(),
            Weights::OfCells(weights) => values.zip(&weights[cells]).map(target).collect(),
        }
    }
}

/// One histogram per region from counts in the order of [`NoisyCounts`], of these sizes.
pub(super) fn histograms(
    tree: &Tree,
    sizes: impl IntoIterator<Item = u64>,
    counts: &[u64],
) -> Vec<Coco> {
    let regions = tree.regions().len();
    let mut tallies = vec![Tally::default(); regions];
    for (size, counts) in sizes.into_iter().zip(counts.chunks_exact(regions)) {
        poll();
        let present = tallies.iter_mut().zip(counts).filter(|(_, groups)| **groups > 0);
        present.for_each(|(tally, &groups)| tally.add(size, groups));
    }
    let histogram = |tally: &Tally| {
        poll();
        tally.histogram()
    };
    tallies.iter().map(histogram).collect()
}

/// Cells with those of a region together if those of a size were, and the other way round.
/// `width`: how many stand together.
pub(in crate::hierarchy) fn transposed<T: Copy + Default>(cells: &[T], width: usize) -> Vec<T> {
    let mut transposed = vec![T::default(); cells.len()];
    let height = cells.len().checked_div(width).unwrap_or(0);
    transpose::transpose(cells, &mut transposed, width, height);
    transposed
}

/// The largest sum of counts that is provided for.
pub(super) const LARGEST_SUM: u64 = 1 << 62;

/// A noisy count and the weight of its squared distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NoisyTarget {
    pub(super) value: f64,
    pub(super) weight: f64,
}

impl NoisyTarget {
    pub(super) fn cost(self, count: u64) -> f64 {
        let distance = count as f64 - self.value;
        self.weight * distance * distance
    }

    /// The derivative of the cost.
    pub(super) fn slope(self, count: f64) -> f64 {
        2.0 * self.weight * (count - self.value)
    }

    /// The count at which the derivative of the cost is the price.
    pub(super) fn response(self, price: f64) -> f64 {
        price / (2.0 * self.weight) + self.value
    }
}

#[cfg(test)]
mod tests {
    use super::super::pgsr::tests::{census, regular_tree};
    use super::*;

    #[test]
    fn weights_of_regions_are_those_of_all_their_cells() {
        let (tree, sizes) = (regular_tree(&[3, 2]), 5);
        let (values, _) = census(&tree, sizes, 60.0, 1);
        let of_regions: Vec<f64> = (1..=10).map(f64::from).collect();
        let of_cells = of_regions.repeat(sizes);
        let noisy = |weights| NoisyCounts::new(&tree, sizes, &values, weights);
        let by_regions = noisy(Weights::OfRegions(&of_regions));
        let by_cells = noisy(Weights::OfCells(&of_cells));
        for size in 0..sizes {
            let (targets, same) = (by_regions.targets(size), by_cells.targets(size));
            for region in 0..10 {
                let cell = by_regions.cell(region, size);
                let expected = NoisyTarget { value: values[cell], weight: of_regions[region] };
                assert_eq!((targets[region], same[region]), (expected, expected));
                assert_eq!(by_regions.target(region, size), expected);
                assert_eq!(by_cells.target(region, size), expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "one weight per region")]
    fn every_region_has_a_weight() {
        NoisyCounts::new(&regular_tree(&[2]), 1, &[0.0; 3], Weights::OfRegions(&[1.0; 2]));
    }
}
