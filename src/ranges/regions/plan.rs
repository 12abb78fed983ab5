//! What a release of all regions' range sums will do, settled before any private data are read.

use super::combination::Combination;
use super::level::MeasuredLevel;
use super::release::RegionRelease;
use super::shapes::Shapes;
use super::tree::RegionTree;
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::RandomWords;
use crate::privacy::Epsilon;
use crate::ranges::bins::sums::SignedSums;
use crate::ranges::error::RangePlanError;
use crate::ranges::limits::MAX_BINS;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::method::RangeMethod;
use crate::ranges::parameters::{Parameters, RangeParameters};
use crate::ranges::plan::RangePlan;
use crate::ranges::planner::RangeRequest;
use crate::ranges::spending::Price;
use crate::ranges::workload::{Spread, TargetRanges, Workload};
use crate::work::{Paced, poll};
use serde_json::{Value, json};
use std::ops::Range;

/// What a release of all regions' range sums is asked for.
#[derive(Debug, Clone)]
pub struct RegionRequest {
    /// Of the bins of one region, and with the budget of all levels.
    pub ranges: RangeRequest,
    pub tree: RegionTree,
    /// Of the budget, one per level; None: see [`Shapes::best_shares`].
    pub shares: Option<Vec<f64>>,
}

/// A release: what is measured of each level, and how it is combined.
pub struct RegionPlan {
    price: Price,
    /// of a single region that has all of the budget
    whole: RangeParameters,
    shares: Vec<f64>,
    levels: Vec<Option<MeasuredLevel>>,
    tree: RegionTree,
}

impl RegionPlan {
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(request: RegionRequest) -> Result<RegionPlan, RangePlanError> {
        let RegionRequest { ranges, tree, shares } = request;
        if let Some(method) = ranges.method.method.filter(|method| !method.adds_up()) {
            return Err(RangePlanError::NotAdding { method });
        }
        check_size(&tree, usize::try_from(ranges.bins).unwrap_or(0))?;
        let (epsilon, delta, rows) = (ranges.epsilon, ranges.delta, ranges.rows_per_unit);
        let target = ranges.method.target.clone();
        let shapes = Shapes::of(&tree);
        if let Some(shares) = &shares {
            check_shares(shares, tree.levels(), epsilon)?;
        }
        let shares_of = |precision: &dyn Fn(f64) -> f64| match &shares {
            Some(shares) => shares.clone(),
            None => shapes.best_shares(tree.levels(), precision),
        };
        let mean_variance = |plan: &RangePlan, target: &TargetRanges| {
            poll();
            let precision = precision_of_share(plan, target);
            let precisions: Vec<f64> = shares_of(&precision).into_iter().map(&precision).collect();
            shapes.mean_variance(&precisions)
        };
        let plan = RangePlan::of_least(ranges, RangeMethod::adds_up, mean_variance)?;
        let shares = shares_of(&precision_of_share(&plan, &target));
        let (price, parts) = plan.divided(&shares, rows);
        let measured = |parameters: Option<RangeParameters>| {
            let Some(parameters) = parameters else { return Ok(None) };
            poll();
            let mechanism = parameters.mechanism().map_err(|error| {
                let delta = if price.delta > 0.0 { delta } else { 0.0 };
                RangePlanError::Scale { epsilon, delta, error }
            })?;
            let mean_variance = positive(mechanism.mean_over(&target));
            Ok(Some(MeasuredLevel { parameters, mechanism, mean_variance }))
        };
        let levels = parts.into_iter().map(measured).collect::<Result<_, RangePlanError>>()?;
        Ok(RegionPlan { price, whole: plan.parameters().clone(), shares, levels, tree })
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.price.epsilon
    }

    /// What is charged: 0 where the noise is discrete Laplace.
    pub fn delta(&self) -> f64 {
        self.price.delta
    }

    /// The zero-concentrated loss of the whole release.
    pub fn rho(&self) -> f64 {
        self.price.loss.rho()
    }

