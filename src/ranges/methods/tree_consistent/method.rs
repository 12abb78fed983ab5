//! The method `tree_consistent`.

use super::grid::{self, PlaneTree};
use super::line::{self, ConsistentTree};
use crate::noise::ScaleError;
use crate::ranges::limits::MAX_BINS;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::methods::descriptor::{
    Descriptor, GridDescriptor, GridSettings, Noises, Options, Settings, Settled,
};
use crate::ranges::methods::levels;
use crate::ranges::plane::grid::CellGrid;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::spending::Spending;

pub(in crate::ranges) struct ConsistentTreeMethod;

impl Descriptor for ConsistentTreeMethod {
    fn word(&self) -> &'static str {
        "tree_consistent"
    }

    fn noises(&self) -> Noises {
        Noises::Either
    }

    fn options(&self) -> Options {
        Options { branching: Some(MAX_BINS as u32), budgets: true, ..Options::NONE }
    }

    fn settle(
        &self,
        bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        levels::settle(bins, choice.branching, choice.budgets, spending, line::mean_over_all)
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

impl GridDescriptor for ConsistentTreeMethod {
    fn most_branching(&self) -> Option<u32> {
        Some(MAX_BINS as u32)
    }

    /// With equal budgets.
    fn settle(
        &self,
        grid: CellGrid,
        branching: Option<u32>,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        let with = |branching: u32| {
            let levels = PlaneTree::levels(grid, branching as usize);
            let noise = spending.on_groups(&vec![1.0 / levels as f64; levels])?;
            Ok(Settled { branching, target: None, noise })
        };
        match branching {
            Some(branching) => with(branching),
            None => {
                levels::with_best_branching(levels::single_level(grid.longer_side()), |branching| {
                    let settled = with(branching)?;
                    let variances = levels::variances(&settled.noise)?;
                    Ok((grid::mean_over_all(grid, branching as usize, &variances), settled))
                })
            }
        }
    }

    fn fits(&self, settings: GridSettings) -> bool {
        PlaneTree::fits(settings.grid, settings.branching as usize, settings.calibration)
    }

    fn mechanism(&self, settings: GridSettings) -> Result<Box<dyn PlaneMechanism>, ScaleError> {
        let GridSettings { grid, branching, calibration } = settings;
        Ok(Box::new(PlaneTree::new(grid, branching as usize, calibration)?))
    }
}
