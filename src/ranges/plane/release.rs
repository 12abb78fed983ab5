//! Answers to any rectangles, each with its variance.

use super::corner_sums::CornerSums;
use super::grid::{CellGrid, Rectangle};
use super::mechanism::PlaneMechanism;
use crate::noise::RandomWords;
use crate::ranges::measurements::noisy_difference;

/// What is released.
pub struct PlaneRelease {
    mechanism: Box<dyn PlaneMechanism>,
    estimates: CornerSums,
}

impl PlaneRelease {
    /// Measures the counts above, less those below, adds noise, and estimates.
    pub(in crate::ranges) fn draw<R: RandomWords + ?Sized>(
        mechanism: Box<dyn PlaneMechanism>,
        above: &[u64],
        below: Option<&[u64]>,
        words: &mut R,
    ) -> PlaneRelease {
        let noisy = noisy_difference(&*mechanism, above, below, words);
        let cells = mechanism.cell_estimates(&noisy);
        let estimates = CornerSums::new(mechanism.grid(), &cells);
        PlaneRelease { mechanism, estimates }
    }

    /// What answers, and what tells the variances.
    pub(in crate::ranges) fn into_parts(self) -> (CornerSums, Box<dyn PlaneMechanism>) {
        (self.estimates, self.mechanism)
    }

    pub fn grid(&self) -> CellGrid {
        self.mechanism.grid()
    }

    /// The unbiased estimate of the sum over the part of the rectangle that lies within the grid; 0
    /// if there is none.
    pub fn sum(&self, rectangle: &Rectangle) -> f64 {
        self.estimates.sum(&self.grid().inside(rectangle))
    }

    /// The variance of [`PlaneRelease::sum`].
    pub fn variance(&self, rectangle: &Rectangle) -> f64 {
        self.mechanism.variance(&self.grid().inside(rectangle))
    }
}
