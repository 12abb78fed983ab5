//! docs/coverage.md.

use super::tally::{BANDS, Bars, Kind, LevelTally};
use super::{CONFIDENCE, HIGHER, KINDS, SEED};
use crate::data::Data;
use crate::numbers::thousands;
use pg_dp::hierarchy::Statistic;
use std::fmt::Write;

pub fn head(runs: usize, hierarchies: &[Data]) -> String {
    let mut text = format!(
        "# Coverage of error bars

`cargo run --profile pure --no-default-features --example accuracy -- coverage {runs} docs` wrote this
page (`make accuracy RUNS=n` does with 10 n releases): each hierarchy released by
default {runs} times at each ε (of the whole release), with the bars of
[dp_hierarchy_intervals](reference/dp_hierarchy_intervals.md) at confidence {CONFIDENCE}. All noise comes from
fixed seeds (seed {SEED}).

- *held*: the percentage of bars that hold the true number, ± its standard error between releases, at
  the sizes that were released; *by sizes*: at those below 10, 100, 1,000 and above;
- *width*: from end to end, in groups, on average; *constant*: that of bars which are equally wide at all
  sizes of a level and hold as often. Nobody can make these: it takes the truth to know how
  wide they have to be;
- *at once*: the percentage of regions in which the bars of all sizes hold together, with
  `simultaneous => true`; a region without released sizes counts;
- *at {}*, *at {}*: the percentage of bars that hold at these confidences.

Whole numbers have steps: a bar of 0 or 1 group on either side holds more or less often than any
share that is asked for, and quantiles, which are sizes, hold nearly always where nearly all groups have few
sizes. How the bars are made was settled on *Sparse*, *Dense* and *Flights* at
other releases; *Gap* and *Schools* were not looked at. The synthetic data are smaller here than those of the same
names in [accuracy](accuracy.md).

| data | groups | regions per level |
|---|--:|--:|
",
        HIGHER[0], HIGHER[1]
    );
    for data in hierarchies {
        let regions: Vec<String> =
            (0..data.tree.depth()).map(|level| data.tree.level(level).len().to_string()).collect();
        let groups = thousands(data.groups() as f64);
        let _ = writeln!(text, "| {} | {groups} | {} |", data.title, regions.join(" / "));
    }
    text
}

/// `of_epsilons`: the tallies of all levels.
pub fn section(data: &Data, epsilons: &[f64], of_epsilons: &[Vec<LevelTally>]) -> String {
    let each = || {
        let levels = |(epsilon, levels)| (0..).zip(levels).map(move |level| (epsilon, level));
        epsilons.iter().zip(of_epsilons).flat_map(levels)
    };
    let mut text = format!(
        "\n## {}\n\n| ε | level | number | held | by sizes | width | constant | at once | {} |\n\
         |--:|---|---|--:|---|--:|--:|--:|--:|--:|\n",
        data.title,
        HIGHER.map(|level| format!("at {level}")).join(" | ")
    );
    for (epsilon, (level, tally)) in each() {
        let tally: &LevelTally = tally;
        for kind in KINDS {
            let what = match kind {
                Kind::OfSize => "of a size",
                Kind::UpToSize => "up to a size",
            };
            let Some(all) = tally.sizes.get(&(kind, None)) else { continue };
            let bands = (0..=BANDS.len()).filter_map(|n| tally.sizes.get(&(kind, Some(n))));
            let by_band: Vec<String> = bands.map(|bars| percent(bars.hold, bars.bars)).collect();
            let higher = (0..HIGHER.len()).filter_map(|n| tally.higher.get(&(kind, n)));
            let higher: Vec<String> = higher.map(|bars| percent(bars.hold, bars.bars)).collect();
            let at_once = tally.at_once.get(&kind).copied().unwrap_or(0);
            let _ = writeln!(
                text,
                "| {epsilon} | {} | {what} | {} | {} | {:.1} | {:.0} | {} | {} |",
                data.level_name(level),
                all.held(),
                by_band.join(", "),
                all.width / all.bars.max(1) as f64,
                all.constant_width(),
                percent(at_once, tally.regions),
                higher.join(" | "),
            );
        }
    }
    let names = Statistic::ALL.map(Statistic::name);
    let _ = write!(
        text,
        "\n| ε | level | {} |\n|--:|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    for (epsilon, (level, tally)) in each() {
        let held =
            names.map(|name| tally.statistics.get(name).map_or_else(String::new, Bars::held));
        let name = data.level_name(level);
        let _ = writeln!(text, "| {epsilon} | {name} | {} |", held.join(" | "));
    }
    text
}

impl Bars {
    fn held(&self) -> String {
        let share = percent(self.hold, self.bars);
        format!("{share} ± {:.1}", 100.0 * self.standard_error())
    }
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64)
}
