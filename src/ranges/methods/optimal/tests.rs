use super::dense::DenseStrategy;
use super::gram::{GramError, MAX_DENSE_BINS, gram_of_ranges};
use super::sine::SineStrategy;
use super::weights::even_columns;
use crate::ranges::methods::cascade::line::Cascade;
use crate::ranges::methods::cascade::tree::TreeOverBins;
use crate::ranges::methods::prefix::PrefixFactorisation;
use crate::ranges::{Calibration, CountMechanism, RangeMechanism, Sensitivity, Spread, Workload};
use nalgebra::DMatrix;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::f64::consts::PI;
use std::ops::Range;

const WORKLOADS: [Workload; 2] = [Workload::All, Workload::Prefix];

fn square_of(strategy: &SineStrategy) -> u64 {
    match strategy.measurements().sensitivity() {
        Sensitivity::Squared(square) => square.to_integer(),
        Sensitivity::OneOfEach => panic!("no sensitivity of all together"),
    }
}

/// (Sum of the workload's singular values)^2 / n, by the closed form of the eigenvalues of G.
fn svd_bound(workload: Workload, bins: usize) -> f64 {
    let n = bins as f64;
    let singular = |k: usize| match workload {
        Workload::Nodes => unreachable!("no closed form"),
        Workload::All => (n + 1.0).sqrt() / (2.0 * (PI * k as f64 / (2.0 * n + 2.0)).sin()),
        Workload::Prefix => 1.0 / (2.0 * (PI * (2 * k - 1) as f64 / (4.0 * n + 2.0)).sin()),
    };
    (1..=bins).map(singular).sum::<f64>().powi(2) / n
}

/// Total variance over the bound, for a mechanism that spends `rho`, of which the bound's own noise
/// has variance 1 / (2 rho).
fn ratio(workload: Workload, bins: usize, spread: Spread, rho: f64) -> f64 {
    let questions = workload.ranges(bins).count();
    spread.mean * questions as f64 * 2.0 * rho / svd_bound(workload, bins)
}

#[test]
fn the_error_is_close_to_the_lower_bound() {
    for (workload, limit) in [(Workload::All, 1.03), (Workload::Prefix, 1.07)] {
        for rho in [0.02435, 0.0003] {
            // and the closer, the more bins
            let mut before = limit;
            for bins in [64, 256, 1024, 65_536] {
                let strategy =
                    SineStrategy::new(workload, bins, &Calibration::together(rho)).unwrap();
                let ratio = ratio(workload, bins, strategy.spread(workload), rho);
                assert!(ratio > 1.0 && ratio < before, "{workload:?} {bins} {rho}: {ratio}");
                before = ratio;
            }
        }
    }
}

/// Nor do the rows that make transforms fast cost accuracy.
#[test]
fn the_matrix_of_many_bins_has_few_more_rows() {
    for (workload, bins, expected) in [
        (Workload::All, 4096, 4096),         // P = 2 * 17 * 241
        (Workload::All, 5000, 5039),         // P = 2 * 3 * 1667 -> 2^5 * 3^2 * 5 * 7
        (Workload::All, 1 << 20, 1_049_759), // P = 2 * 17 * 61,681 -> 2^6 * 3^8 * 5
        (Workload::Prefix, 5000, 5062),      // P = 73 * 137 -> 3^4 * 5^3
    ] {
        let strategy = SineStrategy::new(workload, bins, &Calibration::together(0.02435)).unwrap();
        assert_eq!(
            strategy.measurements().groups()[0].measurements,
            expected,
            "{workload:?} {bins}"
        );
    }
    for (workload, bins) in [(Workload::All, 5000), (Workload::Prefix, 5000)] {
        let exact =
            SineStrategy::of_order(bins, workload, bins, &Calibration::together(0.02435)).unwrap();
        let larger = SineStrategy::new(workload, bins, &Calibration::together(0.02435)).unwrap();
        let means = [larger, exact].map(|strategy| strategy.spread(workload).mean);
        assert!(means[0] < means[1] * 1.003, "{means:?}");
    }
}

