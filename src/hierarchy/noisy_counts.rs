//! Noisy counts of a whole hierarchy, which the methods that hold all cells at once fit.

use super::tree::Tree;

/// Noisy counts of groups, one for every region and size, the regions in the tree's order.
#[derive(Debug, Clone, Copy)]
pub struct NoisyCounts<'a> {
    pub(super) tree: &'a Tree,
    pub(super) sizes: usize,
    pub(super) values: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
}

impl<'a> NoisyCounts<'a> {
    /// The largest and the smallest weight that can be told apart safely from 0 and infinity.
    pub const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

    /// Cell (region, size) is at `region * sizes + size`. Without weights, all are 1.
    ///
    /// Panics where there are too many or too few values or weights, where the magnitude of a
    /// value exceeds [`NoisyCounts::largest`], and where a weight is not in
    /// [`NoisyCounts::WEIGHTS`].
    pub fn new(
        tree: &'a Tree,
        sizes: usize,
        values: &'a [f64],
        weights: Option<&'a [f64]>,
    ) -> NoisyCounts<'a> {
        assert_eq!(values.len(), tree.regions().len() * sizes, "one value per region and size");
        let largest = NoisyCounts::largest(tree);
        assert!(values.iter().all(|value| value.abs() <= largest), "a value is too large");
        if let Some(weights) = weights {
            assert_eq!(weights.len(), values.len(), "one weight per value");
            let valid = |weight| NoisyCounts::WEIGHTS.contains(weight);
            assert!(weights.iter().all(valid), "a weight is not positive and finite");
        }
        NoisyCounts { tree, sizes, values, weights }
    }

    /// The largest magnitude of a value: sums over the leaves, rounding errors included, still fit a
    /// count.
    pub fn largest(tree: &Tree) -> f64 {
        (LARGEST_SUM / 2) as f64 / tree.leaves().len().max(1) as f64
    }

    /// Weights that are inverse to variances, relative to that of the most certain value, and 10^-30
    /// of it at least: beyond that nothing is left of the other one's influence but rounding errors,
    /// which cost time. A variance of 0, from noise that is practically never there, counts as
    /// 10^-10 of the least other one.
    pub(super) fn inverse_variances(variances: &[f64]) -> Vec<f64> {
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

    /// The sum of w (x - y)^2, which [`pgsr`](super::pgsr()) minimises.
    pub fn cost(&self, counts: &[u64]) -> f64 {
        assert_eq!(counts.len(), self.values.len());
        let cells = (0..self.tree.regions().len())
            .flat_map(|region| (0..self.sizes).map(move |size| (region, size)));
        cells.zip(counts).map(|((region, size), &x)| self.target(region, size).cost(x)).sum()
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

    pub(super) fn target(&self, region: usize, size: usize) -> Target {
        let cell = region * self.sizes + size;
        Target { value: self.values[cell], weight: self.weights.map_or(1.0, |all| all[cell]) }
    }

    /// One size's cells in all regions.
    pub(super) fn targets(&self, size: usize) -> Vec<Target> {
        (0..self.tree.regions().len()).map(|region| self.target(region, size)).collect()
    }

    /// What `column` makes of one size's cells after another, each in its cell's place.
    ///
    /// Several sizes are read and written at a time: with a single one, every cell would cost a
    /// line of the cache.
    pub(super) fn map_sizes<T: Copy + Default>(
        &self,
        mut column: impl FnMut(usize, &[Target]) -> Vec<T>,
    ) -> Vec<T> {
        let mut results = vec![T::default(); self.values.len()];
        let all: Vec<usize> = (0..self.sizes).collect();
        for sizes in all.chunks(SIZES_AT_A_TIME) {
            let mut targets = vec![Vec::with_capacity(self.tree.regions().len()); sizes.len()];
            for region in 0..self.tree.regions().len() {
                for (targets, &size) in targets.iter_mut().zip(sizes) {
                    targets.push(self.target(region, size));
                }
            }
            let columns: Vec<Vec<T>> =
                sizes.iter().zip(&targets).map(|(&size, targets)| column(size, targets)).collect();
            for (region, row) in results.chunks_exact_mut(self.sizes).enumerate() {
                for (result, column) in row[sizes[0]..].iter_mut().zip(&columns) {
                    *result = column[region];
                }
            }
        }
        results
    }
}

/// Two lines of the cache hold so many counts.
const SIZES_AT_A_TIME: usize = 16;

/// The largest sum of counts that is provided for.
pub(super) const LARGEST_SUM: u64 = 1 << 62;

/// A noisy count and the weight of its squared distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) value: f64,
    pub(super) weight: f64,
}

impl Target {
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
