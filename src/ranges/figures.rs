//! Known figures of the methods, reproduced, and what a plan promises of all of them.

use super::asked::{self, laplace};
use super::*;
use crate::charge::Costs;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::privacy::{Epsilon, composed_epsilon, rho_of_pure};

fn rows(
    bins: i64,
    epsilon: f64,
    delta: f64,
    workload: Workload,
    methods: &[&str],
    branching: Option<u32>,
) -> Vec<ExplainedMethod> {
    let methods: Vec<String> = methods.iter().map(|word| word.to_string()).collect();
    let methods = (!methods.is_empty()).then_some(methods.as_slice());
    explain(&ExplainRequest { bins, epsilon, delta, workload, methods, branching }).unwrap()
}

/// Tables 1 and 3 of Qardaji et al.: the mean variance over all ranges at epsilon = 1 and with
/// continuous Laplace noise, of which each node has 2 h^2.
#[test]
fn means_of_the_trees_are_the_papers() {
    let table: [(i64, [&str; 6]); 3] = [
        (16, ["12.00", "79.53", "34.46", "12.00", "12.00", "28.52"]),
        (64, ["44.00", "299.15", "99.92", "105.62", "45.43", "82.60"]),
        (256, ["172.00", "773.98", "220.06", "150.98", "79.23", "214.39"]),
    ];
    for (bins, expected) in table {
        let methods = [("flat", None), ("tree", Some(2)), ("tree_consistent", Some(2))];
        let methods =
            methods.into_iter().chain([("tree", Some(16)), ("tree_consistent", Some(16))]);
        let found = methods.map(|(method, branching)| {
            let row = &rows(bins, 1.0, 0.0, Workload::All, &[method], branching)[0];
            let height = match branching {
                Some(branching) => TreeShape::new(bins as usize, branching as usize).height(),
                None => 1,
            };
            let noise = laplace(1.0 / height as f64);
            let node = MeasurementNoise::new(noise).unwrap().variance();
            row.spread.mean * 2.0 * (height * height) as f64 / node
        });
        // the levels of quad differ in their noise: where it is wide it is nearly continuous
        let epsilon = 1e-3;
        let quad = rows(bins, epsilon, 0.0, Workload::All, &["quad"], None)[0].spread.mean;
        let found = found.chain([quad * epsilon * epsilon]);
        let found: Vec<String> = found.map(|mean| format!("{mean:.2}")).collect();
        assert_eq!(found, expected, "{bins}");
    }
}

/// How far each is from the limit.
#[test]
fn ratios_to_the_singular_value_bound_are_known() {
    let ratio = |bins, workload, method: &str, branching| {
        let row = &rows(bins, 1.0, 1e-6, workload, &[method], branching)[0];
        format!("{:.3}", row.svd_ratio.unwrap())
    };
    for (bins, cascade, optimal) in [(64, "1.609", "1.022"), (256, "1.665", "1.018")] {
        assert_eq!(ratio(bins, Workload::All, "cascade", None), cascade);
        assert_eq!(ratio(bins, Workload::All, "optimal", None), optimal);
    }
    for (bins, cascade, prefix, optimal) in
        [(64, "1.447", "1.194", "1.062"), (1024, "1.536", "1.142", "1.035")]
    {
        assert_eq!(ratio(bins, Workload::Prefix, "cascade", None), cascade);
        assert_eq!(ratio(bins, Workload::Prefix, "prefix", None), prefix);
        assert_eq!(ratio(bins, Workload::Prefix, "optimal", None), optimal);
    }
}

