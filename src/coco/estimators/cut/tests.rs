use crate::coco::estimators::tests::of_groups;
use crate::coco::{Coco, Estimate, EstimatedRun, Estimator, Run, emd, of_sizes};
use crate::noise::words_from_system;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn estimate(truth: &Coco, estimator: Estimator, epsilon: f64) -> Estimate {
    let measurement = of_groups(estimator, truth.groups(), 50, 1, epsilon);
    measurement.release(truth, &mut ChaCha20Rng::seed_from_u64(1))
}

#[test]
fn the_ends_are_hc_and_hg() {
    let truth = of_sizes(&[0, 1, 1, 1, 3, 3, 8, 8, 8, 30, 49, 50, 70]);
    for epsilon in [0.05, 0.3, 1.0, 5.0] {
        for (end, cut) in [(Estimator::Hc, 50), (Estimator::Hg, 0)] {
            assert_eq!(
                estimate(&truth, end, epsilon),
                estimate(&truth, Estimator::CutAt(cut), epsilon)
            );
        }
    }
}

/// Of 100,000 groups, 40 lie beyond a cut at 20, and 43 + 4t rows with the noise's allowance. Left to the
/// columns, the cut is the first beyond 20.
#[test]
fn few_numbers_are_measured() {
    let large = (0..40).map(|i| Run { size: 21 + i % 25, groups: 1 });
    let truth: Coco = [Run { size: 2, groups: 99_960 }].into_iter().chain(large).collect();
    for estimator in [Estimator::CutAt(20), Estimator::Cut] {
        let measurement = of_groups(estimator, 100_000, 50, 1, 1.0);
        let mut sizes = Vec::new();
        measurement.estimate(&truth, |exact| {
            sizes.push(exact);
            exact
        });
        let columns = sizes.iter().filter(|number| **number >= 99_960).count();
        let rows = sizes.len() - sizes.iter().position(|n| *n >= 99_960).unwrap() - columns;
        assert!(rows <= 40 + 4 + 3 && columns <= 24, "{estimator}: {columns}, {rows}");
    }
}

/// Three groups in a cell between two columns; a row alone and a block of two.
#[test]
fn variances_are_those_of_cells_and_blocks() {
    let truth = of_sizes(&[2, 2, 2, 9, 9, 30]);
    let measurement = of_groups(Estimator::CutAt(4), 6, 50, 1, 0.5);
    let v = measurement.noise().variance();
    let run = |size, variance, groups| EstimatedRun { size, variance, groups };
    let expected = [run(2, 2.0 * v / 3.0, 3), run(9, v / 2.0, 2), run(30, v, 1)];
    assert_eq!(measurement.estimate(&truth, |exact| exact).runs(), expected);
}

/// The columns miss a group by noise, and its row is far beyond what noise makes of a 0.
#[test]
fn a_large_row_is_above_the_cut_whatever_the_columns_say() {
    let truth = of_sizes(&[1, 1, 1, 1, 1, 45]);
    let measurement = of_groups(Estimator::CutAt(4), 6, 50, 1, 1.0);
    let of_columns = |noise: i64| {
        let mut measured = 0;
        let estimate = measurement.estimate(&truth, |exact| {
            measured += 1;
            if (2..=4).contains(&measured) { exact + noise } else { exact }
        });
        estimate.histogram()
    };
    assert_eq!(of_columns(1), truth);
    // one too many: it stays at the cut
    assert_eq!(of_columns(-1), of_sizes(&[1, 1, 1, 1, 4, 45]));
}

#[test]
fn half_of_all_noise_is_no_reason_for_large_groups() {
    let truth = of_sizes(&[1; 400]);
    let mut words = words_from_system().unwrap();
    let measurement = of_groups(Estimator::CutAt(4000), 400, 5000, 1, 1.0);
    for _ in 0..20 {
        let estimate = measurement.release(&truth, &mut words);
        // 4,000 columns of scale 1 say that nothing is beyond them; each of 11 rows would have
        // to exceed about 1,900
        assert!(estimate.runs().iter().all(|run| run.size < 4000 || run.groups == 0));
    }
}

/// Sizes from 20 to 50 alone, and hardly any from 51 on: whatever the largest size may be, the columns do not end
/// before these. (The words are fixed: no random failures.)
#[test]
fn the_largest_size_does_not_matter_below_a_crowd() {
    let crowd = (20..51).map(|size| Run { size, groups: 20 });
    let truth: Coco = crowd.chain([Run { size: 300, groups: 3 }]).collect();
    let error = |estimator, max_size, epsilon: f64| {
        let measurement = of_groups(estimator, truth.groups(), max_size, 1, epsilon);
        let errors = (0..40).map(|seed| {
            let mut words = ChaCha20Rng::seed_from_u64(seed);
            emd(&measurement.release(&truth, &mut words).histogram(), &truth).unwrap() as f64
        });
        errors.sum::<f64>() / 40.0
    };
    for epsilon in [0.05, 0.2, 1.0] {
        let best = error(Estimator::CutAt(64), 400, epsilon);
        for max_size in [400, 40_000] {
            let by_itself = error(Estimator::Cut, max_size, epsilon);
            assert!(by_itself < 1.1 * best, "{max_size}, {epsilon}: {by_itself} and {best}");
        }
    }
}
