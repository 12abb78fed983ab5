//! Hierarchies of regions, and releases of a histogram per region that add up.
//!
//! Level 0 is the root, which holds all groups; every group lies in one region of each level.

mod consistency;
mod matching;
mod pgsr;
mod plan;
mod release;
mod tree;

pub use consistency::Consistency;
pub use pgsr::{NoisyCounts, pgsr, pgsr_relaxed};
pub use plan::{LevelPlan, MAX_LEVELS, PlanError, ReleasePlan};
pub use release::{Observer, release};
pub use tree::{Region, Tree, TreeError};

#[cfg(test)]
mod properties;
