//! How numbers go on above what is seen of them: the tails that are weighed.

use super::grid::Grid;

/// Of what is above an edge `e` of the grid, as much as exp(-a (r^c - 1) / c) is above r times e: for c = 0 a
/// power law, r^-a, as incomes have it; for c = 1 what falls exponentially; between them what log-normal and
/// Weibull laws are like; above 1 what ends soon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    /// The first class of it.
    pub(super) first: usize,
    /// How steeply it begins: the exponent a.
    pub(super) steepness: f64,
    /// How fast it becomes steeper: c.
    pub(super) curvature: f64,
}

/// Steepness goes up by this factor from one tail to the next.
const STEEPER: f64 = 1.15;
/// The first one: the mean of all that is above is infinite from 1 downwards.
const LEAST_STEEP: f64 = 0.7;
/// So many: up to 60, of which one class leaves nothing.
const STEEPNESSES: i32 = 32;
const CURVATURES: [f64; 9] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5];
/// What is less of all is left out.
const NOTHING: f64 = 1e-9;

impl Tail {
    /// How many begin at a class.
    pub(super) const NUMBER: usize = STEEPNESSES as usize * CURVATURES.len();

    pub(super) fn all_from(first: usize) -> impl Iterator<Item = Tail> {
        (0..STEEPNESSES).flat_map(move |step| {
            let steepness = LEAST_STEEP * STEEPER.powi(step);
            CURVATURES.map(|curvature| Tail { first, steepness, curvature })
        })
    }

    /// The fractions of it in its classes; 0 in those that are left out at the end.
    pub(super) fn fractions(&self, grid: &Grid) -> Vec<f64> {
        let edge = |class: usize| grid.upper(class) + 0.5;
        let start = if self.first == 0 { 0.5 } else { edge(self.first - 1) };
        let above = |class: usize| {
            let ratio: f64 = edge(class) / start;
            let rise = match self.curvature {
                0.0 => ratio.ln(),
                curvature => (ratio.powf(curvature) - 1.0) / curvature,
            };
            (-self.steepness * rise).exp()
        };
        let mut left = 1.0;
        let mut fractions = Vec::new();
        for class in self.first..grid.classes() {
            let next = if class + 1 < grid.classes() { above(class) } else { 0.0 };
            fractions.push(left - next);
            left = next;
            if left < NOTHING {
                break;
            }
        }
        fractions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_those_of_a_power_law() {
        let grid = Grid::up_to(64);
        let tail = Tail { first: 3, steepness: 2.0, curvature: 0.0 };
        let fractions = tail.fractions(&grid);
        // of what is above 3 as much is 4 as (3.5 / 4.5)^2 leaves
        assert!((fractions[0] - (1.0 - (3.5f64 / 4.5).powi(2))).abs() < 1e-12);
        assert_eq!(fractions.len(), grid.classes() - 3);
        assert!((fractions.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn steep_ones_end_and_all_have_all() {
        let grid = Grid::up_to(1 << 20);
        let mut number = 0;
        for tail in Tail::all_from(5) {
            let fractions = tail.fractions(&grid);
            let all: f64 = fractions.iter().sum();
            assert!((1.0 - all).abs() < 1e-8 && fractions.iter().all(|part| *part >= 0.0));
            number += 1;
        }
        assert_eq!(number, Tail::NUMBER);
        let steepest = Tail::all_from(5).last().unwrap();
        assert!(steepest.fractions(&grid).len() < 3);
    }
}
