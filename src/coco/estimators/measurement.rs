//! What is measured of histograms: an estimator, and the noise that its sensitivity asks for.

use super::estimator::HistogramEstimator;
use super::kept::MeasuredNumbers;
use super::node::NoisyNode;
use super::profile::Profile;
use super::table::Estimator;
use crate::charge::Receipt;
use crate::coco::estimate::Estimate;
use crate::coco::histogram::Coco;
use crate::noise::{RandomWords, ScaleError};
use crate::privacy::LaplaceMechanism;
use crate::work::Paced;
use std::iter::repeat;

/// The largest `max_size` that a measurement takes: an array of this length is held and fitted at a
/// time, for half a second, during which a release cannot be cancelled.
pub const MAX_SIZE_LIMIT: u64 = 5_000_000;

/// What is measured of every histogram of disjoint entities, such as those of a hierarchy's level:
/// the one place where an estimator meets its noise.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramMeasurement {
    estimator: Estimator,
    max_size: u64,
    noise: LaplaceMechanism,
}

/// What is measured of one histogram, whose number of groups is public.
#[derive(Debug, Clone)]
pub struct NodeMeasurement<'a> {
    of_all: HistogramMeasurement,
    groups: u64,
    parent: Option<&'a Profile>,
}

impl HistogramMeasurement {
    /// `max_size`: the public K; larger groups are counted at K, and a cut beyond it is one at K.
    /// `rows_per_unit`: how many entities one unit of privacy owns at most, in all histograms that
    /// are measured side by side. Their release satisfies `epsilon`-differential privacy for that
    /// unit.
    ///
    /// Errors: epsilon leads to a scale that cannot be sampled.
    pub fn new(
        estimator: Estimator,
        max_size: u64,
        rows_per_unit: u32,
        epsilon: f64,
    ) -> Result<HistogramMeasurement, ScaleError> {
        let sensitivity = u64::from(estimator.sensitivity()) * u64::from(rows_per_unit);
        let noise = LaplaceMechanism::new(sensitivity, epsilon)?;
        Ok(HistogramMeasurement { estimator, max_size, noise })
    }

    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// Its sensitivity, epsilon and variance.
    pub fn noise(&self) -> &LaplaceMechanism {
        &self.noise
    }

    /// The variance of a noisy number of groups of one size, before any smoothing.
    pub fn variance_of_counts(&self) -> f64 {
        self.estimator.variance_of_counts(self.noise.variance())
    }

    /// How many numbers are measured of so many groups, where that is known beforehand.
    pub fn draws(&self, groups: u64) -> Option<u64> {
        if groups == 0 { Some(0) } else { self.estimator.draws(groups, self.max_size) }
    }

    /// About how long it takes, in draws, to estimate so many groups, of a region that may lie
    /// below a released one; from what is public.
    pub(crate) fn work(&self, groups: u64, below: bool) -> u64 {
        self.estimator.work(groups, self.max_size, below)
    }

    /// Whether a region is measured otherwise where the one above it was released.
    pub(crate) fn follows(&self) -> bool {
        self.estimator.follows()
    }

    /// For a histogram of so many groups, which are public.
    pub fn of_groups(&self, groups: u64) -> NodeMeasurement<'static> {
        NodeMeasurement { of_all: self.clone(), groups, parent: None }
    }
}

