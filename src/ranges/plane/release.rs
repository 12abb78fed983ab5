//! Answers to any rectangles, each with its variance.

use super::grid::{Grid, Rectangle};
use super::mechanism::{PlaneMechanism, PrefixSums};
use crate::noise::RandomWords;
use crate::ranges::mechanism::add_noise;

/// What is released.
pub struct PlaneRelease {
    mechanism: Box<dyn PlaneMechanism>,
    estimates: PrefixSums,
}

impl PlaneRelease {
    /// Measures, adds noise, and estimates. A count beyond the largest that the mechanism takes is
    /// taken for that, cell by cell, which keeps the sensitivity.
    pub(super) fn draw<R: RandomWords + ?Sized>(
        mechanism: Box<dyn PlaneMechanism>,
        counts: &[u64],
        words: &mut R,
    ) -> PlaneRelease {
        let largest = mechanism.largest_count();
        let counts: Vec<u64> = counts.iter().map(|count| *count.min(&largest)).collect();
        let mut noisy = mechanism.measure(&counts);
        drop(counts);
        add_noise(&mechanism.groups(), &mut noisy, words);
        let cells = mechanism.cell_estimates(&noisy);
        let estimates = PrefixSums::new(mechanism.grid(), &cells);
        PlaneRelease { mechanism, estimates }
    }

    pub fn grid(&self) -> Grid {
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
