//! What holds for every estimator.

use super::*;
use crate::coco::{Coco, Run, emd, of_sizes};
use crate::noise::words_from_system;
use crate::work::watched;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// All, also with public cuts.
fn estimators() -> impl Iterator<Item = Estimator> {
    let named = Estimator::NAMES.into_iter().map(|(_, estimator)| estimator);
    named.chain([1, 3].map(Estimator::CutAt))
}

pub(super) fn of_groups(
    estimator: Estimator,
    groups: u64,
    max_size: u64,
    rows_per_unit: u32,
    epsilon: f64,
) -> NodeMeasurement<'static> {
    let of_all = HistogramMeasurement::new(estimator, max_size, rows_per_unit, epsilon);
    of_all.unwrap().of_groups(groups)
}

/// What the noise of a release is calibrated to.
fn declared(estimator: Estimator, rows_per_unit: u32) -> u64 {
    of_groups(estimator, 5, 5, rows_per_unit, 1.0).noise().sensitivity()
}

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

/// What is measured where everything comes out as `outputs` say, and then as 0.
fn measured(measurement: &NodeMeasurement, truth: &Coco, outputs: &[i64]) -> Vec<i64> {
    let (mut exact_numbers, mut outputs) = (Vec::new(), outputs.iter().copied());
    measurement.estimate(truth, |exact| {
        exact_numbers.push(exact);
        outputs.next().unwrap_or(0)
    });
    exact_numbers
}

/// The L1 distance of what is measured of two tables that lead to the same outputs.
fn distance(measurement: &NodeMeasurement, tables: [&Coco; 2], outputs: &[i64]) -> u64 {
    let [here, there] = tables.map(|truth| measured(measurement, truth, outputs));
    assert_eq!(here.len(), there.len(), "the length is public");
    here.iter().zip(&there).map(|(a, b)| a.abs_diff(*b)).sum()
}

/// The truth, and what noise may have made of it, so that few rows are measured and so that
/// many are.
fn outputs(measurement: &NodeMeasurement, truth: &Coco) -> Vec<Vec<i64>> {
    let mut exact = Vec::new();
    measurement.estimate(truth, |number| {
        exact.push(number);
        number
    });
    [0, -2, 3].map(|noise| exact.iter().map(|number| number + noise).collect()).to_vec()
}

/// All neighbours of all small tables, with caps below, at and above the largest size: the
/// distance of the measurements is at most the declared sensitivity, which some pair attains.
#[test]
fn neighbours_differ_by_at_most_the_declared_sensitivity() {
    for estimator in estimators() {
        let mut largest_distance = 0;
        for sizes in multisets(5, 5) {
            for max_size in [1, 3, 5, 7] {
                let groups = sizes.len() as u64;
                let measurement = of_groups(estimator, groups, max_size, 1, 1.0);
                let truth = of_sizes(&sizes);
                for i in 0..sizes.len() {
                    let mut more = sizes.clone();
                    more[i] += 1;
                    let more = of_sizes(&more);
                    for outputs in outputs(&measurement, &truth) {
                        let distance = distance(&measurement, [&truth, &more], &outputs);
                        largest_distance = largest_distance.max(distance);
                    }
                }
            }
        }
        assert_eq!(largest_distance, declared(estimator, 1), "{estimator:?}");
    }
}

/// The cut in full: all multisets of up to 6 groups with sizes up to 6 and every T, or one that
/// the noisy columns tell. The scale is so small that they tell the number of rows as well.
#[test]
fn a_cut_anywhere_has_sensitivity_one() {
    for sizes in multisets(6, 6) {
        let truth = of_sizes(&sizes);
        let mut neighbours = Vec::new();
        for i in (0..sizes.len()).filter(|&i| i == 0 || sizes[i] > sizes[i - 1]) {
            let mut more = sizes.clone();
            more[i] += 1;
            neighbours.push(of_sizes(&more));
        }
        for estimator in (0..=7).map(Estimator::CutAt).chain([Estimator::Cut]) {
            let measurement = of_groups(estimator, truth.groups(), 7, 1, 1e3);
            for outputs in outputs(&measurement, &truth) {
                for more in &neighbours {
                    let distance = distance(&measurement, [&truth, more], &outputs);
                    assert_eq!(distance, 1, "{estimator} of {sizes:?}");
                }
            }
        }
    }
}

/// Regions above: one like those that are tested below it, and one that is not.
fn parents(max_size: u64) -> [Profile; 2] {
    [[1, 1, 2, 2, 3, 3, 3, 4, 5, 5, 5, 6], [30, 30, 31, 32, 40, 41, 42, 43, 44, 45, 46, 47]].map(
        |sizes| {
            let parent = of_groups(Estimator::Hg, 12, max_size, 1, 1.0);
            let parent = parent.estimate(&of_sizes(&sizes), |exact| exact);
            Profile::new(&parent, max_size, 0.0)
        },
    )
}