/// The plan that a release with "auto" carries out, against every method by itself; and the row
/// that is said to be chosen is that plan's, whether or not all methods are asked for.
#[test]
fn no_method_is_better_than_auto() {
    for bins in [1, 2, 7, 64, 200] {
        for (epsilon, delta) in [(1.0, 0.0), (0.1, 1e-6), (20.0, 1e-9), (1.0, 0.3)] {
            for (_, workload) in Workload::WORDS {
                let method = MethodChoice::auto(TargetRanges::Workload(workload));
                let request = RangeRequest { bins, epsilon, delta, rows_per_unit: 1, method };
                let auto = RangePlan::new(request).unwrap();
                let mean = auto.mechanism().spread(workload).mean;
                let all = rows(bins, epsilon, delta, workload, &[], None);
                let words: Vec<&str> = all.iter().map(|row| row.method.as_str()).collect();
                let each = rows(bins, epsilon, delta, workload, &words, None);
                for row in all.iter().chain(&each) {
                    let context = format!("{bins} {epsilon} {delta} {workload:?}: {mean} {row:?}");
                    assert!(mean <= row.spread.mean * (1.0 + 1e-12), "{context}");
                    assert!(row.spread.max >= row.spread.mean * (1.0 - 1e-12), "{context}");
                    if row.chosen {
                        assert_eq!(row.spread.mean, mean, "{context}");
                    }
                }
                assert_eq!(all.iter().filter(|row| row.chosen).count(), 1);
                assert!(each.iter().any(|row| row.chosen));
            }
        }
    }
}

/// The loss of the mechanism that is built, for a unit of privacy with some rows, is within the
/// charge; and uses it up.
#[test]
fn no_plan_spends_more_than_it_charges() {
    let words = RangeMethod::ALL.iter().map(|method| method.word());
    let words = words.chain(["auto", "tree:3", "tree:optimised", "tree_consistent:4:geometric"]);
    for word in words.chain(["cascade:7", "optimal:nodes", "minimax:prefix"]) {
        for (epsilon, delta) in [(1.0, 0.0), (0.3, 1e-7), (5.0, 1e-3)] {
            // 70: amounts of that many units
            for rows in [1u32, 3, 70] {
                let asked = asked::ranges(37, epsilon, delta, word).unwrap();
                let plan = match RangePlan::new(RangeRequest { rows_per_unit: rows, ..asked }) {
                    Ok(plan) => plan,
                    Err(RangePlanError::DeltaMissing { .. }) if delta == 0.0 => continue,
                    Err(error) => panic!("{word}: {error}"),
                };
                let k = f64::from(rows);
                match plan.mechanism().measurements().loss() {
                    Loss::Epsilon(loss) => {
                        let spent = loss * k / epsilon;
                        assert!((1.0 - 1e-12..=1.0 + 1e-15).contains(&spent), "{word}: {spent}");
                        assert_eq!(plan.delta(), 0.0);
                        assert!(plan.rho() <= rho_of_pure(epsilon));
                    }
                    Loss::Rho(loss) => {
                        assert!(loss * k * k <= plan.rho() * (1.0 + 1e-14), "{word}");
                        let spent = composed_epsilon(&plan.cost().loss, delta).unwrap();
                        assert!(spent <= epsilon * (1.0 + 1e-10), "{word}: {spent}");
                        assert!(
                            spent >= epsilon * 0.95,
                            "{word} {rows} {epsilon}: {spent} {:?}",
                            plan.cost().loss
                        );
                        assert_eq!(plan.delta(), delta);
                    }
                }
                assert_eq!(plan.epsilon().decimal(), Epsilon::new(epsilon).unwrap().decimal());
            }
        }
    }
}

/// "auto" and "optimal" for ranges that are asked for are better for them than what is made for
/// all.
#[test]
fn what_is_made_for_some_ranges_is_better_for_them() {
    let ranges: Vec<_> = (0..100).map(|bin| bin..bin + 1).chain(std::iter::once(0..50)).collect();
    let request = asked::ranges(100, 1.0, 1e-6, "auto").unwrap();
    let mean = |method, target| {
        let method = MethodChoice { method, ..MethodChoice::auto(target) };
        let plan = RangePlan::new(RangeRequest { method, ..request.clone() }).unwrap();
        plan.mechanism().spread_over(&mut ranges.iter().cloned()).mean
    };
    for method in [None, Some(RangeMethod::Optimal)] {
        let general = mean(method, TargetRanges::Workload(Workload::All));
        let made_for_them = mean(method, TargetRanges::Ranges(ranges.clone()));
        assert!(made_for_them < 0.5 * general, "{method:?}: {made_for_them} {general}");
    }
    // nothing is asked for
    for empty in [vec![], std::iter::once(3..3).collect()] {
        let method = MethodChoice::auto(TargetRanges::Ranges(empty));
        assert!(RangePlan::new(RangeRequest { method, ..request.clone() }).is_ok());
    }
}

