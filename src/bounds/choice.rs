//! Which candidate is best, by what it leaves out and the noise that it brings.

use super::bounded::Bounded;
use super::estimate::estimate;
use super::grid::Grid;

/// A bound that could be chosen, as the noisy counts tell of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub bound: u64,
    /// How many units, rows or entities there are beyond it.
    pub above: f64,
    /// What it leaves out: rows, units of amounts or entities.
    pub clipping: f64,
    /// By how much the release is off by its noise.
    pub noise: f64,
    /// The one with the least sum of both.
    pub chosen: bool,
}

/// `noisy`: what was measured of each class, with Laplace noise of that scale. `rows`: those of a unit
/// that are used. `release_epsilon`: what the release will have.
pub fn candidates(
    bounded: Bounded,
    grid: &Grid,
    noisy: &[i64],
    scale: f64,
    (rows, release_epsilon): (u32, f64),
) -> Vec<Candidate> {
    let estimates = estimate(grid, noisy, scale);
    let of_bound = |(place, &bound): (usize, &u64)| {
        let beyond = place + 1..estimates.len();
        let above: f64 = estimates[beyond.clone()].iter().sum();
        let clipping = match bounded {
            Bounded::Sizes => above,
            Bounded::Rows | Bounded::Amounts => {
                beyond.map(|class| estimates[class] * (grid.middle(class) - bound as f64)).sum()
            }
        };
        let noise = bounded.noise(bound, rows, release_epsilon);
        Candidate { bound, above, clipping, noise, chosen: false }
    };
    let mut all: Vec<Candidate> = grid.candidates().iter().enumerate().map(of_bound).collect();
    let error = |candidate: &Candidate| candidate.clipping + candidate.noise;
    if let Some(best) = all.iter_mut().min_by(|a, b| error(a).total_cmp(&error(b))) {
        best.chosen = true;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(bounded: Bounded, grid: &Grid, exact: &[i64], rows: u32, epsilon: f64) -> u64 {
        let all = candidates(bounded, grid, exact, 1e-6, (rows, epsilon));
        assert_eq!(all.iter().filter(|candidate| candidate.chosen).count(), 1);
        all.into_iter().find(|candidate| candidate.chosen).unwrap().bound
    }

    #[test]
    fn the_chosen_one_has_the_least_sum() {
        let grid = Grid::up_to(16); // 1, 2, 3, 4, 6, 8, 12, 16
        let exact = [50, 40, 30, 20, 10, 4, 0, 0, 0];
        let all = candidates(Bounded::Rows, &grid, &exact, 1e-6, (7, 0.25));
        let at = |bound| all.iter().find(|candidate| candidate.bound == bound).unwrap();
        // of ten with 5 or 6 rows, and four with 7 or 8
        let round = |number: f64| (1e6 * number).round() / 1e6;
        assert_eq!((round(at(4).above), round(at(4).clipping)), (14.0, 10.0 * 1.5 + 4.0 * 3.5));
        let beyond = [at(6).above, at(6).clipping, at(8).clipping].map(round);
        assert_eq!(beyond, [4.0, 4.0 * 1.5, 0.0]);
        assert_eq!((at(4).noise, at(6).noise, at(8).noise), (16.0, 24.0, 32.0));
        // 45, 30, 32
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 0.25), 6);
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 1.0), 8);
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 0.001), 1);
        // of amounts a unit has so many: 7 / 0.25 for each
        assert_eq!(chosen(Bounded::Amounts, &grid, &exact, 1, 0.25), 6);
        assert_eq!(chosen(Bounded::Amounts, &grid, &exact, 100, 0.25), 1);
    }

    #[test]
    fn of_layers_all_above_is_left_out() {
        let grid = Grid::up_to(16);
        let exact = [900, 700, 600, 500, 400, 300, 200, 0, 0];
        let all = candidates(Bounded::Sizes, &grid, &exact, 1e-6, (1, 1.0));
        let at = |bound| all.iter().find(|candidate| candidate.bound == bound).unwrap();
        assert!((at(8).above - 200.0).abs() < 1e-6 && at(8).clipping == at(8).above);
        assert_eq!(chosen(Bounded::Sizes, &grid, &exact, 1, 1.0), 12);
    }
}
