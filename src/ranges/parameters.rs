//! What determines a range mechanism; stored with every release.

use super::MAX_BINS;
use super::consistent::ConsistentTree;
use super::mechanism::RangeMechanism;
use super::method::RangeMethod;
use super::noise::{Noise, NoiseParameter};
use super::shape::TreeShape;
use super::tree::RawTree;
use super::wavelet::Wavelet;
use crate::noise::ScaleError;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A method with everything settled: from it the mechanism is built, before a release and whenever
/// one is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeParameters {
    pub(super) method: RangeMethod,
    pub(super) bins: u32,
    /// of the tree; the number of bins for a single level
    pub(super) branching: u32,
    /// of the groups of measurements, in their order
    pub(super) noise: Vec<NoiseParameter>,
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
            RangeMethod::Flat | RangeMethod::Gaussian => None,
            RangeMethod::Tree
            | RangeMethod::TreeConsistent
            | RangeMethod::Quad
            | RangeMethod::Wavelet
            | RangeMethod::BinaryTree => Some(self.branching),
        }
    }

    /// Of each group of measurements.
    pub fn noise(&self) -> &[NoiseParameter] {
        &self.noise
    }

    /// Whether a mechanism can have these numbers of bins, branches and groups.
    pub(super) fn fit_together(&self) -> bool {
        (1..=MAX_BINS).contains(&self.bins()) && self.branching >= 2 && {
            let groups = match self.method {
                RangeMethod::Wavelet => Wavelet::groups_over(self.bins()),
                _ => self.shape().height(),
            };
            self.noise.len() == groups
        }
    }

    fn shape(&self) -> TreeShape {
        TreeShape::new(self.bins(), self.branching as usize)
    }

    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the parameters do not fit together.
    pub(super) fn mechanism(&self) -> Result<Box<dyn RangeMechanism>, ScaleError> {
        let noise = self.noise.iter().map(|parameter| Noise::new(*parameter));
        let noise = noise.collect::<Result<Vec<Noise>, ScaleError>>()?;
        Ok(match self.method {
            RangeMethod::Tree | RangeMethod::BinaryTree => {
                Box::new(RawTree::new(self.shape(), noise))
            }
            RangeMethod::Flat
            | RangeMethod::Gaussian
            | RangeMethod::TreeConsistent
            | RangeMethod::Quad => Box::new(ConsistentTree::new(self.shape(), noise)),
            RangeMethod::Wavelet => Box::new(Wavelet::new(self.bins(), noise)),
        })
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
        json!({
            "method": self.method.word(),
            "bins": self.bins,
            "branching": self.branching(),
            "measurements": self.noise.iter().map(noise).collect::<Vec<_>>(),
        })
    }
}
