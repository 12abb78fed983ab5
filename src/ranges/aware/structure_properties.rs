//! What a row moves of what is selected from, with what probability each is selected, and what it costs.

use super::costs::Costs;
use super::plan::{BucketPlan, BucketRequest};
use super::structure::candidates;
use crate::charge::{Costs as _, Receipt};
use crate::noise::words_from_system;
use crate::privacy::rho_of_pure;
use crate::ranges::bucket_method::BucketMethod;
use crate::ranges::buckets::Buckets;
use crate::ranges::measurements::Measurements;
use crate::ranges::{Loss, TargetRanges};

fn request(bins: usize, epsilon: f64, rows_per_unit: u32) -> BucketRequest {
    let (method, widths) = (BucketMethod::StructureFirst, vec![1; bins]);
    BucketRequest { method, widths, epsilon, rows_per_unit, target: TargetRanges::ALL }
}

/// Of a selection between neighbours, with what is selected before: all that can be selected, with the
/// sums that are to be little.
type Selection = Vec<(usize, i64)>;

/// All selections of up to so many buckets, whatever was selected before.
fn selections(counts: &[u64], widths: &[u64], most: usize) -> Vec<Selection> {
    let costs = Costs::new(counts, widths);
    let least = costs.least(most - 1);
    let of = |others: usize| {
        let (costs, least) = (&costs, &least);
        (others + 1..=counts.len()).map(move |end| {
            let last = &costs.until(end)[..end];
            candidates(last, &least[others - 1], others).collect()
        })
    };
    (1..most).flat_map(of).collect()
}

/// Of all tables of five bins with up to two rows each, of even and uneven widths.
fn tables() -> impl Iterator<Item = (Vec<u64>, [u64; 5])> {
    let counts = (0..243u64).map(|table| (0..5).map(|bin| table / 3u64.pow(bin) % 3).collect());
    counts.flat_map(|counts: Vec<u64>| [[1; 5], [1, 2, 1, 3, 1]].map(|w| (counts.clone(), w)))
}

#[test]
fn a_row_moves_every_candidate_by_1() {
    let mut moved = 0;
    for (counts, widths) in tables() {
        let exact = selections(&counts, &widths, 4);
        for bin in 0..5 {
            let mut more = counts.clone();
            more[bin] += 1;
            let neighbour = selections(&more, &widths, 4);
            assert_eq!(exact.len(), neighbour.len());
            for (a, b) in exact.iter().zip(&neighbour) {
                assert_eq!(a.len(), b.len());
                for ((start, a), (of, b)) in a.iter().zip(b) {
                    assert_eq!(start, of);
                    assert!(a.abs_diff(*b) <= 1, "{counts:?} {bin}: {a} {b}");
                    moved += u64::from(a != b);
                }
            }
        }
    }
    assert!(moved > 1_000);
}

/// With what probability each candidate is the first of the least, each sum lowered by geometric noise
/// of scale t.
fn law(selection: &[(usize, i64)], t: f64) -> Vec<f64> {
    let up_to = |z: i64| if z < 0 { 0.0 } else { -(-(z + 1) as f64 / t).exp_m1() };
    let of = |place: usize| -> f64 {
        let own = selection[place].1;
        let with = |z: i64| {
            let others = selection.iter().enumerate().filter(|(other, _)| *other != place);
            // of those before it, more than it; of those after it, not less
            let lost = others.map(|(other, (_, sum))| {
                let most = sum - own + z;
                if other < place { up_to(most - 1) } else { up_to(most) }
            });
            (up_to(z) - up_to(z - 1)) * lost.product::<f64>()
        };
        (0..(60.0 * t) as i64).map(with).sum()
    };
    (0..selection.len()).map(of).collect()
}

/// The exact law of every selection, of all neighbours: none differs by more than e^epsilon, some by
/// nearly as much.
#[test]
fn no_selection_tells_more_than_its_epsilon() {
    let epsilon: f64 = 1.0;
    let mut most: f64 = 0.0;
    for (counts, widths) in tables().step_by(3) {
        let exact = selections(&counts, &widths, 3);
        for bin in 0..5 {
            let mut more = counts.clone();
            more[bin] += 1;
            for (a, b) in exact.iter().zip(&selections(&more, &widths, 3)) {
                let laws = law(a, 2.0 / epsilon).into_iter().zip(law(b, 2.0 / epsilon));
                let told = laws.map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
                assert!(told <= epsilon + 1e-9, "{counts:?} {bin}: {told}");
                most = most.max(told);
            }
        }
    }
    assert!(most > 0.4 * epsilon, "{most}");
}

