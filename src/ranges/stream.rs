//! A counter that is released as time goes on: its plan, and its ticks.

use super::bins::sums::BinSums;
use super::calibration::Calibration;
use super::error::RangePlanError;
use super::least::least;
use super::limits::MAX_WEIGHTED_BINS;
use super::measurements::Sensitivity;
use super::methods::causal_tree::CausalTree;
use super::methods::minimax::strategy::WeightedRoot;
use super::parameters::Parameters;
use super::plan::Plan;
use super::planner::spending;
use super::spending::Spending;
use super::ticks::{Tick, TickMechanism};
use super::workload::Workload;
use crate::charge::Receipt;
use crate::noise::{RandomWords, ScaleError};
use crate::work::done;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;

/// The largest branching factor that is tried: the best one over 8,760 counts is 20.
const MAX_BRANCHING: usize = 64;

/// What a stream is asked for.
#[derive(Debug, Clone, Copy)]
pub struct StreamRequest {
    /// The most counts that will ever be released.
    pub horizon: i64,
    pub epsilon: f64,
    /// 0 for pure epsilon.
    pub delta: f64,
    /// How many rows one unit of privacy owns at most in all counts together, at least 1.
    pub rows_per_unit: u32,
}

/// From which a stream's mechanism is built, whenever it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamParameters {
    horizon: u32,
    strategy: Strategy,
    calibration: Calibration,
}

// Stored with streams by their position: a new one goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Strategy {
    /// That of the method `minimax` for prefixes, with discrete Gaussian noise.
    Root,
    /// See [`CausalTree`].
    Tree { branching: u32, levels: u32 },
}

/// A stream that is to be released, all of it.
///
/// ```
/// # use pg_dp::charge::Receipt;
/// # use pg_dp::noise::words_from_system;
/// # use pg_dp::ranges::{StreamPlan, StreamRequest};
/// let (horizon, epsilon, delta, rows_per_unit) = (8760, 1.0, 1e-9, 1);
/// let plan = StreamPlan::new(StreamRequest { horizon, epsilon, delta, rows_per_unit })?;
/// let mut stream = Receipt::uncharged(plan).stream(Vec::new());
/// for count in [3, 1, 2] {
///     stream.tick(count, &mut words_from_system()?);
/// }
/// println!("{} with a standard deviation of {}", stream.sum(1..3), stream.variance(1..3).sqrt());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type StreamPlan = Plan<StreamParameters>;

impl Parameters for StreamParameters {
    type Mechanism = dyn TickMechanism;

    fn mechanism(&self) -> Result<Box<dyn TickMechanism>, ScaleError> {
        let (horizon, calibration) = (self.horizon as usize, &self.calibration);
        Ok(match self.strategy {
            Strategy::Root => Box::new(WeightedRoot::new(Workload::Prefix, horizon, calibration)?),
            Strategy::Tree { branching, levels } => {
                let (branching, levels) = (branching as usize, levels as usize);
                Box::new(CausalTree::new(horizon, branching, levels, calibration)?)
            }
        })
    }

    fn describe(&self) -> Value {
        let (branching, levels) = self.tree().unzip();
        json!({
            "method": self.method(),
            "horizon": self.horizon,
            "branching": branching,
            "levels": levels,
            "measurements": self.calibration.describe(),
        })
    }

    /// Built anew whenever the stream goes on, it has to be the one that was charged, integer by
    /// integer: rows of two strategies are together farther apart than those of either.
    fn describe_with(&self, mechanism: &dyn TickMechanism) -> Value {
        let mut description = self.describe();
        description["sensitivity_squared"] = match mechanism.measurements().sensitivity() {
            Sensitivity::Squared(square) => square.to_string().into(),
            // as each measurement's noise says
            Sensitivity::OneOfEach => Value::Null,
        };
        description["integers"] = mechanism.fingerprint().into();
        description
    }
}

