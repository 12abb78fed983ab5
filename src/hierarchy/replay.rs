//! Whole releases, recorded and replayed: from the leaves' histograms to the last number that got
//! noise, for every way to measure. What all of it together is apart is at most what is charged.

use super::distance::tests::multisets;
use super::*;
use crate::charge::{Costs, Receipt};
use crate::coco::{Coco, of_sizes};
use crate::noise::{CERTAIN, exp_neg_above};
use crate::privacy::replay::Replayed;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::Cell;
use std::num::NonZeroUsize;

/// The sizes of the groups of each leaf: of a root alone one, or of leaves below it.
type Leaves = Vec<Vec<u64>>;

fn tree(leaves: &Leaves) -> (Tree, Vec<Coco>) {
    let depth = usize::from(leaves.len() > 1);
    let leaf =
        |(place, sizes): (usize, &Vec<u64>)| (vec![place.to_string(); depth], of_sizes(sizes));
    Tree::from_leaves(depth, leaves.iter().enumerate().map(leaf).collect()).unwrap()
}

/// All that differ by so many entities more, in any groups.
fn neighbours(leaves: &Leaves, entities: u32) -> Vec<Leaves> {
    let mut tables = vec![leaves.clone()];
    for _ in 0..entities {
        let more = |table: &Leaves| {
            let groups = table.iter().enumerate();
            let groups = groups.flat_map(|(leaf, sizes)| (0..sizes.len()).map(move |i| (leaf, i)));
            let one_more = |(leaf, group): (usize, usize)| {
                let mut table = table.clone();
                table[leaf][group] += 1;
                table[leaf].sort_unstable();
                table
            };
            groups.map(one_more).collect::<Vec<_>>()
        };
        tables = tables.iter().flat_map(more).collect();
        tables.sort_unstable();
        tables.dedup();
    }
    tables
}

/// All that differ by up to so many groups more, without entities, and by up to so many entities more
/// in any groups, also in those.
fn neighbours_with_groups(leaves: &Leaves, groups: u32, entities: u32) -> Vec<Leaves> {
    let mut tables = vec![leaves.clone()];
    for _ in 0..groups {
        let more = |table: &Leaves| {
            let one_more = |leaf: usize| {
                let mut table = table.clone();
                table[leaf].insert(0, 0);
                table
            };
            (0..table.len()).map(one_more).chain([table.clone()]).collect::<Vec<_>>()
        };
        tables = tables.iter().flat_map(more).collect();
    }
    let with_entities = |table: &Leaves| {
        (0..=entities).flat_map(|entities| neighbours(table, entities)).collect::<Vec<_>>()
    };
    tables = tables.iter().flat_map(with_entities).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// A root with up to 3 groups, or so many leaves with up to 2 each.
fn small_tables(leaves: usize) -> Vec<Leaves> {
    let mut tables = vec![vec![]];
    for _ in 0..leaves {
        let small = multisets(if leaves == 1 { 3 } else { 2 });
        let with = |table: &Leaves, leaf: &Vec<u64>| {
            [table.as_slice(), std::slice::from_ref(leaf)].concat()
        };
        tables = tables.iter().flat_map(|t| small.iter().map(|leaf| with(t, leaf))).collect();
    }
    tables.retain(|table| table.iter().any(|leaf| !leaf.is_empty()));
    tables
}

/// Releases of all small tables with so many leaves, by what a request means for it. `slack`: see
/// [`Replayed::check`].
fn check(name: &str, leaves: usize, slack: f64, request: ReleaseRequest) {
    let unit = (request.rows_per_unit, request.groups_per_unit);
    let mechanism = Mechanism::new(&request.up_to(4)).unwrap();
    let charged = mechanism.cost().epsilon.value();
    check_mechanism(name, leaves, (charged, slack), unit, mechanism);
}

/// `rows`, `groups`: of a unit. `charged`: for it.
fn check_mechanism(
    name: &str,
    leaves: usize,
    (charged, slack): (f64, f64),
    (rows, groups): (u32, Option<u32>),
    mechanism: Mechanism,
) {
    let mut replayed = Replayed::of_epsilon(name, charged);
    let seed = Cell::new(0);
    let release = |leaves: &Leaves| {
        let (tree, leaves) = tree(leaves);
        let words = &mut ChaCha20Rng::seed_from_u64(seed.replace(seed.get() + 1));
        let receipt = Receipt::uncharged(mechanism.clone());
        receipt.release(&tree, leaves, words, NonZeroUsize::MIN, &mut ()).unwrap();
    };
    for table in small_tables(leaves) {
        let neighbours = match groups {
            Some(groups) => neighbours_with_groups(&table, groups, rows),
            None => neighbours(&table, rows),
        };
        for neighbour in neighbours {
            replayed.pair(&table, &neighbour, release);
            replayed.pair(&neighbour, &table, release);
        }
    }
    replayed.check(slack);
}

#[test]
fn no_neighbours_are_farther_apart_than_is_charged() {
    let levels = |leaves: usize| if leaves == 1 { 1 } else { 2 };
    let asked = |leaves, epsilon, estimator, consistency| {
        ReleaseRequest::new(levels(leaves), epsilon).by(&[estimator], consistency)
    };
    // budgets are divided, and each part rounded down by a hair
    let hair = 1e-9;
    for estimator in ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:1"] {
        check(estimator, 1, hair, asked(1, 2.0, estimator, "none"));
    }
    for (name, estimator, method) in [
        ("matching", "Hc", "matching"),
        ("bottom_up", "Hc", "bottom_up"),
        ("pgsr", "H", "pgsr"),
        ("topdown", "H", "topdown"),
        ("cumulative", "Hc", "cumulative"),
        ("chain", "Hc", "chain"),
        // a first look at the root, and shares that follow from it
        ("first look", "cut", "matching"),
    ] {
        check(name, 2, hair, asked(2, 2.0, estimator, method));
    }
    // What is measured of the leaves follows the look, a hundredth of 2, as its noise is not more than theirs.
    let look = Mechanism::new(&asked(2, 2.0, "cut", "matching").up_to(4)).unwrap();
    let leaves_alone = look.with_levels(&[None, Some(0.02)]).unwrap();
    check_mechanism("leaves below a look", 2, (0.04, hair), (1, None), leaves_alone);
    // inferred again by what all say together
    check("leaves together", 3, hair, asked(3, 2.0, "cut", "bottom_up"));
    check("chain of 3 regions", 3, hair, asked(3, 2.0, "Hc", "chain"));
    let unit_of_two = ReleaseRequest { rows_per_unit: 2, ..asked(2, 2.0, "Hc", "matching") };
    check("unit of 2 rows", 2, hair, unit_of_two);
    let kept = ReleaseRequest { keep_measurements: true, ..asked(1, 2.0, "Hc", "none") };
    check("kept measurements", 1, hair, kept);
    let shares = Some(vec![0.2, 0.8]);
    check("given shares", 2, hair, ReleaseRequest { shares, ..asked(2, 2.0, "Hg", "matching") });
    check("select", 2, hair, asked(2, 2.0, "select:Hc|Hg", "matching"));
}

