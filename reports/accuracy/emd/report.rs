//! What the report says of earth mover's distances.

use super::methods::{BOTTOM_UP, EQUAL_SHARES};
use super::{Comparison, Place, SEED};
use crate::data::Data;
use crate::numbers::thousands;
use crate::statistics::Mean;
use std::fmt::Write;

/// The error of what is released by default is to be at most so many times that of the best
/// published combination...
pub const AT_MOST: f64 = 1.05;
/// ... and of sparse data, below the root and up to this epsilon, at most so many times.
pub const AT_MOST_IF_SPARSE: f64 = 0.3;
const SPARSE_EPSILON: f64 = 0.1;

impl Comparison<'_> {
    /// What the ratio is to be at a place.
    pub fn goal(&self, place: Place) -> f64 {
        let sparse = self.hierarchies[place.data].all().is_sparse();
        match sparse && place.level > 0 && self.epsilons[place.epsilon] <= SPARSE_EPSILON {
            true => AT_MOST_IF_SPARSE,
            false => AT_MOST,
        }
    }
}

/// `command`: what wrote it.
pub fn report(comparison: &Comparison, command: &str) -> String {
    let runs = comparison.runs;
    let mut text = format!(
        "# Accuracy

`{command}` wrote this page. It compares what pg_dp releases by default (`auto`) with the
methods of Kuo, Chiu, Kifer, Hay and Machanavajjhala (2018) in earth mover's distance, and with those
of Fioretto, Van Hentenryck and Zhu (2020) in L1 distance. All noise comes from fixed seeds: the same
number of runs gives the same errors anywhere. Single histograms, and mechanisms that release nothing
else, are on [a page of their own](rivals.md).

{}
## Group sizes

The error of a region is the earth mover's distance (emd) of its released histogram from the true one: how
many members would have to be added or removed. It is given per region, as the mean over the regions of a
level and {runs} runs ± its standard error (seed {SEED}). **ε is that of a level**: a release of three levels
costs 3 ε. `auto` and `bottom_up` may share that out among the levels as they like.

A *combination* is `Hc` or `Hg` at each level, the root's first, with Kuo et al.'s matching and weighted
average: every one of them is measured, and the *best* is the one with the least mean error at that
level, data set and ε. It is chosen after the fact, level by level; no release has all of these errors at once. The
hierarchies of two levels are those of three without the leaves. `none` is what was measured, before
consistency. The *omniscient* one knows which sizes occur in each region and adds noise to their counts alone;
its expected error is √2 / ε times their number.

",
        data_sets(comparison),
    );
    text += &summary(comparison);
    text += &over_shares(comparison);
    text += "
### Figures

Like figure 6 of Kuo et al., three levels:

![Error over ε, three levels](accuracy-three-levels.svg)

Like their figure 5, two levels:

![Error over ε, two levels](accuracy-two-levels.svg)

Like their figure 4, the average by variance against the plain one:

![Error over ε, weighted and plain averages](accuracy-averages.svg)
";
    text += "
### All errors

One row per method: its estimators from the root down, and the consistency method. In italics the best
combination.
";
    for (data, hierarchies) in comparison.hierarchies.iter().enumerate() {
        for depth in [1, 0] {
            text += &details(comparison, data, depth, &hierarchies.by_depth[depth]);
        }
    }
    text
}

fn data_sets(comparison: &Comparison) -> String {
    let mut text = String::from(
        "| data | groups | members | distinct sizes | largest | `max_size` | regions per level |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for data in comparison.hierarchies.iter().map(|hierarchies| hierarchies.all()) {
        let regions: Vec<String> = (0..data.tree.depth())
            .map(|level| thousands(data.tree.level(level).len() as f64))
            .collect();
        let runs = data.truth[0].runs();
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            data.title,
            thousands(data.groups() as f64),
            thousands(data.members() as f64),
            thousands(runs.len() as f64),
            thousands(runs.last().map_or(0, |run| run.size) as f64),
            thousands(data.max_size as f64),
            regions.join(" / "),
        );
    }
    text.push('\n');
    for data in comparison.hierarchies.iter().map(|hierarchies| hierarchies.all()) {
        let _ = writeln!(text, "- *{}*. {}", data.title, data.note);
    }
    text
}

