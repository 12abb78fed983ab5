//! Quantiles of a histogram, read off a release, each with an interval.
//!
//! The q-quantile is the first bin b for which the rows of the bins up to b, less the share q of all
//! rows, are not negative: D(b) = (1 - q) P(b) - q S(b) >= 0, with P(b) the rows in the bins up to b
//! and S(b) those after it. The truth's D does not decrease; a release's does, here and there.
//!
//! # The estimate
//!
//! It is the first bin for which the non-decreasing function nearest to the released D, by least
//! squares, is not negative: the bin before which the sum of D is the least, as isotonic regression
//! is cut at a level. The first bin at which D itself is not negative would be one that noise has
//! lifted.
//!
//! # The interval
//!
//! From the first bin at which D is not clearly negative to the last one before which it is not
//! clearly positive: by more than [`ONE_SIDE`] of its own standard deviations and half a row. Let b
//! be the true quantile. The interval begins after b only if the released D(b), an unbiased estimate
//! of a number that is not negative, is clearly negative; it ends before b only if D before b, where
//! the truth is negative, is clearly positive. Either has a probability of 5 % at most, whatever the
//! correlations of the noise are, so the interval holds b with 90 % or more.

use super::mechanism::Split;
use super::release::RangeRelease;
use crate::work::Paced;

/// The 95th percentile of the normal distribution, and more than that of Laplace's.
const ONE_SIDE: f64 = 1.645;

/// What lies between two whole numbers of rows: where noise is narrow, it jumps by such steps.
const HALF_A_ROW: f64 = 0.5;

/// The positions of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantile {
    pub value: usize,
    /// The true quantile lies within `lower` ..= `upper` with a probability of 90 %.
    pub lower: usize,
    pub upper: usize,
}

/// D at one bin.
struct Difference {
    estimate: f64,
    variance: f64,
}

impl Difference {
    /// Whether it is less than 0 by more than noise explains.
    fn is_negative(&self, deviations: f64) -> bool {
        let beyond = -self.estimate - HALF_A_ROW;
        beyond > 0.0 && beyond * beyond > deviations * deviations * self.variance
    }

    fn is_positive(&self, deviations: f64) -> bool {
        let negated = Difference { estimate: -self.estimate, variance: self.variance };
        negated.is_negative(deviations)
    }
}

/// What all quantiles of a release are made of, for each bin: of the bins up to it and of those
/// after it.
struct Sides {
    up_to: Vec<f64>,
    after: Vec<f64>,
    noise: Vec<Split>,
}

impl Sides {
    fn bins(&self) -> usize {
        self.up_to.len()
    }

    fn difference(&self, bin: usize, quantile: f64) -> Difference {
        let (p, q) = (1.0 - quantile, quantile);
        let Split { before, after, covariance } = self.noise[bin];
        Difference {
            estimate: p * self.up_to[bin] - q * self.after[bin],
            variance: p * p * before + q * q * after - 2.0 * p * q * covariance,
        }
    }

    fn estimate(&self, quantile: f64) -> usize {
        let (mut value, mut least, mut sum) = (0, 0.0, 0.0);
        for bin in (0..self.bins() - 1).paced() {
            sum += self.difference(bin, quantile).estimate;
            if sum < least {
                (value, least) = (bin + 1, sum);
            }
        }
        value
    }

    fn quantile(&self, quantile: f64, deviations: f64) -> Quantile {
        let value = self.estimate(quantile);
        let last = self.bins() - 1;
        let is_negative = |bin: usize| self.difference(bin, quantile).is_negative(deviations);
        let is_positive = |bin: usize| self.difference(bin, quantile).is_positive(deviations);
        let lower = (0..self.bins()).paced().find(|bin| !is_negative(*bin)).unwrap_or(last);
        // the bins before which D is known; before the first one there is none
        let upper = (0..last).rev().paced().find(|bin| !is_positive(*bin)).map_or(0, |bin| bin + 1);
        Quantile { value, lower: lower.min(value), upper: upper.max(value) }
    }
}

impl RangeRelease {
    /// Of a histogram whose counts are not negative; each from 0 to 1. Non-decreasing in the
    /// quantile. None if the release is a forged one, with noise that cannot be sampled.
    pub fn quantiles(&self, quantiles: &[f64]) -> Option<Vec<Quantile>> {
        self.quantiles_within(quantiles, ONE_SIDE)
    }

