//! Whole releases, recorded and replayed: from counts, or amounts of rows, to the last number that
//! got noise, for every method. What all of it together is apart is at most what is charged.

use super::*;
use crate::charge::{Cost, Costs, Receipt};
use crate::privacy::replay::Replayed;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// What is charged may exceed what is spent: parts of it are settled before it is known how many
/// integers are measured.
const HAIR: f64 = 1e-4;

/// What is charged; with Gaussian noise its rho, as the epsilon follows from that.
fn replayed(name: &str, cost: &Cost) -> Replayed {
    match cost.delta {
        0.0 => Replayed::of_epsilon(name, cost.epsilon.value()),
        _ => Replayed::of_rho(name, cost.loss.rho()),
    }
}

/// As large as those for which `tests/privacy` can tell by events how much is lost.
const EPSILON: f64 = 2.0;
const DELTA: f64 = 0.1;

fn words() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(21)
}

/// Tables of so many counts, some of which are 0.
fn tables(places: usize) -> [Vec<u64>; 3] {
    let of = |count: fn(usize) -> usize| (0..places).map(|place| count(place) as u64).collect();
    [of(|_| 0), of(|place| place * place % 7), of(|place| if place % 5 == 2 { 1000 } else { 3 })]
}

/// Of the tables, and of those with `rows` more, each in some place.
fn check(name: &str, places: usize, rows: u32, plan: &dyn Fn() -> (Cost, Release)) {
    check_with(name, places, rows, 1, plan);
}

/// What it measures of counts.
type Release = Box<dyn FnOnce(&[u64])>;

/// Of the places every `step`-th one.
fn check_with(
    name: &str,
    places: usize,
    rows: u32,
    step: usize,
    plan: &dyn Fn() -> (Cost, Release),
) {
    let mut replayed = replayed(name, &plan().0);
    let release = |counts: &Vec<u64>| (plan().1)(counts);
    for table in tables(places) {
        for first in (0..places).step_by(step) {
            for last in if rows == 1 { first..first + 1 } else { first..places } {
                let mut more = table.clone();
                more[first] += u64::from(rows) - 1;
                more[last] += 1;
                replayed.pair(&table, &more, release);
                replayed.pair(&more, &table, release);
            }
        }
    }
    replayed.check(HAIR);
}

/// Of bins, by a method's word.
fn line(bins: usize, rows_per_unit: u32, delta: f64, method: &str) -> (Cost, Release) {
    let plan = ReleasePlan::new(ReleaseRequest {
        bins: bins as i64,
        widths: None,
        epsilon: EPSILON,
        delta,
        rows_per_unit,
        negative: false,
        choice: ReleaseChoice::parse(method).unwrap(),
    });
    let plan = plan.unwrap();
    let cost = plan.cost();
    let release =
        move |counts: &[u64]| drop(Receipt::uncharged(plan).release(counts, &mut words()));
    (cost, Box::new(release))
}

#[test]
fn no_sums_over_bins_are_farther_apart_than_is_charged() {
    for method in ["flat", "tree", "tree_consistent", "quad", "wavelet"] {
        check(method, 9, 1, &|| line(9, 1, 0.0, method));
    }
    for method in [
        "gaussian",
        "binary_tree",
        "tree_consistent:2",
        "wavelet",
        "cascade",
        "prefix",
        "optimal",
        "minimax",
    ] {
        check(&format!("{method}, delta"), 9, 1, &|| line(9, 1, DELTA, method));
    }
    check("flat, unit of 3 rows", 5, 3, &|| line(5, 3, 0.0, "flat"));
    check("optimal, unit of 3 rows, delta", 5, 3, &|| line(5, 3, DELTA, "optimal"));
}

/// Which buckets there are follows from noisy numbers; of 256 bins those of 4 and of 16. Or where each
/// of them begins is selected, of 64.
#[test]
fn no_buckets_are_farther_apart_than_is_charged() {
    check_with("aware", 256, 1, 9, &|| line(256, 1, 0.0, "aware"));
    check("structure_first", 64, 1, &|| line(64, 1, 0.0, "structure_first"));
}

