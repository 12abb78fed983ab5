//! A random walk seen through Laplace noise: where it was at each step.
//!
//! The walk's steps are normal with known means and variances, and each of its positions is
//! observed once. With normal noise a pass forwards and one backwards (Kalman, Rauch, Tung,
//! Striebel) would give every position's distribution, given all observations, in O(n). An
//! observation with Laplace noise is replaced by that normal one which, together with what all
//! others say of its position, agrees with it in mean and variance: expectation propagation (Minka
//! 2001). A Laplace density is log-concave, so no replacement gets a negative precision. They are
//! replaced one after the other, from the first to the last and back, each by what the ones before
//! have become. (All at once they would push together where many lie to one side. Six rounds of that,
//! each going half the way, left the errors of regions the same to a thousandth.) Where many positions
//! lie close together this weighs observations nearly as a median does, with half the variance of a
//! mean.

use std::array;
use std::mem::replace;

/// Of a normal distribution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    pub mean: f64,
    pub variance: f64,
}

impl Normal {
    /// What both say, of which neither knows of the other.
    fn and(self, other: Normal) -> Normal {
        let share = self.variance / (self.variance + other.variance);
        Normal {
            mean: self.mean + share * (other.mean - self.mean),
            variance: share * other.variance,
        }
    }

    /// After a step from there.
    fn after(self, step: Normal) -> Normal {
        Normal { mean: self.mean + step.mean, variance: self.variance + step.variance }
    }

    /// Before a step to there.
    fn before(self, step: Normal) -> Normal {
        Normal { mean: self.mean - step.mean, variance: self.variance + step.variance }
    }
}

/// A random walk of integers that begins at 0.
pub(crate) struct Walk {
    /// From each position to the next.
    pub steps: Vec<Normal>,
    /// What is known of the last position apart from its observation.
    pub end: Normal,
}

/// Before its first step.
const START: Normal = Normal { mean: 0.0, variance: 0.0 };

/// Where a walk was.
pub(crate) struct WalkMedians {
    /// Of each position, given all observations.
    pub medians: Vec<i64>,
    /// The last position, given all observations before it.
    pub last: Normal,
}

/// Discrete Laplace noise of an observation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaplaceNoise {
    pub scale: f64,
    pub variance: f64,
}

impl LaplaceNoise {
    /// What an observation says, as if the noise were normal.
    fn seen(self, observed: i64) -> Normal {
        Normal { mean: observed as f64, variance: self.variance }
    }
}

/// The logarithms of the probability densities of such observations up to a constant, as if the
/// noise were normal, by walks whose steps differ in their variances. `steps`: the mean of each and
/// its variances, `end` likewise.
///
/// They walk side by side, as a step of one has to wait for the one before.
pub(crate) fn log_likelihoods<const N: usize>(
    steps: impl Iterator<Item = (f64, [f64; N])>,
    end: (f64, [f64; N]),
    observed: &[i64],
    noise: LaplaceNoise,
) -> [f64; N] {
    let (mut means, mut variances, mut squares) = ([0.0; N], [0.0; N], [0.0; N]);
    // a logarithm for many factors
    let (mut products, mut logarithms) = ([1.0; N], [0.0; N]);
    let mut observe = |(step, of_step): (f64, [f64; N]), seen: f64, of_seen: [f64; N]| {
        for walk in 0..N {
            let before = variances[walk] + of_step[walk];
            let off = seen - (means[walk] + step);
            let variance = before + of_seen[walk];
            let precision = 1.0 / variance;
            squares[walk] += off * off * precision;
            products[walk] *= variance;
            means[walk] = seen - off * (of_seen[walk] * precision);
            variances[walk] = before * precision * of_seen[walk];
        }
        if products.iter().any(|product| !(1e-150..1e150).contains(product)) {
            for (logarithm, product) in logarithms.iter_mut().zip(&mut products) {
                *logarithm += replace(product, 1.0).ln();
            }
        }
    };
    for (step, &value) in steps.zip(observed) {
        observe(step, value as f64, [noise.variance; N]);
    }
    if !observed.is_empty() {
        observe((0.0, [0.0; N]), end.0, end.1);
    }
    array::from_fn(|walk| -(squares[walk] + logarithms[walk] + products[walk].ln()) / 2.0)
}

