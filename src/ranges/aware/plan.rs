//! What a release of buckets will do, settled from public arguments, and the release.

use super::deviations::{self, Deviations};
use super::partition::partition;
use super::structure::Structure;
use super::within::within;
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::{Epsilon, PrivacyLoss};
use crate::ranges::bucket_method::BucketMethod;
use crate::ranges::buckets::Buckets;
use crate::ranges::calibration::Calibration;
use crate::ranges::error::RangePlanError;
use crate::ranges::limits::MIN_AWARE_BINS;
use crate::ranges::measurements::noisy_difference;
use crate::ranges::plan::RangePlan;
use crate::ranges::planner;
use crate::ranges::release::RangeRelease;
use crate::ranges::spending::{Price, Spending};
use crate::ranges::workload::TargetRanges;
use serde_json::{Value, json};

/// Of the budget, for the deviations of method `aware`.
const SHARE: f64 = 0.125;

/// What a release of buckets is asked for.
#[derive(Debug, Clone)]
pub struct BucketRequest {
    pub method: BucketMethod,
    /// Of the bins, each at least 1: bins of even density are taken for alike.
    pub widths: Vec<u64>,
    pub epsilon: f64,
    /// See [`RangeRequest::rows_per_unit`](crate::ranges::RangeRequest::rows_per_unit).
    pub rows_per_unit: u32,
    /// Whose mean variance the strategy over the buckets makes the least.
    pub target: TargetRanges,
}

/// A release of buckets: what is looked at first, and what is left for the strategy.
///
/// The two compose sequentially, the second after what came of the first: epsilons add
/// up, and so do the zero-concentrated losses. Which strategy measures the buckets depends on how
/// many there are, its loss does not. All noise is Laplace's: of few measurements that of a delta is
/// wider, up to thousands of bins.
#[derive(Debug)]
pub struct BucketPlan {
    method: BucketMethod,
    price: Price,
    widths: Vec<u64>,
    /// None where there are too few bins: each is measured by itself.
    look: Option<Look>,
    /// On the buckets.
    rest: Spending,
    target: TargetRanges,
    /// Of the target, for the ledger's readers.
    made_for: String,
}

/// How buckets are found.
#[derive(Debug)]
enum Look {
    Deviations(Deviations, Calibration),
    Structure(Structure),
}

impl Look {
    /// Also its loss, and what is left for the strategy.
    ///
    /// Errors: a noise that cannot be sampled.
    fn new(
        method: BucketMethod,
        widths: &[u64],
        all: Spending,
    ) -> Result<(Look, PrivacyLoss, Spending), ScaleError> {
        match method {
            BucketMethod::Aware => {
                let (first, rest) = all.divided(SHARE)?;
                let lengths = deviations::lengths(widths.len()).len();
                let shares = vec![1.0 / lengths as f64; lengths];
                let (price, calibration) = first.on_groups(&shares)?.into_parts();
                let deviations = Deviations::new(widths.to_vec(), &calibration)?;
                Ok((Look::Deviations(deviations, calibration), price.loss, rest))
            }
            BucketMethod::StructureFirst => {
                let (structure, loss, rest) = Structure::new(widths.len(), all)?;
                Ok((Look::Structure(structure), loss, rest))
            }
        }
    }

    fn describe(&self) -> Value {
        match self {
            Look::Deviations(deviations, calibration) => {
                json!({"lengths": deviations.lengths(), "deviations": calibration.describe()})
            }
            Look::Structure(structure) => structure.describe(),
        }
    }
}

/// Of the asked ranges, whose strategy is looked for after the charge: so many stand for all.
const MOST_ASKED: usize = 1 << 12;

impl BucketPlan {
    /// Errors: see [`RangePlanError`]; each names its argument.
    ///
    /// # Panics
    /// If a width is 0, or their sum is 2^63 or more.
    pub fn new(request: BucketRequest) -> Result<BucketPlan, RangePlanError> {
        let BucketRequest { method, widths, epsilon, rows_per_unit, target } = request;
        let bins = BucketPlan::checked_bins(method, widths.len() as i64)?;
        let wide = widths.iter().try_fold(0i64, |sum, width| sum.checked_add_unsigned(*width));
        assert!(wide.is_some() && !widths.contains(&0), "widths");
        let all = planner::spending(epsilon, 0.0, rows_per_unit)?;
        let scale = |error| RangePlanError::Scale { epsilon, delta: 0.0, error };
        let (look, first, rest) = match bins {
            ..MIN_AWARE_BINS => (None, PrivacyLoss::of_pure([]), all),
            _ => {
                let (look, loss, rest) = Look::new(method, &widths, all).map_err(scale)?;
                (Some(look), loss, rest)
            }
        };
        // so that there is a strategy for as many buckets as may come: each of them by itself
        rest.check_a_count().map_err(scale)?;
        // the levels of a strategy tell no more together than one answer of all of its epsilon
        let loss = first.and(PrivacyLoss::of_pure([rest.epsilon.value()]));
        let price = Price { epsilon: all.epsilon, delta: 0.0, loss };
        let (target, made_for) = match target {
            TargetRanges::Workload(workload) => {
                (TargetRanges::Workload(workload), workload.word().to_string())
            }
            TargetRanges::Ranges(ranges) => {
                let made_for = format!("{} ranges", ranges.len());
                let every = ranges.len().div_ceil(MOST_ASKED).max(1);
                let some = ranges.into_iter().filter(|range| !range.is_empty()).step_by(every);
                (TargetRanges::Ranges(some.collect()), made_for)
            }
        };
        Ok(BucketPlan { method, price, widths, look, rest, target, made_for })
    }