impl StreamParameters {
    /// The method by the ledger's word for it.
    pub fn method(&self) -> &'static str {
        match self.strategy {
            Strategy::Root => "minimax",
            Strategy::Tree { .. } => "tree",
        }
    }

    /// The tree's branching factor and number of levels, if it is one: what was chosen.
    pub fn tree(&self) -> Option<(u32, u32)> {
        match self.strategy {
            Strategy::Root => None,
            Strategy::Tree { branching, levels } => Some((branching, levels)),
        }
    }
}

impl StreamPlan {
    /// With a delta the weighted square root with discrete Gaussian noise, without one the tree
    /// with the least mean variance over all prefixes.
    ///
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(request: StreamRequest) -> Result<StreamPlan, RangePlanError> {
        let planned = Planned::new(request)?;
        if planned.is_root {
            return planned.by(Strategy::Root).map_err(|error| planned.unfit(error));
        }
        let best = least(trees(planned.horizon as usize).map(|(branching, levels)| {
            let (branching, levels) = (branching as u32, levels as u32);
            let plan = planned.by(Strategy::Tree { branching, levels })?;
            Ok((plan.mechanism().spread_of_prefixes().mean, plan))
        }));
        best.map_err(|error| planned.unfit(error))
    }

    /// What was planned before for the same request, and had that tree, or none: for a stream that
    /// goes on, also if another one would be chosen now.
    ///
    /// Errors: see [`RangePlanError`]; no stream of that request has such a tree.
    pub fn again(
        request: StreamRequest,
        tree: Option<(u32, u32)>,
    ) -> Result<StreamPlan, RangePlanError> {
        let planned = Planned::new(request)?;
        let strategy = match tree {
            None if planned.is_root => Strategy::Root,
            Some((branching, levels))
                if !planned.is_root
                    && trees(planned.horizon as usize)
                        .any(|tree| tree == (branching as usize, levels as usize)) =>
            {
                Strategy::Tree { branching, levels }
            }
            _ => return Err(RangePlanError::Horizon { value: request.horizon }),
        };
        planned.by(strategy).map_err(|error| planned.unfit(error))
    }

    /// The unbiased estimate of the sum of the counts in a range of ticks, of the part of it up to
    /// the last of these.
    pub fn sum(&self, ticks: &[Tick], range: Range<usize>) -> f64 {
        // of nothing it is 0, not -0
        0.0 + self.mechanism().sum_of(ticks, inside(range, ticks.len()))
    }

    /// The variance of [`StreamPlan::sum`], of so many ticks.
    pub fn variance(&self, ticks: usize, range: Range<usize>) -> f64 {
        0.0 + self.mechanism().variance_of(inside(range, ticks.min(self.mechanism().horizon())))
    }
}

fn inside(range: Range<usize>, ticks: usize) -> Range<usize> {
    let end = range.end.min(ticks);
    range.start.min(end)..end
}

/// A request that fits.
struct Planned {
    request: StreamRequest,
    horizon: u32,
    spending: Spending,
    is_root: bool,
}

impl Planned {
    fn new(request: StreamRequest) -> Result<Planned, RangePlanError> {
        let StreamRequest { horizon: value, epsilon, delta, rows_per_unit } = request;
        let horizon = u32::try_from(value)
            .ok()
            .filter(|horizon| (1..=MAX_WEIGHTED_BINS).contains(&(*horizon as usize)))
            .ok_or(RangePlanError::Horizon { value })?;
        let spending = spending(epsilon, delta, rows_per_unit)?;
        Ok(Planned { request, horizon, spending, is_root: delta > 0.0 })
    }

    fn by(&self, strategy: Strategy) -> Result<StreamPlan, ScaleError> {
        let noise = match strategy {
            Strategy::Root => self.spending.on_all_together(),
            Strategy::Tree { levels, .. } => {
                self.spending.on_groups(&vec![1.0 / f64::from(levels); levels as usize])?
            }
        };
        let horizon = self.horizon;
        Plan::of(noise, |calibration| StreamParameters { horizon, strategy, calibration })
    }