/// The ratios, and where they are not what they are to be.
fn summary(comparison: &Comparison) -> String {
    let mut text = format!(
        "### `auto` over the best combination

The ratio of the mean errors ± its standard error. It is to be at most {AT_MOST}, and at most \
         {AT_MOST_IF_SPARSE} below the root of *Sparse* for ε up to {SPARSE_EPSILON}. **Bold**: it is not.
",
    );
    for depth in [1, 0] {
        let _ = write!(
            text,
            "\n| {} levels | level |{}\n|---|---|{}\n",
            depth + 2,
            columns(comparison, "ε = "),
            "--:|".repeat(comparison.epsilons.len()),
        );
        for (data, hierarchies) in comparison.hierarchies.iter().enumerate() {
            let data_set = &hierarchies.by_depth[depth];
            for level in 0..data_set.tree.depth() {
                let cells: Vec<String> = (0..comparison.epsilons.len())
                    .map(|epsilon| cell(comparison, Place { data, depth, level, epsilon }))
                    .collect();
                let _ = writeln!(
                    text,
                    "| {} | {} | {} |",
                    data_set.title,
                    data_set.level_name(level),
                    cells.join(" | ")
                );
            }
        }
    }
    let ratios: Vec<(Mean, f64)> = comparison
        .places()
        .map(|place| (comparison.ratio(place), comparison.goal(place)))
        .collect();
    for (goal, what) in [(AT_MOST, "in general"), (AT_MOST_IF_SPARSE, "for *Sparse*")] {
        let of_goal: Vec<Mean> =
            ratios.iter().filter(|(_, own)| *own == goal).map(|(ratio, _)| *ratio).collect();
        let met = of_goal.iter().filter(|ratio| ratio.mean <= goal).count();
        let missed = of_goal.iter().filter(|ratio| ratio.mean - 2.0 * ratio.error > goal).count();
        let worst = of_goal.iter().map(|ratio| ratio.mean).fold(0.0, f64::max);
        let _ = write!(
            text,
            "\nAt most {goal} {what}: met in {met} of {} places, missed by more than two standard \
             errors in {missed}; the largest ratio is {worst:.2}.\n",
            of_goal.len()
        );
    }
    text
}

/// What the choice of shares is worth: against the two ends of it.
fn over_shares(comparison: &Comparison) -> String {
    let mut text = String::from(
        "\n### `auto` over equal shares, and over all for the leaves\n\n\
         The geometric mean over the levels of the ratio of the mean errors, and in brackets the ratios, \
         the root's first: over what `auto` does with the same share of ε for each level, and over \
         `bottom_up`. A dash where the other was never off at some level.\n",
    );
    for (title, other) in [("equal shares", EQUAL_SHARES), ("`bottom_up`", BOTTOM_UP)] {
        let _ = write!(
            text,
            "\n| over {title} | levels |{}\n|---|--:|{}\n",
            columns(comparison, "ε = "),
            "--:|".repeat(comparison.epsilons.len()),
        );
        for (data, hierarchies) in comparison.hierarchies.iter().enumerate() {
            for depth in [1, 0] {
                let cells: Vec<String> = (0..comparison.epsilons.len())
                    .map(|epsilon| {
                        let ratios = comparison.levels(data, depth, epsilon).map(|place| {
                            let method = comparison.method(depth, other);
                            let auto = comparison.mean(place, comparison.default(depth)).mean;
                            auto / comparison.mean(place, method).mean
                        });
                        let ratios: Vec<f64> = ratios.collect();
                        let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
                        let levels: Vec<String> =
                            ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
                        let mean = (logs / ratios.len() as f64).exp();
                        match mean.is_finite() {
                            true => format!("{mean:.2} ({})", levels.join(" ")),
                            false => "–".into(),
                        }
                    })
                    .collect();
                let title = hierarchies.all().title;
                let _ = writeln!(text, "| {title} | {} | {} |", depth + 2, cells.join(" | "));
            }
        }
    }
    text
}

fn cell(comparison: &Comparison, place: Place) -> String {
    let ratio = comparison.ratio(place);
    let text = format!("{:.2} ± {:.2}", ratio.mean, ratio.error);
    if ratio.mean > comparison.goal(place) { format!("**{text}**") } else { text }
}

fn columns(comparison: &Comparison, prefix: &str) -> String {
    comparison.epsilons.iter().map(|epsilon| format!(" {prefix}{epsilon} |")).collect()
}

/// Every method's errors.
fn details(comparison: &Comparison, data: usize, depth: usize, data_set: &Data) -> String {
    let mut text = format!("\n#### {}, {} levels\n", data_set.title, depth + 2);
    let epsilons = 0..comparison.epsilons.len();
    for level in 0..data_set.tree.depth() {
        let place = |epsilon| Place { data, depth, level, epsilon };
        let best: Vec<usize> =
            epsilons.clone().map(|epsilon| comparison.best_published(place(epsilon))).collect();
        let _ = write!(
            text,
            "\n| {} |{}\n|---|{}\n",
            data_set.level_name(level),
            columns(comparison, "ε = "),
            "--:|".repeat(epsilons.len()),
        );
        for (number, method) in comparison.methods[depth].iter().enumerate() {
            let cells: Vec<String> = epsilons
                .clone()
                .map(|epsilon| {
                    let text = comparison.mean(place(epsilon), number).to_string();
                    if best[epsilon] == number { format!("*{text}*") } else { text }
                })
                .collect();
            let _ = writeln!(text, "| {} | {} |", method.name, cells.join(" | "));
        }
        let omniscient: Vec<String> = epsilons
            .clone()
            .map(|epsilon| thousands(comparison.omniscient(place(epsilon))))
            .collect();
        let _ = writeln!(text, "| omniscient (expected) | {} |", omniscient.join(" | "));
    }
    text
}
