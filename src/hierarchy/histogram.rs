//! One histogram by itself: a hierarchy of a single level.

use super::measurement::LevelMeasurement;
use super::observer::Observer;
use super::plan::{PlanError, ReleasePlan, ReleaseRequest};
use super::selection::Mechanism;
use crate::charge::{Cost, Costs, Receipt};
use crate::coco::{Coco, DpCoco, HistogramMeasurement};
use crate::noise::RandomWords;

/// After so many numbers with noise an observer is told.
const NUMBERS_AT_A_TIME: u64 = 1 << 14;

/// The release of one histogram, whose number of groups is public.
#[derive(Debug, Clone)]
pub struct HistogramMechanism {
    plan: ReleasePlan,
    measurement: HistogramMeasurement,
}

impl HistogramMechanism {
    /// `estimator`: its name. `max_size`: larger groups are counted at it. The release satisfies
    /// `epsilon`-differential privacy for a unit that owns one entity.
    ///
    /// Errors: those of [`ReleasePlan::new`].
    pub fn new(
        epsilon: f64,
        estimator: &str,
        max_size: i64,
    ) -> Result<HistogramMechanism, PlanError> {
        let plan = ReleasePlan::new(
            &ReleaseRequest::new(1, epsilon).by(&[estimator], "none").up_to(max_size),
        )?;
        let [Some(LevelMeasurement::Regions(root))] = plan.levels() else {
            unreachable!("without consistency every region of every level has its own estimate")
        };
        let measurement = root.of_histogram().clone();
        Ok(HistogramMechanism { plan, measurement })
    }

    /// The same as a hierarchy of one level, whose root is the histogram.
    pub fn as_hierarchy(&self) -> Mechanism {
        Mechanism::Plan(self.plan.clone())
    }

    pub fn max_size(&self) -> u64 {
        self.plan.max_size()
    }

    /// How many numbers are measured of so many groups, where that is known beforehand.
    pub fn draws(&self, groups: u64) -> Option<u64> {
        self.measurement.draws(groups)
    }
}

impl Costs for HistogramMechanism {
    fn cost(&self) -> Cost {
        self.plan.cost()
    }
}

impl<P> Receipt<HistogramMechanism, P> {
    /// The histogram with noise.
    pub fn release<R: RandomWords + ?Sized>(
        self,
        truth: &Coco,
        words: &mut R,
        observer: &mut dyn Observer,
    ) -> DpCoco {
        let measurement = self.into_mechanism().measurement;
        let mut numbers = 0;
        let node = measurement.of_groups(truth.groups());
        let mut noisy = node.noisy(words);
        // by a count of its own: where polls fall depends on other work of this thread
        let add_noise = |exact| {
            if numbers % NUMBERS_AT_A_TIME == 0 {
                observer.numbers_measured(numbers);
            }
            numbers += 1;
            noisy(exact)
        };
        node.estimate(truth, add_noise).released()
    }
}
