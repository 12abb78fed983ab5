//! What a release of buckets spends, what a row moves, and how far off its answers are.

use super::deviations::Deviations;
use super::partition::partition;
use super::plan::{BucketPlan, BucketRequest};
use super::within::within;
use crate::charge::{Costs, Receipt};
use crate::noise::words_from_system;
use crate::privacy::rho_of_pure;
use crate::ranges::bucket_method::BucketMethod;
use crate::ranges::buckets::{Buckets, Shares, Uneven, WHOLE};
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, Measurements};
use crate::ranges::noise::NoiseParameter;
use crate::ranges::{Loss, RangePlan, RangeRelease, TargetRanges, Workload, asked};
use crate::work::watched;
use proptest::prelude::*;
use std::ops::Range;

fn request(bins: usize, epsilon: f64, rows_per_unit: u32) -> BucketRequest {
    let (method, widths, target) = (BucketMethod::Aware, vec![1; bins], TargetRanges::ALL);
    BucketRequest { method, widths, epsilon, rows_per_unit, target }
}

fn deviations(widths: Vec<u64>) -> Deviations {
    let noise = NoiseParameter::Laplace { sensitivity: 1, epsilon: 1.0 };
    let lengths = super::deviations::lengths(widths.len()).len();
    Deviations::new(widths, &Calibration::per_group(vec![noise; lengths])).unwrap()
}

