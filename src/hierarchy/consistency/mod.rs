//! Consistency: from what was measured per region to histograms whose children sum to their
//! parents. Every method is a file or a folder here, and a line in each list of [`Consistency`].

mod bottom_up;
mod cells;
mod chain;
mod cumulative;
mod cut_noise;
mod known_regions;
mod matching;
mod method;
mod noisy_counts;
mod none;
mod pgsr;
mod topdown;
mod totals;

pub(super) use cells::MAX_CELLS;
pub use chain::ChainMeasurement;
pub use cumulative::{CumulativeFit, cumulative};
pub use known_regions::{Consistent, Quantity};
pub use matching::{Merge, matched};
pub use noisy_counts::{NoisyCounts, Weights};
pub use pgsr::{pgsr, pgsr_relaxed};
pub use totals::KnownTotals;

pub(super) use cells::{CellWeights, NoisyCells, NoisyRow};
pub(super) use chain::running_totals;
pub(super) use cut_noise::{
    CutNoise, densities, expected_densities, mean_magnitude, parallel, width,
};
pub(super) use known_regions::{Evidence, KnownRegions};
pub(super) use noisy_counts::transposed;

use super::observer::Observer;
use super::tree::Tree;
use crate::coco::Estimator;
use method::ConsistencyMethod;

/// How the regions' histograms are made to agree. Post-processing of what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Top-down: groups matched at least cost, sizes merged by inverse variance (Kuo et al.,
    /// algorithm 1). Where the cut measures every level, least squares up the tree and a matching
    /// down it.
    Matching,
    /// Top-down: groups matched at least cost, sizes merged by plain means, for comparison.
    MatchingUnweighted,
    /// The leaves are all that is measured; every other region is the sum of its children.
    BottomUp,
    /// The consistent numbers of groups of each size nearest to the noisy ones in the L2 norm, as
    /// exact integers (Fioretto, Van Hentenryck, Zhu 2020: with H this is M_H^dp, with Hc_l2
    /// M_c^dp). Of the public totals it keeps the root's alone.
    Pgsr,
    /// Consistent numbers of groups of each size, level by level: each parent's shared among its
    /// children (TopDown in the same paper).
    TopDown,
    /// Consistent cumulative counts, as near to the noisy ones as a solver comes and then rounded
    /// (M_c in the same paper, without its violations). It keeps all public totals.
    Cumulative,
    /// Running totals over all regions of a level, and the consistent ones nearest to them (M_c^ch
    /// in the same paper, with a sensitivity that makes it private: [`ChainMeasurement`]).
    Chain,
    /// Every region keeps its own estimate; they do not add up.
    None,
}

// the last one: a method that is missing from the list does not compile
const _: () = assert!(Consistency::ALL.len() == Consistency::None as usize + 1);

impl Consistency {
    /// All, in the order in which they are named to users.
    pub const ALL: [Consistency; 8] = [
        Consistency::Matching,
        Consistency::MatchingUnweighted,
        Consistency::BottomUp,
        Consistency::Pgsr,
        Consistency::TopDown,
        Consistency::Cumulative,
        Consistency::Chain,
        Consistency::None,
    ];

    /// The name for the estimator that is best with a consistency method.
    pub const AUTO: &'static str = "auto";

    fn method(self) -> &'static dyn ConsistencyMethod {
        match self {
            Consistency::Matching => &matching::Matching,
            Consistency::MatchingUnweighted => &matching::MatchingUnweighted,
            Consistency::BottomUp => &bottom_up::BottomUp,
            Consistency::Pgsr => &pgsr::Pgsr,
            Consistency::TopDown => &topdown::TopDown,
            Consistency::Cumulative => &cumulative::Cumulative,
            Consistency::Chain => &chain::Chain,
            Consistency::None => &none::NoConsistency,
        }
    }

    /// The method of a name that a user writes.
    pub fn parse(name: &str) -> Option<Consistency> {
        Consistency::ALL.into_iter().find(|method| method.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.method().name()
    }

    /// The estimator that a name means with this method.
    pub fn estimator(self, name: &str) -> Option<Estimator> {
        if name == Consistency::AUTO { Some(self.method().auto()) } else { Estimator::parse(name) }
    }

    /// Whether an estimator has a meaning with this method.
    pub fn takes(self, estimator: Estimator) -> bool {
        self.method().takes(estimator)
    }

    /// What is measured of every region for this method.
    pub fn quantity(self) -> Quantity {
        self.method().quantity()
    }

    /// Whether the leaves are all that is measured, with the whole of epsilon.
    pub fn measures_leaves_alone(self) -> bool {
        self.method().measures_leaves_alone()
    }

    /// Whether it joins what is known of all levels by how well it is known, so that some of them
    /// need not be measured.
    pub fn weighs_levels(self) -> bool {
        self.method().weighs_levels()
    }

    /// Whether the method holds a number for every region and size at once.
    pub fn is_dense(self) -> bool {
        self.quantity() != Quantity::Estimates
    }

    /// How many parents' groups are matched with their children's.
    pub fn parents_to_match(self, tree: &Tree) -> usize {
        self.method().parents_to_match(tree)
    }

    /// One histogram per region from what is known of each.
    pub(super) fn apply(self, known: KnownRegions, observer: &mut dyn Observer) -> Consistent {
        self.method().consistent(known, observer)
    }
}
