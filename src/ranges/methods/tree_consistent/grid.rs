//! The tree over a grid, its noisy counts made consistent by least squares; with one level, the
//! noisy histogram itself.

use super::grid_covariance::{GridCovariance, GridTree, LAST, LevelOfGrid, REGULAR};
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements, signed};
use crate::ranges::plane::grid::{CellGrid, Rectangle};
use crate::ranges::plane::mechanism::{PlaneMechanism, search_max};
use crate::work::done;
use std::iter::Sum;
use std::ops::AddAssign;

/// Nodes of one row that are counted as work at a time.
const ITEMS_AT_A_TIME: usize = 1 << 12;

/// A tree that splits b^2-ary, b ways in either direction, of which every node below the root is
/// measured (Qardaji et al., section 5.1, with the constrained inference of section 3.3): the
/// estimate that among all unbiased linear ones has the least variance for every rectangle. Also
/// for incomplete trees and levels of unequal noise, in linear time.
///
/// A node of level l, the cells being level 0, covers b^l rows times b^l columns; what would lie
/// beyond the grid is lacking. The root is on the least level h >= 1 for which b^h reaches both
/// numbers: where the grid is not square, the upper levels split the longer side alone. With h = 1
/// the cells are all that is measured.
///
/// A record lies in one node of each level, so it moves one measurement per level, by 1.
#[derive(Debug, Clone)]
pub struct PlaneTree {
    grid: CellGrid,
    tree: GridTree,
    /// Group l is level l.
    measurements: Measurements,
    /// Of the levels.
    variances: Vec<f64>,
    covariance: GridCovariance,
}

impl PlaneTree {
    /// The number of levels that are measured: h.
    ///
    /// # Panics
    /// If the branching factor is below 2.
    pub fn levels(grid: CellGrid, branching: usize) -> usize {
        GridTree::new(grid, branching).height()
    }

    /// Whether there is noise for every level. The branching factor is at least 2.
    pub(in crate::ranges) fn fits(
        grid: CellGrid,
        branching: usize,
        calibration: &Calibration,
    ) -> bool {
        calibration.groups() == Some(PlaneTree::levels(grid, branching))
    }

    /// `calibration`: of levels 0 .. h, from the cells up.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the branching factor is below 2, or the noise is that of another number of levels.
    pub fn new(
        grid: CellGrid,
        branching: usize,
        calibration: &Calibration,
    ) -> Result<PlaneTree, ScaleError> {
        let tree = GridTree::new(grid, branching);
        let nodes = (0..tree.height()).map(|level| tree.nodes(level));
        let measurements = Measurements::one_of_each(nodes, calibration)?;
        let variances = measurements.variances();
        let covariance = GridCovariance::new(tree, &variances);
        Ok(PlaneTree { grid, tree, measurements, variances, covariance })
    }

    /// For each node of a level above the leaves, the sum of its children's values.
    fn child_sums<T>(&self, level: usize, children: &[T]) -> Vec<T>
    where
        T: Copy + Default + AddAssign + for<'a> Sum<&'a T>,
    {
        let branching = self.tree.branching();
        let mut sums = vec![T::default(); self.tree.nodes(level)];
        let rows = children.chunks_exact(self.tree.columns.nodes(level - 1));
        for (i, row) in rows.enumerate() {
            let first = i / branching * self.tree.columns.nodes(level);
            let pairs = sums[first..].iter_mut().zip(row.chunks(branching));
            in_parts(pairs, |(sum, children)| *sum += children.iter().sum());
        }
        sums
    }

    /// Calls `change` with every value of a level, its place, and its kind.
    fn change_each(
        &self,
        level: usize,
        values: &mut [f64],
        mut change: impl FnMut(&mut f64, [usize; 2], [usize; 2]),
    ) {
        let (rows, columns) = (self.tree.rows, self.tree.columns);
        let kind = |is_last: bool| if is_last { LAST } else { REGULAR };
        for (i, row) in values.chunks_exact_mut(columns.nodes(level)).enumerate() {
            let row_kind = kind(rows.is_last(level, i));
            in_parts(row.iter_mut().enumerate(), |(j, value)| {
                change(value, [i, j], [row_kind, kind(columns.is_last(level, j))]);
            });
        }
    }
}

