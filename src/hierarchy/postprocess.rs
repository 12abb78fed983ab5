//! Consistency methods for anyone's noisy table: post-processing alone, no measurement.

use super::chain::{chain, running_totals};
use super::consistency::{Consistency, matched};
use super::cumulative::{Totals, cumulative};
use super::matching::Merge;
use super::noisy_counts::NoisyCounts;
use super::noisy_table::{NoisyTable, PublicTotals};
use super::pgsr::pgsr;
use super::release::Observer;
use super::topdown::topdown;
use crate::coco::{Coco, Estimate, EstimatedRun, Run, project_weighted};

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
        let checkpoint = &mut || observer.checkpoint();
        let histograms = match method {
            Consistency::Pgsr => self.histograms(&pgsr(&self.counts(), self.root(), checkpoint)),
            Consistency::TopDown => {
                self.histograms(&topdown(&self.counts(), self.root(), checkpoint))
            }
            Consistency::Chain => {
                let sizes = self.sizes.len();
                let values = running_totals(&self.tree, sizes, &self.values, checkpoint);
                let (values, weights) = self.sums(values);
                let sums = NoisyCounts::new(&self.tree, sizes, &values, weights.as_deref());
                self.histograms(&chain(&sums, self.root(), checkpoint))
            }
            Consistency::Cumulative => {
                let values = self.rows(&self.values).flat_map(prefix_sums).collect();
                let (values, weights) = self.sums(values);
                let sums =
                    NoisyCounts::new(&self.tree, self.sizes.len(), &values, weights.as_deref());
                let totals = self.region_totals(checkpoint);
                let totals = match self.totals {
                    PublicTotals::Regions(_) => Totals::Regions(&totals),
                    _ => Totals::Root(totals[0]),
                };
                let fit = cumulative(&sums, totals, checkpoint);
                gap = (fit.real_cost - fit.lower_bound) / fit.real_cost.max(f64::MIN_POSITIVE);
                self.histograms(&fit.counts)
            }
            Consistency::Matching => {
                let estimates = self.estimates(checkpoint);
                matched(&self.tree, estimates, Merge::Weighted, observer)
            }
            Consistency::MatchingUnweighted => {
                let estimates = self.estimates(checkpoint);
                matched(&self.tree, estimates, Merge::Mean, observer)
            }
            Consistency::BottomUp => {
                let estimates = self.estimates(checkpoint);
                let leaves = estimates[self.tree.leaves()].iter().map(Estimate::histogram);
                self.tree.sums(leaves.collect(), &mut || observer.checkpoint())
            }
            Consistency::None => {
                self.estimates(checkpoint).iter().map(Estimate::histogram).collect()
            }
        };
        Consistent { histograms, gap }
    }

    /// The number of groups of each region: the public one, or the consistent integers nearest to
    /// the sums of the noisy counts, weighted by their inverse variances.
    fn region_totals(&self, checkpoint: &mut dyn FnMut()) -> Vec<u64> {
        if let PublicTotals::Regions(totals) = &self.totals {
            return totals.clone();
        }
        let largest = NoisyCounts::largest(&self.tree);
        let sums: Vec<f64> = self
            .rows(&self.values)
            .map(|row| row.iter().sum::<f64>().clamp(-largest, largest))
            .collect();
        let weights = self.weights.as_deref().map(|weights| self.weights_of_sums(weights));
        pgsr(&NoisyCounts::new(&self.tree, 1, &sums, weights.as_deref()), self.root(), checkpoint)
    }

    /// The inverse variance of the sum of each region's counts.
    fn weights_of_sums(&self, weights: &[f64]) -> Vec<f64> {
        let of_sum = |row: &[f64]| {
            let variance: f64 = row.iter().map(|weight| 1.0 / weight).sum();
            (1.0 / variance).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        self.rows(weights).map(of_sum).collect()
    }

    /// Every region's counts projected on its total. A cell of n groups of one size is known to
    /// within its variance v, so each of their sizes to within v / n.
    fn estimates(&self, checkpoint: &mut dyn FnMut()) -> Vec<Estimate> {
        let totals = self.region_totals(checkpoint);
        let weight = |cell: usize| self.weights.as_ref().map_or(1.0, |weights| weights[cell]);
        let mut estimates = Vec::with_capacity(totals.len());
        for (region, (row, total)) in self.rows(&self.values).zip(totals).enumerate() {
            checkpoint();
            let cells = region * self.sizes.len()..;
            let targets: Vec<(f64, f64)> =
                row.iter().zip(cells.clone()).map(|(&value, cell)| (value, weight(cell))).collect();
            checkpoint();
            let counts = project_weighted(&targets, total);
            checkpoint();
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

    /// Sums of counts as targets. How exact each one is depends on what was measured, counts or
    /// sums: all of a region are taken to be known equally well, as its counts are on average.
    fn sums(&self, mut values: Vec<f64>) -> (Vec<f64>, Option<Vec<f64>>) {
        let largest = NoisyCounts::largest(&self.tree);
        values.iter_mut().for_each(|value| *value = value.clamp(-largest, largest));
        let sizes = self.sizes.len();
        let of_region = |sum: f64| {
            (sum * sizes as f64).clamp(*NoisyCounts::WEIGHTS.start(), *NoisyCounts::WEIGHTS.end())
        };
        let weights = self.weights.as_deref().map(|weights| {
            let of_sums = self.weights_of_sums(weights).into_iter().map(of_region);
            of_sums.flat_map(|weight| std::iter::repeat_n(weight, sizes)).collect()
        });
        (values, weights)
    }

    fn root(&self) -> Option<u64> {
        match &self.totals {
            PublicTotals::None => None,
            PublicTotals::Root(total) => Some(*total),
            PublicTotals::Regions(totals) => totals.first().copied(),
        }
    }

    fn rows<'a>(&self, cells: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        cells.chunks(self.sizes.len())
    }

    fn counts(&self) -> NoisyCounts<'_> {
        NoisyCounts::new(&self.tree, self.sizes.len(), &self.values, self.weights.as_deref())
    }

    fn histograms(&self, counts: &[u64]) -> Vec<Coco> {
        let histogram = |row: &[u64]| -> Coco {
            let runs = self.sizes.iter().zip(row);
            runs.map(|(&size, &groups)| Run { size, groups }).collect()
        };
        counts.chunks(self.sizes.len()).map(histogram).collect()
    }
}

fn prefix_sums(row: &[f64]) -> impl Iterator<Item = f64> {
    row.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    })
}