/// Every row that there could be moves one measurement of each group at most, by 1 at most.
fn check_neighbours(mechanism: &Deviations, counts: &[u64]) -> Result<(), TestCaseError> {
    let exact = mechanism.measure(counts);
    for bin in 0..counts.len() {
        let mut more = counts.to_vec();
        more[bin] += 1;
        let moved = mechanism.measure(&more);
        let mut pairs = exact.iter().zip(&moved);
        for group in mechanism.measurements().groups() {
            let distance: i64 =
                pairs.by_ref().take(group.measurements).map(|(a, b)| (a - b).abs()).sum();
            prop_assert!(distance <= 1, "bin {bin}: {distance}");
        }
        prop_assert!(pairs.next().is_none());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_row_moves_one_deviation_of_each_length_by_1(
        (counts, widths) in (64usize..300).prop_flat_map(|bins| {
            let counts = prop::collection::vec(prop_oneof![Just(0), 0u64..5, 0u64..1000], bins);
            (counts, prop::collection::vec(1u64..9, bins))
        }),
    ) {
        check_neighbours(&deviations(widths), &counts)?;
        check_neighbours(&deviations(vec![1; counts.len()]), &counts)?;
    }

    /// Buckets lie side by side, at multiples of their lengths, whatever was measured.
    #[test]
    fn any_measurements_make_buckets(
        (bins, noisy) in (1usize..300).prop_flat_map(|bins| {
            (Just(bins), prop::collection::vec(-50i64..50, bins))
        }),
    ) {
        let mechanism = deviations(vec![1; bins]);
        let measured = mechanism.measure(&vec![0; bins]).len();
        let buckets = partition(&mechanism, &noisy[..measured], 3.0);
        prop_assert_eq!(buckets.bins(), bins);
        let mut start = 0;
        for length in buckets.lengths() {
            prop_assert!(length == 1 || mechanism.lengths().contains(&length));
            prop_assert_eq!(start % length, 0);
            start += length;
        }
        prop_assert_eq!(start, bins);
    }

    /// Rows are spread as evenly as bins are wide.
    #[test]
    fn ranges_are_made_of_shares(
        lengths in prop::collection::vec(1usize..6, 1..8),
        widths in prop::collection::vec(1u64..5, 40),
        ends in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let bins: usize = lengths.iter().sum();
        let widths = &widths[..bins];
        let buckets = Buckets::new(lengths.iter().copied(), widths);
        let (a, b) = (ends.0.index(bins + 1), ends.1.index(bins + 1));
        let range = a.min(b)..a.max(b);
        let mut start = 0;
        let overlaps = lengths.iter().map(|length| {
            let bucket = start..start + length;
            start += length;
            let of = widths[bucket.clone()].iter().sum::<u64>() as f64;
            let own = range.start.max(bucket.start)..range.end.min(bucket.end);
            if own.is_empty() { 0.0 } else { widths[own].iter().sum::<u64>() as f64 / of }
        });
        let overlaps: Vec<f64> = overlaps.collect();
        let shares = match buckets.shares(&range) {
            Shares::Whole(whole) => {
                (0..lengths.len()).map(|i| f64::from(u8::from(whole.contains(&i)))).collect()
            }
            Shares::Parts(shares) => shares,
        };
        for (share, overlap) in shares.iter().zip(&overlaps) {
            prop_assert!((share - overlap).abs() < 1e-12, "{shares:?} {overlaps:?}");
        }
        // every third bucket has as many rows as its place
        let up_to = |bucket: usize| (0..bucket).map(|i| (i % 3) as f64).sum();
        let sum = buckets.sum_up_to(range.end, up_to) - buckets.sum_up_to(range.start, up_to);
        let of_shares: f64 = overlaps.iter().enumerate().map(|(i, s)| s * (i % 3) as f64).sum();
        prop_assert!((sum - of_shares).abs() < 1e-9);
        if !range.is_empty() {
            let touched = (0..lengths.len()).filter(|i| overlaps[*i] > 0.0);
            prop_assert!(buckets.around(&range).eq(touched));
        }
    }
}

/// What is charged covers both measurements, however many buckets there are.
#[test]
fn the_price_covers_deviations_and_any_number_of_buckets() {
    let none = Measurements::one_of_each([], &Calibration::per_group(Vec::new())).unwrap();
    for (bins, epsilon, rows) in [(300, 1.0, 1), (300, 0.01, 1), (70, 2.0, 3), (20, 1.0, 2)] {
        let plan = BucketPlan::new(request(bins, epsilon, rows)).unwrap();
        let cost = plan.cost();
        assert_eq!((cost.epsilon.value(), cost.delta), (epsilon, 0.0));
        let loss = |measurements: &Measurements| match measurements.loss() {
            Loss::Epsilon(of_a_row) => of_a_row * f64::from(rows),
            Loss::Rho(_) => panic!("Gaussian noise"),
        };
        let rho = |measurements: &Measurements| -> f64 {
            let groups = measurements.groups().iter();
            groups.map(|group| rho_of_pure(group.noise.epsilon().unwrap() * f64::from(rows))).sum()
        };
        // none of so few bins
        let first = plan.deviations().map_or(&none, CountMechanism::measurements);
        for count in 1..=bins {
            let lengths = (1..count).map(|_| 1).chain([bins + 1 - count]);
            let buckets = Buckets::new(lengths, &vec![1; bins]);
            let strategy = plan.of_buckets(&buckets);
            let second = strategy.mechanism().measurements();
            let spent = loss(first) + loss(second);
            assert!(spent <= epsilon, "{count}: {spent}");
            // next to nothing is left
            assert!(spent >= epsilon * (1.0 - 1e-9));
            assert!(rho(first) + rho(second) <= cost.loss.rho());
        }
    }
}

#[test]
fn what_has_no_share_is_refused() {
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, 1e-310, 1e-12, 1e9] {
        assert!(BucketPlan::new(request(70, epsilon, 1)).is_err(), "{epsilon}");
    }
    assert!(BucketPlan::new(request(70, 1e-6, u32::MAX)).is_err());
}

