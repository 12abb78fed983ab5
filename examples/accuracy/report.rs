//! The report in Markdown.

use crate::data::Data;
use crate::errors::Errors;
use crate::methods::{CHAIN, LOCAL, METHODS, PUBLISHED_CHAIN, loss_of_published_chain};
use crate::numbers::thousands;
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
        Summary { mean, deviation: (squares / (count - 1.0)).sqrt() }
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
over the level's regions and all sizes: the mean of {runs} releases ± the standard deviation of one.
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
            .map(|l1| format!("{} ± {}", thousands(l1.mean), thousands(l1.deviation)))
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
    let _ = write!(text, "\n{}", chain_with_an_honest_sensitivity(data, samples));
    text
}

/// What changes for M_c^ch once its noise is that of its sensitivity, from the measurements alone.
fn chain_with_an_honest_sensitivity(data: &Data, samples: &[&Sample]) -> String {
    let sample_of = |epsilon: f64, name: &str| {
        samples.iter().find(|s| s.epsilon == epsilon && METHODS[s.method].name == name)
    };
    // of each level at each epsilon: whether the method has the least error, and its error as a
    // multiple of that of another one
    let (mut places, mut wins, mut published_wins) = (0, 0, 0);
    let (mut of_published, mut of_local) = (Vec::new(), Vec::new());
    for chain in samples.iter().filter(|s| METHODS[s.method].name == CHAIN) {
        let (Some(published), Some(local)) =
            (sample_of(chain.epsilon, PUBLISHED_CHAIN), sample_of(chain.epsilon, LOCAL))
        else {
            continue;
        };
        for level in 0..data.tree.depth() {
            let error = |sample: &Sample| sample.l1(level).mean;
            let others = samples
                .iter()
                .filter(|s| s.epsilon == chain.epsilon)
                .filter(|s| ![CHAIN, PUBLISHED_CHAIN].contains(&METHODS[s.method].name));
            let least = others.map(|s| error(s)).fold(f64::INFINITY, f64::min);
            places += 1;
            wins += usize::from(error(chain) < least);
            published_wins += usize::from(error(published) < least);
            of_published.push(error(chain) / error(published));
            of_local.push(error(chain) / error(local));
        }
    }
    let range = |ratios: &[f64]| {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        format!("{} to {}", thousands(least), thousands(largest))
    };
    format!(
        "**M_c^ch with an honest sensitivity.** One entity moves as many running totals of a level \
         as the level has regions; the paper's noise is for one, and at ε = 1 really costs ε = {}. \
         With that noise M_c^ch has the least error of all methods in {published_wins} of {places} \
         places (a level at an ε). With the noise that makes it private it has the least error in \
         {wins} of {places}: its error is {} times what it was, and {} times that of {LOCAL}.\n",
        thousands(loss_of_published_chain(data, 1.0)),
        range(&of_published),
        range(&of_local),
    )
}
