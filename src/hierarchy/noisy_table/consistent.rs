//! What a table says of the quantities that consistency methods want.

use super::table::{NoisyTable, PublicTotals};
use crate::coco::{Estimate, EstimatedRun};
use crate::fit::project_weighted;
use crate::hierarchy::consistency::{
    CellWeights, Consistency, Consistent, Evidence, KnownRegions, KnownTotals, NoisyCells,
    NoisyCounts, Quantity, Weights, pgsr, running_totals, transposed,
};
use crate::hierarchy::observer::Observer;
use crate::hierarchy::tree::Tree;
use crate::work::{poll, share};
use std::num::NonZeroUsize;

/// To project a cell on a region's total takes about as long as so many draws of noise.
const DRAWS_PER_CELL: u64 = 4;

impl NoisyTable {
    /// Histograms of integers >= 0, children summing to their parents for every size.
    ///
    /// Of public totals `matching`, `matching_unweighted`, `bottom_up` and `cumulative` keep all,
    /// the other methods the root's. Where the root's is not known, `pgsr`, `topdown` and `chain`
    /// find it along with the counts, the others by the sums of the counts before. `none` leaves
    /// each region's counts, projected on its total, as they are.
    /// `threads`: the most that may work at a time; what comes out does not depend on it.
    pub fn consistent(
        mut self,
        method: Consistency,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> (Tree, Consistent) {
        let regions;
        let mut totals = self.root().map(KnownTotals::Root);
        let evidence = match method.quantity() {
            Quantity::Estimates => {
                let estimates = self.estimates(threads);
                // what they are made of is as large
                (self.values, self.weights) = (Vec::new(), None);
                Evidence::Estimates { estimates, cut_noise: None }
            }
            Quantity::Counts => {
                let values = self.take_by_size();
                let sizes = self.sizes.len();
                self.weights = self.weights.take().map(|weights| transposed(&weights, sizes));
                let weights = self.weights.as_deref();
                let weights = weights.map_or(CellWeights::Equal, CellWeights::OfCells);
                self.cells(NoisyCells { sizes, values: values.into(), weights })
            }
            Quantity::RunningTotals => {
                let values = self.take_by_size();
                let values = running_totals(&self.tree, &values);
                self.cells(self.sums(values))
            }
            Quantity::CumulativeCounts => {
                regions = self.region_totals();
                let mut values = self.take_by_size();
                let width = self.tree.regions().len();
                (width..values.len()).for_each(|cell| values[cell] += values[cell - width]);
                totals = Some(match self.totals {
                    PublicTotals::Regions(_) => KnownTotals::Regions(&regions),
                    PublicTotals::Root(_) | PublicTotals::None => KnownTotals::Root(regions[0]),
                });
                self.cells(self.sums(values))
            }
        };
        let known = KnownRegions { tree: &self.tree, evidence, totals, threads };
        let consistent = method.apply(known, observer);
        (self.tree, consistent)
    }

    fn cells<'a>(&'a self, cells: NoisyCells<'a>) -> Evidence<'a> {
        Evidence::Cells { cells, sizes: Some(&self.sizes) }
    }

    /// The number of groups of each region: the public one, or the consistent integers nearest to
    /// the sums of the noisy counts, weighted by their inverse variances.
    fn region_totals(&self) -> Vec<u64> {
        if let PublicTotals::Regions(totals) = &self.totals {
            return totals.clone();
        }
        let largest = NoisyCounts::largest(&self.tree);
        let sums: Vec<f64> = self
            .values
            .chunks(self.sizes.len())
            .map(|row| row.iter().sum::<f64>().clamp(-largest, largest))
            .collect();
        let weights = self.weights.as_deref().map(|weights| self.weights_of_sums(weights));
        let weights = weights.as_deref().map_or(Weights::Equal, Weights::OfRegions);
        let sums = NoisyCounts::new(&self.tree, 1, &sums, weights);
        pgsr(&sums, self.root())
    }

    /// The inverse variance of the sum of each region's counts.
    fn weights_of_sums(&self, weights: &[f64]) -> Vec<f64> {
        let of_sum = |row: &[f64]| {
            let variance: f64 = row.iter().map(|weight| 1.0 / weight).sum();
            (1.0 / variance).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        weights.chunks(self.sizes.len()).map(of_sum).collect()
    }

    /// Every region's counts projected on its total. A cell of n groups of one size is known to
    /// within its variance v, so each of their sizes to within v / n.
    fn estimates(&self, threads: NonZeroUsize) -> Vec<Estimate> {
        let totals = self.region_totals();
        let weight = |cell: usize| self.weights.as_ref().map_or(1.0, |weights| weights[cell]);
        let sizes = self.sizes.len();
        let work = vec![DRAWS_PER_CELL * sizes as u64; totals.len()];
        share(&work, threads, |region| {
            poll();
            let cells = region * sizes..(region + 1) * sizes;
            let targets: Vec<(f64, f64)> =
                cells.clone().map(|cell| (self.values[cell], weight(cell))).collect();
            poll();
            let counts = project_weighted(&targets, totals[region]);
            poll();
            let runs = counts.into_iter().zip(&self.sizes).zip(cells);
            let runs = runs.filter(|((groups, _), _)| *groups > 0);
            Estimate::new(
                runs.map(|((groups, &size), cell)| {
                    let variance = 1.0 / weight(cell) / groups as f64;
                    EstimatedRun { size, variance, groups }
                })
                .collect(),
            )
        })
    }

    /// Sums of counts as targets, with their regions' weights. How exact each one is depends on
    /// what was measured, counts or sums: all of a region are taken to be known equally well, as
    /// its counts are on average.
    fn sums(&self, mut values: Vec<f64>) -> NoisyCells<'static> {
        let largest = NoisyCounts::largest(&self.tree);
        values.iter_mut().for_each(|value| *value = value.clamp(-largest, largest));
        let sizes = self.sizes.len();
        let of_region = |sum: f64| {
            let weight = sum * sizes as f64;
            weight.clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        let of_regions = |weights: &[f64]| {
            let sums = self.weights_of_sums(weights).into_iter();
            CellWeights::OfRegions(sums.map(of_region).collect())
        };
        let weights = self.weights.as_deref().map_or(CellWeights::Equal, of_regions);
        NoisyCells { sizes, values: values.into(), weights }
    }

    fn root(&self) -> Option<u64> {
        match &self.totals {
            PublicTotals::None => None,
            PublicTotals::Root(total) => Some(*total),
            PublicTotals::Regions(totals) => totals.first().copied(),
        }
    }

    /// The values with those of a size together, in the order of [`NoisyCounts`]; the table's own
    /// are given back.
    fn take_by_size(&mut self) -> Vec<f64> {
        transposed(&std::mem::take(&mut self.values), self.sizes.len())
    }
}
