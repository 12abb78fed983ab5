//! What a release of sums over rectangles will do, settled from public arguments before any data
//! are read.

use super::cascade::{MAX_GRID_FAN_OUT, PlaneCascade};
use super::grid::Grid;
use super::mechanism::PlaneMechanism;
use super::release::PlaneRelease;
use super::tree::{PlaneTree, mean_over_all};
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::{Epsilon, zcdp_rho};
use crate::ranges::noise::{Noise, NoiseParameter};
use crate::ranges::plan::{MAX_TRIED_BRANCHING, least};
use crate::ranges::spending::{Spending, Zcdp};
use crate::ranges::{MAX_BINS, MethodChoice, RangeMethod, RangePlanError};
use std::fmt;

/// The methods that have a form in two dimensions.
const METHODS: [RangeMethod; 4] =
    [RangeMethod::Flat, RangeMethod::Gaussian, RangeMethod::TreeConsistent, RangeMethod::Cascade];

/// A release of sums over rectangles: the method with all its parameters, and what it spends.
///
/// With discrete Laplace noise the release satisfies [`PlanePlan::epsilon`]-differential privacy,
/// with discrete Gaussian noise [`PlanePlan::rho`]-zCDP and by it ([`PlanePlan::epsilon`],
/// [`PlanePlan::delta`]).
pub struct PlanePlan {
    epsilon: Epsilon,
    delta: f64,
    rho: f64,
    method: RangeMethod,
    branching: Option<u32>,
    mechanism: Box<dyn PlaneMechanism>,
}

/// Which argument cannot be planned with, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanePlanError {
    /// No cells, or more than [`MAX_BINS`].
    Sides {
        rows: i64,
        columns: i64,
    },
    /// Not one of the methods for two dimensions, or not with the words after it.
    Method {
        word: String,
    },
    /// The method has Gaussian noise only.
    DeltaMissing {
        method: RangeMethod,
    },
    Branching {
        method: RangeMethod,
        value: u32,
    },
    /// What is the same in one dimension: epsilon, delta, or the scale of their noise.
    Budget(RangePlanError),
}

