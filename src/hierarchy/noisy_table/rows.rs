//! The table as it is read.

/// The rows of one region: a size, the noisy number of groups of that size, and its variance where
/// the variances are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegionRows {
    pub sizes: Vec<f64>,
    pub groups: Vec<f64>,
    pub variances: Option<Vec<f64>>,
}
