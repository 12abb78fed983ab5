//! Anyone's table of noisy counts as a hierarchy that can be made consistent: post-processing
//! alone, no measurement.

mod consistent;
mod error;
mod filling;
mod rows;
mod table;

pub use error::NoisyTableError;
pub use rows::NoisyRows;
pub use table::NoisyTable;
