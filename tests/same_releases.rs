//! What is released under fixed seeds stays what it was, whatever becomes of the code: a hash for
//! each of some thousand releases, ledger entries, explanations and refusals, in
//! tests/same_releases.txt.
//!
//! Who means to change what is released: `ACCEPT=1 cargo test --no-default-features --test
//! same_releases` writes the file anew, and its diff names what changed.

use library::{Asked, Histograms, RangesAsked};
use serde_json::{Value, json};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::Hasher;
use std::{env, fs, thread};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/same_releases.txt");

/// All that is called of the library, and nothing else: its values go in and out as words, numbers
/// and JSON.
mod library {
    use pg_dp::charge::{Costs, Receipt};
    use pg_dp::coco::{Coco, DpCoco, Run};
    use pg_dp::hierarchy::{
        self, Consistency, HistogramMechanism, Mechanism, NoisyRows, NoisyTable, Observer, Prior,
        ReleaseError, ReleaseRequest, Released, Shape, Tree,
    };
    use pg_dp::ranges::{
        self, BinBounds, Bins, DpRanges, ExplainRequest, ExplainedMethod, Loss, MethodChoice,
        PlanePlan, PlaneRequest, RangePlan, RangeRequest, Rectangle, ReleasePlan, TargetRanges,
        Workload,
    };
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use serde_json::{Value, json};
    use std::num::NonZeroUsize;
    use std::ops::Range;

    /// Paths and (size, groups) pairs of a hierarchy's leaves.
    pub type Leaves = Vec<(Vec<String>, Vec<(u64, u64)>)>;

    /// Each region's (size, groups) pairs.
    pub type Histograms = Vec<Vec<(u64, u64)>>;

