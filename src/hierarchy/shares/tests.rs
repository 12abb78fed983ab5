use super::*;
use crate::coco::EstimatedRun;
use proptest::prelude::*;

const MAX_SIZE: u64 = 1000;

/// About `groups` / size^2 of each size.
fn root(groups: u64) -> Estimate {
    let run = |size: u64| EstimatedRun { size, variance: 1.0, groups: groups / (size * size) };
    Estimate::new((1..MAX_SIZE).map(run).collect())
}

/// `children` of each region, on so many levels below the root, and the same groups in each leaf.
fn tree(children: usize, levels: usize, leaf: u64) -> (Tree, Vec<u64>) {
    let leaves = children.pow(levels as u32);
    let path = |leaf: usize| -> Vec<String> {
        (0..levels)
            .map(|level| (leaf / children.pow((levels - 1 - level) as u32)).to_string())
            .collect()
    };
    let (tree, _) =
        Tree::from_leaves(levels, (0..leaves).map(|l| (path(l), ())).collect()).unwrap();
    let groups = (0..=levels)
        .flat_map(|level| {
            let regions = children.pow(level as u32);
            std::iter::repeat_n(leaf * (leaves / regions) as u64, regions)
        })
        .collect();
    (tree, groups)
}

fn best(root: &Estimate, (tree, groups): &(Tree, Vec<u64>), epsilon: f64) -> Vec<usize> {
    Outlook::new((root, 1.0), tree, |region| groups[region], MAX_SIZE, 1).best_parts(epsilon)
}

/// At an epsilon where noise is 0 nearly always in leaves that get all of it, they get it.
#[test]
fn a_large_epsilon_goes_to_the_leaves() {
    for children in [2, 10, 30] {
        let parts = best(&root(100_000), &tree(children, 2, 1000), 12.0);
        assert_eq!(parts, [0, 0, PARTS], "{children}");
    }
}

/// Sums of so many leaves know less of the root than the root itself: no level can get less than
/// equal shares without being worse.
#[test]
fn a_small_epsilon_is_shared_equally_where_leaves_are_many() {
    for levels in [2, 3] {
        let parts = best(&root(10_000_000), &tree(20, levels, 1000), 0.1);
        assert_eq!(parts, equal_parts(levels + 1, PARTS));
    }
}

/// Where the look's noise hides how many groups of which size there are, what it says is nothing.
#[test]
fn a_look_that_tells_nothing_is_not_followed() {
    let (tree, groups) = tree(2, 2, 1000);
    let outlook = |root, scale| Outlook::new((root, scale), &tree, |r| groups[r], MAX_SIZE, 1);
    let of_one_size = Estimate::new(vec![EstimatedRun { size: 1, variance: 1.0, groups: 4000 }]);
    let looks = [&root(4000), &of_one_size];
    let [seen, other] = looks.map(|look| outlook(look, 125.0).densities);
    assert_ne!(seen, other);
    let [unseen, other] = looks.map(|look| outlook(look, 125.1));
    assert_eq!(unseen.densities, other.densities);
    assert_eq!(unseen.best_parts(12.0), [0, 0, PARTS]);
    // a guess of all groups, of which the mean is what is said
    let groups = |(stretch, density): (usize, &f64)| density * width(stretch, MAX_SIZE);
    let all: f64 = unseen.densities.iter().enumerate().map(groups).sum();
    assert!((all - 4000.0).abs() < 0.11 * unseen.densities.len() as f64, "{all}");
}

/// And where leaves are poor, a guess is not followed either.
#[test]
fn few_groups_in_each_leaf_get_equal_shares() {
    let parts = |leaf, scale| {
        let (tree, groups) = tree(2, 2, leaf);
        Outlook::new((&root(24), scale), &tree, |r| groups[r], MAX_SIZE, 1).best_parts(1.0)
    };
    assert_eq!(parts(1, 0.126), equal_parts(3, PARTS));
    assert_eq!(parts(2, 0.251), [0, 0, PARTS]);
    // of 4 groups a look with noise of that scale tells something
    assert_eq!(parts(1, 0.125), [0, 0, PARTS]);
}

/// Two leaves know the root as well as the root would.
#[test]
fn the_root_of_few_leaves_is_their_sum() {
    assert_eq!(best(&root(100_000), &tree(2, 1, 50_000), 1.0), [0, PARTS]);
}

