//! Variances of the answers of a strategy by convolutions, from the sequence of the estimates'
//! covariance.
//!
//! In the units of [`ConvolvedCovariance`], with u = 1 / D, bins i and j of the estimates have the
//! covariance u_i u_j (k(i - j) + s k(i + j + c)).

use crate::ranges::convolution::{cyclic, from_spectrum, spectrum};
use crate::ranges::mechanism::{Split, running_sums};
use crate::work::{done, poll};
use std::ops::Range;

/// Up to this length sums of products are computed as such.
const SHORT: usize = 64;
/// Up to this number of bins every range is looked at for the largest variance.
const ALL_LOOKED_AT: usize = 1024;

/// The covariance of the estimates of bins i and j: `unit` times k(|i - j|) + s k(i + j + c), over
/// the `factors` of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConvolvedCovariance<'a> {
    pub unit: f64,
    pub factors: &'a [i64],
    /// k.
    pub sequence: &'a [f64],
    /// s.
    pub sign: f64,
    /// c.
    pub offset: usize,
}

impl ConvolvedCovariance<'_> {
    /// Of the sum over a range of bins.
    pub(super) fn variance(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        done(range.len() as u64);
        let (toeplitz, hankel) = products(&self.inverse_factors(range.clone()));
        let dot = |products: &[f64], k: &[f64]| products.iter().zip(k).map(|(p, k)| p * k).sum();
        let toeplitz: f64 = dot(&toeplitz, self.sequence);
        let hankel: f64 = dot(&hankel, self.beyond(2 * range.start));
        self.unit * (toeplitz + self.sign * hankel)
    }

    /// The variances of the sums of the first 0, 1, ... n bins.
    ///
    /// One more bin i adds u_i^2 (k(0) + s k(2 i + c)) and, twice, u_i times the sum over j < i of
    /// u_j (k(i - j) + s k(i + j + c)).
    pub(super) fn prefix_variances(&self) -> Vec<f64> {
        let bins = self.factors.len();
        let k = self.sequence;
        let u = self.inverse_factors(0..bins);
        let later = [&[0.0], &k[1..bins]].concat();
        let mut sums = cyclic(&u, &later, 2 * bins, 0, bins);
        self.add_hankel(&u, 0, &mut sums);
        let mut variances = vec![0.0];
        let mut variance = 0.0;
        for (i, (u, sum)) in u.iter().zip(sums).enumerate() {
            let own = k[0] + self.sign * self.beyond(2 * i)[0];
            variance += u * (u * own + 2.0 * sum);
            variances.push(self.unit * variance);
        }
        variances
    }

    fn inverse_factors(&self, bins: Range<usize>) -> Vec<f64> {
        self.factors[bins].iter().map(|&factor| 1.0 / factor as f64).collect()
    }

    /// k(m + c), k(m + c + 1), ...
    fn beyond(&self, m: usize) -> &[f64] {
        &self.sequence[m + self.offset..]
    }

    /// Adds to the sum of every bin i of a block that begins with bin `first` the terms
    /// s u_j k(i + j + c) of the bins j < i of the block.
    ///
    /// Those with j in the block's first half and i in its second are a convolution.
    fn add_hankel(&self, u: &[f64], first: usize, sums: &mut [f64]) {
        let k = self.beyond(2 * first);
        if u.len() <= SHORT {
            for (i, sum) in sums.iter_mut().enumerate() {
                let terms = u[..i].iter().zip(&k[i..]).map(|(u, k)| u * k);
                *sum += self.sign * terms.sum::<f64>();
            }
            return;
        }
        poll();
        let middle = u.len() / 2;
        // k(i + j + c) from i = middle, j = 0 to the last i and j = middle - 1
        let k = &k[middle..middle + u.len() - 1];
        let reversed: Vec<f64> = u[..middle].iter().rev().copied().collect();
        let terms = cyclic(k, &reversed, k.len(), middle - 1, u.len() - middle);
        for (sum, term) in sums[middle..].iter_mut().zip(terms) {
            *sum += self.sign * term;
        }
        self.add_hankel(&u[..middle], first, &mut sums[..middle]);
        self.add_hankel(&u[middle..], first + middle, &mut sums[middle..]);
    }
}