#[test]
fn below_a_region_the_sensitivity_stays_one() {
    let parents = parents(7);
    for sizes in multisets(6, 6) {
        let truth = of_sizes(&sizes);
        for i in (0..sizes.len()).filter(|&i| i == 0 || sizes[i] > sizes[i - 1]) {
            let mut more = sizes.clone();
            more[i] += 1;
            let more = of_sizes(&more);
            for parent in &parents {
                let measurement = of_groups(Estimator::Cut, truth.groups(), 7, 1, 1.0);
                let measurement = measurement.below(parent);
                for outputs in outputs(&measurement, &truth) {
                    let distance = distance(&measurement, [&truth, &more], &outputs);
                    assert_eq!(distance, 1, "{sizes:?}");
                }
            }
        }
    }
}

#[test]
fn below_a_region_any_noise_leaves_g_groups_within_the_size_limits() {
    let mut words = words_from_system().unwrap();
    let truth = of_sizes(&[0, 0, 1, 3, 3, 8, 40]);
    for epsilon in [0.001, 0.1, 1.0, 1e6] {
        for parent in &parents(30) {
            let measurement = of_groups(Estimator::Cut, 7, 30, 1, epsilon).below(parent);
            for _ in 0..50 {
                let estimate = measurement.release(&truth, &mut words);
                let histogram = estimate.histogram();
                assert_eq!(histogram.groups(), 7);
                assert!(histogram.runs().iter().all(|run| run.size <= 30));
                assert!(estimate.runs().iter().all(|run| run.variance >= 0.0));
                if epsilon == 1e6 {
                    assert_eq!(histogram, of_sizes(&[0, 0, 1, 3, 3, 8, 30]));
                }
            }
            for value in [i64::MIN, i64::MAX] {
                let mut noisy = value;
                let alternating = |_| {
                    noisy = !noisy;
                    noisy
                };
                assert_eq!(measurement.estimate(&truth, alternating).histogram().groups(), 7);
            }
        }
    }
}

/// A unit with k entities, in the same group or in several: k steps are at most k times as far.
#[test]
fn several_entities_of_one_unit_add_up() {
    for estimator in estimators() {
        let mut largest_distance = 0;
        for sizes in multisets(3, 3) {
            let measurement = of_groups(estimator, sizes.len() as u64, 6, 3, 1.0);
            let truth = of_sizes(&sizes);
            for picks in multisets(3, sizes.len().saturating_sub(1) as u64) {
                let mut more = sizes.clone();
                for &pick in picks.iter().filter(|_| !sizes.is_empty()) {
                    more[pick as usize] += 1;
                }
                let more = of_sizes(&more);
                for outputs in outputs(&measurement, &truth) {
                    let distance = distance(&measurement, [&truth, &more], &outputs);
                    largest_distance = largest_distance.max(distance);
                }
            }
        }
        assert_eq!(largest_distance, declared(estimator, 3), "{estimator:?}");
    }
}

#[test]
fn without_noise_every_estimator_returns_the_capped_truth() {
    for estimator in estimators() {
        for sizes in multisets(4, 4) {
            for max_size in [2, 4, 9] {
                let truth = of_sizes(&sizes);
                let measurement = of_groups(estimator, truth.groups(), max_size, 1, 1e6);
                let estimate = measurement.estimate(&truth, |exact| exact);
                let capped: Coco = truth.capped(max_size).collect();
                assert_eq!(estimate.histogram(), capped, "{estimator:?}");
            }
        }
    }
}

