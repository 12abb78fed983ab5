//! A consistent binary tree with geometric budgets.

use super::descriptor::{Descriptor, Noises, Settings, Settled};
use super::levels;
use super::tree_consistent::line::{self, ConsistentTree};
use crate::noise::ScaleError;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::spending::Spending;
use crate::ranges::trees::budgets::LevelBudgets;

pub(super) struct QuadMethod;

impl Descriptor for QuadMethod {
    fn word(&self) -> &'static str {
        "quad"
    }

    fn noises(&self) -> Noises {
        Noises::Laplace
    }

    fn has_tree(&self) -> bool {
        true
    }

    fn settle(
        &self,
        bins: u32,
        _choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        levels::settle(bins, Some(2), LevelBudgets::Geometric, spending, line::mean_over_all)
    }

    fn fits(&self, settings: Settings) -> bool {
        levels::fits(settings)
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(ConsistentTree::new(levels::shape(settings), settings.calibration)?))
    }
}