/// 20,000 selections of where the last bucket begins: no share is 6 of its standard deviations off, of
/// some 60 (probability below 2e-7); with noise of half the scale those of the first test would be.
#[test]
fn starts_are_selected_as_often_as_told() {
    let words = &mut words_from_system().unwrap();
    for (epsilon, rows) in [(20.0, 1), (30.0, 2)] {
        let plan = BucketPlan::new(request(64, epsilon, rows)).unwrap();
        let structure = plan.structure().unwrap();
        let counts: Vec<u64> = (0..64).map(|bin| [3, 5, 0, 9][bin / 16] + bin as u64 % 2).collect();
        let costs = Costs::new(&counts, &[1; 64]);
        let last = selections(&counts, &[1; 64], 6).pop().unwrap();
        assert_eq!((last[0].0, last.len()), (5, 59));
        let t = 2.0 * f64::from(rows) / structure.of_selection();
        let (right, wrong) = (law(&last, t), law(&last, t / 2.0));
        let mut found = vec![0.0; last.len()];
        let draws = 20_000;
        for _ in 0..draws {
            let ends = structure.select(&costs, words);
            assert_eq!((ends.len(), ends[0], ends[6]), (7, 0, 64));
            assert!(ends.is_sorted_by(|a, b| a < b));
            found[ends[5] - 5] += 1.0;
        }
        let off = |law: &[f64]| -> f64 {
            let of = |(found, p): (&f64, &f64)| {
                let expected = f64::from(draws) * p;
                // of rare ones the normal law is none: some more are allowed
                (found - expected).abs() / (expected + 9.0).sqrt()
            };
            found.iter().zip(law).map(of).fold(0.0, f64::max)
        };
        assert!(off(&right) < 6.0, "{}", off(&right));
        assert!(off(&wrong) > 6.0, "{}", off(&wrong));
    }
}

#[test]
fn the_price_covers_all_selections_deviations_and_buckets() {
    for (bins, epsilon, rows) in [(300, 1.0, 1), (64, 0.01, 1), (70, 2.0, 3), (2048, 1.0, 2)] {
        let plan = BucketPlan::new(request(bins, epsilon, rows)).unwrap();
        let structure = plan.structure().unwrap();
        let cost = plan.cost();
        assert_eq!((cost.epsilon.value(), cost.delta), (epsilon, 0.0));
        let loss = |measurements: &Measurements| match measurements.loss() {
            Loss::Epsilon(of_a_row) => of_a_row * f64::from(rows),
            Loss::Rho(_) => panic!("Gaussian noise"),
        };
        let buckets = cost.mechanism["number_of_buckets"].as_u64().unwrap() as usize;
        assert_eq!(buckets, bins / 10);
        assert_eq!(structure.deviations().groups()[0].measurements, buckets);
        let selections = structure.of_selection() * (buckets - 1) as f64;
        let ends = (0..buckets).map(|bucket| if bucket == 0 { bins + 1 - buckets } else { 1 });
        let strategy = plan.of_buckets(&Buckets::new(ends, &vec![1; bins]));
        let (first, second) =
            (loss(structure.deviations()), loss(strategy.mechanism().measurements()));
        let spent = selections + first + second;
        assert!(spent <= epsilon && spent >= epsilon * (1.0 - 1e-9), "{spent}");
        let rho = rho_of_pure(structure.of_selection()) * (buckets - 1) as f64;
        assert!(rho + rho_of_pure(first) + rho_of_pure(second) <= cost.loss.rho() * (1.0 + 1e-12));
    }
}

#[test]
fn what_has_no_share_is_refused() {
    for epsilon in [0.0, f64::NAN, f64::INFINITY, 5e-324, 1e-12, 1e9] {
        assert!(BucketPlan::new(request(70, epsilon, 1)).is_err(), "{epsilon}");
    }
    assert!(BucketPlan::new(request(2049, 1.0, 1)).is_err());
    assert!(BucketPlan::new(request(0, 1.0, 1)).is_err());
}

/// With hardly any noise: no bucket holds what differs, where there are as many buckets as steps.
#[test]
fn buckets_begin_where_steps_are() {
    let counts: Vec<u64> = (0..200u64).map(|bin| bin / 20 * 7 % 10 * 100).collect();
    let plan = BucketPlan::new(request(200, 1e4, 1)).unwrap();
    let release = Receipt::uncharged(plan).release(&counts, &mut words_from_system().unwrap());
    let (lengths, uneven) = release.stored_buckets().unwrap();
    let mut start = 0;
    for length in &lengths {
        let bucket = &counts[start..start + *length as usize];
        assert!(bucket.iter().all(|count| *count == bucket[0]), "{lengths:?}");
        start += bucket.len();
    }
    assert_eq!((lengths.len(), uneven.len()), (20, 1));
    for (bin, count) in counts.iter().enumerate() {
        assert!((release.sum(bin..bin + 1) - *count as f64).abs() < 0.5);
    }
    // of few bins each is one
    let plan = BucketPlan::new(request(63, 1.0, 1)).unwrap();
    assert!(!plan.looks_for_buckets());
    let release = Receipt::uncharged(plan).release(&[3; 63], &mut words_from_system().unwrap());
    assert_eq!(release.stored_buckets().unwrap().0, [1; 63]);
}
