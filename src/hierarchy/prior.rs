//! What public information says the data may be like, for simulations.

use crate::coco::{Coco, Run};
use crate::work::done;
use rand::Rng;
use rand_distr::{Binomial, Distribution};
use std::ops::Range;

/// What the leaves of a hierarchy are taken to hold. Nothing of it may come from private rows.
#[derive(Debug, Clone)]
pub enum Prior {
    /// The leaves' histograms in the tree's order, such as an earlier release has them.
    Leaves(Vec<Coco>),
    /// Every group's size is an independent draw from one shape. `groups`: the leaves' numbers of
    /// groups, in the tree's order.
    Shape { shape: Shape, groups: Vec<u64> },
}

/// A distribution of group sizes.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Ascending; at least one.
    sizes: Vec<u64>,
    /// The weight of these sizes from each on, and then 0. Sums from the far end keep the weight of
    /// a thin tail exact.
    from: Vec<f64>,
}

/// The work for a binomial draw, in units of [`done`].
const UNITS_PER_SPLIT: u64 = 5;

impl Prior {
    /// The leaves' histograms, drawn afresh where they are not given.
    pub fn draw(&self, words: &mut impl Rng) -> Vec<Coco> {
        match self {
            Prior::Leaves(leaves) => leaves.clone(),
            Prior::Shape { shape, groups } => {
                groups.iter().map(|&groups| shape.draw(groups, words)).collect()
            }
        }
    }
}

impl Shape {
    /// The sizes of a histogram in proportion to its numbers of groups; None without groups.
    pub fn of_histogram(histogram: &Coco) -> Option<Shape> {
        let runs = histogram.runs();
        if runs.is_empty() {
            return None;
        }
        let mut from: Vec<f64> = runs.iter().map(|run| run.groups as f64).chain([0.0]).collect();
        for i in (0..runs.len()).rev() {
            from[i] += from[i + 1];
        }
        Some(Shape { sizes: runs.iter().map(|run| run.size).collect(), from })
    }

    /// [`heavy_tail`], a stated guess where nothing is known. Sizes above `max_size` count at it.
    ///
    /// None unless `mean` is positive and finite.
    pub fn heavy_tailed(mean: f64, max_size: u64) -> Option<Shape> {
        let at_least = |size: u64| heavy_tail(mean, size);
        (mean.is_finite() && mean > 0.0).then(|| Shape {
            sizes: (0..=max_size).collect(),
            from: (0..=max_size).map(at_least).chain([0.0]).collect(),
        })
    }

    /// So many independent draws.
    ///
    /// The groups in a range of sizes are split binomially between its halves, which takes a number
    /// of steps in proportion to the lesser of groups and sizes, times the logarithm of the sizes.
    pub(super) fn draw(&self, groups: u64, words: &mut impl Rng) -> Coco {
        let mut runs = Vec::new();
        let mut ranges = vec![(0..self.sizes.len(), groups)];
        while let Some((range, groups)) = ranges.pop() {
            done(UNITS_PER_SPLIT);
            if groups == 0 {
                continue;
            }
            if range.len() == 1 {
                runs.push(Run { size: self.sizes[range.start], groups });
                continue;
            }
            let middle = range.start + range.len() / 2;
            let larger =
                split(groups, self.weight(&(middle..range.end)) / self.weight(&range), words);
            ranges.push((middle..range.end, larger));
            ranges.push((range.start..middle, groups - larger));
        }
        Coco::from_ascending(runs.into_iter())
    }

    fn weight(&self, range: &Range<usize>) -> f64 {
        self.from[range.start] - self.from[range.end]
    }
}

/// The mean size of groups of which nothing is known.
pub const GUESSED_MEAN_SIZE: f64 = 10.0;

/// Waring's distribution with the tail of size^-2: a group has s entities or more with probability
/// m (m + 1) / ((m + s) (m + s + 1)), whose sum over s >= 1 telescopes to the mean m.
pub(super) fn heavy_tail(mean: f64, size: u64) -> f64 {
    let size = size as f64;
    (mean / (mean + size)) * ((mean + 1.0) / (mean + size + 1.0))
}

/// How many of the groups take the second of two ways, each with this probability.
fn split(groups: u64, probability: f64, words: &mut impl Rng) -> u64 {
    // a range whose weight is lost in rounding: 0 / 0
    let probability = if probability.is_finite() { probability.clamp(0.0, 1.0) } else { 0.0 };
    Binomial::new(groups, probability).map_or(0, |law| law.sample(words).min(groups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn coco(runs: &[(u64, u64)]) -> Coco {
        runs.iter().map(|&(size, groups)| Run { size, groups }).collect()
    }

    /// Each number of groups within six standard deviations of the binomial law, and the sum exact.
    #[test]
    fn sizes_are_drawn_in_proportion() {
        let histogram = coco(&[(0, 50), (3, 1), (4, 20), (9, 29)]);
        let shape = Shape::of_histogram(&histogram).unwrap();
        let mut words = ChaCha20Rng::seed_from_u64(1);
        for groups in [1u64, 1000, 1_000_000] {
            let drawn = shape.draw(groups, &mut words);
            assert_eq!(drawn.groups(), groups);
            for run in histogram.runs() {
                let got = drawn.runs().iter().find(|found| found.size == run.size);
                let (n, p) = (groups as f64, run.groups as f64 / 100.0);
                let distance = got.map_or(0.0, |found| found.groups as f64) - n * p;
                assert!(distance.abs() <= 6.0 * (n * p * (1.0 - p)).sqrt() + 1.0, "{drawn:?}");
            }
        }
        assert_eq!(shape.draw(0, &mut words), Coco::default());
    }

    /// The mean of one draw is that of the shape, not only that of many at once.
    #[test]
    fn one_group_is_drawn_as_one_of_many() {
        let shape = Shape::of_histogram(&coco(&[(0, 1), (1, 2), (5, 1)])).unwrap();
        let mut words = ChaCha20Rng::seed_from_u64(2);
        let sum: u64 = (0..10_000).map(|_| shape.draw(1, &mut words).entities()).sum();
        // mean 1.75, variance 3.69
        assert!((sum as f64 - 17_500.0).abs() < 6.0 * (3.69f64 * 10_000.0).sqrt(), "{sum}");
    }

    #[test]
    fn the_heavy_tail_has_its_mean_and_its_slope() {
        for mean in [0.3, 2.5, 100.0] {
            let shape = Shape::heavy_tailed(mean, 1_000_000).unwrap();
            let total: f64 = shape.from[1..].iter().sum();
            assert!((total / mean - 1.0).abs() < 2.0 * (mean + 1.0) / 1e6, "{mean}: {total}");
            assert_eq!(shape.from[0], 1.0);
            let slope = (shape.from[200_000] / shape.from[100_000]).ln() / 2f64.ln();
            assert!((slope + 2.0).abs() < 0.01, "{slope}");
        }
    }

    #[test]
    fn shapes_that_are_none() {
        assert!(Shape::of_histogram(&Coco::default()).is_none());
        for mean in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Shape::heavy_tailed(mean, 10).is_none());
        }
        let all_at_the_end = Shape::heavy_tailed(f64::MAX, 10).unwrap();
        let drawn = all_at_the_end.draw(7, &mut ChaCha20Rng::seed_from_u64(3));
        assert_eq!(drawn, coco(&[(10, 7)]));
    }
}
