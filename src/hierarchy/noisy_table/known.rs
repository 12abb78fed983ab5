//! Consistency methods for anyone's noisy table: post-processing alone, no measurement.

use super::chain::{chain, running_totals};
use super::consistency::{Consistency, matched};
use super::cumulative::{Totals, cumulative};
use super::matching::Merge;
use super::noisy_counts::{NoisyCounts, Weights, histograms, transposed};
use super::noisy_table::{NoisyTable, PublicTotals};
use super::pgsr::pgsr;
use super::release::Observer;
use super::topdown::topdown;
use crate::coco::{Coco, Estimate, EstimatedRun, project_weighted};
use crate::work::poll;

/// What became of a noisy table.
#[derive(Debug, Clone)]
pub struct Consistent {
    /// One per region, in the tree's order.
    pub histograms: Vec<Coco>,
    /// How far `cumulative`, before its numbers were rounded, was from the optimum at most, as a
    /// share of its cost; 0 for the other methods.
    pub gap: f64,
}

impl NoisyTable {
    /// Histograms of integers >= 0, children summing to their parents for every size.
    ///
    /// Of public totals `matching`, `matching_unweighted`, `bottom_up` and `cumulative` keep all,
    /// the other methods the root's. Where the root's is not known, `pgsr`, `topdown` and `chain`
    /// find it along with the counts, the others by [`NoisyTable::region_totals`] before.
    /// `none` leaves each region's counts, projected on its total, as they are.
    ///
    /// The observer's checkpoint is called every few milliseconds; it may unwind.
    pub fn consistent(&self, method: Consistency, observer: &mut dyn Observer) -> Consistent {
        let mut gap = 0.0;
        let histograms = match method {
            Consistency::Pgsr => {
                let counts = pgsr(&self.counts(), self.root());
                self.histograms(&counts)
            }
            Consistency::TopDown => {
                let counts = topdown(&self.counts(), self.root());
                self.histograms(&counts)
            }
            Consistency::Chain => {
                let values = running_totals(&self.tree, &self.values);
                let (values, weights) = self.sums(values);
                let sums =
                    NoisyCounts::new(&self.tree, self.sizes.len(), &values, of_regions(&weights));
                let counts = chain(&sums, self.root());
                self.histograms(&counts)
            }
            Consistency::Cumulative => {
                let mut values = self.values.clone();
                let regions = self.tree.regions().len();
                (regions..values.len()).for_each(|cell| values[cell] += values[cell - regions]);
                let (values, weights) = self.sums(values);
                let sums =
                    NoisyCounts::new(&self.tree, self.sizes.len(), &values, of_regions(&weights));
                let totals = self.region_totals();
                let totals = match self.totals {
                    PublicTotals::Regions(_) => Totals::Regions(&totals),
                    _ => Totals::Root(totals[0]),
                };
                let fit = cumulative(&sums, totals);
                gap = (fit.real_cost - fit.lower_bound) / fit.real_cost.max(f64::MIN_POSITIVE);
                self.histograms(&fit.counts)
            }
            Consistency::Matching => {
                let estimates = self.estimates();
                matched(&self.tree, estimates, Merge::Weighted, observer)
            }
            Consistency::MatchingUnweighted => {
                let estimates = self.estimates();
                matched(&self.tree, estimates, Merge::Mean, observer)
            }
            Consistency::BottomUp => {
                let estimates = self.estimates();
                let leaves = estimates[self.tree.leaves()].iter().map(Estimate::histogram);
                self.tree.sums(leaves.collect())
            }
            Consistency::None => self.estimates().iter().map(Estimate::histogram).collect(),
        };
        Consistent { histograms, gap }
    }

