//! Several ways to release, of which the one that errs least is published (the algorithm selection
//! of Chaudhuri, Monteleoni and Sarwate, JMLR 12, 2011, as Kuo et al., section 6, propose it).
//!
//! Each candidate is released with a share of epsilon, and the errors of all of them are measured with
//! noise, with a share of their own. The candidate whose noisy error is the least is published with
//! these errors. All shares are charged: of the other candidates nothing is seen, but they took part
//! in the choice.
//!
//! *Privacy.* The releases compose sequentially. For fixed releases, the error of one summed over all
//! levels has the sensitivity L times the rows of a unit, since an entity changes that of each level by at
//! most 1 ([`error`](super::error)). The vector of all m errors has m times that, in the L1 norm, and gets
//! discrete Laplace noise of that sensitivity over the share of epsilon. This composes with the
//! releases, adaptively. The choice of the least noisy error is post-processing.
//!
//! A report of the noisy minimum alone would need less noise on each error (there m plays no part),
//! but its proof is another one, and here the noise is small beside the errors of interest: with 3
//! candidates, 3 levels and epsilon 1 its scale is 180 entities in the whole hierarchy.

use super::error::level_error;
use super::plan::{PlanError, ReleasePlan};
use super::release::{Observer, ReleaseError, release_sums, sums};
use super::tree::Tree;
use crate::charge::{Cost, Costs, Receipt};
use crate::coco::{Coco, DpCoco};
use crate::noise::{DiscreteLaplace, RandomWords, Scale};
use crate::privacy::{Epsilon, rho_of_pure};
use serde_json::json;
use std::num::NonZeroUsize;

/// How a choice is written: `select:cut|Hc|Hg`.
const PREFIX: &str = "select:";
const SEPARATOR: char = '|';

/// Between the words for the levels of one candidate, where they differ.
const LEVELS_SEPARATOR: char = '/';

/// More would leave each of them little.
pub const MAX_CANDIDATES: usize = 10;

/// The share of epsilon that the errors are measured with.
const SHARE_OF_ERRORS: f64 = 0.05;

/// A release by one plan, or by the best of several.
#[derive(Debug, Clone)]
pub enum Mechanism {
    Plan(ReleasePlan),
    Selection(Selection),
}

/// What is to be selected from.
#[derive(Debug, Clone)]
pub struct Selection {
    epsilon: Epsilon,
    /// As written, without the prefix; two or more.
    names: Vec<String>,
    /// One for each name, for their share of epsilon.
    candidates: Vec<ReleasePlan>,
    /// The share of all errors together.
    epsilon_of_errors: f64,
    noise: DiscreteLaplace,
}

/// What a mechanism releases: all of it may be published.
#[derive(Debug, Clone, PartialEq)]
pub struct Released {
    /// One per region of the tree, in its order.
    pub histograms: Vec<DpCoco>,
    /// Each candidate's name and noisy error, how many entities it is off by in all regions of all levels
    /// together; the first of the least is `histograms`. Empty where there was no choice.
    pub errors: Vec<(String, i64)>,
}

/// The words for the levels of one candidate: `Hc` for all, or `Hc/Hc/Hg`. A choice is one word for all.
pub(super) fn words_of_levels(candidate: &str) -> Vec<String> {
    if candidate.starts_with(PREFIX) {
        return vec![candidate.to_string()];
    }
    candidate.split(LEVELS_SEPARATOR).map(String::from).collect()
}

