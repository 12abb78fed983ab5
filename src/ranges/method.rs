//! The methods by name, and what a user chooses among them.

use super::trees::budgets::LevelBudgets;
use super::workload::TargetRanges;
use serde::{Deserialize, Serialize};

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $method:ident,)*) => {
        /// How a histogram is measured for range sums. What a method is stands in its own file, see
        /// [`RangeMethod::descriptor`].
        //
        // Stored in releases by their position: a new one goes to the end.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum RangeMethod {
            $($(#[doc = $doc])* $method,)*
        }

        impl RangeMethod {
            pub const ALL: &[RangeMethod] = &[$(RangeMethod::$method,)*];
        }
    };
}

methods! {
    /// Every bin with discrete Laplace noise.
    Flat,
    /// The nodes of a b-ary tree; a range is the sum of the fewest nodes (H_b).
    Tree,
    /// The nodes of a b-ary tree made consistent by least squares (H_b^c); with discrete Gaussian
    /// noise where there is a delta and it is better.
    TreeConsistent,
    /// A consistent binary tree with geometric budgets (the quadtree of Cormode et al. 2012 in one
    /// dimension).
    Quad,
    /// Haar coefficients (Privelet); with discrete Gaussian noise where there is a delta and it is
    /// better.
    Wavelet,
    /// Every bin with discrete Gaussian noise.
    Gaussian,
    /// The nodes of a binary tree with discrete Gaussian noise; a range is the sum of the fewest.
    BinaryTree,
    /// Noise of equal variance on every node of a tree, whose children add up to it (correlated
    /// input perturbation).
    Cascade,
    /// The square root of the matrix of all prefixes.
    Prefix,
    /// The matrix mechanism with a strategy close to the best for its target.
    Optimal,
    /// The square root of the matrix of all prefixes, its rows weighted for the least largest
    /// variance over its target.
    Minimax,
}

/// What a user asks for, in words: `auto[:<workload>]`, `optimal[:<workload>]`,
/// `minimax[:<workload>]`, `<tree>[:<branching>][:<budgets>]`, or a method, such as
/// "tree_consistent:16:optimised".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodChoice {
    /// None: the one with the least mean variance over the target.
    pub method: Option<RangeMethod>,
    /// None: the method's own; of trees, the one with the least mean variance over all ranges.
    pub branching: Option<u32>,
    pub budgets: LevelBudgets,
    /// What "auto" chooses for and a method with that option is made for.
    pub target: TargetRanges,
}

impl MethodChoice {
    pub fn auto(target: TargetRanges) -> MethodChoice {
        MethodChoice { method: None, branching: None, budgets: LevelBudgets::Equal, target }
    }

    /// Its own choice of a branching factor, equal budgets, made for all ranges.
    pub fn of(method: RangeMethod) -> MethodChoice {
        MethodChoice { method: Some(method), ..MethodChoice::auto(TargetRanges::ALL) }
    }
}
