//! What a region's released histogram says of the columns of a region within it.
//!
//! # The model
//!
//! Of a parent's G groups, H_i of size i, a child has g. Its numbers of groups of size 0, 1, 2, ...
//! are taken to be independent and normal; that of size i has the mean m_i = H_i g / G and the
//! variance m_i + g / G + d m_i^2:
//!
//! - m_i, as if the child had drawn its groups from its parent's;
//! - g / G, as the parent's cell is itself uncertain by a group or so;
//! - d m_i^2, as children differ from their parent by a share of about sqrt(d) in each cell.
//!
//! The columns are then a random walk with these steps, which ends at the public g after what lies
//! beyond the cut. Their estimates are the medians of its positions given the noisy columns
//! ([`smoothing`](crate::fit)). Columns that noise drowns are drawn towards the parent's shape, the
//! others stay near what was measured. The child's columns themselves tell d: the most likely of a
//! few values. Where d is large, the child has little of its parent's shape, and nothing is made of it.
//!
//! # Privacy
//!
//! All of this is computed from what was released, of the parent and of the child: post-processing.

use crate::coco::estimators::node::NoisyNode;
use crate::coco::estimators::profile::Profile;
use crate::fit::{LaplaceNoise, Normal, Walk, WalkMedians, isotonic_l1, log_likelihoods};

/// The values of d. The last are those of children that have nothing of their parent's shape.
const DIFFERENCES: [f64; 10] = [0.0, 0.001, 0.004, 0.016, 0.064, 0.25, 1.0, 16.0, 256.0, 1e6];

/// A child that differs by more from the region that it was measured below is inferred by its own numbers
/// alone: by medians over what is possible, and not by a fit. With equal shares the taxis' regions were then 0.87
/// to 0.99 times as far off. (A child that differs by less has a prior at least, and sums of such have less of a
/// bias: with 0.1 in place of this the root was up to 1.28 times as far off where regions differ a little.)
pub(super) const FROM_A_PARENT: f64 = 2.0;

/// A node that differs by more, a third in each cell, from what others of its level say stays as it was inferred
/// before: it would get worse, by up to 1.19 times.
pub(super) const FROM_A_POOL: f64 = 0.1;

/// More columns than this are not smoothed: a fit of 65,536 takes a tenth of a second, in which a
/// release cannot be cancelled.
const MOST_COLUMNS: usize = 1 << 16;

/// With noise of less variance, a scale of about 0.8, smoothing gained nothing, and it takes long.
const LEAST_VARIANCE: f64 = 1.0;

/// The expected numbers of a child's groups.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnPrior {
    /// Of each size below the cut.
    of_size: Vec<f64>,
    /// Of all sizes from the cut on.
    beyond: f64,
    /// g / G
    share: f64,
    /// The largest d that it is of use with.
    largest: f64,
}

/// Columns that were smoothed.
#[derive(Debug, Clone)]
pub(super) struct Smoothed {
    /// In ascending order.
    pub values: Vec<i64>,
    /// What the others say of the last.
    last: Normal,
}

impl Smoothed {
    /// The logarithm of how likely the last column is this one, by all of them, where such a number
    /// was observed with noise of scale t; up to a constant.
    pub(super) fn ln_last(&self, column: i64, observed: i64, scale: f64) -> f64 {
        let off = column as f64 - self.last.mean;
        let noise = (column as f64 - observed as f64).abs();
        -off * off / (2.0 * self.last.variance) - noise / scale
    }
}

impl ColumnPrior {
    /// `None` where the columns stay as they are measured.
    /// `largest`: [`FROM_A_PARENT`] or [`FROM_A_POOL`].
    pub(super) fn new(
        parent: &Profile,
        node: &NoisyNode,
        cut: u64,
        largest: f64,
    ) -> Option<ColumnPrior> {
        let few = usize::try_from(cut).is_ok_and(|cut| (1..=MOST_COLUMNS).contains(&cut));
        if node.groups == 0 || !few || node.variance < LEAST_VARIANCE {
            return None;
        }
        let share = parent.share(node.groups);
        let mut of_size = vec![0.0; cut as usize];
        let mut beyond = parent.groups();
        for run in parent.histogram().runs() {
            let Some(of_size) = of_size.get_mut(run.size as usize) else { break };
            *of_size = run.groups as f64 * share;
            beyond -= run.groups;
        }
        Some(ColumnPrior { of_size, beyond: beyond as f64 * share, share, largest })
    }

    /// The numbers of groups of size at most i, given such noisy ones. `None` where these have little of
    /// what is expected.
    pub(super) fn columns(&self, node: &NoisyNode, noisy: &[i64]) -> Option<Smoothed> {
        // noise of this size hardly occurs, and larger numbers have no room in the arithmetic
        let far = (16.0 * node.scale) as i64;
        let (least, most) = (-far, (node.groups as i64).saturating_add(far));
        let noisy: Vec<i64> = noisy.iter().map(|value| (*value).clamp(least, most)).collect();
        let noise = LaplaceNoise { scale: node.scale, variance: node.variance };
        let beyond = self.beyond;
        let end = (node.groups as f64 - beyond, self.variances(beyond));
        let steps = self.of_size.iter().map(|&mean| (mean, self.variances(mean)));
        let likelihoods = log_likelihoods(steps, end, &noisy, noise);
        let (mut most, mut most_likely) = (f64::NEG_INFINITY, 0);
        for (number, &likelihood) in likelihoods.iter().enumerate() {
            if likelihood >= most {
                (most, most_likely) = (likelihood, number);
            }
        }
        let difference = DIFFERENCES[most_likely];
        if difference > self.largest {
            return None;
        }
        let steps = self
            .of_size
            .iter()
            .map(|&mean| Normal { mean, variance: self.variance(mean, difference) });
        let walk = Walk {
            steps: steps.collect(),
            end: Normal { mean: end.0, variance: end.1[most_likely] },
        };
        let WalkMedians { medians, last } = walk.medians(&noisy, noise);
        Some(Smoothed { values: isotonic_l1(&medians).values, last })
    }