/// The mean variance over all n (n + 1) / 2 ranges, from [`ConvolvedCovariance::prefix_variances`].
/// `covariances`: of the estimates of bins with the sum of the bins times weights.
///
/// A range is a difference of two of the n + 1 prefixes P, the empty one among them: the sum of
/// Var(P_i - P_j) over pairs is (n + 1) sum Var(P_i) - Var(sum P_i).
pub(in crate::ranges::methods) fn mean_of_differences(
    prefixes: &[f64],
    covariances: impl Fn(Vec<f64>) -> Vec<f64>,
) -> f64 {
    let bins = prefixes.len() - 1;
    let counts: Vec<f64> = (1..=bins).rev().map(|count| count as f64).collect();
    let of_sum: f64 = covariances(counts.clone()).iter().zip(&counts).map(|(c, w)| c * w).sum();
    let total = (bins + 1) as f64 * prefixes.iter().sum::<f64>() - of_sum;
    total / (bins as f64 * (bins + 1) as f64 / 2.0)
}

/// The largest variance of a range, or beyond [`ALL_LOOKED_AT`] bins one that no range with either
/// end in common exceeds. `covariances`: as for [`mean_of_differences`].
pub(in crate::ranges::methods) fn worst_range(
    prefixes: &[f64],
    covariances: impl Fn(Vec<f64>) -> Vec<f64>,
) -> f64 {
    let bins = prefixes.len() - 1;
    // the worst range with one given end: its other end, and its variance
    let partner = |end: usize| {
        poll();
        let weights: Vec<f64> = (0..bins).map(|i| if i < end { 1.0 } else { 0.0 }).collect();
        let mut covariance = 0.0;
        let of_bins = covariances(weights);
        let of_prefixes = std::iter::once(0.0).chain(of_bins.into_iter().map(|c| {
            covariance += c;
            covariance
        }));
        let variances = prefixes.iter().zip(of_prefixes);
        let variances = variances.map(|(other, c)| prefixes[end] + other - 2.0 * c);
        variances.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b)).expect("a prefix")
    };
    if bins <= ALL_LOOKED_AT {
        return (0..=bins).map(|end| partner(end).1).fold(0.0, f64::max);
    }
    let search = |start| {
        let (mut end, mut variance) = partner(start);
        loop {
            let (other, larger) = partner(end);
            if larger <= variance {
                return variance;
            }
            (end, variance) = (other, larger);
        }
    };
    [0, bins / 4, bins / 2, bins].map(search).into_iter().fold(0.0, f64::max)
}

/// By the covariances of all sums with the total. `covariances`: as for [`mean_of_differences`].
pub(in crate::ranges::methods) fn splits(
    prefixes: &[f64],
    covariances: impl Fn(Vec<f64>) -> Vec<f64>,
) -> Vec<Split> {
    let bins = prefixes.len() - 1;
    let with_total = running_sums(covariances(vec![1.0; bins]).into_iter());
    let total = prefixes[bins];
    let split = |(&before, &with_total): (&f64, &f64)| Split {
        before,
        after: total + before - 2.0 * with_total,
        covariance: with_total - before,
    };
    prefixes.iter().zip(&with_total).map(split).collect()
}

/// The sums of u_i u_j over the pairs with |i - j| = 0, 1, ..., and over those with i + j = 0,
/// 1, ...
fn products(u: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n = u.len();
    let (mut differences, mut sums);
    if n <= SHORT {
        (differences, sums) = (vec![0.0; n], vec![0.0; 2 * n - 1]);
        for i in 0..n {
            for j in 0..n {
                differences[i.abs_diff(j)] += u[i] * u[j];
                sums[i + j] += u[i] * u[j];
            }
        }
    } else {
        let size = (2 * n - 1).next_power_of_two();
        let transform = spectrum(u, size);
        differences =
            from_spectrum(transform.iter().map(|value| value.norm_sqr().into()).collect(), size);
        differences.truncate(n);
        differences[1..].iter_mut().for_each(|value| *value *= 2.0);
        sums = from_spectrum(transform.iter().map(|value| value * value).collect(), size);
        sums.truncate(2 * n - 1);
    }
    (differences, sums)
}
