//! The ranges that questions are about, and what the errors of their answers come to.

use crate::work::done;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// What the variance of one answer takes, in units of [`done`].
pub(super) const UNITS_PER_VARIANCE: u64 = 64;

/// A set of ranges whose answers' variances are summed up.
//
// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workload {
    /// The N (N + 1) / 2 ranges that are not empty.
    All,
    /// The N ranges that begin with the first bin.
    Prefix,
    /// The nodes of a binary tree over the bins, leaves and root included, whatever the mechanism's
    /// own tree: the ranges [j 2^i, (j + 1) 2^i), cut off at N, for i from 0 to the least with
    /// 2^i >= N.
    Nodes,
}

impl Workload {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, Workload); 3] = [
        (Workload::All.word(), Workload::All),
        (Workload::Prefix.word(), Workload::Prefix),
        (Workload::Nodes.word(), Workload::Nodes),
    ];

    pub fn parse(word: &str) -> Option<Workload> {
        Workload::WORDS.iter().find(|(known, _)| *known == word).map(|(_, workload)| *workload)
    }

    pub const fn word(self) -> &'static str {
        match self {
            Workload::All => "all",
            Workload::Prefix => "prefix",
            Workload::Nodes => "nodes",
        }
    }

    /// Its ranges over so many bins.
    pub fn ranges(self, bins: usize) -> Box<dyn Iterator<Item = Range<usize>>> {
        match self {
            Workload::All => {
                Box::new((0..bins).flat_map(move |lo| (lo + 1..=bins).map(move |hi| lo..hi)))
            }
            Workload::Prefix => Box::new((1..=bins).map(|hi| 0..hi)),
            Workload::Nodes => {
                let levels = bins.next_power_of_two().ilog2();
                Box::new((0..=levels).flat_map(move |level| {
                    let width = 1 << level;
                    (0..bins).step_by(width).map(move |lo| lo..(lo + width).min(bins))
                }))
            }
        }
    }
}

/// The ranges whose mean variance is to be small.
//
// Stored in releases by their position: a new one goes to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetRanges {
    Workload(Workload),
    /// These, by the positions of their bins; at least one of them not empty, or nothing is asked.
    Ranges(Vec<Range<usize>>),
}

impl fmt::Display for TargetRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetRanges::Workload(workload) => write!(f, "{}", workload.word()),
            TargetRanges::Ranges(ranges) => {
                let ranges: Vec<String> =
                    ranges.iter().map(|range| format!("[{},{})", range.start, range.end)).collect();
                write!(f, "{}", ranges.join(" "))
            }
        }
    }
}

impl TargetRanges {
    /// Where nothing else is said.
    pub const ALL: TargetRanges = TargetRanges::Workload(Workload::All);

    /// Its ranges over so many bins.
    pub(super) fn ranges(&self, bins: usize) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
        match self {
            TargetRanges::Workload(workload) => workload.ranges(bins),
            TargetRanges::Ranges(ranges) => Box::new(ranges.iter().cloned()),
        }
    }

    /// Whether so many bins have all its ranges.
    pub(super) fn fits(&self, bins: usize) -> bool {
        match self {
            TargetRanges::Workload(_) => true,
            TargetRanges::Ranges(ranges) => ranges.iter().all(|range| range.end <= bins),
        }
    }
}

/// The mean and the maximum over a workload of the variances of the answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    /// Of variances that come one by one; zeros for none.
    pub(super) fn of(variances: impl IntoIterator<Item = f64>) -> Spread {
        let (mut count, mut sum, mut max) = (0u64, 0.0, 0.0f64);
        for variance in variances {
            done(UNITS_PER_VARIANCE);
            count += 1;
            sum += variance;
            max = max.max(variance);
        }
        Spread { mean: sum / count.max(1) as f64, max }
    }
}
