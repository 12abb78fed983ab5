//! `topdown`, TopDown: consistent counts from the root down, each parent's shared among its
//! children alone (after Fioretto, Van Hentenryck, Zhu 2020, section 10, and the Census Bureau's
//! algorithm of that name). Every step is optimal given the one above, the whole is not: see
//! [`pgsr`](super::pgsr).

use super::known_regions::{Consistent, KnownRegions, Quantity};
use super::method::ConsistencyMethod;
use super::noisy_counts::{NoisyCounts, NoisyTarget};
use crate::coco::Estimator;
use crate::fit::project_weighted;
use crate::hierarchy::observer::Observer;
use crate::work::done;

pub(super) struct TopDown;

impl ConsistencyMethod for TopDown {
    fn name(&self) -> &'static str {
        "topdown"
    }

    fn quantity(&self) -> Quantity {
        Quantity::Counts
    }

    fn auto(&self) -> Estimator {
        Estimator::Hc
    }

    fn consistent(&self, known: KnownRegions, _observer: &mut dyn Observer) -> Consistent {
        known.solved_exactly(topdown)
    }
}

/// Consistent counts, integers >= 0 in the order of the noisy ones, children summing to their
/// parents for every size, the root's summing to `total` if it is given.
///
/// The root's are its noisy ones projected on that total, in the weighted L2 norm; without a total,
/// each is the nearest integer >= 0. From there down, for every size, the children's noisy counts
/// are projected on what their parent has. A projection is rounded by largest remainders.
/// O(regions sizes log regions).
///
/// Panics where a total cannot be met: above 2^62, or above 0 where there are no leaves or sizes.
fn topdown(noisy: &NoisyCounts, total: Option<u64>) -> Vec<u64> {
    let (tree, sizes) = (noisy.tree, noisy.sizes);
    let mut counts = vec![0; noisy.values.len()];
    if !noisy.has_room_for(total) {
        return counts;
    }
    let target = |region: usize, size: usize| {
        let NoisyTarget { value, weight } = noisy.target(region, size);
        (value, weight)
    };
    let mut targets: Vec<(f64, f64)> = (0..sizes).map(|size| target(0, size)).collect();
    let root = match total {
        Some(total) => project_weighted(&targets, total),
        None => targets.iter().map(|(value, _)| value.round() as u64).collect(), // at least 0
    };
    (0..sizes).zip(root).for_each(|(size, count)| counts[noisy.cell(0, size)] = count);

    for parent in 0..tree.leaves().start {
        let children = &tree.regions()[parent].children;
        for size in 0..sizes {
            // a sorting of some numbers takes longer than a draw for each
            done(4 * children.len() as u64);
            targets.clear();
            targets.extend(children.clone().map(|child| target(child, size)));
            let shares = project_weighted(&targets, counts[noisy.cell(parent, size)]);
            for (child, share) in children.clone().zip(shares) {
                counts[noisy.cell(child, size)] = share;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::noisy_counts::Weights;
    use super::super::pgsr::tests::*;
    use super::*;
    use crate::work::watched;
    use proptest::prelude::*;

    /// The least cost of sharing the total among the targets in integers.
    fn least_cost(targets: &[NoisyTarget], total: u64) -> f64 {
        let mut least = f64::INFINITY;
        for_each_assignment(&mut vec![0; targets.len()], 0, total, &mut |counts| {
            if counts.iter().sum::<u64>() == total {
                let cost = targets.iter().zip(counts).map(|(target, &x)| target.cost(x)).sum();
                least = least.min(cost);
            }
        });
        least
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2500))]

        /// Without weights a projection rounded by largest remainders is the integer optimum.
        #[test]
        fn every_step_is_optimal_given_the_one_above(case in cases(small_values())) {
            case.for_each_variant(|noisy, total| {
                let counts = topdown(noisy, total);
                check_constraints(noisy, &counts, total);
                if !matches!(noisy.weights, Weights::Equal) {
                    return Ok(());
                }
                let (tree, sizes) = (noisy.tree, noisy.sizes);
                let cost_and_least = |cells: &[(usize, usize)]| {
                    let targets: Vec<NoisyTarget> =
                        cells.iter().map(|&(region, size)| noisy.target(region, size)).collect();
                    let counts =
                        cells.iter().map(|&(region, size)| counts[noisy.cell(region, size)]);
                    let cost = targets.iter().zip(counts.clone()).map(|(t, x)| t.cost(x)).sum();
                    (cost, least_cost(&targets, counts.sum()))
                };
                let root: Vec<(usize, usize)> = (0..sizes).map(|size| (0, size)).collect();
                let (cost, least): (f64, f64) = cost_and_least(&root);
                prop_assert!(close(cost, least), "root: {cost}, not {least}");
                for parent in 0..tree.leaves().start {
                    for size in 0..sizes {
                        let children = tree.regions()[parent].children.clone();
                        let cells: Vec<_> = children.map(|child| (child, size)).collect();
                        let (cost, least) = cost_and_least(&cells);
                        prop_assert!(close(cost, least), "{parent}: {cost}, not {least}");
                    }
                }
                Ok(())
            })?;
        }

        #[test]
        fn huge_counts_of_any_sign(
            case in cases((0i32..17, -1.0f64..1.0).prop_map(|(e, x)| (x * 10f64.powi(e)).round())),
            total in prop_oneof![0..10u64, 0..1u64 << 62],
        ) {
            Case { total, ..case }.for_each_variant(|noisy, total| {
                check_constraints(noisy, &topdown(noisy, total), total);
                Ok(())
            })?;
        }
    }

    fn solve(tree: &crate::hierarchy::Tree, values: &[f64], total: Option<u64>) -> Vec<u64> {
        let sizes = values.len() / tree.regions().len();
        topdown(&NoisyCounts::new(tree, sizes, values, Weights::Equal), total)
    }

    /// The counts of size 1 of the paper's table 5. The root is not moved by what is below it,
    /// where [`pgsr`](crate::hierarchy::pgsr) can have US 3, GA 3.
    #[test]
    fn the_papers_example() {
        let tree = regular_tree(&[2]);
        let noisy = [2.0, 3.0, 0.0]; // US, GA, NY
        assert_eq!(solve(&tree, &noisy, None), [2, 2, 0]);
        assert_eq!(solve(&tree, &noisy, Some(4)), [4, 4, 0]);
        assert_eq!(solve(&tree, &noisy, Some(7)), [7, 5, 2]);
    }

    #[test]
    fn the_root_takes_the_nearest_integers_or_the_total() {
        let root = regular_tree(&[]);
        assert_eq!(solve(&root, &[1.5, -0.5, -3.0, 2.4], None), [2, 0, 0, 2]);
        assert_eq!(solve(&root, &[1.0, -3.0, 2.0], Some(7)), [3, 0, 4]);
        assert_eq!(solve(&root, &[-7.0, -8.0], Some(1)), [1, 0]);
    }

    /// A count four times as certain moves a quarter as far.
    #[test]
    fn weights_decide_who_moves() {
        let tree = regular_tree(&[2]);
        let weights = [1.0, 4.0, 1.0];
        let noisy = NoisyCounts::new(&tree, 1, &[15.0, 10.0, 10.0], Weights::OfCells(&weights));
        assert_eq!(topdown(&noisy, None), [15, 9, 6]);
    }

    #[test]
    fn a_root_without_leaves_holds_nothing() {
        assert_eq!(solve(&tree(2, []), &[3.0, 4.0], None), [0, 0]);
        assert_eq!(solve(&tree(2, []), &[3.0, 4.0], Some(0)), [0, 0]);
    }

    #[test]
    fn the_largest_values_and_the_most_different_weights() {
        let tree = regular_tree(&[2, 3]);
        let largest = NoisyCounts::largest(&tree);
        let values: Vec<f64> = (0..9).map(|i| [largest, 1.0, -largest][i % 3]).collect();
        for shift in 0..9 {
            let weights: Vec<f64> =
                (0..9).map(|i| if (i + shift) % 3 == 0 { 1e-100 } else { 1e100 }).collect();
            for weights in [Weights::Equal, Weights::OfCells(&weights)] {
                let noisy = NoisyCounts::new(&tree, 1, &values, weights);
                for total in [None, Some(0), Some(1), Some(1 << 62)] {
                    check_constraints(&noisy, &topdown(&noisy, total), total);
                }
            }
        }
    }

    #[test]
    fn it_polls_throughout() {
        let tree = regular_tree(&[7, 60]);
        let (values, total) = census(&tree, 500, 60.0, 1);
        let noisy = NoisyCounts::new(&tree, 500, &values, Weights::Equal);
        let mut calls = 0;
        let counts = watched(&mut || calls += 1, || topdown(&noisy, Some(total)));
        check_constraints(&noisy, &counts, Some(total));
        assert!(calls >= 10, "{calls}"); // 200,000 cells
    }
}