#[test]
fn any_noise_leaves_g_groups_within_the_size_limits() {
    let mut words = words_from_system().unwrap();
    let truth = of_sizes(&[0, 0, 1, 3, 3, 8, 40]);
    for estimator in estimators() {
        for epsilon in [0.001, 0.1, 1.0, 1e6] {
            for _ in 0..50 {
                let measurement = of_groups(estimator, 7, 30, 1, epsilon);
                let estimate = measurement.release(&truth, &mut words);
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
    for estimator in estimators() {
        for value in [i64::MIN, i64::MAX] {
            let measurement = of_groups(estimator, 5, 5, 1, 1.0);
            let mut noisy = value;
            let alternating = |_| {
                noisy = !noisy;
                noisy
            };
            let truth = of_sizes(&[0, 1, 1, 4, 5]);
            assert_eq!(measurement.estimate(&truth, alternating).histogram().groups(), 5);
        }
    }
}

#[test]
fn it_polls_throughout() {
    for (estimator, groups, max_size, draws) in [
        (Estimator::H, 10, 900_000, 900_001),
        (Estimator::Hc, 10, 900_000, 900_000),
        (Estimator::HcL2, 10, 900_000, 900_000),
        (Estimator::Hg, 1_000_000, 10, 1_000_000),
        (Estimator::Hc, 0, 900_000, 0),
    ] {
        let truth = [Run { size: 2, groups }].into_iter().collect();
        let of_all = HistogramMeasurement::new(estimator, max_size, 1, 1.0).unwrap();
        assert_eq!(of_all.draws(groups), Some(draws), "{estimator:?}");
        let mut calls = 0;
        let words = &mut words_from_system().unwrap();
        watched(&mut || calls += 1, || of_all.of_groups(groups).release(&truth, words));
        assert!(calls >= draws / 100_000, "{estimator:?}: {calls}");
    }
    let cut = HistogramMeasurement::new(Estimator::Cut, 9, 1, 1.0).unwrap();
    assert_eq!((cut.draws(5), cut.draws(0)), (None, Some(0)));
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
    let mut mean_emd = |estimator| -> f64 {
        let measurement = of_groups(estimator, truth.groups(), 1000, 1, 1.0);
        let total: u64 = (0..20)
            .map(|_| measurement.release(&truth, &mut words).histogram())
            .map(|estimate| emd(&estimate, &truth).unwrap())
            .sum();
        total as f64 / 20.0
    };
    let (naive, hc, hc_l2, hg) = (
        mean_emd(Estimator::H),
        mean_emd(Estimator::Hc),
        mean_emd(Estimator::HcL2),
        mean_emd(Estimator::Hg),
    );
    assert!(hc < 600.0 && hc_l2 < 800.0 && hg < 600.0, "{hc} {hc_l2} {hg}");
    assert!(naive > 10.0 * hc, "{naive} {hc}");
}

/// What is told apart are the numbers that were measured: without noise, those of the truth.
#[test]
fn measured_numbers_are_told_apart() {
    use super::kept::NumberKind::{Column, Count, Row};
    let truth = of_sizes(&[0, 1, 1, 3, 9]);
    let told = |estimator| {
        let measurement = of_groups(estimator, 5, 6, 1, 1e3);
        let mut numbers = Vec::new();
        measurement.estimate(&truth, |exact| {
            numbers.push(exact);
            exact
        });
        let kinds = measurement.told_apart(numbers).into_iter();
        kinds.map(|numbers| (numbers.kind, numbers.first, numbers.values)).collect::<Vec<_>>()
    };
    assert_eq!(told(Estimator::H), [(Count, 0, vec![1, 2, 0, 1, 0, 0, 1])]);
    let columns = vec![1, 3, 3, 4, 4, 4];
    assert_eq!(told(Estimator::Hc), [(Column, 0, columns.clone())]);
    assert_eq!(told(Estimator::HcL2), [(Column, 0, columns)]);
    // in descending order; sizes count up to 6
    assert_eq!(told(Estimator::Hg), [(Row, 1, vec![6, 3, 1, 1, 0])]);
    let both = [(Column, 0, vec![1, 3]), (Row, 1, vec![6, 3, 2, 2, 2])];
    assert_eq!(told(Estimator::CutAt(2)), both);
    // the third column is not followed by more groups than sizes
    let cut = told(Estimator::Cut);
    let (columns, rows) = (&cut[0].2, &cut[1].2);
    assert_eq!(cut[0].0, Column);
    assert_eq!(columns[..], [1, 3, 3, 4, 4, 4][..columns.len()]);
    let sizes = [6, 3, 1, 1, 0].map(|size: i64| size.max(columns.len() as i64));
    assert_eq!(rows[..], sizes[..rows.len()]);
}

/// Below a region that tells where to cut, and where the noise decides on the cut.
#[test]
fn the_cut_of_measured_numbers_is_the_one_that_was_made() {
    let truth: Coco = (0..60u64).map(|n| Run { size: n * n, groups: 1 + 3000 / (n + 1) }).collect();
    let words = &mut ChaCha20Rng::seed_from_u64(5);
    let parent = of_groups(Estimator::Hg, truth.groups(), 4000, 1, 1.0).estimate(&truth, |n| n);
    let profile = Profile::new(&parent, 4000, 0.0);
    for seed in 0..40 {
        let of_all = of_groups(Estimator::Cut, truth.groups(), 4000, 1, 0.3);
        let node = if seed % 2 == 0 { of_all.below(&profile) } else { of_all };
        let mut add_noise = node.noisy(words);
        let (mut exact_numbers, mut numbers) = (Vec::new(), Vec::new());
        node.estimate(&truth, |exact| {
            exact_numbers.push(exact);
            numbers.push(add_noise(exact));
            numbers[numbers.len() - 1]
        });
        let columns = node.told_apart(numbers).remove(0).values.len();
        // the columns ascend to more groups than any row has members
        assert!(exact_numbers[..columns].is_sorted() && columns > 10);
        assert!(exact_numbers[columns] < exact_numbers[columns - 1]);
    }
}
