//! What is known of a region's cumulative counts, and how well; least squares up the tree.
//!
//! A region's numbers of groups of size at most i are the sums of its children's. So they were
//! measured twice, and the least-squares estimate is the mean of both, weighted by inverse
//! variances (Hay et al. 2010, "constrained inference"). From the leaves up, every region's
//! estimate is joined with the sum of its children's.
//!
//! # Means along sizes
//!
//! Both estimates have as many groups. Put these in the order of their sizes and take the mean of
//! the two sizes of each rank: where a mean is no integer, as many of the groups in question get
//! the next larger one as make it right. Where many groups have sizes a and a + 1 in the two
//! estimates, this is the mean of their counts; where few are far from all others, it is that of
//! their sizes, which errs less than counts of half a group. So estimates have fractions of groups,
//! here in 2^-32.
//!
//! # Variances
//!
//! See [`CutNoise`]. Where a region's own estimate has fewer groups in a stretch of sizes than its children
//! have, so many more are taken to be there as its noise may hide: little is known of a region that was
//! measured with much noise, also at the sizes where it seems to have no group. (Taken as it is, a fiftieth of
//! epsilon for a root made it twice as far off as none, and a thousandth fifteen times.) And where both have few,
//! those of the stretches around count that noise may have put there ([`CutNoise::within_reach`]: a stretch that
//! is empty since its groups were put elsewhere is not known. With a hundredth of epsilon 0.15 for a root of 600 groups
//! its error is an eighth of what it was, and with equal shares what it was.) Errors of smoothed
//! children have something in common, their parent's shape: as a sum they count as if they were not smoothed.
//! (Counted as they are, the root's error was up to a quarter larger.)
//!
//! Where both estimates are further apart than chance explains, the children's have a bias in common
//! ([`LARGEST_BIAS`]), or its own has lost what noise hid. Its share of the blame is the share of its noise that is more
//! than the noise of all of them together. (Blaming the children alone made a root with a hundredth of epsilon
//! pull the leaves to where it saw no group: sparse data's root was up to three times as far off as here.)
//!
//! What was tried: variances of all columns equal to v; the mean of the counts everywhere (6 % more
//! error in sparse data); rounding towards the children, which leaves their errors as they were
//! measured and makes their parents' up to 40 % larger.

use crate::coco::{Coco, Estimate, Run, exactly};
use crate::hierarchy::consistency::cut_noise::{
    CutNoise, begin, densities, parallel, stretch, width,
};
use crate::work::poll;
use std::borrow::Borrow;

/// An estimate with fractions of groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Curve {
    /// In ascending order of sizes and numbers; the last number is that of all groups.
    steps: Vec<Step>,
    /// Of the number of groups up to a size of each stretch, as part of a sum.
    variances: Vec<f64>,
    /// The variance of all that was measured of such a number, had none of it been smoothed.
    measured: f64,
}

/// How many groups are of this size or less.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Step {
    pub size: u64,
    parts: u128,
}

/// Parts of a group.
const PARTS: u128 = 1 << 32;

/// How many times the expected square a difference must be to be no chance.
const BEYOND_CHANCE: f64 = 4.0;

/// The square of the bias that children's estimates have in common, in units of their variance. It
/// was 0.3 at most, where they hold no group of most sizes.
const LARGEST_BIAS: f64 = 0.3;

/// For so much less than its variance a region's own estimate counts: its children's have a bias in common.
const OWN: f64 = 0.75;

impl Step {
    /// The nearest integer, halves upwards.
    pub(super) fn groups(self) -> u64 {
        ((self.parts + PARTS / 2) / PARTS) as u64
    }

    /// How many more than so many.
    pub(super) fn above(self, groups: u64) -> f64 {
        (self.parts as i128 - (u128::from(groups) * PARTS) as i128) as f64 / PARTS as f64
    }
}

/// Of the second of two lists, size by size.
struct WeightsBySize {
    of_stretch: Vec<f64>,
    /// The sum over all sizes before a stretch.
    before: Vec<f64>,
}

