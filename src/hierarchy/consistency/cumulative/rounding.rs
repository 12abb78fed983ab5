//! From real cumulative counts to integers next to them that satisfy every constraint.
//!
//! The root's counts are rounded to the nearest. From there down each parent's integers C are
//! shared among its children in two steps.
//!
//! 1. *Shift.* The children's real counts sum to the parent's real ones, not to C. Read every
//!    child's count as a piecewise linear function of the parent's, through the pairs of all sizes,
//!    and take its value at C. These functions rise, and together as much as their argument; so the
//!    shifted counts x are non-decreasing in the size and sum to C, and the children together have
//!    moved no further than the parent.
//! 2. *Round.* Find integers X with X = floor(x) or ceil(x) that are non-decreasing in the size and
//!    sum to C for every size.
//!
//! # Why X exists, and how it is found
//!
//! Size by size, every child gets floor(x) at least, and keeps a unit that it has beyond it. What
//! is left of C goes to children whose x is no integer, one unit each: an *advance* on the unit
//! that is due when floor(x) next rises. An advance must not take a unit that some later size needs
//! for what is due there. Let R_t = C_t - (sum of floor(x) at t) be the units that advances can
//! have at size t, and A_t the advances already given that are not due by t. The sweep keeps
//! A_t <= R_t for all t to come, by giving an advance only if this holds for all sizes until it is
//! due.
//!
//! *The sweep never gets stuck*: at size s it can give R_s - A_s further advances. The sets of
//! advances that keep A <= R are limited by chains (those not due by t, for every t), so they are
//! the independent sets of a matroid, and giving advances in any order of preference ends with a
//! largest one, of size min over t of (R_t - A_t) + (candidates due by t), or all candidates. All
//! candidates are enough: R_s is the sum of the fractions of x at s, so at most the number of
//! children that have one. And so are the others: what is at s and due by t, candidate or advance,
//! must number at least R_s - R_t. That is the sum over the children of (fraction at s) - (fraction
//! at t). A child that nothing is due to between s and t has no smaller fraction at t; any other
//! contributes at most its fraction at s, so less than 1, and nothing if it has none.
//!
//! Preference goes to the largest fraction, which is what rounding to the nearest would raise
//! first. An advance that a size t forbids is not tried again before t has passed, so every unit's
//! range of sizes is looked through at most twice: rounding costs O(sizes children log children)
//! per parent.
//!
//! Rounding errors of `f64` change nothing as long as x is non-decreasing and its sums are off by
//! less than 1/2: each of the inequalities above then holds up to an error below 1, and between
//! integers. Beyond some 10^13 groups they may be off further. The sums, the order and the public
//! totals of all regions are kept in integers even then: units that nobody may have go to the child
//! that has the most of x missing.

use crate::hierarchy::consistency::totals::KnownTotals;
use crate::hierarchy::tree::Tree;
use crate::work::poll;

/// Integer cumulative counts for all regions and sizes: non-decreasing, children summing to
/// parents, the last ones equal to the totals. The tree has leaves, and there are sizes.
pub(super) fn round(tree: &Tree, sizes: usize, real: &[f64], totals: KnownTotals) -> Vec<u64> {
    let mut rounded = vec![0; real.len()];
    for (count, real) in rounded.iter_mut().zip(&real[..sizes]) {
        *count = (real.round() as u64).min(totals.root());
    }
    rounded[sizes - 1] = totals.root();

    for (region, parent) in tree.regions().iter().enumerate().take(tree.leaves().start) {
        let children = parent.children.clone();
        let row = region * sizes..(region + 1) * sizes;
        let rows = children.start * sizes..children.end * sizes;
        let (above, below) = rounded.split_at_mut(rows.start);
        let parent = &above[row.clone()];
        let limits: Vec<u64> = children.map(|child| totals.of(child).unwrap_or(u64::MAX)).collect();
        let shifted = shift(parent, &real[row], &real[rows.clone()]);
        Shares { parent, shifted, limits }.round(&mut below[..rows.len()]);
    }
    rounded
}

/// The children's counts where the parent's are integers. Children stand one after the other.
fn shift(parent: &[u64], real_parent: &[f64], real: &[f64]) -> Vec<f64> {
    let sizes = parent.len();
    let children = real.len() / sizes;
    let mut shifted = vec![0.0; real.len()];
    let mut right = 0;
    for (size, &count) in parent.iter().enumerate() {
        poll();
        let count = count as f64;
        while right < sizes && real_parent[right] < count {
            right += 1;
        }
        let (left, from) = match right.checked_sub(1) {
            Some(left) => (left, real_parent[left]),
            None => (0, 0.0),
        };
        for child in 0..children {
            let row = &real[child * sizes..][..sizes];
            let start = if right > 0 { row[left] } else { 0.0 };
            shifted[child * sizes + size] = match real_parent.get(right) {
                Some(&to) if to > from => {
                    let way = (count - from) / (to - from);
                    (start + way * (row[right] - start)).min(row[right])
                }
                Some(_) => row[right],
                // beyond the last in proportion
                None if from > 0.0 => start * (count / from),
                None => count / children as f64,
            };
        }
    }
    shifted
}