    /// Of the budget, one per level; 0 for a level that is not measured.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    pub fn method(&self) -> RangeMethod {
        self.whole.method()
    }

    /// What each region of a level is measured by; None for a level that is not.
    pub fn mechanism(&self, level: usize) -> Option<&dyn RangeMechanism> {
        self.levels[level].as_ref().map(|level| level.mechanism.as_ref())
    }

    /// The mean of the variances of all regions' answers over the target, exactly.
    pub fn mean_variance(&self) -> f64 {
        let of_level =
            |level: &Option<MeasuredLevel>| level.as_ref().map_or(0.0, |level| level.mean_variance);
        let variances: Vec<f64> = self.levels.iter().map(of_level).collect();
        let coefficients = self.combination().coefficients();
        let variances = coefficients.iter().zip(variances.iter().cycle());
        let sum: f64 = variances.map(|(square, variance)| square * variance).sum();
        sum / self.tree.regions() as f64
    }

    /// Of each level, the mean and the maximum of the variances of its regions' answers to a
    /// workload. The maximum is exact where the noise of the levels differs by a factor alone, as the
    /// ranges with the largest variance are the same on all of them then, and else at least that.
    pub fn spreads(&self, workload: Workload) -> Vec<Spread> {
        let of_level = |level: &Option<MeasuredLevel>| {
            poll();
            level.as_ref().map_or(Spread::of([]), |level| level.mechanism.spread(workload))
        };
        let own: Vec<Spread> = self.levels.iter().map(of_level).collect();
        let coefficients = self.combination().coefficients();
        let of_region = |region: usize| {
            let squares = coefficients[region * own.len()..(region + 1) * own.len()].iter();
            squares.zip(&own).fold(Spread::of([]), |sum, (square, own)| Spread {
                mean: sum.mean + square * own.mean,
                max: sum.max + square * own.max,
            })
        };
        let of_all = |regions: Range<usize>| {
            let count = regions.len() as f64;
            let sum = regions.paced().map(of_region).fold(Spread::of([]), |all, one| Spread {
                mean: all.mean + one.mean,
                max: all.max.max(one.max),
            });
            Spread { mean: sum.mean / count, ..sum }
        };
        (0..self.tree.levels()).map(|level| of_all(self.tree.level(level))).collect()
    }

    pub(super) fn combination(&self) -> Combination<'_> {
        let precision = |level: &Option<MeasuredLevel>| {
            level.as_ref().map_or(0.0, |level| 1.0 / level.mean_variance)
        };
        Combination::new(&self.tree, self.levels.iter().map(precision).collect())
    }
}

/// Of what underflows, or of a target without a range, something that can be divided by.
fn positive(variance: f64) -> f64 {
    variance.max(1e-100)
}

/// The precision of a level's own estimates with a share of the plan's budget: one over the mean
/// variance over the target, which is taken to be in proportion to that of the noise. 0 without a
/// share, and where there is no such noise.
fn precision_of_share<'a>(
    plan: &'a RangePlan,
    target: &TargetRanges,
) -> impl Fn(f64) -> f64 + use<'a> {
    let groups = plan.mechanism().measurements().groups();
    let of_whole: f64 = groups.iter().map(|group| group.noise.variance()).sum();
    let ratio = of_whole / positive(plan.mechanism().mean_over(target));
    move |share| {
        if share == 0.0 {
            return 0.0;
        }
        let of_part = groups.iter().map(|group| group.noise.variance_of_part(share).ok());
        of_part.sum::<Option<f64>>().map_or(0.0, |of_part| ratio / of_part)
    }
}

fn check_size(tree: &RegionTree, bins: usize) -> Result<(), RangePlanError> {
    let (regions, cells) = (tree.regions(), bins);
    match regions.checked_mul(cells) {
        Some(numbers) if numbers <= MAX_BINS => Ok(()),
        _ => Err(RangePlanError::Regions { regions, cells }),
    }
}

fn check_shares(shares: &[f64], levels: usize, epsilon: f64) -> Result<(), RangePlanError> {
    if shares.len() != levels {
        return Err(RangePlanError::ShareCount { got: shares.len(), levels });
    }
    let epsilon = Epsilon::new(epsilon).map_err(|_| RangePlanError::Epsilon { value: epsilon })?;
    epsilon.split(shares).map(|_| ()).map_err(RangePlanError::Share)
}

impl Costs for RegionPlan {
    fn cost(&self) -> Cost {
        let Price { epsilon, delta, loss } = self.price.clone();
        let measurements = |level: &Option<MeasuredLevel>| match level {
            Some(level) => level.parameters.describe()["measurements"].take(),
            None => Value::Null,
        };
        let regions: Vec<usize> =
            (0..self.tree.levels()).map(|level| self.tree.level(level).len()).collect();
        let mut mechanism = self.whole.describe();
        mechanism["regions"] = json!(regions);
        mechanism["shares"] = json!(self.shares);
        mechanism["measurements"] = self.levels.iter().map(measurements).collect();
        Cost { epsilon, delta, loss, mechanism }
    }
}

impl<P> Receipt<RegionPlan, P> {
    /// Measures all regions and adds exact noise. `sums`: one per bin, leaf after leaf, of amounts
    /// within the bounds whose weight the plan is made for.
    ///
    /// # Panics
    /// If the sums are those of another number of leaves or bins.
    pub fn release<R: RandomWords + ?Sized>(
        self,
        sums: SignedSums,
        words: &mut R,
    ) -> RegionRelease {
        let plan = self.into_mechanism();
        let places = plan.tree.leaves().len() * plan.whole.bins();
        assert_eq!(sums.above.len(), places, "sums of other leaves or bins");
        let width = plan.whole.reconstruction_length();
        let combination = plan.combination();
        let mut estimates = super::release::measured(&plan.tree, &plan.levels, sums, width, words);
        combination.combine(&mut estimates, width);
        let coefficients = combination.coefficients();
        RegionRelease::new(plan.tree.clone(), plan.levels, coefficients, estimates)
    }
}
