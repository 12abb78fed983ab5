//! What a release of range sums will do, settled from public arguments before any data are read.

use crate::charge::{Cost, Costs, Receipt};
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::{Epsilon, zcdp_rho};
use crate::ranges::limits::MAX_BINS;
use crate::ranges::mechanism::{RangeMechanism, Workload};
use crate::ranges::method::{MethodChoice, RangeMethod, Target};
use crate::ranges::methods::tree;
use crate::ranges::methods::tree_consistent::line::least_squares_covariance;
use crate::ranges::methods::wavelet::Wavelet;
use crate::ranges::parameters::{Calibration, RangeParameters};
use crate::ranges::release::RangeRelease;
use crate::ranges::spending::{Spending, Zcdp};
use crate::ranges::trees::budgets::{Decay, LevelBudgets};
use crate::ranges::trees::shape::TreeShape;
use crate::work::poll;
use std::fmt;

/// The largest branching factor that is tried, besides a single level, where none is given.
pub(super) const MAX_TRIED_BRANCHING: u32 = 1024;

/// A release of range sums: the method with all its parameters, and what it spends.
///
/// The groups of measurements compose sequentially. With discrete Laplace noise the release
/// satisfies [`RangePlan::epsilon`]-differential privacy, with discrete Gaussian noise
/// [`RangePlan::rho`]-zCDP and by it ([`RangePlan::epsilon`], [`RangePlan::delta`]).
pub struct RangePlan {
    epsilon: Epsilon,
    delta: f64,
    rho: f64,
    parameters: RangeParameters,
    mechanism: Box<dyn RangeMechanism>,
}

/// Which argument cannot be planned with, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum RangePlanError {
    Bins {
        value: i64,
    },
    Epsilon {
        value: f64,
    },
    Delta {
        value: f64,
    },
    /// The method has Gaussian noise only.
    DeltaMissing {
        method: RangeMethod,
    },
    Method {
        word: String,
    },
    /// More bins than the method takes.
    MethodBins {
        method: RangeMethod,
        value: u32,
    },
    Branching {
        method: RangeMethod,
        value: u32,
    },
    Scale {
        epsilon: f64,
        delta: f64,
        error: ScaleError,
    },
}

impl fmt::Display for RangePlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangePlanError::Bins { value } => {
                write!(f, "the number of bins must be from 1 to {MAX_BINS}, got {value}")
            }
            RangePlanError::Epsilon { value } => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            RangePlanError::Delta { value } => {
                write!(f, "delta must be at least 0 and less than 1, got {value}")
            }
            RangePlanError::DeltaMissing { method } => {
                write!(f, "delta must be positive for method \"{}\", got 0", method.word())
            }
            RangePlanError::Method { word } => write!(f, "method: unknown word \"{word}\""),
            RangePlanError::MethodBins { method, value } => {
                let (word, most) = (method.word(), method.most_bins());
                write!(
                    f,
                    "the number of bins for method \"{word}\" must be at most {most}, got {value}"
                )
            }
            RangePlanError::Branching { method, value } => {
                write!(f, "branching must be from 2 to {}, got {value}", method.most_branching())
            }
            RangePlanError::Scale { epsilon, delta: 0.0, error } => {
                write!(f, "epsilon {epsilon} {error}")
            }
            RangePlanError::Scale { epsilon, delta, error } => {
                write!(f, "epsilon {epsilon} with delta {delta} {error}")
            }
        }
    }
}

impl std::error::Error for RangePlanError {}

