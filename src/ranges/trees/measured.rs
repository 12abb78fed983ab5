//! A tree over bins whose nodes are measured.

use super::shape::TreeShape;
use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{MEASURED_LIMIT, Measurements, signed};
use crate::work::Paced;

/// The tree with its measurements: every node of levels 0 .. h; the root is not measured
/// (Qardaji et al., section 3.2).
///
/// A row lies in one node of each level, so it moves one measurement per level, by 1.
#[derive(Debug, Clone)]
pub(in crate::ranges) struct MeasuredTree {
    pub(in crate::ranges) shape: TreeShape,
    /// Group l is level l.
    pub(in crate::ranges) measurements: Measurements,
    /// Of the levels.
    pub(in crate::ranges) variances: Vec<f64>,
}

impl MeasuredTree {
    /// `calibration`: of levels 0 .. h, from the leaves up.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If it is that of another number of levels.
    pub(in crate::ranges) fn new(
        shape: TreeShape,
        calibration: &Calibration,
    ) -> Result<MeasuredTree, ScaleError> {
        let nodes = (0..shape.height()).map(|level| shape.nodes(level));
        let measurements = Measurements::one_of_each(nodes, calibration)?;
        let variances = measurements.variances();
        Ok(MeasuredTree { shape, measurements, variances })
    }

    /// What every bin counts at most, lest the total overflow.
    pub(in crate::ranges) fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.shape.bins() as u64
    }

    /// The nodes' counts, level by level from the leaves up.
    pub(in crate::ranges) fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let mut values = signed(counts);
        values.reserve_exact(self.shape.measured_nodes() - values.len());
        let mut below = 0;
        for level in 1..self.shape.height() {
            let children = below..values.len();
            below = values.len();
            for first in children.step_by(self.shape.branching()).paced() {
                let end = (first + self.shape.branching()).min(below);
                values.push(values[first..end].iter().sum());
            }
            debug_assert_eq!(values.len() - below, self.shape.nodes(level));
        }
        values
    }
}
