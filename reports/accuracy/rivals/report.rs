//! What the page on single histograms says.

use super::{Comparison, PUBLISHED, Place, SEED, partitions};
use crate::numbers::thousands;
use crate::statistics::Mean;
use std::fmt::Write;

/// The error of what is released by default is to be at most so many times that of the exponential
/// mechanism.
const AT_MOST: f64 = 0.9;

/// `command`: what wrote it.
pub fn report(comparison: &Comparison, command: &str) -> String {
    introduction(comparison, command)
        + &over_exponential(comparison)
        + &over_all(comparison)
        + &details(comparison)
}

fn introduction(comparison: &Comparison, command: &str) -> String {
    let mut text = format!(
        "# Accuracy of single histograms

`{command}` wrote this page. It compares the histogram of one region, as pg_dp releases it by default
(`auto`), with published mechanisms for just that, which are programmed anew in
`reports/accuracy/rivals/`. All noise comes from fixed seeds: the same number of runs gives the same
errors anywhere. Hierarchies are on [another page](accuracy.md).

The error is the earth mover's distance (emd) of what is released from the truth: how many members would have
to be added or removed. It is the mean of {} runs ± its standard error (seed {SEED}). **All have the same
ε**, the whole of which goes into the one histogram: what is hidden is one member, of whichever group.
The groups, hence their number, and `max_size` are public for all.

- *Exponential* is the exponential mechanism over integer partitions (Blocki, Datta, Bonneau 2016): any histogram
  of that many groups of at most `max_size` members, with a probability proportional to
  e^(-½ ε emd). Here it is not cut off, so that it is private without a δ. Its error is not estimated, but its exact
  expectation; *drawn* is what as many samples had.
- *Exponential, largest exponent* is the same without the ½, which the proof for any score asks for, but with the
  largest exponent that is ε-private for this very score, by a proof of our own (in
  `partitions.rs`): ",
        comparison.runs,
    );
    let exponents: Vec<String> = comparison
        .epsilons()
        .map(|epsilon| format!("{:.3} for ε = {epsilon}", partitions::rate(epsilon)))
        .collect();
    text += &exponents.join(", ");
    text += ". We know of no publication of it.
- *Hay et al.* (2010): Laplace noise on the sorted sizes, isotonic regression by least squares, rounded.
- *PrivHist* (Suresh 2019): a threshold near the root of the number of members, cumulative numbers of groups below it,
  sorted sizes above it, made-up groups on both sides. The paper itself was not at hand: this is rebuilt from its
  outline, so the number of made-up groups and the shares of ε are ours; a tenth is for the threshold, and the rest
  is used for both parts at once, since a member touches one of them. That small groups are measured by columns and large
  ones by rows, as `auto` does, was published there.
- *Cyclic Laplace* (Kohli, Laskowski 2026): noise on the number of groups of each size that all but cancels
  in running totals, negative numbers raised to 0, and the rest scaled to the public total. It was made for some
  dozens of sizes that all occur: each of the others, up to `max_size`, gets groups that are not there.

Noise is discrete for all, and never larger than what the papers add.

| data | groups | members | distinct sizes | largest | `max_size` |
|---|--:|--:|--:|--:|--:|
";
    for region in &comparison.regions {
        let runs = region.truth.runs();
        let members: u64 = runs.iter().map(|run| run.size * run.groups).sum();
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            region.title,
            thousands(region.truth.groups() as f64),
            thousands(members as f64),
            thousands(runs.len() as f64),
            thousands(runs.last().map_or(0, |run| run.size) as f64),
            thousands(region.max_size as f64),
        );
    }
    text + "
*Names* and *Routes* are real, and not of this project's making: births in the United States in 2024 by name
and sex, and flights in 2008 by pair of airports ([where they are from](../data/README.md)). The others are described
[on the other page](accuracy.md): the root of each hierarchy, and the leaf with the median number of groups.
"
}

/// A table of cells, a row per region and a column per epsilon.
fn table(comparison: &Comparison, cell: impl Fn(&Place) -> String) -> String {
    let mut text = header(comparison, "data");
    for (number, region) in comparison.regions.iter().enumerate() {
        let cells: Vec<String> = comparison.of_region(number).map(&cell).collect();
        let _ = writeln!(text, "| {} | {} |", region.title, cells.join(" | "));
    }
    text
}