/// Also entities with which their group appears, and groups without entities.
#[test]
fn no_neighbours_with_other_groups_are_farther_apart_than_is_charged() {
    let asked = |leaves: usize, estimator, consistency| ReleaseRequest {
        groups_per_unit: Some(1),
        // numbers of groups with so little noise that there are some to measure
        ..ReleaseRequest::new(leaves.min(2), 40.0).by(&[estimator], consistency)
    };
    let hair = 1e-9;
    for estimator in ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:1"] {
        let name = format!("private groups: {estimator}");
        check(&name, 1, hair, asked(1, estimator, "none"));
    }
    for (estimator, method) in [
        ("Hc", "matching"),
        ("Hc", "matching_unweighted"),
        ("Hc", "bottom_up"),
        ("H", "pgsr"),
        ("H", "topdown"),
        ("Hc", "cumulative"),
        ("Hc", "chain"),
        // with a first look
        ("cut", "matching"),
    ] {
        let name = format!("private groups: {estimator} {method}");
        check(&name, 2, hair, asked(2, estimator, method));
    }
    let two = asked(2, "Hc", "matching");
    let unit_of_two = ReleaseRequest { rows_per_unit: 2, groups_per_unit: Some(2), ..two.clone() };
    check("private groups: unit of 2 rows, 2 groups", 2, hair, unit_of_two);
    let group_of_two = ReleaseRequest { rows_per_unit: 2, ..two };
    check("private groups: unit of 2 rows, 1 group", 2, hair, group_of_two);
}

/// Neighbours whose exact roots would lead to other shares, where the look is what decides: on the way
/// from groups without entities to many with some, one entity after the other.
#[test]
fn shares_follow_from_noisy_numbers_alone() {
    let request = ReleaseRequest::new(2, 1.0).by(&["cut"], "matching").up_to(60);
    let mechanism = Mechanism::new(&request).unwrap();
    let [plan] = mechanism.plans() else { panic!("one plan") };
    let look = plan.first_look().unwrap();
    // the k-th entity is in leaf k mod 10, where the groups are of uneven sizes
    let places: Vec<usize> = (0..400).flat_map(|group| vec![group; group % 8]).collect();
    let table = |entities: usize| -> Leaves {
        let mut leaves = vec![vec![0; 400]; 10];
        for k in 0..entities {
            leaves[k % 10][places[k / 10 % places.len()]] += 1;
        }
        leaves
    };
    let of_the_truth = |entities: usize| {
        let (tree, leaves) = tree(&table(entities));
        let truth = tree.sums(leaves);
        let root = look.measurement().of_groups(truth[0].groups());
        let root = root.estimate(&truth[0], |exact| exact);
        plan.levels_after(look, &root, &tree, |region| truth[region].groups()).unwrap()
    };

    let name = "shares that follow";
    let mut replayed = Replayed::of_epsilon(name, mechanism.cost().epsilon.value());
    let release = |leaves: &Leaves| {
        let (tree, leaves) = tree(leaves);
        let words = &mut ChaCha20Rng::seed_from_u64(3);
        let receipt = Receipt::uncharged(mechanism.clone());
        receipt.release(&tree, leaves, words, NonZeroUsize::MIN, &mut ()).unwrap();
    };
    const STEP: usize = 200;
    let divisions: Vec<_> = (0..=8000 / STEP).map(|step| of_the_truth(STEP * step)).collect();
    for (step, ends) in divisions.windows(2).enumerate().filter(|(_, ends)| ends[0] != ends[1]) {
        let (mut low, mut high) = (STEP * step, STEP * (step + 1));
        while high - low > 1 {
            let middle = low.midpoint(high);
            *(if of_the_truth(middle) == ends[0] { &mut low } else { &mut high }) = middle;
        }
        replayed.pair(&table(low), &table(high), release);
    }
    replayed.check(1e-9);
}

