//! The method `optimal`.

use super::axis::MAX_AXIS_BINS;
use super::dense::DenseStrategy;
use super::gram::{GramError, MAX_DENSE_BINS, gram_of_ranges};
use super::grid::PlaneOptimal;
use super::sine::SineStrategy;
use crate::noise::ScaleError;
use crate::ranges::limits::MAX_CONVOLUTION_BINS;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::methods::descriptor::{
    Descriptor, GridDescriptor, GridSettings, Noises, Options, Settings, Settled,
};
use crate::ranges::plane::grid::CellGrid;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::spending::Spending;
use crate::ranges::workload::{TargetRanges, Workload};

pub(in crate::ranges) struct OptimalMethod;

impl Descriptor for OptimalMethod {
    fn word(&self) -> &'static str {
        "optimal"
    }

    fn noises(&self) -> Noises {
        Noises::Gaussian
    }

    fn options(&self) -> Options {
        Options { target: true, ..Options::NONE }
    }

    fn most_bins(&self) -> usize {
        MAX_CONVOLUTION_BINS
    }

    fn settle(
        &self,
        _bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let target = Some(choice.target.clone());
        Ok(Settled { branching: 2, target, noise: spending.on_all_together() })
    }

    fn fits(&self, settings: Settings) -> bool {
        settings.calibration.is_together()
            && settings.target.is_some_and(|target| target.fits(settings.bins))
    }

    /// The strategy for the target: its own up to [`MAX_DENSE_BINS`], where it has no closed form
    /// beyond, the one for all ranges.
    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        let Settings { bins, calibration, target, .. } = settings;
        if let Some(TargetRanges::Workload(workload @ (Workload::All | Workload::Prefix))) = target
        {
            return Ok(Box::new(SineStrategy::new(*workload, bins, calibration)?));
        }
        if let Some(target) = target.filter(|_| bins <= MAX_DENSE_BINS) {
            let gram = gram_of_ranges(bins, target.ranges(bins));
            let strategy = match target {
                TargetRanges::Workload(_) => {
                    DenseStrategy::in_closed_form(bins, &gram, calibration)
                }
                TargetRanges::Ranges(_) => DenseStrategy::new(bins, &gram, calibration),
            };
            match strategy {
                Ok(strategy) => return Ok(Box::new(strategy)),
                Err(GramError::Noise(error)) => return Err(error),
                // nothing is asked for
                Err(_) => {}
            }
        }
        Ok(Box::new(SineStrategy::new(Workload::All, bins, calibration)?))
    }

    fn takes_work(&self) -> bool {
        true
    }

    fn on_grid(&self) -> Option<&dyn GridDescriptor> {
        Some(self)
    }
}

impl GridDescriptor for OptimalMethod {
    fn most_branching(&self) -> Option<u32> {
        None
    }

    fn longest_side(&self) -> usize {
        MAX_AXIS_BINS
    }

    fn settle(
        &self,
        _grid: CellGrid,
        _branching: Option<u32>,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        Ok(Settled { branching: 2, target: None, noise: spending.on_all_together() })
    }

    fn fits(&self, settings: GridSettings) -> bool {
        settings.calibration.is_together()
    }

    fn mechanism(&self, settings: GridSettings) -> Result<Box<dyn PlaneMechanism>, ScaleError> {
        Ok(Box::new(PlaneOptimal::new(settings.grid, settings.calibration)?))
    }
}
