//! Estimates that see the shape, against dense linear algebra on small histograms, and in releases.

use super::estimate::AdaptiveEstimate;
use crate::charge::Receipt;
use crate::ranges::combined::CombinedMechanism;
use crate::ranges::properties::cases;
use crate::ranges::{RangeRelease, ReleaseChoice, ReleasePlan, ReleaseRequest};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Binomial, Distribution, StandardNormal};

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-3 * scale
}

/// The posterior's mean and covariance from those of all bins, entry by entry.
#[test]
fn sums_and_variances_are_those_of_the_posterior() {
    for case in [1, 2, 3, 5, 8, 13].into_iter().flat_map(cases) {
        let (name, mechanism) = (case.name, CombinedMechanism::from(case.mechanism));
        let bins = mechanism.bins();
        let unbiased: Vec<f64> =
            (0..bins).map(|bin| (bin * bin % 11) as f64 * 20.0 - 30.0).collect();
        let widths: Vec<f64> = (0..bins).map(|bin| 1.0 + (bin % 3) as f64).collect();
        let Some(estimate) = AdaptiveEstimate::new(&mechanism, &unbiased, &widths) else {
            assert!(!mechanism.adds_up(), "{name}");
            continue;
        };
        let scale = mechanism.variance(0..bins).sqrt();
        let (sums, variances) = estimate.dense(&unbiased);
        for start in 0..bins {
            for end in start..=bins {
                let wanted = sums[end] - sums[start];
                let sum = estimate.sum(start..end);
                assert!(close(sum, wanted, scale), "{name}, {start}..{end}: {sum} {wanted}");
                let wanted: f64 =
                    variances[start..end].iter().flat_map(|row| &row[start..end]).sum();
                let variance = estimate.variance(start..end);
                let is_near = close(variance, wanted, scale * scale);
                assert!(is_near, "{name}, {start}..{end}: {variance} {wanted}");
                let most = mechanism.variance(start..end);
                assert!((0.0..=most).contains(&variance), "{name}: {variance} of {most}");
            }
        }
    }
}

fn released(counts: &[u64], epsilon: f64, delta: f64, seed: u64) -> RangeRelease {
    released_by("auto", counts, epsilon, delta, seed)
}

fn released_by(method: &str, counts: &[u64], epsilon: f64, delta: f64, seed: u64) -> RangeRelease {
    let choice = ReleaseChoice::parse(method).unwrap();
    let (bins, widths) = (counts.len() as i64, None);
    let request =
        ReleaseRequest { bins, widths, epsilon, delta, rows_per_unit: 1, negative: false, choice };
    let mut words = ChaCha20Rng::seed_from_u64(seed);
    Receipt::uncharged(ReleasePlan::new(request).unwrap()).release(counts, &mut words)
}

/// Over random ranges of 50 releases: the root mean square error, over that of the unbiased
/// estimates, and the part of the intervals of 90 % that hold the truth.
fn compared(counts: &[u64], epsilon: f64, delta: f64) -> (f64, f64) {
    let bins = counts.len();
    let mut random = ChaCha20Rng::seed_from_u64(1);
    let (mut own, mut unbiased, mut inside, mut asked) = (0.0, 0.0, 0, 0);
    for seed in 0..50 {
        let release = released(counts, epsilon, delta, seed);
        let estimate = release.adaptive(&vec![1.0; bins]).unwrap();
        for _ in 0..20 {
            let ends = [random.random_range(0..=bins), random.random_range(0..=bins)];
            let range = ends[0].min(ends[1])..ends[0].max(ends[1]);
            let truth = counts[range.clone()].iter().sum::<u64>() as f64;
            let error = estimate.sum(range.clone()) - truth;
            own += error * error;
            unbiased += (release.sum(range.clone()) - truth).powi(2);
            inside += u32::from(error.abs() <= 1.645 * estimate.variance(range).sqrt());
            asked += 1;
        }
    }
    ((own / unbiased).sqrt(), f64::from(inside) / f64::from(asked))
}

