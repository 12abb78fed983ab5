//! What holds of anything that a user can write: it is refused, or is a value that is written and
//! read back as it is, and answers. For cargo's tests and for the fuzzer.

use pg_dp::coco::{Coco, Estimator};
use pg_dp::hierarchy::{Consistency, NoisyRows, NoisyTable};
use pg_dp::ranges::{
    AmountUnit, Bins, CellCounts, DpGrid, DpRanges, LevelBudgets, MAX_ADAPTIVE_BINS, MethodChoice,
    ReleaseChoice, Workload,
};
use std::collections::BTreeMap;

/// A value of one of SQL's types, as text or as bytes: the first byte says which.
pub fn value(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 5 {
        0 => read_back(
            data,
            kind / 5,
            Coco::parse,
            Coco::from_bytes,
            Coco::to_text,
            Coco::to_bytes,
            histogram,
        ),
        1 => read_back(
            data,
            kind / 5,
            Bins::parse,
            Bins::from_bytes,
            Bins::to_text,
            Bins::to_bytes,
            bins,
        ),
        2 => read_back(
            data,
            kind / 5,
            CellCounts::parse,
            CellCounts::from_bytes,
            CellCounts::to_text,
            CellCounts::to_bytes,
            |cells| {
                cells.to_json();
            },
        ),
        3 => read_back(
            data,
            kind / 5,
            DpRanges::parse,
            DpRanges::from_bytes,
            DpRanges::to_text,
            DpRanges::to_bytes,
            ranges,
        ),
        _ => read_back(
            data,
            kind / 5,
            DpGrid::parse,
            DpGrid::from_bytes,
            DpGrid::to_text,
            DpGrid::to_bytes,
            |grid| {
                grid.to_text();
            },
        ),
    }
}

fn read_back<T, E: std::fmt::Display>(
    data: &[u8],
    form: u8,
    parse: impl Fn(&str) -> Result<T, E>,
    from_bytes: impl Fn(&[u8]) -> Result<T, E>,
    text: impl Fn(&T) -> String,
    bytes: impl Fn(&T) -> Vec<u8>,
    ask: impl Fn(&T),
) {
    let read = match form % 2 {
        0 => std::str::from_utf8(data).ok().map(&parse),
        _ => Some(from_bytes(data)),
    };
    match read {
        None => {}
        Some(Err(refusal)) => assert!(!refusal.to_string().is_empty()),
        Some(Ok(value)) => {
            let same = |other: Result<T, E>| match other {
                Err(refusal) => panic!("{} is not read back: {refusal}", text(&value)),
                Ok(other) => {
                    assert_eq!(text(&other), text(&value));
                    assert_eq!(bytes(&other), bytes(&value));
                }
            };
            same(parse(&text(&value)));
            same(from_bytes(&bytes(&value)));
            ask(&value);
        }
    }
}

fn histogram(histogram: &Coco) {
    histogram.to_json();
    histogram.entities();
    assert!(histogram.gini().is_none_or(|gini| (0.0..=1.0).contains(&gini)));
    assert!(histogram.mean_size().is_none_or(f64::is_finite));
    for q in [0.0, 0.5, 1.0] {
        assert!(histogram.quantile(q).is_ok());
    }
}

fn bins(bins: &Bins) {
    bins.to_json();
}

fn ranges(ranges: &DpRanges) {
    let (bins, release) = (ranges.bounds().bins(), ranges.release());
    assert_eq!(release.bins(), bins);
    for range in [0..bins, 0..1, bins / 2..bins, bins / 3..bins / 2] {
        release.sum(range.clone());
        assert!(release.variance(range).is_none_or(|variance| variance >= 0.0));
    }
    // what takes long of many bins is the same of few
    if bins <= MAX_ADAPTIVE_BINS.min(300) {
        release.quantiles(&[0.0, 0.1, 0.5, 1.0]);
        release.variances_of_bins();
        if let Some(answers) = release.adaptive(&vec![1.0; bins]) {
            assert!(answers.variances_of_bins().iter().all(|variance| *variance >= 0.0));
            answers.sum(0..bins);
        }
    }
}

/// Words for methods, estimators and the like, which are written as they are read.
pub fn words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read_back = |written: Option<String>, read: &dyn Fn(&str) -> Option<String>| {
        if let Some(written) = written {
            assert_eq!(read(&written), Some(written.clone()), "{text}");
        }
    };
    let line = |text: &str| Some(MethodChoice::parse(text).ok()?.to_string());
    read_back(line(text), &line);
    let grid = |text: &str| Some(MethodChoice::parse_for_grid(text).ok()?.to_string());
    read_back(grid(text), &grid);
    let estimator = |text: &str| Some(Estimator::parse(text)?.to_string());
    read_back(estimator(text), &estimator);
    let workload = |text: &str| Some(Workload::parse(text)?.word().to_string());
    read_back(workload(text), &workload);
    let budgets = |text: &str| Some(LevelBudgets::parse(text)?.word().to_string());
    read_back(budgets(text), &budgets);
    if let Err(refusal) = ReleaseChoice::parse(text) {
        assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
    }
    let _ = Consistency::parse(text);
    // a unit, and an amount in it
    let (unit, amount) = text.split_once(' ').unwrap_or((text, text));
    if let Some(unit) = AmountUnit::parse(unit)
        && let Ok(whole) = unit.whole(amount)
    {
        assert!(unit.amount(whole as f64).is_finite());
    }
}

/// Anyone's noisy table: rows of nine bytes or eighteen, a region, a size, a number and a variance,
/// after a byte for the method. What is read becomes consistent.
pub fn noisy_table(data: &[u8]) {
    const METHODS: [&str; 7] =
        ["matching", "matching_unweighted", "bottom_up", "pgsr", "topdown", "cumulative", "chain"];
    let Some((head, data)) = data.split_first() else { return };
    let (method, has_variances) = (METHODS[usize::from(head & 127) % 7], *head > 127);
    let float = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut rows = NoisyRows::new(has_variances);
    for row in data.chunks_exact(if has_variances { 18 } else { 10 }).take(100) {
        let path = match row[0] {
            0..64 => Vec::<String>::new(),
            place @ 64..160 => vec![(place % 3).to_string()],
            place => vec![(place % 3).to_string(), (place / 3 % 3).to_string()],
        };
        let region = rows.region(path.into());
        let variance = if has_variances { float(&row[10..18]) } else { f64::NAN };
        rows.add(region, f64::from(row[1]), float(&row[2..10]), variance);
    }
    let table = match NoisyTable::new(rows, None) {
        Ok(Some(table)) => table,
        Ok(None) => return,
        Err(refusal) => {
            assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
            return;
        }
    };
    let method = Consistency::parse(method).expect("a method");
    let (tree, fit) = table.consistent(method, std::num::NonZeroUsize::MIN, &mut ());
    let of_sizes = |histograms: &[Coco]| -> BTreeMap<u64, u128> {
        let mut sums = BTreeMap::new();
        for run in histograms.iter().flat_map(Coco::runs) {
            *sums.entry(run.size).or_default() += u128::from(run.groups);
        }
        sums
    };
    for (index, region) in tree.regions().iter().enumerate() {
        if !region.children.is_empty() {
            let own = of_sizes(&fit.histograms[index..=index]);
            assert_eq!(
                own,
                of_sizes(&fit.histograms[region.children.clone()]),
                "{:?}",
                region.path
            );
        }
    }
}