impl Mechanism {
    /// As [`ReleasePlan::new`], and `estimators` may be one word `select:` with candidates behind it.
    ///
    /// Errors: as there; [`PlanError::Selection`].
    pub fn new(
        levels: usize,
        epsilon: f64,
        estimators: &[String],
        consistency: &str,
        max_size: i64,
        shares: Option<&[f64]>,
        rows_per_unit: u32,
    ) -> Result<Mechanism, PlanError> {
        let plan = |epsilon, estimators: &[String]| {
            let new = ReleasePlan::new;
            new(levels, epsilon, estimators, consistency, max_size, shares, rows_per_unit)
        };
        let Some(word) = estimators.iter().find(|word| word.starts_with(PREFIX)) else {
            return plan(epsilon, estimators).map(Mechanism::Plan);
        };
        let names: Vec<String> = word[PREFIX.len()..].split(SEPARATOR).map(String::from).collect();
        if estimators.len() > 1 || !(2..=MAX_CANDIDATES).contains(&names.len()) {
            return Err(PlanError::Selection { word: word.clone() });
        }
        let budget = Epsilon::new(epsilon).map_err(|_| PlanError::Epsilon { value: epsilon })?;
        let m = names.len();
        let mut shares = vec![(1.0 - SHARE_OF_ERRORS) / m as f64; m];
        shares.push(SHARE_OF_ERRORS);
        let mut parts = budget.split(&shares).map_err(PlanError::Share)?;
        let epsilon_of_errors = parts.pop().unwrap_or_default();
        let candidates = names
            .iter()
            .zip(parts)
            .map(|(name, part)| plan(part, &words_of_levels(name)))
            .collect::<Result<Vec<_>, _>>()?;
        let sensitivity = m as u64 * levels as u64 * u64::from(rows_per_unit);
        let scale = Scale::new(sensitivity, epsilon_of_errors)
            .map_err(|error| PlanError::Scale { value: epsilon, error })?;
        let noise = DiscreteLaplace::new(scale);
        let epsilon = budget;
        let selection = Selection { epsilon, names, candidates, epsilon_of_errors, noise };
        Ok(Mechanism::Selection(selection))
    }

    /// The plans that are carried out; one or more.
    pub fn plans(&self) -> &[ReleasePlan] {
        match self {
            Mechanism::Plan(plan) => std::slice::from_ref(plan),
            Mechanism::Selection(selection) => &selection.candidates,
        }
    }

    /// The whole budget: what is charged.
    pub fn epsilon(&self) -> Epsilon {
        match self {
            Mechanism::Plan(plan) => plan.epsilon(),
            Mechanism::Selection(selection) => selection.epsilon,
        }
    }

    /// The zero-concentrated loss of all that is measured.
    pub fn rho(&self) -> f64 {
        match self {
            Mechanism::Plan(plan) => plan.rho(),
            Mechanism::Selection(selection) => {
                // each error is a measurement of its own
                let m = selection.candidates.len() as f64;
                let of_error = rho_of_pure((selection.epsilon_of_errors / m).next_up());
                let add = |sum: f64, plan: &ReleasePlan| (sum + plan.rho()).next_up();
                selection.candidates.iter().fold((m * of_error).next_up(), add)
            }
        }
    }

    pub fn max_size(&self) -> u64 {
        self.plans()[0].max_size()
    }

    /// Whether every size of every region is held at once, which bounds their number.
    pub fn is_dense(&self) -> bool {
        self.plans()[0].consistency().is_dense()
    }

    /// As [`ReleasePlan::check_regions`], for all plans.
    pub fn check_regions(&self, per_level: &[usize]) -> Result<(), PlanError> {
        self.plans().iter().try_for_each(|plan| plan.check_regions(per_level))
    }

    /// What will be measured and how, for the ledger's readers.
    pub fn describe(&self) -> serde_json::Value {
        match self {
            Mechanism::Plan(plan) => plan.describe(),
            Mechanism::Selection(selection) => {
                let m = selection.candidates.len() as u64;
                let candidates = selection.candidates.iter().map(ReleasePlan::describe);
                json!({
                    "selection": candidates.collect::<Vec<_>>(),
                    "errors": {
                        "epsilon": selection.epsilon_of_errors,
                        "sensitivity": m * selection.levels() * selection.rows_per_unit(),
                    },
                })
            }
        }
    }

    /// Carries the mechanism out on the exact histograms of the tree's leaves, as
    /// [`release`](super::release()) does.
    ///
    /// Errors: see [`ReleaseError`].
    pub fn release<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        leaves: Vec<Coco>,
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        let truth = sums(tree, leaves)?;
        self.release_sums(tree, truth, words, threads, observer)
    }

    /// The same where the exact histograms of all regions are known, in the tree's order.
    pub(super) fn release_sums<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        truth: impl AsRef<[Coco]>,
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        match self {
            Mechanism::Plan(plan) => {
                let histograms = release_sums(plan, tree, truth, words, threads, observer)?;
                Ok(Released { histograms, errors: vec![] })
            }
            Mechanism::Selection(selection) => {
                selection.release_sums(tree, truth.as_ref(), words, threads, observer)
            }
        }
    }
}

impl Costs for Mechanism {
    fn cost(&self) -> Cost {
        let (epsilon, rho) = (self.epsilon(), self.rho());
        Cost { epsilon, delta: 0.0, rho, mechanism: self.describe() }
    }
}

