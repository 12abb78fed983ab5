//! A random walk seen through Laplace noise: where it was at each step.
//!
//! The walk's steps are normal with known means and variances, and each of its positions is
//! observed once. With normal noise a pass forwards and one backwards (Kalman, Rauch, Tung,
//! Striebel) would give every position's distribution, given all observations, in O(n). An
//! observation with Laplace noise is replaced by that normal one which, together with what all
//! others say of its position, agrees with it in mean and variance: expectation propagation (Minka
//! 2001). A few rounds of it settle, since a Laplace density is log-concave and so no replacement
//! gets a negative precision. All are replaced at once, so each goes half the way and keeps some
//! precision: many observations that lie to one side would otherwise push together, with nothing to
//! hold them. Where many positions lie close together this weighs observations nearly as a median
//! does, with half the variance of a mean.

/// Of a normal distribution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    pub mean: f64,
    pub variance: f64,
}

/// What an observation says of its position: a normal density by its precision and its mean times
/// the precision.
#[derive(Debug, Clone, Copy)]
struct Message {
    precision: f64,
    weighted: f64,
}

/// Rounds of expectation propagation; after these the positions moved by far less than the noise.
const ROUNDS: usize = 6;

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

impl Walk {
    /// The logarithm of the probability density of such observations up to a constant, as if the
    /// noise were normal.
    pub(crate) fn log_likelihood(&self, observed: &[i64], noise: LaplaceNoise) -> f64 {
        self.filter(normal_messages(observed, noise), |_, _| ()).1
    }

    /// The median of each position, given all observations: one for each step.
    pub(crate) fn medians(&self, observed: &[i64], noise: LaplaceNoise) -> WalkMedians {
        let mut messages: Vec<Message> = normal_messages(observed, noise).collect();
        let (mut passed, mut grid) = (Passed::default(), DensityGrid::default());
        for _ in 0..ROUNDS {
            self.pass(&messages, &mut passed);
            let positions = passed.positions.iter();
            for ((position, message), &value) in positions.zip(&mut messages).zip(observed) {
                if let Some(others) = message.removed_from(position) {
                    let product = Product { others, value: value as f64, scale: noise.scale };
                    *message = message.halfway_to(product.message(&mut grid));
                }
            }
        }
        self.pass(&messages, &mut passed);
        let medians = passed.positions.iter().zip(&messages).zip(observed);
        let median = |((position, message), &value): ((&Normal, &Message), &i64)| match message
            .removed_from(position)
        {
            Some(others) => {
                let product = Product { others, value: value as f64, scale: noise.scale };
                value.saturating_add(product.median(&mut grid))
            }
            None if position.mean.is_finite() => position.mean.round() as i64,
            None => value,
        };
        let last = passed.predicted.last().copied().unwrap_or(START);
        WalkMedians { medians: medians.map(median).collect(), last }
    }

    /// Each position's distribution given all observations: the pass backwards after the one
    /// forwards.
    fn pass(&self, messages: &[Message], passed: &mut Passed) {
        let Passed { predicted, positions } = passed;
        predicted.clear();
        positions.clear();
        let (end, _) = self.filter(messages.iter().copied(), |before, after| {
            predicted.push(before);
            positions.push(after);
        });
        if let Some(last) = positions.last_mut() {
            *last = end;
        }
        for i in (1..positions.len()).rev() {
            let (next, expected, step) = (positions[i], predicted[i], self.steps[i]);
            let here = &mut positions[i - 1];
            let share = here.variance / expected.variance;
            here.mean += share * (next.mean - expected.mean);
            // here + share^2 (next - expected), as a sum: a difference could cancel to 0 or below
            here.variance = share * (step.variance + share * next.variance);
        }
    }

    /// The pass forwards. `visit` gets each position given all observations before it, and given
    /// its own as well. Returns the last position given all that is known, and the logarithm of the
    /// density of all observations, but for a constant.
    #[inline]
    fn filter(
        &self,
        messages: impl Iterator<Item = Message>,
        mut visit: impl FnMut(Normal, Normal),
    ) -> (Normal, f64) {
        let mut log_density = 0.0;
        let mut observe = |position: Normal, seen: Normal| {
            let variance = position.variance + seen.variance;
            let off = seen.mean - position.mean;
            log_density -= (variance.ln() + off * off / variance) / 2.0;
            Normal {
                mean: position.mean + off * position.variance / variance,
                variance: position.variance * seen.variance / variance,
            }
        };
        let mut at = START;
        for (step, message) in self.steps.iter().zip(messages) {
            at.mean += step.mean;
            at.variance += step.variance;
            let before = at;
            at = observe(at, message.normal());
            visit(before, at);
        }
        if !self.steps.is_empty() {
            at = observe(at, self.end);
        }
        (at, log_density)
    }
}

/// Each position: given all observations before it; and given all.
#[derive(Default)]
struct Passed {
    predicted: Vec<Normal>,
    positions: Vec<Normal>,
}

fn normal_messages(observed: &[i64], noise: LaplaceNoise) -> impl Iterator<Item = Message> + '_ {
    let precision = 1.0 / noise.variance;
    observed.iter().map(move |&y| Message { precision, weighted: y as f64 * precision })
}

impl Message {
    fn normal(self) -> Normal {
        Normal { mean: self.weighted / self.precision, variance: 1.0 / self.precision }
    }

