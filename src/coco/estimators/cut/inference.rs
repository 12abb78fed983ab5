//! Columns and rows at once: what all noisy numbers of a region say of its groups.
//!
//! The columns are a monotone sequence that ends with C, the number of groups below the cut. The
//! rows in ascending order are one, too, of what the sizes exceed the cut by; but it begins late:
//! only the m = G - C largest groups are at or above the cut, and the rows before have nothing
//! there and measure 0. So what the columns say of C is the prior of where the rows begin, and what
//! the rows say of that is one more observation of C ([`posterior`](crate::fit)). Both have the
//! [expected](super::expected) numbers of groups for their prior. The estimate is the medians: of
//! each row, if it is more likely than not at or above the cut, and of each column. That at least
//! half of the mass has a row there and that the median of C leaves room for it is the same.
//!
//! Below a released region that it is like the columns are smoothed by its shape as before
//! ([`prior`](super::prior)), which knows more of their steps than that they are geometric. What
//! the smoothing expects of C is normal; C's own noise is weighed as what it is.

use super::expected::Stretches;
use super::prior::Smoothed;
use crate::coco::estimate::{Estimate, EstimatedRun};
use crate::coco::estimators::columns::push_columns;
use crate::coco::estimators::node::NoisyNode;
use crate::fit::{Forward, Marginal, MonotoneSequence, Posterior, Room, Wanted, isotonic_l1};

/// More columns or rows than these are fitted without inference.
pub(crate) const MOST_PLACES: u64 = 1 << 15;

/// Below a released region rows with noise of a larger scale are fitted: they feign large groups
/// that its densities, a few hundredths of a group in a stretch, do not rule out. At 10 the errors
/// of regions were 0.90 to 1.03 times those of the fit, at 30 0.93 to 1.12 times, at 100 up to 5
/// times. A root's were smaller at all of these.
const LARGEST_SCALE_BELOW: f64 = 16.0;

/// More groups leave no room for the arithmetic.
const MOST_GROUPS: u64 = 1 << 62;

/// Room for so many different sizes is made at once.
const FEW_SIZES: usize = 16;

/// Passes that correct what is expected, at least.
const ROUNDS: usize = 2;

/// Whether so many columns and rows of a region are neither too many nor too noisy for [`NoisyNumbers`].
pub(super) fn can_be_inferred(node: &NoisyNode, columns: u64, rows: u64) -> bool {
    let clear = node.parent.is_none() || node.scale <= LARGEST_SCALE_BELOW;
    clear && columns.max(rows) <= MOST_PLACES && node.groups <= MOST_GROUPS
}

/// The noisy numbers of a region.
pub(super) struct NoisyNumbers<'a> {
    pub node: &'a NoisyNode<'a>,
    pub columns: &'a [i64],
    /// In ascending order of the truth.
    pub rows: &'a [i64],
    /// How many groups are at or above the cut as far as the fitted columns tell.
    pub above: u64,
}

/// What is known of the columns.
enum Columns<'a> {
    /// From themselves, with the steps that are expected.
    Passed(Forward, Vec<f64>),
    /// From a region above.
    Smoothed(&'a Smoothed),
}

/// What is known of the groups at or above the cut.
#[derive(Default)]
struct RowSizes {
    /// By how much each exceeds it, with a variance; in ascending order.
    sizes: Vec<(u64, f64)>,
    /// The logarithms of how likely the rows are with each number of such groups, the most first; if
    /// they are wanted.
    ln_begins: Vec<f64>,
}

