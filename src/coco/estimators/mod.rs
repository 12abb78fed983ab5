//! The private estimators of one histogram, each in its own file.

mod columns;
mod cut;
mod estimator;
mod h;
mod hc;
mod hc_l2;
mod hg;
mod kept;
mod measurement;
mod node;
mod pool;
mod profile;
mod table;

pub(crate) use cut::MOST_PLACES;
pub use kept::{MeasuredNumbers, NumberKind};
pub use measurement::{HistogramMeasurement, MAX_SIZE_LIMIT, NodeMeasurement};
pub(crate) use pool::Pool;
pub use profile::Profile;
pub(crate) use profile::tells;
pub use table::Estimator;

#[cfg(test)]
mod tests;