/// The known ratios of mechanisms that are not made for a workload, with real numbers for integers.
#[test]
fn the_cascade_and_the_square_root_are_further_from_it() {
    let rho = 1e-5;
    for (bins, all, prefixes) in [(64, "1.609", "1.447"), (1024, "1.688", "1.536")] {
        let cascade =
            Cascade::new(TreeOverBins::balanced(bins, 2).unwrap(), &Calibration::together(rho))
                .unwrap();
        let of_all = ratio(Workload::All, bins, cascade.spread(Workload::All), rho);
        let of_prefixes = ratio(Workload::Prefix, bins, cascade.spread(Workload::Prefix), rho);
        assert_eq!([of_all, of_prefixes].map(|ratio| format!("{ratio:.3}")), [all, prefixes]);
    }
    for (bins, expected) in [(64, "1.194"), (1024, "1.142")] {
        let prefixes = PrefixFactorisation::new(bins, &Calibration::together(0.02435)).unwrap();
        let prefixes = prefixes.spread(Workload::Prefix);
        assert_eq!(format!("{:.3}", ratio(Workload::Prefix, bins, prefixes, 0.02435)), expected);
    }
}

/// In integers, by what is measured of one row in each bin; also where M has more rows than there
/// are bins.
#[test]
fn the_sensitivity_is_the_length_of_the_longest_column() {
    let orders = (1..=40).flat_map(|bins| [0, 1, 2, 5, 64].map(|more| (bins, bins + more)));
    for (bins, order) in orders.chain([(100, 100), (256, 259), (1000, 1000)]) {
        for (workload, rho) in WORKLOADS.into_iter().flat_map(|w| [(w, 0.02435), (w, 1e-7)]) {
            let strategy =
                SineStrategy::of_order(order, workload, bins, &Calibration::together(rho)).unwrap();
            let square = |bin: usize| -> u128 {
                let mut counts = vec![0; bins];
                counts[bin] = 1;
                let column = strategy.measure(&counts);
                column.iter().map(|entry| u128::from(entry.unsigned_abs()).pow(2)).sum()
            };
            let longest = (0..bins).map(square).max();
            assert_eq!(
                Some(u128::from(square_of(&strategy))),
                longest,
                "{workload:?} {bins} {order} {rho}"
            );
        }
    }
}

/// The figures of the closed form with real numbers in place of integers.
#[test]
fn the_dense_form_has_the_same_error() {
    for (workload, expected) in
        [(Workload::All, ["1.022", "1.018"]), (Workload::Prefix, ["1.062", "1.047"])]
    {
        for (bins, expected) in [64, 256].into_iter().zip(expected) {
            let gram = gram_of_ranges(bins, workload.ranges(bins));
            let strategy =
                DenseStrategy::in_closed_form(bins, &gram, &Calibration::together(0.02435))
                    .unwrap();
            let spread = strategy.spread(workload);
            let ratio = ratio(workload, bins, spread, 0.02435);
            assert_eq!(format!("{ratio:.3}"), expected);
        }
    }
}

/// The integers of the convolutions are those of G^(1/4) D, as eigenvectors give it.
#[test]
fn the_sine_form_is_the_closed_form() {
    for workload in WORKLOADS {
        for bins in [1, 2, 3, 5, 33] {
            let gram = gram_of_ranges(bins, workload.ranges(bins));
            let real = even_columns(bins, &gram).unwrap();
            let strategy =
                SineStrategy::new(workload, bins, &Calibration::together(0.02435)).unwrap();
            let length = (square_of(&strategy) as f64).sqrt();
            for bin in 0..bins {
                let mut counts = vec![0; bins];
                counts[bin] = 1;
                for (row, &entry) in strategy.measure(&counts).iter().enumerate() {
                    let entry = entry as f64 / length;
                    assert!((entry - real[(row, bin)]).abs() < 2e-3, "{workload:?} {bins}");
                }
            }
        }
    }
}

/// Where the maximum is searched for, it is the one of all ranges that look like it: those with an
/// end on a grid.
#[test]
fn the_search_finds_the_worst_range() {
    for workload in WORKLOADS {
        let bins = 1500;
        let strategy = SineStrategy::new(workload, bins, &Calibration::together(0.02435)).unwrap();
        let found = strategy.max_over_all();
        let grid = || (0..=bins).step_by(25);
        for (lo, hi) in grid().flat_map(|lo| grid().map(move |hi| (lo, hi))) {
            assert!(strategy.variance(lo..hi) <= found * (1.0 + 1e-9), "{workload:?} {lo}..{hi}");
        }
    }
}

#[test]
fn the_gram_matrix_counts_questions() {
    #[expect(clippy::reversed_empty_ranges)]
    let gram = gram_of_ranges(3, [0..2, 1..9, 1..2, 2..2, 3..1, 7..8]);
    assert_eq!(gram, [1.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 1.0]);
}