impl RangePlanError {
    /// What the caller can do about it.
    pub fn hint(&self) -> String {
        match self {
            RangePlanError::Bins { .. } => "Choose wider bins or narrower bounds.".into(),
            RangePlanError::MethodBins { .. } => {
                "Choose wider bins, or one of the trees, which take more.".into()
            }
            RangePlanError::Epsilon { .. } => "Typical values are 0.1 to 10.".into(),
            RangePlanError::Delta { .. } => {
                "Choose a delta far below one over the number of rows, such as 1e-9; 0 for pure \
                 epsilon."
                    .into()
            }
            RangePlanError::DeltaMissing { .. } => {
                let pure = RangeMethod::WORDS.iter().filter(|(_, method)| method.is_pure());
                let pure: Vec<&str> = pure.map(|(word, _)| *word).collect();
                format!("Methods that need no delta: {}.", pure.join(", "))
            }
            RangePlanError::Method { .. } => {
                let words = RangeMethod::WORDS.map(|(word, _)| word).join(", ");
                let budgets = LevelBudgets::WORDS.map(|(word, _)| word).join(", ");
                let workloads = Workload::WORDS.map(|(word, _)| word).join(", ");
                format!(
                    "Valid methods: auto, {words}; tree, tree_consistent and cascade also with a \
                     branching factor, trees with budgets ({budgets}), auto and optimal with a \
                     workload ({workloads}), as in \"tree_consistent:16:optimised\" or \
                     \"optimal:prefix\"."
                )
            }
            RangePlanError::Branching { .. } => {
                "Leave it out for the one with the least mean variance over all ranges.".into()
            }
            RangePlanError::Scale { .. } => {
                "The noise scale of a level is the number of rows per unit over its share of \
                 the budget."
                    .into()
            }
        }
    }
}

impl RangePlan {
    /// `bins`: their number. `delta`: 0 for pure epsilon; a method without Gaussian noise leaves it
    /// unspent. `method`: see [`MethodChoice`]. `rows_per_unit`: how many rows one unit of privacy
    /// owns at most, at least 1.
    ///
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(
        bins: i64,
        epsilon: f64,
        delta: f64,
        method: &str,
        rows_per_unit: u32,
    ) -> Result<RangePlan, RangePlanError> {
        let choice = MethodChoice::parse(method)
            .ok_or_else(|| RangePlanError::Method { word: method.to_string() })?;
        RangePlan::of_choice(bins, epsilon, delta, choice, rows_per_unit)
    }

    /// The same for a choice that has been read. One that fixes a branching factor or budgets for a
    /// method without them is the method's plan.
    pub fn of_choice(
        bins: i64,
        epsilon: f64,
        delta: f64,
        choice: MethodChoice,
        rows_per_unit: u32,
    ) -> Result<RangePlan, RangePlanError> {
        let bins = u32::try_from(bins)
            .ok()
            .filter(|bins| (1..=MAX_BINS).contains(&(*bins as usize)))
            .ok_or(RangePlanError::Bins { value: bins })?;
        let planner = Planner { bins, spending: spending(epsilon, delta, rows_per_unit)? };
        match choice.method {
            Some(_) => planner.best_plan([choice]),
            None => {
                let choices = MethodChoice::suitable(bins.into(), delta, &choice.target);
                planner.best_plan(choices)
            }
        }
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// What is charged: 0 where the noise is discrete Laplace.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The zero-concentrated loss of the whole release: the sum over its groups of measurements.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    pub fn parameters(&self) -> &RangeParameters {
        &self.parameters
    }

    /// Tells what is measured and the variances to expect.
    pub fn mechanism(&self) -> &dyn RangeMechanism {
        self.mechanism.as_ref()
    }

    /// Measures and adds exact noise. `counts`: of rows, one per bin. `checkpoint` is called every
    /// few thousand draws; it may unwind.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        assert_eq!(counts.len(), self.parameters.bins(), "counts of another number of bins");
        RangeRelease::draw(self.parameters, self.mechanism, counts, words)
    }
}

impl Costs for RangePlan {
    fn cost(&self) -> Cost {
        let RangePlan { epsilon, delta, rho, .. } = *self;
        Cost { epsilon, delta, rho, mechanism: self.parameters.describe() }
    }
}

impl<P> Receipt<RangePlan, P> {
    /// Measures and adds exact noise. `counts`: of rows, one per bin.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        self.into_mechanism().release(counts, words)
    }
}

