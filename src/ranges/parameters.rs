//! What determines a range mechanism; stored with every release.

use crate::noise::ScaleError;
use crate::ranges::mechanism::{RangeMechanism, Workload};
use crate::ranges::method::{RangeMethod, Target};
use crate::ranges::methods::cascade::line::Cascade;
use crate::ranges::methods::cascade::tree::{MAX_FAN_OUT, Tree, TreeError};
use crate::ranges::methods::optimal::dense::{
    DenseStrategy, GramError, MAX_DENSE_BINS, gram_of_ranges,
};
use crate::ranges::methods::optimal::sine::SineStrategy;
use crate::ranges::methods::prefix::PrefixFactorisation;
use crate::ranges::methods::tree::RawTree;
use crate::ranges::methods::tree_consistent::line::ConsistentTree;
use crate::ranges::methods::wavelet::Wavelet;
use crate::ranges::noise::{Noise, NoiseParameter};
use crate::ranges::trees::shape::TreeShape;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the noise follows from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Calibration {
    /// Of each group of measurements, in their order.
    PerGroup(Vec<NoiseParameter>),
    /// All measurements together have this zero-concentrated loss for one row.
    Together { rho: f64 },
}

/// A method with everything settled: from it the mechanism is built, before a release and whenever
/// one is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeParameters {
    pub(super) method: RangeMethod,
    pub(super) bins: u32,
    /// of the tree; the number of bins for a single level
    pub(super) branching: u32,
    pub(super) calibration: Calibration,
    /// of the optimal strategy
    pub(super) target: Option<Target>,
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
        match self.method {
            RangeMethod::Flat
            | RangeMethod::Gaussian
            | RangeMethod::Prefix
            | RangeMethod::Optimal => None,
            RangeMethod::Tree
            | RangeMethod::TreeConsistent
            | RangeMethod::Quad
            | RangeMethod::Wavelet
            | RangeMethod::BinaryTree
            | RangeMethod::Cascade => Some(self.branching),
        }
    }

    /// Whether there is a mechanism of these numbers of bins, branches and groups.
    pub(super) fn fit_together(&self) -> bool {
        let groups = match &self.calibration {
            Calibration::PerGroup(noise) => Some(noise.len()),
            Calibration::Together { rho } if rho.is_finite() && *rho > 0.0 => None,
            Calibration::Together { .. } => return false,
        };
        if !(1..=self.method.most_bins()).contains(&self.bins()) || self.branching < 2 {
            return false;
        }
        match self.method {
            RangeMethod::Wavelet => groups == Some(Wavelet::groups_over(self.bins())),
            RangeMethod::Cascade => groups.is_none() && self.branching <= MAX_FAN_OUT,
            RangeMethod::Prefix => groups.is_none(),
            RangeMethod::Optimal => {
                groups.is_none()
                    && self.target.as_ref().is_some_and(|target| match target {
                        Target::Workload(_) => true,
                        Target::Ranges(ranges) => {
                            ranges.iter().all(|range| range.end <= self.bins())
                        }
                    })
            }
            _ => groups == Some(self.shape().height()),
        }
    }

    /// Whether the mechanism takes long to set up; such a one answers by differences of prefix sums.
    pub(super) fn takes_work(&self) -> bool {
        matches!(self.calibration, Calibration::Together { .. })
    }

    /// The length of what the mechanism's [`RangeMechanism::reconstruct`] gives.
    pub(super) fn reconstruction_length(&self) -> usize {
        let measured = match self.method {
            RangeMethod::Tree | RangeMethod::BinaryTree => {
                let shape = self.shape();
                (0..shape.height()).map(|level| shape.nodes(level)).sum()
            }
            _ => self.bins(),
        };
        measured + 1
    }

    fn shape(&self) -> TreeShape {
        TreeShape::new(self.bins(), self.branching as usize)
    }

    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the parameters do not fit together.
    pub(super) fn mechanism(&self) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        match &self.calibration {
            Calibration::PerGroup(noise) => {
                let noise = noise.iter().map(|parameter| Noise::new(*parameter));
                let noise = noise.collect::<Result<Vec<Noise>, ScaleError>>()?;
                Ok(match self.method {
                    RangeMethod::Tree | RangeMethod::BinaryTree => {
                        Box::new(RawTree::new(self.shape(), noise))
                    }
                    RangeMethod::Wavelet => Box::new(Wavelet::new(self.bins(), noise)),
                    _ => Box::new(ConsistentTree::new(self.shape(), noise)),
                })
            }
            &Calibration::Together { rho } => Ok(match self.method {
                RangeMethod::Cascade => Box::new(Cascade::new(self.balanced_tree(), rho)?),
                RangeMethod::Prefix => Box::new(PrefixFactorisation::new(self.bins(), rho)?),
                _ => self.optimal(rho)?,
            }),
        }
    }

    fn balanced_tree(&self) -> Tree {
        let tree: Result<Tree, TreeError> = Tree::balanced(self.bins(), self.branching);
        tree.expect("bins and branching that fit together")
    }

    /// The strategy for the target: its own up to [`MAX_DENSE_BINS`], where it has no closed form
    /// beyond, the one for all ranges.
    fn optimal(&self, rho: f64) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        let bins = self.bins();
        match &self.target {
            Some(Target::Workload(workload @ (Workload::All | Workload::Prefix))) => {
                Ok(Box::new(SineStrategy::new(*workload, bins, rho)?))
            }
            Some(target) if bins <= MAX_DENSE_BINS => {
                let gram = gram_of_ranges(bins, target.ranges(bins));
                match DenseStrategy::new(bins, &gram, rho) {
                    Ok(strategy) => Ok(Box::new(strategy)),
                    Err(GramError::Noise(error)) => Err(error),
                    // nothing is asked for
                    Err(_) => Ok(Box::new(SineStrategy::new(Workload::All, bins, rho)?)),
                }
            }
            _ => Ok(Box::new(SineStrategy::new(Workload::All, bins, rho)?)),
        }
    }

    /// For the ledger's readers.
    pub fn describe(&self) -> serde_json::Value {
        let noise = |parameter: &NoiseParameter| match *parameter {
            NoiseParameter::Laplace { sensitivity, epsilon } => {
                json!({"noise": "discrete Laplace", "sensitivity": sensitivity, "epsilon": epsilon})
            }
            NoiseParameter::Gaussian { sigma } => {
                json!({"noise": "discrete Gaussian", "sigma": sigma})
            }
        };
        let noise = match &self.calibration {
            Calibration::PerGroup(groups) => groups.iter().map(noise).collect(),
            Calibration::Together { rho } => json!({"noise": "discrete Gaussian", "rho": rho}),
        };
        json!({
            "method": self.method.word(),
            "bins": self.bins,
            "branching": self.branching(),
            "measurements": noise,
            "made_for": self.target.as_ref().map(Target::to_string),
        })
    }
}
