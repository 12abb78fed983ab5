//! The method `minimax`.

use super::strategy::WeightedRoot;
use crate::noise::ScaleError;
use crate::ranges::limits::MAX_WEIGHTED_BINS;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::methods::descriptor::{Descriptor, Noises, Options, Settings, Settled};
use crate::ranges::spending::Spending;
use crate::ranges::workload::{TargetRanges, Workload};

pub(in crate::ranges) struct MinimaxMethod;

impl Descriptor for MinimaxMethod {
    fn word(&self) -> &'static str {
        "minimax"
    }

    fn noises(&self) -> Noises {
        Noises::Gaussian
    }

    fn options(&self) -> Options {
        Options { target: true, ..Options::NONE }
    }

    fn most_bins(&self) -> usize {
        MAX_WEIGHTED_BINS
    }

    fn is_for_means(&self) -> bool {
        false
    }

    /// Made for prefixes, or else for all ranges: whatever is asked is among these.
    fn settle(
        &self,
        _bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let workload = match choice.target {
            TargetRanges::Workload(Workload::Prefix) => Workload::Prefix,
            _ => Workload::All,
        };
        let target = Some(TargetRanges::Workload(workload));
        Ok(Settled { branching: 2, target, noise: spending.on_all_together() })
    }

    fn fits(&self, settings: Settings) -> bool {
        settings.calibration.is_together()
            && matches!(settings.target, Some(TargetRanges::Workload(_)))
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        let workload = match settings.target {
            Some(TargetRanges::Workload(workload)) => *workload,
            _ => Workload::All,
        };
        Ok(Box::new(WeightedRoot::new(workload, settings.bins, settings.calibration)?))
    }

    fn takes_work(&self) -> bool {
        true
    }
}