/// With these some level loses more than a little: the limit is reached.
#[test]
fn no_level_is_predicted_to_lose_more_than_all_gain() {
    let mut largest: f64 = 1.0;
    for (children, levels, epsilon) in
        [(3, 1, 0.5), (5, 2, 2.0), (30, 2, 3.0), (40, 1, 6.0), (30, 2, 6.0)]
    {
        let (tree, groups) = tree(children, levels, 2000);
        let outlook = Outlook::new((&root(500_000), 1.0), &tree, |r| groups[r], MAX_SIZE, 1);
        let errors = |parts: &[usize]| {
            let own: Vec<Option<Variances>> = (0..)
                .zip(parts)
                .map(|(level, parts)| {
                    outlook.variances(level, epsilon * *parts as f64 / PARTS as f64)
                })
                .collect();
            outlook.errors(&own.iter().map(Option::as_ref).collect::<Vec<_>>())
        };
        let (best, equal) =
            (errors(&outlook.best_parts(epsilon)), errors(&equal_parts(levels + 1, PARTS)));
        let ratios: Vec<f64> = (best.iter().zip(&equal))
            .map(|(best, equal)| (best + LEAST_ERROR) / (equal + LEAST_ERROR))
            .collect();
        let gain = ratios.iter().map(|ratio| -ratio.ln()).sum::<f64>() / ratios.len() as f64;
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        assert!(worst <= (gain.exp() / UNSURE).clamp(1.0, WORST) + 0.01, "{best:?} and {equal:?}");
        largest = largest.max(worst);
    }
    assert!(largest > 1.1, "{largest}");
}

/// One level by itself: the formulas of the cut, for each region.
#[test]
fn errors_of_a_root_alone_are_those_of_its_own_noise() {
    let (tree, groups) = tree(1, 0, 1000);
    let estimate = Estimate::new(vec![EstimatedRun { size: 1, variance: 1.0, groups: 1000 }]);
    let outlook = Outlook::new((&estimate, 1.0), &tree, |r| groups[r], 1, 1);
    let variances = outlook.variances(0, 0.5).unwrap();
    let v: f64 = 2.0 * (-0.5f64).exp() / (1.0 - (-0.5f64).exp()).powi(2);
    let noise = CutNoise { variance: v, smoothed: false, max_size: 1 };
    let error = |density| {
        let variance = noise.variance_at(density);
        variance / (1.0 + variance * std::f64::consts::FRAC_PI_2).sqrt()
    };
    let [found] = outlook.errors(&[Some(&variances)])[..] else { panic!() };
    // at size 0; of size 1 at most are all
    let expected = error(0.1);
    assert!((found - expected).abs() < 1e-9 * expected, "{found} and {expected}");
}

/// Of estimates with a common bias a sum is off by more than by chance: the bias of k is k times that of one.
#[test]
fn biases_add_up() {
    let one = Squares::of_regions(10.0, 0.03);
    assert_eq!((one.variance, one.bias), (10.0, 0.03 * 10.0));
    assert_eq!(one.added_up(50.0).sum(), 10.0 + 50.0 * one.bias);
    // a mean with what has none halves both, or less as its weights are not the best
    let of_both = one.added_up(50.0).joined(Squares::of_regions(25.0, 0.0), 100.0);
    assert!((of_both.bias / of_both.variance - 15.0 / 35.0).abs() < 1e-9, "{of_both:?}");
}

proptest! {
    /// The mean of two estimates is as good as the better one at least, and where both are as good the square of its
    /// error is 1.3 times the least.
    #[test]
    fn a_mean_is_no_worse(one in 1e-6f64..1e6, other in 1e-6f64..1e6, regions in 1.0f64..1e4) {
        let square = |variance: f64| squared_mean_error(variance / regions);
        let of = |other| square(joined(one, other, regions));
        prop_assert!(of(other) <= square(one).min(square(other)) * (1.0 + 1e-9));
        prop_assert!(of(other) >= parallel(square(one), square(other)) * (1.0 - 1e-9));
        prop_assert!((of(one) / (0.65 * square(one)) - 1.0).abs() < 1e-6);
        prop_assert_eq!(joined(one, 0.0, regions), 0.0);
    }

    /// All parts are given out, whatever was released of the root, and the leaves have some.
    #[test]
    fn parts_add_up(
        runs in prop::collection::vec((0..=MAX_SIZE, 0..1u64 << 50), 0..20),
        children in 1usize..4,
        levels in 0usize..4,
        leaf in prop::sample::select(vec![0, 1, 1000, 1 << 40]),
        epsilon in prop::sample::select(vec![1e-9, 0.1, 1.0, 20.0, 1e6]),
    ) {
        let runs = runs.into_iter().map(|(size, groups)| EstimatedRun { size, variance: 1.0, groups });
        let root = Estimate::new(runs.collect());
        let parts = best(&root, &tree(children, levels, leaf), epsilon);
        prop_assert_eq!(parts.len(), levels + 1);
        prop_assert_eq!(parts.iter().sum::<usize>(), PARTS);
        prop_assert!(parts[levels] > 0);
    }
}
