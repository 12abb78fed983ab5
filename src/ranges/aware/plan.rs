//! What a release of buckets will do, settled from public arguments, and the release.

use super::deviations::{self, Deviations};
use super::partition::partition;
use super::within::within;
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::RandomWords;
use crate::privacy::{Epsilon, PrivacyLoss};
use crate::ranges::buckets::Buckets;
use crate::ranges::calibration::Calibration;
use crate::ranges::error::RangePlanError;
use crate::ranges::limits::MAX_AWARE_BINS;
use crate::ranges::measurements::noisy_difference;
use crate::ranges::plan::RangePlan;
use crate::ranges::planner;
use crate::ranges::release::RangeRelease;
use crate::ranges::spending::{Price, Spending};
use crate::ranges::workload::TargetRanges;
use serde_json::json;

/// Of the budget, for the deviations.
const SHARE: f64 = 0.125;

/// What a release of buckets is asked for.
#[derive(Debug, Clone)]
pub struct AwareRequest {
    /// Of the bins, each at least 1: bins of even density are taken for alike.
    pub widths: Vec<u64>,
    pub epsilon: f64,
    /// See [`RangeRequest::rows_per_unit`](crate::ranges::RangeRequest::rows_per_unit).
    pub rows_per_unit: u32,
    /// Whose mean variance the strategy over the buckets makes the least.
    pub target: TargetRanges,
}

/// A release of buckets: what is measured first, and what is left for the strategy.
///
/// The two measurements compose sequentially, the second after what came of the first: epsilons add
/// up, and so do the zero-concentrated losses. Which strategy measures the buckets depends on how
/// many there are, its loss does not. All noise is Laplace's: of few measurements that of a delta is
/// wider, up to thousands of bins.
#[derive(Debug)]
pub struct AwarePlan {
    price: Price,
    deviations: Deviations,
    calibration: Calibration,
    /// On the buckets.
    rest: Spending,
    target: TargetRanges,
    /// Of the target, for the ledger's readers.
    made_for: String,
}

/// Of the asked ranges, whose strategy is looked for after the charge: so many stand for all.
const MOST_ASKED: usize = 1 << 12;

impl AwarePlan {
    /// Errors: see [`RangePlanError`]; each names its argument.
    ///
    /// # Panics
    /// If a width is 0, or their sum is 2^63 or more.
    pub fn new(request: AwareRequest) -> Result<AwarePlan, RangePlanError> {
        let AwareRequest { widths, epsilon, rows_per_unit, target } = request;
        let bins = AwarePlan::checked_bins(widths.len() as i64)?;
        let wide = widths.iter().try_fold(0i64, |sum, width| sum.checked_add_unsigned(*width));
        assert!(wide.is_some() && !widths.contains(&0), "widths");
        let all = planner::spending(epsilon, 0.0, rows_per_unit)?;
        let scale = |error| RangePlanError::Scale { epsilon, delta: 0.0, error };
        let (first, calibration, rest) = match deviations::lengths(bins).len() {
            // no bucket but single bins: there is nothing to find out
            0 => (PrivacyLoss::of_pure([]), Calibration::per_group(Vec::new()), all),
            lengths => {
                let (first, rest) = all.divided(SHARE).map_err(scale)?;
                let shares = vec![1.0 / lengths as f64; lengths];
                let (price, calibration) = first.on_groups(&shares).map_err(scale)?.into_parts();
                (price.loss, calibration, rest)
            }
        };
        let deviations = Deviations::new(widths, &calibration).map_err(scale)?;
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
        Ok(AwarePlan { price, deviations, calibration, rest, target, made_for })
    }

    /// Error: there are none, or too many.
    pub(in crate::ranges) fn checked_bins(bins: i64) -> Result<usize, RangePlanError> {
        let checked = usize::try_from(bins).ok().filter(|bins| (1..=MAX_AWARE_BINS).contains(bins));
        checked.ok_or(RangePlanError::AwareBins { value: bins })
    }

    /// What is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.price.epsilon
    }

    /// Whether there are enough bins for that.
    pub(in crate::ranges) fn looks_for_buckets(&self) -> bool {
        !self.deviations.lengths().is_empty()
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.deviations.widths().len()
    }

    #[cfg(test)]
    pub(super) fn deviations(&self) -> &Deviations {
        &self.deviations
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
        let noisy = noisy_difference(&self.deviations, counts, None, words);
        let per_bucket = f64::from(self.rest.rows_per_unit) / self.rest.epsilon.value();
        let buckets = partition(&self.deviations, &noisy, per_bucket);
        let uneven = within(&self.deviations, &noisy, &buckets);
        let buckets = buckets.with(uneven);
        self.of_buckets(&buckets).draw(&buckets.counts(counts), None, words).over(buckets)
    }
}

impl Costs for AwarePlan {
    fn cost(&self) -> Cost {
        let Price { epsilon, delta, loss } = self.price.clone();
        let rest = json!({"noise": "discrete Laplace", "epsilon": self.rest.epsilon.value()});
        let mechanism = json!({
            "method": "aware",
            "bins": self.bins(),
            "lengths": self.deviations.lengths(),
            "deviations": self.calibration.describe(),
            "buckets": rest,
            "rows_per_unit": self.rest.rows_per_unit,
            "made_for": self.made_for,
        });
        Cost { epsilon, delta, loss, mechanism }
    }
}

impl<P> Receipt<AwarePlan, P> {
    /// Measures deviations, then buckets, and adds exact noise to both. `counts`: of rows, one per
    /// bin, or sums of amounts within bounds from 0 on, whose weight the plan is made for.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        self.into_mechanism().draw(counts, words)
    }
}