/// A row more of any amount, within its bounds or beyond.
#[test]
fn no_sums_of_amounts_are_farther_apart_than_is_charged() {
    for (name, delta, method) in [("amounts", 0.0, "flat"), ("amounts, delta", DELTA, "optimal")] {
        let (bounds, amounts) = (BinBounds::new(0, 4).unwrap(), AmountBounds::new(-3, 5).unwrap());
        let plan = || {
            let request = ReleaseRequest {
                bins: 4,
                widths: None,
                epsilon: EPSILON,
                delta,
                rows_per_unit: amounts.weight(1).unwrap(),
                negative: true,
                choice: ReleaseChoice::parse(method).unwrap(),
            };
            ReleasePlan::new(request).unwrap()
        };
        let cells = RangeCells::of(&[0..1, 1..2, 2..3, 3..4], 4);
        let release = |sums: &BinSums| {
            let sums = sums.of_cells(&cells);
            Receipt::uncharged(plan()).release_sums(&sums, &mut words());
        };
        let mut replayed = replayed(name, &plan().cost());
        let of_rows = |rows: &[(i64, i64)]| {
            let mut sums = BinSums::empty(bounds, amounts);
            rows.iter().for_each(|&(bin, amount)| sums.add(bin, amount));
            sums
        };
        for table in [&[][..], &[(0, 5), (3, -3)], &[(1, 2), (1, -1), (2, 5), (2, 5)]] {
            let before = of_rows(table);
            for bin in [i64::MIN, 0, 1, 2, 3, i64::MAX] {
                for amount in [i64::MIN, -4, -3, -1, 0, 1, 5, 6, i64::MAX] {
                    let after = of_rows(&[table, &[(bin, amount)]].concat());
                    replayed.pair(&before, &after, release);
                }
            }
        }
        replayed.check(HAIR);
    }
}

#[test]
fn no_sums_over_rectangles_are_farther_apart_than_is_charged() {
    for (method, delta) in [
        ("flat", 0.0),
        ("tree_consistent:2", 0.0),
        ("gaussian", DELTA),
        ("tree_consistent:2", DELTA),
        ("cascade", DELTA),
        ("optimal", DELTA),
    ] {
        let plan = || {
            let plan = PlanePlan::new(asked::rectangles([4, 5], EPSILON, delta, method).unwrap());
            let plan = plan.unwrap();
            let cost = plan.cost();
            let release = move |counts: &[u64]| {
                Receipt::uncharged(plan).release(counts, &mut words());
            };
            (cost, Box::new(release) as Release)
        };
        let with = if delta > 0.0 { ", delta" } else { "" };
        check(&format!("rectangles {method}{with}"), 20, 1, &plan);
    }
}

/// A row is in one leaf, and so in one region of each level.
#[test]
fn no_sums_of_regions_are_farther_apart_than_is_charged() {
    for (method, delta) in [
        ("flat", 0.0),
        ("tree_consistent:2", 0.0),
        ("wavelet", 0.0),
        ("gaussian", DELTA),
        ("cascade:2", DELTA),
        ("optimal", DELTA),
    ] {
        for shares in [None, Some(vec![0.5, 0.3, 0.2])] {
            let plan = || {
                let tree = RegionTree::new(&[vec![2], vec![1, 2]]).unwrap();
                let ranges = asked::ranges(4, EPSILON, delta, method).unwrap();
                let request = RegionRequest { ranges, tree, shares: shares.clone() };
                let plan = RegionPlan::new(request).unwrap();
                let cost = plan.cost();
                let release = move |counts: &[u64]| {
                    let sums = SignedSums { above: counts.to_vec(), below: None };
                    Receipt::uncharged(plan).release(sums, &mut words());
                };
                (cost, Box::new(release) as Release)
            };
            let with = if delta > 0.0 { ", delta" } else { "" };
            let given = if shares.is_some() { ", given shares" } else { "" };
            check(&format!("regions {method}{with}{given}"), 12, 1, &plan);
        }
    }
}

/// Tick by tick; later ones go on from what was stored of those before.
#[test]
fn no_streams_are_farther_apart_than_is_charged() {
    for (name, delta) in [("stream", 0.0), ("stream, delta", DELTA)] {
        let plan = || {
            let request = StreamRequest { horizon: 7, epsilon: EPSILON, delta, rows_per_unit: 1 };
            let plan = move || StreamPlan::new(request).unwrap();
            let release = move |counts: &[u64]| {
                let (mut ticks, mut words) = (Vec::new(), words());
                for count in counts {
                    let mut stream = Receipt::uncharged(plan()).stream(ticks);
                    stream.tick(*count, &mut words).unwrap();
                    ticks = stream.into_parts().1;
                }
            };
            (plan().cost(), Box::new(release) as Release)
        };
        check(name, 7, 1, &plan);
    }
}