/// With hardly any noise: what is uniform is one bucket, and nothing else is merged.
#[test]
fn buckets_are_where_bins_hold_alike() {
    let mut counts = vec![5; 256];
    counts[64..128].copy_from_slice(&(0..64).map(|i| i * i % 97 * 100).collect::<Vec<u64>>());
    let plan = BucketPlan::new(request(256, 1e4, 1)).unwrap();
    let release = Receipt::uncharged(plan).release(&counts, &mut words_from_system().unwrap());
    let (lengths, _) = release.stored_buckets().unwrap();
    let expected: Vec<u32> = [16; 4].into_iter().chain([1; 64]).chain([16; 8]).collect();
    assert_eq!(lengths, expected);
    for (bin, count) in counts.iter().enumerate() {
        assert!((release.sum(bin..bin + 1) - *count as f64).abs() < 0.5);
    }
}

/// Bins of which no bucket is possible are released as by any strategy, with all of the budget.
#[test]
fn few_bins_are_all_measured() {
    let plan = BucketPlan::new(request(63, 1.0, 1)).unwrap();
    let release = Receipt::uncharged(plan).release(&[3; 63], &mut words_from_system().unwrap());
    assert_eq!(release.stored_buckets().unwrap().0, [1; 63]);
    let flat = RangePlan::new(asked::ranges(63, 1.0, 0.0, "auto").unwrap()).unwrap();
    let all = release.variance(0..63).unwrap();
    assert!((all / flat.mechanism().variance(0..63) - 1.0).abs() < 1e-9);
}

/// The buckets of a release.
fn buckets_of(release: &RangeRelease) -> Buckets {
    let (lengths, uneven) = release.stored_buckets().unwrap();
    Buckets::of_lengths(&lengths, uneven.to_vec(), 1 << 20).unwrap()
}

/// The answer that the buckets would have without noise.
fn without_noise(buckets: &Buckets, counts: &[u64], range: &Range<usize>) -> f64 {
    let sums = buckets.counts(counts);
    let up_to = |bucket: usize| sums[..bucket].iter().sum::<u64>() as f64;
    buckets.sum_up_to(range.end, up_to) - buckets.sum_up_to(range.start, up_to)
}

/// In each node of 16 bins, the rows lie in every other node of 4.
#[test]
fn what_deviates_widens_the_answers_that_cut_it() {
    let counts: Vec<u64> = (0..256).map(|bin| if bin / 4 % 2 == 0 { 8 } else { 0 }).collect();
    let noise = NoiseParameter::Laplace { sensitivity: 1, epsilon: 1e5 };
    let mechanism = Deviations::new(vec![1; 256], &Calibration::per_group(vec![noise; 2])).unwrap();
    let measured = mechanism.measure(&counts);
    // all are merged that can be
    let buckets = partition(&mechanism, &measured, 1e6);
    assert!(buckets.lengths().all(|length| length == 16));
    let buckets = {
        let uneven = within(&mechanism, &measured, &buckets, 1024.0);
        buckets.with(uneven)
    };
    // 64 rows are off the median of a node of 16, none of one of 4; 4 is OF_SQUARES, and PARTS, and 2
    // is OF_MERGED. There is no noise, so that is certain
    let (square, near) =
        (2.0 * 64.0f64.powi(2), |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b, "{a} {b}"));
    near(buckets.bias(&(0..4)), square * 3.0 / 16.0);
    near(buckets.bias(&(2..30)), 2.0 * square * 14.0 / 16.0 * 2.0 / 16.0);
    near(buckets.bias(&(3..256)), square * 3.0 * 13.0 / 256.0);
    for whole in [0..16, 16..64, 0..256, 5..5] {
        assert_eq!(buckets.bias(&whole), 0.0);
    }
}

