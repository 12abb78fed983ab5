//! What is measured of the regions of a level, with its noise.

use super::consistency::Consistency;
use super::noisy_counts::NoisyCounts;
use super::plan::{LevelPlan, ReleasePlan};
use super::release::Observer;
use super::tree::Tree;
use crate::coco::{Coco, Estimate, Method, Profile};
use crate::noise::{RandomWords, ScaleError};

/// What was released of a region, before consistency.
#[derive(Debug, Clone)]
pub(super) enum Measured {
    Estimate(Estimate),
    /// One noisy value for each size from 0 on, all of one variance.
    Cells {
        values: Vec<i64>,
        variance: f64,
    },
}

/// What the plan's consistency method wants to know of a level's regions, in their order.
///
/// `parents`: the profile of the region that each lies in, where it has one.
///
/// The observer's checkpoint is called at least once per region; it may unwind.
///
/// Errors: a noise scale that cannot be sampled.
pub(super) fn measure<'a, R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    level: &LevelPlan,
    truth: &[Coco],
    parents: impl Iterator<Item = Option<&'a Profile>>,
    words: &mut R,
    observer: &mut dyn Observer,
) -> Result<Vec<Measured>, ScaleError> {
    if truth.is_empty() {
        return Ok(vec![]);
    }
    if plan.consistency() == Consistency::Chain {
        let mechanism = plan.chain_mechanism(level, truth.len())?;
        let variance = mechanism.variance();
        let regions = mechanism.release(truth, words, &mut || observer.checkpoint());
        let cells = |values| {
            observer.region_measured();
            Measured::Cells { values, variance }
        };
        return Ok(regions.into_iter().map(cells).collect());
    }
    let measure_region = |(region, parent): (&Coco, Option<&Profile>)| {
        let checkpoint = &mut || observer.checkpoint();
        checkpoint();
        let mut mechanism = plan.mechanism(level, region.groups())?;
        if let Some(parent) = parent {
            mechanism = mechanism.below(parent);
        }
        let measured = match plan.consistency() {
            Consistency::Cumulative => Measured::Cells {
                values: mechanism.release_cumulative(region, words, checkpoint),
                variance: mechanism.variance(),
            },
            method if method.is_dense() => Measured::Cells {
                values: mechanism.release_counts(region, words, checkpoint),
                variance: mechanism.count_variance(),
            },
            _ => Measured::Estimate(mechanism.release(region, words, checkpoint)),
        };
        observer.region_measured();
        Ok(measured)
    };
    truth.iter().zip(parents).map(measure_region).collect()
}

/// What regions tell about those below them, for a level that is measured after theirs: profiles
/// where estimates were released and the level's cut follows from them.
pub(super) fn profiles(
    plan: &ReleasePlan,
    level: &LevelPlan,
    regions: &[Measured],
) -> Vec<Option<Profile>> {
    let profile = |region: &Measured| match region {
        Measured::Estimate(estimate) if level.method == Method::Cut => {
            Some(Profile::new(estimate, plan.max_size()))
        }
        _ => None,
    };
    regions.iter().map(profile).collect()
}

/// The regions' estimates, where these were measured.
pub(super) fn estimates(measured: Vec<Measured>) -> Vec<Estimate> {
    let estimate = |region| match region {
        Measured::Estimate(estimate) => estimate,
        Measured::Cells { .. } => Estimate::default(),
    };
    measured.into_iter().map(estimate).collect()
}

/// The cells of all regions as one table, weighted by inverse variances.
pub(super) struct Cells {
    sizes: usize,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Cells {
    pub(super) fn new(tree: &Tree, measured: Vec<Measured>, checkpoint: &mut dyn FnMut()) -> Cells {
        let cells = |region| match region {
            Measured::Cells { values, variance } => (values, variance),
            Measured::Estimate(_) => (vec![], f64::INFINITY),
        };
        let regions: Vec<(Vec<i64>, f64)> = measured.into_iter().map(cells).collect();
        let sizes = regions.iter().map(|(values, _)| values.len()).max().unwrap_or(0);
        let largest = NoisyCounts::largest(tree);
        let variances: Vec<f64> = regions.iter().map(|(_, variance)| *variance).collect();
        let of_regions = NoisyCounts::inverse_variances(&variances);
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for ((own, _), weight) in regions.into_iter().zip(of_regions) {
            checkpoint();
            values.extend(own.iter().map(|&value| (value as f64).clamp(-largest, largest)));
            values.resize(values.len() + sizes - own.len(), 0.0);
            weights.resize(values.len(), weight);
        }
        // equal weights are none: costs are then integers, and an optimum is exact
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        Cells { sizes, values, weights: (!alike).then_some(weights) }
    }

    pub(super) fn noisy<'a>(&'a self, tree: &'a Tree) -> NoisyCounts<'a> {
        NoisyCounts::new(tree, self.sizes, &self.values, self.weights.as_deref())
    }

    pub(super) fn sizes(&self) -> usize {
        self.sizes
    }
}
