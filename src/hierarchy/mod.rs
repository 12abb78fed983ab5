//! Hierarchies of regions, and releases of a histogram per region that add up.
//!
//! Level 0 is the root, which holds all groups; every group lies in one region of each level.

mod consistency;
mod cumulative;
mod matching;
mod pgsr;
mod plan;
mod release;
mod tree;

pub use consistency::Consistency;
pub use cumulative::{CumulativeFit, Totals, cumulative};
pub use pgsr::{NoisyCounts, pgsr};
pub use plan::{LevelPlan, MAX_LEVELS, PlanError, ReleasePlan};
pub use release::{Observer, release};
pub use tree::{Region, Tree, TreeError};

#[cfg(test)]
mod properties;
