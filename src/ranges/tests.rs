//! What every mechanism promises, by way of its public functions alone.

use super::cascade::{Cascade, Tree};
use super::optimal::{DenseStrategy, SineStrategy, Workload, gram_of_ranges};
use super::prefix::PrefixSums;
use super::*;
use crate::noise::words_from_system;
use nalgebra::DMatrix;
use std::iter::once;
use std::ops::Range;

trait Mechanism {
    fn measured(&self, counts: &[u64]) -> Vec<i64>;
    fn laws(&self) -> Vec<&DiscreteGaussian>;
    fn bin_estimates(&self, noisy: &[i64]) -> Vec<f64>;
    fn variance_of(&self, range: Range<usize>) -> f64;
}

macro_rules! mechanism {
    ($kind:ty, $self:ident) => {
        impl Mechanism for $kind {
            fn measured(&$self, counts: &[u64]) -> Vec<i64> {
                $self.measure(counts).unwrap()
            }
            fn laws(&$self) -> Vec<&DiscreteGaussian> {
                $self.noise().collect()
            }
            fn bin_estimates(&$self, noisy: &[i64]) -> Vec<f64> {
                $self.estimates(noisy)
            }
            fn variance_of(&$self, range: Range<usize>) -> f64 {
                $self.variance(range)
            }
        }
    };
}

mechanism!(Cascade, self);
mechanism!(PrefixSums, self);
mechanism!(SineStrategy, self);
mechanism!(DenseStrategy, self);

fn all_ranges(bins: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bins).flat_map(move |lo| (lo + 1..=bins).map(move |hi| lo..hi))
}

fn mechanisms(bins: usize, rho: f64) -> Vec<(&'static str, Box<dyn Mechanism>)> {
    let sine = |workload| Box::new(SineStrategy::new(workload, bins, rho).unwrap());
    let cascade =
        |fan_out| Box::new(Cascade::new(Tree::balanced(bins, fan_out).unwrap(), rho).unwrap());
    // any workload: short ranges, and one half of the bins
    let some = all_ranges(bins).filter(|range| range.len() <= 3).chain(once(0..bins.div_ceil(2)));
    let gram = gram_of_ranges(bins, some);
    vec![
        ("cascade 2", cascade(2)),
        ("cascade 5", cascade(5)),
        ("prefix", Box::new(PrefixSums::new(bins, rho).unwrap())),
        ("all ranges", sine(Workload::AllRanges)),
        ("prefixes", sine(Workload::Prefixes)),
        ("dense", Box::new(DenseStrategy::new(bins, &gram, rho).unwrap())),
    ]
}

const SIZES: [usize; 6] = [1, 2, 3, 5, 64, 65];
const RHO: f64 = 0.02435;

fn some_counts(bins: usize) -> Vec<u64> {
    (0..bins as u64).map(|bin| 1 + bin * bin % 7 + 1_000 * u64::from(bin == 2)).collect()
}

/// Every row that is added or removed, among rows everywhere, costs at most rho, in exact integers
/// up to the last division; some row costs it to 12 digits.
#[test]
fn no_neighbour_costs_more_than_rho_and_one_costs_it() {
    for bins in SIZES {
        for (name, mechanism) in mechanisms(bins, RHO) {
            let counts = some_counts(bins);
            let measured = mechanism.measured(&counts);
            let laws = mechanism.laws();
            assert_eq!(measured.len(), laws.len());
            let cost = |bin: usize, step: i64| -> f64 {
                let mut neighbour = counts.clone();
                neighbour[bin] = neighbour[bin].checked_add_signed(step).unwrap();
                let moved = mechanism.measured(&neighbour);
                let terms = measured
                    .iter()
                    .zip(&moved)
                    .zip(&laws)
                    .map(|((a, b), law)| ((a - b) as f64 / law.sigma()).powi(2) / 2.0);
                terms.sum()
            };
            let costs = (0..bins).flat_map(|bin| [cost(bin, 1), cost(bin, -1)]);
            let largest = costs.fold(0.0, f64::max);
            assert!(
                (RHO * (1.0 - 1e-12)..=RHO * (1.0 + 1e-14)).contains(&largest),
                "{name} {bins}: {largest}"
            );
        }
    }
}

#[test]
fn the_declared_sensitivity_is_the_largest_distance() {
    for bins in SIZES {
        let distance = |measure: &dyn Fn(&[u64]) -> Vec<i64>| -> u64 {
            let zero = vec![0; bins];
            let base = measure(&zero);
            let of = |bin: usize| {
                let mut counts = zero.clone();
                counts[bin] = 1;
                let moved = measure(&counts);
                base.iter().zip(moved).map(|(a, b)| a.abs_diff(b).pow(2)).sum::<u64>()
            };
            (0..bins).map(of).max().unwrap()
        };
        let prefix = PrefixSums::new(bins, RHO).unwrap();
        assert_eq!(distance(&|x| prefix.measured(x)), prefix.sensitivity_squared());
        for workload in [Workload::AllRanges, Workload::Prefixes] {
            let sine = SineStrategy::new(workload, bins, RHO).unwrap();
            assert_eq!(distance(&|x| sine.measured(x)), sine.sensitivity_squared());
        }
        let dense = DenseStrategy::new(bins, &gram_of_ranges(bins, all_ranges(bins)), RHO).unwrap();
        assert_eq!(distance(&|x| dense.measured(x)), dense.sensitivity_squared());
    }
}

