//! The numbers that people quote of a region.

use crate::coco::Coco;

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

    /// None where there are no groups, except that these have no entities.
    pub fn of(self, histogram: &Coco) -> Option<f64> {
        let quantile = |q| histogram.quantile(q).ok().flatten().map(|size| size as f64);
        match self {
            Statistic::Entities => Some(histogram.entities() as f64),
            Statistic::MeanSize => histogram.mean_size(),
            Statistic::Median => quantile(0.5),
            Statistic::P90 => quantile(0.9),
            Statistic::P99 => quantile(0.99),
            Statistic::Gini => histogram.gini(),
        }
    }

    /// The most that it can be of so many groups; 0 is the least.
    pub(super) fn most(self, groups: f64, max_size: u64) -> f64 {
        match self {
            Statistic::Entities => groups * max_size as f64,
            Statistic::Gini => 1.0,
            _ => max_size as f64,
        }
    }

    /// Whether it is a whole number.
    pub(super) fn is_whole(self) -> bool {
        !matches!(self, Statistic::MeanSize | Statistic::Gini)
    }
}
