//! The estimators of one histogram as mechanisms: what is measured, its sensitivity, the noise,
//! and how an estimate is made of it, each stated once.
//!
//! Neighbours are databases that differ by one entity; groups are public. An entity moves one group
//! from size s to s + 1 (or back). Where the unit of privacy may own up to k entities, which can lie
//! in any groups, neighbours differ by k such steps, and every distance is at most k times as large.

use super::estimate::{Estimate, EstimatedRun};
use super::histogram::Coco;
use super::isotonic::{isotonic_l1, isotonic_l2};
use super::simplex::project_on_total;
use crate::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};
use std::iter::repeat_n;

/// The largest `max_size` that a mechanism takes: an array of this length is held and fitted at a
/// time, for half a second, during which a release cannot be cancelled.
pub const MAX_SIZE_LIMIT: u64 = 5_000_000;

/// Draws of noise between two calls of the caller's checkpoint.
const CHECKPOINT_EVERY: usize = 1 << 14;

/// The estimators of Kuo et al. 2018, section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Noise on each count of groups of one size; projection on the known total.
    H,
    /// Noise on the cumulative counts; isotonic regression in the L1 norm.
    Hc,
    /// Noise on the cumulative counts; isotonic regression in the L2 norm.
    HcL2,
    /// Noise on the sorted list of sizes; isotonic regression in the L2 norm.
    Hg,
}

impl Method {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Method); 5] = [
        (Method::H.word(), Method::H),
        (Method::Hc.word(), Method::Hc),
        (Method::HcL2.word(), Method::HcL2),
        (Method::Hg.word(), Method::Hg),
        ("auto", Method::Hc),
    ];

    pub fn parse(word: &str) -> Option<Method> {
        Method::WORDS.iter().find(|(known, _)| *known == word).map(|(_, method)| *method)
    }

    /// The word for this very method, never "auto".
    pub const fn word(self) -> &'static str {
        match self {
            Method::H => "H",
            Method::Hc => "Hc",
            Method::HcL2 => "Hc_l2",
            Method::Hg => "Hg",
        }
    }

    /// The L1 distance by which one entity moves what is measured.
    ///
    /// H: one cell loses a group, the next gains it. Hc: a group that grows beyond s leaves the
    /// count of those up to s, and no other. Hg: raise the last group of size s, and the list stays
    /// sorted with one entry changed. Capping sizes at max_size can only shrink these distances.
    pub fn sensitivity(self) -> u32 {
        match self {
            Method::H => 2,
            Method::Hc | Method::HcL2 | Method::Hg => 1,
        }
    }
}

/// One estimator, set up for a node with a public number of groups.
#[derive(Debug, Clone)]
pub struct CocoMechanism {
    method: Method,
    groups: u64,
    max_size: u64,
    noise: DiscreteLaplace,
}

impl CocoMechanism {
    /// `groups`: the public G. `max_size`: the public K; larger groups are counted at K.
    /// `rows_per_unit`: how many entities one unit of privacy owns at most, here and in all other
    /// histograms that are released side by side with this one.
    /// The release satisfies `epsilon`-differential privacy for that unit.
    ///
    /// Errors: epsilon leads to a scale that cannot be sampled.
    pub fn new(
        method: Method,
        groups: u64,
        max_size: u64,
        rows_per_unit: u32,
        epsilon: f64,
    ) -> Result<CocoMechanism, ScaleError> {
        let sensitivity = u64::from(method.sensitivity()) * u64::from(rows_per_unit);
        let noise = DiscreteLaplace::new(Scale::new(sensitivity, epsilon)?);
        Ok(CocoMechanism { method, groups, max_size, noise })
    }