    /// What a release of a hierarchy is asked for.
    #[derive(Clone, Copy)]
    pub struct Asked<'a> {
        pub levels: usize,
        pub epsilon: f64,
        pub estimators: &'a [&'a str],
        pub consistency: &'a str,
        pub max_size: i64,
        pub shares: Option<&'a [f64]>,
        pub rows_per_unit: u32,
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    fn coco(pairs: &[(u64, u64)]) -> Coco {
        pairs.iter().map(|&(size, groups)| Run { size, groups }).collect()
    }

    fn pairs(histogram: &Coco) -> Vec<(u64, u64)> {
        histogram.runs().iter().map(|run| (run.size, run.groups)).collect()
    }

    fn tree(depth: usize, leaves: &Leaves) -> (Tree, Vec<Coco>) {
        let leaves = leaves.iter().map(|(path, pairs)| (path.clone(), coco(pairs))).collect();
        Tree::from_leaves(depth, leaves).unwrap()
    }

    fn request(asked: Asked) -> ReleaseRequest {
        ReleaseRequest {
            levels: asked.levels,
            epsilon: asked.epsilon,
            estimators: owned(asked.estimators),
            consistency: asked.consistency.to_string(),
            max_size: asked.max_size,
            shares: asked.shares.map(<[f64]>::to_vec),
            rows_per_unit: asked.rows_per_unit,
            groups_per_unit: None,
            keep_measurements: false,
        }
    }

    fn mechanism(asked: Asked) -> Result<Mechanism, String> {
        Mechanism::new(&request(asked)).map_err(|error| format!("{error} {}", error.hint()))
    }

    /// One histogram per region, and the noisy errors of candidates.
    ///
    /// Error: the refusal.
    pub fn hierarchy(
        asked: Asked,
        leaves: &Leaves,
        seed: u64,
        threads: usize,
    ) -> Result<(Histograms, Vec<(String, i64)>), String> {
        let mechanism = mechanism(asked)?;
        let (tree, leaves) = tree(asked.levels - 1, leaves);
        let mut words = ChaCha20Rng::seed_from_u64(seed);
        let threads = NonZeroUsize::new(threads).unwrap();
        let observer: &mut dyn Observer = &mut ();
        let released: Result<Released, ReleaseError> =
            Receipt::uncharged(mechanism).release(&tree, leaves, &mut words, threads, observer);
        let Released { histograms, errors, .. } = released.map_err(|error| error.to_string())?;
        Ok((histograms.iter().map(|released| pairs(released.histogram())).collect(), errors))
    }

    /// What is charged, and its description.
    pub fn hierarchy_ledger(asked: Asked) -> Result<Value, String> {
        let cost = mechanism(asked)?.cost();
        Ok(json!({
            "epsilon": cost.epsilon.decimal(),
            "rho": cost.loss.rho(),
            "mechanism": cost.mechanism,
        }))
    }

    /// Of one histogram by itself, whose number of groups is public.
    pub fn histogram(
        epsilon: f64,
        estimator: &str,
        max_size: i64,
        truth: &[(u64, u64)],
        seed: u64,
    ) -> Vec<(u64, u64)> {
        let receipt =
            Receipt::uncharged(HistogramMechanism::new(epsilon, estimator, max_size).unwrap());
        let mut words = ChaCha20Rng::seed_from_u64(seed);
        let released: DpCoco = receipt.release(&coco(truth), &mut words, &mut ());
        pairs(released.histogram())
    }

    /// Rows of (path, size, groups, variance).
    pub type Table = Vec<(Vec<String>, f64, f64, f64)>;

    /// `totals`: of paths.
    pub fn consistent(
        table: &Table,
        with_variances: bool,
        totals: Option<&[(Vec<String>, f64)]>,
        consistency: &str,
    ) -> (Histograms, f64) {
        let mut rows = NoisyRows::new(with_variances);
        for (path, size, groups, variance) in table {
            let region = rows.region(path.clone().into());
            rows.add(region, *size, *groups, *variance);
        }
        let totals = totals.map(|totals| totals.iter().cloned().collect());
        let table = NoisyTable::new(rows, totals).unwrap().unwrap();
        let (_, fit) = table.consistent(
            Consistency::parse(consistency).unwrap(),
            std::num::NonZeroUsize::MIN,
            &mut (),
        );
        (fit.histograms.iter().map(pairs).collect(), fit.gap)
    }

    /// `mean_size`: of the prior; None for the leaves as they are. The candidates and, for each of
    /// them and each level, the expected error and its standard error.
    pub fn explain_hierarchy(
        asked: Asked,
        estimators: Option<&[&str]>,
        consistency: Option<&[&str]>,
        leaves: &Leaves,
        mean_size: Option<f64>,
    ) -> Value {
        let Asked { levels, max_size, .. } = asked;
        // what is chosen is what a release does that is told neither
        let request = request(Asked { estimators: &["auto"], consistency: "matching", ..asked });
        let (estimators, consistency) = (estimators.map(owned), consistency.map(owned));
        let (tree, leaves) = tree(levels - 1, leaves);
        let groups: Vec<u64> = leaves.iter().map(Coco::groups).collect();
        let (estimators, consistency) = (estimators.as_deref(), consistency.as_deref());
        let all = groups.iter().sum();
        let candidates = hierarchy::candidates(&request, estimators, consistency, all).unwrap();
        let prior = match mean_size {
            Some(mean) => {
                Prior::Shape { shape: Shape::heavy_tailed(mean, max_size as u64).unwrap(), groups }
            }
            None => Prior::Leaves(leaves),
        };
        let mechanisms: Vec<&Mechanism> = candidates.iter().map(|c| &c.mechanism).collect();
        let one = NonZeroUsize::MIN;
        let errors =
            hierarchy::expected_errors(&mechanisms, &tree, &prior, 3, one, &mut ()).unwrap();
        let row = |(candidate, levels): (&hierarchy::Candidate, &Vec<hierarchy::ExpectedError>)| {
            let levels: Vec<Value> =
                levels.iter().map(|level| json!([level.emd, level.standard_error])).collect();
            json!([candidate.estimators, candidate.consistency, candidate.chosen, levels])
        };
        candidates.iter().zip(&errors).map(row).collect()
    }

    /// What a release of range sums is asked for.
    #[derive(Clone, Copy)]
    pub struct RangesAsked<'a> {
        pub bins: usize,
        pub epsilon: f64,
        pub delta: f64,
        /// "optimal for" and "auto for" are those for [`RangesAsked::targets`].
        pub method: &'a str,
        pub targets: &'a [Range<usize>],
        pub rows_per_unit: u32,
    }

    fn range_plan(asked: RangesAsked) -> Result<RangePlan, String> {
        let RangesAsked { bins, epsilon, delta, method, targets, rows_per_unit } = asked;
        let method = match method.strip_suffix(" for") {
            Some(word) => {
                let target = TargetRanges::Ranges(targets.to_vec());
                Ok(MethodChoice { target, ..MethodChoice::parse(word).unwrap() })
            }
            None => MethodChoice::parse(method),
        };
        let bins = bins as i64;
        let request = |method| RangeRequest { bins, epsilon, delta, rows_per_unit, method };
        method
            .map(request)
            .and_then(RangePlan::new)
            .map_err(|error| format!("{error} {}", error.hint()))
    }

    /// The answers to `ranges`, their variances, those of the bins, and the stored form.
    ///
    /// Error: the refusal.
    pub fn ranges(
        asked: RangesAsked,
        counts: &[u64],
        ranges: &[Range<usize>],
        seed: u64,
    ) -> Result<Value, String> {
        let plan = range_plan(asked)?;
        let mut truth = Bins::empty(BinBounds::new(-3, counts.len() as i64 - 3).unwrap());
        (-3..).zip(counts).for_each(|(bin, &count)| truth.add(bin, count));
        let mut words = ChaCha20Rng::seed_from_u64(seed);
        let plan = ReleasePlan::Strategy(plan);
        let released = Receipt::uncharged(plan).release_bins(&truth, &mut words);
        let stored: Value = serde_json::from_str(&released.to_text()).unwrap();
        let read = DpRanges::from_bytes(&released.to_bytes()).unwrap();
        let (release, read) = (released.release(), read.release());
        let sums: Vec<f64> = ranges.iter().map(|range| release.sum(range.clone())).collect();
        assert!(ranges.iter().zip(&sums).all(|(range, sum)| read.sum(range.clone()) == *sum));
        let variances: Vec<f64> =
            ranges.iter().map(|range| read.variance(range.clone()).unwrap()).collect();
        let of_bins = release.variances_of_bins().unwrap();
        Ok(json!({"sums": sums, "variances": variances, "of_bins": of_bins, "stored": stored}))
    }

    fn loss(loss: Loss) -> Value {
        match loss {
            Loss::Epsilon(epsilon) => json!({"epsilon": epsilon}),
            Loss::Rho(rho) => json!({"rho": rho}),
        }
    }

    pub fn ranges_ledger(asked: RangesAsked) -> Result<Value, String> {
        let plan = range_plan(asked)?;
        Ok(json!({
            "epsilon": plan.epsilon().decimal(),
            "delta": plan.delta(),
            "rho": plan.rho(),
            "mechanism": plan.cost().mechanism,
            "loss": loss(plan.mechanism().measurements().loss()),
            "largest_count": plan.mechanism().largest_count(),
        }))
    }

    pub fn explain_ranges(
        asked: RangesAsked,
        workload: &str,
        methods: Option<&[&str]>,
        branching: Option<u32>,
    ) -> Value {
        let methods = methods.map(owned);
        let (bins, workload) = (asked.bins as i64, Workload::parse(workload).unwrap());
        let RangesAsked { epsilon, delta, .. } = asked;
        let methods = methods.as_deref();
        let request = ExplainRequest { bins, epsilon, delta, workload, methods, branching };
        let rows = ranges::explain(&request).unwrap();
        let row = |row: ExplainedMethod| {
            let (mean, max) = (row.spread.mean, row.spread.max);
            json!([row.method, row.branching, mean, max, row.svd_ratio, row.chosen])
        };
        rows.into_iter().map(row).collect()
    }

    /// Of `bins` rows and `columns`: the answers to all rectangles of pairs of ranges, the plan.
    pub fn plane(
        asked: RangesAsked,
        columns: usize,
        counts: &[u64],
        of_rows: &[Range<usize>],
        of_columns: &[Range<usize>],
        seed: u64,
    ) -> Result<Value, String> {
        let RangesAsked { bins, epsilon, delta, method, rows_per_unit, .. } = asked;
        let (rows, width) = (bins as i64, columns as i64);
        let request = |method| {
            let (columns, asked) = (width, Vec::new());
            PlaneRequest { rows, columns, epsilon, delta, rows_per_unit, method, asked }
        };
        let method = MethodChoice::parse_for_grid(method);
        let plan = method
            .map(request)
            .and_then(PlanePlan::new)
            .map_err(|error| format!("{error} {}", error.hint()))?;
        let described = json!({
            "epsilon": plan.epsilon().decimal(),
            "delta": plan.delta(),
            "rho": plan.rho(),
            "method": plan.parameters().method().word(),
            "branching": plan.parameters().branching(),
            "loss": loss(plan.mechanism().measurements().loss()),
            "mean": plan.mechanism().mean_over_all(),
            "max": plan.mechanism().max_over_all(),
        });
        let release =
            Receipt::uncharged(plan).release(counts, &mut ChaCha20Rng::seed_from_u64(seed));
        let (mut sums, mut variances) = (vec![], vec![]);
        for rows in of_rows {
            for columns in of_columns {
                let rectangle = Rectangle { rows: rows.clone(), columns: columns.clone() };
                sums.push(release.sum(&rectangle));
                variances.push(release.variance(&rectangle));
            }
        }
        Ok(json!({"plan": described, "sums": sums, "variances": variances}))
    }
}

