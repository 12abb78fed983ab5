//! Every bin, or every cell of a grid, with noise of its own: a consistent tree of one level.

use super::descriptor::{Descriptor, GridDescriptor, GridSettings, Noises, Settings, Settled};
use super::levels;
use super::tree_consistent::grid::PlaneTree;
use super::tree_consistent::line::{self, ConsistentTree};
use crate::noise::ScaleError;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::plane::grid::CellGrid;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::spending::Spending;
use crate::ranges::trees::budgets::LevelBudgets;

pub(super) struct FlatMethod {
    word: &'static str,
    noises: Noises,
}

pub(super) static FLAT: FlatMethod = FlatMethod { word: "flat", noises: Noises::Laplace };
pub(super) static GAUSSIAN: FlatMethod = FlatMethod { word: "gaussian", noises: Noises::Gaussian };

impl Descriptor for FlatMethod {
    fn word(&self) -> &'static str {
        self.word
    }

    fn noises(&self) -> Noises {
        self.noises
    }

    fn settle(
        &self,
        bins: u32,
        _choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let single = Some(levels::single_level(bins as usize));
        levels::settle(bins, single, LevelBudgets::Equal, spending, line::mean_over_all)
    }

    fn fits(&self, settings: Settings) -> bool {
        levels::fits(settings)
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(ConsistentTree::new(levels::shape(settings), settings.calibration)?))
    }

    fn on_grid(&self) -> Option<&dyn GridDescriptor> {
        Some(self)
    }
}

impl GridDescriptor for FlatMethod {
    fn most_branching(&self) -> Option<u32> {
        None
    }

    fn settle(
        &self,
        grid: CellGrid,
        _branching: Option<u32>,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let branching = levels::single_level(grid.longer_side());
        Ok(Settled { branching, target: None, noise: spending.on_groups(&[1.0])? })
    }

    fn fits(&self, settings: GridSettings) -> bool {
        PlaneTree::fits(settings.grid, settings.branching as usize, settings.calibration)
    }

    fn mechanism(&self, settings: GridSettings) -> Result<Box<dyn PlaneMechanism>, ScaleError> {
        let GridSettings { grid, branching, calibration } = settings;
        Ok(Box::new(PlaneTree::new(grid, branching as usize, calibration)?))
    }
}