impl WeightsBySize {
    fn new(of_stretch: Vec<f64>) -> WeightsBySize {
        let mut sum = 0.0;
        let before = (0..).zip(&of_stretch).map(|(stretch, weight)| {
            let before = sum;
            sum += width(stretch, u64::MAX) * weight;
            before
        });
        let before = before.collect();
        WeightsBySize { of_stretch, before }
    }

    /// The sum over all sizes before this one. A group of that size in the second list is as far
    /// from one in the first as the sum of the weights between them: each size between has a
    /// cumulative count that the lists disagree about.
    fn upto(&self, size: u64) -> f64 {
        let stretch = stretch(size).min(self.before.len() - 1);
        self.before[stretch] + self.of_stretch[stretch] * (size - begin(stretch)) as f64
    }
}

/// The weighted means of two lists of as many groups, rank by rank, both in ascending order of
/// sizes: sizes and parts, in no order.
fn means(
    one: impl Iterator<Item = (u64, u128)>,
    other: impl Iterator<Item = (u64, u128)>,
    weights: &WeightsBySize,
) -> Vec<(u64, u128)> {
    let mut means = Vec::new();
    let mut other = other;
    let (mut second, mut left) = (0, 0);
    for (first, parts) in one {
        let mut parts = parts;
        while parts > 0 {
            if left == 0 {
                // never fewer than the others
                (second, left) = other.next().unwrap_or((first, parts));
            }
            let both = parts.min(left);
            (parts, left) = (parts - both, left - both);
            let mean = first as f64 + (weights.upto(second) - weights.upto(first));
            // floating point could lead beyond both
            let mean = mean.clamp(first.min(second) as f64, first.max(second) as f64);
            let size = mean as u64;
            let of_next = ((mean.fract() * both as f64) as u128).min(both);
            means.push((size, both - of_next));
            if of_next > 0 {
                means.push((size + 1, of_next));
            }
        }
    }
    means
}

/// From parts of groups in ascending order of their sizes.
fn steps(parts: impl Iterator<Item = (u64, u128)>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::with_capacity(parts.size_hint().0);
    let mut below = 0;
    for (size, parts) in parts {
        below += parts;
        match steps.last_mut() {
            Some(last) if last.size == size => last.parts = below,
            _ => steps.push(Step { size, parts: below }),
        }
    }
    exactly(steps)
}

/// The mean square, in each stretch of sizes, of the difference of two lists' numbers of groups up
/// to a size. Both are in ascending order and have as many groups.
fn squares_apart(
    one: impl Iterator<Item = (u64, u128)>,
    other: &[(u64, u128)],
    max_size: u64,
) -> Vec<f64> {
    let mut squares = vec![0.0; stretch(max_size) + 1];
    let (mut one, mut other) = (one.peekable(), other.iter().copied().peekable());
    let mut apart = 0i128;
    let mut size = 0;
    while let Some(next) = one.peek().into_iter().chain(other.peek()).map(|part| part.0).min() {
        // the difference stays from here to the next size, through as many stretches
        while size < next {
            let (place, end) = (stretch(size), next.min(begin(stretch(size) + 1)));
            squares[place] += (apart as f64 / PARTS as f64).powi(2) * (end - size) as f64;
            size = end;
        }
        while let Some((_, parts)) = one.next_if(|part| part.0 == next) {
            apart += parts as i128;
        }
        while let Some((_, parts)) = other.next_if(|part| part.0 == next) {
            apart -= parts as i128;
        }
    }
    let squares = squares.into_iter().enumerate();
    squares.map(|(stretch, square)| square / width(stretch, max_size).max(1.0)).collect()
}

/// What an estimate says by itself, as steps.
pub(super) fn of_estimate(estimate: &Estimate) -> Vec<Step> {
    steps(own_parts(estimate))
}

fn own_parts(estimate: &Estimate) -> impl Iterator<Item = (u64, u128)> + Clone {
    estimate.runs().iter().map(|run| (run.size, u128::from(run.groups) * PARTS))
}

