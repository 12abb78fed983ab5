//! A noisy histogram with the uncertainty of each group's size, which merging needs.

use super::histogram::{Coco, DpCoco, Run, exactly};

/// `groups` groups whose size is estimated as `size` with this variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimatedRun {
    pub size: u64,
    pub variance: f64,
    pub groups: u64,
}

/// A released estimate of a histogram: runs in ascending order of (size, variance), none empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimate {
    runs: Vec<EstimatedRun>,
}

impl Estimate {
    /// Sorts the runs and joins those that agree in size and variance.
    pub fn new(mut runs: Vec<EstimatedRun>) -> Estimate {
        runs.retain(|run| run.groups > 0);
        runs.sort_unstable_by(|a, b| a.size.cmp(&b.size).then(a.variance.total_cmp(&b.variance)));
        runs.dedup_by(|later, kept| {
            let alike = later.size == kept.size && later.variance == kept.variance;
            if alike {
                kept.groups += later.groups;
            }
            alike
        });
        Estimate { runs: exactly(runs) }
    }

    pub fn runs(&self) -> &[EstimatedRun] {
        &self.runs
    }

    /// The estimate as it is published, without the variances.
    pub fn released(&self) -> DpCoco {
        DpCoco::new(self.histogram())
    }

    pub(crate) fn histogram(&self) -> Coco {
        let runs = self.runs.chunk_by(|a, b| a.size == b.size).map(|alike| Run {
            size: alike[0].size,
            groups: alike.iter().map(|run| run.groups).sum(),
        });
        Coco::from_ascending(runs)
    }
}
