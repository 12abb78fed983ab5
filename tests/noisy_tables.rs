//! Anyone's noisy table becomes consistent, whatever is in it.

use pg_dp::hierarchy::{Consistency, NoisyRows, NoisyTable, NoisyTableError};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

type Rows = BTreeMap<Vec<String>, RegionRows>;

#[derive(Debug, Clone, Default)]
struct RegionRows {
    sizes: Vec<f64>,
    groups: Vec<f64>,
    variances: Option<Vec<f64>>,
}

/// By size, and then by region.
fn noisy(regions: &Rows) -> NoisyRows {
    let mut rows = NoisyRows::new(regions.values().any(|rows| rows.variances.is_some()));
    let longest = regions.values().map(|region| region.sizes.len()).max().unwrap_or(0);
    for (path, _) in regions.iter().rev() {
        rows.region(path.clone().into());
    }
    for i in 0..longest {
        for (path, region) in regions.iter().filter(|(_, region)| i < region.sizes.len()) {
            let number = rows.region(path.clone().into());
            let variance = region.variances.as_ref().map_or(f64::NAN, |of| of[i]);
            rows.add(number, region.sizes[i], region.groups[i], variance);
        }
    }
    rows
}
type Totals = BTreeMap<Vec<String>, f64>;

const METHODS: [&str; 7] =
    ["matching", "matching_unweighted", "bottom_up", "pgsr", "topdown", "cumulative", "chain"];

/// Which methods keep every region's public total; the others keep the root's.
const KEEP_ALL_TOTALS: [&str; 4] = ["matching", "matching_unweighted", "bottom_up", "cumulative"];

/// Every region of a tree of so many levels below the root.
fn paths(depth: usize) -> impl Strategy<Value = BTreeSet<Vec<String>>> {
    let leaf = prop::collection::vec((0..4u8).prop_map(|name| name.to_string()), depth);
    prop::collection::btree_set(leaf, 1..12).prop_map(move |leaves| {
        let prefixes =
            |leaf: &Vec<String>| (0..=depth).map(|n| leaf[..n].to_vec()).collect::<Vec<_>>();
        leaves.iter().flat_map(prefixes).collect()
    })
}

/// Counts as they are, with noise around 0, and as large as a table may have them.
fn counts() -> BoxedStrategy<f64> {
    prop_oneof![
        -20.0..60.0f64,
        (0..100u8).prop_map(f64::from),
        (-1.0..1.0f64, 0.0..15.0f64).prop_map(|(x, digits)| x * 10f64.powf(digits)),
        prop::sample::select(vec![1e15, -1e15, 0.0, 1.5]),
    ]
    .boxed()
}

/// Variances that are usual, far apart, and beyond all reason.
fn variances() -> BoxedStrategy<f64> {
    prop_oneof![
        Just(1.0),
        (-5.0..5.0f64).prop_map(|digits| 10f64.powf(digits)),
        (-120.0..120.0f64).prop_map(|digits| 10f64.powf(digits)),
        prop::sample::select(vec![1e-300, 1e300, f64::MIN_POSITIVE, 1.0]),
    ]
    .boxed()
}

fn rows(known_variances: bool) -> impl Strategy<Value = RegionRows> {
    let row = (counts(), variances());
    prop::collection::btree_map(0..12u32, row, 1..8).prop_map(move |rows| RegionRows {
        sizes: rows.keys().map(|size| f64::from(size * size)).collect(),
        groups: rows.values().map(|row| row.0).collect(),
        variances: known_variances.then(|| rows.values().map(|row| row.1).collect()),
    })
}

/// A table, and public numbers of groups for its leaves.
fn tables() -> impl Strategy<Value = (Rows, Totals)> {
    let shape = (0..4usize).prop_flat_map(paths);
    (shape, any::<bool>()).prop_flat_map(|(paths, known_variances)| {
        let regions = paths.len();
        let totals = prop::collection::vec((0.0..1.0f64, 0.0..14.0f64), regions);
        (Just(paths), prop::collection::vec(rows(known_variances), regions), totals).prop_map(
            |(paths, rows, groups)| {
                let depth = paths.iter().map(Vec::len).max().unwrap_or(0);
                let mut totals = Totals::new();
                for (path, (x, digits)) in paths.iter().zip(groups) {
                    if path.len() == depth {
                        for level in 0..=depth {
                            let groups = (x * 10f64.powf(digits)).floor();
                            *totals.entry(path[..level].to_vec()).or_default() += groups;
                        }
                    }
                }
                (paths.into_iter().zip(rows).collect(), totals)
            },
        )
    })
}

