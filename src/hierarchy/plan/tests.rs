use super::*;
use crate::coco::Run;
use crate::path::Path;
use crate::privacy::{ShareError, rho_of_pure};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn plan(
    levels: usize,
    epsilon: f64,
    estimators: &[&str],
    consistency: &str,
    max_size: i64,
    shares: Option<&[f64]>,
) -> Result<ReleasePlan, PlanError> {
    let request = ReleaseRequest::new(levels, epsilon).by(estimators, consistency).up_to(max_size);
    ReleasePlan::new(&ReleaseRequest { shares: shares.map(<[f64]>::to_vec), ..request })
}

#[test]
fn the_parts_of_all_levels_stay_within_epsilon() {
    let plan = plan(3, 1.0, &["H", "Hc", "Hg"], "matching", 10, None).unwrap();
    let levels = || plan.levels().iter().flatten();
    let estimators: Vec<Estimator> = levels().map(LevelMeasurement::estimator).collect();
    assert_eq!(estimators, [Estimator::H, Estimator::Hc, Estimator::Hg]);
    let total: f64 = levels().map(LevelMeasurement::epsilon).sum();
    assert!(total <= 1.0 && total > 1.0 - 1e-14);
}

/// What the first look and the levels are calibrated to, whatever it releases.
#[test]
fn the_levels_share_what_the_first_look_leaves() {
    for (levels, epsilon) in [(2, 0.1), (3, 1.0), (4, 7.3), (10, 2.0)] {
        let plan = plan(levels, epsilon, &["auto"], "matching", 50, None).unwrap();
        let look = plan.first_look().unwrap();
        let leaves = (0..6u64).map(|leaf| {
            let path = (1..levels).map(|level| (leaf >> level.min(2)).to_string());
            (path.chain([leaf.to_string()]).skip(1).collect::<Path>(), 10u64)
        });
        let (tree, _) = Tree::from_leaves(levels - 1, leaves.collect()).unwrap();
        for seed in 0..20 {
            let mut words = ChaCha20Rng::seed_from_u64(seed);
            let sizes = (0..60).map(|i| Run { size: i % 7 * (seed % 5), groups: 1 });
            let root = look.release(&sizes.collect(), &mut words);
            let of_levels = plan.levels_after(look, &root.0, &tree, |_| 100_000).unwrap();
            let of_levels: f64 = of_levels.iter().flatten().map(LevelMeasurement::epsilon).sum();
            let sum = look.measurement().noise().epsilon() + of_levels;
            assert!(sum <= epsilon && sum > epsilon * (1.0 - 1e-13), "{levels}: {sum}");
        }
        // at most what one measurement with all of it loses
        assert!(
            plan.loss().rho() <= rho_of_pure(epsilon)
                && plan.loss().rho() > 0.9 * rho_of_pure(epsilon)
        );
    }
}

#[test]
fn only_the_cut_on_all_levels_looks_first() {
    let looks = |estimators: &[&str], consistency: &str, levels: usize, shares: Option<&[f64]>| {
        plan(levels, 1.0, estimators, consistency, 10, shares).unwrap().first_look().is_some()
    };
    assert!(looks(&["auto"], "matching", 2, None) && looks(&["cut", "cut"], "matching", 2, None));
    assert!(!looks(&["cut"], "matching", 2, Some(&[0.5, 0.5])));
    assert!(!looks(&["cut", "Hc"], "matching", 2, None));
    assert!(!looks(&["cut:3"], "matching", 2, None));
    assert!(!looks(&["cut"], "matching", 1, None));
    for consistency in ["none", "bottom_up", "matching_unweighted"] {
        assert!(!looks(&["cut"], consistency, 2, None));
    }
}

#[test]
fn bottom_up_spends_everything_at_the_leaves() {
    let plan = plan(3, 1.0, &["Hc"], "bottom_up", 10, None).unwrap();
    assert!(plan.levels()[..2].iter().all(Option::is_none));
    assert!(plan.levels()[2].as_ref().unwrap().epsilon() > 1.0 - 1e-14);
}

