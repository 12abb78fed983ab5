//! Hierarchies of regions, and releases of a histogram per region that add up.
//!
//! Level 0 is the root, which holds all groups; every group lies in one region of each level.

mod chain;
mod consistency;
mod cumulative;
mod curve;
mod error;
mod explain;
mod matching;
mod measurement;
mod noisy_counts;
mod noisy_table;
mod pgsr;
mod plan;
mod postprocess;
mod prior;
mod release;
mod selection;
mod sharing;
mod threads;
mod topdown;
mod tree;

pub use chain::{ChainMechanism, chain, running_totals};
pub use consistency::{Consistency, matched};
pub use cumulative::{CumulativeFit, Totals, cumulative};
pub use explain::{Candidate, ExpectedError, MAX_GROUPS_OF_HG, Question, expected_errors};
pub use matching::Merge;
pub use noisy_counts::{NoisyCounts, Weights};
pub use noisy_table::{NoisyTable, NoisyTableError, PublicTotals, RegionRows};
pub use pgsr::{pgsr, pgsr_relaxed};
pub use plan::{LevelPlan, MAX_CELLS, MAX_LEVELS, PlanError, ReleasePlan, estimator_words};
pub use postprocess::Consistent;
pub use prior::{Prior, Shape};
pub use release::{Observer, ReleaseError, release};
pub use selection::{MAX_CANDIDATES, Mechanism, Released};
pub use topdown::topdown;
pub use tree::{Region, Tree, TreeError, path_text};

#[cfg(test)]
mod properties;