/// Children sum to their parent for every size, and the totals are the public ones.
fn check(method: &str, rows: &Rows, totals: Option<&Totals>) {
    let table = NoisyTable::new(noisy(rows), totals.cloned()).unwrap().unwrap();
    let method_of = || Consistency::parse(method).unwrap();
    let (tree, fit) = table.clone().consistent(method_of(), NonZeroUsize::MIN, &mut ());
    let (_, shared) = table.consistent(method_of(), NonZeroUsize::new(3).unwrap(), &mut ());
    assert_eq!(fit.histograms, shared.histograms);
    let of_sizes = |regions: std::ops::Range<usize>| -> BTreeMap<u64, u128> {
        let mut sums = BTreeMap::new();
        for run in fit.histograms[regions].iter().flat_map(|histogram| histogram.runs()) {
            *sums.entry(run.size).or_default() += u128::from(run.groups);
        }
        sums
    };
    for (index, region) in tree.regions().iter().enumerate() {
        let own = of_sizes(index..index + 1);
        if !region.children.is_empty() {
            assert_eq!(own, of_sizes(region.children.clone()), "{method}: {:?}", region.path);
        }
        let kept = |totals: &&Totals| {
            index == 0 || (totals.len() > 1 && KEEP_ALL_TOTALS.contains(&method))
        };
        if let Some(totals) = totals.filter(kept) {
            let groups: u128 = own.values().sum();
            assert_eq!(
                groups,
                totals[&region.path.to_vec()] as u128,
                "{method}: {:?}",
                region.path
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn no_table_leads_to_a_violation((rows, totals) in tables(), method in prop::sample::select(METHODS.to_vec())) {
        check(method, &rows, None);
        check(method, &rows, Some(&totals));
        let root: Totals = totals.into_iter().filter(|(path, _)| path.is_empty()).collect();
        check(method, &rows, Some(&root));
    }
}

fn table(rows: &[(&[&str], f64, f64)]) -> Rows {
    let mut table = Rows::new();
    for (path, size, groups) in rows {
        let region = table.entry(path.iter().map(|name| name.to_string()).collect()).or_default();
        region.sizes.push(*size);
        region.groups.push(*groups);
    }
    table
}

fn refusal(rows: Rows, totals: Option<Totals>) -> String {
    NoisyTable::new(noisy(&rows), totals).unwrap_err().to_string()
}

/// Their sum is 0 modulo 2^64.
#[test]
fn totals_that_wrap_around_contradict() {
    let children: Vec<String> = (0..2048).map(|i| format!("{i:04}")).collect();
    let mut rows = table(&[(&[], 1.0, 1.0)]);
    let mut totals = Totals::from([(vec![], 0.0)]);
    for child in children {
        rows.insert(
            vec![child.clone()],
            RegionRows { sizes: vec![1.0], groups: vec![1.0], variances: None },
        );
        totals.insert(vec![child], (1u64 << 53) as f64 - 1.0);
    }
    let table = NoisyTable::new(noisy(&rows), Some(totals));
    assert!(matches!(table, Err(NoisyTableError::TotalsContradict { .. })));
}

#[test]
fn what_would_not_fit_or_was_not_given_is_refused() {
    let large = table(&[(&[], 1.0, 2e18), (&[], 2.0, 2e18)]);
    assert!(refusal(large, None).contains("region {} they exceed"));
    let number = |size| table(&[(&[], size, 1.0)]);
    assert!(refusal(number(9007199254740992.0), None).contains("size must be a whole number"));
    assert!(refusal(number(1.5), None).contains("got 1.5"));
    assert!(refusal(number(1.0), Some(Totals::new())).contains("region {} is missing"));
    let odd = table(&[
        (&[], 1.0, 1.0),
        (&["a,b"], 1.0, 1.0),
        (&["a,b", ""], 1.0, 1.0),
        (&["c"], 1.0, 1.0),
    ]);
    assert!(refusal(odd, None).contains("region {c} has no children"));
    let orphan = table(&[(&[], 1.0, 1.0), (&["a,b", "say \"x\""], 1.0, 1.0)]);
    assert!(refusal(orphan, None).contains(r#"{"a,b","say \"x\""}"#));
}

#[test]
fn without_rows_there_is_nothing() {
    assert!(NoisyTable::new(noisy(&Rows::new()), None).unwrap().is_none());
    let empty = Rows::from([(vec![], RegionRows::default())]);
    assert!(NoisyTable::new(noisy(&empty), None).unwrap().is_none());
}