impl Walk {
    /// The median of each position, given all observations: one for each step.
    pub(crate) fn medians(&self, observed: &[i64], noise: LaplaceNoise) -> WalkMedians {
        // what each observation says, in place of which all have the noise's variance at first
        let mut seen: Vec<Normal> = observed.iter().map(|&value| noise.seen(value)).collect();
        let product = |others: Normal, value: i64| Product {
            others,
            value: value as f64,
            scale: noise.scale,
        };
        // what all before say of each position, and what all after it do
        let mut before = vec![START; seen.len()];
        let mut after = vec![self.end; seen.len()];
        for i in (1..seen.len()).rev() {
            after[i - 1] = after[i].and(seen[i]).before(self.steps[i]);
        }
        let mut at = START;
        for i in 0..seen.len() {
            before[i] = at.after(self.steps[i]);
            seen[i] = product(before[i].and(after[i]), observed[i]).replaced();
            at = before[i].and(seen[i]);
        }
        for i in (0..seen.len()).rev() {
            seen[i] = product(before[i].and(after[i]), observed[i]).replaced();
            if i > 0 {
                after[i - 1] = after[i].and(seen[i]).before(self.steps[i]);
            }
        }
        let (mut medians, mut density) = (Vec::with_capacity(seen.len()), Density::new());
        let (mut at, mut last) = (START, START);
        for i in 0..seen.len() {
            last = at.after(self.steps[i]);
            let median = product(last.and(after[i]), observed[i]).median(&mut density);
            medians.push(observed[i].saturating_add(median));
            at = last.and(seen[i]);
        }
        WalkMedians { medians, last }
    }
}

/// The product of a normal density and a Laplace density about an observed value.
struct Product {
    others: Normal,
    value: f64,
    scale: f64,
}

impl Product {
    /// The normal observation with which `others` has the mean and variance of this product.
    fn replaced(&self) -> Normal {
        // fine enough for both densities, and the Laplace density's peak is a point of the grid
        let spacing = self.others.variance.sqrt().min(self.scale) / 2.0;
        let [mut mass, mut first, mut second] = [1.0, 0.0, 0.0];
        let grid = self.grid(spacing);
        for direction in [Direction::Down, Direction::Up] {
            let (mut place, mut moment) = (0.0, 0.0);
            grid.walk_from_mode(direction, |weight| {
                place += 1.0;
                mass += weight;
                moment += weight * place;
                second += weight * place * place;
            });
            first += direction.sign() * moment;
        }
        let mean = first / mass;
        let variance = (second / mass - mean * mean) * spacing * spacing;
        // From the mean of `others`, as a difference of means would cancel. It is its variance
        // times the mean slope of the Laplace density's logarithm (Stein's identity), which is 1 /
        // scale at most.
        let most = self.others.variance / self.scale;
        let moved = (grid.from_mean + mean * spacing).clamp(-most, most);
        let before = 1.0 / self.others.variance;
        let inverse_square = self.scale.powi(-2);
        // of normal noise of this scale it would be 1/2
        let precision =
            (1.0 / variance - before).clamp(inverse_square / 32.0, 4.0 * inverse_square + 1.0);
        let mean = self.others.mean + moved * (before / precision + 1.0);
        Normal { mean, variance: 1.0 / precision }
    }

    /// The median among the integers, relative to the observed value; rounded where the noise is
    /// many integers wide.
    fn median(&self, density: &mut Density) -> i64 {
        let spacing = (self.others.variance.sqrt().min(self.scale) / 6.0).floor().max(1.0);
        let grid = self.grid(spacing);
        let Density { below, above } = density;
        let [all_below, all_above] = [(Direction::Down, &mut *below), (Direction::Up, &mut *above)]
            .map(|(direction, weights)| {
                weights.clear();
                let mut sum = 0.0;
                grid.walk_from_mode(direction, |weight| {
                    weights.push(weight);
                    sum += weight;
                });
                sum
            });
        let half = (all_below + 1.0 + all_above) / 2.0;
        // up to a point that begins next to the mode, from which the median is not far
        let mut sum = all_below;
        let steps = if sum >= half {
            let before = below.iter().take_while(|&&weight| {
                sum -= weight;
                sum >= half
            });
            -1 - before.count() as i64
        } else {
            sum += 1.0;
            let after = above.iter().take_while(|&&weight| {
                let is_below = sum < half;
                sum += weight;
                is_below
            });
            after.count() as i64
        };
        (grid.mode as i64 + steps).saturating_mul(spacing as i64)
    }