impl fmt::Display for PlanePlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanePlanError::Sides { rows, columns } => write!(
                f,
                "rows and columns must be at least 1 and have at most {MAX_BINS} cells, got {rows} \
                 and {columns}"
            ),
            PlanePlanError::Method { word } => {
                write!(f, "method: unknown word \"{word}\" for two dimensions")
            }
            PlanePlanError::DeltaMissing { method } => {
                RangePlanError::DeltaMissing { method: *method }.fmt(f)
            }
            PlanePlanError::Branching { method, value } => {
                write!(f, "branching must be from 2 to {}, got {value}", most_branching(*method))
            }
            PlanePlanError::Budget(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanePlanError {}

impl PlanePlanError {
    /// What the caller can do about it.
    pub fn hint(&self) -> String {
        match self {
            PlanePlanError::Sides { .. } => "Choose wider bins or narrower bounds.".into(),
            PlanePlanError::Method { .. } => {
                let words = METHODS.map(RangeMethod::word).join(", ");
                format!(
                    "Valid methods: auto, {words}; tree_consistent and cascade also with a branching \
                     factor, as in \"tree_consistent:8\"."
                )
            }
            PlanePlanError::DeltaMissing { .. } => {
                let pure = METHODS.into_iter().filter(|method| method.is_pure());
                let pure: Vec<&str> = pure.map(RangeMethod::word).collect();
                format!("Methods that need no delta: {}.", pure.join(", "))
            }
            PlanePlanError::Branching { .. } => {
                "Leave it out for 2 (cascade), or for the one with the least mean variance over all \
                 rectangles (tree_consistent)."
                    .into()
            }
            PlanePlanError::Budget(error) => error.hint(),
        }
    }
}

/// The largest branching factor that a method takes.
fn most_branching(method: RangeMethod) -> u32 {
    if method == RangeMethod::Cascade { MAX_GRID_FAN_OUT } else { MAX_BINS as u32 }
}

impl PlanePlan {
    /// `delta`: 0 for pure epsilon; a method without Gaussian noise leaves it unspent. `method`: a
    /// method for two dimensions, with a branching factor or without, or "auto" for the one with the
    /// least mean variance over all rectangles. `rows_per_unit`: how many records one unit of privacy
    /// owns at most, at least 1.
    ///
    /// Errors: see [`PlanePlanError`]; each names its argument.
    pub fn new(
        rows: i64,
        columns: i64,
        epsilon: f64,
        delta: f64,
        method: &str,
        rows_per_unit: u32,
        checkpoint: &mut dyn FnMut(),
    ) -> Result<PlanePlan, PlanePlanError> {
        let unknown = || PlanePlanError::Method { word: method.to_string() };
        let choice = MethodChoice::parse(method).ok_or_else(unknown)?;
        // levels have equal budgets, and all rectangles are the only target
        let plain = MethodChoice { branching: choice.branching, ..plain(choice.method) };
        if choice != plain || choice.method.is_some_and(|method| !METHODS.contains(&method)) {
            return Err(unknown());
        }
        let sides = || Some((usize::try_from(rows).ok()?, usize::try_from(columns).ok()?));
        let grid = sides().and_then(|(rows, columns)| Grid::new(rows, columns));
        let grid = grid.ok_or(PlanePlanError::Sides { rows, columns })?;
        let pure = Planner { grid, spending: pure_spending(epsilon, rows_per_unit)? };
        let gaussian = pure.with_delta(delta)?;
        let mut planners = [Some(pure), gaussian].into_iter().flatten();
        let Some(method) = choice.method else {
            let plans = planners.flat_map(|planner| {
                let methods = METHODS.into_iter().filter(move |method| planner.suits(*method));
                methods.map(move |method| planner.plan(method, None))
            });
            let means = plans.map(|plan| {
                let plan = plan?;
                Ok((plan.mechanism.mean_over_all(checkpoint), plan))
            });
            return least(means, |(mean, _)| *mean).map(|(_, plan)| plan);
        };
        // with Gaussian noise where the method has it
        let planner = planners.rfind(|planner| planner.suits(method));
        let planner = planner.ok_or(PlanePlanError::DeltaMissing { method })?;
        planner.plan(method, choice.branching)
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// What is charged: 0 where the noise is discrete Laplace.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The zero-concentrated loss of the whole release.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    pub fn method(&self) -> RangeMethod {
        self.method
    }

    /// Of the trees, in either direction; None for a method without one.
    pub fn branching(&self) -> Option<u32> {
        self.branching
    }

    /// Tells what is measured and the variances to expect.
    pub fn mechanism(&self) -> &dyn PlaneMechanism {
        self.mechanism.as_ref()
    }

    /// Measures and adds exact noise. `counts`: of records, one per cell, row by row. `checkpoint` is
    /// called every few thousand draws; it may unwind.
    ///
    /// # Panics
    /// If the counts are those of another number of cells.
    pub fn release<R: RandomWords + ?Sized>(
        self,
        counts: &[u64],
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> PlaneRelease {
        let cells = self.mechanism.grid().cells();
        assert_eq!(counts.len(), cells, "counts of another number of cells");
        PlaneRelease::draw(self.mechanism, counts, words, checkpoint)
    }
}

/// The choice of a method, or of "auto", without any words after it.
fn plain(method: Option<RangeMethod>) -> MethodChoice {
    let flat = MethodChoice::of(RangeMethod::Flat);
    MethodChoice { method, ..flat }
}

fn pure_spending(epsilon: f64, rows_per_unit: u32) -> Result<Spending, PlanePlanError> {
    let error = RangePlanError::Epsilon { value: epsilon };
    let epsilon = Epsilon::new(epsilon).map_err(|_| PlanePlanError::Budget(error))?;
    Ok(Spending { epsilon, gaussian: None, rows_per_unit })
}

/// Everything about a plan but the method.
#[derive(Debug, Clone, Copy)]
struct Planner {
    grid: Grid,
    spending: Spending,
}

impl Planner {
    /// The same with Gaussian noise; None for a delta of 0.
    fn with_delta(self, delta: f64) -> Result<Option<Planner>, PlanePlanError> {
        if delta == 0.0 {
            return Ok(None);
        }
        // refuses what is not between 0 and 1
        let rho = zcdp_rho(self.spending.epsilon, delta)
            .map_err(|_| PlanePlanError::Budget(RangePlanError::Delta { value: delta }))?;
        let spending = Spending { gaussian: Some(Zcdp { delta, rho }), ..self.spending };
        Ok(Some(Planner { spending, ..self }))
    }

    /// Whether the method has a form with this noise.
    fn suits(&self, method: RangeMethod) -> bool {
        if self.spending.gaussian.is_some() { method.is_gaussian() } else { method.is_pure() }
    }

    fn plan(
        self,
        method: RangeMethod,
        branching: Option<u32>,
    ) -> Result<PlanePlan, PlanePlanError> {
        let branchings = 2..=most_branching(method);
        if let Some(value) = branching.filter(|value| !branchings.contains(value)) {
            return Err(PlanePlanError::Branching { method, value });
        }
        let plan = match method {
            RangeMethod::Cascade => self.cascade(branching.unwrap_or(2)),
            RangeMethod::TreeConsistent => match branching {
                Some(branching) => self.tree(branching, method),
                None => self.best_tree(),
            },
            _ => self.tree(self.single_level(), method),
        };
        plan.map_err(|error| {
            let (epsilon, delta) = (self.spending.epsilon.value(), self.spending.delta());
            PlanePlanError::Budget(RangePlanError::Scale { epsilon, delta, error })
        })
    }

    /// The least branching factor with which the cells are the only level.
    fn single_level(self) -> u32 {
        // at most MAX_BINS
        self.grid.rows().max(self.grid.columns()).max(2) as u32
    }

    fn cascade(self, fan_out: u32) -> Result<PlanePlan, ScaleError> {
        let rho = self.spending.rho_of_a_row();
        let mechanism = Box::new(PlaneCascade::new(self.grid, fan_out, rho)?);
        let rho = self.spending.rho_of_rows(rho);
        Ok(self.plan_of(RangeMethod::Cascade, Some(fan_out), rho, mechanism))
    }

    /// Of equal budgets per level.
    fn level_noise(self, branching: u32) -> Result<(Vec<NoiseParameter>, Vec<Noise>), ScaleError> {
        let levels = PlaneTree::levels(self.grid, branching as usize);
        let parameters = self.spending.noise(&vec![1.0 / levels as f64; levels])?;
        let noise = parameters.iter().map(|parameter| Noise::new(*parameter));
        let noise = noise.collect::<Result<Vec<Noise>, ScaleError>>()?;
        Ok((parameters, noise))
    }

    fn tree(self, branching: u32, method: RangeMethod) -> Result<PlanePlan, ScaleError> {
        let (parameters, noise) = self.level_noise(branching)?;
        let mechanism = Box::new(PlaneTree::new(self.grid, branching as usize, noise));
        let rho = self.spending.rho_of_noise(&parameters);
        let branching = (method == RangeMethod::TreeConsistent).then_some(branching);
        Ok(self.plan_of(method, branching, rho, mechanism))
    }

    /// With the branching factor of the least mean variance over all rectangles, exact for the noise
    /// as implemented: among 2 to [`MAX_TRIED_BRANCHING`] and a single level.
    fn best_tree(self) -> Result<PlanePlan, ScaleError> {
        let single = self.single_level();
        let tried = (2..single.min(MAX_TRIED_BRANCHING + 1)).chain([single]);
        let means = tried.map(|branching| {
            let (_, noise) = self.level_noise(branching)?;
            let variances: Vec<f64> = noise.iter().map(Noise::variance).collect();
            Ok((mean_over_all(self.grid, branching as usize, &variances), branching))
        });
        let (_, branching) = least(means, |(mean, _)| *mean)?;
        self.tree(branching, RangeMethod::TreeConsistent)
    }

    fn plan_of(
        self,
        method: RangeMethod,
        branching: Option<u32>,
        rho: f64,
        mechanism: Box<dyn PlaneMechanism>,
    ) -> PlanePlan {
        let Spending { epsilon, .. } = self.spending;
        PlanePlan { epsilon, delta: self.spending.delta(), rho, method, branching, mechanism }
    }
}
