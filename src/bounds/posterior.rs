//! What there may be in each class of a grid, as its noisy counts tell: post-processing.
//!
//! *A priori* runs of classes that have something take turns with runs of empty ones, which are long: far up
//! nearly all classes are empty, and there are many. How many there are in a class that has something is
//! open: each order of magnitude is as likely as another. From some class on there may be a [`Tail`],
//! of which the first classes are seen and the others are hidden by the noise. What is believed of
//! them follows from how those that are seen fall; or it ends at once with those that are seen.
//!
//! A forward pass adds up all runs up to each class. After it either nothing comes, or a tail, of any
//! steepness, curvature and mass: these scenarios are listed with their weights.

use super::grid::Grid;
use super::tail::Tail;
use crate::work::done;

/// How likely the class after one that has something has something.
const STAYS: f64 = 0.9;
/// And after an empty one.
const RISES: f64 = 0.01;
/// How likely a tail comes last, rather than nothing.
const HAS_TAIL: f64 = 0.3;
/// How likely such a tail ends at once. With a tenth, more of those that go on were cut short.
const IS_CUT_OFF: f64 = 0.003;
/// The natural logarithm of how many times more the largest count may be than the smallest.
const MAGNITUDES: f64 = 14.0;
/// The smallest count of a class that has something, in scales of the noise.
const LEAST: f64 = 0.25;
/// The least mass of a tail, in scales of the noise: what is less is not told from nothing.
const LEAST_TAIL: f64 = 2.0;
/// Masses go up by exp(this).
const STEP: f64 = 0.12;
/// Scenarios that are less likely than the likeliest by exp(this) are left out.
const NEGLIGIBLE: f64 = 9.0;
/// How many scales of noise a count has to be for a tail to begin near it.
const SEEN: f64 = 8.0;
/// The odds, a priori, that a class below the tail has something.
const ODDS: f64 = 0.1;

/// What may be.
pub(super) struct Scenario {
    /// Of all scenarios it is 1 at most.
    pub(super) weight: f64,
    /// In each class.
    pub(super) counts: Vec<f64>,
}

/// How likely something is, relative to empty classes.
struct Noisy<'a> {
    counts: &'a [f64],
    scale: f64,
}

/// Whether any count stands out of the noise: where none does, what follows rests on too little.
pub(super) fn is_seen(noisy: &[i64], scale: f64) -> bool {
    noisy.iter().any(|count| *count as f64 > SEEN * scale)
}

/// Those that are not negligible. `noisy`: a count for each class; `scale`: of its Laplace noise.
pub(super) fn scenarios(grid: &Grid, noisy: &[i64], scale: f64) -> Vec<Scenario> {
    let counts: Vec<f64> = noisy.iter().map(|count| *count as f64).collect();
    let noisy = Noisy { counts: &counts, scale };
    let something: Vec<f64> = counts.iter().map(|count| noisy.something(*count)).collect();
    let runs = Runs::new(&something);

    let mut found = Found { best: f64::NEG_INFINITY, all: Vec::new() };
    let last = counts.len() - 1;
    for class in 0..=last {
        let quiet = (last - class) as f64 * (1.0 - RISES).ln();
        found.add(runs.end_at[class] + (1.0 - HAS_TAIL).ln() + quiet, (class + 1, None));
    }
    let seen = counts.iter().rposition(|count| *count > SEEN * scale).map_or(0, |class| class + 1);
    let prior = HAS_TAIL.ln() + (STEP / MAGNITUDES).ln();
    let prior_cut_off = prior + IS_CUT_OFF.ln() - (Tail::NUMBER_CUT_OFF as f64).ln();
    let prior = prior + (1.0 - IS_CUT_OFF).ln() - (Tail::NUMBER as f64).ln();
    for first in 0..=seen.min(last) {
        let before = prior + runs.before(first);
        for tail in Tail::all_from(first) {
            noisy.weigh(&tail.fractions(grid), before, tail, &mut found);
        }
        let before = prior_cut_off + runs.before(first);
        for tail in seen.checked_sub(1).into_iter().flat_map(|seen| Tail::all_cut_off(first, seen))
        {
            noisy.weigh(&tail.fractions(grid), before, tail, &mut found);
        }
    }

    let below = counts.iter().zip(&something).map(|(count, something)| {
        let odds = ODDS * something.exp();
        count.max(0.0) * if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
    });
    let below: Vec<f64> = below.collect();
    found.scenarios(grid, &below)
}

