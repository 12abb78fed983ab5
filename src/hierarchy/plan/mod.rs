//! What a hierarchy release will do, settled from public arguments before any data are read.

mod error;
mod request;

pub use error::{PlanError, estimator_names};
pub use request::ReleaseRequest;

pub(super) use request::{MAX_CANDIDATES, candidates, names_of_levels};

use super::consistency::{Consistency, MAX_CELLS};
use super::group_counts::{GroupCounts, LARGEST_SCALE, SHARE};
use super::measurement::LevelMeasurement;
use super::shares::{LOOK, Outlook, PARTS};
use super::tree::Tree;
use crate::charge::{Cost, Costs};
use crate::coco::{
    Coco, Estimate, Estimator, HistogramMeasurement, MAX_SIZE_LIMIT, MeasuredNumbers,
};
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::{Epsilon, PrivacyLoss};
use serde_json::json;

/// The largest number of levels, the root's included.
pub const MAX_LEVELS: usize = 10;

/// How many numbers can be kept at most: some hundred megabytes.
const MOST_KEPT: usize = 40_000_000;

/// A hierarchy release: what is measured of each level, the consistency method, K; and before it,
/// where that is private, how many groups there are.
///
/// The levels that are measured compose sequentially, so the whole release satisfies
/// [`ReleasePlan::epsilon`]-differential privacy (Kuo et al., theorem 1).
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasePlan {
    epsilon: Epsilon,
    groups: Option<GroupCounts>,
    /// What the groups' numbers leave: all of epsilon where these are public.
    of_sizes: Epsilon,
    levels: Vec<Option<LevelMeasurement>>,
    look: Option<FirstLook>,
    consistency: Consistency,
    max_size: u64,
    rows_per_unit: u32,
    keep_measurements: bool,
}

/// What a release measures before the levels, where it decides by this how to divide among them
/// what is left of the budget ([`shares`](super::shares)), and what to expect of the first that are
/// measured.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstLook {
    measurement: HistogramMeasurement,
    /// For all levels together; `None` where their shares are settled already.
    left: Option<f64>,
}

impl FirstLook {
    /// Of the root.
    pub fn measurement(&self) -> &HistogramMeasurement {
        &self.measurement
    }

    /// An estimate of the root, and the noisy numbers that it was made of.
    pub(super) fn release<R: RandomWords + ?Sized>(
        &self,
        root: &Coco,
        words: &mut R,
    ) -> (Estimate, Vec<MeasuredNumbers>) {
        let of_root = self.measurement.of_groups(root.groups());
        let mut numbers = Vec::new();
        let estimate = of_root.estimate(root, of_root.noted(words, &mut numbers));
        (estimate, of_root.told_apart(numbers))
    }
}

impl ReleasePlan {
    /// Errors: see [`PlanError`]; each names its argument.
    pub fn new(request: &ReleaseRequest) -> Result<ReleasePlan, PlanError> {
        let &ReleaseRequest { levels, epsilon, rows_per_unit, .. } = request;
        let budget = Epsilon::new(epsilon).map_err(|_| PlanError::Epsilon { value: epsilon })?;
        let consistency = Consistency::parse(&request.consistency)
            .ok_or_else(|| PlanError::Consistency { name: request.consistency.clone() })?;
        let max_size = u64::try_from(request.max_size)
            .ok()
            .filter(|size| (1..=MAX_SIZE_LIMIT).contains(size))
            .ok_or(PlanError::MaxSize { value: request.max_size })?;
        let named = estimators(request, consistency, max_size)?;
        let (groups, of_sizes) = divided(request, budget)?;
        let parts = parts(request, consistency, of_sizes)?;
        let estimators = match named.as_slice() {
            [one] => vec![*one; levels],
            many if many.len() == levels => named,
            many => return Err(PlanError::EstimatorCount { got: many.len(), levels }),
        };
        let measurement = |level: usize| {
            if consistency.measures_leaves_alone() && level + 1 < levels {
                return Ok(None);
            }
            let estimator = estimators[level];
            let quantity = consistency.quantity();
            // a scale that cannot be sampled is refused here, before anything is charged
            LevelMeasurement::new(quantity, estimator, max_size, rows_per_unit, parts[level])
                .map(Some)
                .map_err(|error| PlanError::Scale { value: epsilon, error })
        };
        let levels = (0..levels).map(measurement).collect::<Result<Vec<_>, _>>()?;
        let mut plan = ReleasePlan {
            epsilon: budget,
            groups,
            of_sizes,
            levels,
            look: None,
            consistency,
            max_size,
            rows_per_unit,
            keep_measurements: request.keep_measurements,
        };
        if plan.keep_measurements {
            plan.check_kept()?;
        }
        if request.shares.is_none() && plan.levels_may_differ() {
            plan.look = plan.look_first().ok();
        }
        Ok(plan)
    }

