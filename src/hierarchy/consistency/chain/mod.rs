//! M_c^ch: counts in one chain of running totals per level (Fioretto, Van Hentenryck, Zhu 2020,
//! section 9.2), with a sensitivity for which it is private, and without the paper's cost tables.
//!
//! # The chain
//!
//! Order all cells (region, size) by size, those of a size in post-order of the regions, which is
//! the tree's order within a level. A cell's *running total* is the number of groups in all cells
//! of its level up to and including it. The last one of a level is G, which is public.
//!
//! # Sensitivity
//!
//! *The paper claims that one entity changes one running total of a level by 1. That is wrong*, and
//! noise of that scale is not private. Take two regions, GA and NY, and the sizes 1 and 2:
//!
//! | | (GA, 1) | (NY, 1) | (GA, 2) | (NY, 2) |
//! |---|---|---|---|---|
//! | groups | 2 | 1 | 0 | 1 |
//! | running totals | 2 | 3 | 3 | 4 |
//! | running totals when a group in GA grows from 1 to 2 | 1 | 2 | 3 | 4 |
//!
//! The L1 distance is 2. In general a group of region r that grows from size s to s + 1 is missing
//! from the running totals from (r, s) up to the one just before (r, s + 1), and from no other.
//! These are one for each region of the level: of size s for r and the regions after it, of size
//! s + 1 for those before it. So with R regions *the sensitivity is R*, whatever the data; capping
//! sizes at K removes the steps from K on and changes no other. The noise is larger than that of
//! cumulative counts per region by this factor.
//!
//! # Post-processing
//!
//! The nearest running totals in the weighted L2 norm: integers that increase along the chain, from
//! 0 to G, a parent's equal to its last child's. So a region's cell equals that of the last leaf
//! below it, and all cells that are equal by this are one variable with several observations, at a
//! position (size, leaf). What is left is an isotonic regression over the leaves' chain, which
//! pool-adjacent-violators solves; its bounds clamp it, and the nearest integer of a block's mean is
//! the optimum among integers. O(regions sizes) for any counts.

use super::noisy_counts::{LARGEST_SUM, NoisyCounts, Target, Weights};
use super::tree::Tree;
use crate::coco::{Arithmetic, Block, Coco, pool_adjacent_violators};
use crate::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};
use crate::work::poll;
use std::iter::repeat_n;
use std::ops::AddAssign;

/// Cells between two calls of the caller's checkpoint.
const CHECKPOINT_EVERY: usize = 1 << 14;

/// The noisy running totals of one level.
#[derive(Debug, Clone)]
pub struct ChainMechanism {
    max_size: u64,
    noise: DiscreteLaplace,
}

impl ChainMechanism {
    /// What a reader of a release's record should know.
    pub const NOTE: &'static str = "one entity moves as many running totals of a level as the \
        level has regions; the noise is calibrated to that, not to the sensitivity 1 of Fioretto, \
        Van Hentenryck, Zhu (2020), which is not private";

    /// `regions`: how many the level has, which is public. `max_size`: the public K; larger groups
    /// are counted at K. `rows_per_unit`: how many entities one unit of privacy owns at most.
    /// The release satisfies `epsilon`-differential privacy for that unit.
    ///
    /// Errors: epsilon leads to a scale that cannot be sampled; there are no regions.
    pub fn new(
        regions: usize,
        max_size: u64,
        rows_per_unit: u32,
        epsilon: f64,
    ) -> Result<ChainMechanism, ScaleError> {
        let sensitivity = ChainMechanism::sensitivity(regions)
            .checked_mul(rows_per_unit.into())
            .ok_or(ScaleError::OutOfRange { scale: f64::INFINITY })?;
        let noise = DiscreteLaplace::new(Scale::new(sensitivity, epsilon)?);
        Ok(ChainMechanism { max_size, noise })
    }

    /// The L1 distance by which one entity moves what is measured: as many running totals as the
    /// level has regions, each by 1. See [the module](self).
    pub fn sensitivity(regions: usize) -> u64 {
        regions as u64
    }