    /// Of multiples of `spacing` from the observed value.
    fn grid(&self, spacing: f64) -> Grid {
        let Normal { mean, variance } = self.others;
        // the mean drawn towards the observed value by as much as that is worth
        let off = mean - self.value;
        let most = variance / self.scale;
        let mode = off - off.max(-most).min(most);
        // further than a place can be told; a position there is as good as the observed one
        let place = (mode / spacing).round().clamp(-FURTHEST, FURTHEST);
        let from_mean = self.value + place * spacing - mean;
        Grid {
            mode: place,
            from_mean,
            upwards: (-spacing * (from_mean + spacing / 2.0) / variance).exp(),
            decay: (-spacing * spacing / variance).exp(),
            laplace: (-spacing / self.scale).exp(),
        }
    }
}

/// Points with equal spacing at which the product of a normal and a Laplace density is looked at.
struct Grid {
    /// About where the product is largest, in spacings from the observed value.
    mode: f64,
    /// How far that point is from the normal density's mean.
    from_mean: f64,
    /// The ratio of the normal density one point above it to that there, and what such a ratio is
    /// multiplied by from one point to the next.
    upwards: f64,
    decay: f64,
    /// The ratio of the Laplace densities of two points next to each other, away from the observed value.
    laplace: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    Down,
    Up,
}

impl Direction {
    fn sign(self) -> f64 {
        if self == Direction::Up { 1.0 } else { -1.0 }
    }
}

impl Grid {
    /// Gives `visit` the density at one point after the other in a direction from the mode, as
    /// multiples of that there, up to where it is negligible.
    #[inline(always)]
    fn walk_from_mode(&self, direction: Direction, mut visit: impl FnMut(f64)) {
        let &Grid { upwards, decay, laplace, .. } = self;
        let towards_value = laplace.recip();
        let (mut place, mut weight) = (self.mode * direction.sign(), 1.0);
        // that of the normal densities; up and down are reciprocal, but for one step's decay
        let mut ratio = if direction == Direction::Up { upwards } else { decay / upwards };
        for _ in 0..MOST_POINTS {
            weight *= ratio * if place < 0.0 { towards_value } else { laplace };
            if !(NEGLIGIBLE..LARGEST).contains(&weight) {
                break;
            }
            visit(weight);
            ratio *= decay;
            place += 1.0;
        }
    }
}

/// A density at points with equal spacing, as multiples of that at the mode: those below it and
/// those above it, from there on.
struct Density {
    below: Vec<f64>,
    above: Vec<f64>,
}

impl Density {
    /// For most densities with room enough.
    fn new() -> Density {
        Density { below: Vec::with_capacity(64), above: Vec::with_capacity(64) }
    }
}

/// Of a density, relative to its peak.
const NEGLIGIBLE: f64 = 1e-6;

/// About 1 is the largest, unless the mode is [`FURTHEST`].
const LARGEST: f64 = 1e100;

/// Of a peak from the observed value, in spacings: integers up to here are exact.
const FURTHEST: f64 = (1u64 << 53) as f64;