/// What is measured of few rows is mostly noise: no more is taken for uneven than they can be.
#[test]
fn few_rows_are_little_uneven() {
    let noise = NoiseParameter::Laplace { sensitivity: 1, epsilon: 0.01 };
    let calibration = Calibration::per_group(vec![noise; 2]);
    let mechanism = Deviations::new(vec![1; 256], &calibration).unwrap();
    let buckets = || Buckets::new(vec![16; 16], &[1; 256]);
    let squares = |measured: &[i64], rows: f64| {
        let uneven = within(&mechanism, measured, &buckets(), rows);
        uneven.iter().map(|uneven| uneven.square).collect::<Vec<_>>()
    };
    // of 64 nodes of 4 bins and of 16 of 16, whose noise has the scale 100
    for (rows, expected) in [(-5.0, 0.0), (0.0, 0.0), (1000.0, 0.035 * 100.0 * 1000.0 / 256.0)] {
        for (square, length) in squares(&[0; 80], rows).into_iter().zip([4.0, 16.0]) {
            assert!((square - length * expected).abs() <= 1e-4 * square, "{rows}: {square}");
        }
    }
    // with many, no more than what is measured, with its error: twice (0 + 100 sqrt(2 / 64))^2
    let square = squares(&[0; 80], 1e9)[0];
    assert!((square / (2.0 * 1e4 * 2.0 / 64.0) - 1.0).abs() < 1e-4, "{square}");
    // what is certain stays: 1,000 less three times that error
    let square = squares(&[1000; 80], 100.0)[0];
    assert!(
        (square / (2.0 * (1000.0 - 300.0 / 32f64.sqrt()).powi(2)) - 1.0).abs() < 1e-4,
        "{square}"
    );
}

/// A bucket that is a node by itself, of 8 bins, and single bins, of which a range holds none in part.
#[test]
fn whole_buckets_widen_the_answers_that_cut_them() {
    let uneven = vec![Uneven { length: WHOLE, square: 32.0 }];
    let buckets = Buckets::of_lengths(&[1, 8, 1, 4], uneven, 14).unwrap();
    for (range, share, other) in
        [(0..3, 2.0 / 8.0, 0.0), (3..5, 2.0 / 8.0, 0.0), (5..11, 0.5, 0.25)]
    {
        let expected = 32.0 * (share * (1.0 - share) + other * (1.0 - other));
        assert!((buckets.bias(&range) - expected).abs() < 1e-9, "{range:?}");
    }
    for range in [0..1, 1..9, 0..14, 9..10, 0..9, 10..14, 3..3] {
        assert_eq!(buckets.bias(&range), 0.0);
    }
}

/// Of ranges that would take a second strategy long to be made for, some thousands.
#[test]
fn a_few_asked_ranges_stand_for_many() {
    let asked = |bins: usize| Workload::All.ranges(bins).collect::<Vec<_>>();
    let ranges = asked(300);
    let all = ranges.len();
    let target = TargetRanges::Ranges(ranges);
    let plan = BucketPlan::new(BucketRequest { target, ..request(300, 1.0, 1) }).unwrap();
    let TargetRanges::Ranges(kept) = plan.target() else { panic!("asked ranges") };
    assert!((2_000..=1 << 12).contains(&kept.len()) && all > 10 * kept.len(), "{}", kept.len());
    // from one end to the other
    assert!(kept[0].start == 0 && kept[kept.len() - 1].start > 250);
    assert_eq!(plan.cost().mechanism["made_for"], format!("{all} ranges"));
}

/// Single bins' answers are counted as work, also of a release of one bucket.
#[test]
fn answers_to_bins_poll() {
    let plan = BucketPlan::new(request(1 << 16, 0.01, 1)).unwrap();
    let words = &mut words_from_system().unwrap();
    let release = Receipt::uncharged(plan).release(&vec![0; 1 << 16], words);
    let polls = |action: &mut dyn FnMut()| {
        let mut polls = 0;
        watched(&mut || polls += 1, action);
        polls
    };
    // two places, and two nodes of seven lengths; two places
    assert!(polls(&mut || drop(release.variances_of_bins())) >= 30);
    let every = || (0..1 << 16).map(|bin| release.sum(bin..bin + 1)).sum::<f64>();
    assert!(polls(&mut || assert!(every().is_finite())) >= 15);
}

