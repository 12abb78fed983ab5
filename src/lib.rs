//! pg_dp: differentially private statistics released from inside PostgreSQL.
//!
//! Modules depend downwards only: `pg` -> `hierarchy` -> `counting` -> `coco` -> `fit` -> `charge` ->
//! `privacy` -> `noise` and `work`, and `pg` -> `ranges` -> `charge`. Everything but `pg` knows
//! nothing of PostgreSQL and builds without it.

pub mod charge;
pub mod coco;
pub mod counting;
mod fit;
pub mod hierarchy;
pub mod noise;
pub mod privacy;
pub mod ranges;
pub mod work;

#[cfg(feature = "pgrx")]
pub mod pg;
