//! What sums over a line of bins are released by: a strategy over the bins, or one that sees the data.

use super::aware::plan::{BucketPlan, BucketRequest};
use super::bins::counts::Bins;
use super::bins::sums::SignedSums;
use super::choice::ReleaseChoice;
use super::error::RangePlanError;
use super::plan::RangePlan;
use super::planner::{self, RangeRequest};
use super::release::RangeRelease;
use super::released::DpRanges;
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::RandomWords;

/// What a release of sums is asked for.
#[derive(Debug, Clone)]
pub struct ReleaseRequest {
    /// Their number.
    pub bins: i64,
    /// See [`BucketRequest::widths`]; None for bins that are as wide.
    pub widths: Option<Vec<u64>>,
    pub epsilon: f64,
    /// 0 for pure epsilon; a method without Gaussian noise leaves it unspent.
    pub delta: f64,
    /// See [`RangeRequest::rows_per_unit`].
    pub rows_per_unit: u32,
    /// Whether sums can be of amounts below 0.
    pub negative: bool,
    pub choice: ReleaseChoice,
}

/// A release of sums, settled from public arguments.
pub enum ReleasePlan {
    Strategy(RangePlan),
    Buckets(Box<BucketPlan>),
}

impl ReleasePlan {
    /// Errors: see [`RangePlanError`]; each names its argument.
    pub fn new(request: ReleaseRequest) -> Result<ReleasePlan, RangePlanError> {
        let ReleaseRequest { bins, widths, epsilon, delta, rows_per_unit, negative, choice } =
            request;
        match choice {
            ReleaseChoice::Strategy(method) => {
                let request = RangeRequest { bins, epsilon, delta, rows_per_unit, method };
                RangePlan::new(request).map(ReleasePlan::Strategy)
            }
            ReleaseChoice::Buckets(method, _) if negative => {
                Err(RangePlanError::BucketsOfNegative { method })
            }
            ReleaseChoice::Buckets(method, target) => {
                // that delta is one, of which nothing is spent
                planner::spending(epsilon, delta, rows_per_unit)?;
                let widths = match widths {
                    Some(widths) => widths,
                    None => vec![1; BucketPlan::checked_bins(method, bins)?],
                };
                let request = BucketRequest { method, widths, epsilon, rows_per_unit, target };
                BucketPlan::new(request).map(Box::new).map(ReleasePlan::Buckets)
            }
        }
    }

    /// N.
    pub fn bins(&self) -> usize {
        match self {
            ReleasePlan::Strategy(plan) => plan.parameters().bins(),
            ReleasePlan::Buckets(plan) => plan.bins(),
        }
    }

    /// Whether it is to find buckets, and there are too few bins for any.
    pub fn has_too_few_bins(&self) -> bool {
        matches!(self, ReleasePlan::Buckets(plan) if !plan.looks_for_buckets())
    }

    /// Whether answers to ranges side by side add up to that to both.
    pub fn adds_up(&self) -> bool {
        match self {
            ReleasePlan::Strategy(plan) => plan.mechanism().adds_up(),
            ReleasePlan::Buckets(_) => true,
        }
    }
}

impl ReleasePlan {
    fn draw<R: RandomWords + ?Sized>(
        self,
        above: &[u64],
        below: Option<&[u64]>,
        words: &mut R,
    ) -> RangeRelease {
        match self {
            ReleasePlan::Strategy(plan) => plan.draw(above, below, words),
            ReleasePlan::Buckets(plan) => {
                assert!(below.is_none(), "buckets of amounts below 0");
                plan.draw(above, words)
            }
        }
    }
}

impl Costs for ReleasePlan {
    fn cost(&self) -> Cost {
        match self {
            ReleasePlan::Strategy(plan) => plan.cost(),
            ReleasePlan::Buckets(plan) => plan.cost(),
        }
    }
}

impl<P> Receipt<ReleasePlan, P> {
    /// Measures and adds exact noise. `counts`: of rows, one per bin.
    ///
    /// # Panics
    /// If the counts are those of another number of bins.
    pub fn release<R: RandomWords + ?Sized>(self, counts: &[u64], words: &mut R) -> RangeRelease {
        self.into_mechanism().draw(counts, None, words)
    }

    /// Measures sums of amounts and adds exact noise. `sums`: one per bin, of amounts within the
    /// bounds whose weight the plan is made for.
    ///
    /// # Panics
    /// If the sums are those of another number of bins, or of amounts below 0 that the plan is not
    /// made for.
    pub fn release_sums<R: RandomWords + ?Sized>(
        self,
        sums: &SignedSums,
        words: &mut R,
    ) -> RangeRelease {
        self.into_mechanism().draw(&sums.above, sums.below.as_deref(), words)
    }

    /// Measures a histogram and adds exact noise.
    ///
    /// # Panics
    /// If the histogram is one over another number of bins.
    pub fn release_bins<R: RandomWords + ?Sized>(self, truth: &Bins, words: &mut R) -> DpRanges {
        DpRanges::of(truth.bounds(), self.release(truth.counts(), words))
    }
}