    /// The exact integers that noise is added to: the running totals of the level's regions without
    /// the last one, that of size s in region r at r (K + 1) + s.
    ///
    /// Sums are expected to fit an `i64`.
    pub fn measure(&self, level: &[Coco]) -> Vec<i64> {
        let sizes = self.sizes();
        let mut totals = vec![0; level.len() * sizes];
        for (region, histogram) in level.iter().enumerate() {
            poll();
            for run in histogram.capped(self.max_size) {
                totals[region * sizes + run.size as usize] += run.groups as i64;
            }
        }
        accumulate(sizes, &mut totals);
        totals.pop();
        totals
    }

    /// The noisy running totals of each region for sizes 0 ..= K, with the exact public last one.
    pub fn release<R: RandomWords + ?Sized>(&self, level: &[Coco], words: &mut R) -> Vec<Vec<i64>> {
        let mut totals = self.measure(level);
        for (i, total) in totals.iter_mut().enumerate() {
            if i.is_multiple_of(CHECKPOINT_EVERY) {
                poll();
            }
            *total = total.saturating_add(self.noise.sample(words));
        }
        totals.push(level.iter().map(|region| region.groups() as i64).sum());
        let region = |totals: &[i64]| {
            poll();
            totals.to_vec()
        };
        totals.chunks(self.sizes()).map(region).collect()
    }

    /// The variance of a noisy running total.
    pub fn variance(&self) -> f64 {
        self.noise.variance()
    }

    fn sizes(&self) -> usize {
        self.max_size as usize + 1
    }
}

/// The running totals of every level, from counts of groups per region and size; both in the order
/// of [`NoisyCounts`].
///
/// `checkpoint` is called every few milliseconds; it may unwind.
///
/// Panics where there are not as many counts of every region.
pub fn running_totals<T: Copy + Default + AddAssign>(tree: &Tree, counts: &[T]) -> Vec<T> {
    assert!(counts.len().is_multiple_of(tree.regions().len()), "one count per region and size");
    let mut totals = counts.to_vec();
    let mut sums = vec![T::default(); tree.depth()];
    for cells in totals.chunks_exact_mut(tree.regions().len()) {
        poll();
        for (level, sum) in sums.iter_mut().enumerate() {
            for cell in &mut cells[tree.level(level)] {
                *sum += *cell;
                *cell = *sum;
            }
        }
    }
    totals
}

/// Turns one level's counts into its running totals.
fn accumulate<T: Copy + Default + AddAssign>(sizes: usize, level: &mut [T]) {
    let mut total = T::default();
    let regions = level.len().checked_div(sizes).unwrap_or(0);
    let cells = (0..sizes).flat_map(|size| (0..regions).map(move |region| region * sizes + size));
    for (i, cell) in cells.enumerate() {
        if i.is_multiple_of(CHECKPOINT_EVERY) {
            poll();
        }
        total += level[cell];
        level[cell] = total;
    }
}

/// The consistent counts whose running totals are nearest to noisy ones: they minimise the sum of
/// w (x - y)^2 over the running totals x. Counts are integers >= 0 in the order of the noisy
/// values, children summing to their parents for every size, the root's summing to `total` if it is
/// given; each level's last noisy value then has no meaning.
///
/// The optimum is exact where the values are integers and have no weights; otherwise up to the
/// rounding of a block's mean in `f64`. The constraints hold in any case.
///
/// `checkpoint` is called every few milliseconds; it may unwind.
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
pub fn chain(noisy: &NoisyCounts, total: Option<u64>) -> Vec<u64> {
    if !noisy.has_room_for(total) {
        return vec![0; noisy.values.len()];
    }
    let mut integers = matches!(noisy.weights, Weights::Equal);
    for values in noisy.values.chunks(CHECKPOINT_EVERY) {
        poll();
        integers = integers && values.iter().all(|value| value.fract() == 0.0);
    }
    if integers {
        fit(noisy, total, |target| (target.value as i128, 1))
    } else {
        let weighted = |Target { value, weight }: Target| (value * weight, weight);
        fit(noisy, total, weighted)
    }
}