    /// The exact integers that noise is added to.
    ///
    /// Their number depends on the public G and K alone: H has K + 1, Hc has K (`Hc[K]` is G and
    /// needs no noise), Hg has G.
    pub fn measure<'a>(&self, truth: &'a Coco) -> Box<dyn Iterator<Item = i64> + 'a> {
        let sizes = 0..self.max_size as usize;
        match self.method {
            Method::H => Box::new(self.counts(truth).into_iter()),
            Method::Hc | Method::HcL2 => {
                let counts = self.counts(truth);
                let mut below = 0;
                Box::new(sizes.map(move |size| {
                    below += counts[size];
                    below
                }))
            }
            Method::Hg => Box::new(
                truth
                    .capped(self.max_size)
                    .flat_map(|run| repeat_n(run.size as i64, run.groups as usize)),
            ),
        }
    }

    /// H[0..=K].
    fn counts(&self, truth: &Coco) -> Vec<i64> {
        let mut counts = vec![0; self.max_size as usize + 1];
        for run in truth.capped(self.max_size) {
            counts[run.size as usize] += run.groups as i64;
        }
        counts
    }

    /// Measures, adds exact noise and reconstructs. `checkpoint` is called every few thousand
    /// draws; it may unwind.
    pub fn release<R: RandomWords + ?Sized>(
        &self,
        truth: &Coco,
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> Estimate {
        if self.groups == 0 {
            return Estimate::default(); // all is public: there is nothing to measure
        }
        self.reconstruct(self.noisy(truth, words, checkpoint))
    }

    /// The same, but for `H` the noisy numbers of groups of sizes 0 ..= K as they were measured:
    /// any integers, for consistency methods that project a whole hierarchy at once. For the other
    /// methods the estimate's numbers.
    pub fn release_counts<R: RandomWords + ?Sized>(
        &self,
        truth: &Coco,
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> Vec<i64> {
        match self.method {
            Method::H if self.groups > 0 => self.noisy(truth, words, checkpoint).collect(),
            _ => self.counts(&self.release(truth, words, checkpoint).histogram()),
        }
    }

    /// The noisy numbers of groups of size at most s for s = 0 ..= K as `Hc` and `Hc_l2` measure
    /// them: any integers, the last one the public G; for consistency methods that fit a whole
    /// hierarchy at once. For the other methods those of the estimate.
    pub fn release_cumulative<R: RandomWords + ?Sized>(
        &self,
        truth: &Coco,
        words: &mut R,
        checkpoint: &mut dyn FnMut(),
    ) -> Vec<i64> {
        match self.method {
            Method::Hc | Method::HcL2 if self.groups > 0 => {
                let noisy = self.noisy(truth, words, checkpoint);
                noisy.chain([self.groups as i64]).collect()
            }
            _ => {
                let counts = self.counts(&self.release(truth, words, checkpoint).histogram());
                let sums = counts.iter().scan(0, |below, count| {
                    *below += count;
                    Some(*below)
                });
                sums.collect()
            }
        }
    }

    /// The variance of what the measured numbers are off by.
    pub fn variance(&self) -> f64 {
        self.noise.variance()
    }

    /// The variance of one of [`CocoMechanism::release_counts`], before any smoothing.
    pub fn count_variance(&self) -> f64 {
        match self.method {
            Method::H | Method::Hg => self.noise.variance(),
            Method::Hc | Method::HcL2 => 2.0 * self.noise.variance(),
        }
    }

    /// What is measured, with its noise. The only place where the two meet.
    fn noisy<'a, R: RandomWords + ?Sized>(
        &'a self,
        truth: &'a Coco,
        words: &'a mut R,
        checkpoint: &'a mut dyn FnMut(),
    ) -> impl Iterator<Item = i64> + 'a {
        self.measure(truth).enumerate().map(move |(i, exact)| {
            if i % CHECKPOINT_EVERY == 0 {
                checkpoint();
            }
            exact.saturating_add(self.noise.sample(words))
        })
    }

    /// Post-processing: an estimate of the histogram from the noisy measurement.
    ///
    /// The estimate has G groups of sizes 0 .. K. Variances after Kuo et al., section 5.1, with the
    /// variance v of the noise that is used in place of 2 t^2.
    pub fn reconstruct(&self, noisy: impl Iterator<Item = i64>) -> Estimate {
        match self.method {
            Method::H => self.of_counts(&project_on_total(&noisy.collect::<Vec<_>>(), self.groups)),
            Method::Hc => self.of_cumulative(isotonic_l1(&noisy.collect::<Vec<_>>()).into_iter()),
            Method::HcL2 => {
                let fit = isotonic_l2(noisy).into_iter().flat_map(|block| {
                    repeat_n(to_i64(block.rounded_mean()), block.count() as usize)
                });
                self.of_cumulative(fit)
            }
            Method::Hg => self.of_sizes(noisy),
        }
    }

    /// A cell of n groups of one size is known to within v, so each of their sizes to within v / n.
    fn of_counts(&self, counts: &[u64]) -> Estimate {
        let variance = self.noise.variance();
        let runs =
            counts.iter().zip(0..).filter(|(groups, _)| **groups > 0).map(|(&groups, size)| {
                EstimatedRun { size, variance: variance / groups as f64, groups }
            });
        Estimate::new(runs.collect())
    }

    /// A cell is the difference of two cumulative counts: 2 v over its n groups; v alone for the
    /// first and the last cell, whose other end (0, or G) is known.
    fn of_cumulative(&self, fit: impl Iterator<Item = i64>) -> Estimate {
        let mut below = 0;
        let mut runs = Vec::new();
        let last = repeat_n(self.groups as i64, 1);
        for (size, value) in (0..).zip(fit.chain(last)) {
            let upto = value.clamp(0, self.groups as i64) as u64;
            let groups = upto.saturating_sub(below);
            if groups > 0 {
                let ends = if size == 0 || size == self.max_size { 1.0 } else { 2.0 };
                let variance = ends * self.noise.variance() / groups as f64;
                runs.push(EstimatedRun { size, variance, groups });
                below = upto;
            }
        }
        Estimate::new(runs)
    }

    /// The mean of a block of n sizes has the variance v / n.
    fn of_sizes(&self, noisy: impl Iterator<Item = i64>) -> Estimate {
        let runs = isotonic_l2(noisy).into_iter().map(|block| EstimatedRun {
            size: to_i64(block.rounded_mean()).clamp(0, self.max_size as i64) as u64,
            variance: self.noise.variance() / block.count() as f64,
            groups: block.count(),
        });
        Estimate::new(runs.collect())
    }
}