fn header(comparison: &Comparison, first: &str) -> String {
    let epsilons: Vec<String> =
        comparison.epsilons().map(|epsilon| format!(" ε = {epsilon} |")).collect();
    let lines = "--:|".repeat(epsilons.len());
    format!("\n| {first} |{}\n|---|{lines}\n", epsilons.concat())
}

fn over_exponential(comparison: &Comparison) -> String {
    let both = [
        ("the exponential mechanism", Place::over_exponential as fn(&Place) -> Mean),
        ("its largest exponent", Place::over_largest),
    ];
    let mut text = format!(
        "
## `auto` over the exponential mechanism

The ratio of the mean error to the expected one ± its standard error. It is to be at most {AT_MOST}. **Bold**: it is
not.
"
    );
    for (name, ratio) in both {
        let _ = writeln!(text, "\n### Over {name}");
        text += &table(comparison, |place| bold(ratio(place)));
        let ratios: Vec<Mean> = comparison.places.iter().map(ratio).collect();
        let worst = ratios.iter().map(|ratio| ratio.mean).fold(0.0, f64::max);
        let missed =
            comparison.places.iter().zip(&ratios).filter(|(_, ratio)| ratio.mean > AT_MOST);
        let missed: Vec<String> = missed
            .map(|(place, ratio)| {
                let region = &comparison.regions[place.region].title;
                format!("{region} at ε = {} ({ratio})", place.epsilon)
            })
            .collect();
        let _ = writeln!(
            text,
            "\nAt most {AT_MOST}: met in {} of {} places; the largest ratio is {worst:.2}.",
            ratios.len() - missed.len(),
            ratios.len(),
        );
        if !missed.is_empty() {
            let _ = writeln!(text, "Missed: {}.", missed.join("; "));
        }
    }
    text
}

fn bold(ratio: Mean) -> String {
    let text = format!("{:.2} ± {:.2}", ratio.mean, ratio.error);
    if ratio.mean > AT_MOST { format!("**{text}**") } else { text }
}

/// The geometric means over all regions.
fn over_all(comparison: &Comparison) -> String {
    let mut text = String::from(
        "\n## `auto` over each of them\n\n\
         The geometric mean over all data of the ratio of the errors, and in brackets the least and the largest.\n",
    );
    text += &header(comparison, "over");
    let mut line = |name: &str, ratio: &dyn Fn(&Place) -> Mean| {
        let cells: Vec<String> = comparison
            .epsilons()
            .map(|epsilon| {
                let places = comparison.places.iter().filter(|place| place.epsilon == epsilon);
                let ratios: Vec<f64> = places.map(|place| ratio(place).mean).collect();
                let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
                let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                let largest = ratios.iter().copied().fold(0.0, f64::max);
                let mean = (logs / ratios.len() as f64).exp();
                format!("{} ({} to {})", decimals(mean), decimals(least), decimals(largest))
            })
            .collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    line("exponential", &Place::over_exponential);
    line("exponential, largest exponent", &Place::over_largest);
    for (number, (name, _)) in PUBLISHED.iter().enumerate() {
        line(name, &|place| Mean::ratio(&place.auto, &place.published[number]));
    }
    text
}

/// Two of them, or the first that is not 0.
fn decimals(ratio: f64) -> String {
    let decimals = (-ratio.log10()).ceil().max(2.0) as usize;
    format!("{ratio:.decimals$}")
}

fn details(comparison: &Comparison) -> String {
    let mut text = String::from("\n## All errors\n");
    for (number, region) in comparison.regions.iter().enumerate() {
        let _ = writeln!(text, "\n### {}", region.title);
        text += &header(comparison, "emd, members");
        let mut line = |name: &str, error: &dyn Fn(&Place) -> String| {
            let cells: Vec<String> = comparison.of_region(number).map(error).collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        };
        line("auto", &|place| Mean::of(&place.auto).to_string());
        line("exponential (expected)", &|place| thousands(place.exponential));
        line("exponential (drawn)", &|place| Mean::of(&place.drawn).to_string());
        line("exponential, largest exponent (expected)", &|place| thousands(place.largest));
        for (method, (name, _)) in PUBLISHED.iter().enumerate() {
            line(name, &|place| Mean::of(&place.published[method]).to_string());
        }
    }
    text
}
