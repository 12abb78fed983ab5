use super::*;
use crate::charge::Receipt;
use crate::coco::Run;
use crate::hierarchy::{Consistency, Mechanism, ReleaseRequest};
use crate::noise::words_from_system;
use crate::work::watched;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn release(
    request: &ReleaseRequest,
    tree: &Tree,
    leaves: Vec<Coco>,
    words: &mut impl RandomWords,
    threads: NonZeroUsize,
) -> Result<Vec<DpCoco>, ReleaseError> {
    let receipt = Receipt::uncharged(Mechanism::new(request).unwrap());
    receipt.release(tree, leaves, words, threads, &mut ()).map(|released| released.histograms)
}

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
    let request = ReleaseRequest::new(depth + 1, epsilon).by(&["Hc"], consistency).up_to(max_size);
    let leaf: Coco = [Run { size: 1, groups: 1 }].into_iter().collect();
    let mut words = words_from_system().unwrap();
    release(&request, &tree, vec![leaf; histograms], &mut words, NonZeroUsize::MIN)
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
    let request = ReleaseRequest::new(2, 1.0).by(&["cut"], "matching").up_to(3);
    let mut words = words_from_system().unwrap();
    let mut outcome = |groups: [u64; 2]| {
        let leaf = |groups| [Run { size: 1, groups }].into_iter().collect();
        let leaves = groups.map(leaf).to_vec();
        release(&request, &tree, leaves, &mut words, NonZeroUsize::MIN)
    };
    let half = 1 << 62;
    assert_eq!(outcome([half; 2]), Err(ReleaseError::Groups { groups: 1 << 63 }));
    let released = outcome([half, half - 1]).unwrap();
    assert_eq!(released[0].histogram().groups(), i64::MAX as u64);
}

#[test]
fn a_hierarchy_without_leaves_is_released() {
    for consistency in Consistency::ALL {
        assert_eq!(outcome(consistency.name(), 3, 1.0, 0, 0).unwrap(), [DpCoco::default()]);
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

fn request(estimators: &[&str], consistency: &str) -> ReleaseRequest {
    ReleaseRequest::new(3, 1.0).by(estimators, consistency)
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
        let request = request(estimators, consistency);
        let [one, two, three] = [1, 2, 3].map(|threads| {
            let mut words = ChaCha20Rng::seed_from_u64(5);
            let threads = NonZeroUsize::new(threads).unwrap();
            release(&request, &tree, leaves.clone(), &mut words, threads).unwrap()
        });
        assert!(one == two && one == three, "{estimators:?}, {consistency}");
    }
}

/// Leaves with the same groups: that two come out the same is less likely than 2^-100, as each of 40
/// columns has noise of a scale of 40.
#[test]
fn regions_that_are_alike_get_noise_of_their_own() {
    let leaf: Coco = (1..=40).map(|size| Run { size, groups: 10_000 }).collect();
    let leaves = (0..8).map(|i: u32| (vec![i.to_string()], leaf.clone())).collect();
    let (tree, leaves) = Tree::from_leaves(1, leaves).unwrap();
    let request = ReleaseRequest::new(2, 0.05).by(&["Hc"], "none").up_to(40);
    for threads in [1, 3] {
        let (mut words, threads) =
            (words_from_system().unwrap(), NonZeroUsize::new(threads).unwrap());
        let released = release(&request, &tree, leaves.clone(), &mut words, threads).unwrap();
        for (place, region) in released.iter().enumerate() {
            assert!(!released[..place].contains(region), "{place}, {threads} threads");
        }
    }
}

#[test]
fn a_release_can_be_cancelled_at_any_time() {
    let (tree, leaves) = large();
    for estimators in [&["Hg"], &["cut"]] {
        let request = request(estimators, "matching");
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
                let release = || release(&request, &tree, leaves.clone(), &mut words, threads);
                watched(ask, release).map(drop)
            };
            let payload = catch_unwind(AssertUnwindSafe(cancelled)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"cancelled"));
        }
    }
}