#[test]
fn each_bad_argument_has_its_own_error() {
    let estimator = |name: &str| PlanError::Estimator { name: name.into() };
    for (outcome, error) in [
        (plan(3, -1.0, &["Hc"], "none", 10, None), PlanError::Epsilon { value: -1.0 }),
        (plan(3, 1.0, &["hc"], "none", 10, None), estimator("hc")),
        (plan(3, 1.0, &["cut:"], "none", 10, None), estimator("cut:")),
        (plan(3, 1.0, &["cut:+4"], "none", 10, None), estimator("cut:+4")),
        (plan(3, 1.0, &["cut:11"], "none", 10, None), PlanError::Cut { cut: 11, max_size: 10 }),
        (
            plan(3, 1.0, &["Hc", "Hc"], "none", 10, None),
            PlanError::EstimatorCount { got: 2, levels: 3 },
        ),
        (plan(3, 1.0, &[], "none", 10, None), PlanError::EstimatorCount { got: 0, levels: 3 }),
        (
            plan(3, 1.0, &["Hc"], "median", 10, None),
            PlanError::Consistency { name: "median".into() },
        ),
        (
            plan(2, 1.0, &["Hc", "H"], "chain", 10, None),
            PlanError::Meaningless { estimator: Estimator::H, consistency: Consistency::Chain },
        ),
        (plan(3, 1.0, &["Hc"], "none", 0, None), PlanError::MaxSize { value: 0 }),
        (plan(3, 1.0, &["Hc"], "none", -4, None), PlanError::MaxSize { value: -4 }),
        (
            plan(3, 1.0, &["Hc"], "none", 10, Some(&[1.0])),
            PlanError::ShareCount { got: 1, levels: 3 },
        ),
        (
            plan(2, 1.0, &["Hc"], "none", 10, Some(&[0.5, 0.6])),
            PlanError::Share(ShareError::SumNotOne { sum: 1.1 }),
        ),
        (plan(2, 1.0, &["Hc"], "bottom_up", 10, Some(&[0.5, 0.5])), PlanError::SharesWithoutLevels),
    ] {
        assert_eq!(outcome.unwrap_err(), error);
    }
    for epsilon in [f64::NAN, f64::INFINITY, 0.0] {
        let error = plan(1, epsilon, &["Hc"], "none", 10, None).unwrap_err();
        assert!(matches!(error, PlanError::Epsilon { .. }));
    }
    for (epsilon, consistency) in [(1e-9, "none"), (1e8, "none"), (1e-9, "chain")] {
        let error = plan(3, epsilon, &["Hc"], consistency, 10, None).unwrap_err();
        assert!(matches!(error, PlanError::Scale { .. }), "{error}");
    }
}

#[test]
fn a_chain_takes_cumulative_counts() {
    for estimator in ["Hc", "Hc_l2", "auto"] {
        assert!(plan(3, 1.0, &[estimator], "chain", 10, None).is_ok());
    }
    let error = plan(3, 1.0, &["Hg"], "chain", 10, None).unwrap_err();
    assert_eq!(error.hint(), "Estimators with a meaning: Hc, Hc_l2, auto.");
    let error = plan(3, 1.0, &["auto", "cut", "cut"], "cumulative", 10, None).unwrap_err();
    assert_eq!(error.hint(), "Estimators with a meaning: Hc, Hc_l2, auto.");
}

#[test]
fn every_estimator_can_be_written_as_it_is_recorded() {
    for word in ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:0", "cut:7", "cut:10"] {
        let plan = plan(1, 1.0, &[word], "matching", 10, None).unwrap();
        assert_eq!(plan.describe()["levels"][0]["estimator"], word);
    }
    for (consistency, meant) in [("matching", Estimator::Cut), ("cumulative", Estimator::Hc)] {
        let plan = plan(1, 1.0, &["auto"], consistency, 10, None).unwrap();
        assert_eq!(plan.levels()[0].as_ref().unwrap().estimator(), meant);
    }
}

#[test]
fn a_chains_record_says_that_its_sensitivity_depends_on_the_regions() {
    let describe = |consistency| {
        let request = ReleaseRequest::new(2, 1.0).by(&["Hc"], consistency).up_to(10);
        ReleasePlan::new(&ReleaseRequest { rows_per_unit: 3, ..request }).unwrap().describe()
    };
    let chain = describe("chain");
    assert_eq!(chain["levels"][1]["sensitivity"], "3 x regions of the level");
    assert!(chain["note"].as_str().unwrap().contains("not private"));
    let matching = describe("matching");
    assert_eq!(matching["levels"][1]["sensitivity"], 3);
    assert!(matching.get("note").is_none());
}

/// The suggested max_size is the largest that is taken.
#[test]
fn dense_methods_refuse_too_many_cells() {
    let with_max_size = |max_size| plan(2, 1.0, &["Hc"], "pgsr", max_size, None).unwrap();
    let most = MAX_CELLS / 3200;
    assert_eq!(with_max_size(most as i64 - 1).check_regions(&[1, 3199]), Ok(()));
    let error = with_max_size(most as i64).check_regions(&[1, 3199]).unwrap_err();
    assert!(matches!(error, PlanError::Cells { regions: 3200, .. }));
    assert!(error.hint().contains(&format!(" {} or less", most - 1)));
    assert!(with_max_size(1).check_regions(&[1, usize::MAX]).is_err());
    let hint = with_max_size(1).check_regions(&[1, MAX_CELLS - 1]).unwrap_err().hint();
    assert_eq!(hint, "Choose consistency \"matching\".");
    let matching = plan(2, 1.0, &["Hc"], "matching", 5_000_000, None).unwrap();
    assert_eq!(matching.check_regions(&[1, 1_000_000]), Ok(()));
}