    /// Whether what is measured can be kept: numbers of regions, not many more than sizes.
    fn check_kept(&self) -> Result<(), PlanError> {
        if self.groups.is_some() {
            return Err(PlanError::PrivateGroups { word: "keep_measurements".into() });
        }
        for level in self.levels.iter().flatten() {
            let estimator = level.estimator();
            if level.of_regions().is_none() {
                return Err(PlanError::NothingToKeep { word: self.consistency.name().into() });
            }
            // a number for each group: of those there may be billions
            if matches!(estimator, Estimator::Hg | Estimator::CutAt(_)) {
                return Err(PlanError::NothingToKeep { word: estimator.to_string() });
            }
        }
        Ok(())
    }

    /// Whether the levels of the plan can get any shares, also none.
    fn levels_may_differ(&self) -> bool {
        let mut levels = self.levels.iter();
        let adapted = |level: &Option<LevelMeasurement>| {
            level.as_ref().is_some_and(LevelMeasurement::follows)
        };
        self.levels.len() > 1 && self.consistency.weighs_levels() && levels.all(adapted)
    }

    /// Errors: some division of the budget leads to a scale that cannot be sampled. Equal shares, of
    /// which none is as large or as small, may still do.
    fn look_first(&self) -> Result<FirstLook, ScaleError> {
        let left = self.of_sizes.whole() * (1.0 - LOOK);
        let of = |epsilon| self.measurement_of(epsilon);
        of(left)?;
        of(left / PARTS as f64)?;
        let epsilon = self.of_sizes.whole() * LOOK;
        let (max_size, rows) = (self.max_size, self.rows_per_unit);
        let measurement = HistogramMeasurement::new(Estimator::Cut, max_size, rows, epsilon)?;
        Ok(FirstLook { measurement, left: Some(left) })
    }

    /// What is measured of a level where the levels can get any shares.
    fn measurement_of(&self, epsilon: f64) -> Result<LevelMeasurement, ScaleError> {
        let (consistency, estimator) = (self.consistency, Estimator::Cut);
        let (max_size, rows) = (self.max_size, self.rows_per_unit);
        LevelMeasurement::new(consistency.quantity(), estimator, max_size, rows, epsilon)
    }

    /// What is measured before the levels, if anything is. What [`ReleasePlan::levels`] are
    /// calibrated to then changes with what that releases.
    pub fn first_look(&self) -> Option<&FirstLook> {
        self.look.as_ref()
    }

    /// The levels, after a first look at the root.
    ///
    /// Errors: none, as the plan has tried the extremes.
    pub(super) fn levels_after(
        &self,
        look: &FirstLook,
        root: &Estimate,
        tree: &Tree,
        groups: impl Fn(usize) -> u64,
    ) -> Result<Vec<Option<LevelMeasurement>>, ScaleError> {
        let Some(left) = look.left else { return Ok(self.levels.clone()) };
        let scale = look.measurement.noise().scale().as_f64();
        let (max_size, rows) = (self.max_size, self.rows_per_unit);
        let outlook = Outlook::new((root, scale), tree, groups, max_size, rows);
        let parts = outlook.best_parts(left);
        let of_part = left / PARTS as f64;
        let measurement = |parts: usize| match parts {
            0 => Ok(None),
            parts => self.measurement_of(of_part * parts as f64).map(Some),
        };
        parts.into_iter().map(measurement).collect()
    }