/// Parts as groups.
fn groups(parts: impl Iterator<Item = (u64, u128)>) -> impl Iterator<Item = (u64, f64)> {
    parts.map(|(size, parts)| (size, parts as f64 / PARTS as f64))
}

/// What all children say together.
struct Sum {
    /// Sizes in ascending order with how much there is of each.
    parts: Vec<(u64, u128)>,
    variances: Vec<f64>,
    measured: f64,
}

fn sum(children: impl Iterator<Item: Borrow<Curve>>) -> Sum {
    let (mut parts, mut room) = (Vec::new(), FEW_PARTS);
    let (mut variances, mut measured) = (Vec::new(), 0.0);
    for child in children {
        poll();
        let child = child.borrow();
        measured += child.measured;
        variances.resize(child.variances.len().max(variances.len()), 0.0);
        variances.iter_mut().zip(&child.variances).for_each(|(sum, variance)| *sum += variance);
        parts.extend(child.parts());
        if parts.len() > room {
            join_sizes(&mut parts);
            room = FEW_PARTS.max(2 * parts.len());
        }
    }
    join_sizes(&mut parts);
    Sum { parts, variances, measured }
}

/// Many children have groups of the same sizes; so many are kept before these are joined.
const FEW_PARTS: usize = 1 << 14;

fn join_sizes(parts: &mut Vec<(u64, u128)>) {
    parts.sort_unstable_by_key(|(size, _)| *size);
    parts.dedup_by(|next, last| {
        let same = next.0 == last.0;
        last.1 += if same { next.1 } else { 0 };
        same
    });
}

impl AsRef<[Step]> for Curve {
    fn as_ref(&self) -> &[Step] {
        &self.steps
    }
}

impl Curve {
    /// What is known of a region from its own estimate and from the curves of its children, if it
    /// has any; they have as many groups together.
    pub(super) fn new(
        estimate: &Estimate,
        noise: CutNoise,
        children: impl ExactSizeIterator<Item: Borrow<Curve>>,
    ) -> Curve {
        let own = own_parts(estimate);
        let plain = CutNoise { smoothed: false, ..noise };
        let count = children.len();
        let mut at_sizes = densities(groups(own.clone()), noise.max_size);
        if count == 0 {
            let variances = at_sizes.iter().map(|density| plain.variance_at(*density)).collect();
            return Curve { steps: steps(own), variances, measured: noise.variance };
        }
        let Sum { parts, variances: mut sums, measured: of_sum } = sum(children);
        let of_children = densities(groups(parts.iter().copied()), noise.max_size);
        for (stretch, (density, of_children)) in at_sizes.iter_mut().zip(of_children).enumerate() {
            let hidden = noise.variance.sqrt() / width(stretch, noise.max_size).max(1.0);
            *density = of_children.clamp(*density, *density + hidden);
        }
        let at_sizes = noise.within_reach(&at_sizes);
        let variances = |noise: CutNoise| at_sizes.iter().map(move |d| noise.variance_at(*d));
        let as_part = variances(plain);
        sums.resize(at_sizes.len(), 0.0);
        let mut variances: Vec<f64> = variances(noise).collect();
        let bias = 1.0 + LARGEST_BIAS * count as f64;
        // of an excess that is no chance
        let own_share = if noise.variance > of_sum { 1.0 - of_sum / noise.variance } else { 0.0 };
        let apart = squares_apart(own.clone(), &parts, noise.max_size);
        for (stretch, square) in apart.into_iter().enumerate() {
            let (own, sum) = (&mut variances[stretch], &mut sums[stretch]);
            let expected = *own + *sum;
            if square > BEYOND_CHANCE * expected {
                let excess = square - expected;
                *own += own_share * excess;
                *sum = (*sum + (1.0 - own_share) * excess).min(*sum * bias);
            }
        }
        let weight = |(own, sum): (&f64, &f64)| {
            let own = OWN * own;
            if own > 0.0 { own / (own + sum) } else { 0.0 }
        };
        let weights = WeightsBySize::new(variances.iter().zip(&sums).map(weight).collect());
        poll();
        let mut means = means(own, parts.into_iter(), &weights);
        poll();
        means.sort_by_key(|(size, _)| *size);
        Curve {
            steps: steps(means.into_iter()),
            variances: as_part.zip(sums).map(|(own, sum)| parallel(own, sum)).collect(),
            measured: parallel(noise.variance, of_sum),
        }
    }