#[test]
fn what_cannot_be_planned_is_refused_by_the_name_of_its_argument() {
    let refused = |bins, epsilon, delta, method| {
        let plan = asked::ranges(bins, epsilon, delta, method).and_then(RangePlan::new);
        plan.err().unwrap().to_string()
    };
    for (bins, epsilon, delta, method, message) in [
        (0, 1.0, 0.0, "auto", "the number of bins must be from 1 to 16777216, got 0"),
        (1 << 25, 1.0, 0.0, "auto", "the number of bins must be from 1 to 16777216, got 33554432"),
        (
            (1 << 20) + 1,
            1.0,
            1e-6,
            "optimal",
            "the number of bins for method \"optimal\" must be at most 1048576, got 1048577",
        ),
        (
            (1 << 14) + 1,
            1.0,
            1e-6,
            "minimax",
            "the number of bins for method \"minimax\" must be at most 16384, got 16385",
        ),
        (8, -1.0, 0.0, "auto", "epsilon must be a positive, finite number, got -1"),
        (8, f64::NAN, 0.0, "auto", "epsilon must be a positive, finite number, got NaN"),
        (8, 1.0, 1.0, "auto", "delta must be at least 0 and less than 1, got 1"),
        (8, 1.0, -1e-9, "auto", "delta must be at least 0 and less than 1, got -0.000000001"),
        (8, 1.0, f64::NAN, "auto", "delta must be at least 0 and less than 1, got NaN"),
        (8, 1.0, 1e-320, "auto", "delta 1e-320 is too small to calibrate noise with"),
        (8, 1.0, 0.0, "cascade", "delta must be positive for method \"cascade\", got 0"),
        (8, 1.0, 1e-6, "wave", "method: unknown word \"wave\""),
        (8, 1.0, 0.0, "tree:1", "branching must be from 2 to 16777216, got 1"),
        (8, 1.0, 1e-6, "cascade:1025", "branching must be from 2 to 1024, got 1025"),
    ] {
        assert_eq!(refused(bins, epsilon, delta, method), message);
    }
    assert!(refused(8, 1e-12, 0.0, "flat").starts_with("epsilon 0.000000000001 "));
}

/// Noise of so small a scale that its variance underflows.
#[test]
fn with_an_endless_budget_every_method_gives_the_truth() {
    let mut words = words_from_system().unwrap();
    let mut methods = 0;
    for bins in [1, 2, 10, 37] {
        let counts: Vec<u64> = (0..bins).map(|bin| bin * bin % 11).collect();
        for (delta, epsilon) in [(0.0, 1e6), (1e-6, 1e9)] {
            for (_, workload) in Workload::WORDS {
                for choice in
                    MethodChoice::suitable(bins as i64, delta, &TargetRanges::Workload(workload))
                {
                    let word = choice.to_string();
                    let bins = bins as i64;
                    let plan = RangePlan::new(RangeRequest {
                        bins,
                        epsilon,
                        delta,
                        rows_per_unit: 1,
                        method: choice,
                    });
                    // a method with Laplace noise alone has no scale for 1e9
                    let Ok(plan) = plan else {
                        assert!(delta > 0.0, "{word}");
                        continue;
                    };
                    methods += 1;
                    let release = Receipt::uncharged(plan).release(&counts, &mut words);
                    for range in Workload::All.ranges(bins as usize) {
                        let truth: u64 = counts[range.clone()].iter().sum();
                        let off = (release.sum(range.clone()) - truth as f64).abs();
                        assert!(off < 1e-2, "{word}, {bins} bins, {range:?}: off by {off}");
                        assert!(release.variance(range).unwrap() < 1e-6, "{word}");
                    }
                }
            }
        }
    }
    // 7 pure ones, and 7 with Gaussian noise or more
    assert!(methods >= 4 * 3 * 14, "{methods}");
}
