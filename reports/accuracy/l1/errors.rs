//! How far released histograms are from the truth and from consistency.

use pg_dp::coco::Coco;
use pg_dp::hierarchy::Tree;
use std::collections::BTreeMap;

/// Of one release.
#[derive(Debug, Clone)]
pub struct Errors {
    /// For each level, the sum over its regions and all sizes of |released - true|.
    pub l1: Vec<f64>,
    /// How many pairs of a region and a size have children that do not sum to their parent.
    pub violations: f64,
    /// By how much the root's number of groups is off.
    pub total_off: f64,
}

impl Errors {
    pub fn of(tree: &Tree, truth: &[Coco], released: &[Coco]) -> Errors {
        let l1 = (0..tree.depth()).map(|level| {
            let differences = tree.level(level).flat_map(|r| differences(&truth[r], &released[r]));
            differences.sum::<u64>() as f64
        });
        let violations = (0..tree.leaves().start).map(|parent| {
            let children = tree.regions()[parent].children.clone();
            let sum = released[children].iter().flat_map(|child| child.runs().to_vec()).collect();
            differences(&released[parent], &sum).count() as f64
        });
        Errors {
            l1: l1.collect(),
            violations: violations.sum(),
            total_off: released[0].groups().abs_diff(truth[0].groups()) as f64,
        }
    }
}

/// By how much the numbers of groups differ, for every size at which they do.
fn differences(a: &Coco, b: &Coco) -> impl Iterator<Item = u64> {
    let mut by_size: BTreeMap<u64, i64> = BTreeMap::new();
    for (histogram, sign) in [(a, 1), (b, -1)] {
        for run in histogram.runs() {
            *by_size.entry(run.size).or_default() += sign * run.groups as i64;
        }
    }
    by_size.into_values().filter(|difference| *difference != 0).map(i64::unsigned_abs)
}