    /// Of a region that was not measured itself.
    pub(super) fn of_children(children: impl Iterator<Item: Borrow<Curve>>) -> Curve {
        let Sum { parts, variances, measured } = sum(children);
        Curve { steps: steps(parts.into_iter()), variances, measured }
    }

    /// The nearest whole numbers of groups.
    pub(super) fn histogram(&self) -> Coco {
        let mut below = 0;
        let runs = self.steps.iter().map(|step| {
            let groups = step.groups() - below;
            below += groups;
            Run { size: step.size, groups }
        });
        Coco::from_ascending(runs)
    }

    /// Sizes and how much there is of each.
    fn parts(&self) -> impl Iterator<Item = (u64, u128)> + '_ {
        let mut below = 0;
        self.steps.iter().map(move |step| {
            let parts = step.parts - below;
            below = step.parts;
            (step.size, parts)
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::coco::{EstimatedRun, Estimator, HistogramMeasurement, Profile, emd};
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    const MAX_SIZE: u64 = 1 << 12;

    pub(in super::super) fn estimate(runs: &[(u64, u64)]) -> Estimate {
        let run = |&(size, groups)| EstimatedRun { size, variance: 1.0, groups };
        Estimate::new(runs.iter().map(run).collect())
    }

    pub(in super::super) fn curve(runs: &[(u64, u64)], variance: f64, children: &[Curve]) -> Curve {
        let noise = CutNoise { variance, smoothed: false, max_size: MAX_SIZE };
        Curve::new(&estimate(runs), noise, children.iter())
    }

    fn runs(histogram: &Coco) -> Vec<(u64, u64)> {
        histogram.runs().iter().map(|run| (run.size, run.groups)).collect()
    }

    /// Both of the same variance: the mean, but for what the region's own is preferred.
    #[test]
    fn far_groups_get_the_mean_of_their_sizes() {
        let child = curve(&[(1100, 1), (3000, 1)], 2e4, &[]);
        let joined = curve(&[(1200, 1), (3000, 1)], 2e4, &[child]);
        assert_eq!(runs(&joined.histogram()), [(1157, 1), (3000, 1)]);
    }

    /// 2 of 4000 groups are one size further on: half of them stay there.
    #[test]
    fn near_groups_get_the_mean_of_their_numbers() {
        let child = curve(&[(5, 2998), (6, 1002)], 2.0, &[]);
        let joined = curve(&[(5, 3000), (6, 1000)], 2.0, &[child]);
        let share = OWN / (1.0 + OWN);
        assert!((joined.steps[0].above(3000) + 2.0 * share).abs() < 0.01);
        assert_eq!(joined.steps[1], Step { size: 6, parts: 4000 * PARTS });
    }

    /// The sum of ten children has ten times the variance of their parent.
    #[test]
    fn variances_weigh() {
        let children = vec![curve(&[(5, 200), (6, 200)], 2.0, &[]); 10];
        let joined = curve(&[(5, 2003), (6, 1997)], 2.0, &children);
        let share = OWN / (10.0 + OWN);
        assert!((joined.steps[0].above(2003) + 3.0 * share).abs() < 0.01);
        let variance = |curve: &Curve| curve.variances[stretch(5)];
        assert!((variance(&joined) - 2.0 / 1.1).abs() < 0.01);
        // and without any noise the region's own estimate is the truth
        let joined = curve(&[(5, 3000), (6, 1000)], 0.0, &children);
        assert_eq!(runs(&joined.histogram()), [(5, 3000), (6, 1000)]);
    }

    /// A region's groups are at one size by its own estimate, and spread over many by its children's, with
    /// few of each.
    #[test]
    fn what_noise_may_hide_is_not_known() {
        let spread = |of_each| -> Vec<(u64, u64)> { (1..=400).map(|s| (s, of_each)).collect() };
        let children = vec![curve(&spread(1), 50.0, &[]); 10];
        let sum = curve(&spread(10), 50.0, &[]).histogram();
        for own in [[(0, 4000)], [(50, 4000)], [(3000, 4000)]] {
            let from_sum = |joined: Curve| emd(&joined.histogram(), &sum).unwrap() as f64;
            let all = from_sum(curve(&own, 1.0, &[]));
            let moved = |variance| from_sum(curve(&own, variance, &children)) / all;
            assert!(moved(1e8) < 0.03, "{own:?}: {}", moved(1e8));
            assert!(moved(0.1) > 0.5, "{own:?}: {}", moved(0.1));
        }
    }

    /// A region's noise put a tenth of its groups elsewhere, across sizes that neither has: its children know.
    #[test]
    fn what_noise_emptied_is_not_known() {
        let children = vec![curve(&[(2, 10), (13, 90)], 100.0, &[]); 10];
        let sum = curve(&[(2, 100), (13, 900)], 0.0, &[]).histogram();
        let moved = |variance| {
            let joined = curve(&[(13, 1000)], variance, &children);
            emd(&joined.histogram(), &sum).unwrap() as f64 / (11.0 * 100.0)
        };
        assert!(moved(1e4) < 0.2, "{}", moved(1e4));
        // and what noise does not explain stays as the region has it
        assert!(moved(1e-3) > 0.5, "{}", moved(1e-3));
    }

    /// A region measured with more noise than all its children together has lost its largest groups: these stay
    /// where the children have them. Were it measured better, the children would have made them up.
    #[test]
    fn who_was_measured_with_more_noise_is_to_blame() {
        let children = vec![curve(&[(5, 980), (2000, 20)], 2.0, &[]); 10];
        let sum = curve(&[(5, 9800), (2000, 200)], 0.0, &[]).histogram();
        let moved = |variance| {
            let joined = curve(&[(5, 10_000)], variance, &children);
            emd(&joined.histogram(), &sum).unwrap() as f64 / (1995.0 * 200.0)
        };
        assert!(moved(1e4) < 0.01, "{}", moved(1e4));
        assert!(moved(10.0) > 0.5, "{}", moved(10.0));
    }

    /// Where children say together what noise does not explain, as after every one of them was cut
    /// off at 0, they do not count.
    #[test]
    fn a_bias_is_not_averaged() {
        let children = vec![curve(&[(5, 99), (40, 1)], 2.0, &[]); 100];
        let joined = curve(&[(5, 10_000)], 2.0, &children);
        assert!(joined.steps[0].above(10_000) > -2.0);
        // one that noise explains is
        let joined = curve(&[(5, 10_000)], 2.0, &[curve(&[(5, 9_999), (6, 1)], 2.0, &[])]);
        assert!(joined.steps[0].above(10_000) < -0.4);
    }

    /// The region's own sizes from 6 on are known, those before less well.
    #[test]
    fn weights_are_those_of_the_sizes_between() {
        let weights = WeightsBySize::new(vec![0.5, 0.5, 0.25, 0.25, 0.1, 0.0]);
        let expected = [0.0, 0.5, 1.0, 1.25, 1.5, 1.6, 1.7, 1.7];
        for (size, sum) in (0..).zip(expected) {
            assert!((weights.upto(size) - sum).abs() < 1e-12);
        }
        let mean =
            |one: (u64, u128), other| means([one].into_iter(), [other].into_iter(), &weights);
        // 7 - 0.7
        assert_eq!(mean((7, 8), (2, 8)), [(6, 6), (7, 2)]);
        // so many are beyond the precision of a mean, and stay where both have them
        let many = (1, ((1 << 51) + 1) * PARTS);
        assert_eq!(mean(many, many), [many]);
    }

    proptest! {
        /// No group is lost, none comes from nowhere, however many there are.
        #[test]
        fn a_curve_has_all_groups_between_the_sizes_of_both(
            sizes in prop::collection::vec((0..MAX_SIZE, 0..MAX_SIZE, 1..1u64 << 60), 1..7),
            variance in prop::sample::select(vec![0.0, 0.3, 200.0]),
        ) {
            let of = |pick: fn(&(u64, u64, u64)) -> u64| -> Vec<(u64, u64)> {
                sizes.iter().map(|run| (pick(run), run.2)).collect()
            };
            let (own, other) = (of(|run| run.0), of(|run| run.1));
            let joined = curve(&own, variance, &[curve(&other, variance, &[])]);
            let all: u64 = own.iter().map(|run| run.1).sum();
            let histogram = joined.histogram();
            prop_assert_eq!(histogram.groups(), all);
            let ends = |of: &dyn Fn(&(u64, u64, u64)) -> u64| {
                let sizes = sizes.iter().map(of);
                (sizes.clone().min().unwrap(), sizes.max().unwrap())
            };
            let ((a, b), (c, d)) = (ends(&|run| run.0), ends(&|run| run.1));
            prop_assert!(histogram.runs().iter().all(|run| (a.min(c)..=b.max(d)).contains(&run.size)));
            // equal estimates stay
            let same = curve(&own, variance, &[curve(&own, variance, &[])]);
            prop_assert_eq!(same.histogram(), estimate(&own).released().histogram().clone());
        }
    }

    /// The errors of 40 releases about where the density falls from thousands per size to a
    /// thousandth, stretch by stretch. (The words are fixed: no random failures.)
    #[test]
    fn variances_are_those_of_estimates() {
        let falling = |groups: u64| -> Coco {
            let of = |size| groups / size;
            (1..MAX_SIZE).map(|size| Run { size, groups: of(size) - of(size + 1) }).collect()
        };
        let (parent, truth) = (falling(1_000_000), falling(20_000));
        let exact: Vec<(u64, u64)> = runs(&parent);
        let profile = Profile::new(&estimate(&exact), MAX_SIZE, 0.0);
        let counts = |histogram: &Coco| -> Vec<f64> {
            let mut counts = vec![0.0; MAX_SIZE as usize];
            for run in histogram.runs().iter().filter(|run| run.size < MAX_SIZE) {
                counts[run.size as usize] = run.groups as f64;
            }
            counts
                .iter()
                .scan(0.0, |sum, count| Some(std::mem::replace(sum, *sum + count) + count))
                .collect()
        };
        let exact = counts(&truth);
        for epsilon in [0.05, 0.1, 0.5, 2.0] {
            for smoothed in [false, true] {
                let of_all = HistogramMeasurement::new(Estimator::Cut, MAX_SIZE, 1, epsilon);
                let mut measurement = of_all.unwrap().of_groups(truth.groups());
                let variance = measurement.noise().variance();
                let noise = CutNoise { variance, smoothed, max_size: MAX_SIZE };
                if smoothed {
                    measurement = measurement.below(&profile);
                }
                let stretches = stretch(MAX_SIZE - 1) + 1;
                let (mut seen, mut declared) = (vec![0.0; stretches], vec![0.0; stretches]);
                for seed in 0..40 {
                    let mut words = ChaCha20Rng::seed_from_u64(seed);
                    let estimate = measurement.release(&truth, &mut words);
                    let densities = densities(groups(own_parts(&estimate)), MAX_SIZE);
                    let released = counts(estimate.released().histogram());
                    for (size, (released, exact)) in released.iter().zip(&exact).enumerate() {
                        let stretch = stretch(size as u64);
                        seen[stretch] += (released - exact).powi(2);
                        declared[stretch] += noise.variance_at(densities[stretch]);
                    }
                }
                for (stretch, (seen, declared)) in seen.iter().zip(&declared).enumerate().skip(1) {
                    let ratio = (seen / declared).sqrt();
                    // a child that is exactly like its parent is smoothed better than others
                    let limits = if smoothed { 0.45..1.35 } else { 0.6..1.35 };
                    assert!(limits.contains(&ratio), "{epsilon} {smoothed} {stretch}: {ratio}");
                }
            }
        }
    }
}
