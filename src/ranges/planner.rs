//! The way from what is asked for to a plan, in one and in two dimensions.

use super::error::{Dimensions, RangePlanError};
use super::least::least;
use super::limits::MAX_BINS;
use super::method::{MethodChoice, RangeMethod};
use super::methods::descriptor::Settled;
use super::parameters::{Parameters, PlaneParameters, RangeParameters, on_grid};
use super::plan::{Plan, PlanePlan, RangePlan};
use super::plane::grid::{CellGrid, Rectangle};
use super::spending::{Gaussian, Spending};
use super::workload::{Spread, TargetRanges};
use crate::noise::ScaleError;
use crate::privacy::{Epsilon, GaussianBudget};

/// What a release of range sums is asked for.
#[derive(Debug, Clone)]
pub struct RangeRequest {
    /// Their number.
    pub bins: i64,
    pub epsilon: f64,
    /// 0 for pure epsilon; a method without Gaussian noise leaves it unspent.
    pub delta: f64,
    /// How many rows one unit of privacy owns at most, at least 1. Where amounts are summed, how
    /// many rows of amount 1 those amount to, see
    /// [`AmountBounds::weight`](super::AmountBounds::weight).
    pub rows_per_unit: u32,
    /// One that fixes a branching factor or budgets for a method without them is the method's own.
    pub method: MethodChoice,
}

/// What a release of sums over rectangles is asked for.
#[derive(Debug, Clone)]
pub struct PlaneRequest {
    /// The number of rows of cells.
    pub rows: i64,
    pub columns: i64,
    pub epsilon: f64,
    /// 0 for pure epsilon; a method without Gaussian noise leaves it unspent.
    pub delta: f64,
    /// How many records one unit of privacy owns at most, at least 1.
    pub rows_per_unit: u32,
    /// See [`MethodChoice::parse_for_grid`].
    pub method: MethodChoice,
    /// Whose mean variance "auto" makes the least: all rectangles if there are none.
    pub asked: Vec<Rectangle>,
}

impl RangePlan {
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(request: RangeRequest) -> Result<RangePlan, RangePlanError> {
        RangePlan::of_least(request, |_| true, |plan, target| plan.mechanism().mean_over(target))
    }

    /// That of the least key, which plans with their targets have, among methods that suit if there
    /// are several.
    pub(super) fn of_least(
        request: RangeRequest,
        suits: impl Fn(RangeMethod) -> bool,
        key: impl Fn(&RangePlan, &TargetRanges) -> f64,
    ) -> Result<RangePlan, RangePlanError> {
        let RangeRequest { bins, epsilon, delta, rows_per_unit, method: choice } = request;
        let line = u32::try_from(bins)
            .ok()
            .filter(|bins| (1..=MAX_BINS).contains(&(*bins as usize)))
            .map(BinLine)
            .ok_or(RangePlanError::Bins { value: bins })?;
        let spending = spending(epsilon, delta, rows_per_unit)?;
        let choices = match choice.method {
            Some(_) => vec![choice],
            None => MethodChoice::suitable(bins, delta, &choice.target)
                .filter(|choice| choice.method.is_none_or(&suits))
                .collect(),
        };
        let mut candidates = Vec::new();
        for choice in choices {
            candidates.extend(forms(Dimensions::One, choice, spending)?);
        }
        best_plan(line, candidates, key)
    }
}

impl PlanePlan {
    /// A method that is named has Gaussian noise wherever it can; "auto" compares both kinds.
    ///
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(request: PlaneRequest) -> Result<PlanePlan, RangePlanError> {
        let PlaneRequest { rows, columns, epsilon, delta, rows_per_unit, method: choice, asked } =
            request;
        if !choice.is_for_grids() {
            let word = choice.to_string();
            return Err(RangePlanError::Method { word, dimensions: Dimensions::Two });
        }
        let sides = || Some((usize::try_from(rows).ok()?, usize::try_from(columns).ok()?));
        let grid = sides().and_then(|(rows, columns)| CellGrid::new(rows, columns));
        let grid = grid.ok_or(RangePlanError::Sides { rows, columns })?;
        let spending = spending(epsilon, delta, rows_per_unit)?;
        let plane = Plane { grid, asked: &asked };
        if choice.method.is_some() {
            let mut candidates = forms(Dimensions::Two, choice, spending)?;
            candidates.truncate(1);
            return best_plan(plane, candidates, |plan, _| plane.mean(plan));
        }
        let mut candidates = Vec::new();
        for choice in MethodChoice::suitable_for_grids(grid, delta) {
            candidates.extend(forms(Dimensions::Two, choice, spending)?);
        }
        best_plan(plane, candidates, |plan, _| plane.mean(plan))
    }
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
    // refuses what is not between 0 and 1, or so small that nothing is bounded
    let gaussian =
        GaussianBudget::new(budget, delta).map_err(|_| RangePlanError::Delta { value: delta })?;
    Ok(Spending { gaussian: Some(Gaussian { delta, budget: gaussian }), ..pure })
}

/// The plan of the least mean variance over the target with discrete Laplace noise, among those whose
/// answers to adjacent ranges add up. Its loss is that of the spending, which is pure.
///
/// Errors: none if [`Spending::check_a_count`] has none, as every bin by itself is a method.
///
/// # Panics
/// If there are no bins, or more than [`MAX_BINS`].
pub(super) fn best_of_laplace(
    bins: usize,
    spending: Spending,
    target: TargetRanges,
) -> Result<RangePlan, RangePlanError> {
    let line = BinLine(u32::try_from(bins).expect("so many bins"));
    let choices = MethodChoice::suitable(bins as i64, 0.0, &target);
    let candidates = choices.filter_map(|choice| {
        let method = choice.method.filter(|method| method.adds_up())?;
        Some(MethodForm { method, choice, spending })
    });
    best_plan(line, candidates.collect(), |plan, target| plan.mechanism().mean_over(target))
}