#[test]
fn what_is_smooth_or_sparse_is_known_better_and_what_has_no_shape_not_worse() {
    let smooth: Vec<u64> = (0..256u64).map(|bin| 40 - bin.abs_diff(100) / 5).collect();
    let sparse: Vec<u64> = (0..256).map(|bin| if bin % 40 == 7 { 900 } else { 0 }).collect();
    let mut random = ChaCha20Rng::seed_from_u64(2);
    let rough: Vec<u64> = (0..256).map(|_| random.random_range(0..4000)).collect();
    for delta in [0.0, 1e-6] {
        for (what, counts, most) in
            [("smooth", &smooth, 0.8), ("sparse", &sparse, 0.9), ("rough", &rough, 1.01)]
        {
            let (ratio, covered) = compared(counts, 0.1, delta);
            assert!(ratio <= most, "{what}, {delta}: {ratio}");
            assert!((0.84..=0.99).contains(&covered), "{what}, {delta}: {covered}");
        }
    }
}

/// Rows that are divided among bins node by node, some nodes evenly, some not at all.
fn divided(rows: u64, bins: usize, random: &mut ChaCha20Rng) -> Vec<u64> {
    if bins == 1 {
        return vec![rows];
    }
    let uneven = [0.0, 0.1, 0.3, 0.7][random.random_range(0..4)];
    let normal: f64 = StandardNormal.sample(random);
    let left = ((1.0 + uneven * normal) / 2.0).clamp(0.0, 1.0);
    let left = Binomial::new(rows, left).unwrap().sample(random);
    [divided(left, bins / 2, random), divided(rows - left, bins / 2, random)].concat()
}

/// Of 2,000 releases of other histograms each, one random range: so the part of intervals of 90 % that
/// hold the truth has a standard error of 0.7 %, and is within 87.5 and 92.5 % by chance if it is 90 %
/// (3.7 of these off, 2 in 10,000; the seed is fixed). Of normal errors a deviation that is told 20 %
/// too large lets 95.2 % hold it and one 20 % too small 81 %, which would be missed at most once in
/// 10,000 times; of 12 % too large, 93.5 %, once in 23.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say_where_there_are_few_rows_too() {
    for (method, bins, signal) in [
        ("auto", 64, 1e2),
        ("auto", 64, 1e3),
        ("auto", 64, 1e4),
        ("auto", 256, 1e2),
        ("aware", 256, 1e2),
    ] {
        let mut random = ChaCha20Rng::seed_from_u64(7);
        let inside = (0..2000u32).filter(|&seed| {
            let counts = divided((signal / 0.1) as u64, bins, &mut random);
            let release = released_by(method, &counts, 0.1, 0.0, seed.into());
            let estimate = release.adaptive(&vec![1.0; bins]).unwrap();
            let (start, other) = (random.random_range(0..bins), random.random_range(0..bins));
            let range = start.min(other)..start.max(other) + 1;
            let truth = counts[range.clone()].iter().sum::<u64>() as f64;
            let error = estimate.sum(range.clone()) - truth;
            error.abs() <= 1.645 * estimate.variance(range).sqrt()
        });
        let inside = inside.count() as f64 / 2000.0;
        assert!((0.875..=0.925).contains(&inside), "{method}, {bins}, {signal}: {inside}");
    }
}

/// Whatever is measured has an estimate: nothing, a lot, exactly, in one bin.
#[test]
fn extreme_releases_have_finite_estimates() {
    for (counts, epsilon) in [
        (vec![0; 40], 1.0),
        (vec![1 << 40; 40], 1e-3),
        (vec![0, 1 << 50, 0, 3], 40.0),
        (vec![5], 1.0),
        (vec![5, 0], 1.0),
    ] {
        let release = released(&counts, epsilon, 0.0, 3);
        let estimate = release.adaptive(&vec![1.0; counts.len()]).unwrap();
        assert_eq!(estimate.bins(), counts.len());
        for end in 0..=counts.len() {
            let (sum, variance) = (estimate.sum(0..end), estimate.variance(0..end));
            assert!(sum.is_finite() && variance >= 0.0, "{counts:?}: {sum} {variance}");
            let unbiased = release.variance(0..end).unwrap();
            assert!(variance <= unbiased, "{counts:?}: {variance} of {unbiased}");
            let apart = (sum - release.sum(0..end)).abs();
            assert!(apart <= 12.0 * unbiased.sqrt() + 1e-6, "{counts:?}, {end}: {apart}");
        }
    }
}
