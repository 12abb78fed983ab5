//! The noisy numbers of all regions and sizes, made ready for a method that fits all of them at
//! once.

use super::noisy_counts::{NoisyCounts, Weights};
use crate::hierarchy::tree::Tree;
use crate::work::poll;
use std::borrow::Cow;

/// The largest number of cells, regions times sizes, for the methods that hold all of them at once.
pub(in crate::hierarchy) const MAX_CELLS: usize = 1 << 26;

/// One noisy number of a region for each size from 0 on, all of one variance.
#[derive(Debug, Clone)]
pub(in crate::hierarchy) struct NoisyRow {
    pub values: Vec<i64>,
    pub variance: f64,
}

/// The cells of all regions in the order of [`NoisyCounts`], weighted by inverse variances.
pub(in crate::hierarchy) struct NoisyCells<'a> {
    pub sizes: usize,
    pub values: Cow<'a, [f64]>,
    pub weights: CellWeights<'a>,
}

/// What [`Weights`] borrow.
pub(in crate::hierarchy) enum CellWeights<'a> {
    Equal,
    OfRegions(Vec<f64>),
    OfCells(&'a [f64]),
}

impl NoisyCells<'_> {
    /// `rows`: of all regions, in the tree's order.
    pub(in crate::hierarchy) fn measured(tree: &Tree, rows: Vec<NoisyRow>) -> NoisyCells<'static> {
        let sizes = rows.iter().map(|row| row.values.len()).max().unwrap_or(0);
        let largest = NoisyCounts::largest(tree);
        let variances: Vec<f64> = rows.iter().map(|row| row.variance).collect();
        let weights = NoisyCounts::inverse_variances(&variances);
        let mut values = vec![0.0; rows.len() * sizes];
        let (width, mut begin, mut rest) = (rows.len(), 0, rows.into_iter());
        while begin < width {
            poll();
            // all sizes of some regions, whose memory is free then
            let rows: Vec<NoisyRow> = rest.by_ref().take(ROWS_AT_A_TIME).collect();
            for (size, column) in values.chunks_exact_mut(width).enumerate() {
                for (value, row) in column[begin..].iter_mut().zip(&rows) {
                    let noisy = row.values.get(size).copied().unwrap_or(0);
                    *value = (noisy as f64).clamp(-largest, largest);
                }
            }
            begin += rows.len();
        }
        // equal weights are none: costs are then integers, and an optimum is exact
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        let weights = if alike { CellWeights::Equal } else { CellWeights::OfRegions(weights) };
        NoisyCells { sizes, values: values.into(), weights }
    }

    pub(super) fn counts<'a>(&'a self, tree: &'a Tree) -> NoisyCounts<'a> {
        let weights = match &self.weights {
            CellWeights::Equal => Weights::Equal,
            CellWeights::OfRegions(weights) => Weights::OfRegions(weights),
            CellWeights::OfCells(weights) => Weights::OfCells(weights),
        };
        NoisyCounts::new(tree, self.sizes, &self.values, weights)
    }
}

/// Some lines of the cache hold so many values of a size.
const ROWS_AT_A_TIME: usize = 64;