/// What is planned for.
trait Domain: Copy {
    const DIMENSIONS: Dimensions;
    type Parameters: Parameters;

    /// Errors: more bins than the method takes.
    fn check(self, method: RangeMethod) -> Result<(), RangePlanError>;

    /// The largest branching factor that the method takes; None if there is nothing to fix.
    fn most_branching(self, method: RangeMethod) -> Option<u32>;

    /// Errors: a noise that cannot be sampled.
    fn settle(
        self,
        method: RangeMethod,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<Plan<Self::Parameters>, ScaleError>;
}

/// So many bins.
#[derive(Debug, Clone, Copy)]
struct BinLine(u32);

impl Domain for BinLine {
    const DIMENSIONS: Dimensions = Dimensions::One;
    type Parameters = RangeParameters;

    fn check(self, method: RangeMethod) -> Result<(), RangePlanError> {
        let (BinLine(value), most) = (self, method.descriptor().most_bins());
        if value as usize > most {
            return Err(RangePlanError::MethodBins { method, value, most });
        }
        Ok(())
    }

    fn most_branching(self, method: RangeMethod) -> Option<u32> {
        method.descriptor().options().branching
    }

    fn settle(
        self,
        method: RangeMethod,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<RangePlan, ScaleError> {
        let BinLine(bins) = self;
        let Settled { branching, target, noise } =
            method.descriptor().settle(bins, choice, spending)?;
        Plan::of(noise, |calibration| RangeParameters {
            method,
            bins,
            branching,
            calibration,
            target,
        })
    }
}

/// So many cells, and the rectangles of them that are asked for.
#[derive(Debug, Clone, Copy)]
struct Plane<'a> {
    grid: CellGrid,
    asked: &'a [Rectangle],
}

impl Domain for Plane<'_> {
    const DIMENSIONS: Dimensions = Dimensions::Two;
    type Parameters = PlaneParameters;

    fn check(self, method: RangeMethod) -> Result<(), RangePlanError> {
        let (side, most) = (self.grid.longer_side(), on_grid(method).longest_side());
        if side > most {
            return Err(RangePlanError::MethodSides { method, side, most });
        }
        Ok(())
    }

    fn most_branching(self, method: RangeMethod) -> Option<u32> {
        on_grid(method).most_branching()
    }

    fn settle(
        self,
        method: RangeMethod,
        choice: &MethodChoice,
        spending: Spending,
    ) -> Result<PlanePlan, ScaleError> {
        let Settled { branching, noise, .. } =
            on_grid(method).settle(self.grid, choice.branching, spending)?;
        Plan::of(noise, |calibration| PlaneParameters {
            method,
            grid: self.grid,
            branching,
            calibration,
        })
    }
}

impl Plane<'_> {
    /// The mean variance over what is asked, or else over all rectangles.
    fn mean(self, plan: &PlanePlan) -> f64 {
        let mechanism = plan.mechanism();
        if self.asked.is_empty() {
            return mechanism.mean_over_all();
        }
        Spread::of(self.asked.iter().map(|rectangle| mechanism.variance(rectangle))).mean
    }
}

/// A method with all its options and one kind of noise that it has.
struct MethodForm {
    method: RangeMethod,
    choice: MethodChoice,
    spending: Spending,
}

/// A choice with each kind of noise that its method has, discrete Gaussian first; nothing for one
/// without a method.
///
/// Errors: there is no delta, and the method has no other noise.
fn forms(
    dimensions: Dimensions,
    choice: MethodChoice,
    spending: Spending,
) -> Result<Vec<MethodForm>, RangePlanError> {
    let Some(method) = choice.method else { return Ok(Vec::new()) };
    let gaussian = spending.gaussian.is_some() && method.is_gaussian();
    let forms = [gaussian.then_some(spending), method.is_pure().then_some(spending.pure())];
    let candidate = |spending| MethodForm { method, choice: choice.clone(), spending };
    let candidates: Vec<MethodForm> = forms.into_iter().flatten().map(candidate).collect();
    if candidates.is_empty() {
        return Err(RangePlanError::DeltaMissing { method, dimensions });
    }
    Ok(candidates)
}

/// The plan of the least key. One whose noise cannot be sampled is left out if there is another.
///
/// # Panics
/// If there are no candidates.
fn best_plan<D: Domain>(
    domain: D,
    candidates: Vec<MethodForm>,
    key: impl Fn(&Plan<D::Parameters>, &TargetRanges) -> f64,
) -> Result<Plan<D::Parameters>, RangePlanError> {
    // with nothing to choose from there is nothing to compute
    if let [only] = candidates.as_slice() {
        return plan(domain, only);
    }
    let plans = candidates.iter().map(|candidate| {
        let plan = plan(domain, candidate)?;
        Ok((key(&plan, &candidate.choice.target), plan))
    });
    least(plans)
}

fn plan<D: Domain>(
    domain: D,
    candidate: &MethodForm,
) -> Result<Plan<D::Parameters>, RangePlanError> {
    let MethodForm { method, ref choice, spending } = *candidate;
    domain.check(method)?;
    // one that a method without such a factor is given is not looked at
    if let (Some(value), Some(most)) = (choice.branching, domain.most_branching(method))
        && !(2..=most).contains(&value)
    {
        let value = value.into();
        return Err(RangePlanError::Branching { value, most, dimensions: D::DIMENSIONS });
    }
    domain.settle(method, choice, spending).map_err(|error| {
        let (epsilon, delta) = (spending.epsilon.value(), spending.delta());
        RangePlanError::Scale { epsilon, delta, error }
    })
}
