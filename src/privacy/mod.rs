//! Privacy budgets: what a release spends, and how a hierarchy's levels share it.

mod accounting;
mod calibration;
mod composition;
mod division;
mod epsilon;
mod gaussian_curve;
mod laplace_mechanism;
mod loss;
#[cfg(test)]
pub(crate) mod replay;
mod responses;
mod scopes;

pub use accounting::{Totals, Views, rho_of_gaussian, rho_of_pure, zcdp_epsilon};
pub use calibration::{DeltaError, GaussianBudget, gaussian_sigma};
pub use composition::{composed_epsilon, gdp_mu, shown_bound};
pub use division::{best_parts, equal_parts};
pub use epsilon::{Epsilon, EpsilonError, ShareError};
pub use laplace_mechanism::LaplaceMechanism;
pub use loss::{GaussianLoss, PrivacyLoss};
pub use scopes::{Cells, Fullest, Limits, Period, Rule, Scope, Scopes, Spent, Summits, place};