#[test]
fn a_workload_that_asks_for_little_is_answered() {
    // bin 0 alone; and the sum of all alone
    for gram in [vec![1.0, 0.0, 0.0, 0.0], vec![1.0; 4]] {
        let strategy = DenseStrategy::new(2, &gram, &Calibration::together(0.5)).unwrap();
        let asked = if gram[1] == 0.0 { 0..1 } else { 0..2 };
        // its own noise would have variance 1
        assert!(strategy.variance(asked.clone()) < 1.01, "{asked:?}");
        assert!(strategy.variance(1..2).is_finite());
    }
}

/// What no strategy's total squared error is below, in units of the variance of its noise: the largest that
/// some weights of bins prove (see `weights`).
fn no_less_than(gram: DMatrix<f64>) -> f64 {
    let bins = gram.ncols();
    let mut weights = vec![1.0; bins];
    let mut bound: f64 = 0.0;
    for _ in 0..200 {
        let weighted = |i: usize, j: usize| gram[(i, j)] * f64::sqrt(weights[i] * weights[j]);
        let eigen = DMatrix::from_fn(bins, bins, weighted).symmetric_eigen();
        let roots = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
        bound = bound.max(roots.sum().powi(2) / weights.iter().sum::<f64>());
        for (bin, weight) in weights.iter_mut().enumerate() {
            let row = eigen.eigenvectors.row(bin);
            let diagonal: f64 = row.iter().zip(&roots).map(|(v, root)| v * v * root).sum();
            // times the strategy's own entry, which is 1 for the best weights; bins that nobody asks for have none
            *weight = diagonal.max(1e-12);
        }
    }
    bound
}

/// Also where the Gram matrix is singular, as of few ranges that overlap, or with bins that nobody asks for.
#[test]
fn the_error_for_any_ranges_is_close_to_the_lower_bound() {
    let words = &mut ChaCha20Rng::seed_from_u64(1);
    let mut random = |bins: usize, ranges: usize| -> Vec<Range<usize>> {
        let mut end = || words.random_range(0..=bins);
        let ends = (0..ranges).map(|_| [end(), end()]);
        ends.map(|[a, b]| a.min(b)..a.max(b)).filter(|range| !range.is_empty()).collect()
    };
    let mut workloads = vec![
        (4, vec![0..2, 1..3, 2..4]),
        (6, vec![1..3, 2..4, 3..5]),
        (9, vec![1..3, 3..7, 7..8, 1..8, 5..6, 2..6]),
        (5, vec![1..2, 3..4]),
        (3, vec![1..2; 1]),
    ];
    let more = [(7, 3), (12, 5), (30, 8), (40, 30), (40, 300), (200, 20), (300, 100)];
    workloads.extend(more.map(|(bins, ranges)| (bins, random(bins, ranges))));
    for (bins, ranges) in workloads {
        let rho = 0.02435;
        let gram = gram_of_ranges(bins, ranges.iter().cloned());
        let strategy = DenseStrategy::new(bins, &gram, &Calibration::together(rho)).unwrap();
        let total: f64 = ranges.iter().map(|range| strategy.variance(range.clone())).sum();
        let total = total * 2.0 * rho;
        // every bin by itself; every range by itself, of which some bin is in so many
        let flat: usize = ranges.iter().map(Range::len).sum();
        let most = (0..bins).map(|bin| ranges.iter().filter(|r| r.contains(&bin)).count()).max();
        let simple = flat.min(ranges.len() * most.unwrap());
        let bound = no_less_than(DMatrix::from_row_slice(bins, bins, &gram));
        let case = format!("{bins} {ranges:?}: {total}, bound {bound}, simple {simple}");
        assert!(total > bound * 0.999 && total < bound * 1.02, "{case}");
        assert!(total < simple as f64 * 1.02, "{case}");
    }
}

#[test]
fn what_is_no_gram_matrix_is_refused() {
    let (limit, bins) = (MAX_DENSE_BINS, GramError::Bins);
    for (count, gram, error) in [
        (0, vec![], bins),
        (limit + 1, vec![], bins),
        (2, vec![1.0; 3], GramError::Shape),
        (2, vec![0.0; 4], GramError::Empty),
        (2, vec![1.0, 2.0, 0.0, 1.0], GramError::NotGram),
        (2, vec![1.0, 2.0, 2.0, 1.0], GramError::NotGram),
        (2, vec![-1.0, 0.0, 0.0, -1.0], GramError::NotGram),
        (1, vec![f64::NAN], GramError::NotGram),
        (1, vec![f64::INFINITY], GramError::NotGram),
    ] {
        assert_eq!(
            DenseStrategy::new(count, &gram, &Calibration::together(0.5)).unwrap_err(),
            error,
            "{gram:?}"
        );
    }
}
