//! The text of the report.

use crate::cases::{Case, Errors, SIGNALS};
use crate::numbers::thousands;
use crate::{DELTA, EPSILON, Results, SEED};
use std::fmt::Write;

pub fn report(results: &Results) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "\
# Accuracy of adaptive estimates

`estimate => 'adaptive'` of [`dp_range_sums`](ranges.md#estimates-that-see-the-shape) against `'unbiased'`, both made
of the same releases, and against DAWA (Li, Hay, Miklau and Wang 2014): `make accuracy` wrote this page.

Of each of {} real histograms over {} bins ([data/](../data/README.md)), samples of 10^3 to 10^7
rows are released at ε = {EPSILON}: what counts is ε times rows. {} releases of each, with
samples and noise from the seed {SEED}. The histograms were chosen by their names, and not looked at
before the estimates were made.

DAWA is that of the paper with the noise that its proof needs, a quarter of ε for the partition, our own
best strategy (`auto`) over its buckets, and the best of six ways to find these
([dawa.rs](../reports/adaptive_accuracy/dawa.rs)). It has no form with a δ, and does not tell how
certain its answers are.

Errors are root mean squares over the ranges and releases: below 1, `adaptive` is better.
",
        results.histograms.len(),
        thousands(results.histograms[0].bins() as f64),
        results.releases,
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
    let (asked, method) =
        if case.prefixes { ("Prefixes", "auto:prefix") } else { ("Random ranges", "auto") };
    let privacy = if case.delta == 0.0 { "pure ε".into() } else { format!("δ = {DELTA}") };
    let _ = write!(text, "\n## {asked}, {privacy}\n\n`method => '{method}'`.\n\n| ε times rows |");
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
    let adaptive = |e: &Errors| (e.adaptive / e.unbiased).sqrt();
    row("adaptive over unbiased, geometric mean", &|all| {
        format!("{:.3}", geometric_mean(all, adaptive))
    });
    row("the same, largest of all histograms", &|all| {
        format!("{:.3}", all.iter().map(|e| adaptive(e)).fold(0.0, f64::max))
    });
    if case.delta == 0.0 {
        row("DAWA over unbiased, geometric mean", &|all| {
            format!("{:.3}", geometric_mean(all, |e| (e.dawa / e.unbiased).sqrt()))
        });
        row("adaptive over DAWA, geometric mean", &|all| {
            format!("{:.3}", geometric_mean(all, |e| (e.adaptive / e.dawa).sqrt()))
        });
        row("histograms on which DAWA is better than adaptive", &|all| {
            all.iter().filter(|e| e.dawa < e.adaptive).count().to_string()
        });
    }
    row("intervals of 90 % that hold the truth", &|all| {
        let inside: u32 = all.iter().map(|e| e.inside).sum();
        let intervals: u32 = all.iter().map(|e| e.intervals).sum();
        format!("{:.1} %", 100.0 * f64::from(inside) / f64::from(intervals))
    });
    row("the same, least of all histograms", &|all| {
        let share = |e: &&Errors| f64::from(e.inside) / f64::from(e.intervals);
        format!("{:.0} %", 100.0 * all.iter().map(share).fold(1.0, f64::min))
    });
}

fn geometric_mean(all: &[&Errors], of: impl Fn(&Errors) -> f64) -> f64 {
    (all.iter().map(|e| of(e).ln()).sum::<f64>() / all.len() as f64).exp()
}