    fn variances(&self, mean: f64) -> [f64; DIFFERENCES.len()] {
        DIFFERENCES.map(|difference| self.variance(mean, difference))
    }

    /// Of the number of groups of a size of which so many are expected.
    fn variance(&self, mean: f64, difference: f64) -> f64 {
        mean + self.share + difference * mean * mean
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::cut_below;
    use super::*;
    use crate::coco::estimators::tests::of_groups;
    use crate::coco::{Coco, Estimate, EstimatedRun, Estimator, Run, emd};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    const MAX_SIZE: u64 = 200;

    fn exact(histogram: &Coco) -> Estimate {
        let run = |run: &Run| EstimatedRun { size: run.size, variance: 1.0, groups: run.groups };
        Estimate::new(histogram.runs().iter().map(run).collect())
    }

    /// About `groups` / (size + `shift`)^2 of each size.
    fn falling(groups: u64, shift: u64) -> Coco {
        let run = |size: u64| Run { size, groups: groups / (size + shift).pow(2) };
        (1..MAX_SIZE).map(run).collect()
    }

    /// The mean error of a child's releases below a parent, and that with the same cut and no
    /// prior.
    fn errors(parent: &Coco, child: &Coco, epsilon: f64) -> [f64; 2] {
        let profile = Profile::new(&exact(parent), MAX_SIZE, 0.0);
        let of = |estimator| of_groups(estimator, child.groups(), MAX_SIZE, 1, epsilon);
        let (groups, scale) = (child.groups(), 1.0 / epsilon);
        let node = NoisyNode {
            groups,
            max_size: MAX_SIZE,
            scale,
            variance: 2.0 * scale * scale,
            parent: None,
        };
        let alone = Estimator::CutAt(cut_below(&profile, &node));
        [of(Estimator::Cut).below(&profile), of(alone)].map(|measurement| {
            let errors = (0..40).map(|seed| {
                let mut words = ChaCha20Rng::seed_from_u64(seed);
                let released = measurement.release(child, &mut words).histogram();
                emd(&released, child).unwrap() as f64
            });
            errors.sum::<f64>() / 40.0
        })
    }

    #[test]
    fn a_child_like_its_parent_is_released_with_less_error() {
        for epsilon in [0.02, 0.05] {
            let [below, alone] = errors(&falling(1_000_000, 1), &falling(20_000, 1), epsilon);
            assert!(below < 0.8 * alone, "{epsilon}: {below} and {alone}");
        }
        let [below, alone] = errors(&falling(1_000_000, 1), &falling(20_000, 1), 0.5);
        assert!(below < 0.95 * alone, "{below} and {alone}");
    }

    #[test]
    fn a_child_unlike_its_parent_is_left_as_it_is() {
        let child: Coco = (20..60).map(|size| Run { size, groups: 100 }).collect();
        for epsilon in [0.05, 0.2, 1.0] {
            let [below, alone] = errors(&falling(1_000_000, 1), &child, epsilon);
            assert!(below < 1.1 * alone, "{epsilon}: {below} and {alone}");
        }
    }

    #[test]
    fn expected_numbers_are_the_parents_in_proportion() {
        let parent = [(1, 60), (3, 20), (9, 20)].map(|(size, groups)| Run { size, groups });
        let profile = Profile::new(&exact(&parent.into_iter().collect()), 10, 0.0);
        let node = NoisyNode { groups: 10, max_size: 10, scale: 1.0, variance: 2.0, parent: None };
        let prior = ColumnPrior::new(&profile, &node, 4, FROM_A_PARENT).unwrap();
        assert_eq!(
            prior,
            ColumnPrior {
                of_size: vec![0.0, 6.0, 0.0, 2.0],
                beyond: 2.0,
                share: 0.1,
                largest: FROM_A_PARENT
            }
        );
        assert_eq!(prior.columns(&node, &[0, 6, 6, 8]).unwrap().values, [0, 6, 6, 8]);
    }

    #[test]
    fn nothing_is_smoothed_without_need() {
        let profile = Profile::new(&exact(&falling(1_000_000, 1)), MAX_SIZE, 0.0);
        let node =
            NoisyNode { groups: 10, max_size: 1 << 20, scale: 1.0, variance: 2.0, parent: None };
        let prior = |node: NoisyNode, cut| ColumnPrior::new(&profile, &node, cut, FROM_A_PARENT);
        assert!(prior(node, 1).is_some() && prior(node, 1 << 16).is_some());
        assert!(prior(node, 0).is_none() && prior(node, (1 << 16) + 1).is_none());
        assert!(prior(NoisyNode { groups: 0, ..node }, 1).is_none());
        assert!(prior(NoisyNode { variance: 0.01, ..node }, 1).is_none());
    }
}