impl<'a> NodeMeasurement<'a> {
    /// Where the region that this one lies in has the released profile, which tells more of what to
    /// measure, and what to expect, if the estimator leaves that open.
    pub fn below<'b>(self, parent: &'b Profile) -> NodeMeasurement<'b> {
        NodeMeasurement { of_all: self.of_all, groups: self.groups, parent: Some(parent) }
    }

    /// Its sensitivity, epsilon and variance.
    pub fn noise(&self) -> &LaplaceMechanism {
        &self.of_all.noise
    }

    fn node(&self) -> NoisyNode<'a> {
        let HistogramMeasurement { max_size, noise, .. } = &self.of_all;
        NoisyNode {
            groups: self.groups,
            max_size: *max_size,
            scale: noise.scale().as_f64(),
            variance: noise.variance(),
            parent: self.parent,
        }
    }

    /// The estimate that is made with given noise: `add_noise` gets every exact number that is
    /// measured, one after the other, and nothing else of the truth is used.
    ///
    /// The estimate has G groups of sizes 0 ..= K.
    pub fn estimate(&self, truth: &Coco, add_noise: impl FnMut(i64) -> i64) -> Estimate {
        if self.groups == 0 {
            return Estimate::default(); // all is public: there is nothing to measure
        }
        self.of_all.estimator.estimate(&self.node(), truth, add_noise)
    }

    /// An estimate with the noise of the measurement.
    pub(crate) fn release<R: RandomWords + ?Sized>(&self, truth: &Coco, words: &mut R) -> Estimate {
        self.estimate(truth, self.noisy(words))
    }

    /// The numbers of groups of sizes 0 ..= K; for `H` as they were measured, which may be any
    /// integers: for consistency methods that fit a whole hierarchy at once.
    pub(crate) fn noisy_counts(&self, truth: &Coco, add_noise: impl FnMut(i64) -> i64) -> Vec<i64> {
        if self.groups == 0 {
            return vec![0; self.of_all.max_size as usize + 1];
        }
        self.of_all.estimator.counts(&self.node(), truth, add_noise)
    }

    /// The numbers of groups of size at most s for s = 0 ..= K, the last one the public G; for `Hc`
    /// and `Hc_l2` as they were measured, which may be any integers: for consistency methods that
    /// fit a whole hierarchy at once.
    pub(crate) fn noisy_cumulative_counts(
        &self,
        truth: &Coco,
        add_noise: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        if self.groups == 0 {
            return vec![0; self.of_all.max_size as usize + 1];
        }
        self.of_all.estimator.cumulative_counts(&self.node(), truth, add_noise)
    }

    /// As [`NodeMeasurement::noisy`], with the noisy numbers noted in their order.
    pub(crate) fn noted<R: RandomWords + ?Sized>(
        &self,
        words: &mut R,
        numbers: &mut Vec<i64>,
    ) -> impl FnMut(i64) -> i64 {
        let mut add_noise = self.noisy(words);
        move |exact| {
            let noisy = add_noise(exact);
            numbers.push(noisy);
            noisy
        }
    }

    /// What the noisy numbers are that any of these used, in the order of their noise.
    pub(crate) fn told_apart(&self, noisy: Vec<i64>) -> Vec<MeasuredNumbers> {
        self.of_all.estimator.sequence(&self.node(), &noisy).apart(noisy)
    }

    /// An estimate by numbers that were measured before, of a node that lies in a region with that
    /// profile. `None` where that one is not known well enough to say what to expect, or the node is unlike
    /// it.
    pub(crate) fn again(&self, numbers: &[MeasuredNumbers], below: &Profile) -> Option<Estimate> {
        if self.groups == 0 || !below.tells(self.groups, self.of_all.noise.variance()) {
            return None;
        }
        self.of_all.estimator.again(&self.node(), numbers, below)
    }

    /// Adds fresh noise to one number after the other; each is a unit of work.
    pub(crate) fn noisy<R: RandomWords + ?Sized>(&self, words: &mut R) -> impl FnMut(i64) -> i64 {
        let noise = &self.of_all.noise;
        let mut draws = repeat(()).paced();
        move |exact| {
            draws.next();
            noise.add(exact, words)
        }
    }
}

/// Measurements by themselves are nobody's release: no ledger takes them.
impl<P> Receipt<NodeMeasurement<'_>, P> {
    /// An estimate of the histogram, whose number of groups is the one that the measurement is for.
    pub fn estimate<R: RandomWords + ?Sized>(self, truth: &Coco, words: &mut R) -> Estimate {
        self.into_mechanism().release(truth, words)
    }

    /// The noisy numbers of groups of sizes 0 ..= K: any integers where the estimator measures
    /// these, as `H` does, else those of an estimate.
    pub fn counts<R: RandomWords + ?Sized>(self, truth: &Coco, words: &mut R) -> Vec<i64> {
        let measurement = self.into_mechanism();
        measurement.noisy_counts(truth, measurement.noisy(words))
    }

    /// The noisy numbers of groups of size at most s for s = 0 ..= K: any integers where the
    /// estimator measures these, as `Hc` and `Hc_l2` do, else those of an estimate. The last one is
    /// the public number of all groups.
    pub fn cumulative_counts<R: RandomWords + ?Sized>(
        self,
        truth: &Coco,
        words: &mut R,
    ) -> Vec<i64> {
        let measurement = self.into_mechanism();
        measurement.noisy_cumulative_counts(truth, measurement.noisy(words))
    }
}