fn to_i64(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::super::histogram::tests::of_sizes;
    use super::super::{Run, emd};
    use super::*;
    use crate::noise::words_from_system;

    const METHODS: [Method; 4] = [Method::H, Method::Hc, Method::HcL2, Method::Hg];

    /// Every multiset of up to `groups` sizes in 0 ..= `largest`.
    fn multisets(groups: usize, largest: u64) -> Vec<Vec<u64>> {
        let mut all = vec![vec![]];
        let mut begin = 0;
        for _ in 0..groups {
            let end = all.len();
            for i in begin..end {
                for size in all[i].last().copied().unwrap_or(0)..=largest {
                    all.push([all[i].as_slice(), &[size]].concat());
                }
            }
            begin = end;
        }
        all
    }

    /// All neighbours of all small tables, with caps below, at and above the largest size: the
    /// distance of the measurements is at most the declared sensitivity, which some pair attains.
    #[test]
    fn neighbours_differ_by_at_most_the_declared_sensitivity() {
        for method in METHODS {
            let mut largest_distance = 0;
            for sizes in multisets(5, 5) {
                for max_size in [1, 3, 5, 7] {
                    let groups = sizes.len() as u64;
                    let mechanism = CocoMechanism::new(method, groups, max_size, 1, 1.0).unwrap();
                    let truth = of_sizes(&sizes);
                    let here: Vec<i64> = mechanism.measure(&truth).collect();
                    for i in 0..sizes.len() {
                        let mut more = sizes.clone();
                        more[i] += 1;
                        let truth = of_sizes(&more);
                        let there: Vec<i64> = mechanism.measure(&truth).collect();
                        assert_eq!(here.len(), there.len(), "the length is public");
                        let distance: u64 =
                            here.iter().zip(&there).map(|(a, b)| a.abs_diff(*b)).sum();
                        largest_distance = largest_distance.max(distance);
                    }
                }
            }
            assert_eq!(largest_distance, u64::from(method.sensitivity()), "{method:?}");
        }
    }

    /// A unit with k entities, in the same group or in several: k steps are at most k times as far.
    #[test]
    fn several_entities_of_one_unit_add_up() {
        for method in METHODS {
            let mut largest_distance = 0;
            for sizes in multisets(3, 3) {
                let mechanism = CocoMechanism::new(method, sizes.len() as u64, 6, 3, 1.0).unwrap();
                let here: Vec<i64> = mechanism.measure(&of_sizes(&sizes)).collect();
                for picks in multisets(3, sizes.len().saturating_sub(1) as u64) {
                    let mut more = sizes.clone();
                    for &pick in picks.iter().filter(|_| !sizes.is_empty()) {
                        more[pick as usize] += 1;
                    }
                    let distance: u64 = mechanism
                        .measure(&of_sizes(&more))
                        .zip(&here)
                        .map(|(there, here)| there.abs_diff(*here))
                        .sum();
                    largest_distance = largest_distance.max(distance);
                }
            }
            assert_eq!(largest_distance, 3 * u64::from(method.sensitivity()), "{method:?}");
        }
    }

    #[test]
    fn without_noise_every_method_returns_the_capped_truth() {
        for method in METHODS {
            for sizes in multisets(4, 4) {
                for max_size in [2, 4, 9] {
                    let truth = of_sizes(&sizes);
                    let mechanism =
                        CocoMechanism::new(method, truth.groups(), max_size, 1, 1.0).unwrap();
                    let measured: Vec<i64> = mechanism.measure(&truth).collect();
                    let estimate = mechanism.reconstruct(measured.into_iter());
                    let capped: Coco = truth.capped(max_size).collect();
                    assert_eq!(estimate.histogram(), capped, "{method:?}");
                }
            }
        }
    }

    #[test]
    fn any_noise_leaves_g_groups_within_the_size_limits() {
        let mut words = words_from_system().unwrap();
        let truth = of_sizes(&[0, 0, 1, 3, 3, 8, 40]);
        for method in METHODS {
            for epsilon in [0.001, 0.1, 1.0, 1e6] {
                for _ in 0..50 {
                    let mechanism = CocoMechanism::new(method, 7, 30, 1, epsilon).unwrap();
                    let estimate = mechanism.release(&truth, &mut words, &mut || {});
                    let histogram = estimate.histogram();
                    assert_eq!(histogram.groups(), 7);
                    assert!(histogram.runs().iter().all(|run| run.size <= 30));
                    assert!(estimate.runs().iter().all(|run| run.variance >= 0.0));
                    if epsilon == 1e6 {
                        assert_eq!(histogram, of_sizes(&[0, 0, 1, 3, 3, 8, 30]));
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_noise_cannot_break_a_reconstruction() {
        for method in METHODS {
            for value in [i64::MIN, i64::MAX] {
                let mechanism = CocoMechanism::new(method, 5, 5, 1, 1.0).unwrap();
                let alternating = (0..5).map(|i| if i % 2 == 0 { value } else { !value });
                assert_eq!(mechanism.reconstruct(alternating).histogram().groups(), 5);
            }
        }
    }

    #[test]
    fn the_checkpoint_is_called_throughout() {
        let truth = [Run { size: 2, groups: 100_000 }].into_iter().collect();
        let mechanism = CocoMechanism::new(Method::Hg, 100_000, 10, 1, 1.0).unwrap();
        let mut calls = 0;
        mechanism.release(&truth, &mut words_from_system().unwrap(), &mut || calls += 1);
        assert_eq!(calls, 100_000usize.div_ceil(CHECKPOINT_EVERY));
    }

    /// Hc's error stays near its noise, Hg is good at large sizes, and both beat H by far: the
    /// paper's findings, as a guard against an estimator that is merely valid.
    #[test]
    fn estimators_are_as_accurate_as_the_paper_says() {
        let mut words = words_from_system().unwrap();
        let truth: Coco = (1..=12u64)
            .map(|size| Run { size, groups: 40_000 >> size })
            .chain((0..20).map(|i| Run { size: 100 + 45 * i, groups: 1 }))
            .collect();
        let mut mean_emd = |method| -> f64 {
            let mechanism = CocoMechanism::new(method, truth.groups(), 1000, 1, 1.0).unwrap();
            let total: u64 = (0..20)
                .map(|_| mechanism.release(&truth, &mut words, &mut || {}).histogram())
                .map(|estimate| emd(&estimate, &truth).unwrap())
                .sum();
            total as f64 / 20.0
        };
        let (naive, hc, hc_l2, hg) = (
            mean_emd(Method::H),
            mean_emd(Method::Hc),
            mean_emd(Method::HcL2),
            mean_emd(Method::Hg),
        );
        assert!(hc < 600.0 && hc_l2 < 800.0 && hg < 600.0, "{hc} {hc_l2} {hg}");
        assert!(naive > 10.0 * hc, "{naive} {hc}");
    }
}
