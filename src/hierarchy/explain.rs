//! How far off a release can be expected to be, before anything is spent: releases of made-up data
//! are simulated by the mechanisms themselves.
//!
//! The data come from a [`Prior`], which is public, and so is all that follows.

use super::consistency::Consistency;
use super::distance::level_error;
use super::observer::Observer;
use super::plan::{PlanError, ReleaseRequest, names_of_levels};
use super::prior::Prior;
use super::release::ReleaseError;
use super::selection::Mechanism;
use super::tree::Tree;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::num::NonZeroUsize;

/// What is explained where the caller names nothing. Consistency methods that hold all cells at
/// once are slow, and for comparison.
const ESTIMATORS: [&str; 3] = ["cut", "Hc", "Hg"];
const CONSISTENCY: [&str; 2] = ["matching", "bottom_up"];

/// Where the hierarchy has more groups, `Hg` is explained on demand alone: it draws noise for every
/// group of every level, and for every simulation.
pub const MAX_GROUPS_OF_HG: u64 = 10_000_000;

/// One way to release.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// As a release takes them.
    pub estimators: Vec<String>,
    pub consistency: String,
    pub mechanism: Mechanism,
    /// Whether a release does this unless told otherwise.
    pub chosen: bool,
}

/// The mean error of a region of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedError {
    /// Earth mover's distance.
    pub emd: f64,
    /// How far `emd` is off for want of more simulations: its standard error. What the prior is off
    /// by is not in it.
    pub standard_error: f64,
}

/// Every estimator with every consistency method, in their order, each mechanism once.
///
/// `request`: what a release would be asked for, if it were told no estimators and no consistency;
/// its shares are for what is measured on all levels. `estimators`: a name for all levels, or one
/// per level with slashes between them (`Hc/Hc/Hg`), or a choice (`select:cut|Hc`); None for those
/// of `cut`, `Hc` and `Hg` that have a meaning. `consistency`: None for `matching` and `bottom_up`.
/// `groups`: how many there are.
///
/// Errors: those of a release.
pub fn candidates(
    request: &ReleaseRequest,
    estimators: Option<&[String]>,
    consistency: Option<&[String]>,
    groups: u64,
) -> Result<Vec<Candidate>, PlanError> {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let consistency: Vec<String> =
        consistency.map_or_else(|| owned(&CONSISTENCY), |names| names.to_vec());
    let names: Vec<String> = estimators.map_or_else(|| owned(&ESTIMATORS), |n| n.to_vec());
    if names.is_empty() {
        return Err(PlanError::EstimatorCount { got: 0, levels: request.levels });
    }
    if consistency.is_empty() {
        return Err(PlanError::Consistency { name: String::new() });
    }
    let default = Mechanism::new(request)?;
    let mut candidates: Vec<Candidate> = Vec::new();
    for method in &consistency {
        let alone = Consistency::parse(method).is_some_and(Consistency::measures_leaves_alone);
        let shares = request.shares.clone().filter(|_| !alone);
        for name in &names {
            let by_default = estimators.is_none();
            if by_default && name == "Hg" && groups > MAX_GROUPS_OF_HG {
                continue;
            }
            let asked = ReleaseRequest {
                estimators: names_of_levels(name),
                consistency: method.clone(),
                shares: shares.clone(),
                ..request.clone()
            };
            let mechanism = match Mechanism::new(&asked) {
                Err(PlanError::Meaningless { .. }) if by_default => continue,
                mechanism => mechanism?,
            };
            // a choice has several plans, and equal ones make the same choice
            if candidates.iter().all(|known| known.mechanism.plans() != mechanism.plans()) {
                let chosen = mechanism.plans() == default.plans();
                let ReleaseRequest { estimators, consistency, .. } = asked;
                candidates.push(Candidate { estimators, consistency, mechanism, chosen });
            }
        }
    }
    Ok(candidates)
}

