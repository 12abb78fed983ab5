//! What a method says of itself.

use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::limits::MAX_BINS;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::MethodChoice;
use crate::ranges::plane::grid::CellGrid;
use crate::ranges::plane::mechanism::PlaneMechanism;
use crate::ranges::spending::{Priced, Spending};
use crate::ranges::workload::TargetRanges;

/// The kinds of noise that a method has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ranges) enum Noises {
    /// Discrete Laplace: epsilon-differential privacy.
    Laplace,
    /// Discrete Gaussian, which spends a delta.
    Gaussian,
    Either,
}

/// What a user can fix.
#[derive(Debug, Clone, Copy)]
pub(in crate::ranges) struct Options {
    /// The largest branching factor; None if there is nothing to fix.
    pub branching: Option<u32>,
    /// How levels share the budget.
    pub budgets: bool,
    /// The ranges that the method is made for.
    pub target: bool,
}

impl Options {
    pub(crate) const NONE: Options = Options { branching: None, budgets: false, target: false };
}

/// What a plan settles.
#[derive(Debug)]
pub(in crate::ranges) struct Settled {
    /// Of the tree, or some number from 2 on.
    pub branching: u32,
    /// The ranges that it is made for, of a method with that option.
    pub target: Option<TargetRanges>,
    pub noise: Priced,
}

/// All that determines a mechanism of the method over a line of bins.
#[derive(Debug, Clone, Copy)]
pub(in crate::ranges) struct Settings<'a> {
    pub bins: usize,
    pub branching: u32,
    pub calibration: &'a Calibration,
    pub target: Option<&'a TargetRanges>,
}

/// All that determines a mechanism of the method over a grid of cells.
#[derive(Debug, Clone, Copy)]
pub(in crate::ranges) struct GridSettings<'a> {
    pub grid: CellGrid,
    pub branching: u32,
    pub calibration: &'a Calibration,
}

/// A method for range sums: what it is called, what it has, how it is planned and built.
pub(in crate::ranges) trait Descriptor: Sync {
    /// By which a user asks for it.
    fn word(&self) -> &'static str;

    fn noises(&self) -> Noises;

    fn options(&self) -> Options {
        Options::NONE
    }

    fn most_bins(&self) -> usize {
        MAX_BINS
    }

    /// Whether its branching factor is worth mentioning.
    fn has_tree(&self) -> bool {
        self.options().branching.is_some()
    }

    /// Whether it is for who asks for a small mean variance, and among what "auto" chooses from.
    fn is_for_means(&self) -> bool {
        true
    }

    /// Whether answers to adjacent ranges add up to that of both.
    fn adds_up(&self) -> bool {
        true
    }

    /// `bins`: from 1 to the most. Of the choice, which has no option that the method does not
    /// have, the branching factor is within its limits; the spending is on a noise that it has.
    ///
    /// Errors: a noise that cannot be sampled.
    fn settle(
        &self,
        bins: u32,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Settled, ScaleError>;

    /// Whether there is a mechanism of such settings, of which the bins are from 1 to the most and
    /// the branching is at least 2. Takes no time, whatever they are.
    fn fits(&self, settings: Settings) -> bool;

    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the settings do not fit.
    fn mechanism(&self, settings: Settings) -> Result<Box<dyn RangeMechanism>, ScaleError>;

    /// The length of what the mechanism's [`RangeMechanism::reconstruct`] gives.
    fn reconstruction_length(&self, settings: Settings) -> usize {
        settings.bins + 1
    }

    /// Whether the mechanism takes long to set up; such a one answers by differences of prefix
    /// sums.
    fn takes_work(&self) -> bool {
        false
    }

    /// What it is in two dimensions, if it is anything there.
    fn on_grid(&self) -> Option<&dyn GridDescriptor> {
        None
    }
}

/// A method for sums over rectangles of a grid.
pub(in crate::ranges) trait GridDescriptor {
    /// The largest branching factor; None if there is nothing to fix.
    fn most_branching(&self) -> Option<u32>;

    /// The most rows or columns of cells.
    fn longest_side(&self) -> usize {
        MAX_BINS
    }

    /// `branching`: None for the method's own; within its limits. The spending is on a noise that
    /// the method has.
    ///
    /// Errors: a noise that cannot be sampled.
    fn settle(
        &self,
        grid: CellGrid,
        branching: Option<u32>,
        spending: Spending,
    ) -> Result<Settled, ScaleError>;

    /// Whether there is a mechanism of such settings, of which no side is longer than the longest
    /// and the branching is at least 2. Takes no time, whatever they are.
    fn fits(&self, settings: GridSettings) -> bool;

    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the settings do not fit.
    fn mechanism(&self, settings: GridSettings) -> Result<Box<dyn PlaneMechanism>, ScaleError>;
}