/// [`chain`] in one arithmetic. `observation`: a target's value times its weight, and its weight.
fn fit<T: Arithmetic + Default>(
    noisy: &NoisyCounts,
    total: Option<u64>,
    observation: impl Fn(Target) -> (T, T),
) -> Vec<u64> {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let leaves = tree.leaves();
    let ends = regions_by_last_leaf(tree);
    let position = |size: usize, leaf: usize| {
        let (mut sum, mut weight) = (T::default(), T::default());
        for &region in &ends[leaf] {
            let (own_sum, own_weight) = observation(noisy.target(region, size));
            sum += own_sum;
            weight += own_weight;
        }
        Block::position(sum, weight)
    };
    // the last running total is the public one
    let positions = leaves.len() * sizes - usize::from(total.is_some());
    let blocks = pool_adjacent_violators((0..positions).map(|i| {
        if i.is_multiple_of(CHECKPOINT_EVERY) {
            poll();
        }
        position(i / leaves.len(), i % leaves.len())
    }));

    let most = total.unwrap_or(LARGEST_SUM);
    let running_totals = blocks
        .iter()
        .flat_map(|block| {
            let value = block.rounded_mean().clamp(0, most.into()) as u64;
            repeat_n(value, block.count() as usize)
        })
        .chain(total);
    let mut counts = vec![0; noisy.values.len()];
    let mut before = 0;
    for (i, running_total) in running_totals.enumerate() {
        if i.is_multiple_of(CHECKPOINT_EVERY) {
            poll();
        }
        let leaf = leaves.start + i % leaves.len();
        counts[noisy.cell(leaf, i / leaves.len())] = running_total - before;
        before = running_total;
    }
    for counts in counts.chunks_exact_mut(tree.regions().len()) {
        poll();
        for parent in (0..leaves.start).rev() {
            counts[parent] = counts[tree.regions()[parent].children.clone()].iter().sum();
        }
    }
    counts
}

