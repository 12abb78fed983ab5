//! What determines a mechanism, over a line of bins or a grid of cells.

use super::calibration::Calibration;
use super::measurements::CountMechanism;
use super::mechanism::RangeMechanism;
use super::method::RangeMethod;
use super::methods::descriptor::{GridDescriptor, GridSettings, Settings};
use super::plane::grid::CellGrid;
use super::plane::mechanism::PlaneMechanism;
use super::workload::TargetRanges;
use crate::noise::ScaleError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A method with everything settled, from which its mechanism is built.
pub trait Parameters {
    type Mechanism: CountMechanism + ?Sized;

    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the parameters do not fit together.
    fn mechanism(&self) -> Result<Box<Self::Mechanism>, ScaleError>;

    /// For the ledger's readers.
    fn describe(&self) -> Value;

    /// The same, with what only the mechanism tells, which is built of them.
    fn describe_with(&self, _mechanism: &Self::Mechanism) -> Value {
        self.describe()
    }
}

/// A method for range sums with everything settled: from it the mechanism is built, before a
/// release and whenever one is read, as it is stored with every release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeParameters {
    pub(super) method: RangeMethod,
    pub(super) bins: u32,
    /// of the tree; the number of bins for a single level
    pub(super) branching: u32,
    pub(super) calibration: Calibration,
    /// of a method that is made for one
    pub(super) target: Option<TargetRanges>,
}

impl RangeParameters {
    pub fn method(&self) -> RangeMethod {
        self.method
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.bins as usize
    }

    /// The branching factor; None for a method without a tree.
    pub fn branching(&self) -> Option<u32> {
        self.method.descriptor().has_tree().then_some(self.branching)
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            bins: self.bins(),
            branching: self.branching,
            calibration: &self.calibration,
            target: self.target.as_ref(),
        }
    }

    /// Whether there is a mechanism of these numbers of bins, branches and groups.
    pub(super) fn fit_together(&self) -> bool {
        let method = self.method.descriptor();
        (1..=method.most_bins()).contains(&self.bins())
            && self.branching >= 2
            && method.fits(self.settings())
    }

    /// Whether the mechanism takes long to set up; such a one answers by differences of prefix
    /// sums.
    pub(super) fn takes_work(&self) -> bool {
        self.method.descriptor().takes_work()
    }

    /// The length of what the mechanism's [`RangeMechanism::reconstruct`] gives.
    pub(super) fn reconstruction_length(&self) -> usize {
        self.method.descriptor().reconstruction_length(self.settings())
    }
}

impl Parameters for RangeParameters {
    type Mechanism = dyn RangeMechanism;

    fn mechanism(&self) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        self.method.descriptor().mechanism(self.settings())
    }

    fn describe(&self) -> Value {
        json!({
            "method": self.method.word(),
            "bins": self.bins,
            "branching": self.branching(),
            "measurements": self.calibration.describe(),
            "made_for": self.target.as_ref().map(TargetRanges::to_string),
        })
    }
}

/// A method for sums over rectangles with everything settled; stored as those for ranges are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaneParameters {
    pub(super) method: RangeMethod,
    pub(super) grid: CellGrid,
    /// of the trees, in either direction
    pub(super) branching: u32,
    pub(super) calibration: Calibration,
}

impl PlaneParameters {
    pub fn method(&self) -> RangeMethod {
        self.method
    }

    pub fn grid(&self) -> CellGrid {
        self.grid
    }

    /// Of the trees, in either direction; None for a method without one.
    pub fn branching(&self) -> Option<u32> {
        self.method.descriptor().has_tree().then_some(self.branching)
    }

    fn settings(&self) -> GridSettings<'_> {
        GridSettings { grid: self.grid, branching: self.branching, calibration: &self.calibration }
    }

    /// Whether there is a mechanism of these numbers of cells, branches and groups.
    pub(super) fn fit_together(&self) -> bool {
        let grid = CellGrid::new(self.grid.rows(), self.grid.columns());
        let method = self.method.descriptor().on_grid();
        grid.zip(method).is_some_and(|(grid, method)| {
            grid.longer_side() <= method.longest_side()
                && self.branching >= 2
                && method.fits(self.settings())
        })
    }
}

/// # Panics
/// If the method has no form in two dimensions.
pub(super) fn on_grid(method: RangeMethod) -> &'static dyn GridDescriptor {
    method.descriptor().on_grid().expect("a method for two dimensions")
}

impl Parameters for PlaneParameters {
    type Mechanism = dyn PlaneMechanism;

    fn mechanism(&self) -> Result<Box<dyn PlaneMechanism>, ScaleError> {
        on_grid(self.method).mechanism(self.settings())
    }

    fn describe(&self) -> Value {
        json!({
            "method": self.method.word(),
            "rows": self.grid.rows(),
            "columns": self.grid.columns(),
            "branching": self.branching(),
            "measurements": self.calibration.describe(),
        })
    }
}
