//! Which candidate is best, by what it leaves out and the noise that it brings.
//!
//! In each [scenario](super::posterior) each candidate has an error, and one of them the least. Chosen is
//! that whose error is the least multiple of it, in the mean of all scenarios: which is as good, or nearly,
//! whatever turns out to be true.

use super::bounded::Bounded;
use super::grid::Grid;
use super::posterior::{Scenario, is_seen, scenarios};
use crate::work::done;

/// A bound that could be chosen, as the noisy counts tell of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub bound: u64,
    /// How many units, rows or entities there are beyond it, probably: as many scenarios say more as less.
    pub above: f64,
    /// What it leaves out, probably: rows, units of amounts or entities.
    pub clipping: f64,
    /// By how much the release is off by its noise.
    pub noise: f64,
    /// The one with the least multiple of the least error.
    pub chosen: bool,
}

/// All candidates, and whether they rest on anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub candidates: Vec<Candidate>,
    /// Whether any count stands out of the noise.
    pub is_seen: bool,
}

/// `noisy`: what was measured of each class, with Laplace noise of that scale. `rows`: those of a unit
/// that are used. `release_epsilon`: what the release will have.
pub fn choose(
    bounded: Bounded,
    grid: &Grid,
    noisy: &[i64],
    scale: f64,
    (rows, release_epsilon): (u32, f64),
) -> Choice {
    let noise: Vec<f64> = (grid.candidates().iter())
        .map(|bound| bounded.noise(*bound, rows, release_epsilon))
        .collect();
    let scenarios = scenarios(grid, noisy, scale);
    let left: Vec<LeftOut> =
        scenarios.iter().map(|scenario| LeftOut::new(bounded, grid, scenario)).collect();

    let mut multiples = vec![0.0; noise.len()];
    for (scenario, left) in scenarios.iter().zip(&left) {
        done(noise.len() as u64);
        let errors: Vec<f64> = (left.clipping.iter().zip(&noise))
            .map(|(clipping, noise)| bounded.error(*clipping, *noise))
            .collect();
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
        for (multiple, error) in multiples.iter_mut().zip(errors) {
            *multiple += scenario.weight * error / least;
        }
    }
    let best = (0..multiples.len()).min_by(|a, b| multiples[*a].total_cmp(&multiples[*b]));

    let weights: Vec<f64> = scenarios.iter().map(|scenario| scenario.weight).collect();
    let of_candidate = |(place, bound): (usize, &u64)| {
        done(scenarios.len() as u64);
        Candidate {
            bound: *bound,
            above: median(&weights, |scenario| left[scenario].above[place]),
            clipping: median(&weights, |scenario| left[scenario].clipping[place]).round(),
            noise: noise[place],
            chosen: Some(place) == best,
        }
    };
    let candidates = grid.candidates().iter().enumerate().map(of_candidate).collect();
    Choice { candidates, is_seen: is_seen(noisy, scale) }
}

/// What each candidate leaves out in a scenario.
struct LeftOut {
    above: Vec<f64>,
    clipping: Vec<f64>,
}

impl LeftOut {
    fn new(bounded: Bounded, grid: &Grid, scenario: &Scenario) -> LeftOut {
        let number = grid.candidates().len();
        let mut left = LeftOut { above: vec![0.0; number], clipping: vec![0.0; number] };
        let (mut above, mut sum) = (0.0, 0.0);
        for place in (0..number).rev() {
            let count = scenario.counts[place + 1];
            above += count;
            sum += count * grid.middle(place + 1);
            left.above[place] = above;
            left.clipping[place] = match bounded {
                Bounded::Sizes => above,
                Bounded::Rows | Bounded::Amounts => {
                    (sum - above * grid.candidates()[place] as f64).max(0.0)
                }
            };
        }
        left
    }
}

/// Of what the scenarios say, by their weights.
fn median(weights: &[f64], said: impl Fn(usize) -> f64) -> f64 {
    let mut all: Vec<(f64, f64)> =
        weights.iter().enumerate().map(|(n, weight)| (said(n), *weight)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut left = weights.iter().sum::<f64>() / 2.0;
    for (said, weight) in &all {
        left -= weight;
        if left <= 0.0 {
            return *said;
        }
    }
    all.last().map_or(0.0, |last| last.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(bounded: Bounded, grid: &Grid, exact: &[i64], rows: u32, epsilon: f64) -> u64 {
        let all = choose(bounded, grid, exact, 1e-6, (rows, epsilon)).candidates;
        assert_eq!(all.iter().filter(|candidate| candidate.chosen).count(), 1);
        all.into_iter().find(|candidate| candidate.chosen).unwrap().bound
    }

    #[test]
    fn the_chosen_one_has_the_least_error_where_all_is_known() {
        let grid = Grid::up_to(10); // 1 to 8, 10
        let exact = [50, 40, 30, 20, 10, 4, 2, 0, 0, 0];
        let all = choose(Bounded::Rows, &grid, &exact, 1e-6, (7, 0.25)).candidates;
        let at = |bound| all.iter().find(|candidate| candidate.bound == bound).unwrap();
        // of ten with 5 rows, four with 6 and two with 7
        let round = |number: f64| (1e6 * number).round() / 1e6;
        assert_eq!(
            (round(at(4).above), round(at(4).clipping)),
            (16.0, 10.0 + 4.0 * 2.0 + 2.0 * 3.0)
        );
        let beyond = [at(5).above, at(5).clipping, at(7).clipping].map(round);
        assert_eq!(beyond, [6.0, 8.0, 0.0]);
        assert_eq!((at(4).noise, at(5).noise, at(6).noise), (16.0, 20.0, 24.0));
        // left out, and noise of that mean magnitude around it: 3: 50 + 12 e^(-50/12) = 50.2; 4: 24 + 3.6; 5: 8 + 13.4;
        // 6: 2 + 22.1; 7: 28
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 0.25), 5);
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 10.0), 7);
        assert_eq!(chosen(Bounded::Rows, &grid, &exact, 7, 0.001), 1);
        // of amounts a unit has so many: 7 / 0.25 for each
        assert_eq!(chosen(Bounded::Amounts, &grid, &exact, 1, 0.25), 5);
        assert_eq!(chosen(Bounded::Amounts, &grid, &exact, 100, 0.25), 1);
    }

    #[test]
    fn of_layers_all_above_is_left_out() {
        let grid = Grid::up_to(10);
        let exact = [900, 700, 600, 500, 400, 300, 200, 0, 0, 0];
        let all = choose(Bounded::Sizes, &grid, &exact, 1e-6, (1, 1.0)).candidates;
        let at = |bound| all.iter().find(|candidate| candidate.bound == bound).unwrap();
        assert!((at(6).above - 200.0).abs() < 1e-6 && at(6).clipping == at(6).above);
        assert_eq!(chosen(Bounded::Sizes, &grid, &exact, 1, 1.0), 7);
    }

    #[test]
    fn few_among_noise_are_told_of() {
        let grid = Grid::up_to(10);
        let is_seen = |scale| choose(Bounded::Rows, &grid, &[30; 10], scale, (1, 1.0)).is_seen;
        assert!(is_seen(3.0) && !is_seen(4.0));
    }

    #[test]
    fn the_median_is_by_weight() {
        let said = [5.0, 1.0, 3.0];
        assert_eq!(median(&[1.0, 1.0, 1.0], |n| said[n]), 3.0);
        assert_eq!(median(&[5.0, 1.0, 1.0], |n| said[n]), 5.0);
    }
}
