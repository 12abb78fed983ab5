//! The nodes of a binary tree with discrete Gaussian noise.

use super::descriptor::{Descriptor, Noises, Settings, Settled};
use super::levels;
use super::tree::{self, RawTree};
use crate::noise::ScaleError;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::spending::Spending;
use crate::ranges::trees::budgets::LevelBudgets;

pub(super) struct BinaryTreeMethod;

impl Descriptor for BinaryTreeMethod {
    fn word(&self) -> &'static str {
        "binary_tree"
    }

    fn noises(&self) -> Noises {
        Noises::Gaussian
    }

    fn has_tree(&self) -> bool {
        true
    }

    fn adds_up(&self) -> bool {
        false
    }

    fn settle(
        &self,
        bins: u32,
        _choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError> {
        levels::settle(bins, Some(2), LevelBudgets::Equal, spending, tree::mean_over_all)
    }

    fn fits(&self, settings: Settings) -> bool {
        levels::fits(settings)
    }

    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        Ok(Box::new(RawTree::new(levels::shape(settings), settings.calibration)?))
    }

    fn reconstruction_length(&self, settings: Settings) -> usize {
        levels::shape(settings).measured_nodes() + 1
    }
}
