//! Privacy budgets: what a release spends, and how a hierarchy's levels share it.

mod accounting;
mod calibration;
mod division;
mod epsilon;
mod laplace_mechanism;

pub use accounting::{Totals, Views, rho_of_gaussian, rho_of_pure, zcdp_epsilon};
pub use calibration::{DeltaError, gaussian_sigma, zcdp_rho};
pub use division::{best_parts, equal_parts};
pub use epsilon::{Epsilon, EpsilonError, ShareError};
pub use laplace_mechanism::LaplaceMechanism;
