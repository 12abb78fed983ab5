//! The methods, one file or folder each, and the table of them.

mod binary_tree;
pub(super) mod cascade;
pub(super) mod causal_tree;
pub(super) mod descriptor;
mod flat;
mod levels;
pub(super) mod minimax;
pub(super) mod optimal;
pub(super) mod prefix;
mod quad;
pub(super) mod tree;
pub(super) mod tree_consistent;
pub(super) mod wavelet;

use super::method::RangeMethod;
use descriptor::{Descriptor, Noises};

impl RangeMethod {
    /// What the method is: the table of all methods.
    pub(super) fn descriptor(self) -> &'static dyn Descriptor {
        match self {
            RangeMethod::Flat => &flat::FLAT,
            RangeMethod::Tree => &tree::TreeMethod,
            RangeMethod::TreeConsistent => &tree_consistent::method::ConsistentTreeMethod,
            RangeMethod::Quad => &quad::QuadMethod,
            RangeMethod::Wavelet => &wavelet::WaveletMethod,
            RangeMethod::Gaussian => &flat::GAUSSIAN,
            RangeMethod::BinaryTree => &binary_tree::BinaryTreeMethod,
            RangeMethod::Cascade => &cascade::method::CascadeMethod,
            RangeMethod::Prefix => &prefix::PrefixMethod,
            RangeMethod::Optimal => &optimal::method::OptimalMethod,
            RangeMethod::Minimax => &minimax::method::MinimaxMethod,
        }
    }

    pub fn parse(word: &str) -> Option<RangeMethod> {
        RangeMethod::ALL.iter().copied().find(|method| method.word() == word)
    }

    pub fn word(self) -> &'static str {
        self.descriptor().word()
    }

    /// Whether the caller can fix the levels' budgets.
    pub fn has_budgets(self) -> bool {
        self.descriptor().options().budgets
    }

    /// Whether the caller can fix the branching factor.
    pub fn has_branching(self) -> bool {
        self.descriptor().options().branching.is_some()
    }

    /// Whether the caller can say which ranges it is made for.
    pub fn has_target(self) -> bool {
        self.descriptor().options().target
    }

    /// Whether the method has a form that satisfies epsilon-differential privacy.
    pub fn is_pure(self) -> bool {
        matches!(self.descriptor().noises(), Noises::Laplace | Noises::Either)
    }

    /// Whether the method has a form with Gaussian noise, which spends a delta.
    pub fn is_gaussian(self) -> bool {
        matches!(self.descriptor().noises(), Noises::Gaussian | Noises::Either)
    }

    /// Whether answers to adjacent ranges add up to that of both.
    pub fn adds_up(self) -> bool {
        self.descriptor().adds_up()
    }

    /// Whether the method has a form in two dimensions.
    pub fn is_for_grids(self) -> bool {
        self.descriptor().on_grid().is_some()
    }
}