    fn quantiles_within(&self, quantiles: &[f64], deviations: f64) -> Option<Vec<Quantile>> {
        let bins = self.bins();
        // of the bins before each, which for the first one are none
        let noise = self.splits()?.split_off(1);
        let sums = |range: fn(usize, usize) -> std::ops::Range<usize>| -> Vec<f64> {
            (1..=bins).paced().map(|end| self.sum(range(end, bins))).collect()
        };
        let sides =
            Sides { up_to: sums(|end, _| 0..end), after: sums(|end, bins| end..bins), noise };
        let mut found: Vec<Quantile> =
            quantiles.iter().map(|quantile| sides.quantile(*quantile, deviations)).collect();
        // where noise makes the total negative, D grows with the quantile
        let mut order: Vec<usize> = (0..quantiles.len()).collect();
        order.sort_by(|a, b| quantiles[*a].total_cmp(&quantiles[*b]));
        let mut least = 0;
        for i in order {
            least = least.max(found[i].value);
            let Quantile { value, upper, .. } = &mut found[i];
            (*value, *upper) = (least, least.max(*upper));
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Receipt;
    use crate::noise::words_from_system;
    use crate::ranges::asked;
    use crate::ranges::{RangePlan, RangeRelease};

    fn released(counts: &[u64], epsilon: f64, delta: f64, method: &str) -> RangeRelease {
        let asked = asked::ranges(counts.len() as i64, epsilon, delta, method).unwrap();
        let receipt = Receipt::uncharged(RangePlan::new(asked).unwrap());
        receipt.release(counts, &mut words_from_system().unwrap())
    }

    /// The first bin with at least so many of the rows up to it.
    fn truth(counts: &[u64], quantile: f64) -> usize {
        let total: u64 = counts.iter().sum();
        let mut sums = counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        sums.position(|sum| sum as f64 >= quantile * total as f64).unwrap()
    }

    const QUANTILES: [f64; 7] = [0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 1.0];

    #[test]
    fn without_noise_they_are_the_true_ones() {
        for counts in [
            vec![5],
            vec![0, 0, 3, 0, 1, 0],
            vec![1, 1, 1, 1],
            (0..300).map(|bin| bin * bin % 7).collect(),
        ] {
            for method in ["flat", "tree:3", "tree_consistent", "wavelet"] {
                let found = released(&counts, 1e5, 0.0, method).quantiles(&QUANTILES).unwrap();
                // what lies between two rows has half a row's room
                let rows: u64 = counts.iter().sum();
                for (quantile, found) in QUANTILES.into_iter().zip(found) {
                    // on the boundary of two bins noise of 1e-5 rows would decide
                    if (quantile * rows as f64).fract() > 1e-3 {
                        assert_eq!(found.value, truth(&counts, quantile), "{method} {quantile}");
                    }
                    assert!((found.lower..=found.upper).contains(&truth(&counts, quantile)));
                }
            }
        }
    }

    /// However much noise there is: in order, and the interval holds the estimate.
    #[test]
    fn estimates_do_not_decrease() {
        let quantiles: Vec<f64> = (0..=40).rev().map(|i| f64::from(i) / 40.0).collect();
        for rows in [0, 1, 100] {
            let counts: Vec<u64> = (0..200).map(|bin| bin % 3 * rows).collect();
            for (method, delta) in [
                ("flat", 0.0),
                ("tree", 0.0),
                ("cascade", 1e-6),
                ("prefix", 1e-6),
                ("optimal", 1e-6),
            ] {
                for _ in 0..50 {
                    let release = released(&counts, 0.05, delta, method);
                    let found = release.quantiles(&quantiles).unwrap();
                    assert!(found.is_sorted_by(|a, b| a.value >= b.value), "{method}");
                    let holds =
                        |found: &Quantile| (found.lower..=found.upper).contains(&found.value);
                    assert!(found.iter().all(holds) && found.iter().all(|found| found.upper < 200));
                }
            }
        }
    }

    /// 1,200 releases by each method of fine and of coarse histograms, with noise of a row or so and
    /// of many: each interval holds its quantile in 90 % or more; fewer than 1,020 (85 %) have a
    /// probability below 2e-8 (5.77 standard deviations) by the binomial distribution. Intervals of a
    /// quarter of the width do not, where noise is wide beside a bin.
    #[test]
    fn intervals_hold_the_truth() {
        let releases = 1_200;
        let quantiles = [0.05, 0.25, 0.5, 0.9];
        let fine: Vec<u64> = (0..256).map(|bin| 3 + bin * 7 % 5).collect();
        let coarse: Vec<u64> = (0..10).map(|bin| 30 + bin * bin * 7 % 50).collect();
        let mut too_narrow = 0;
        for (counts, epsilon) in [(&fine, 0.3), (&fine, 2.0), (&coarse, 3.0)] {
            for (method, delta) in [
                ("flat", 0.0),
                ("tree:4", 0.0),
                ("auto:prefix", 0.0),
                ("cascade", 1e-6),
                ("optimal:prefix", 1e-6),
            ] {
                let (mut held, mut held_by_narrow) = ([0; 4], [0; 4]);
                for _ in 0..releases {
                    let release = released(counts, epsilon, delta, method);
                    let count = |deviations: f64, held: &mut [i32; 4]| {
                        let found = release.quantiles_within(&quantiles, deviations).unwrap();
                        for (i, found) in found.iter().enumerate() {
                            let truth = truth(counts, quantiles[i]);
                            held[i] += i32::from((found.lower..=found.upper).contains(&truth));
                        }
                    };
                    count(ONE_SIDE, &mut held);
                    count(ONE_SIDE / 4.0, &mut held_by_narrow);
                }
                let context = format!("{method} {epsilon} {delta}: {held:?}");
                assert!(held.iter().all(|held| *held >= 1_020), "{context}");
                too_narrow += held_by_narrow.iter().filter(|held| **held < 1_020).count();
            }
        }
        assert!(too_narrow > 12, "{too_narrow}");
    }

    /// What many quantiles of many bins take is passes over them, one or two for each.
    #[test]
    fn many_quantiles_of_many_bins_poll() {
        let counts = vec![1; 1 << 18];
        for method in ["flat", "prefix"] {
            let release = released(&counts, 1.0, 1e-6, method);
            let mut polls = 0;
            let quantiles = vec![0.5; 20];
            crate::work::watched(&mut || polls += 1, || release.quantiles(&quantiles));
            assert!(polls > 50, "{method}: {polls}");
        }
    }
}
