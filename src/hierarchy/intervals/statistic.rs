//! The numbers that people quote of a region.

use super::deviations::whole;
use crate::coco::Coco;
use std::ops::RangeInclusive;

/// A number that sums the groups of a region up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    Entities,
    MeanSize,
    Median,
    P90,
    P99,
    Gini,
}

impl Statistic {
    pub const ALL: [Statistic; 6] = [
        Statistic::Entities,
        Statistic::MeanSize,
        Statistic::Median,
        Statistic::P90,
        Statistic::P99,
        Statistic::Gini,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Statistic::Entities => "entities",
            Statistic::MeanSize => "mean_size",
            Statistic::Median => "median",
            Statistic::P90 => "p90",
            Statistic::P99 => "p99",
            Statistic::Gini => "gini",
        }
    }

    /// Of which share of the groups it is a quantile.
    fn share(self) -> Option<f64> {
        match self {
            Statistic::Median => Some(0.5),
            Statistic::P90 => Some(0.9),
            Statistic::P99 => Some(0.99),
            Statistic::Entities | Statistic::MeanSize | Statistic::Gini => None,
        }
    }

    /// None where there are no groups, except that these have no entities.
    pub fn of(self, histogram: &Coco) -> Option<f64> {
        match self {
            Statistic::Entities => Some(histogram.entities() as f64),
            Statistic::MeanSize => histogram.mean_size(),
            Statistic::Gini => histogram.gini(),
            Statistic::Median | Statistic::P90 | Statistic::P99 => {
                histogram.quantile(self.share()?).ok().flatten().map(|size| size as f64)
            }
        }
    }

    /// Which group has the size that is the quantile.
    fn rank(self, histogram: &Coco) -> Option<u64> {
        histogram.quantile_rank(self.share()?).ok()
    }

    /// What deviations are measured in: of a quantile its [place](Coco::place), as few releases tell
    /// little of how far off it is where all or most have the same size.
    pub(super) fn place(self, histogram: &Coco) -> Option<f64> {
        match self.share() {
            Some(_) => histogram.place(self.rank(histogram)?),
            None => self.of(histogram),
        }
    }

    /// The ends of a bar around a place. `up_to`: how many groups of at most each size there may be
    /// less or more.
    pub(super) fn ends(self, released: &Coco, half: f64, up_to: &[u64]) -> Option<[f64; 2]> {
        let place = self.place(released)?;
        let [lower, upper] = [place - half, place + half];
        let Some(rank) = self.rank(released) else {
            return Some(match self {
                Statistic::Entities => [place - whole(half), place + whole(half)],
                _ => [lower, upper],
            });
        };
        // rounded up, a place is the quantile; and the next size may be far off
        let [least, most] = reached(released, rank, up_to).map(|size| size as f64);
        Some([lower.ceil().min(least), upper.ceil().max(most)])
    }

    /// The most that it can be of so many groups; 0 is the least.
    pub(super) fn most(self, groups: f64, max_size: u64) -> f64 {
        match self {
            Statistic::Entities => groups * max_size as f64,
            Statistic::Gini => 1.0,
            _ => max_size as f64,
        }
    }
}

/// Between which released sizes that of a group lies, by the numbers of groups up to each (Woodruff
/// 1952).
fn reached(released: &Coco, rank: u64, up_to: &[u64]) -> [u64; 2] {
    let mut below = 0;
    let bars = released.runs().iter().zip(up_to).map(|(run, half)| {
        below += run.groups;
        (run.size, below.saturating_sub(*half)..=below.saturating_add(*half))
    });
    let bars: Vec<_> = bars.collect();
    let last = released.runs().last().map_or(0, |run| run.size);
    let first = |is: &dyn Fn(&RangeInclusive<u64>) -> bool| {
        bars.iter().find(|(_, bar)| is(bar)).map_or(last, |(size, _)| *size)
    };
    [first(&|bar| *bar.end() >= rank), first(&|bar| *bar.start() >= rank)]
}