/// Counts the items as work once for many of them, and for few of them not at length.
fn in_parts<T>(items: impl ExactSizeIterator<Item = T>, mut action: impl FnMut(T)) {
    let mut items = items;
    while items.len() > 0 {
        let part = items.len().min(ITEMS_AT_A_TIME);
        done(part as u64);
        items.by_ref().take(part).for_each(&mut action);
    }
}

impl CountMechanism for PlaneTree {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.grid.cells() as u64
    }

    /// The nodes' counts, level by level from the cells up, row by row.
    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let mut values = signed(counts);
        let mut below = 0;
        for level in 1..self.tree.height() {
            let sums = self.child_sums(level, &values[below..]);
            below = values.len();
            values.extend(sums);
        }
        values
    }
}

impl PlaneMechanism for PlaneTree {
    fn grid(&self) -> CellGrid {
        self.grid
    }

    /// Weighted averaging up the tree, mean consistency down.
    fn cell_estimates(&self, noisy: &[i64]) -> Vec<f64> {
        let mut rest = noisy;
        let mut levels: Vec<Vec<f64>> = (0..self.tree.height())
            .map(|level| {
                let (own, others) = rest.split_at(self.tree.nodes(level));
                rest = others;
                own.iter().map(|value| *value as f64).collect()
            })
            .collect();
        let branching = self.tree.branching();
        // up: a node's best estimate from its own subtree, in place of its noisy count
        for (below, LevelOfGrid { slack, .. }) in self.covariance.levels().iter().enumerate() {
            let level = below + 1;
            let sums = self.child_sums(level, &levels[below]);
            let (own, width) = (self.variances[level], self.tree.columns.nodes(level));
            self.change_each(level, &mut levels[level], |value, [i, j], [row, column]| {
                // of the inverse variances 1/slack, the noisy count has 1/own
                let weight = slack[row][column] / own;
                *value = weight * *value + (1.0 - weight) * sums[i * width + j];
            });
        }
        // down: what a parent's estimate exceeds its children's sum by is shared among them in
        // proportion to their slacks; the root is not measured, its estimate is that sum
        for (below, LevelOfGrid { children, total, .. }) in
            self.covariance.levels().iter().enumerate().rev()
        {
            let level = below + 1;
            let width = self.tree.columns.nodes(level);
            let mut shared = self.child_sums(level, &levels[below]);
            let parents = &levels[level];
            self.change_each(level, &mut shared, |sum, [i, j], [row, column]| {
                *sum = (parents[i * width + j] - *sum) / total[row][column];
            });
            self.change_each(below, &mut levels[below], |value, [i, j], [row, column]| {
                let parent = i / branching * width + j / branching;
                *value += shared[parent] * children[row][column];
            });
        }
        levels.swap_remove(0)
    }

    /// Exact for the discrete noise, up to the roundoff of the module's formula. Time: the number
    /// of levels.
    fn variance(&self, rectangle: &Rectangle) -> f64 {
        if rectangle.cells() == 0 { 0.0 } else { self.covariance.variance(rectangle) }
    }

    fn mean_over_all(&self) -> f64 {
        self.covariance.mean_over_all()
    }

    /// With one level that of the whole grid, else by search.
    fn max_over_all(&self) -> Option<f64> {
        match self.variances[..] {
            [cell] => Some(self.grid.cells() as f64 * cell),
            _ => search_max(self),
        }
    }
}

/// The mean variance over all rectangles of a tree whose level l has node variance `variances[l]`.
pub(in crate::ranges) fn mean_over_all(grid: CellGrid, branching: usize, variances: &[f64]) -> f64 {
    GridCovariance::new(GridTree::new(grid, branching), variances).mean_over_all()
}