/// Natural logarithms of how likely all runs up to a class are.
struct Runs {
    /// Whose last class that has something is that one.
    end_at: Vec<f64>,
    /// Which end before it, an empty one.
    quiet_at: Vec<f64>,
}

impl Runs {
    fn new(something: &[f64]) -> Runs {
        let mut runs = Runs { end_at: Vec::new(), quiet_at: Vec::new() };
        let (mut last, mut quiet) = (STAYS.ln(), (1.0 - STAYS).ln());
        for something in something {
            let has = last + something;
            runs.end_at.push(has + (1.0 - STAYS).ln());
            runs.quiet_at.push(quiet);
            last = log_sum(has + STAYS.ln(), quiet + RISES.ln());
            quiet = log_sum(has + (1.0 - STAYS).ln(), quiet + (1.0 - RISES).ln());
        }
        runs
    }

    /// All that leave the classes from that one on to a tail.
    fn before(&self, class: usize) -> f64 {
        match class.checked_sub(1) {
            Some(last) => log_sum(self.end_at[last], self.quiet_at[last] + RISES.ln()),
            None => 0.0,
        }
    }
}

/// ln(exp(a) + exp(b)).
fn log_sum(a: f64, b: f64) -> f64 {
    let larger = a.max(b);
    larger + ((a - larger).exp() + (b - larger).exp()).ln()
}

impl Noisy<'_> {
    /// Of a class that has something, with each order of magnitude as likely.
    fn something(&self, count: f64) -> f64 {
        let scaled = count / self.scale;
        if scaled >= 4.0 {
            // all of the noise is around it
            return (2.0 / (scaled * MAGNITUDES)).ln() + scaled;
        }
        let step = 0.15;
        let of_count = |n: i32| {
            let truth = LEAST * (step * f64::from(n)).exp();
            (scaled.abs() - (scaled - truth).abs()).exp()
        };
        ((0..35).map(of_count).sum::<f64>() * step / MAGNITUDES).ln()
    }

    /// Adds the tail with all masses that are not negligible. How likely they are has one peak: the
    /// logarithm is a sum of concave functions of the mass.
    fn weigh(&self, fractions: &[f64], before: f64, tail: Tail, found: &mut Found) {
        let counts = &self.counts[tail.first..];
        let seen: f64 = counts.iter().take(fractions.len()).map(|count| count.max(0.0)).sum();
        let least = LEAST_TAIL * self.scale;
        let steps = ((3.0 * seen / least).max(1.0).ln() / STEP).ceil() as i64;
        let mass = |step: i64| least * (STEP * step as f64).exp();
        let likelihood = |step: i64| {
            done(fractions.len() as u64);
            let mass = mass(step);
            let of_class =
                |(fraction, count): (&f64, &f64)| count.abs() - (count - mass * fraction).abs();
            before + fractions.iter().zip(counts).map(of_class).sum::<f64>() / self.scale
        };
        let (mut low, mut high) = (0, steps);
        while low < high {
            let middle = (low + high) / 2;
            if likelihood(middle) < likelihood(middle + 1) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for step in (0..=low).rev() {
            if !found.add(likelihood(step), (tail.first, Some((tail, mass(step))))) {
                break;
            }
        }
        for step in low + 1..=steps {
            if !found.add(likelihood(step), (tail.first, Some((tail, mass(step))))) {
                break;
            }
        }
    }
}

/// The first class of what comes last: nothing, or a tail with its mass.
type Ending = (usize, Option<(Tail, f64)>);

struct Found {
    /// The likeliest one's logarithm.
    best: f64,
    all: Vec<(f64, Ending)>,
}

impl Found {
    /// Whether it is not negligible, as far as one knows.
    fn add(&mut self, likelihood: f64, ending: Ending) -> bool {
        let counts = likelihood >= self.best - NEGLIGIBLE;
        if counts {
            self.best = self.best.max(likelihood);
            self.all.push((likelihood, ending));
        }
        counts
    }

