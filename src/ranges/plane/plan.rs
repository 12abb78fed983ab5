//! What a release of sums over rectangles will do, settled from public arguments before any data
//! are read.

use super::grid::Grid;
use super::mechanism::PlaneMechanism;
use super::release::PlaneRelease;
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::Epsilon;
use crate::ranges::methods::cascade::grid::{MAX_GRID_FAN_OUT, PlaneCascade};
use crate::ranges::methods::tree_consistent::grid::{PlaneTree, mean_over_all};
use crate::ranges::noise::{Noise, NoiseParameter};
use crate::ranges::plan::{MAX_TRIED_BRANCHING, least, scale_error, spending};
use crate::ranges::spending::Spending;
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
        let spending = spending(epsilon, delta, rows_per_unit).map_err(PlanePlanError::Budget)?;
        let gaussian = spending.gaussian.is_some().then_some(spending);
        let mut planners = [Some(spending.pure()), gaussian]
            .into_iter()
            .flatten()
            .map(|spending| Planner { grid, spending });
        let Some(method) = choice.method else {
            let plans = planners.flat_map(|planner| {
                let methods = METHODS.into_iter().filter(move |method| planner.suits(*method));
                methods.map(move |method| planner.plan(method, None))
            });
            let means = plans.map(|plan| {
                let plan = plan?;
                Ok((plan.mechanism.mean_over_all(), plan))
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
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> PlaneRelease {
        let cells = self.mechanism.grid().cells();
        assert_eq!(counts.len(), cells, "counts of another number of cells");
        PlaneRelease::draw(self.mechanism, counts, words)
    }
}

/// The choice of a method, or of "auto", without any words after it.
fn plain(method: Option<RangeMethod>) -> MethodChoice {
    let flat = MethodChoice::of(RangeMethod::Flat);
    MethodChoice { method, ..flat }
}

/// Everything about a plan but the method.
#[derive(Debug, Clone, Copy)]
struct Planner {
    grid: Grid,
    spending: Spending,
}

impl Planner {
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
        plan.map_err(|error| PlanePlanError::Budget(scale_error(self.spending, error)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::words_from_system;
    use crate::privacy::zcdp_epsilon;
    use crate::ranges::Loss;
    use crate::ranges::Rectangle;

    #[test]
    fn plans_spend_what_was_asked() {
        for (method, delta) in [
            ("flat", 0.0),
            ("flat", 1e-9),
            ("gaussian", 1e-9),
            ("tree_consistent", 0.0),
            ("tree_consistent", 1e-9),
            ("cascade", 1e-9),
            ("auto", 0.0),
            ("auto", 1e-9),
        ] {
            for rows_per_unit in [1, 5] {
                let plan = PlanePlan::new(40, 70, 0.5, delta, method, rows_per_unit).unwrap();
                let k = f64::from(rows_per_unit);
                match plan.mechanism().loss() {
                    Loss::Epsilon(loss) => {
                        assert_eq!(plan.delta(), 0.0);
                        assert!(
                            (1.0 - 1e-12..=1.0).contains(&(loss * k / 0.5)),
                            "{method}: {loss}"
                        );
                    }
                    Loss::Rho(loss) => {
                        assert_eq!(plan.delta(), delta);
                        let ratio = loss * k * k / plan.rho();
                        assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{method}: {ratio}");
                        let spent = zcdp_epsilon(plan.rho(), delta).unwrap();
                        assert!((0.499..=0.5).contains(&spent), "{method}: {spent}");
                    }
                }
            }
        }
    }

    /// Among the candidates none has a smaller mean.
    #[test]
    fn the_choices_have_the_least_mean() {
        let mean = |method: &str, delta: f64| {
            let plan = PlanePlan::new(100, 90, 1.0, delta, method, 1).unwrap();
            plan.mechanism().mean_over_all()
        };
        for delta in [0.0, 1e-9] {
            let best = mean("tree_consistent", delta);
            let all = (2..=100).map(|b| mean(&format!("tree_consistent:{b}"), delta));
            assert_eq!(all.fold(f64::INFINITY, f64::min), best);
        }
        let methods =
            ["flat", "gaussian", "tree_consistent", "cascade"].map(|word| mean(word, 1e-9));
        let pure = mean("tree_consistent", 0.0);
        assert_eq!(methods.into_iter().fold(pure, f64::min), mean("auto", 1e-9));
        assert_eq!(mean("flat", 0.0).min(pure), mean("auto", 0.0));
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        let plan = |rows, columns, epsilon, delta, method: &str| {
            let plan = PlanePlan::new(rows, columns, epsilon, delta, method, 1);
            plan.map(|plan| (plan.method(), plan.branching()))
        };
        for (rows, columns) in [(0, 5), (5, 0), (-1, 5), (5, i64::MIN), (4097, 4096), (i64::MAX, 2)]
        {
            let error = plan(rows, columns, 1.0, 0.0, "flat").unwrap_err();
            assert_eq!(error, PlanePlanError::Sides { rows, columns });
            assert!(error.to_string().contains(&columns.to_string()));
        }
        for word in [
            "",
            "flats",
            "tree",
            "wavelet",
            "optimal",
            "cascade:x",
            "tree_consistent:geometric",
            "auto:prefix",
        ] {
            let error = plan(4, 5, 1.0, 1e-9, word).unwrap_err();
            assert_eq!(error, PlanePlanError::Method { word: word.into() });
        }
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = plan(4, 5, epsilon, 0.0, "flat").unwrap_err();
            assert!(matches!(error, PlanePlanError::Budget(RangePlanError::Epsilon { .. })));
        }
        for delta in [-1e-9, 1.0, f64::NAN, 1e-320] {
            let error = plan(4, 5, 1.0, delta, "flat").unwrap_err();
            assert!(
                matches!(error, PlanePlanError::Budget(RangePlanError::Delta { .. })),
                "{delta}"
            );
        }
        for (word, method) in
            [("gaussian", RangeMethod::Gaussian), ("cascade:3", RangeMethod::Cascade)]
        {
            let error = plan(4, 5, 1.0, 0.0, word).unwrap_err();
            assert_eq!(error, PlanePlanError::DeltaMissing { method });
            assert_eq!(error.hint(), "Methods that need no delta: flat, tree_consistent.");
        }
        for (word, value) in
            [("tree_consistent", 0), ("tree_consistent", 1), ("cascade", 1), ("cascade", 33)]
        {
            let error = plan(4, 5, 1.0, 1e-9, &format!("{word}:{value}")).unwrap_err();
            let method = RangeMethod::parse(word).unwrap();
            assert_eq!(error, PlanePlanError::Branching { method, value });
        }
        for (epsilon, delta, method) in
            [(1e-12, 0.0, "auto"), (1e9, 0.0, "flat"), (1e-9, 1e-9, "cascade")]
        {
            let error = plan(4, 5, epsilon, delta, method).unwrap_err();
            assert!(
                matches!(error, PlanePlanError::Budget(RangePlanError::Scale { .. })),
                "{error}"
            );
        }
        assert_eq!(plan(4, 5, 1.0, 0.0, "auto"), Ok((RangeMethod::Flat, None)));
        assert_eq!(plan(4, 5, 1.0, 1e-9, "cascade:32"), Ok((RangeMethod::Cascade, Some(32))));
        let wide = plan(1, 1 << 24, 1.0, 0.0, "tree_consistent:4096");
        assert_eq!(wide, Ok((RangeMethod::TreeConsistent, Some(4096))));
    }

    /// What lies beyond the grid counts nothing; counts too large to measure are cut cell by cell.
    #[test]
    fn any_rectangle_has_an_answer() {
        let plan = PlanePlan::new(3, 4, 1.0, 1e-9, "cascade", 1).unwrap();
        let largest = plan.mechanism().largest_count();
        let mut words = words_from_system().unwrap();
        let release = plan.release(&[u64::MAX; 12], &mut words);
        let all = Rectangle { rows: 0..3, columns: 0..4 };
        let beyond = Rectangle { rows: 0..usize::MAX, columns: 0..7 };
        assert_eq!(release.sum(&beyond), release.sum(&all));
        assert_eq!(release.variance(&beyond), release.variance(&all));
        let ratio = release.sum(&all) / (12 * largest) as f64;
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        #[expect(clippy::reversed_empty_ranges)]
        for (rows, columns) in [(3..9, 0..4), (2..1, 0..4), (0..3, 4..4), (7..5, 9..2)] {
            let nothing = Rectangle { rows, columns };
            assert_eq!((release.sum(&nothing), release.variance(&nothing)), (0.0, 0.0));
        }
    }
}