    /// The plan that a first look led to: what it calibrated each level's measurement to, None
    /// where nothing was measured. The look is taken as before, as regions follow it, but decides nothing.
    /// A plan without a first look stays as it is.
    ///
    /// Errors: not one for each level, or one that cannot be sampled.
    pub(super) fn with_levels(&self, epsilons: &[Option<f64>]) -> Result<ReleasePlan, PlanError> {
        let Some(look) = &self.look else { return Ok(self.clone()) };
        if epsilons.len() != self.levels.len() {
            return Err(PlanError::ShareCount { got: epsilons.len(), levels: self.levels.len() });
        }
        let measurement = |epsilon: &Option<f64>| {
            let scale = |error| PlanError::Scale { value: self.epsilon.value(), error };
            epsilon.map(|epsilon| self.measurement_of(epsilon).map_err(scale)).transpose()
        };
        let levels = epsilons.iter().map(measurement).collect::<Result<_, _>>()?;
        let look = Some(FirstLook { left: None, ..look.clone() });
        Ok(ReleasePlan { levels, look, ..self.clone() })
    }

    /// The whole budget: what is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The loss of the whole release: that of its levels, of which each is a measurement of its own.
    ///
    /// Where a first look decides on their shares, one of them may get all that is left. That is the
    /// worst: whatever comes of it keeps that epsilon.
    pub fn loss(&self) -> PrivacyLoss {
        let of_groups = self.groups.iter().flat_map(GroupCounts::epsilons);
        let look = self.look.iter().map(|look| look.measurement.noise().epsilon());
        let of_levels = match self.look.as_ref().and_then(|look| look.left) {
            Some(left) => vec![left],
            None => self.levels.iter().flatten().map(LevelMeasurement::epsilon).collect(),
        };
        PrivacyLoss::of_pure(of_groups.chain(look).chain(of_levels))
    }

    /// What is measured before all else of how many groups there are, where that is private.
    pub(super) fn groups(&self) -> Option<&GroupCounts> {
        self.groups.as_ref()
    }

    /// Whether the numbers of groups are private.
    pub fn has_private_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// One entry per level from the root down; None where nothing is measured. After a
    /// [first look](ReleasePlan::first_look) other shares may take the place of these.
    pub fn levels(&self) -> &[Option<LevelMeasurement>] {
        &self.levels
    }

    pub fn consistency(&self) -> Consistency {
        self.consistency
    }

    pub fn max_size(&self) -> u64 {
        self.max_size
    }

    pub fn rows_per_unit(&self) -> u32 {
        self.rows_per_unit
    }

    /// Whether the noisy numbers are released beside what is made of them. The noise is that which
    /// protects them, so nothing more is spent.
    pub fn keeps_measurements(&self) -> bool {
        self.keep_measurements
    }

    /// Whether the plan can be carried out on a tree with so many regions on each level.
    ///
    /// Errors: [`PlanError::Cells`]; [`PlanError::Scale`] for noise that is too wide over so many
    /// regions.
    pub fn check_regions(&self, per_level: &[usize]) -> Result<(), PlanError> {
        let (max_size, consistency) = (self.max_size, self.consistency);
        let regions = per_level.iter().fold(0, |sum: usize, level| sum.saturating_add(*level));
        let cells = regions.saturating_mul(max_size as usize + 1);
        if consistency.is_dense() && cells > MAX_CELLS {
            return Err(PlanError::Cells { max_size, regions, consistency });
        }
        if self.keep_measurements && cells > MOST_KEPT {
            return Err(PlanError::Kept { max_size, regions });
        }
        for (level, &regions) in self.levels.iter().zip(per_level) {
            let Some(level) = level else { continue };
            level
                .check_regions(regions)
                .map_err(|error| PlanError::Scale { value: self.epsilon.value(), error })?;
        }
        Ok(())
    }

