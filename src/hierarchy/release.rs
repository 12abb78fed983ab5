//! Carrying out a plan on the histograms of a tree.

use super::consistency::Consistency;
use super::measurement::{Measured, Unmeasured, follows, measure, measure_chain, profiles};
use super::plan::{LevelPlan, PlanError, ReleasePlan};
use super::tree::Tree;
use crate::coco::{Coco, DpCoco, Estimate};
use crate::noise::{RandomWords, ScaleError};
use std::fmt;
use std::num::NonZeroUsize;

/// Who is told how far long work has come.
pub trait Observer {
    /// Called when one more region is measured.
    fn region_measured(&mut self) {}
    /// Called when all `regions` of a level are measured.
    fn level_measured(&mut self, _level: usize, _regions: usize) {}
    /// Called when one more parent's groups are matched with its children's.
    fn parent_matched(&mut self) {}
    /// Called when so many rounds of a simulation are done, each a release by every mechanism.
    fn simulated(&mut self, _rounds: u32) {}
}

/// Nobody.
impl Observer for () {}

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

/// What PostgreSQL's `bigint` holds. Sums saturate there, and a parent's groups could not be matched to
/// more of its children's.
const MOST_GROUPS: u128 = i64::MAX as u128;

/// One differentially private histogram per region of the tree, in its order.
///
/// `leaves`: the exact histograms of the tree's leaves, whose numbers of groups are public.
/// The plan has as many levels as the tree. `threads`: the most that measure regions at a time, this
/// one included; what is released does not depend on it.
///
/// Errors: see [`ReleaseError`].
pub fn release<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<DpCoco>, ReleaseError> {
    let truth = sums(tree, leaves)?;
    release_sums(plan, tree, truth, words, threads, observer)
}

/// The exact histograms of all regions, in the tree's order.
///
/// Errors: [`ReleaseError::Leaves`], [`ReleaseError::Groups`].
pub(super) fn sums(tree: &Tree, leaves: Vec<Coco>) -> Result<Vec<Coco>, ReleaseError> {
    if leaves.len() != tree.leaves().len() {
        return Err(ReleaseError::Leaves { got: leaves.len(), leaves: tree.leaves().len() });
    }
    let groups = leaves.iter().map(|leaf| u128::from(leaf.groups())).sum(); // public
    if groups > MOST_GROUPS {
        return Err(ReleaseError::Groups { groups });
    }
    Ok(tree.sums(leaves))
}

/// [`release`] where the exact histograms of all regions are known, in the tree's order: each is the sum of
/// its children.
pub(super) fn release_sums<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: impl AsRef<[Coco]>,
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<DpCoco>, ReleaseError> {
    let per_level: Vec<usize> = (0..tree.depth()).map(|level| tree.level(level).len()).collect();
    plan.check_regions(&per_level)?;
    let measured = measure_levels(plan, tree, truth.as_ref(), words, threads, observer)?;
    let totals: Vec<u64> = truth.as_ref().iter().map(Coco::groups).collect(); // public
    drop(truth); // from here on everything is post-processing of what was released
    let histograms = Consistency::apply(plan, tree, &totals, measured, observer);
    Ok(histograms.into_iter().map(DpCoco::new).collect())
}

