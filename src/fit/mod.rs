//! Fitting noisy numbers, and what they say: what is known of their order, their sum or their
//! likely steps makes them more accurate. Nothing here knows what the numbers count.

mod isotonic;
mod posterior;
mod simplex;
mod smoothing;

pub(crate) use isotonic::{
    Arithmetic, Block, MedianFit, isotonic_l1, isotonic_l2, pool_adjacent_violators,
};
pub(crate) use posterior::{Forward, Marginal, MonotoneSequence, Posterior, Room, Wanted};
pub(crate) use simplex::{project_on_total, project_weighted};
pub(crate) use smoothing::{LaplaceNoise, Normal, Walk, WalkMedians, log_likelihoods};
