//! From rows to a number for every region and size.

use super::error::NoisyTableError;
use super::rows::RegionRows;
use crate::hierarchy::consistency::NoisyCounts;
use crate::hierarchy::tree::Tree;
use crate::work::Paced;

/// The dense cells while they are filled: (region, size) is at `region * sizes + size`.
pub(super) struct Filling {
    sizes: usize,
    pub(super) values: Vec<f64>,
    /// NaN: not known.
    variances: Vec<f64>,
    entered: Vec<bool>,
}

impl Filling {
    pub(super) fn new(regions: usize, sizes: usize) -> Filling {
        let cells = regions * sizes;
        Filling {
            sizes,
            values: vec![0.0; cells],
            variances: vec![f64::NAN; cells],
            entered: vec![false; cells],
        }
    }

    /// Enters a region's rows, and returns the sum of their magnitudes.
    pub(super) fn enter(
        &mut self,
        region: usize,
        path: &[String],
        rows: &RegionRows,
        sizes: &[u64],
    ) -> Result<f64, NoisyTableError> {
        let mut sum = 0.0;
        for (i, (&size, &groups)) in rows.sizes.iter().zip(&rows.groups).paced().enumerate() {
            let (path, size) = (|| path.to_vec(), size as u64);
            if !groups.is_finite() {
                return Err(NoisyTableError::Count { path: path(), size, groups });
            }
            let column = sizes.partition_point(|&known| known < size);
            let cell = region * self.sizes + column;
            if std::mem::replace(&mut self.entered[cell], true) {
                return Err(NoisyTableError::DuplicateSize { path: path(), size });
            }
            self.values[cell] = groups;
            sum += groups.abs();
            if let Some(variances) = &rows.variances {
                let variance = variances[i];
                if !(variance > 0.0 && variance.is_finite()) {
                    return Err(NoisyTableError::Variance { path: path(), size, variance });
                }
                self.variances[cell] = variance;
            }
        }
        Ok(sum)
    }

    /// Inverse variances, or None where all are the same or unknown. A cell without a row gets its
    /// region's mean, in a region without rows its level's.
    pub(super) fn weights(&self, tree: &Tree) -> Option<Vec<f64>> {
        let known: Vec<f64> = self.variances.iter().copied().filter(|v| !v.is_nan()).collect();
        let mut known_weights = NoisyCounts::inverse_variances(&known).into_iter();
        // 0 for those that are not known
        let known: Vec<f64> = self
            .variances
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
            let cells = regions.start * self.sizes..regions.end * self.sizes;
            let of_level = mean(&known[cells.clone()]);
            for row in weights[cells].chunks_mut(self.sizes) {
                let of_region = mean(row).or(of_level).unwrap_or(all);
                row.iter_mut().filter(|weight| **weight == 0.0).for_each(|w| *w = of_region);
            }
        }
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        (!alike).then_some(weights)
    }
}
