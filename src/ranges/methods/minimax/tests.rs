//! How good the strategies are.

use super::strategy::WeightedRoot;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::CountMechanism;
use crate::ranges::mechanism::RangeMechanism;
use crate::ranges::methods::optimal::sine::SineStrategy;
use crate::ranges::methods::prefix::PrefixFactorisation;
use crate::ranges::ticks::TickMechanism;
use crate::ranges::workload::{Spread, Workload};
use std::f64::consts::PI;

/// Noise of variance 1 on columns of length 1.
fn unit() -> Calibration {
    Calibration::together(0.5)
}

fn minimax(workload: Workload, bins: usize) -> Spread {
    WeightedRoot::new(workload, bins, &unit()).unwrap().spread(workload)
}

fn optimal(workload: Workload, bins: usize) -> Spread {
    SineStrategy::new(workload, bins, &unit()).unwrap().spread(workload)
}

/// Of the largest variance, for every strategy: see [`weights`](super::weights).
const LOWER_BOUNDS: [(Workload, &[(usize, f64)]); 2] = [
    (
        Workload::Prefix,
        &[
            (2, 1.33333),
            (4, 1.7586),
            (8, 2.28156),
            (16, 2.90525),
            (64, 4.45787),
            (256, 6.41465),
            (1024, 8.77019),
        ],
    ),
    (
        Workload::All,
        &[
            (2, 1.33333),
            (4, 1.91198),
            (8, 2.67719),
            (16, 3.64362),
            (64, 6.19328),
            (256, 9.55357),
            (512, 11.53122),
        ],
    ),
];

/// Streams do not go on with other integers than those that were charged.
#[test]
fn another_integer_has_another_fingerprint() {
    let noise = Calibration::together(0.02);
    let root = WeightedRoot::new(Workload::Prefix, 40, &noise).unwrap();
    let mut fingerprints: Vec<_> = root.others().map(|other| other.fingerprint()).collect();
    fingerprints.push(root.fingerprint());
    fingerprints.push(WeightedRoot::new(Workload::All, 40, &noise).unwrap().fingerprint());
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 3 * 40 + 2);
}

#[test]
fn worst_cases_are_close_to_the_least_possible() {
    for ((workload, bounds), most) in LOWER_BOUNDS.into_iter().zip([1.014, 1.05]) {
        for &(bins, bound) in bounds {
            let ratio = minimax(workload, bins).max / bound;
            assert!((0.999..most).contains(&ratio), "{workload:?} {bins}: {ratio}");
        }
    }
}

/// The best published constant: that of the root with columns of length 1.
#[test]
fn no_prefix_is_worse_than_with_the_normalised_square_root() {
    for bins in [16, 100, 1024, 4096, 1 << 14] {
        let published = (0.846 + (bins as f64).ln() / PI).powi(2);
        let worst = minimax(Workload::Prefix, bins).max;
        assert!(worst < 0.99 * published, "{bins}: {worst} {published}");
    }
}

#[test]
fn worst_cases_cost_little_of_the_mean() {
    for bins in [16, 100, 1024, 4096] {
        for (workload, less, more) in
            [(Workload::Prefix, 0.925, 1.015), (Workload::All, 0.88, 1.04)]
        {
            let (worst, mean) = (minimax(workload, bins), optimal(workload, bins));
            assert!(worst.max < less * mean.max, "{workload:?} {bins}: {worst:?} {mean:?}");
            assert!(worst.mean < more * mean.mean, "{workload:?} {bins}: {worst:?} {mean:?}");
        }
    }
}

/// The root without weights is for comparison.
#[test]
fn no_workload_is_better_off_without_weights() {
    for bins in [2, 3, 7, 16, 100, 1024] {
        for (_, workload) in Workload::WORDS {
            let root = PrefixFactorisation::new(bins, &unit()).unwrap().spread(workload);
            let weighted = minimax(workload, bins);
            assert!(weighted.max < root.max, "{workload:?} {bins}: {weighted:?} {root:?}");
            assert!(weighted.mean < root.mean, "{workload:?} {bins}: {weighted:?} {root:?}");
        }
    }
}

/// With as wide a noise as can be sampled, which leaves 16 digits, too.
#[test]
fn integers_stay_within_their_limits() {
    let widest = 3e-8;
    for bins in [1, 2, 3, 10, 1000, 1 << 14] {
        for workload in [Workload::Prefix, Workload::All] {
            for rho in [0.5, 0.02, widest] {
                let root = WeightedRoot::new(workload, bins, &Calibration::together(rho)).unwrap();
                root.check_integers(rho);
                assert!(root.largest_count() >= 1 << 28);
            }
            let root = WeightedRoot::new(workload, bins, &Calibration::together(widest)).unwrap();
            let coarse = root.spread(Workload::Prefix).max * 2.0 * widest;
            let fine = WeightedRoot::new(workload, bins, &unit()).unwrap();
            let fine = fine.spread(Workload::Prefix).max;
            assert!(coarse < 1.5 * fine, "{workload:?} {bins}: {coarse} {fine}");
        }
    }
}
