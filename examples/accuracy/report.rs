//! The report in Markdown.

use crate::data::Data;
use crate::errors::Errors;
use crate::methods::METHODS;
use std::fmt::Write;

/// The errors of all runs with one data set, epsilon and method.
pub struct Sample {
    pub data: usize,
    pub epsilon: f64,
    pub method: usize,
    pub runs: Vec<Errors>,
}

impl Sample {
    fn l1(&self, level: usize) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.l1[level]))
    }

    fn violations(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.violations))
    }

    fn total_off(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.total_off))
    }
}

pub struct Summary {
    pub mean: f64,
    /// The standard deviation of a run.
    pub deviation: f64,
}

impl Summary {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Summary {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        Summary { mean, deviation: (squares / (count - 1.0).max(1.0)).sqrt() }
    }
}

pub fn report(data: &[Data], samples: &[Sample], runs: usize, seed: u64) -> String {
    let mut text = String::new();
    // writing to a string cannot fail
    let _ = write!(text, "{}", introduction(runs, seed));
    for (index, data) in data.iter().enumerate() {
        let samples: Vec<&Sample> = samples.iter().filter(|s| s.data == index).collect();
        let _ = write!(text, "{}", section(data, &samples));
    }
    text
}

fn introduction(runs: usize, seed: u64) -> String {
    format!(
        "# Accuracy of the consistency methods

The comparison of Fioretto, Van Hentenryck and Zhu (2020), table 7, on data that anybody can make
again: `make accuracy RUNS={runs}` wrote this page (noise from the seed {seed}).

The error of a level is the L1 distance of the released numbers of groups from the true ones, summed
over the level's regions and all sizes: the mean of {runs} releases \u{b1} the standard deviation of one.
A *violation* is a region and a size where the children do not sum to their parent. ε is that of
the whole release, each level has a third.
"
    )
}

fn section(data: &Data, samples: &[&Sample]) -> String {
    let mut text = String::new();
    let regions = (0..data.tree.depth()).map(|level| data.tree.level(level).len());
    let levels: Vec<String> = data
        .levels
        .iter()
        .zip(regions)
        .map(|(name, regions)| match regions {
            1 => name.to_string(),
            _ => format!("{} {name}", thousands(regions as f64)),
        })
        .collect();
    let _ = write!(
        text,
        "\n## {}\n\n{} {} groups with {} members, sizes up to {}.\n\n\
         | ε | method | `estimators`, `consistency` | {} | violations |\n|--:|---|---|{}--:|\n",
        data.title,
        data.note,
        thousands(data.groups() as f64),
        thousands(data.members() as f64),
        thousands(data.max_size as f64),
        levels.join(" | "),
        "--:|".repeat(levels.len()),
    );
    for sample in samples {
        let method = &METHODS[sample.method];
        let errors: Vec<String> = (0..levels.len())
            .map(|level| sample.l1(level))
            .map(|l1| format!("{} \u{b1} {}", thousands(l1.mean), thousands(l1.deviation)))
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            sample.epsilon,
            method.name,
            method.words,
            errors.join(" | "),
            thousands(sample.violations().mean)
        );
    }
    for (index, method) in METHODS.iter().enumerate() {
        let off: Vec<String> = samples
            .iter()
            .filter(|sample| sample.method == index && sample.total_off().mean > 0.0)
            .map(|s| format!("{} (ε = {})", thousands(s.total_off().mean), s.epsilon))
            .collect();
        if !off.is_empty() {
            let _ = writeln!(
                text,
                "\n{} misses the public number of all groups, by {} on average.",
                method.name,
                off.join(", ")
            );
        }
    }
    text
}

/// With one decimal below 100.
fn thousands(number: f64) -> String {
    if number < 99.95 && number.fract() != 0.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
