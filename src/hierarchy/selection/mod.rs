//! Several ways to release, of which the one that errs least is published (the algorithm selection
//! of Chaudhuri, Monteleoni and Sarwate, JMLR 12, 2011, as Kuo et al., section 6, propose it).
//!
//! Each candidate is released with a share of epsilon, and the errors of all of them are measured
//! with noise, with a share of their own. The candidate whose noisy error is the least is published
//! with these errors. All shares are charged: of the other candidates nothing is seen, but they
//! took part in the choice.
//!
//! *Privacy.* The releases compose sequentially. For fixed releases, the error of one summed over
//! all levels has the sensitivity L times the rows of a unit, since an entity changes that of each
//! level by at most 1 ([`distance`](super::distance)). The vector of all m errors has m times that,
//! in the L1 norm, and gets discrete Laplace noise of that sensitivity over the share of epsilon.
//! This composes with the releases, adaptively. The choice of the least noisy error is
//! post-processing.
//!
//! A report of the noisy minimum alone would need less noise on each error (there m plays no part),
//! but its proof is another one, and here the noise is small beside the errors of interest: with 3
//! candidates, 3 levels and epsilon 1 its scale is 180 entities in the whole hierarchy.

use super::distance::level_error;
use super::observer::Observer;
use super::plan::{
    MAX_CANDIDATES, PlanError, ReleasePlan, ReleaseRequest, candidates, names_of_levels,
};
use super::release::{ReleaseError, Released, release_sums, sums};
use super::tree::Tree;
use crate::charge::{Cost, Costs, Receipt};
use crate::coco::{Coco, DpCoco};
use crate::noise::RandomWords;
use crate::privacy::{Epsilon, LaplaceMechanism, PrivacyLoss};
use serde_json::json;
use std::num::NonZeroUsize;

/// The share of epsilon that the errors are measured with.
const SHARE_OF_ERRORS: f64 = 0.05;

/// A release by one plan, or by the best of several. It is carried out by a receipt:
///
/// ```
/// use pg_dp::charge::Receipt;
/// use pg_dp::coco::{Coco, Run};
/// use pg_dp::hierarchy::{Mechanism, ReleaseRequest, Tree};
/// use pg_dp::noise::words_from_system;
/// use std::num::NonZeroUsize;
///
/// let leaf = |size| -> Coco { [Run { size, groups: 3 }].into_iter().collect() };
/// let leaves = vec![(vec!["a".to_string()], leaf(1)), (vec!["b".to_string()], leaf(5))];
/// let (tree, leaves) = Tree::from_leaves(1, leaves)?;
/// let mechanism = Mechanism::new(&ReleaseRequest::new(2, 1.0))?;
/// let (words, one) = (&mut words_from_system()?, NonZeroUsize::MIN);
/// let released = Receipt::uncharged(mechanism).release(&tree, leaves, words, one, &mut ())?;
/// assert_eq!(released.histograms[0].histogram().groups(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Without one nothing is drawn:
///
/// ```compile_fail
/// # use pg_dp::coco::Coco;
/// # use pg_dp::hierarchy::{Mechanism, ReleaseRequest, Tree};
/// # use pg_dp::noise::words_from_system;
/// # use std::num::NonZeroUsize;
/// # let (tree, leaves) = Tree::from_leaves(0, vec![(vec![], Coco::default())]).unwrap();
/// # let (words, one) = (&mut words_from_system().unwrap(), NonZeroUsize::MIN);
/// let mechanism = Mechanism::new(&ReleaseRequest::new(1, 1.0)).unwrap();
/// mechanism.release(&tree, leaves, words, one, &mut ());
/// ```
#[derive(Debug, Clone)]
pub enum Mechanism {
    Plan(ReleasePlan),
    Selection(Selection),
}

/// What is to be selected from.
#[derive(Debug, Clone)]
pub struct Selection {
    epsilon: Epsilon,
    /// As they are written.
    names: Vec<String>,
    /// One for each name, for their share of epsilon.
    candidates: Vec<ReleasePlan>,
    /// That of all errors together.
    noise: LaplaceMechanism,
}