/// Names and hashes.
#[derive(Default)]
struct Hashes(BTreeMap<String, String>);

impl Hashes {
    fn add(&mut self, name: String, value: Value) {
        let mut text = String::new();
        canonical(&value, &mut text);
        let hash = format!("{:016x}", hash(&text));
        assert_eq!(self.0.insert(name.clone(), hash), None, "twice: {name}");
    }

    /// A refusal is told by its text.
    fn add_result(&mut self, name: String, result: Result<Value, String>) {
        self.add(name, result.unwrap_or_else(|refusal| json!({"refused": refusal})));
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(1, 2);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The last digits of floating-point numbers may differ between processors: the numbers of a list
/// are rounded to 9 digits of its largest, and one by itself to 9 digits. Integers are exact.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            let floats = items.iter().filter(|item| item.is_f64()).filter_map(Value::as_f64);
            let largest = floats.map(f64::abs).fold(0.0, f64::max);
            text.push('[');
            for item in items {
                match item.as_f64().filter(|_| item.is_f64()) {
                    Some(number) => push_rounded(number, largest, text),
                    None => canonical(item, text),
                }
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(entries) => {
            let entries: BTreeMap<_, _> = entries.iter().collect();
            text.push('{');
            for (key, value) in entries {
                write!(text, "{key:?}:").unwrap();
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap();
            push_rounded(number, number.abs(), text);
        }
        other => write!(text, "{other}").unwrap(),
    }
}

fn push_rounded(number: f64, largest: f64, text: &mut String) {
    if largest == 0.0 {
        text.push('0');
        return;
    }
    // as decimal digits, which take no powers of 10
    let exponent: i32 = format!("{largest:.8e}").split_once('e').unwrap().1.parse().unwrap();
    let own: i32 = format!("{number:.8e}").split_once('e').unwrap().1.parse().unwrap();
    let digits = 8 - (exponent - own);
    match usize::try_from(digits) {
        Ok(digits) if number != 0.0 => write!(text, "{number:.digits$e}").unwrap(),
        _ => text.push('0'),
    }
}

/// Numbers that look like chance, the same ever after.
fn scattered(index: u64) -> u64 {
    let x = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

struct Hierarchy {
    name: &'static str,
    levels: usize,
    leaves: library::Leaves,
}

fn path(names: &[u64]) -> Vec<String> {
    names.iter().map(|name| format!("r{name}")).collect()
}

/// Few groups of large and of no size, in some leaves none.
fn sparse_leaf(leaf: u64) -> Vec<(u64, u64)> {
    let runs = if leaf % 3 == 1 { 0 } else { 1 + leaf % 4 };
    (0..runs).map(|i| (scattered(leaf * 9 + i) % 90, 1 + scattered(leaf * 7 + i) % 4)).collect()
}

/// Every size up to 40, of a tail that is heavy.
fn dense_leaf(leaf: u64) -> Vec<(u64, u64)> {
    let groups =
        |size| (2000 + 300 * leaf) / ((size + 1) * (size + 2)) + scattered(size + leaf) % 3;
    (0..40).map(|size| (size, groups(size))).collect()
}

fn hierarchies() -> Vec<Hierarchy> {
    let uneven = || (0..4).flat_map(|a| (0..=a).map(move |b| vec![a, b]));
    let square = || (0..3).flat_map(|a| (0..3).map(move |b| vec![a, b]));
    let of = |paths: &mut dyn Iterator<Item = Vec<u64>>, leaf: fn(u64) -> Vec<(u64, u64)>| {
        (0..).zip(paths).map(|(i, names)| (path(&names), leaf(i))).collect()
    };
    vec![
        Hierarchy { name: "one", levels: 1, leaves: of(&mut [vec![]].into_iter(), dense_leaf) },
        Hierarchy { name: "few", levels: 1, leaves: of(&mut [vec![]].into_iter(), sparse_leaf) },
        Hierarchy {
            name: "empty",
            levels: 2,
            leaves: of(&mut (0..2).map(|a| vec![a]), |_| vec![]),
        },
        Hierarchy {
            name: "sparse2",
            levels: 2,
            leaves: of(&mut (0..6).map(|a| vec![a]), sparse_leaf),
        },
        Hierarchy {
            name: "dense2",
            levels: 2,
            leaves: of(&mut (0..5).map(|a| vec![a]), dense_leaf),
        },
        Hierarchy { name: "sparse3", levels: 3, leaves: of(&mut uneven(), sparse_leaf) },
        Hierarchy { name: "dense3", levels: 3, leaves: of(&mut square(), dense_leaf) },
    ]
}

const CONSISTENCY: [&str; 8] = [
    "matching",
    "matching_unweighted",
    "bottom_up",
    "pgsr",
    "topdown",
    "cumulative",
    "chain",
    "none",
];

const ESTIMATORS: [&str; 12] = [
    "H",
    "Hc",
    "Hc_l2",
    "Hg",
    "cut",
    "cut:0",
    "cut:4",
    "cut:6",
    "auto",
    "select:cut|Hc|Hg",
    "select:H|Hc_l2",
    "select:Hc|Hc_l2",
];

/// Those that differ by level, and choices among such.
fn mixed(levels: usize) -> &'static [&'static [&'static str]] {
    match levels {
        2 => &[&["H", "Hg"], &["cut", "Hc"], &["Hc", "Hc_l2"], &["select:auto|Hc/Hg"]],
        3 => &[
            &["Hc", "cut:4", "Hg"],
            &["H", "cut", "Hc_l2"],
            &["Hc", "Hc_l2", "Hc"],
            &["select:cut|Hc/Hc/Hg"],
        ],
        _ => &[],
    }
}

fn estimators(levels: usize) -> Vec<Vec<&'static str>> {
    let one = ESTIMATORS.iter().map(|word| vec![*word]);
    one.chain(mixed(levels).iter().map(|words| words.to_vec())).collect()
}

/// A name, and all but the words.
fn settings(levels: usize) -> [(&'static str, Asked<'static>); 2] {
    let shares: &[f64] = match levels {
        1 => &[1.0],
        2 => &[0.3, 0.7],
        _ => &[0.2, 0.3, 0.5],
    };
    let plain = Asked {
        levels,
        epsilon: 1.0,
        estimators: &[],
        consistency: "",
        max_size: 6,
        shares: None,
        rows_per_unit: 1,
    };
    let other =
        Asked { epsilon: 0.7, max_size: 60, shares: Some(shares), rows_per_unit: 3, ..plain };
    [("epsilon 1 K 6", plain), ("epsilon 0.7 K 60 shares rows 3", other)]
}

fn released(result: Result<(Histograms, Vec<(String, i64)>), String>) -> Result<Value, String> {
    result.map(|(histograms, errors)| json!([histograms, errors]))
}

fn of_hierarchies(hashes: &mut Hashes) {
    for Hierarchy { name, levels, leaves } in &hierarchies() {
        for (setting, asked) in settings(*levels) {
            for estimators in estimators(*levels) {
                for consistency in CONSISTENCY {
                    let shares = asked.shares.filter(|_| consistency != "bottom_up");
                    let asked = Asked { estimators: &estimators, consistency, shares, ..asked };
                    let what = format!("{name} {} {consistency} {setting}", estimators.join(","));
                    // what has no meaning is refused below
                    if library::hierarchy_ledger(asked).is_ok() {
                        let seed = hash(&what);
                        let one = library::hierarchy(asked, leaves, seed, 1);
                        hashes.add_result(format!("release {what}"), released(one));
                    }
                }
            }
        }
    }
}

/// Also of what is refused.
fn of_ledgers(hashes: &mut Hashes) {
    for levels in 1..=3 {
        for (setting, asked) in settings(levels) {
            for estimators in estimators(levels) {
                for consistency in CONSISTENCY {
                    let asked = Asked { estimators: &estimators, consistency, ..asked };
                    let words = estimators.join(",");
                    let name = format!("ledger {levels} levels {words} {consistency} {setting}");
                    hashes.add_result(name, library::hierarchy_ledger(asked));
                }
            }
        }
    }
    let (_, asked) = settings(2)[0];
    let asked = Asked { estimators: &["Hc"], consistency: "matching", ..asked };
    for (name, asked) in [
        ("epsilon", Asked { epsilon: -1.0, ..asked }),
        ("scale", Asked { epsilon: 1e-300, ..asked }),
        ("estimator", Asked { estimators: &["hc"], ..asked }),
        ("cut", Asked { estimators: &["cut:7"], ..asked }),
        ("estimators", Asked { estimators: &["Hc", "Hc", "Hc"], ..asked }),
        ("select", Asked { estimators: &["select:Hc"], ..asked }),
        ("consistency", Asked { consistency: "mean", ..asked }),
        ("shares", Asked { shares: Some(&[1.0]), ..asked }),
        ("share", Asked { shares: Some(&[0.5, 0.6]), ..asked }),
        ("max_size", Asked { max_size: 0, ..asked }),
    ] {
        hashes.add_result(format!("refusal {name}"), library::hierarchy_ledger(asked));
    }
}

/// So much work that several threads begin it.
fn of_threads(hashes: &mut Hashes) {
    let leaf = |leaf: u64| -> Vec<(u64, u64)> {
        (0..400).map(|i| (scattered(leaf * 400 + i) % 25_000, 1 + i % 200)).collect()
    };
    let leaves: library::Leaves = (0..12).map(|i| (path(&[i / 4, i % 4]), leaf(i))).collect();
    for (word, consistency) in [
        ("cut", "matching"),
        ("cut", "none"),
        ("Hc", "matching"),
        ("Hc", "matching_unweighted"),
        ("Hc", "chain"),
        ("Hc_l2", "bottom_up"),
        ("H", "matching"),
        ("H", "topdown"),
        ("H", "pgsr"),
        ("Hg", "matching"),
        ("Hg", "none"),
        ("cut:3000", "matching"),
        ("select:cut|Hc", "matching"),
    ] {
        let (_, asked) = settings(3)[0];
        let asked = Asked { estimators: &[word], consistency, max_size: 20_000, ..asked };
        let name = format!("large {word} {consistency}");
        let run = |threads| library::hierarchy(asked, &leaves, hash(&name), threads);
        let one = run(1);
        assert!(run(4) == one, "{name}: four threads release something else");
        hashes.add_result(format!("release {name}"), released(one));
    }
}

fn of_histograms(hashes: &mut Hashes) {
    for (name, truth) in [("dense", dense_leaf(2)), ("sparse", sparse_leaf(3)), ("empty", vec![])] {
        for estimator in ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:0", "cut:9", "auto"] {
            for (epsilon, max_size) in [(0.1, 20), (1.0, 100), (10.0, 3000)] {
                let name = format!("histogram {name} {estimator} epsilon {epsilon} K {max_size}");
                let released =
                    library::histogram(epsilon, estimator, max_size, &truth, hash(&name));
                hashes.add(name, json!(released));
            }
        }
    }
}

fn of_tables(hashes: &mut Hashes) {
    let names: [&[u64]; 8] = [&[], &[0], &[1], &[2], &[0, 0], &[0, 1], &[1, 0], &[2, 0]];
    let mut table = library::Table::new();
    for (region, names) in (0..).zip(names) {
        for size in 0..9 {
            let noise = scattered(size * 50 + region) % 1000;
            let groups = 60.0 / (size + 1) as f64 / (names.len() + 1) as f64 + noise as f64 / 100.0;
            table.push((path(names), size as f64, groups, 1.0 + (noise % 7) as f64));
        }
    }
    let totals: Vec<(Vec<String>, f64)> =
        names.iter().map(|names| (path(names), names_below(names).len() as f64 * 25.0)).collect();
    for (with, totals) in [("none", None), ("root", Some(&totals[..1])), ("all", Some(&totals[..]))]
    {
        for variances in [false, true] {
            for consistency in CONSISTENCY {
                let (histograms, gap) = library::consistent(&table, variances, totals, consistency);
                let name = format!("table {consistency} totals {with} variances {variances}");
                // the gap is what is left of numbers that are nearly the same
                hashes.add(name, json!([histograms, (gap * 1e6).round()]));
            }
        }
    }
}

/// The four leaves of [`of_tables`] below a region.
fn names_below(names: &[u64]) -> Vec<[u64; 2]> {
    [[0, 0], [0, 1], [1, 0], [2, 0]].into_iter().filter(|leaf| leaf.starts_with(names)).collect()
}

fn of_expected_errors(hashes: &mut Hashes) {
    for Hierarchy { name, levels, leaves } in &hierarchies() {
        for (setting, asked) in settings(*levels) {
            for mean_size in [None, Some(4.0)] {
                let mut add = |words: &str, estimators, consistency| {
                    let name = format!("explain {name} {words} mean {mean_size:?} {setting}");
                    let explain = library::explain_hierarchy;
                    hashes.add(name, explain(asked, estimators, consistency, leaves, mean_size));
                };
                add("default", None, None);
                let all: &[&str] = &["H", "cut:4", "auto", "select:cut|Hc"];
                add("more", Some(all), Some(&["matching", "pgsr", "none"]));
                add("cumulative", None, Some(&["cumulative", "chain"]));
            }
        }
    }
}

/// Skewed, with gaps.
fn counts(bins: usize) -> Vec<u64> {
    let count = |bin| match scattered(bin) % 5 {
        0 => 0,
        1 => scattered(bin + 7) % 1000,
        _ => scattered(bin + 7) % 12,
    };
    (0..bins as u64).map(count).collect()
}

/// All of few bins, and some of many.
fn ranges(bins: usize) -> Vec<std::ops::Range<usize>> {
    if bins <= 12 {
        return (0..=bins).flat_map(|lo| (lo..=bins).map(move |hi| lo..hi)).collect();
    }
    let some = (0..60u64).map(|i| {
        let at = |seed| scattered(seed) as usize % (bins + 1);
        let (a, b) = (at(2 * i), at(2 * i + 1));
        a.min(b)..a.max(b)
    });
    [0..bins, 0..1, bins - 1..bins, 0..0].into_iter().chain(some).collect()
}

const METHODS: [&str; 31] = [
    "flat",
    "tree",
    "tree:2",
    "tree:5",
    "tree:16",
    "tree:geometric",
    "tree:optimised",
    "tree:3:geometric",
    "tree:3:optimised",
    "tree_consistent",
    "tree_consistent:2",
    "tree_consistent:7",
    "tree_consistent:equal",
    "tree_consistent:geometric",
    "tree_consistent:optimised",
    "tree_consistent:4:geometric",
    "tree_consistent:4:optimised",
    "quad",
    "wavelet",
    "gaussian",
    "binary_tree",
    "cascade",
    "cascade:2",
    "cascade:3",
    "cascade:16",
    "prefix",
    "optimal",
    "optimal:prefix",
    "optimal:nodes",
    "optimal for",
    "auto for",
];

const CHOICES: [&str; 4] = ["auto", "auto:all", "auto:prefix", "auto:nodes"];

fn of_ranges(hashes: &mut Hashes) {
    let add = |hashes: &mut Hashes, asked: RangesAsked| {
        let RangesAsked { bins, epsilon, delta, method, rows_per_unit: rows, .. } = asked;
        let ranges = ranges(bins);
        let asked = RangesAsked { targets: &ranges, ..asked };
        let what = format!("{method} {bins} bins epsilon {epsilon} delta {delta} rows {rows}");
        let released = library::ranges(asked, &counts(bins), &ranges, hash(&what));
        hashes.add_result(format!("ranges {what}"), released);
        hashes.add_result(format!("ranges ledger {what}"), library::ranges_ledger(asked));
    };
    let asked = RangesAsked {
        bins: 0,
        epsilon: 1.0,
        delta: 0.0,
        method: "",
        targets: &[],
        rows_per_unit: 1,
    };
    for method in METHODS.into_iter().chain(CHOICES) {
        for delta in [0.0, 1e-9] {
            for bins in [1, 2, 7, 64, 100] {
                add(hashes, RangesAsked { bins, delta, method, ..asked });
            }
            let other = RangesAsked { epsilon: 0.3, delta, method, rows_per_unit: 3, ..asked };
            for bins in [7, 33] {
                add(hashes, RangesAsked { bins, ..other });
            }
            // what is solved for and what tries everything takes long
            let many = if method.starts_with("auto") || method.starts_with("optimal") {
                300
            } else {
                3001
            };
            add(hashes, RangesAsked { bins: many, ..other });
        }
    }
    // beyond what is solved for
    for method in ["optimal", "optimal:prefix", "optimal:nodes"] {
        add(hashes, RangesAsked { bins: 3001, delta: 1e-9, method, ..asked });
    }
    for method in ["", "Flat", "tree:1", "cascade:5000", "auto:every", "flat:2"] {
        add(hashes, RangesAsked { bins: 9, delta: 1e-9, method, ..asked });
    }
    for (epsilon, delta) in [(-1.0, 0.0), (1.0, 1.0), (1.0, -0.1), (1e-300, 0.0), (1e-300, 1e-9)] {
        for method in ["flat", "cascade", "auto"] {
            add(hashes, RangesAsked { bins: 9, epsilon, delta, method, ..asked });
        }
    }
}

fn of_explained_ranges(hashes: &mut Hashes) {
    let some: &[&str] = &["tree:3", "optimal", "auto", "quad"];
    for bins in [1, 9, 100] {
        for delta in [0.0, 1e-9] {
            for workload in ["all", "prefix", "nodes"] {
                let (epsilon, method) = (0.5, "");
                let asked =
                    RangesAsked { bins, epsilon, delta, method, targets: &[], rows_per_unit: 1 };
                let methods = if delta > 0.0 { some } else { &some[..1] };
                for (words, methods, branching) in
                    [("default", None, None), ("4", None, Some(4)), ("some", Some(methods), None)]
                {
                    let name = format!("explain ranges {bins} delta {delta} {workload} {words}");
                    let explain = library::explain_ranges;
                    hashes.add(name, explain(asked, workload, methods, branching));
                }
            }
        }
    }
}

fn of_planes(hashes: &mut Hashes) {
    for method in [
        "flat",
        "gaussian",
        "tree_consistent",
        "tree_consistent:2",
        "tree_consistent:5",
        "cascade",
        "cascade:3",
        "auto",
        "tree",
        "cascade:99",
    ] {
        for (bins, columns) in [(1, 1), (1, 11), (3, 4), (16, 16), (7, 50), (30, 41)] {
            for (epsilon, delta, rows) in [(1.0, 0.0, 1), (1.0, 1e-9, 1), (0.4, 1e-9, 3)] {
                let asked =
                    RangesAsked { bins, epsilon, delta, method, targets: &[], rows_per_unit: rows };
                let name = format!(
                    "plane {method} {bins} x {columns} epsilon {epsilon} delta {delta} rows {rows}"
                );
                let (counts, seed) = (counts(bins * columns), hash(&name));
                let (rows, columns_asked) = (ranges(bins), ranges(columns));
                let released = library::plane(asked, columns, &counts, &rows, &columns_asked, seed);
                hashes.add_result(name, released);
            }
        }
    }
}

fn all() -> Hashes {
    let parts: [fn(&mut Hashes); 9] = [
        of_hierarchies,
        of_ledgers,
        of_threads,
        of_histograms,
        of_tables,
        of_expected_errors,
        of_ranges,
        of_explained_ranges,
        of_planes,
    ];
    let mut all = Hashes::default();
    thread::scope(|scope| {
        let of_part = |part: fn(&mut Hashes)| {
            scope.spawn(move || {
                let mut hashes = Hashes::default();
                part(&mut hashes);
                hashes
            })
        };
        for part in parts.map(of_part) {
            for (name, hash) in part.join().unwrap().0 {
                assert_eq!(all.0.insert(name.clone(), hash), None, "twice: {name}");
            }
        }
    });
    all
}

#[test]
fn what_is_released_is_what_it_was() {
    let all = all().0;
    if env::var_os("ACCEPT").is_some() {
        let lines: String = all.iter().map(|(name, hash)| format!("{name}: {hash}\n")).collect();
        fs::write(EXPECTED, lines).unwrap();
        return;
    }
    let expected = fs::read_to_string(EXPECTED).unwrap();
    let expected: BTreeMap<&str, &str> =
        expected.lines().map(|line| line.rsplit_once(": ").unwrap()).collect();
    let found: BTreeMap<&str, &str> =
        all.iter().map(|(name, hash)| (name.as_str(), hash.as_str())).collect();
    let names = expected.keys().chain(found.keys().filter(|name| !expected.contains_key(*name)));
    let wrong = names.filter_map(|name| match (expected.get(name), found.get(name)) {
        (expected, found) if expected == found => None,
        (Some(_), Some(_)) => Some(format!("other: {name}")),
        (Some(_), None) => Some(format!("gone: {name}")),
        _ => Some(format!("new: {name}")),
    });
    let wrong: Vec<String> = wrong.collect();
    let (number, of) = (wrong.len(), expected.len());
    assert!(wrong.is_empty(), "{number} differ, of {of} before:\n{}", wrong.join("\n"));
}

/// Or no change would ever be seen.
#[test]
fn the_hash_tells_numbers_apart() {
    let text = |value: Value| {
        let mut text = String::new();
        canonical(&value, &mut text);
        text
    };
    assert_eq!(text(json!([1.0, -0.5, 7])), "[1.00000000e0,-5.0000000e-1,7,]");
    assert_eq!(text(json!({"b": 1, "a": [1e-12, 3.0]})), "{\"a\":[0,3.00000000e0,],\"b\":1,}");
    assert_ne!(text(json!(1.00000001)), text(json!(1.0)));
    assert_eq!(text(json!(1.0 + 1e-12)), text(json!(1.0)));
    assert_eq!(text(json!([0.0, -0.0])), "[0,0,]");
    assert_ne!(hash("a"), hash("b"));
}
