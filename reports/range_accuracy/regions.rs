//! Ranges by region, against releases that need no combination.

use pg_dp::ranges::{
    MethodChoice, RangePlan, RangePlanError, RangeRequest, RegionPlan, RegionRequest, RegionTree,
    TargetRanges, Workload,
};
use std::fmt::Write;

/// Children of each region, from the root down.
const FAN_OUTS: [&[usize]; 9] =
    [&[4], &[64], &[1000], &[4, 4], &[4, 64], &[53, 59], &[64, 4], &[4, 4, 4], &[2, 2, 2, 2, 2]];
const BINS: [i64; 3] = [8, 64, 256];
const EPSILONS: [f64; 3] = [0.1, 1.0, 10.0];

/// A table for each delta.
pub fn section() -> Result<String, RangePlanError> {
    let mut text = String::from(
        "\n## By region\n\n\
         `dp_region_range_sums` by `auto`, all ranges of all regions: the geometric mean over the levels of\n\
         the mean of the exact variances, and the mean over all regions, as multiples of those of the better\n\
         (by the mean over all regions) of two releases that need no combination, each by its own best\n\
         method: every level by itself with an equal share of the budget (l), and the lowest level alone,\n\
         whose regions are added up (b). The division of the budget makes the first least, among those where\n\
         the second is not above 1. Fan-outs are those of the levels from the root down.\n",
    );
    for delta in [0.0, 1e-6] {
        let _ = write!(text, "\nδ = {delta}:\n\n| fan-outs |");
        for bins in BINS {
            EPSILONS.iter().for_each(|epsilon| {
                let _ = write!(text, " n = {bins}, ε = {epsilon} |");
            });
        }
        let _ = write!(text, "\n|---|{}\n", "--:|".repeat(BINS.len() * EPSILONS.len()));
        for fan_outs in FAN_OUTS {
            let names: Vec<String> = fan_outs.iter().map(usize::to_string).collect();
            let _ = write!(text, "| {} |", names.join(" x "));
            for bins in BINS {
                for epsilon in EPSILONS {
                    let (levels, all, rival) = compared(fan_outs, bins, epsilon, delta)?;
                    let _ = write!(text, " {levels:.2} {all:.3} {rival} |");
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

fn compared(
    fan_outs: &[usize],
    bins: i64,
    epsilon: f64,
    delta: f64,
) -> Result<(f64, f64, char), RangePlanError> {
    let mut regions = 1;
    let mut level = |fan_out: usize| {
        let level = vec![fan_out; regions];
        regions *= fan_out;
        level
    };
    let fan_outs: Vec<Vec<usize>> = fan_outs.iter().map(|fan_out| level(*fan_out)).collect();
    let tree = RegionTree::new(&fan_outs).expect("regions of whole levels");
    let levels = tree.levels();
    let ranges = |epsilon| {
        let method = MethodChoice::auto(TargetRanges::ALL);
        RangeRequest { bins, epsilon, delta, rows_per_unit: 1, method }
    };
    let plan = |shares| {
        RegionPlan::new(RegionRequest { ranges: ranges(epsilon), tree: tree.clone(), shares })
    };
    let single = |epsilon| Ok(RangePlan::new(ranges(epsilon))?.mechanism().mean_over_all());
    // a share of epsilon, or where there is a delta of the zero-concentrated loss
    let part = single(epsilon / levels as f64)?;
    let equal = plan(Some(vec![1.0 / levels as f64; levels]))?;
    let of_levels = equal.mechanism(0).map_or(part, |root| root.mean_over_all().min(part));
    let leaves = tree.leaves().len() as f64;
    let of_leaf = single(epsilon)?;
    let bottom_up = of_leaf * levels as f64 * leaves / tree.regions() as f64;
    let of_leaves = |level| of_leaf * leaves / tree.level(level).len() as f64;
    let own = plan(None)?;
    let (rival, geometric) = if of_levels < bottom_up {
        ('l', of_levels)
    } else {
        ('b', geometric_mean((0..levels).map(of_leaves)))
    };
    let of_own = geometric_mean(own.spreads(Workload::All).into_iter().map(|spread| spread.mean));
    Ok((of_own / geometric, own.mean_variance() / of_levels.min(bottom_up), rival))
}

fn geometric_mean(of: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = of.len() as f64;
    (of.map(f64::ln).sum::<f64>() / count).exp()
}
