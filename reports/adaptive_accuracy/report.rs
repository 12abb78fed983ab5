//! The text of the report.

use crate::cases::{Case, Errors, SIGNALS};
use crate::numbers::thousands;
use crate::{DELTA, EPSILON, Results, SEED, STRUCTURE_FIRST};
use std::fmt::Write;

pub fn report(results: &Results) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "\
# Accuracy of estimates that see the shape

`estimate => 'adaptive'` of [`dp_range_sums`](ranges.md#estimates-that-see-the-shape) against `'unbiased'`, both made
of the same releases; `method => 'aware'`, which [sees the data first](ranges.md#where-there-are-few-rows); and DAWA
(Li, Hay, Miklau and Wang 2014), which it is made after: `make accuracy` wrote this page.

Of each of {} real histograms over {} bins ([data/](../data/README.md)), samples of 10^3 to 10^7
rows are released at ε = {EPSILON}: what counts is ε times rows. {} releases of each, with
samples and noise from the seed {SEED}. The histograms were chosen by their names, and not looked at
before the methods were made; the constants of `aware` were found on 40 others, those of `adaptive` on 60, and those
of both that make the intervals on 126 ([data/](../data/README.md)).

DAWA is that of the paper with the noise that its proof needs, a quarter of ε for the partition, our own
best strategy (`auto`) over its buckets, and what helped most to find these of all that the proof allows
([dawa.rs](../reports/adaptive_accuracy/dawa.rs)). It has no form with a δ, and `aware` leaves it unspent.
[`structure_first`](ranges.md#a-rival-for-comparison) leaves it unspent, too; it is slow, and was compared in {} of the
releases.

*Both* are adaptive estimates of a release by `aware`. At the end are the same histograms with fewer bins, of which
4 or 16 are one.

Errors are root mean squares over the ranges and releases, divided by those of `'unbiased'`: below 1 is
better than it. Means are geometric. An interval of 90 % is the answer ± 1.645 `stddev`; how many of them hold the
truth is counted over all ranges and releases. That was measured here, and is [no promise](ranges.md#estimates-that-see-the-shape).
",
        results.histograms.len(),
        thousands(results.histograms[0].bins() as f64),
        results.releases,
        results.releases.div_ceil(STRUCTURE_FIRST),
    );
    for (place, case) in results.cases.iter().enumerate() {
        section(&mut text, results, place, case);
    }
    text.push_str("\n## The histograms\n\n| histogram | rows | bins with rows |\n|---|--:|--:|\n");
    for histogram in &results.histograms {
        let (rows, filled) = (histogram.rows(), histogram.filled());
        let [rows, filled] = [rows, filled as u64].map(|n| thousands(n as f64));
        let _ = writeln!(text, "| {} | {rows} | {filled} |", histogram.name);
    }
    text
}

fn section(text: &mut String, results: &Results, place: usize, case: &Case) {
    let asked = if case.prefixes { "Prefixes" } else { "Random ranges" };
    let (method, aware) = (case.method(), case.aware());
    let bins = match case.joined {
        1 => String::new(),
        joined => format!(", {} bins", results.histograms[0].bins().div_ceil(joined)),
    };
    let privacy = if case.delta == 0.0 { "pure ε".into() } else { format!("δ = {DELTA}") };
    let _ = write!(
        text,
        "\n## {asked}, {privacy}{bins}\n\n`method => '{method}'` and `'{aware}'`.\n\n| ε times rows |"
    );
    SIGNALS.iter().for_each(|signal| {
        let _ = write!(text, " 10^{} |", signal.log10().round());
    });
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(SIGNALS.len()));
    let mut row = |what: &str, of_signal: &dyn Fn(&[&Errors]) -> String| {
        let _ = write!(text, "| {what} |");
        for signal in 0..SIGNALS.len() {
            let all = 0..results.histograms.len();
            let errors: Vec<&Errors> = all.map(|h| results.of(place, h, signal)).collect();
            let _ = write!(text, " {} |", of_signal(&errors));
        }
        text.push('\n');
    };
    let mut errors = |what: &str, of: &dyn Fn(&Errors) -> f64| {
        row(&format!("{what}, mean"), &|all| format!("{:.3}", geometric_mean(all, of)));
        row(&format!("{what}, largest of all histograms"), &|all| {
            format!("{:.3}", all.iter().map(|e| of(e)).fold(0.0, f64::max))
        });
    };
    errors("`adaptive`", &|e| (e.adaptive / e.unbiased).sqrt());
    errors("`aware`", &|e| (e.aware / e.unbiased).sqrt());
    errors("both", &|e| (e.aware_adaptive / e.unbiased).sqrt());
    if case.delta == 0.0 {
        errors("DAWA", &|e| (e.dawa / e.unbiased).sqrt());
        errors("`structure_first`", &|e| (e.structure_first / e.unbiased_beside).sqrt());
        row("the better of `adaptive` and both over DAWA", &|all| {
            let over = |of: fn(&Errors) -> f64| geometric_mean(all, |e| (of(e) / e.dawa).sqrt());
            format!("{:.3}", over(|e| e.adaptive).min(over(|e| e.aware_adaptive)))
        });
    }
    // those that hold the truth, and all
    let mut intervals = |what: &str, of: &dyn Fn(&Errors) -> (u32, u32)| {
        row(&format!("intervals of 90 % of {what} that hold the truth"), &|all| {
            let inside: u32 = all.iter().map(|e| of(e).0).sum();
            let intervals: u32 = all.iter().map(|e| of(e).1).sum();
            format!("{:.1} %", 100.0 * f64::from(inside) / f64::from(intervals))
        });
        row("the same, least of all histograms", &|all| {
            let share = |e: &&Errors| f64::from(of(e).0) / f64::from(of(e).1);
            format!("{:.0} %", 100.0 * all.iter().map(share).fold(1.0, f64::min))
        });
    };
    intervals("`adaptive`", &|e| (e.inside, e.intervals));
    intervals("`aware`", &|e| (e.aware_inside, e.intervals));
    intervals("both", &|e| (e.aware_adaptive_inside, e.intervals));
    if case.delta == 0.0 {
        intervals("`structure_first`", &|e| {
            (e.structure_first_inside, e.structure_first_intervals)
        });
    }
}

fn geometric_mean(all: &[&Errors], of: impl Fn(&Errors) -> f64) -> f64 {
    (all.iter().map(|e| of(e).ln()).sum::<f64>() / all.len() as f64).exp()
}
