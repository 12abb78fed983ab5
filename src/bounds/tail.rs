//! How numbers go on above what is seen of them: the tails that are weighed. And how they end at once, as at a
//! limit of what is paid: as a power law of any steepness that is cut off.

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
    /// Where it is cut off.
    pub(super) end: Option<End>,
}

/// The last class of what ends at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) class: usize,
    /// What it has of that class.
    pub(super) share: f64,
}

/// Steepness goes up by this factor from one tail to the next.
const STEEPER: f64 = 1.1;
/// The first one, with which little is lost up to where the curvature tells.
const LEAST_STEEP: f64 = 0.02;
/// Of what begins above the first class: the mean of all that is above is infinite from 1 downwards.
const LEAST_STEEP_ABOVE: f64 = 0.7;
/// So many: up to 60, of which one class leaves nothing.
const STEEPNESSES: i32 = 84;
const CURVATURES: [f64; 9] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0];
/// Those with which also what begins flat ends.
const LEAST_CURVATURE_OF_FLAT: f64 = 0.35;
/// How many classes beyond the last one that is seen a tail is cut off, and what it has of that.
const ENDS: [(usize, f64); 3] = [(0, 1.0), (0, 0.5), (1, 0.3)];
/// What is less of all is left out.
const NOTHING: f64 = 1e-9;

impl Tail {
    /// A bound of how many begin at a class.
    pub(super) const NUMBER: usize = STEEPNESSES as usize * CURVATURES.len();

    /// Flat ones only where all of the numbers are one: whole distributions, such as uniform ones, of which
    /// no class stands out of the noise.
    pub(super) fn all_from(first: usize) -> impl Iterator<Item = Tail> {
        let tails = (0..STEEPNESSES).flat_map(move |step| {
            let steepness = LEAST_STEEP * STEEPER.powi(step);
            CURVATURES.map(|curvature| Tail { first, steepness, curvature, end: None })
        });
        tails.filter(move |tail| {
            let may_be_flat = first == 0 && tail.curvature >= LEAST_CURVATURE_OF_FLAT;
            may_be_flat || tail.steepness >= LEAST_STEEP_ABOVE
        })
    }

    /// A bound of how many begin at a class and end at once.
    pub(super) const NUMBER_CUT_OFF: usize = STEEPNESSES as usize * ENDS.len();

    /// Those that end at once, about the last class that is seen.
    pub(super) fn all_cut_off(first: usize, last_seen: usize) -> impl Iterator<Item = Tail> {
        let ends = ENDS.map(|(beyond, share)| End { class: last_seen + beyond, share });
        let ends = ends.into_iter().filter(move |end| first < end.class);
        ends.flat_map(move |end| {
            (0..STEEPNESSES).map(move |step| {
                let steepness = LEAST_STEEP * STEEPER.powi(step);
                Tail { first, steepness, curvature: 0.0, end: Some(end) }
            })
        })
    }

    /// The fractions of it in its classes; 0 in those that are left out at the end.
    pub(super) fn fractions(&self, grid: &Grid) -> Vec<f64> {
        let mut fractions = self.uncut(grid);
        if let Some(end) = self.end {
            fractions.truncate(end.class + 1 - self.first);
            if let Some(last) = fractions.get_mut(end.class - self.first) {
                *last *= end.share;
            }
            let all: f64 = fractions.iter().sum();
            fractions.iter_mut().for_each(|fraction| *fraction /= all);
        }
        fractions
    }

    fn uncut(&self, grid: &Grid) -> Vec<f64> {
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
        let tail = Tail { first: 3, steepness: 2.0, curvature: 0.0, end: None };
        let fractions = tail.fractions(&grid);
        // of what is above 3 as much is 4 as (3.5 / 4.5)^2 leaves
        assert!((fractions[0] - (1.0 - (3.5f64 / 4.5).powi(2))).abs() < 1e-12);
        assert_eq!(fractions.len(), grid.classes() - 3);
        assert!((fractions.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn steep_ones_end_and_all_have_all() {
        let grid = Grid::up_to(1 << 20);
        for first in [0, 5] {
            let mut number = 0;
            for tail in Tail::all_from(first) {
                let fractions = tail.fractions(&grid);
                let all: f64 = fractions.iter().sum();
                assert!((1.0 - all).abs() < 1e-8 && fractions.iter().all(|part| *part >= 0.0));
                number += 1;
            }
            assert!(number > 100 && number <= Tail::NUMBER);
            let steepest = Tail::all_from(first).last().unwrap();
            assert!(steepest.fractions(&grid).len() < 4);
        }
    }

    /// As many in each class of as many numbers in proportion, and none beyond.
    #[test]
    fn what_ends_at_once_may_be_flat() {
        let grid = Grid::up_to(1 << 20);
        let flat = Tail::all_cut_off(12, 40).next().unwrap();
        let fractions = flat.fractions(&grid);
        assert_eq!(fractions.len(), 40 + 1 - 12);
        assert!(fractions[0] < 1.5 * fractions[28] && fractions[28] < 1.5 * fractions[0]);
        for tail in Tail::all_cut_off(12, 40) {
            assert!((tail.fractions(&grid).iter().sum::<f64>() - 1.0).abs() < 1e-8);
        }
        assert_eq!(Tail::all_cut_off(12, 40).count(), Tail::NUMBER_CUT_OFF);
    }

    #[test]
    fn only_from_the_first_class_on_are_they_nearly_uniform() {
        let grid = Grid::up_to(1000);
        // as much in the 1000 as in the 1, about, where one begins at the first class
        let is_flat = |tail: Tail| {
            let fractions = tail.fractions(&grid);
            let width = |class: usize| {
                grid.upper(class) - if class == 0 { 0.0 } else { grid.upper(class - 1) }
            };
            let last = (0..fractions.len()).rev().find(|class| fractions[*class] > 0.01).unwrap();
            fractions[0] / width(0) < 20.0 * fractions[last] / width(last) && fractions.len() > 20
        };
        assert!(Tail::all_from(0).any(is_flat));
        assert!(Tail::all_from(5).all(|tail| tail.steepness >= LEAST_STEEP_ABOVE));
    }
}