/// A parent's integers, to be shared among its children.
struct Shares<'a> {
    parent: &'a [u64],
    shifted: Vec<f64>,
    /// The most that each child can have.
    limits: Vec<u64>,
}

impl Shares<'_> {
    fn shifted(&self, child: usize, size: usize) -> f64 {
        self.shifted[child * self.parent.len() + size]
    }

    fn floor(&self, child: usize, size: usize) -> u64 {
        (self.shifted(child, size) as u64).min(self.limits[child])
    }

    /// How many units advances can have at each size.
    fn spare(&self) -> Vec<i128> {
        let floors = |size| (0..self.limits.len()).map(move |child| self.floor(child, size));
        let sum = |size| floors(size).map(i128::from).sum::<i128>();
        (0..).zip(self.parent).map(|(size, &count)| i128::from(count) - sum(size)).collect()
    }

    fn round(&self, rounded: &mut [u64]) {
        let sizes = self.parent.len();
        let mut spare = self.spare();
        let mut counts = vec![0u64; self.limits.len()];
        // the first size at which an advance is worth another try
        let mut retry = vec![0; counts.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut before = 0;
        for size in 0..sizes {
            poll();
            let mut left = self.parent[size] - before;
            before = self.parent[size];
            for (child, count) in counts.iter_mut().enumerate() {
                let due = self.floor(child, size).saturating_sub(*count).min(left);
                *count += due;
                left -= due;
            }

            order.clear();
            if left > 0 {
                order.extend((0..counts.len()).filter(|&child| {
                    let (count, real) = (counts[child], self.shifted(child, size));
                    retry[child] <= size && count == self.floor(child, size) && real > count as f64
                }));
                let fraction = |child: usize| self.shifted(child, size) - counts[child] as f64;
                order.sort_by(|&a, &b| fraction(b).total_cmp(&fraction(a)));
            }
            for &child in &order {
                if left == 0 {
                    break;
                }
                match self.advance(child, size, &mut spare) {
                    Ok(()) => {
                        counts[child] += 1;
                        left -= 1;
                    }
                    Err(full) => retry[child] = full + 1,
                }
            }

            // what only rounding errors leave
            if left > 0 {
                let missing = |child: usize| self.shifted(child, size) - counts[child] as f64;
                order = (0..counts.len()).collect();
                order.sort_by(|&a, &b| missing(b).total_cmp(&missing(a)));
                for &child in &order {
                    let more = left.min(self.limits[child] - counts[child]);
                    counts[child] += more;
                    left -= more;
                }
            }
            for (child, &count) in counts.iter().enumerate() {
                rounded[child * sizes + size] = count;
            }
        }
    }

    /// Takes a unit at all sizes until it is due; or the size at which there is none left.
    fn advance(&self, child: usize, from: usize, spare: &mut [i128]) -> Result<(), usize> {
        let floor = self.floor(child, from);
        if floor >= self.limits[child] {
            return Err(spare.len());
        }
        let mut due = from;
        while due < spare.len() && self.floor(child, due) == floor {
            if spare[due] <= 0 {
                return Err(due);
            }
            due += 1;
        }
        spare[from..due].iter_mut().for_each(|units| *units -= 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A parent's real counts to be rounded, and its children's, which sum to them. Steps of whole,
    /// half and third units make ties and exact integers.
    fn families() -> impl Strategy<Value = Vec<Vec<f64>>> {
        let step = prop_oneof![
            4 => Just(0.0),
            2 => (0u32..7).prop_map(|sixths| f64::from(sixths) / 6.0),
            1 => 0.0f64..1.0,
            1 => 0.0f64..30.0,
            1 => (0.0f64..1e6).prop_map(f64::trunc),
        ];
        (1usize..8, 1usize..20).prop_flat_map(move |(children, sizes)| {
            prop::collection::vec(prop::collection::vec(step.clone(), sizes), children)
        })
    }

    fn cumulated(steps: Vec<Vec<f64>>) -> Vec<f64> {
        let cumulate = |sum: &mut f64, step: f64| {
            *sum += step;
            Some(*sum)
        };
        steps.into_iter().flat_map(|row| row.into_iter().scan(0.0, cumulate)).collect()
    }

    fn column_sums(rows: &[f64], sizes: usize) -> Vec<f64> {
        (0..sizes).map(|size| rows.iter().skip(size).step_by(sizes).sum()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// All that the module's text claims of the two steps, with and without limits.
        #[test]
        fn shares_are_floors_or_ceilings_in_order_and_sum_to_the_parent(
            steps in families(),
            offsets in prop::collection::vec(-1.5f64..1.5, 20),
            with_limits: bool,
        ) {
            let sizes = steps[0].len();
            let mut real = cumulated(steps);
            if with_limits {
                real.chunks_mut(sizes).for_each(|row| row[sizes - 1] = row[sizes - 1].ceil());
            }
            let sums = column_sums(&real, sizes);
            // a parent's integers are near its real counts, not always the nearest
            let mut parent: Vec<u64> =
                sums.iter().zip(&offsets).map(|(sum, offset)| (sum + offset).round() as u64).collect();
            for size in 1..sizes {
                parent[size] = parent[size].max(parent[size - 1]);
            }
            let limits: Vec<u64> = real
                .chunks(sizes)
                .map(|row| if with_limits { row[sizes - 1] as u64 } else { u64::MAX })
                .collect();
            if with_limits {
                let total: u64 = limits.iter().sum();
                parent.iter_mut().for_each(|count| *count = (*count).min(total));
                parent[sizes - 1] = total;
            }

            let shifted = shift(&parent, &sums, &real);
            for (size, sum) in column_sums(&shifted, sizes).iter().enumerate() {
                prop_assert!((sum - parent[size] as f64).abs() < 1e-6);
                let cells = || (size..real.len()).step_by(sizes);
                let moved: f64 = cells().map(|cell| (shifted[cell] - real[cell]).abs()).sum();
                prop_assert!(moved < (parent[size] as f64 - sums[size]).abs() + 1e-6);
            }
            prop_assert!(shifted.chunks(sizes).all(|row| row.is_sorted()));

            let mut rounded = vec![0; real.len()];
            let shares = Shares { parent: &parent, shifted, limits: limits.clone() };
            shares.round(&mut rounded);
            for (row, limit) in rounded.chunks(sizes).zip(limits) {
                prop_assert!(row.is_sorted() && row[sizes - 1] <= limit);
            }
            for (size, &count) in parent.iter().enumerate() {
                let column = rounded.iter().skip(size).step_by(sizes);
                prop_assert_eq!(column.sum::<u64>(), count);
            }
            for (&integer, &real) in rounded.iter().zip(&shares.shifted) {
                prop_assert!(integer as f64 == real.floor() || integer as f64 == real.ceil());
            }
        }

        /// Nothing is promised of such numbers but the integers' own constraints.
        #[test]
        fn any_numbers_leave_sums_order_and_limits_intact(
            shifted in prop::collection::vec(prop::num::f64::ANY, 12),
            steps in prop::collection::vec(0u64..1 << 40, 4),
            limits in prop::option::of(prop::collection::vec(0u64..1 << 41, 2)),
        ) {
            let cumulate = |sum: &mut u64, step: u64| {
                *sum += step;
                Some(*sum)
            };
            let parent: Vec<u64> = steps.into_iter().scan(0, cumulate).collect();
            let limits = match limits {
                Some(given) => vec![given[0], given[1], parent[3]],
                None => vec![u64::MAX; 3],
            };
            let mut rounded = vec![0; 12];
            let shares = Shares { parent: &parent, shifted, limits: limits.clone() };
            shares.round(&mut rounded);
            for (row, limit) in rounded.chunks(4).zip(limits) {
                prop_assert!(row.is_sorted() && row[3] <= limit);
            }
            for (size, &count) in parent.iter().enumerate() {
                let column = rounded.iter().skip(size).step_by(4);
                prop_assert_eq!(column.sum::<u64>(), count);
            }
        }
    }

    /// Of 0.2, 0.3 and 0.5 the last one gets the unit. But where two have 0.5 for good and three
    /// others are due a unit each at the second size, there is one unit for the two then: not both
    /// can advance, and 0.4 comes before the second 0.5.
    #[test]
    fn the_largest_fraction_advances_unless_the_unit_is_needed() {
        let round = |parent: &[u64], shifted: &[f64]| {
            let mut rounded = vec![0; shifted.len()];
            let limits = vec![u64::MAX; shifted.len() / parent.len()];
            let shares = Shares { parent, shifted: shifted.to_vec(), limits };
            shares.round(&mut rounded);
            rounded
        };
        assert_eq!(round(&[1], &[0.2, 0.3, 0.5]), [0, 0, 1]);
        let shifted = [0.5, 0.5, 0.5, 0.5, 0.4, 1.0, 0.3, 1.0, 0.3, 1.0];
        assert_eq!(round(&[2, 4], &shifted), [1, 1, 0, 0, 1, 1, 0, 1, 0, 1]);
    }
}