    /// Error: there are none, or too many.
    pub(in crate::ranges) fn checked_bins(
        method: BucketMethod,
        bins: i64,
    ) -> Result<usize, RangePlanError> {
        let fits = |bins: &usize| (1..=method.most_bins()).contains(bins);
        let checked = usize::try_from(bins).ok().filter(fits);
        checked.ok_or(RangePlanError::BucketBins { method, value: bins })
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.price.epsilon
    }

    /// Whether there are enough bins for that.
    pub(in crate::ranges) fn looks_for_buckets(&self) -> bool {
        self.look.is_some()
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.widths.len()
    }

    /// Of the deviations of possible buckets, with method `aware`.
    #[cfg(test)]
    pub(super) fn deviations(&self) -> Option<&Deviations> {
        match &self.look {
            Some(Look::Deviations(deviations, _)) => Some(deviations),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(super) fn target(&self) -> &TargetRanges {
        &self.target
    }

    /// Of the selections, with method `structure_first`.
    #[cfg(test)]
    pub(super) fn structure(&self) -> Option<&Structure> {
        match &self.look {
            Some(Look::Structure(structure)) => Some(structure),
            _ => None,
        }
    }

    /// The strategy for so many buckets, of which the ranges are those that the target's touch.
    pub(super) fn of_buckets(&self, buckets: &Buckets) -> RangePlan {
        let target = match &self.target {
            TargetRanges::Workload(workload) => TargetRanges::Workload(*workload),
            TargetRanges::Ranges(ranges) => {
                TargetRanges::Ranges(ranges.iter().map(|range| buckets.around(range)).collect())
            }
        };
        planner::best_of_laplace(buckets.count(), self.rest, target)
            .expect("every bucket by itself can be measured")
    }

    /// For who has paid.
    pub(in crate::ranges) fn draw<R: RandomWords + ?Sized>(
        self,
        counts: &[u64],
        words: &mut R,
    ) -> RangeRelease {
        assert_eq!(counts.len(), self.bins(), "counts of another number of bins");
        let (buckets, deviations) = match &self.look {
            None => (Buckets::new(vec![1; counts.len()], &self.widths), None),
            Some(Look::Deviations(deviations, _)) => {
                let noisy = noisy_difference(deviations, counts, None, words);
                let per_bucket = f64::from(self.rest.rows_per_unit) / self.rest.epsilon.value();
                (partition(deviations, &noisy, per_bucket), Some((deviations, noisy)))
            }
            Some(Look::Structure(structure)) => (structure.find(counts, &self.widths, words), None),
        };
        let release = self.of_buckets(&buckets).draw(&buckets.counts(counts), None, words);
        let Some((deviations, noisy)) = deviations else { return release.over(buckets) };
        let uneven = within(deviations, &noisy, &buckets, release.sum(0..buckets.count()));
        release.over(buckets.with(uneven))
    }
}

impl Costs for BucketPlan {
    fn cost(&self) -> Cost {
        let Price { epsilon, delta, loss } = self.price.clone();
        let rest = json!({"noise": "discrete Laplace", "epsilon": self.rest.epsilon.value()});
        let mut mechanism = json!({
            "method": self.method.word(),
            "bins": self.bins(),
            "buckets": rest,
            "rows_per_unit": self.rest.rows_per_unit,
            "made_for": self.made_for,
        });
        let look = self.look.as_ref().map(Look::describe);
        if let (Some(all), Some(Value::Object(look))) = (mechanism.as_object_mut(), look) {
            all.extend(look);
        }
        Cost { epsilon, delta, loss, mechanism }
    }
}

impl<P> Receipt<BucketPlan, P> {
    /// Measures deviations, then buckets, and adds exact noise to both. `counts`: of rows, one per
    /// bin, or sums of amounts within bounds from 0 on, whose weight the plan is made for.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        self.into_mechanism().draw(counts, words)
    }
}