/// Everything about a plan but the method.
#[derive(Debug, Clone, Copy)]
struct Planner {
    bins: u32,
    spending: Spending,
}

/// What arguments allow to be spent: with Gaussian noise where there is a delta.
pub(super) fn spending(
    epsilon: f64,
    delta: f64,
    rows_per_unit: u32,
) -> Result<Spending, RangePlanError> {
    let budget = Epsilon::new(epsilon).map_err(|_| RangePlanError::Epsilon { value: epsilon })?;
    let pure = Spending { epsilon: budget, gaussian: None, rows_per_unit };
    if delta == 0.0 {
        return Ok(pure);
    }
    // refuses what is not between 0 and 1
    let rho = zcdp_rho(budget, delta).map_err(|_| RangePlanError::Delta { value: delta })?;
    Ok(Spending { gaussian: Some(Zcdp { delta, rho }), ..pure })
}

/// That there is no such noise for what is spent.
pub(super) fn scale_error(spending: Spending, error: ScaleError) -> RangePlanError {
    let (epsilon, delta) = (spending.epsilon.value(), spending.delta());
    RangePlanError::Scale { epsilon, delta, error }
}

/// The first of those with the least key; if all are errors, the first one.
///
/// # Panics
/// If there are none at all.
pub(super) fn least<T, E>(
    candidates: impl IntoIterator<Item = Result<T, E>>,
    key: impl Fn(&T) -> f64,
) -> Result<T, E> {
    let better = |a: Result<T, E>, b: Result<T, E>| match (&a, &b) {
        (Ok(first), Ok(second)) if key(second) < key(first) => b,
        (Err(_), Ok(_)) => b,
        _ => a,
    };
    candidates.into_iter().reduce(better).expect("something to choose from")
}

impl Planner {
    /// The plan of least mean variance over the target among those of some methods, with discrete
    /// Gaussian and with discrete Laplace noise where a method has both forms. One whose noise
    /// cannot be sampled is left out if there is another.
    fn best_plan(
        self,
        choices: impl IntoIterator<Item = MethodChoice>,
    ) -> Result<RangePlan, RangePlanError> {
        let pure = Planner { spending: self.spending.pure(), ..self };
        let mut plans = Vec::new();
        for choice in choices {
            let Some(method) = choice.method else { continue };
            let gaussian = self.spending.gaussian.is_some() && method.is_gaussian();
            if !(gaussian || method.is_pure()) {
                return Err(RangePlanError::DeltaMissing { method });
            }
            let forms = [gaussian.then_some(self), method.is_pure().then_some(pure)];
            for planner in forms.into_iter().flatten() {
                plans.push((planner, method, choice.clone()));
            }
        }
        // with nothing to choose from there is nothing to compute
        if let [(planner, method, choice)] = plans.as_slice() {
            return planner.plan(*method, choice);
        }
        let plans = plans.into_iter().map(|(planner, method, choice)| {
            let plan = planner.plan(method, &choice)?;
            let mean = plan.mechanism().mean_over(&choice.target);
            Ok((mean, plan))
        });
        least(plans, |(mean, _)| *mean).map(|(_, plan)| plan)
    }