/// What is measured of every region, in the tree's order.
///
/// A level that is adapted to the one above is measured after it: the levels compose sequentially,
/// and adaptively. All others are measured together with the one above, since one region can be
/// nearly all the work of a level, and keep a single thread busy.
fn measure_levels<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: &[Coco],
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<Measured>, ScaleError> {
    let mut measured: Vec<Measured> = Vec::with_capacity(truth.len());
    let levels: Vec<(usize, &LevelPlan)> = (0..)
        .zip(plan.levels())
        .filter_map(|(level, level_plan)| Some((level, level_plan.as_ref()?)))
        .collect();
    for together in levels.chunk_by(|_, (level, _)| !follows(plan, *level)) {
        let first = together[0].0;
        // nothing is measured of the levels in between
        measured.resize(tree.level(first).start, Measured::Estimate(Estimate::default()));
        if plan.consistency() == Consistency::Chain {
            for &(level, level_plan) in together {
                let truth = &truth[tree.level(level)];
                measured.extend(measure_chain(plan, level_plan, truth, words, observer)?);
            }
        } else {
            let above = if follows(plan, first) { tree.level(first - 1) } else { 0..0 };
            let profiles = profiles(plan, &measured[above.clone()]);
            let regions = together.iter().flat_map(|&(number, level)| {
                tree.level(number).zip(tree.parents(number)).map(|(region, parent)| Unmeasured {
                    level,
                    truth: &truth[region],
                    parent: parent.and_then(|p| profiles.get(p.checked_sub(above.start)?)),
                })
            });
            let regions: Vec<Unmeasured> = regions.collect();
            measured.extend(measure(plan, &regions, words, threads, observer)?);
        }
        for &(level, _) in together {
            observer.level_measured(level, tree.level(level).len());
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coco::Run;
    use crate::noise::words_from_system;
    use crate::work::watched;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

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
        release(&plan, &tree, vec![leaf; histograms], &mut words, NonZeroUsize::MIN, &mut ())
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
    fn more_groups_than_can_be_counted_are_an_error() {
        let paths = ["a", "b"].map(|name| (vec![name.to_string()], ()));
        let (tree, _) = Tree::from_leaves(1, paths.to_vec()).unwrap();
        let estimators = ["cut".to_string()];
        let plan = ReleasePlan::new(2, 1.0, &estimators, "matching", 3, None, 1).unwrap();
        let mut words = words_from_system().unwrap();
        let mut outcome = |groups: [u64; 2]| {
            let leaf = |groups| [Run { size: 1, groups }].into_iter().collect();
            let leaves = groups.map(leaf).to_vec();
            release(&plan, &tree, leaves, &mut words, NonZeroUsize::MIN, &mut ())
        };
        let half = 1 << 62;
        assert_eq!(outcome([half; 2]), Err(ReleaseError::Groups { groups: 1 << 63 }));
        let released = outcome([half, half - 1]).unwrap();
        assert_eq!(released[0].histogram().groups(), i64::MAX as u64);
    }

    #[test]
    fn a_hierarchy_without_leaves_is_released() {
        for (consistency, _) in crate::hierarchy::Consistency::WORDS {
            assert_eq!(outcome(consistency, 3, 1.0, 0, 0).unwrap(), [DpCoco::default()]);
        }
    }

    /// Nation, two states, four counties, with enough to do for several threads.
    fn large() -> (Tree, Vec<Coco>) {
        let path = |i: u64| vec![format!("{}", i / 2), format!("{i}")];
        let leaf = |i: u64| -> Coco {
            (1..=40).map(|size| Run { size: size * (i + 1), groups: 40_000 / size }).collect()
        };
        Tree::from_leaves(2, (0..4).map(|i| (path(i), leaf(i))).collect()).unwrap()
    }

    fn plan(estimators: &[&str], consistency: &str) -> ReleasePlan {
        let estimators: Vec<String> = estimators.iter().map(|word| word.to_string()).collect();
        ReleasePlan::new(3, 1.0, &estimators, consistency, 10_000, None, 1).unwrap()
    }

    #[test]
    fn what_is_released_does_not_depend_on_the_number_of_threads() {
        let (tree, leaves) = large();
        for (estimators, consistency) in [
            (&["Hg"][..], "matching"),
            (&["cut"], "matching"),
            (&["Hg", "cut", "Hc"], "none"),
            (&["cut:20"], "bottom_up"),
            (&["H"], "topdown"),
            (&["Hc_l2"], "chain"),
        ] {
            let plan = plan(estimators, consistency);
            let [one, two, three] = [1, 2, 3].map(|threads| {
                let mut words = ChaCha20Rng::seed_from_u64(5);
                let threads = NonZeroUsize::new(threads).unwrap();
                release(&plan, &tree, leaves.clone(), &mut words, threads, &mut ()).unwrap()
            });
            assert!(one == two && one == three, "{estimators:?}, {consistency}");
        }
    }

    #[test]
    fn a_release_can_be_cancelled_at_any_time() {
        let (tree, leaves) = large();
        for estimators in [&["Hg"], &["cut"]] {
            let plan = plan(estimators, "matching");
            for polls in [1, 2, 3, 5, 8] {
                let (mut words, threads) = (words_from_system().unwrap(), NonZeroUsize::MAX);
                let mut left = polls;
                let ask = &mut || {
                    left -= 1;
                    if left == 0 {
                        resume_unwind(Box::new("cancelled"));
                    }
                };
                let cancelled = || {
                    let release =
                        || release(&plan, &tree, leaves.clone(), &mut words, threads, &mut ());
                    watched(ask, release).map(drop)
                };
                let payload = catch_unwind(AssertUnwindSafe(cancelled)).unwrap_err();
                assert_eq!(payload.downcast_ref(), Some(&"cancelled"));
            }
        }
    }
}