/// For every mechanism and each of its levels the mean error of a region, from so many simulated
/// releases, two or more. The same arguments give the same answer: the words for the noise are
/// those of a generator with a fixed seed. No other mechanism changes the figures of one.
///
/// `tree`: with the leaves of the prior, and as many levels as the mechanisms have. `threads`: the
/// most that measure regions at a time.
///
/// Errors: those of a release.
pub fn expected_errors(
    mechanisms: &[&Mechanism],
    tree: &Tree,
    prior: &Prior,
    simulations: u32,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<Vec<ExpectedError>>, ReleaseError> {
    let mut samples = vec![vec![Vec::new(); tree.depth()]; mechanisms.len()];
    for round in 0..simulations {
        let mut words = ChaCha20Rng::seed_from_u64(round.into());
        let leaves = prior.draw(&mut words);
        let truth = tree.sums(leaves);
        for (mechanism, samples) in mechanisms.iter().zip(&mut samples) {
            let words = &mut words.clone();
            let released = mechanism.release_sums(tree, &truth, words, threads, &mut ())?;
            for (level, samples) in samples.iter_mut().enumerate() {
                let regions = tree.level(level).len().max(1);
                let error = level_error(level, tree, &released.histograms, &truth);
                samples.push(error as f64 / regions as f64);
            }
        }
        observer.simulated(round + 1);
    }
    let expected = |levels: Vec<Vec<f64>>| levels.iter().map(|sample| mean(sample)).collect();
    Ok(samples.into_iter().map(expected).collect())
}

/// The mean of two or more numbers and its standard error.
fn mean(sample: &[f64]) -> ExpectedError {
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    ExpectedError { emd: mean, standard_error: (squares / (count - 1.0) / count).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::super::prior::Shape;
    use super::*;
    use crate::charge::Receipt;
    use crate::coco::{Coco, Run};

    const ONE: NonZeroUsize = NonZeroUsize::MIN;

    fn asked() -> ReleaseRequest {
        ReleaseRequest::new(2, 1.0).up_to(50)
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    /// Five regions of very different numbers of groups.
    fn prior() -> (Tree, Prior) {
        let leaves = [3u64, 10, 40, 200, 1000].map(|groups| (vec![groups.to_string()], groups));
        let (tree, groups) = Tree::from_leaves(1, leaves.to_vec()).unwrap();
        (tree, Prior::Shape { shape: Shape::heavy_tailed(4.0, 50).unwrap(), groups })
    }

    fn named(estimators: Option<&[&str]>, consistency: Option<&[&str]>) -> Vec<Candidate> {
        let (estimators, consistency) = (estimators.map(owned), consistency.map(owned));
        candidates(&asked(), estimators.as_deref(), consistency.as_deref(), 1253).unwrap()
    }

    fn names(candidates: &[Candidate]) -> Vec<String> {
        candidates.iter().map(|c| format!("{} {}", c.estimators.join("/"), c.consistency)).collect()
    }

    #[test]
    fn one_of_the_default_candidates_is_chosen() {
        let all = named(None, None);
        assert_eq!(
            names(&all),
            [
                "cut matching",
                "Hc matching",
                "Hg matching",
                "cut bottom_up",
                "Hc bottom_up",
                "Hg bottom_up"
            ]
        );
        let chosen: Vec<bool> = all.iter().map(|candidate| candidate.chosen).collect();
        assert_eq!(chosen, [true, false, false, false, false, false]);
        let many = candidates(&asked(), None, None, MAX_GROUPS_OF_HG + 1).unwrap();
        assert!(many.iter().all(|candidate| candidate.estimators != ["Hg"]));
    }

    #[test]
    fn candidates_are_every_pair_that_has_a_meaning_once() {
        assert_eq!(names(&named(None, Some(&["cumulative"]))), ["Hc cumulative"]);
        let both = named(Some(&["Hc/Hg", "cut", "auto"]), Some(&["matching"]));
        assert_eq!(names(&both), ["Hc/Hg matching", "cut matching"]);
        assert!(both[1].chosen && !both[0].chosen);
        let choices = ["select:cut|Hc/Hg", "select:auto|Hc/Hg", "select:cut|Hc"];
        let choices = named(Some(&choices), Some(&["matching"]));
        assert_eq!(names(&choices), ["select:cut|Hc/Hg matching", "select:cut|Hc matching"]);
        assert!(choices.iter().all(|candidate| !candidate.chosen));
        let refused = |estimators: &[&str], consistency: &[&str]| {
            let (estimators, consistency) = (owned(estimators), owned(consistency));
            candidates(&asked(), Some(&estimators), Some(&consistency), 1).unwrap_err()
        };
        assert!(matches!(refused(&["Hg"], &["chain"]), PlanError::Meaningless { .. }));
        assert!(matches!(refused(&["select:Hg"], &["none"]), PlanError::Selection { .. }));
        assert!(matches!(refused(&["Hc/Hc/Hc"], &["none"]), PlanError::EstimatorCount { .. }));
        assert!(matches!(refused(&[], &["none"]), PlanError::EstimatorCount { got: 0, .. }));
        assert!(matches!(refused(&["Hc"], &["mean"]), PlanError::Consistency { .. }));
        assert!(matches!(refused(&["Hc"], &[]), PlanError::Consistency { .. }));
    }

    #[test]
    fn shares_are_for_what_has_levels() {
        let request = ReleaseRequest { shares: Some(vec![0.25, 0.75]), ..asked() };
        let all = candidates(&request, None, None, 1).unwrap();
        assert_eq!(all.len(), 6);
        let at_leaves = |candidate: &Candidate| {
            candidate.mechanism.plans()[0].levels()[1].as_ref().unwrap().epsilon()
        };
        assert_eq!(at_leaves(&all[0]), 0.75 * at_leaves(&all[3]));
    }

    /// The figures are those of releases with other words of the same prior's data: for every
    /// candidate and level within six of their standard errors. (The words are fixed: no random
    /// failures.)
    #[test]
    fn expected_errors_are_those_of_releases() {
        let (tree, prior) = prior();
        let candidates = named(
            Some(&["cut", "Hc", "Hg", "select:cut|Hc/Hg|H"]),
            Some(&["matching", "bottom_up", "pgsr"]),
        );
        let mechanisms: Vec<&Mechanism> = candidates.iter().map(|c| &c.mechanism).collect();
        let expected = expected_errors(&mechanisms, &tree, &prior, 300, ONE, &mut ()).unwrap();
        for (mechanism, expected) in mechanisms.iter().zip(&expected) {
            let mut errors = vec![Vec::new(); 2];
            for seed in 1_000_000..1_000_300 {
                let mut words = ChaCha20Rng::seed_from_u64(seed);
                let truth = prior.draw(&mut words);
                let receipt = Receipt::uncharged((*mechanism).clone());
                let released =
                    receipt.release(&tree, truth.clone(), &mut words, ONE, &mut ()).unwrap();
                let truth = tree.sums(truth);
                for (level, errors) in errors.iter_mut().enumerate() {
                    let error = level_error(level, &tree, &released.histograms, &truth);
                    errors.push(error as f64 / tree.level(level).len() as f64);
                }
            }
            for (expected, errors) in expected.iter().zip(errors) {
                let real = mean(&errors);
                let spread = real.standard_error.hypot(expected.standard_error);
                assert!((real.emd - expected.emd).abs() < 6.0 * spread, "{real:?} {expected:?}");
                // and this would tell an error of a quarter from the truth
                assert!(spread < 0.04 * real.emd, "{real:?} {expected:?}");
            }
        }
    }

    #[test]
    fn figures_are_repeatable_and_do_not_depend_on_other_candidates() {
        let (tree, prior) = prior();
        let all = named(None, None);
        let mechanisms: Vec<&Mechanism> = all.iter().map(|c| &c.mechanism).collect();
        let explain = |mechanisms: &[&Mechanism]| {
            expected_errors(mechanisms, &tree, &prior, 3, ONE, &mut ()).unwrap()
        };
        let together = explain(&mechanisms);
        assert_eq!(together, explain(&mechanisms));
        assert_eq!(together[2..3], explain(&mechanisms[2..3]));
    }

    #[test]
    fn a_histogram_is_taken_as_the_truth() {
        let leaf: Coco = [Run { size: 3, groups: 10 }].into_iter().collect();
        let (tree, leaves) = Tree::from_leaves(0, vec![(vec![], leaf)]).unwrap();
        let request = ReleaseRequest { levels: 1, epsilon: 1e6, ..asked() };
        let all = candidates(&request, None, None, 10).unwrap();
        let mechanisms: Vec<&Mechanism> = all.iter().map(|c| &c.mechanism).collect();
        let expected =
            expected_errors(&mechanisms, &tree, &Prior::Leaves(leaves), 2, ONE, &mut ()).unwrap();
        let exact = ExpectedError { emd: 0.0, standard_error: 0.0 };
        assert_eq!(expected, vec![vec![exact]; all.len()]);
    }

    #[test]
    fn the_standard_error_of_a_mean() {
        let ExpectedError { emd, standard_error } = mean(&[1.0, 2.0, 3.0, 6.0]);
        // variance 14 / 3
        assert_eq!((emd, standard_error), (3.0, (14.0f64 / 12.0).sqrt()));
    }
}