    /// The number of groups of each region: the public one, or the consistent integers nearest to
    /// the sums of the noisy counts, weighted by their inverse variances.
    fn region_totals(&self) -> Vec<u64> {
        if let PublicTotals::Regions(totals) = &self.totals {
            return totals.clone();
        }
        let largest = NoisyCounts::largest(&self.tree);
        let sums: Vec<f64> = self
            .by_region(&self.values)
            .chunks(self.sizes.len())
            .map(|row| row.iter().sum::<f64>().clamp(-largest, largest))
            .collect();
        let weights = self.weights.as_deref().map(|weights| self.weights_of_sums(weights));
        let sums = NoisyCounts::new(&self.tree, 1, &sums, of_regions(&weights));
        pgsr(&sums, self.root())
    }

    /// The inverse variance of the sum of each region's counts.
    fn weights_of_sums(&self, weights: &[f64]) -> Vec<f64> {
        let of_sum = |row: &[f64]| {
            let variance: f64 = row.iter().map(|weight| 1.0 / weight).sum();
            (1.0 / variance).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        self.by_region(weights).chunks(self.sizes.len()).map(of_sum).collect()
    }

    /// Every region's counts projected on its total. A cell of n groups of one size is known to
    /// within its variance v, so each of their sizes to within v / n.
    fn estimates(&self) -> Vec<Estimate> {
        let totals = self.region_totals();
        let values = self.by_region(&self.values);
        let weights = self.weights.as_deref().map(|weights| self.by_region(weights));
        let weight = |cell: usize| weights.as_ref().map_or(1.0, |weights| weights[cell]);
        let mut estimates = Vec::with_capacity(totals.len());
        for (region, (row, total)) in values.chunks(self.sizes.len()).zip(totals).enumerate() {
            poll();
            let cells = region * self.sizes.len()..;
            let targets: Vec<(f64, f64)> =
                row.iter().zip(cells.clone()).map(|(&value, cell)| (value, weight(cell))).collect();
            poll();
            let counts = project_weighted(&targets, total);
            poll();
            let runs = counts.into_iter().zip(&self.sizes).zip(cells);
            let runs = runs.filter(|((groups, _), _)| *groups > 0);
            estimates.push(Estimate::new(
                runs.map(|((groups, &size), cell)| {
                    let variance = 1.0 / weight(cell) / groups as f64;
                    EstimatedRun { size, variance, groups }
                })
                .collect(),
            ));
        }
        estimates
    }

    /// Sums of counts as targets, with their regions' weights. How exact each one is depends on what was measured, counts or
    /// sums: all of a region are taken to be known equally well, as its counts are on average.
    fn sums(&self, mut values: Vec<f64>) -> (Vec<f64>, Option<Vec<f64>>) {
        let largest = NoisyCounts::largest(&self.tree);
        values.iter_mut().for_each(|value| *value = value.clamp(-largest, largest));
        let sizes = self.sizes.len() as f64;
        let of_region = |sum: f64| {
            (sum * sizes).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        let weights = self
            .weights
            .as_deref()
            .map(|weights| self.weights_of_sums(weights).into_iter().map(of_region).collect());
        (values, weights)
    }

    fn root(&self) -> Option<u64> {
        match &self.totals {
            PublicTotals::None => None,
            PublicTotals::Root(total) => Some(*total),
            PublicTotals::Regions(totals) => totals.first().copied(),
        }
    }

    /// Cells with those of a region together.
    fn by_region(&self, cells: &[f64]) -> Vec<f64> {
        transposed(cells, self.tree.regions().len())
    }

    fn counts(&self) -> NoisyCounts<'_> {
        let weights = self.weights.as_deref().map_or(Weights::Equal, Weights::OfCells);
        NoisyCounts::new(&self.tree, self.sizes.len(), &self.values, weights)
    }

    fn histograms(&self, counts: &[u64]) -> Vec<Coco> {
        histograms(&self.tree, self.sizes.iter().copied(), counts)
    }
}

fn of_regions(weights: &Option<Vec<f64>>) -> Weights<'_> {
    weights.as_deref().map_or(Weights::Equal, Weights::OfRegions)
}