impl Mechanism {
    /// Errors: those of [`ReleasePlan::new`]; [`PlanError::Selection`].
    pub fn new(request: &ReleaseRequest) -> Result<Mechanism, PlanError> {
        let choice = request.estimators.iter().find_map(|name| Some((name, candidates(name)?)));
        let Some((written, names)) = choice else {
            return ReleasePlan::new(request).map(Mechanism::Plan);
        };
        if request.estimators.len() > 1 || !(2..=MAX_CANDIDATES).contains(&names.len()) {
            return Err(PlanError::Selection { name: written.clone() });
        }
        if request.keep_measurements {
            return Err(PlanError::NothingToKeep { word: written.clone() });
        }
        if request.groups_per_unit.is_some() {
            // each candidate would measure the numbers of groups again
            return Err(PlanError::PrivateGroups { word: written.clone() });
        }
        let value = request.epsilon;
        let epsilon = Epsilon::new(value).map_err(|_| PlanError::Epsilon { value })?;
        let m = names.len();
        let mut shares = vec![(1.0 - SHARE_OF_ERRORS) / m as f64; m];
        shares.push(SHARE_OF_ERRORS);
        let mut parts = epsilon.split(&shares).map_err(PlanError::Share)?;
        let of_errors = parts.pop().unwrap_or_default();
        let plan = |(name, part): (&String, f64)| {
            let estimators = names_of_levels(name);
            ReleasePlan::new(&ReleaseRequest { epsilon: part, estimators, ..request.clone() })
        };
        let candidates = names.iter().zip(parts).map(plan).collect::<Result<Vec<_>, _>>()?;
        let sensitivity = m as u64 * request.levels as u64 * u64::from(request.rows_per_unit);
        let noise = LaplaceMechanism::new(sensitivity, of_errors)
            .map_err(|error| PlanError::Scale { value, error })?;
        Ok(Mechanism::Selection(Selection { epsilon, names, candidates, noise }))
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

    /// Of all that is measured.
    pub fn loss(&self) -> PrivacyLoss {
        match self {
            Mechanism::Plan(plan) => plan.loss(),
            Mechanism::Selection(selection) => {
                // each error is a measurement of its own
                let m = selection.candidates.len();
                let of_error = (selection.noise.epsilon() / m as f64).next_up();
                let errors = PrivacyLoss::of_pure(vec![of_error; m]);
                selection.candidates.iter().map(ReleasePlan::loss).fold(errors, PrivacyLoss::and)
            }
        }
    }

    /// The mechanism as it was carried out, with the levels' epsilons that a first look led to: see
    /// [`Released::epsilons`]. Without a first look it stays as it is.
    ///
    /// Errors: not one for each level, or one that cannot be sampled.
    pub fn with_levels(&self, epsilons: &[Option<f64>]) -> Result<Mechanism, PlanError> {
        match self {
            Mechanism::Plan(plan) => plan.with_levels(epsilons).map(Mechanism::Plan),
            Mechanism::Selection(_) => Ok(self.clone()),
        }
    }

    pub fn max_size(&self) -> u64 {
        self.plans()[0].max_size()
    }

    /// Whether the numbers of groups are private, so that released ones are off, too.
    pub fn has_private_groups(&self) -> bool {
        self.plans().iter().any(ReleasePlan::has_private_groups)
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
                let candidates = selection.candidates.iter().map(ReleasePlan::describe);
                json!({
                    "selection": candidates.collect::<Vec<_>>(),
                    "errors": {
                        "epsilon": selection.noise.epsilon(),
                        "sensitivity": selection.noise.sensitivity(),
                    },
                })
            }
        }
    }

    /// Carries the mechanism out where the exact histograms of all regions are known, in the tree's
    /// order.
    ///
    /// Errors: see [`ReleaseError`].
    pub(super) fn release_sums<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        truth: impl AsRef<[Coco]>,
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        match self {
            Mechanism::Plan(plan) => release_sums(plan, tree, truth, words, threads, observer),
            Mechanism::Selection(selection) => {
                selection.release_sums(tree, truth.as_ref(), words, threads, observer)
            }
        }
    }
}

impl Costs for Mechanism {
    fn cost(&self) -> Cost {
        let (epsilon, loss) = (self.epsilon(), self.loss());
        Cost { epsilon, delta: 0.0, loss, mechanism: self.describe() }
    }
}

impl<P> Receipt<Mechanism, P> {
    /// One differentially private histogram per region of the tree, in its order.
    ///
    /// `leaves`: the exact histograms of the tree's leaves, whose numbers of groups are public unless
    /// it was asked for otherwise. The tree has as many levels as were asked for. `threads`: the
    /// most that measure regions at a time, this one included; what is released does not depend on
    /// it.
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
        let mechanism = self.into_mechanism();
        let truth = sums(tree, leaves, mechanism.has_private_groups())?;
        mechanism.release_sums(tree, truth, words, threads, observer)
    }
}

impl Selection {
    fn release_sums<R: RandomWords + ?Sized>(
        &self,
        tree: &Tree,
        truth: &[Coco],
        words: &mut R,
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Released, ReleaseError> {
        let mut selected = Released::default();
        let mut least = i64::MAX;
        for (name, plan) in self.names.iter().zip(&self.candidates) {
            let Released { histograms, .. } =
                release_sums(plan, tree, truth, words, threads, observer)?;
            let error = total_error(tree, &histograms, truth);
            let noisy = self.noise.add(error, words);
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
mod tests;