    fn plan(self, method: RangeMethod, choice: &MethodChoice) -> Result<RangePlan, RangePlanError> {
        if self.bins as usize > method.most_bins() {
            return Err(RangePlanError::MethodBins { method, value: self.bins });
        }
        let branchings = 2..=method.most_branching();
        if let Some(value) = choice.branching.filter(|value| !branchings.contains(value)) {
            return Err(RangePlanError::Branching { method, value });
        }
        let parameters = match method {
            RangeMethod::Flat | RangeMethod::Gaussian => {
                self.tree(method, self.bins.max(2), LevelBudgets::Equal)
            }
            RangeMethod::Tree | RangeMethod::TreeConsistent => match choice.branching {
                Some(branching) => self.tree(method, branching, choice.budgets),
                None => self.best_tree(method, choice.budgets),
            },
            RangeMethod::Quad => self.tree(method, 2, LevelBudgets::Geometric),
            RangeMethod::BinaryTree => self.tree(method, 2, LevelBudgets::Equal),
            RangeMethod::Wavelet => {
                let groups = Wavelet::groups_over(self.bins as usize);
                self.parameters(method, 2, &vec![1.0 / groups as f64; groups])
            }
            RangeMethod::Cascade => Ok(self.together(method, choice.branching.unwrap_or(2), None)),
            RangeMethod::Prefix => Ok(self.together(method, 2, None)),
            RangeMethod::Optimal => Ok(self.together(method, 2, Some(choice.target.clone()))),
        }
        .map_err(|error| self.scale_error(error))?;
        let rho = match &parameters.calibration {
            Calibration::PerGroup(noise) => self.spending.rho_of_noise(noise),
            Calibration::Together { rho } => self.spending.rho_of_rows(*rho),
        };
        // what the planner sets up is a mechanism's parameters if its noise can be sampled
        let mechanism = parameters.mechanism().map_err(|error| self.scale_error(error))?;
        let (epsilon, delta) = (self.spending.epsilon, self.spending.delta());
        Ok(RangePlan { epsilon, delta, rho, parameters, mechanism })
    }

    fn scale_error(self, error: ScaleError) -> RangePlanError {
        scale_error(self.spending, error)
    }

    /// The branching factor with the least mean variance over all ranges, exact for the noise as
    /// implemented: among 2 to [`MAX_TRIED_BRANCHING`] and a single level.
    fn best_tree(
        self,
        method: RangeMethod,
        budgets: LevelBudgets,
    ) -> Result<RangeParameters, ScaleError> {
        let single_level = self.bins.max(2);
        let tried = (2..single_level.min(MAX_TRIED_BRANCHING + 1)).chain([single_level]);
        let trees = tried.map(|branching| {
            poll();
            let parameters = self.tree(method, branching, budgets)?;
            let mean = parameters.mechanism()?.mean_over_all();
            Ok((mean, parameters))
        });
        least(trees, |(mean, _)| *mean).map(|(_, parameters)| parameters)
    }

    fn tree(
        self,
        method: RangeMethod,
        branching: u32,
        budgets: LevelBudgets,
    ) -> Result<RangeParameters, ScaleError> {
        let shape = TreeShape::new(self.bins as usize, branching as usize);
        let decay = match self.spending.gaussian {
            Some(_) => Decay::Inverse,
            None => Decay::InverseSquare,
        };
        let mean = |variances: &[f64]| mean_over_all(method, shape, variances);
        self.parameters(method, branching, &budgets.shares(shape, decay, mean))
    }

    /// One measurement of a row per share, each with an L1 and L2 sensitivity of 1.
    fn parameters(
        self,
        method: RangeMethod,
        branching: u32,
        shares: &[f64],
    ) -> Result<RangeParameters, ScaleError> {
        let noise = self.spending.noise(shares)?;
        let calibration = Calibration::PerGroup(noise);
        Ok(RangeParameters { method, bins: self.bins, branching, calibration, target: None })
    }

    /// Measurements that share one sensitivity.
    fn together(
        self,
        method: RangeMethod,
        branching: u32,
        target: Option<Target>,
    ) -> RangeParameters {
        let calibration = Calibration::Together { rho: self.spending.rho_of_a_row() };
        RangeParameters { method, bins: self.bins, branching, calibration, target }
    }
}

fn mean_over_all(method: RangeMethod, shape: TreeShape, variances: &[f64]) -> f64 {
    match method {
        RangeMethod::Tree | RangeMethod::BinaryTree => tree::mean_over_all(shape, variances),
        _ => least_squares_covariance(shape, variances).mean_over_all(),
    }
}
