//! Carrying out a plan on the histograms of a tree.

use super::measurement::{Measured, measure, profiles};
use super::plan::{PlanError, ReleasePlan};
use super::tree::Tree;
use crate::coco::{Coco, DpCoco, Estimate};
use crate::noise::{RandomWords, ScaleError};
use std::fmt;

/// Who watches a long release; a closure, as its checkpoint.
pub trait Observer {
    /// Called every few thousand steps; may unwind to cancel the release.
    fn checkpoint(&mut self);
    /// Called when one more region is measured.
    fn region_measured(&mut self) {}
    /// Called when all `regions` of a level are measured.
    fn level_measured(&mut self, _level: usize, _regions: usize) {}
    /// Called when one more parent's groups are matched with its children's.
    fn parent_matched(&mut self) {}
}

impl<F: FnMut()> Observer for F {
    fn checkpoint(&mut self) {
        self();
    }
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
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReleaseError::Plan(error) => error.fmt(f),
            ReleaseError::Scale(error) => write!(f, "epsilon {error}"),
            ReleaseError::Leaves { got, leaves } => {
                write!(f, "got {got} histograms for a tree with {leaves} leaves")
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

/// One differentially private histogram per region of the tree, in its order.
///
/// `leaves`: the exact histograms of the tree's leaves, whose numbers of groups are public.
/// The plan has as many levels as the tree.
///
/// Errors: see [`ReleaseError`].
pub fn release<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut R,
    observer: &mut dyn Observer,
) -> Result<Vec<DpCoco>, ReleaseError> {
    if leaves.len() != tree.leaves().len() {
        return Err(ReleaseError::Leaves { got: leaves.len(), leaves: tree.leaves().len() });
    }
    let per_level: Vec<usize> = (0..tree.depth()).map(|level| tree.level(level).len()).collect();
    plan.check_regions(&per_level)?;
    let truth = tree.sums(leaves);
    let mut measured: Vec<Measured> = Vec::with_capacity(truth.len());
    // A level is measured after the one above, which it may be adapted to: the levels compose
    // sequentially, and adaptively.
    for (level, level_plan) in plan.levels().iter().enumerate() {
        let regions = tree.level(level);
        let Some(level_plan) = level_plan else {
            measured.resize(regions.end, Measured::Estimate(Estimate::default()));
            continue;
        };
        let truth = &truth[regions.clone()];
        let above = match level.checked_sub(1) {
            Some(above) if plan.levels()[above].is_some() => tree.level(above),
            _ => 0..0,
        };
        let profiles = profiles(plan, level_plan, &measured[above.clone()]);
        let parents = tree.parents(level).map(|parent| {
            let place = parent?.checked_sub(above.start)?;
            profiles.get(place)?.as_ref()
        });
        let of_level = measure(plan, level_plan, truth, parents, words, observer)?;
        measured.extend(of_level);
        observer.level_measured(level, regions.len());
    }
    let totals: Vec<u64> = truth.iter().map(Coco::groups).collect(); // public
    drop(truth); // from here on everything is post-processing of what was released
    let histograms = plan.consistency().apply(tree, &totals, measured, observer);
    Ok(histograms.into_iter().map(DpCoco::new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coco::Run;
    use crate::noise::words_from_system;

    fn outcome(
        consistency: &str,
        max_size: i64,
        epsilon: f64,
        regions: usize,
        histograms: usize,
    ) -> Result<Vec<DpCoco>, ReleaseError> {
        let depth = usize::from(regions != 1);
        let paths = (0..regions).map(|i| (vec![format!("{i:04}"); depth], ()));
        let (tree, _) = Tree::from_leaves(depth, paths.collect()).unwrap();
        let estimators = ["Hc".to_string()];
        let plan =
            ReleasePlan::new(depth + 1, epsilon, &estimators, consistency, max_size, None, 1)
                .unwrap();
        let leaf: Coco = [Run { size: 1, groups: 1 }].into_iter().collect();
        let mut words = words_from_system().unwrap();
        release(&plan, &tree, vec![leaf; histograms], &mut words, &mut || {})
    }

    #[test]
    fn a_tree_that_does_not_fit_the_plan_is_an_error() {
        assert_eq!(
            outcome("none", 3, 1.0, 1, 0).unwrap_err(),
            ReleaseError::Leaves { got: 0, leaves: 1 }
        );
        assert_eq!(
            outcome("matching", 3, 1.0, 2, 3).unwrap_err(),
            ReleaseError::Leaves { got: 3, leaves: 2 }
        );
        for consistency in ["pgsr", "topdown", "cumulative", "chain"] {
            let error = outcome(consistency, 5_000_000, 1.0, 100, 100).unwrap_err();
            assert!(matches!(error, ReleaseError::Plan(PlanError::Cells { .. })), "{error}");
        }
        // 1e-8 per level: the root's scale is 1e8, that of the eleven regions' chain 1.1e9
        assert!(outcome("chain", 3, 2e-8, 9, 9).is_ok());
        let error = outcome("chain", 3, 2e-8, 11, 11).unwrap_err();
        assert!(matches!(error, ReleaseError::Plan(PlanError::Scale { .. })), "{error}");
        assert!(outcome("matching", 3, 2e-8, 11, 11).is_ok());
    }

    #[test]
    fn a_hierarchy_without_leaves_is_released() {
        for (consistency, _) in crate::hierarchy::Consistency::WORDS {
            assert_eq!(outcome(consistency, 3, 1.0, 0, 0).unwrap(), [DpCoco::default()]);
        }
    }
}