    fn halfway_to(self, other: Message) -> Message {
        Message {
            precision: (self.precision + other.precision) / 2.0,
            weighted: (self.weighted + other.weighted) / 2.0,
        }
    }

    /// What all other observations say, if that is anything.
    fn removed_from(self, position: &Normal) -> Option<Normal> {
        let precision = 1.0 / position.variance - self.precision;
        let weighted = position.mean / position.variance - self.weighted;
        (precision > 0.0).then(|| Normal { mean: weighted / precision, variance: 1.0 / precision })
    }
}

/// The product of a normal density and a Laplace density about an observed value.
struct Product {
    others: Normal,
    value: f64,
    scale: f64,
}

impl Product {
    /// The normal message with which `others` has the mean and variance of this product.
    fn message(&self, grid: &mut DensityGrid) -> Message {
        // fine enough for both densities, and the Laplace density's peak is a point of the grid
        let spacing = self.others.variance.sqrt().min(self.scale) / 2.0;
        let from_mean = self.on_grid(spacing, grid).from_mean;
        let [mut mass, mut mean, mut square] = [0.0; 3];
        let mut place = -(grid.below.len() as f64);
        for weight in grid.weights() {
            mass += weight;
            mean += weight * place;
            square += weight * place * place;
            place += 1.0;
        }
        mean /= mass;
        let variance = (square / mass - mean * mean) * spacing * spacing;
        // From the mean of `others`, as a difference of means would cancel. It is its variance
        // times the mean slope of the Laplace density's logarithm (Stein's identity), which is 1 /
        // scale at most.
        let most = self.others.variance / self.scale;
        let moved = (from_mean + mean * spacing).clamp(-most, most);
        let before = 1.0 / self.others.variance;
        let inverse_square = self.scale.powi(-2);
        // of normal noise of this scale it would be 1/2
        let precision =
            (1.0 / variance - before).clamp(inverse_square / 32.0, 4.0 * inverse_square + 1.0);
        Message { precision, weighted: moved * (before + precision) + self.others.mean * precision }
    }

    /// The median among the integers, relative to the observed value; rounded where the noise is
    /// many integers wide.
    fn median(&self, grid: &mut DensityGrid) -> i64 {
        let spacing = (self.others.variance.sqrt().min(self.scale) / 6.0).floor().max(1.0);
        let mode = self.on_grid(spacing, grid).mode;
        let half = grid.weights().sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let below = grid.weights().take_while(|&weight| {
            sum += weight;
            sum < half
        });
        let steps = mode as i64 + below.count() as i64 - grid.below.len() as i64;
        steps.saturating_mul(spacing as i64)
    }

    /// The density where it is not negligible, at multiples of `spacing` from the observed value.
    fn on_grid(&self, spacing: f64, grid: &mut DensityGrid) -> Mode {
        let Normal { mean, variance } = self.others;
        // the mode: the mean drawn towards the observed value by as much as that is worth
        let off = mean - self.value;
        let most = variance / self.scale;
        let mode = off - off.clamp(-most, most);
        // further than a place can be told; a position there is as good as the observed one
        let mode = (mode / spacing).round().clamp(-FURTHEST, FURTHEST);
        let from_mean = self.value + mode * spacing - mean;
        let decay = (-spacing * spacing / variance).exp();
        let laplace = (-spacing / self.scale).exp();
        let towards_value = laplace.recip();
        let walk = |direction: f64, weights: &mut Vec<f64>| {
            let (mut place, mut weight) = (mode * direction, 1.0);
            // the ratio of the normal density at the next point to that at this one
            let mut ratio = (-spacing * (direction * from_mean + spacing / 2.0) / variance).exp();
            weights.clear();
            for _ in 0..MOST_POINTS {
                weight *= ratio * if place < 0.0 { towards_value } else { laplace };
                if !(weight > NEGLIGIBLE && weight.is_finite()) {
                    break;
                }
                weights.push(weight);
                ratio *= decay;
                place += 1.0;
            }
        };
        walk(-1.0, &mut grid.below);
        walk(1.0, &mut grid.above);
        Mode { mode, from_mean }
    }
}

/// About where a density on a grid is largest.
struct Mode {
    /// In spacings from the observed value.
    mode: f64,
    /// How far that point is from the normal density's mean.
    from_mean: f64,
}

/// A density at points with equal spacing, as multiples of that at the mode: those below it and
/// those above it, from there on.
#[derive(Default)]
struct DensityGrid {
    below: Vec<f64>,
    above: Vec<f64>,
}

impl DensityGrid {
    /// In the points' order.
    fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        self.below.iter().rev().chain([&1.0]).chain(&self.above).copied()
    }
}

/// Of a density, relative to its peak.
const NEGLIGIBLE: f64 = 1e-9;

/// Of a peak from the observed value, in spacings: integers up to here are exact.
const FURTHEST: f64 = (1u64 << 53) as f64;

/// Of a grid on each side of a peak. No two densities with a peak as wide as a few hundred spacings
/// need more.
const MOST_POINTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

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
        let density = |variance| {
            walk(199, (4.0, variance), (800.0, 1e9)).log_likelihood(&observed, laplace(0.5))
        };
        assert!(density(16.0) > density(1.0) && density(16.0) > density(200.0));
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

    #[test]
    fn no_observations_have_no_medians() {
        assert!(walk(0, (1.0, 1.0), (1.0, 1.0)).medians(&[], laplace(1.0)).medians.is_empty());
    }
}
