//! Privacy budgets: what a release spends, and how a hierarchy's levels share it.

mod epsilon;

pub use epsilon::{Epsilon, EpsilonError, ShareError};
