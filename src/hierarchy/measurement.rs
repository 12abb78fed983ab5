//! What is measured of the regions of a level, with its noise.

use super::consistency::Consistency;
use super::noisy_counts::{NoisyCounts, Weights};
use super::plan::{LevelPlan, ReleasePlan};
use super::release::Observer;
use super::threads::share;
use super::tree::Tree;
use crate::coco::{Coco, Estimate, Method, Profile};
use crate::noise::{Key, RandomWords, ScaleError};
use crate::work::{poll, watched};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// A region that is to be measured.
pub(super) struct Unmeasured<'a> {
    pub level: &'a LevelPlan,
    pub truth: &'a Coco,
    /// The profile of the region that it lies in, where its cut follows from that.
    pub parent: Option<&'a Profile>,
}

/// What the plan's consistency method wants to know of regions, in their order; where it is not
/// [`Consistency::Chain`]. At most so many threads share the regions, which does not change what
/// comes out: the noise of each has a key of its own, drawn from `words` in the regions' order.
///
/// The observer's functions are called on this thread alone.
///
/// Errors: a noise scale that cannot be sampled.
pub(super) fn measure<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    regions: &[Unmeasured],
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<Measured>, ScaleError> {
    let keys: Vec<Key> = regions.iter().map(|_| Key::draw(words)).collect();
    let work: Vec<u64> = regions.iter().map(|region| work(plan, region)).collect();
    let done = AtomicUsize::new(0);
    let measure_region = |number: usize| {
        poll();
        let (region, words) = (&regions[number], &mut keys[number].words());
        let mut mechanism = plan.mechanism(region.level, region.truth.groups())?;
        if let Some(parent) = region.parent {
            mechanism = mechanism.below(parent);
        }
        let measured = match plan.consistency() {
            Consistency::Cumulative => Measured::Cells {
                values: mechanism.release_cumulative(region.truth, words),
                variance: mechanism.variance(),
            },
            method if method.is_dense() => Measured::Cells {
                values: mechanism.release_counts(region.truth, words),
                variance: mechanism.count_variance(),
            },
            _ => Measured::Estimate(mechanism.release(region.truth, words)),
        };
        done.fetch_add(1, Ordering::Relaxed);
        Ok(measured)
    };
    let mut told = 0;
    let mut tell = || {
        while told < done.load(Ordering::Relaxed) {
            observer.region_measured();
            told += 1;
        }
    };
    let measured = watched(&mut tell, || share(&work, threads, measure_region));
    tell();
    measured.into_iter().collect()
}

/// For how many draws the processor's time to smooth one column would do.
const DRAWS_PER_COLUMN: u64 = 50;

/// About how many numbers are measured of a region, from what is public; and as many as take the time to
/// smooth them, where a region above tells how.
fn work(plan: &ReleasePlan, region: &Unmeasured) -> u64 {
    let groups = region.truth.groups();
    match region.level.method {
        Method::H | Method::Hc | Method::HcL2 => plan.max_size(),
        Method::Hg => groups,
        Method::Cut => {
            let columns = groups.min(plan.max_size());
            if region.parent.is_some() { columns.saturating_mul(DRAWS_PER_COLUMN) } else { columns }
        }
        Method::CutAt(cut) => groups.saturating_add(cut),
    }
}

/// The same for a level whose regions are measured as one chain.
///
/// Errors: a noise scale that cannot be sampled.
pub(super) fn measure_chain<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    level: &LevelPlan,
    truth: &[Coco],
    words: &mut R,
    observer: &mut dyn Observer,
) -> Result<Vec<Measured>, ScaleError> {
    if truth.is_empty() {
        return Ok(vec![]);
    }
    let mechanism = plan.chain_mechanism(level, truth.len())?;
    let variance = mechanism.variance();
    let regions = mechanism.release(truth, words);
    let cells = |values| {
        observer.region_measured();
        Measured::Cells { values, variance }
    };
    Ok(regions.into_iter().map(cells).collect())
}

/// Whether the cuts of a level follow from what is released of the one above it.
pub(super) fn follows(plan: &ReleasePlan, level: usize) -> bool {
    let measured = |level: usize| plan.levels()[level].as_ref();
    let cut = measured(level).is_some_and(|level| level.method == Method::Cut);
    let above = level.checked_sub(1).and_then(measured).is_some();
    cut && above && !plan.consistency().is_dense() // which has no estimates to follow
}

/// The profiles of regions for those below them, where these [follow](follows).
pub(super) fn profiles(plan: &ReleasePlan, regions: &[Measured]) -> Vec<Profile> {
    let profile = |region: &Measured| match region {
        Measured::Estimate(estimate) => Some(Profile::new(estimate, plan.max_size())),
        Measured::Cells { .. } => None,
    };
    regions.iter().filter_map(profile).collect()
}

/// The regions' estimates, where these were measured.
pub(super) fn estimates(measured: Vec<Measured>) -> Vec<Estimate> {
    let estimate = |region| match region {
        Measured::Estimate(estimate) => estimate,
        Measured::Cells { .. } => Estimate::default(),
    };
    measured.into_iter().map(estimate).collect()
}

/// The cells of all regions in the order of [`NoisyCounts`], weighted by inverse variances.
pub(super) struct Cells {
    sizes: usize,
    values: Vec<f64>,
    /// Of each region; None where they are all the same.
    weights: Option<Vec<f64>>,
}

impl Cells {
    pub(super) fn new(tree: &Tree, measured: Vec<Measured>) -> Cells {
        let cells = |region| match region {
            Measured::Cells { values, variance } => (values, variance),
            Measured::Estimate(_) => (vec![], f64::INFINITY),
        };
        let regions: Vec<(Vec<i64>, f64)> = measured.into_iter().map(cells).collect();
        let sizes = regions.iter().map(|(values, _)| values.len()).max().unwrap_or(0);
        let largest = NoisyCounts::largest(tree);
        let variances: Vec<f64> = regions.iter().map(|(_, variance)| *variance).collect();
        let weights = NoisyCounts::inverse_variances(&variances);
        let mut values = vec![0.0; regions.len() * sizes];
        let (width, mut begin, mut rest) = (regions.len(), 0, regions.into_iter());
        while begin < width {
            poll();
            // all sizes of some regions, whose memory is free then
            let rows: Vec<(Vec<i64>, f64)> = rest.by_ref().take(REGIONS_AT_A_TIME).collect();
            for (size, column) in values.chunks_exact_mut(width).enumerate() {
                for (value, (row, _)) in column[begin..].iter_mut().zip(&rows) {
                    let noisy = row.get(size).copied().unwrap_or(0);
                    *value = (noisy as f64).clamp(-largest, largest);
                }
            }
            begin += rows.len();
        }
        // equal weights are none: costs are then integers, and an optimum is exact
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        Cells { sizes, values, weights: (!alike).then_some(weights) }
    }

    pub(super) fn noisy<'a>(&'a self, tree: &'a Tree) -> NoisyCounts<'a> {
        let weights = self.weights.as_deref().map_or(Weights::Equal, Weights::OfRegions);
        NoisyCounts::new(tree, self.sizes, &self.values, weights)
    }
}

/// Some lines of the cache hold so many values of a size.
const REGIONS_AT_A_TIME: usize = 64;