/// As `dp_coco_histogram` releases it.
#[test]
fn no_histograms_of_neighbours_are_farther_apart_than_is_charged() {
    let mechanism = HistogramMechanism::new(2.0, "Hc", 4).unwrap();
    let mut replayed = Replayed::of_epsilon("one histogram", mechanism.cost().epsilon.value());
    let release = |sizes: &Vec<u64>| {
        let words = &mut ChaCha20Rng::seed_from_u64(sizes.iter().sum());
        Receipt::uncharged(mechanism.clone()).release(&of_sizes(sizes), words, &mut ());
    };
    for table in small_tables(1) {
        for neighbour in neighbours(&table, 1) {
            replayed.pair(&table[0], &neighbour[0], release);
        }
    }
    replayed.check(1e-9);
}

/// The units of each region.
type Found = [u64; 3];

/// By how much what is found in one is likelier than e^epsilon times what is found in the other, summed
/// up over all sets of regions: at most so much, in units of 2^-127 of it over `fall`, which is
/// e^-epsilon in units of 2^-300, rounded up.
fn excess(discovery: &Discovery, fall: &BigUint, one: &Found, other: &Found) -> BigUint {
    let of_set = |table: &Found, set: usize| -> BigUint {
        let chances = table.iter().enumerate().map(|(region, units)| {
            let chance = discovery.law().chance(*units);
            BigUint::from(if set >> region & 1 == 1 { chance } else { CERTAIN - chance })
        });
        chances.product()
    };
    let of_each = (0..1usize << one.len()).map(|set| {
        let (likelier, than) = (fall * of_set(one, set), of_set(other, set) << 300u32);
        if likelier > than { likelier - than } else { BigUint::ZERO }
    });
    of_each.sum()
}

/// All tables of three regions with as many units as tell, and all of their neighbours: where a unit
/// more has up to so many of the regions, of which some appear with it. A row that moves is two steps.
#[test]
fn no_regions_found_are_farther_apart_than_is_charged() {
    for (name, epsilon, delta, regions_per_unit, slack) in [
        ("found regions", 1.0, 0.1, 1, 1e-9),
        ("found regions, less likely", 2.0, 1e-3, 1, 1e-9),
        // together 1 - (1 - delta / 2)^2
        ("found regions, unit of 2 regions", 3.0, 0.1, 2, 0.05),
        ("found regions, unit of 3 regions", 4.0, 0.01, 3, 0.05),
    ] {
        let discovery = Discovery::new(epsilon, delta, regions_per_unit).unwrap();
        let fall = exp_neg_above(epsilon, 300);
        // exact, as the delta is a multiple of 2^-127
        let allowed = (BigUint::from((delta * CERTAIN as f64) as u128) * &fall) << (2 * 127u32);
        let share = |excess: &BigUint| {
            let scaled = (excess << 64u32) / &allowed;
            scaled.to_f64().unwrap() / (1u128 << 64) as f64 * delta
        };
        let mut replayed = Replayed::of_delta(name, delta);
        let most = discovery.law().least_units(1.0) + 1;
        let tables = (0..most.pow(3)).map(|n| [n / most / most, n / most % most, n % most]);
        for table in tables {
            for of_unit in (1..8u32).filter(|set| set.count_ones() <= regions_per_unit) {
                let more = |region: usize| table[region] + u64::from(of_unit >> region & 1);
                let neighbour = [more(0), more(1), more(2)];
                for (one, other) in [(&table, &neighbour), (&neighbour, &table)] {
                    let excess = excess(&discovery, &fall, one, other);
                    assert!(excess <= allowed, "{name}: {one:?} {other:?}");
                    replayed.apart(share(&excess));
                }
            }
        }
        replayed.check(slack);
    }
}

/// A region that one unit alone has, and none of the others has anything to do with.
#[test]
fn a_region_of_one_unit_is_found_with_delta_at_most() {
    for (delta, regions_per_unit) in [(0.1, 1), (1e-6, 1), (1e-9, 3), (1e-20, 50)] {
        let discovery = Discovery::new(1.0, delta, regions_per_unit).unwrap();
        let allowed = (delta * CERTAIN as f64) as u128;
        // with any of its regions
        let one = discovery.law().chance(1) * u128::from(regions_per_unit);
        assert!(one <= allowed && one > allowed - (allowed >> 30), "{delta} {regions_per_unit}");
    }
}
