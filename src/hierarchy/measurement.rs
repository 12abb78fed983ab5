//! What is measured of a level: one value that says it to the ledger, to the explanation and to the
//! noise.

use super::consistency::{ChainMeasurement, NoisyRow, Quantity};
use crate::coco::{
    Coco, Estimate, Estimator, HistogramMeasurement, MeasuredNumbers, NodeMeasurement, Profile,
};
use crate::noise::{RandomWords, ScaleError};
use serde_json::{Value, json};

/// What is measured of the regions of one level, which owns the sensitivity and the noise of that.
///
/// The entities of one unit can lie in several regions of a level. The noise of each region is
/// that of all of them together, so that the level's regions, taken as one vector, have the
/// sensitivity that the noise is calibrated to.
#[derive(Debug, Clone, PartialEq)]
pub enum LevelMeasurement {
    /// Each region by itself.
    Regions(RegionMeasurement),
    /// Running totals over all regions.
    Chain(ChainMeasurement),
}

/// What is measured of each region of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionMeasurement {
    of_histogram: HistogramMeasurement,
    quantity: RegionQuantity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RegionQuantity {
    Estimate,
    Counts,
    CumulativeCounts,
}

/// What was released of a region, before consistency.
#[derive(Debug, Clone)]
pub(super) enum Measured {
    Estimate(Estimate),
    Row(NoisyRow),
}

impl LevelMeasurement {
    /// `epsilon`: what the measurement of all regions together is calibrated to.
    ///
    /// Errors: it leads to a scale that cannot be sampled.
    pub(super) fn new(
        quantity: Quantity,
        estimator: Estimator,
        max_size: u64,
        rows_per_unit: u32,
        epsilon: f64,
    ) -> Result<LevelMeasurement, ScaleError> {
        let quantity = match quantity {
            Quantity::Estimates => RegionQuantity::Estimate,
            Quantity::Counts => RegionQuantity::Counts,
            Quantity::CumulativeCounts => RegionQuantity::CumulativeCounts,
            Quantity::RunningTotals => {
                let chain = ChainMeasurement::new(estimator, max_size, rows_per_unit, epsilon)?;
                return Ok(LevelMeasurement::Chain(chain));
            }
        };
        let of_histogram = HistogramMeasurement::new(estimator, max_size, rows_per_unit, epsilon)?;
        Ok(LevelMeasurement::Regions(RegionMeasurement { of_histogram, quantity }))
    }

    pub fn estimator(&self) -> Estimator {
        match self {
            LevelMeasurement::Regions(regions) => regions.of_histogram.estimator(),
            LevelMeasurement::Chain(chain) => chain.estimator(),
        }
    }

    pub fn epsilon(&self) -> f64 {
        match self {
            LevelMeasurement::Regions(regions) => regions.of_histogram.noise().epsilon(),
            LevelMeasurement::Chain(chain) => chain.epsilon(),
        }
    }

    /// Errors: with so many regions the scale of the noise cannot be sampled.
    pub(super) fn check_regions(&self, regions: usize) -> Result<(), ScaleError> {
        match self {
            LevelMeasurement::Regions(_) => Ok(()),
            LevelMeasurement::Chain(chain) => chain.noise(regions.max(1)).map(drop),
        }
    }

    /// For the ledger's readers.
    pub fn describe(&self) -> Value {
        let sensitivity = match self {
            LevelMeasurement::Regions(regions) => json!(regions.of_histogram.noise().sensitivity()),
            LevelMeasurement::Chain(chain) => json!(chain.sensitivity_text()),
        };
        json!({
            "estimator": self.estimator().to_string(),
            "sensitivity": sensitivity,
            "epsilon": self.epsilon(),
        })
    }

    /// What else the ledger's readers should know.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            LevelMeasurement::Regions(_) => None,
            LevelMeasurement::Chain(_) => Some(ChainMeasurement::NOTE),
        }
    }

    /// Each region's own measurement, if it has one.
    pub fn of_regions(&self) -> Option<&RegionMeasurement> {
        match self {
            LevelMeasurement::Regions(regions) => Some(regions),
            LevelMeasurement::Chain(_) => None,
        }
    }

    /// Whether regions are measured otherwise where estimates of the level above are known.
    pub(super) fn follows(&self) -> bool {
        self.of_regions().is_some_and(|regions| {
            regions.quantity == RegionQuantity::Estimate && regions.of_histogram.follows()
        })
    }
}

impl RegionMeasurement {
    /// What an estimate is made of; its sensitivity and noise are those of the region's in any
    /// case.
    pub fn of_histogram(&self) -> &HistogramMeasurement {
        &self.of_histogram
    }

    /// About how long it takes, in draws, from what is public. `below`: a released region.
    pub(super) fn work(&self, groups: u64, below: bool) -> u64 {
        self.of_histogram.work(groups, below)
    }

    /// `parent`: the profile of the region that this one lies in, if it follows that.
    pub(super) fn release<R: RandomWords + ?Sized>(
        &self,
        truth: &Coco,
        parent: Option<&Profile>,
        words: &mut R,
    ) -> Measured {
        let of_region = self.of_region(truth, parent);
        self.measured(&of_region, truth, of_region.noisy(words))
    }

    /// As [`RegionMeasurement::release`], with the noisy numbers that were used.
    pub(super) fn release_with_numbers<R: RandomWords + ?Sized>(
        &self,
        truth: &Coco,
        parent: Option<&Profile>,
        words: &mut R,
    ) -> (Measured, Vec<MeasuredNumbers>) {
        let of_region = self.of_region(truth, parent);
        let mut numbers = Vec::new();
        let measured = self.measured(&of_region, truth, of_region.noted(words, &mut numbers));
        (measured, of_region.told_apart(numbers))
    }

    /// A region of so many groups, by numbers that were measured before, if a region with that profile
    /// tells what to expect of it.
    pub(super) fn again(
        &self,
        groups: u64,
        numbers: &[MeasuredNumbers],
        below: &Profile,
    ) -> Option<Estimate> {
        self.of_histogram.of_groups(groups).again(numbers, below)
    }

    fn of_region<'a>(&self, truth: &Coco, parent: Option<&'a Profile>) -> NodeMeasurement<'a> {
        let of_region = self.of_histogram.of_groups(truth.groups());
        match parent {
            Some(parent) => of_region.below(parent),
            None => of_region,
        }
    }

    fn measured(
        &self,
        of_region: &NodeMeasurement,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Measured {
        match self.quantity {
            RegionQuantity::Estimate => Measured::Estimate(of_region.estimate(truth, add_noise)),
            RegionQuantity::Counts => Measured::Row(NoisyRow {
                values: of_region.noisy_counts(truth, add_noise),
                variance: self.of_histogram.variance_of_counts(),
            }),
            RegionQuantity::CumulativeCounts => Measured::Row(NoisyRow {
                values: of_region.noisy_cumulative_counts(truth, add_noise),
                variance: self.of_histogram.noise().variance(),
            }),
        }
    }
}
