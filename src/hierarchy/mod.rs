//! Hierarchies of regions, and releases of a histogram per region that add up.
//!
//! Level 0 is the root, which holds all groups; every group lies in one region of each level.

mod chain;
mod consistency;
mod matching;
mod measurement;
mod pgsr;
mod plan;
mod release;
mod topdown;
mod tree;

pub use chain::{ChainMechanism, chain, running_totals};
pub use consistency::Consistency;
pub use pgsr::{NoisyCounts, pgsr, pgsr_relaxed};
pub use plan::{LevelPlan, MAX_CELLS, MAX_LEVELS, PlanError, ReleasePlan};
pub use release::{Observer, ReleaseError, release};
pub use topdown::topdown;
pub use tree::{Region, Tree, TreeError};

#[cfg(test)]
mod properties;