    fn unfit(&self, error: ScaleError) -> RangePlanError {
        let StreamRequest { epsilon, delta, .. } = self.request;
        RangePlanError::Scale { epsilon, delta, error }
    }
}

/// Branching factors and numbers of levels.
fn trees(horizon: usize) -> impl Iterator<Item = (usize, usize)> {
    (2..=MAX_BRANCHING).flat_map(move |branching| {
        (1..=CausalTree::most_levels(horizon, branching)).map(move |levels| (branching, levels))
    })
}

/// A stream that is being released: the ticks so far, and the right to draw the next.
pub struct CountStream {
    plan: StreamPlan,
    /// The largest count that it takes.
    largest: u64,
    ticks: Vec<Tick>,
}

impl<P> Receipt<StreamPlan, P> {
    /// Before the first tick, or after those that were drawn for this very charge: whoever draws a
    /// tick twice, and shows both, has released more than was charged.
    ///
    /// # Panics
    /// If there are more ticks than the horizon.
    pub fn stream(self, mut ticks: Vec<Tick>) -> CountStream {
        let plan = self.into_mechanism();
        assert!(ticks.len() <= plan.mechanism().horizon(), "more ticks than the horizon");
        let largest = plan.mechanism().largest_count();
        // whoever has kept them: no count is larger than the sensitivity is proven for
        ticks.iter_mut().for_each(|tick| tick.count = tick.count.min(largest));
        CountStream { plan, largest, ticks }
    }
}

impl CountStream {
    /// The number of ticks so far.
    pub fn time(&self) -> usize {
        self.ticks.len()
    }

    /// What is to be stored for the stream to go on.
    pub fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// The plan and the ticks so far, without the right to draw another one.
    pub fn into_parts(self) -> (StreamPlan, Vec<Tick>) {
        (self.plan, self.ticks)
    }

    /// Measures the next count, which holds every row in no other: what is to be stored before
    /// anything of it is told. None if the horizon is reached. Time: linear in the ticks so far.
    pub fn tick<R: RandomWords + ?Sized>(&mut self, count: u64, words: &mut R) -> Option<&Tick> {
        let mechanism = self.plan.mechanism();
        if self.ticks.len() == mechanism.horizon() {
            return None;
        }
        // a larger count is taken for the largest, which keeps the sensitivity
        let count = count.min(self.largest);
        let counts: Vec<u64> = self.ticks.iter().map(|tick| tick.count).chain([count]).collect();
        let measurements = mechanism.measurements();
        let noisy = mechanism.measure_last(&counts).into_iter();
        let noisy: Vec<i64> =
            noisy.map(|(place, exact)| measurements.with_noise(place, exact, words)).collect();
        let estimates = mechanism.estimate_last(&self.ticks, &noisy);
        self.ticks.push(Tick { count, noisy, estimates });
        self.ticks.last()
    }

    /// Measures the next counts, in their order: those of all bins but the first and the last one,
    /// where rows are that count in no tick, or in a later one.
    pub fn tick_inner_bins<R: RandomWords + ?Sized>(&mut self, rows: &BinSums, words: &mut R) {
        let counts = rows.counts();
        for count in counts.iter().take(counts.len() - 1).skip(1) {
            done(self.ticks.len() as u64);
            self.tick(*count, words);
        }
    }

    /// The unbiased estimate of the sum of the counts in a range of ticks, of the part of it up to
    /// now.
    pub fn sum(&self, range: Range<usize>) -> f64 {
        self.plan.sum(&self.ticks, range)
    }

    /// The variance of [`CountStream::sum`].
    pub fn variance(&self, range: Range<usize>) -> f64 {
        self.plan.variance(self.ticks.len(), range)
    }
}