/// Of a grid on each side of a peak. No two densities with a peak as wide as a few hundred spacings
/// need more.
const MOST_POINTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::repeat_n;

    fn walk(steps: usize, step: (f64, f64), end: (f64, f64)) -> Walk {
        let normal = |(mean, variance)| Normal { mean, variance };
        Walk { steps: vec![normal(step); steps], end: normal(end) }
    }

    fn laplace(scale: f64) -> LaplaceNoise {
        LaplaceNoise { scale, variance: 2.0 * scale * scale }
    }

    /// The exact medians of two positions, over a grid of pairs.
    fn medians_of_two(walk: &Walk, observed: [i64; 2], scale: f64) -> [f64; 2] {
        let normal = |x: f64, of: Normal| (-(x - of.mean).powi(2) / 2.0 / of.variance).exp();
        let laplace = |x: f64, y: i64| (-(x - y as f64).abs() / scale).exp();
        let grid = || (-120..240).map(|i| f64::from(i) / 4.0);
        let density = |x: f64, y: f64| {
            let walked = normal(x, walk.steps[0]) * normal(y - x, walk.steps[1]);
            walked * normal(y, walk.end) * laplace(x, observed[0]) * laplace(y, observed[1])
        };
        let median = |marginal: &dyn Fn(f64) -> f64| {
            let mass: Vec<f64> = grid().map(marginal).collect();
            let half = mass.iter().sum::<f64>() / 2.0;
            let mut sum = 0.0;
            let mut upto = grid().zip(mass).filter(|(_, mass)| {
                sum += mass;
                sum >= half
            });
            upto.next().map_or(f64::NAN, |(place, _)| place)
        };
        [
            median(&|x| grid().map(|y| density(x, y)).sum()),
            median(&|y| grid().map(|x| density(x, y)).sum()),
        ]
    }

    #[test]
    fn medians_are_those_of_the_exact_distribution() {
        for step in [(2.0, 1.0), (10.0, 30.0), (3.0, 200.0)] {
            for end in [(20.0, 4.0), (20.0, 300.0)] {
                for observed in [[3, 20], [15, 2], [0, 0], [-6, 30]] {
                    for scale in [1.0, 4.0] {
                        let walk = walk(2, step, end);
                        let found = walk.medians(&observed, laplace(scale)).medians;
                        let exact = medians_of_two(&walk, observed, scale);
                        for (found, exact) in found.iter().zip(exact) {
                            let off = (*found as f64 - exact).abs();
                            assert!(off <= 0.6 + 0.15 * scale, "{step:?} {observed:?}: {off}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn where_nothing_is_expected_the_observations_stay() {
        let observed = [40, -7, 0, 900, 31];
        let walk = walk(5, (0.0, 1e9), (0.0, 1e9));
        assert_eq!(walk.medians(&observed, laplace(3.0)).medians, observed);
    }

    #[test]
    fn where_all_is_known_the_observations_say_nothing() {
        let walk = walk(5, (7.0, 1e-6), (35.0, 1e-6));
        assert_eq!(walk.medians(&[40, -7, 0, 900, 31], laplace(3.0)).medians, [7, 14, 21, 28, 35]);
    }

    /// A walk that stands still is at the median of its observations, which one of them that is far
    /// off hardly moves.
    #[test]
    fn an_outlier_counts_as_in_a_median() {
        let mut standing = walk(9, (0.0, 1e-6), (0.0, 1e9));
        standing.steps[0].variance = 1e9;
        let medians = standing.medians(&[10, 12, 9, 11, 10, 8, 11, 9, 40], laplace(2.0)).medians;
        assert!(medians.iter().all(|median| (9..=11).contains(median)), "{medians:?}");
    }

    #[test]
    fn the_true_variance_is_the_most_likely() {
        // steps of 0 and 8 in turn
        let observed: Vec<i64> = (1..200).map(|i| 8 * (i / 2)).collect();
        let steps = repeat_n((4.0, [1.0, 16.0, 200.0]), 199);
        let [less, likely, more] =
            log_likelihoods(steps, (800.0, [1e9; 3]), &observed, laplace(0.5));
        assert!(likely > less && likely > more);
    }

    /// What is known of the end is many orders of magnitude more than of the place before.
    #[test]
    fn variances_of_all_magnitudes_leave_positions_in_place() {
        for (large, scale) in [(1e12, 1e7), (1e18, 1e9), (1e30, 1e9)] {
            let mut walk = walk(6, (10.0, 1e-6), (60.0, 1e-6));
            walk.steps[2].variance = large;
            let observed = [0, 1, 2, 1_000_000, -7, 40].map(|y| y * scale as i64);
            let medians = walk.medians(&observed, laplace(scale)).medians;
            for (median, expected) in medians.iter().zip((10..).step_by(10)) {
                assert!((median - expected).abs() <= 1, "{large}: {medians:?}");
            }
        }
    }

    /// At the furthest place that can be told the density may be nothing next to what it is at the
    /// peak: some of these sums leave the range of floating point if they are not ended.
    #[test]
    fn observations_that_are_too_far_off_do_no_harm() {
        for variance in [1.0, 2.0, 30.0] {
            for beyond in 0..400 {
                let value = FURTHEST / 2.0 + f64::from(beyond);
                let others = Normal { mean: 0.0, variance };
                let replaced = Product { others, value, scale: 1.0 }.replaced();
                assert!(replaced.mean.is_finite() && replaced.variance > 0.0, "{beyond}");
            }
        }
    }

    #[test]
    fn no_observations_have_no_medians() {
        assert!(walk(0, (1.0, 1.0), (1.0, 1.0)).medians(&[], laplace(1.0)).medians.is_empty());
    }
}