impl NoisyNumbers<'_> {
    /// `None` where nothing that is possible comes near the numbers.
    pub(super) fn estimate(&self, smoothed: Option<&Smoothed>) -> Option<Estimate> {
        Room::with(|room| self.estimate_in(smoothed, room))
    }

    fn estimate_in(&self, smoothed: Option<&Smoothed>, room: &mut Room) -> Option<Estimate> {
        let node = self.node;
        let columns = match smoothed {
            Some(smoothed) => Columns::Smoothed(smoothed),
            None => self.passed_columns(room)?,
        };
        // of count, count - 1, ..., 0 groups above the cut
        let least = node.groups as i64 - self.rows.len() as i64;
        let count = self.rows.len() + 1;
        let ln_begins = match &columns {
            Columns::Passed(forward, _) => forward.ln_last(least, count),
            Columns::Smoothed(smoothed) => {
                let observed = self.columns.last().map_or(0, |last| *last);
                (least..).take(count).map(|c| smoothed.ln_last(c, observed, node.scale)).collect()
            }
        };
        let RowSizes { sizes, ln_begins } = self.sizes(&ln_begins, smoothed.is_none(), room)?;
        let values = match &columns {
            Columns::Passed(forward, steps) => {
                let begins = self.begins();
                let chain = self.chain_of_columns(steps, &begins);
                // without rows all groups may be below the cut
                let end = (!self.rows.is_empty()).then_some((least, ln_begins.as_slice()));
                let values = chain.posterior(forward, end, Wanted::Values, room)?.values;
                values.iter().filter_map(|value| value.median).collect()
            }
            Columns::Smoothed(smoothed) => smoothed.values.clone(),
        };
        let cut = self.columns.len() as u64;
        let mut runs = Vec::with_capacity(FEW_SIZES);
        for alike in sizes.chunk_by(|a, b| a.0 == b.0) {
            let groups = alike.len() as u64;
            let variance = alike.iter().map(|size| size.1).sum::<f64>() / groups as f64;
            runs.push(EstimatedRun { size: cut + alike[0].0, variance, groups });
        }
        push_columns(node, &values, node.groups - sizes.len() as u64, &mut runs);
        Some(Estimate::new(runs))
    }

    /// The sequence begins at once.
    fn begins(&self) -> Vec<f64> {
        let mut begins = vec![f64::NEG_INFINITY; self.columns.len() + 1];
        begins[0] = 0.0;
        begins
    }

    fn chain_of_columns<'a>(&'a self, steps: &'a [f64], begins: &'a [f64]) -> MonotoneSequence<'a> {
        MonotoneSequence {
            observed: self.columns,
            scale: self.node.scale,
            top: self.node.groups as i64,
            steps: Some(steps),
            begins,
            weights: &[],
        }
    }

    fn passed_columns(&self, room: &mut Room) -> Option<Columns<'static>> {
        let fit = isotonic_l1(self.columns).values;
        let fit: Vec<i64> = fit.iter().map(|value| self.node.clamped(*value) as i64).collect();
        let begins = self.begins();
        let stretches = Stretches::of_columns(fit.len(), self.node.max_size);
        let variance = self.node.variance;
        let expected =
            |values: &[i64]| stretches.halved(values, variance).with_columns(values).by_size();
        let mut steps = expected(&fit);
        let mut windows = self.chain_of_columns(&steps, &begins).windows();
        for round in 1.. {
            let chain = self.chain_of_columns(&steps, &begins);
            let forward = chain.forward(windows, room)?;
            if round >= ROUNDS && forward.is_finest() {
                return Some(Columns::Passed(forward, steps));
            }
            let Posterior { values, next, .. } =
                chain.posterior(&forward, None, Wanted::NextPass, room)?;
            let Some(next) = next.filter(|next| round < ROUNDS || !next.settled) else {
                return Some(Columns::Passed(forward, steps));
            };
            room.reuse(forward);
            let medians = values.iter().map(|value| value.median);
            steps = expected(&medians.collect::<Option<Vec<i64>>>()?);
            windows = next.windows;
        }
        None
    }

    /// `ln_begins`: what the columns say of each number of groups at or above the cut.
    /// `begins_wanted`: whether what the rows say of it is wanted.
    fn sizes(&self, ln_begins: &[f64], begins_wanted: bool, room: &mut Room) -> Option<RowSizes> {
        if self.rows.is_empty() {
            return Some(RowSizes::default());
        }
        let (node, cut) = (self.node, self.columns.len() as u64);
        let fit = isotonic_l1(self.rows).values;
        let sizes = fit
            .iter()
            .rev()
            .take(self.above as usize)
            .map(|row| cut.saturating_add_signed((*row).max(0)).min(node.max_size));
        let stretches = Stretches::from(cut, node.max_size);
        let first = node.parent.map(|parent| stretches.below(parent, node));
        let mut expected = stretches.with_sizes(sizes);
        if first.is_some() {
            expected = expected.corrected(expected.groups(), first.as_ref());
        }
        let mut windows = None;
        for round in 1.. {
            let chain = MonotoneSequence {
                observed: self.rows,
                scale: node.scale,
                top: (node.max_size - cut) as i64,
                steps: None,
                begins: ln_begins,
                weights: &expected.weights(),
            };
            let forward = chain.forward(windows.unwrap_or_else(|| chain.windows()), room)?;
            let last = round >= ROUNDS && forward.is_finest();
            let wanted = match (last, begins_wanted) {
                (false, _) => Wanted::NextPass,
                (true, true) => Wanted::ValuesAndBegins,
                (true, false) => Wanted::Values,
            };
            let posterior = chain.posterior(&forward, None, wanted, room)?;
            room.reuse(forward);
            let Some(next) = posterior.next.filter(|next| round < ROUNDS || !next.settled) else {
                let size = |value: &Marginal| Some((value.median? as u64, value.variance));
                let sizes = posterior.values.iter().filter_map(size).collect();
                return Some(RowSizes { sizes, ln_begins: posterior.ln_begins });
            };
            expected = expected.corrected(&next.expected, first.as_ref());
            windows = Some(next.windows);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::strips::Strips;
    use super::*;
    use crate::coco::estimators::tests::of_groups;
    use crate::coco::{Coco, Estimator, Run, emd};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    const MAX_SIZE: u64 = 2000;

    fn node(truth: &Coco, scale: f64) -> NoisyNode<'static> {
        let variance = 2.0 * scale * scale;
        NoisyNode { groups: truth.groups(), max_size: MAX_SIZE, scale, variance, parent: None }
    }

    /// The mean error of 30 roots, inferred and fitted, from the same noisy numbers.
    fn errors(truth: &Coco, epsilon: f64) -> [f64; 2] {
        let measurement = of_groups(Estimator::Cut, truth.groups(), MAX_SIZE, 1, epsilon);
        [true, false].map(|inferred| {
            let error = |seed| {
                let mut words = ChaCha20Rng::seed_from_u64(seed);
                let node = &node(truth, 1.0 / epsilon);
                let strips = Strips { node, prior: None, inferred };
                let estimate = strips.estimate(truth, None, measurement.noisy(&mut words));
                assert_eq!(estimate.histogram().groups(), truth.groups());
                assert!(estimate.runs().iter().all(|run| run.size <= MAX_SIZE));
                emd(&estimate.histogram(), truth).unwrap() as f64
            };
            (0..30).map(error).sum::<f64>() / 30.0
        })
    }

    fn falling(groups: u64) -> Coco {
        let of = |size| groups / size;
        (1..MAX_SIZE).map(|size| Run { size, groups: of(size) - of(size + 1) }).collect()
    }

    /// (The words are fixed: no random failures.)
    #[test]
    fn medians_err_less_than_fits() {
        let no_small: Coco =
            (6..100).map(|size| Run { size, groups: 40_000 / size.pow(2) }).collect();
        for (truth, epsilon, at_most) in [
            (falling(100_000), 0.05, 0.85),
            (falling(100_000), 0.5, 0.95),
            (falling(2_000), 0.1, 0.9),
            (no_small, 0.1, 0.95),
        ] {
            let [inferred, fitted] = errors(&truth, epsilon);
            assert!(inferred < at_most * fitted, "{epsilon}: {inferred} and {fitted}");
        }
    }

    #[test]
    fn too_many_or_too_noisy_numbers_are_fitted() {
        let truth = falling(100);
        assert!(can_be_inferred(&node(&truth, 1000.0), MOST_PLACES, MOST_PLACES));
        assert!(!can_be_inferred(&node(&truth, 1.0), MOST_PLACES + 1, 0));
        assert!(!can_be_inferred(&node(&truth, 1.0), 0, MOST_PLACES + 1));
        let estimate = of_groups(Estimator::Cut, 100, MAX_SIZE, 1, 1.0).estimate(&truth, |n| n);
        let profile = crate::coco::Profile::new(&estimate, MAX_SIZE, 0.0);
        let below = |scale| NoisyNode { parent: Some(&profile), ..node(&truth, scale) };
        assert!(can_be_inferred(&below(LARGEST_SCALE_BELOW), 10, 10));
        assert!(!can_be_inferred(&below(1.1 * LARGEST_SCALE_BELOW), 10, 10));
    }
}