#[test]
fn without_noise_the_estimates_are_the_counts() {
    for bins in SIZES.into_iter().chain([1000]) {
        for (name, mechanism) in mechanisms(bins, RHO) {
            let counts = some_counts(bins);
            let estimates = mechanism.bin_estimates(&mechanism.measured(&counts));
            for (estimate, &count) in estimates.iter().zip(&counts) {
                assert!(
                    (estimate - count as f64).abs() < 1e-6,
                    "{name} {bins}: {estimate} {count}"
                );
            }
        }
    }
}

/// The estimates' map is found by giving it unit vectors, the covariance by the noise's variances.
#[test]
fn variances_are_those_of_the_estimates_map() {
    for bins in SIZES {
        for (name, mechanism) in mechanisms(bins, RHO) {
            let columns = (0..bins).map(|i| {
                let mut unit = vec![0; bins];
                // as large as the noise, for the roundoff to be as small
                unit[i] = 1 << 40;
                let column = mechanism.bin_estimates(&unit);
                DMatrix::from_iterator(bins, 1, column.iter().map(|x| x / (1u64 << 40) as f64))
            });
            let laws = mechanism.laws();
            let deviations = laws.iter().map(|law| law.variance().sqrt());
            let maps: Vec<DMatrix<f64>> = columns.zip(deviations).map(|(c, d)| c * d).collect();
            for range in all_ranges(bins).step_by(1 + bins / 9) {
                let rows = range.len();
                let dense: f64 =
                    maps.iter().map(|map| map.rows(range.start, rows).sum().powi(2)).sum();
                let stated = mechanism.variance_of(range.clone());
                assert!((stated - dense).abs() < 1e-9 * dense, "{name} {range:?} {stated} {dense}");
            }
            assert_eq!(mechanism.variance_of(0..bins + 7), mechanism.variance_of(0..bins));
            assert_eq!(mechanism.variance_of(bins..bins + 1), 0.0);
            #[expect(clippy::reversed_empty_ranges)]
            let backwards = 1..0;
            assert_eq!(mechanism.variance_of(backwards), 0.0);
        }
    }
}

/// 3,000 releases: of 6 mechanisms and 10 ranges each, no mean of the errors is 7 of its standard
/// deviations off (probability below 1e-9), no mean of their squares is 7 sqrt(2 / 3000) off
/// (below 1e-7 by the chi-squared distribution's tail exp(-1500 (d - ln(1 + d))), d = 0.18).
#[test]
fn errors_are_as_stated() {
    let (bins, releases) = (64, 3_000);
    let ranges: [Range<usize>; 10] =
        [0..64, 0..1, 63..64, 31..33, 0..32, 0..33, 5..60, 17..18, 1..63, 40..57];
    let mut words = words_from_system().unwrap();
    let counts = some_counts(bins);
    for (name, mechanism) in mechanisms(bins, RHO) {
        let measured = mechanism.measured(&counts);
        let laws = mechanism.laws();
        let mut moments = [(0.0, 0.0); 10];
        for _ in 0..releases {
            let mut noisy = measured.clone();
            add_noise(&mut noisy, laws.iter().copied(), &mut words, &mut || {});
            let estimates = mechanism.bin_estimates(&noisy);
            for (range, (sum, squares)) in ranges.iter().zip(&mut moments) {
                let truth: u64 = counts[range.clone()].iter().sum();
                let error = estimates[range.clone()].iter().sum::<f64>() - truth as f64;
                let error = error / mechanism.variance_of(range.clone()).sqrt();
                *sum += error;
                *squares += error * error;
            }
        }
        let releases = f64::from(releases);
        for (range, (sum, squares)) in ranges.iter().zip(moments) {
            assert!(sum.abs() < 7.0 * releases.sqrt(), "{name} {range:?}: sum {sum}");
            let off = squares / releases - 1.0;
            assert!(off.abs() < 7.0 * (2.0 / releases).sqrt(), "{name} {range:?}: {off}");
        }
    }
}

#[test]
fn what_cannot_be_set_up_is_refused() {
    let limit = MAX_CONVOLUTION_BINS;
    for bins in [0, limit + 1] {
        let error = StrategyError::Bins { limit };
        assert_eq!(PrefixSums::new(bins, RHO).unwrap_err(), error);
        let sine = SineStrategy::new(Workload::AllRanges, bins, RHO);
        assert_eq!(sine.unwrap_err(), error);
    }
    for rho in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-20] {
        assert!(matches!(PrefixSums::new(3, rho), Err(StrategyError::Noise(_))), "{rho}");
        let sine = SineStrategy::new(Workload::Prefixes, 3, rho);
        assert!(matches!(sine, Err(StrategyError::Noise(_))), "{rho}");
        assert!(DenseStrategy::new(1, &[1.0], rho).is_err(), "{rho}");
        assert!(Cascade::new(Tree::balanced(3, 2).unwrap(), rho).is_err(), "{rho}");
    }
    let prefix = PrefixSums::new(2, RHO).unwrap();
    let limit = row_limit(prefix.sensitivity_squared());
    assert!(prefix.measure(&[limit, 0]).is_ok());
    assert_eq!(prefix.measure(&[limit, 1]), Err(TooManyRows { limit }));
}
