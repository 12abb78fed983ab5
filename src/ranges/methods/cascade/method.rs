//! The method `cascade`.

use super::grid::{MAX_GRID_FAN_OUT, PlaneCascade};
use super::line::Cascade;
use super::tree::{MAX_FAN_OUT, TreeOverBins};
use crate::noise::ScaleError;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::methods::descriptor::{
    Descriptor, GridDescriptor, GridSettings, Noises, Options, Settings, Settled,
};
use crate::ranges::plane::grid::CellGrid;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::spending::Spending;

pub(in crate::ranges) struct CascadeMethod;

fn settled(branching: Option<u32>, spending: Spending) -> Settled {
    let branching = branching.unwrap_or(2);
    Settled { branching, target: None, noise: spending.on_all_together() }
}

impl Descriptor for CascadeMethod {
    fn word(&self) -> &'static str {
        "cascade"
    }

    fn noises(&self) -> Noises {
        Noises::Gaussian
    }

    fn options(&self) -> Options {
        Options { branching: Some(MAX_FAN_OUT), ..Options::NONE }
    }

    fn settle(
        &self,
        _bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        Ok(settled(choice.branching, spending))
    }

    fn fits(&self, settings: Settings) -> bool {
        settings.calibration.is_together() && settings.branching <= MAX_FAN_OUT
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        let tree = TreeOverBins::balanced(settings.bins, settings.branching);
        let tree = tree.expect("bins and branching that fit together");
        Ok(Box::new(Cascade::new(tree, settings.calibration)?))
    }

    fn takes_work(&self) -> bool {
        true
    }

    fn on_grid(&self) -> Option<&dyn GridDescriptor> {
        Some(self)
    }
}

impl GridDescriptor for CascadeMethod {
    fn most_branching(&self) -> Option<u32> {
        Some(MAX_GRID_FAN_OUT)
    }

    fn settle(
        &self,
        _grid: CellGrid,
        branching: Option<u32>,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        Ok(settled(branching, spending))
    }

    fn fits(&self, settings: GridSettings) -> bool {
        settings.calibration.is_together() && settings.branching <= MAX_GRID_FAN_OUT
    }

    fn mechanism(&self, settings: GridSettings) -> Result<Box<dyn PlaneMechanism>, ScaleError> {
        let GridSettings { grid, branching, calibration } = settings;
        Ok(Box::new(PlaneCascade::new(grid, branching, calibration)?))
    }
}