    fn scenarios(self, grid: &Grid, below: &[f64]) -> Vec<Scenario> {
        let Found { best, all } = self;
        let of_ending = |(likelihood, (first, tail)): (f64, Ending)| {
            done(below.len() as u64);
            let mut counts = below[..first].to_vec();
            if let Some((tail, mass)) = tail {
                counts.extend(tail.fractions(grid).iter().map(|fraction| mass * fraction));
            }
            counts.resize(below.len(), 0.0);
            Scenario { weight: (likelihood - best).exp(), counts }
        };
        let counts = |(likelihood, _): &(f64, Ending)| *likelihood >= best - NEGLIGIBLE;
        all.into_iter().filter(counts).map(of_ending).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(grid: &Grid, of: &[(usize, i64)]) -> Vec<i64> {
        let mut counts = vec![0; grid.classes()];
        of.iter().for_each(|(class, count)| counts[*class] = *count);
        counts
    }

    /// The mean of what is above a class.
    fn above(scenarios: &[Scenario], class: usize) -> f64 {
        let all: f64 = scenarios.iter().map(|scenario| scenario.weight).sum();
        let of = |one: &Scenario| one.weight * one.counts[class + 1..].iter().sum::<f64>();
        scenarios.iter().map(of).sum::<f64>() / all
    }

    #[test]
    fn what_ends_at_once_has_no_tail() {
        let grid = Grid::up_to(1000);
        let noisy = counts(&grid, &[(0, 500), (1, 800), (2, 900), (7, -3), (9, 4)]);
        let scenarios = scenarios(&grid, &noisy, 1.0);
        assert!(above(&scenarios, 2) < 1.0, "{}", above(&scenarios, 2));
        assert!((above(&scenarios, 0) - 1700.0).abs() < 5.0);
    }

    /// As many in each of forty classes, and none beyond: the noise hides what may follow there.
    #[test]
    fn what_is_spread_over_orders_of_magnitude_ends_at_once() {
        let grid = Grid::up_to(1 << 22);
        for (scale, off) in [(50.0, 0), (100.0, 150)] {
            let noisy: Vec<i64> = (0..grid.classes() as i64)
                .map(|class| if class < 40 { 900 } else { 0 } + off * ((7 * class % 5) - 2) / 2)
                .collect();
            let scenarios = scenarios(&grid, &noisy, scale);
            assert!(above(&scenarios, 40) < 2.0 * scale, "{}", above(&scenarios, 40));
        }
    }

    #[test]
    fn what_falls_slowly_goes_on_below_the_noise() {
        let grid = Grid::up_to(1000);
        // of a power law, less than a scale of noise in each class from the 14th on
        let beyond = |class: usize| 20_000.0 * (grid.upper(class) + 0.5).powi(-2);
        let noisy: Vec<i64> = (0..grid.classes())
            .map(|class| if class == 0 { 9000 } else { (beyond(class - 1) - beyond(class)) as i64 })
            .collect();
        let scenarios = scenarios(&grid, &noisy, 20.0);
        for class in [9, 13] {
            let (hidden, truth) = (above(&scenarios, class), beyond(class));
            assert!(hidden > truth / 2.0 && hidden < truth * 2.0, "{class}: {hidden}, {truth}");
        }
    }

    #[test]
    fn a_count_far_away_has_to_be_larger_than_noise_is_anywhere() {
        let grid = Grid::up_to(1 << 40);
        let is_believed = |class: usize, count: i64| {
            let noisy = counts(&grid, &[(0, 10_000), (class, count)]);
            above(&scenarios(&grid, &noisy, 10.0), class - 1) > count as f64 / 2.0
        };
        assert!(is_believed(1, 80) && is_believed(100, 200));
        assert!(!is_believed(100, 70));
    }

    #[test]
    fn the_largest_counts_and_the_smallest_scales_are_possible() {
        let grid = Grid::up_to(1 << 30);
        for noisy in [i64::MAX, i64::MIN, 0] {
            for scale in [1e-6, 1.0, 1e15] {
                let scenarios = scenarios(&grid, &vec![noisy; grid.classes()], scale);
                assert!(!scenarios.is_empty());
                let is_finite = |one: &Scenario| one.counts.iter().all(|count| count.is_finite());
                assert!(scenarios.iter().all(|one| one.weight.is_finite() && is_finite(one)));
            }
        }
    }
}