    /// What will be measured and how, for the ledger's readers.
    pub fn describe(&self) -> serde_json::Value {
        let left = self.look.as_ref().and_then(|look| look.left);
        let levels = self.levels.iter().map(|level| {
            let mut level = level.as_ref().map(LevelMeasurement::describe)?;
            if let (Some(_), Some(level)) = (left, level.as_object_mut()) {
                level.remove("epsilon"); // the first look decides
            }
            Some(level)
        });
        let mut description = json!({
            "levels": levels.collect::<Vec<_>>(),
            "consistency": self.consistency.name(),
            "max_size": self.max_size,
            "rows_per_unit": self.rows_per_unit,
        });
        if let Some(FirstLook { measurement, .. }) = &self.look {
            let noise = measurement.noise();
            description["first_look"] = json!({
                "estimator": measurement.estimator().to_string(),
                "sensitivity": noise.sensitivity(),
                "epsilon": noise.epsilon(),
                "epsilon_of_levels": left,
            });
        }
        if let Some(groups) = &self.groups {
            description["groups"] = groups.describe();
        }
        if self.keep_measurements {
            description["keep_measurements"] = json!(true);
        }
        if let Some(note) = self.levels.iter().flatten().find_map(LevelMeasurement::note) {
            description["note"] = json!(note);
        }
        description
    }
}

impl Costs for ReleasePlan {
    fn cost(&self) -> Cost {
        let (epsilon, loss) = (self.epsilon, self.loss());
        Cost { epsilon, delta: 0.0, loss, mechanism: self.describe() }
    }
}

/// Those that are named: one, or one for each level.
fn estimators(
    request: &ReleaseRequest,
    consistency: Consistency,
    max_size: u64,
) -> Result<Vec<Estimator>, PlanError> {
    let estimator = |name: &String| {
        let unknown = || PlanError::Estimator { name: name.clone() };
        match consistency.estimator(name).ok_or_else(unknown)? {
            Estimator::CutAt(cut) if cut > max_size => Err(PlanError::Cut { cut, max_size }),
            estimator => Ok(estimator),
        }
    };
    let named = request.estimators.iter().map(estimator).collect::<Result<Vec<_>, _>>()?;
    if let Some(&estimator) = named.iter().find(|estimator| !consistency.takes(**estimator)) {
        return Err(PlanError::Meaningless { estimator, consistency });
    }
    Ok(named)
}

/// What is measured of the numbers of groups, if they are private, and what that leaves.
fn divided(
    request: &ReleaseRequest,
    budget: Epsilon,
) -> Result<(Option<GroupCounts>, Epsilon), PlanError> {
    let Some(groups_per_unit) = request.groups_per_unit else { return Ok((None, budget)) };
    let value = request.epsilon;
    let parts = budget.split(&[SHARE, 1.0 - SHARE]).map_err(PlanError::Share)?;
    let groups = GroupCounts::new(request.levels, groups_per_unit, parts[0])
        .map_err(|error| PlanError::Scale { value, error })?;
    if groups.scale() > LARGEST_SCALE {
        return Err(PlanError::GroupsLost { epsilon: value, scale: groups.scale() });
    }
    let of_sizes = Epsilon::new(parts[1]).map_err(|_| PlanError::Epsilon { value })?;
    Ok((Some(groups), of_sizes))
}

/// What each level's measurement is calibrated to. The regions of a level hold disjoint entities
/// and compose in parallel.
fn parts(
    request: &ReleaseRequest,
    consistency: Consistency,
    budget: Epsilon,
) -> Result<Vec<f64>, PlanError> {
    let levels = request.levels;
    match &request.shares {
        Some(_) if consistency.measures_leaves_alone() => Err(PlanError::SharesWithoutLevels),
        Some(shares) if shares.len() != levels => {
            Err(PlanError::ShareCount { got: shares.len(), levels })
        }
        Some(shares) => budget.split(shares).map_err(PlanError::Share),
        None if consistency.measures_leaves_alone() => Ok(vec![budget.whole(); levels]),
        None => Ok(budget.split_equally(levels)),
    }
}

#[cfg(test)]
mod tests;
