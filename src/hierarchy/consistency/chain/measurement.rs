//! The running totals of one level, with their noise.

use super::running_totals::accumulate;
use crate::coco::{Coco, Estimator};
use crate::hierarchy::consistency::cells::NoisyRow;
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::LaplaceMechanism;
use crate::work::{Paced, done};

/// What is measured of a level as one chain. Its noise depends on how many regions the level has.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainMeasurement {
    /// What the level was asked to be estimated by.
    estimator: Estimator,
    max_size: u64,
    rows_per_unit: u32,
    epsilon: f64,
}

impl ChainMeasurement {
    /// What a reader of a release's record should know.
    pub const NOTE: &'static str = "one entity moves as many running totals of a level as the \
        level has regions; the noise is calibrated to that, not to the sensitivity 1 of Fioretto, \
        Van Hentenryck, Zhu (2020), which is not private";

    /// `max_size`: the public K; larger groups are counted at K. `rows_per_unit`: how many entities
    /// one unit of privacy owns at most. The release satisfies `epsilon`-differential privacy for
    /// that unit.
    ///
    /// Errors: epsilon leads to a scale that cannot be sampled even for a single region.
    pub fn new(
        estimator: Estimator,
        max_size: u64,
        rows_per_unit: u32,
        epsilon: f64,
    ) -> Result<ChainMeasurement, ScaleError> {
        let chain = ChainMeasurement { estimator, max_size, rows_per_unit, epsilon };
        chain.noise(1).map(|_| chain)
    }

    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The noise for a level with so many regions, which is public. One entity moves as many
    /// running totals as the level has regions, each by 1 (the proof is in `consistency/chain`).
    ///
    /// Errors: a scale that cannot be sampled; no regions.
    pub fn noise(&self, regions: usize) -> Result<LaplaceMechanism, ScaleError> {
        let sensitivity = (regions as u64)
            .checked_mul(self.rows_per_unit.into())
            .ok_or(ScaleError::OutOfRange { scale: f64::INFINITY })?;
        LaplaceMechanism::new(sensitivity, self.epsilon)
    }

    /// How a level's sensitivity is written before its regions are known.
    pub fn sensitivity_text(&self) -> String {
        format!("{} x regions of the level", self.rows_per_unit)
    }

    /// The exact integers that noise is added to: the running totals of the level's regions without
    /// the last one, that of size s in region r at r (K + 1) + s.
    ///
    /// Sums are expected to fit an `i64`.
    pub(super) fn measure(&self, level: &[Coco]) -> Vec<i64> {
        let sizes = self.sizes();
        let mut totals = vec![0; level.len() * sizes];
        for (region, histogram) in level.iter().enumerate() {
            done(histogram.runs().len() as u64);
            for run in histogram.capped(self.max_size) {
                totals[region * sizes + run.size as usize] += run.groups as i64;
            }
        }
        accumulate(sizes, &mut totals);
        totals.pop();
        totals
    }

    /// The noisy running totals of each region for sizes 0 ..= K, with the exact public last one.
    ///
    /// Errors: as for [`ChainMeasurement::noise`].
    pub(in crate::hierarchy) fn release<R: RandomWords + ?Sized>(
        &self,
        level: &[Coco],
        words: &mut R,
    ) -> Result<Vec<NoisyRow>, ScaleError> {
        if level.is_empty() {
            return Ok(vec![]);
        }
        let noise = self.noise(level.len())?;
        let mut totals = self.measure(level);
        totals.iter_mut().paced().for_each(|total| *total = noise.add(*total, words));
        totals.push(level.iter().map(|region| region.groups() as i64).sum());
        let row = |totals: &[i64]| {
            done(totals.len() as u64);
            NoisyRow { values: totals.to_vec(), variance: noise.variance() }
        };
        Ok(totals.chunks(self.sizes()).map(row).collect())
    }

    fn sizes(&self) -> usize {
        self.max_size as usize + 1
    }
}

#[cfg(test)]
mod tests;