impl<P> Receipt<Mechanism, P> {
    /// One histogram per region of the tree, in its order, from the exact histograms of its leaves.
    ///
    /// Errors: see [`ReleaseError`].
    pub fn release<R: RandomWords + ?Sized>(
        self,
        tree: &Tree,
        leaves: Vec<Coco>,
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        self.into_mechanism().release(tree, leaves, words, threads, observer)
    }
}

impl Selection {
    fn levels(&self) -> u64 {
        self.candidates[0].levels().len() as u64
    }

    fn rows_per_unit(&self) -> u64 {
        u64::from(self.candidates[0].rows_per_unit())
    }

    fn release_sums<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        truth: &[Coco],
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        let mut selected = Released { histograms: vec![], errors: vec![] };
        let mut least = i64::MAX;
        for (name, plan) in self.names.iter().zip(&self.candidates) {
            let histograms = release_sums(plan, tree, truth, words, threads, observer)?;
            let error = total_error(tree, &histograms, truth);
            let noisy = error.saturating_add(self.noise.sample(words));
            if selected.errors.is_empty() || noisy < least {
                (least, selected.histograms) = (noisy, histograms);
            }
            selected.errors.push((name.clone(), noisy));
        }
        Ok(selected)
    }
}

/// The error of all levels together. At most `i64::MAX`.
///
/// *Sensitivity.* The number of levels, each of which contributes at most 1.
fn total_error(tree: &Tree, released: &[DpCoco], truth: &[Coco]) -> i64 {
    let of_level = |level| level_error(level, tree, released, truth);
    (0..tree.depth()).map(of_level).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::error::tests::{multisets, of_sizes};
    use super::*;
    use crate::coco::Run;
    use crate::noise::words_from_system;

    fn mechanism(epsilon: f64, estimators: &[&str], rows: u32) -> Result<Mechanism, PlanError> {
        let estimators: Vec<String> = estimators.iter().map(|word| word.to_string()).collect();
        Mechanism::new(2, epsilon, &estimators, "matching", 10, None, rows)
    }

    fn selection(epsilon: f64, estimators: &str, rows: u32) -> Selection {
        match mechanism(epsilon, &[estimators], rows).unwrap() {
            Mechanism::Selection(selection) => selection,
            Mechanism::Plan(plan) => panic!("{plan:?}"),
        }
    }

    fn tree(leaves: [&[u64]; 2]) -> (Tree, Vec<Coco>) {
        let leaf = |(name, sizes): (&str, &[u64])| (vec![name.to_string()], of_sizes(sizes));
        Tree::from_leaves(1, ["a", "b"].into_iter().zip(leaves).map(leaf).collect()).unwrap()
    }

    /// All neighbours of all small trees, and whatever was released of them: the total error moves by the
    /// number of levels at most, and does so.
    #[test]
    fn an_entity_changes_the_total_error_by_at_most_the_levels() {
        let mut largest = 0;
        let small = multisets(2);
        for (a, b) in small.iter().flat_map(|a| small.iter().map(move |b| (a, b))) {
            let (own, leaves) = tree([a, b]);
            let truth = own.sums(leaves);
            let mut neighbours = Vec::new();
            for group in 0..a.len() + b.len() {
                let (mut a, mut b) = (a.clone(), b.clone());
                match group.checked_sub(a.len()) {
                    None => a[group] += 1,
                    Some(group) => b[group] += 1,
                }
                neighbours.push(own.sums(tree([&a, &b]).1));
            }
            for root in multisets(3) {
                for (left, right) in small.iter().flat_map(|l| small.iter().map(move |r| (l, r))) {
                    let released = [&root, left, right].map(|sizes| DpCoco::new(of_sizes(sizes)));
                    let here = total_error(&own, &released, &truth);
                    for neighbour in &neighbours {
                        let there = total_error(&own, &released, neighbour);
                        largest = largest.max(here.abs_diff(there));
                    }
                }
            }
        }
        assert_eq!(largest, 2);
    }

    #[test]
    fn all_parts_stay_within_epsilon_and_are_charged() {
        let Selection { candidates, epsilon_of_errors, noise, .. } =
            selection(1.0, "select:cut|Hc/Hg|H", 3);
        let of_candidates: f64 = candidates.iter().map(|plan| plan.epsilon().value()).sum();
        let all = of_candidates + epsilon_of_errors;
        assert!(all <= 1.0 && all > 1.0 - 1e-14, "{all}");
        // three errors, two levels, three rows
        assert_eq!(noise.scale(), Scale::new(18, epsilon_of_errors).unwrap());
        let mechanism = mechanism(1.0, &["select:cut|Hc/Hg|H"], 3).unwrap();
        assert_eq!(mechanism.epsilon().value(), 1.0);
        let description = mechanism.describe();
        assert_eq!(description["errors"]["sensitivity"], 18);
        assert_eq!(description["selection"][1]["levels"][1]["estimator"], "Hg");
        let parts: f64 = candidates.iter().map(ReleasePlan::rho).sum();
        let rho = mechanism.rho() - parts;
        let expected = 3.0 * rho_of_pure(epsilon_of_errors / 3.0);
        assert!((expected..expected * (1.0 + 1e-9)).contains(&rho), "{rho} {expected}");
    }

    #[test]
    fn without_a_choice_a_mechanism_is_its_plan() {
        let estimators = ["Hc".to_string()];
        let plan = ReleasePlan::new(2, 1.0, &estimators, "matching", 10, None, 1).unwrap();
        let mechanism = mechanism(1.0, &["Hc"], 1).unwrap();
        assert_eq!((mechanism.rho(), mechanism.describe()), (plan.rho(), plan.describe()));
    }

    #[test]
    fn choices_that_are_none() {
        let many = format!("select:{}Hc", "Hc|".repeat(MAX_CANDIDATES));
        for words in [&["select:Hc"][..], &["select:"], &["select:cut|Hc", "Hc"], &[&many]] {
            let error = mechanism(1.0, words, 1).unwrap_err();
            assert!(matches!(error, PlanError::Selection { .. }), "{error}");
        }
        let error = mechanism(1.0, &["select:cut|Hx"], 1).unwrap_err();
        assert_eq!(error, PlanError::Estimator { word: "Hx".into() });
        let error = mechanism(1.0, &["select:cut|select:Hc"], 1).unwrap_err();
        assert!(matches!(error, PlanError::Estimator { .. }));
        let error = mechanism(f64::NAN, &["select:cut|Hc"], 1).unwrap_err();
        assert!(matches!(error, PlanError::Epsilon { .. }));
        // the errors' noise has the largest scale: 1.6e9 where that of a level is below 1e8
        let error = mechanism(5e-8, &["select:cut|Hc"], 1).unwrap_err();
        assert!(matches!(error, PlanError::Scale { .. }), "{error}");
    }

    #[test]
    fn leaves_that_are_not_the_trees_are_refused() {
        let (tree, _) = tree([&[1], &[2]]);
        let mechanism = mechanism(1.0, &["select:cut|Hc"], 1).unwrap();
        let mut words = words_from_system().unwrap();
        let error = mechanism.release(&tree, vec![], &mut words, NonZeroUsize::MIN, &mut ());
        assert_eq!(error, Err(ReleaseError::Leaves { got: 0, leaves: 2 }));
    }

    /// Of two sizes Hc finds nearly all groups; H takes some twenty for groups of any of 2000 sizes, which makes
    /// hundreds of times the scale of the errors' noise. That is 40, and the noise of an error exceeds 740
    /// with a probability below 1e-8.
    #[test]
    fn the_better_candidate_is_published() {
        let sizes = |size, groups| [Run { size, groups }].into_iter().collect::<Coco>();
        let leaves =
            vec![(vec!["a".into()], sizes(3, 5000)), (vec!["b".into()], sizes(1500, 5000))];
        let (tree, leaves) = Tree::from_leaves(1, leaves).unwrap();
        let estimators = ["select:H|Hc|H".to_string()];
        let mechanism = Mechanism::new(2, 3.0, &estimators, "matching", 2000, None, 1).unwrap();
        let mut words = words_from_system().unwrap();
        let truth = tree.sums(leaves.clone());
        let released =
            mechanism.release(&tree, leaves, &mut words, NonZeroUsize::MIN, &mut ()).unwrap();
        let names: Vec<&str> = released.errors.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["H", "Hc", "H"]);
        let error = total_error(&tree, &released.histograms, &truth);
        assert!((error - released.errors[1].1).abs() < 740, "{error} {:?}", released.errors);
        assert!(released.errors[1].1 < released.errors[0].1.min(released.errors[2].1));
    }
}