/// 3,000 releases: given the buckets, no mean of the errors is 7 of its standard
/// deviations off (probability below 1e-11), nor one of their squares (below 1e-7, see
/// `errors_are_as_stated`).
#[test]
fn the_noise_of_answers_is_as_stated() {
    let counts: Vec<u64> =
        (0..80).map(|bin| if bin % 40 < 25 { 9 } else { bin * 37 % 60 }).collect();
    let questions: Vec<Range<usize>> = vec![0..80, 0..7, 3..20, 20..64, 79..80, 5..6, 30..31];
    let mut words = words_from_system().unwrap();
    let releases = 3_000;
    let mut moments = vec![(0.0, 0.0); questions.len()];
    let mut merged = 0;
    for _ in 0..releases {
        let plan = BucketPlan::new(request(80, 2.0, 1)).unwrap();
        let release = Receipt::uncharged(plan).release(&counts, &mut words);
        let buckets = buckets_of(&release);
        merged += usize::from(buckets.count() < 80);
        for (question, (sum, squares)) in questions.iter().zip(&mut moments) {
            let variance = release.variance(question.clone()).unwrap();
            let stddev = (variance - buckets.bias(question)).sqrt();
            let off = release.sum(question.clone()) - without_noise(&buckets, &counts, question);
            *sum += off / stddev;
            *squares += off * off / stddev / stddev;
        }
    }
    assert!(merged > releases / 2, "{merged}");
    let releases = releases as f64;
    for (question, (sum, squares)) in questions.iter().zip(moments) {
        assert!(sum.abs() < 7.0 * releases.sqrt(), "{question:?}: sum {sum}");
        let off = squares / releases - 1.0;
        let limit = 7.0 * (5.5 / releases).sqrt();
        assert!(off.abs() < limit, "{question:?}: {off}");
    }
}

/// All that is said of variances says the same, whether by bins, by sides or by ranges.
#[test]
fn variances_agree() {
    let counts = vec![4; 100];
    for (method, epsilon) in BucketMethod::ALL.into_iter().flat_map(|m| [(m, 0.5), (m, 0.05)]) {
        let target = TargetRanges::Workload(Workload::Prefix);
        let request = BucketRequest { method, target, ..request(100, epsilon, 2) };
        let plan = BucketPlan::new(request).unwrap();
        let release = Receipt::uncharged(plan).release(&counts, &mut words_from_system().unwrap());
        let variance = |range: Range<usize>| release.variance(range).unwrap();
        let same = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.max(1.0), "{a} {b}");
        for (bin, of_bin) in release.variances_of_bins().unwrap().into_iter().enumerate() {
            same(of_bin, variance(bin..bin + 1));
        }
        for (bin, split) in release.splits().unwrap().into_iter().enumerate() {
            same(split.before, variance(0..bin));
            same(split.after, variance(bin..100));
            let both = split.before + split.after + 2.0 * split.covariance;
            same(both, variance(0..100));
        }
        let (buckets, mechanism) = (buckets_of(&release), release.mechanism().unwrap());
        let mut cut = 0;
        for range in Workload::All.ranges(100).step_by(7) {
            let Shares::Parts(shares) = buckets.shares(&range) else { continue };
            cut += 1;
            let covariances = mechanism.covariances(&shares).unwrap();
            let noise: f64 = shares.iter().zip(&covariances).map(|(s, c)| s * c).sum();
            same(variance(range.clone()), noise + buckets.bias(&range));
        }
        // of 25 nodes of 4 alike bins some are merged, of 10 buckets all but some
        assert!(cut > 0);
        let adaptive = release.adaptive(&[1.0; 100]).unwrap();
        for (bin, of_bin) in adaptive.variances_of_bins().into_iter().enumerate() {
            // solved to a hundredth
            assert!((of_bin / adaptive.variance(bin..bin + 1) - 1.0).abs() < 0.1);
        }
        for range in [0..100, 3..50, 10..11, 0..64] {
            assert!(adaptive.variance(range.clone()) <= variance(range) * (1.0 + 1e-9));
        }
        same(adaptive.sum(0..100), adaptive.sum(0..33) + adaptive.sum(33..100));
    }
}
