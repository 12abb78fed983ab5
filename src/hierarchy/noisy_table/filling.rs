//! From rows to a number for every region and size.

use super::error::NoisyTableError;
use super::rows::NoisyRows;
use crate::hierarchy::consistency::NoisyCounts;
use crate::hierarchy::tree::Tree;
use crate::work::Paced;

/// The dense cells while they are filled: (region, size) is at `region * sizes + size`.
pub(super) struct Filling<'a> {
    tree: &'a Tree,
    sizes: &'a [u64],
    values: Vec<f64>,
    /// NaN: not known. None where none is.
    variances: Option<Vec<f64>>,
    entered: Vec<bool>,
}

impl Filling<'_> {
    pub(super) fn new<'a>(tree: &'a Tree, sizes: &'a [u64], with_variances: bool) -> Filling<'a> {
        let cells = tree.regions().len() * sizes.len();
        Filling {
            tree,
            sizes,
            values: vec![0.0; cells],
            variances: with_variances.then(|| vec![f64::NAN; cells]),
            entered: vec![false; cells],
        }
    }

    /// Enters rows, whose regions the tree has. `leaves`: each leaf's number among these, if it has rows.
    pub(super) fn enter(
        &mut self,
        rows: &NoisyRows,
        leaves: &[Option<u32>],
    ) -> Result<(), NoisyTableError> {
        let largest = NoisyCounts::largest(self.tree);
        // where the tree has each region, and on which level
        let mut places = vec![(0, 0); rows.paths.len()];
        let lowest = self.tree.depth() - 1;
        for level in 0..lowest {
            for place in self.tree.level(level).paced() {
                if let Some(number) = rows.paths.get_index_of(&self.tree.regions()[place].path) {
                    places[number] = (place, level);
                }
            }
        }
        for (place, number) in self.tree.leaves().zip(leaves).paced() {
            number.iter().for_each(|&number| places[number as usize] = (place, lowest));
        }
        let mut sums = vec![0.0; self.tree.depth()];
        let all = rows.regions.iter().zip(&rows.sizes).zip(&rows.groups);
        for (i, ((&region, &size), &groups)) in all.paced().enumerate() {
            let (path, size) = (|| rows.path(region), size as u64);
            if !groups.is_finite() {
                return Err(NoisyTableError::Count { path: path(), size, groups });
            }
            let column = self.sizes.partition_point(|&known| known < size);
            let (place, level) = places[region as usize];
            let cell = place * self.sizes.len() + column;
            if std::mem::replace(&mut self.entered[cell], true) {
                return Err(NoisyTableError::DuplicateSize { path: path(), size });
            }
            self.values[cell] = groups;
            let sum = &mut sums[level];
            *sum += groups.abs();
            if *sum > largest {
                return Err(NoisyTableError::LargeCounts { path: path(), largest });
            }
            if let (Some(variances), Some(known)) = (&rows.variances, &mut self.variances) {
                let variance = variances[i];
                if !(variance > 0.0 && variance.is_finite()) {
                    return Err(NoisyTableError::Variance { path: path(), size, variance });
                }
                known[cell] = variance;
            }
        }
        Ok(())
    }

    pub(super) fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Inverse variances, or None where all are the same or unknown. A cell without a row gets its
    /// region's mean, in a region without rows its level's.
    pub(super) fn weights(&mut self) -> Option<Vec<f64>> {
        let (tree, sizes) = (self.tree, self.sizes.len());
        let variances = self.variances.take()?;
        let known: Vec<f64> = variances.iter().copied().filter(|v| !v.is_nan()).collect();
        if known.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let mut known_weights = NoisyCounts::inverse_variances(&known).into_iter();
        // 0 for those that are not known
        let known: Vec<f64> = variances
            .iter()
            .map(|v| if v.is_nan() { 0.0 } else { known_weights.next().unwrap_or(0.0) })
            .collect();
        let mean = |cells: &[f64]| -> Option<f64> {
            let cells = cells.iter().filter(|weight| **weight > 0.0);
            let (sum, count) = cells.fold((0.0, 0.0), |(sum, n), weight| (sum + weight, n + 1.0));
            (count > 0.0).then_some(sum / count)
        };
        let all = mean(&known)?;
        let mut weights = known.clone();
        for level in 0..tree.depth() {
            let regions = tree.level(level);
            let cells = regions.start * sizes..regions.end * sizes;
            let of_level = mean(&known[cells.clone()]);
            for row in weights[cells].chunks_mut(sizes) {
                let of_region = mean(row).or(of_level).unwrap_or(all);
                row.iter_mut().filter(|weight| **weight == 0.0).for_each(|w| *w = of_region);
            }
        }
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        (!alike).then_some(weights)
    }
}
