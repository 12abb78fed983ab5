//! Carrying out a plan on the histograms of a tree.

use super::consistency::{KnownRegions, KnownTotals};
use super::measuring::{KeptNumbers, evidence, measure};
use super::observer::Observer;
use super::plan::{PlanError, ReleasePlan};
use super::tree::Tree;
use crate::coco::{Coco, DpCoco};
use crate::noise::{RandomWords, ScaleError};
use std::fmt;
use std::num::NonZeroUsize;

/// What a mechanism releases: all of it may be published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Released {
    /// One per region of the tree, in its order.
    pub histograms: Vec<DpCoco>,
    /// Each candidate's name and noisy error, how many entities it is off by in all regions of all
    /// levels together; the first of the least is `histograms`. Empty where there was no choice.
    pub errors: Vec<(String, i64)>,
    /// What each level's measurement was calibrated to, None where nothing was measured. Empty
    /// where there was a choice.
    pub epsilons: Vec<Option<f64>>,
    /// The noisy numbers, if they were to be kept.
    pub measurements: Vec<KeptNumbers>,
}

/// Why a plan cannot be carried out on a tree. Nothing of it depends on private rows.
#[derive(Debug, Clone, PartialEq)]
pub enum ReleaseError {
    /// The tree is too large for the plan.
    Plan(PlanError),
    /// A noise scale that depends on the number of regions cannot be sampled.
    Scale(ScaleError),
    /// Not one histogram per leaf.
    Leaves { got: usize, leaves: usize },
    /// More groups in all than can be counted.
    Groups { groups: u128 },
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReleaseError::Plan(error) => error.fmt(f),
            ReleaseError::Scale(error) => write!(f, "epsilon {error}"),
            ReleaseError::Leaves { got, leaves } => {
                write!(f, "got {got} histograms for a tree with {leaves} leaves")
            }
            ReleaseError::Groups { groups } => {
                write!(f, "the regions have {groups} groups in all, more than {MOST_GROUPS}")
            }
        }
    }
}

impl std::error::Error for ReleaseError {}

impl From<PlanError> for ReleaseError {
    fn from(error: PlanError) -> ReleaseError {
        ReleaseError::Plan(error)
    }
}

impl From<ScaleError> for ReleaseError {
    fn from(error: ScaleError) -> ReleaseError {
        ReleaseError::Scale(error)
    }
}

/// What PostgreSQL's `bigint` holds. Sums saturate there, and a parent's groups could not be
/// matched to more of its children's.
const MOST_GROUPS: u128 = i64::MAX as u128;

/// The exact histograms of all regions, in the tree's order. Where the numbers of groups are private
/// no leaf has more than its part of what can be counted, or the error would tell of them.
///
/// Errors: [`ReleaseError::Leaves`], [`ReleaseError::Groups`].
pub(super) fn sums(
    tree: &Tree,
    mut leaves: Vec<Coco>,
    groups_are_private: bool,
) -> Result<Vec<Coco>, ReleaseError> {
    if leaves.len() != tree.leaves().len() {
        return Err(ReleaseError::Leaves { got: leaves.len(), leaves: tree.leaves().len() });
    }
    if groups_are_private {
        let most = (MOST_GROUPS / leaves.len().max(1) as u128) as u64;
        for leaf in leaves.iter_mut().filter(|leaf| leaf.groups() > most) {
            *leaf = leaf.with_groups(most);
        }
    }
    let groups = leaves.iter().map(|leaf| u128::from(leaf.groups())).sum(); // public, or fits
    if groups > MOST_GROUPS {
        return Err(ReleaseError::Groups { groups });
    }
    Ok(tree.sums(leaves))
}

/// One differentially private histogram per region of the tree, in its order. `truth`: the exact
/// histograms of all regions, in the tree's order, each the sum of its children.
///
/// The plan has as many levels as the tree. `threads`: the most that measure regions at a time,
/// this one included; what is released does not depend on it.
///
/// Errors: see [`ReleaseError`].
pub(super) fn release_sums<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: impl AsRef<[Coco]>,
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Released, ReleaseError> {
    let per_level: Vec<usize> = (0..tree.depth()).map(|level| tree.level(level).len()).collect();
    plan.check_regions(&per_level)?;
    let Some(counts) = plan.groups() else {
        return release_known(plan, tree, truth, words, threads, observer);
    };
    let completed = counts.complete(tree, truth.as_ref(), words);
    drop(truth);
    release_known(plan, tree, completed, words, threads, observer)
}

/// The same where the numbers of groups of all histograms are public, or released.
fn release_known<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: impl AsRef<[Coco]>,
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Released, ReleaseError> {
    let mut measured = measure(plan, tree, truth.as_ref(), words, threads, observer)?;
    let totals: Vec<u64> = truth.as_ref().iter().map(Coco::groups).collect(); // public
    drop(truth); // from here on everything is post-processing of what was released
    let (epsilons, measurements) = (measured.epsilons(), measured.take_kept());
    let evidence = evidence(plan, tree, measured);
    let totals = Some(KnownTotals::Regions(&totals));
    let known = KnownRegions { tree, evidence, totals, threads };
    let consistent = plan.consistency().apply(known, observer);
    let histograms = consistent.histograms.into_iter().map(DpCoco::new).collect();
    Ok(Released { histograms, errors: vec![], epsilons, measurements })
}

#[cfg(test)]
mod tests;