/// For every leaf, the regions that it ends: itself, and those whose last child ends with it.
fn regions_by_last_leaf(tree: &Tree) -> Vec<Vec<usize>> {
    let leaves = tree.leaves();
    let mut ends: Vec<Vec<usize>> = leaves.clone().map(|leaf| vec![leaf]).collect();
    let mut last: Vec<usize> = (0..leaves.end).map(|r| r.saturating_sub(leaves.start)).collect();
    for region in (0..leaves.start).rev() {
        last[region] = last[tree.regions()[region].children.end - 1];
        ends[last[region]].push(region);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::super::noisy_counts::transposed;
    use super::super::pgsr::tests::*;
    use super::*;
    use crate::coco::Run;
    use crate::noise::words_from_system;
    use crate::work::watched;
    use proptest::prelude::*;
    use std::iter::once;

    /// What [`chain`] minimises. With a total, the last cell of every level is not measured.
    fn cost(noisy: &NoisyCounts, counts: &[u64], total: Option<u64>) -> f64 {
        let (tree, sizes) = (noisy.tree, noisy.sizes);
        let totals = running_totals(tree, counts);
        let ends_a_level =
            |region: usize| (0..tree.depth()).any(|level| tree.level(level).end == region + 1);
        let mut sum = 0.0;
        for region in 0..tree.regions().len() {
            for size in 0..sizes {
                let public = total.is_some() && size + 1 == sizes && ends_a_level(region);
                if !public {
                    sum += noisy.target(region, size).cost(totals[noisy.cell(region, size)]);
                }
            }
        }
        sum
    }

    /// The regions in post-order, each with its level.
    fn post_order(tree: &Tree, region: usize, level: usize) -> Vec<(usize, usize)> {
        let children = tree.regions()[region].children.clone();
        let below = children.flat_map(|child| post_order(tree, child, level + 1));
        below.chain(once((region, level))).collect()
    }

    /// The paper's dynamic program, equations 6a and 6b: the least cost of all cells up to one, for
    /// every running total up to `limit` that it can have. A cell equals the one before it where
    /// that is of a deeper level, its last child's, and is no less where it is not.
    fn cost_by_tables(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
        let regions = post_order(noisy.tree, 0, 0);
        let mut table = vec![0.0; limit as usize + 1];
        let mut previous_level = 0;
        for size in 0..noisy.sizes {
            let last_size = size + 1 == noisy.sizes;
            for (i, &(region, level)) in regions.iter().enumerate() {
                if previous_level <= level {
                    let mut least = f64::INFINITY;
                    for cost in &mut table {
                        least = least.min(*cost);
                        *cost = least;
                    }
                }
                previous_level = level;
                let public = total.filter(|_| {
                    last_size && regions[i + 1..].iter().all(|(_, later)| *later < level)
                });
                for (x, cost) in (0..).zip(&mut table) {
                    match public {
                        Some(total) if x != total => *cost = f64::INFINITY,
                        Some(_) => {}
                        None => *cost += noisy.target(region, size).cost(x),
                    }
                }
            }
        }
        table.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The least cost over all counts at the leaves that sum to at most `limit`, or to the total.
    fn cost_by_brute_force(noisy: &NoisyCounts, total: Option<u64>, limit: u64) -> f64 {
        let (tree, sizes) = (noisy.tree, noisy.sizes);
        let mut least = f64::INFINITY;
        let cells = tree.leaves().len() * sizes;
        for_each_assignment(&mut vec![0; cells], 0, limit, &mut |leaves| {
            if total.is_none_or(|total| leaves.iter().sum::<u64>() == total) {
                let mut counts = vec![0; noisy.values.len()];
                for (i, &groups) in leaves.iter().enumerate() {
                    counts[noisy.cell(tree.leaves().start + i / sizes, i % sizes)] = groups;
                }
                for region in (0..tree.leaves().start).rev() {
                    for size in 0..sizes {
                        let children = tree.regions()[region].children.clone();
                        counts[noisy.cell(region, size)] =
                            children.map(|child| counts[noisy.cell(child, size)]).sum();
                    }
                }
                least = least.min(cost(noisy, &counts, total));
            }
        });
        least
    }

    /// A limit that no optimum exceeds.
    fn limit(noisy: &NoisyCounts, total: Option<u64>) -> u64 {
        total.unwrap_or(noisy.values.iter().copied().fold(0.0, f64::max).ceil() as u64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2500))]

        #[test]
        fn the_cost_is_the_least_by_brute_force_and_by_the_papers_tables(
            case in cases(small_values()),
        ) {
            case.for_each_variant(|noisy, total| {
                let counts = chain(noisy, total);
                check_constraints(noisy, &counts, total);
                let (cost, limit) = (cost(noisy, &counts, total), limit(noisy, total));
                let by_tables = cost_by_tables(noisy, total, limit);
                prop_assert!(close(cost, by_tables), "{counts:?} {cost}, by tables {by_tables}");
                if noisy.tree.leaves().len() * noisy.sizes <= 5 {
                    let least = cost_by_brute_force(noisy, total, limit);
                    prop_assert!(close(cost, least), "{counts:?} costs {cost}, not {least}");
                }
                Ok(())
            })?;
        }

        /// Everything is decided in exact arithmetic; here the cost is an integer.
        #[test]
        fn integers_without_weights_give_the_very_optimum(
            case in cases((-40i8..60).prop_map(f64::from)),
            total in 0u64..60,
        ) {
            Case { total, ..case }.for_each_variant(|noisy, total| {
                if matches!(noisy.weights, Weights::Equal) {
                    let counts = chain(noisy, total);
                    let by_tables = cost_by_tables(noisy, total, limit(noisy, total));
                    prop_assert_eq!(cost(noisy, &counts, total), by_tables);
                }
                Ok(())
            })?;
        }

        #[test]
        fn huge_values_of_any_sign(
            case in cases((0i32..17, -1.0f64..1.0).prop_map(|(e, x)| (x * 10f64.powi(e)).round())),
            total in prop_oneof![0..10u64, 0..1u64 << 62],
        ) {
            Case { total, ..case }.for_each_variant(|noisy, total| {
                check_constraints(noisy, &chain(noisy, total), total);
                Ok(())
            })?;
        }

        /// The running totals of consistent counts lead back to them.
        #[test]
        fn without_noise_the_counts_come_back(case in cases(small_values()), weighted: bool) {
            case.for_each_variant(|noisy, total| {
                let counts = chain(noisy, total);
                let totals = running_totals(noisy.tree, &counts);
                let values: Vec<f64> = totals.into_iter().map(|total| total as f64).collect();
                let weights = if weighted { noisy.weights } else { Weights::Equal };
                let exact = NoisyCounts::new(noisy.tree, noisy.sizes, &values, weights);
                let root = (0..noisy.sizes).map(|size| counts[noisy.cell(0, size)]).sum();
                for total in [None, Some(root)] {
                    prop_assert_eq!(&chain(&exact, total), &counts);
                }
                Ok(())
            })?;
        }
    }

    /// The paper's table 6, size 1: GA 3, NY 3, US 2 become 3, 3, 3.
    #[test]
    fn the_papers_example() {
        let tree = regular_tree(&[2]);
        let noisy = NoisyCounts::new(&tree, 1, &[2.0, 3.0, 3.0], Weights::Equal); // US, GA, NY
        let counts = chain(&noisy, None);
        assert_eq!(running_totals(&tree, &counts), [3, 3, 3]);
        assert_eq!(cost(&noisy, &counts, None), 1.0);
    }

    #[test]
    fn a_root_without_leaves_holds_nothing() {
        let tree = tree(2, []);
        let noisy = NoisyCounts::new(&tree, 2, &[3.0, 4.0], Weights::Equal);
        assert_eq!(chain(&noisy, None), [0, 0]);
        assert_eq!(chain(&noisy, Some(0)), [0, 0]);
        assert!(chain(&NoisyCounts::new(&tree, 0, &[], Weights::Equal), Some(0)).is_empty());
    }

    #[test]
    fn the_largest_values_and_the_most_different_weights() {
        let tree = regular_tree(&[2, 3]);
        let largest = NoisyCounts::largest(&tree);
        let values: Vec<f64> = (0..18).map(|i| [largest, 1.5, -largest][i % 3]).collect();
        for shift in 0..9 {
            let weights: Vec<f64> =
                (0..18).map(|i| if (i + shift) % 3 == 0 { 1e-100 } else { 1e100 }).collect();
            for weights in [Weights::Equal, Weights::OfCells(&weights)] {
                let noisy = NoisyCounts::new(&tree, 2, &values, weights);
                for total in [None, Some(0), Some(1), Some(LARGEST_SUM)] {
                    check_constraints(&noisy, &chain(&noisy, total), total);
                }
            }
        }
    }

    // ---- the mechanism ----

    fn distance(a: &[i64], b: &[i64]) -> u64 {
        assert_eq!(a.len(), b.len(), "the length is public");
        a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum()
    }

    fn of_sizes(sizes: &[u64]) -> Coco {
        sizes.iter().map(|&size| Run { size, groups: 1 }).collect()
    }

    /// The example of the module's documentation.
    #[test]
    fn the_papers_sensitivity_is_too_small() {
        const CLAIMED: u64 = 1;
        let mechanism = ChainMechanism::new(2, 3, 1, 1.0).unwrap();
        let ny = of_sizes(&[1, 2]);
        let measure = |ga: &[u64]| mechanism.measure(&[of_sizes(ga), ny.clone()]);
        let (here, there) = (measure(&[1, 1]), measure(&[1, 2]));
        // GA's sizes 0 to 3, NY's 0 to 2
        assert_eq!(here, [0, 2, 3, 4, 0, 3, 4]);
        assert_eq!(there, [0, 1, 3, 4, 0, 2, 4]);
        assert!(distance(&here, &there) > CLAIMED);
        assert_eq!(distance(&here, &there), ChainMechanism::sensitivity(2));
        assert_eq!(distance(&measure(&[1, 3]), &measure(&[1, 4])), 0, "both are counted at K");
    }

    /// All neighbours of random tables in random trees, for units of one entity and of two: every
    /// level's distance is at most what is declared, which is attained wherever a group can grow.
    #[test]
    fn neighbours_differ_by_at_most_the_declared_sensitivity() {
        use rand::{Rng, SeedableRng};
        let mut random = rand_chacha::ChaCha20Rng::seed_from_u64(1);
        let mut attained = 0;
        for _ in 0..200 {
            let mut below = |n: u64| random.next_u64() % n;
            let depth = below(4) as usize;
            let paths: std::collections::BTreeSet<Vec<u16>> = (0..if depth == 0 { 1 } else { 6 })
                .map(|_| (0..depth).map(|_| below(3) as u16).collect())
                .collect();
            let sizes: Vec<Vec<u64>> =
                paths.iter().map(|_| (0..below(4)).map(|_| below(5)).collect()).collect();
            let max_size = 1 + below(5);
            let tree = tree(depth, paths);
            let histograms =
                |sizes: &[Vec<u64>]| tree.sums(sizes.iter().map(|sizes| of_sizes(sizes)).collect());
            let with_one_entity_more = |sizes: &[Vec<u64>]| -> Vec<Vec<Vec<u64>>> {
                let groups = sizes.iter().enumerate();
                let groups = groups.flat_map(|(leaf, own)| (0..own.len()).map(move |g| (leaf, g)));
                let grow = |(leaf, group): (usize, usize)| {
                    let mut more = sizes.to_vec();
                    more[leaf][group] += 1;
                    more
                };
                groups.map(grow).collect()
            };
            let one_more = with_one_entity_more(&sizes);
            let two_more = one_more.iter().flat_map(|more| with_one_entity_more(more)).collect();
            let here = histograms(&sizes);
            let can_grow = sizes.iter().flatten().any(|size| *size < max_size);
            for (entities, neighbours) in [(1, one_more), (2, two_more)] {
                let mut largest = vec![0; tree.depth()];
                for neighbour in neighbours {
                    let there = histograms(&neighbour);
                    for (level, largest) in largest.iter_mut().enumerate() {
                        let regions = tree.level(level);
                        let mechanism =
                            ChainMechanism::new(regions.len(), max_size, entities, 1.0).unwrap();
                        let measure = |all: &[Coco]| mechanism.measure(&all[regions.clone()]);
                        *largest = distance(&measure(&here), &measure(&there)).max(*largest);
                    }
                }
                for (level, largest) in largest.into_iter().enumerate() {
                    let declared = ChainMechanism::sensitivity(tree.level(level).len());
                    assert!(largest <= u64::from(entities) * declared);
                    if entities == 1 && can_grow {
                        assert_eq!(largest, declared);
                    }
                    attained += u32::from(entities == 2 && largest == 2 * declared);
                }
            }
        }
        assert!(attained > 100, "{attained}");
    }

    /// What is measured of a level is what [`running_totals`] are.
    #[test]
    fn the_measurement_is_the_running_totals_without_the_last() {
        let tree = regular_tree(&[2, 2]);
        let leaves = [&[0, 2, 9][..], &[1], &[], &[1, 2]].map(of_sizes);
        let truth = tree.sums(leaves.to_vec());
        let mut counts = vec![0; 4 * 7];
        for (region, histogram) in truth.iter().enumerate() {
            for run in histogram.runs() {
                counts[run.size.min(3) as usize * 7 + region] += run.groups as i64;
            }
        }
        let totals = transposed(&running_totals(&tree, &counts), 7);
        for level in 0..3 {
            let regions = tree.level(level);
            let mechanism = ChainMechanism::new(regions.len(), 3, 1, 1e5).unwrap();
            let cells = &totals[regions.start * 4..regions.end * 4];
            let measured = mechanism.measure(&truth[regions.clone()]);
            assert_eq!(measured, cells[..cells.len() - 1]);
            let mut words = words_from_system().unwrap();
            // noise has a probability below e^-25000
            let released = mechanism.release(&truth[regions], &mut words);
            assert_eq!(released.concat(), cells);
        }
    }

    #[test]
    fn scales_that_cannot_be_sampled_are_errors() {
        let scale = |regions, rows_per_unit, epsilon| {
            ChainMechanism::new(regions, 10, rows_per_unit, epsilon).map(|m| m.noise.scale())
        };
        assert_eq!(scale(5, 3, 0.5).unwrap(), Scale::new(15, 0.5).unwrap());
        for (regions, rows_per_unit, epsilon) in [
            (1 << 20, 1 << 12, 1.0),
            (1 << 20, 1 << 14, 8.0), // 2^34, which a u32 does not hold
            (usize::MAX, u32::MAX, 1e30),
            (0, 1, 1.0),
        ] {
            let error = scale(regions, rows_per_unit, epsilon).unwrap_err();
            assert!(matches!(error, ScaleError::OutOfRange { .. }), "{error}");
        }
    }

    #[test]
    fn it_polls_throughout() {
        let tree = regular_tree(&[100]);
        let mechanism = ChainMechanism::new(100, 999, 1, 1.0).unwrap();
        let (mut calls, mut words) = (0, words_from_system().unwrap());
        watched(&mut || calls += 1, || {
            mechanism.release(&vec![of_sizes(&[3]); 100], &mut words);
        });
        assert_eq!(calls, 2 * 100 + 2 * 100_000usize.div_ceil(CHECKPOINT_EVERY));
        let values = vec![0.0; 101_000];
        calls = 0;
        let noisy = NoisyCounts::new(&tree, 1000, &values, Weights::Equal);
        watched(&mut || calls += 1, || chain(&noisy, None));
        let positions = 2 * 100_000usize.div_ceil(CHECKPOINT_EVERY);
        assert_eq!(calls, 101_000usize.div_ceil(CHECKPOINT_EVERY) + positions + 1000);
    }
}
