//! Trees over counts that arrive one by one, with discrete Laplace noise.
//!
//! # What is measured
//!
//! Node j of level l, l = 0 .. levels - 1, is the sum of the b^l counts from j b^l on. It is
//! measured when the last of them has arrived; one that would end beyond the horizon never is. So a
//! row is in one node of every level at most, which it changes by 1.
//!
//! # What is made of it
//!
//! A node is estimated when it is measured, from its own measurement, of variance s^2, and from the
//! sum of its children's estimates, of variance b v_{l-1}: weighted by one over their variances that
//! has v_l = 1 / (1 / s^2 + 1 / (b v_{l-1})), which is least squares over the node's subtree.
//!
//! A range is the end of a node, as large a one as ends within the range, and from there on the
//! largest nodes that end within it. They share no measurement, so the variances add up. The end of a
//! node, T, is that of its first child that has a part of it, and the children after that; where the
//! covariance of T with the children's sum S is g, and the node's measurement is y, its estimate by
//! least squares over the subtree is T + g / (s^2 + b v_{l-1}) (y - S).
//!
//! So an answer is made of what was measured up to the range's end, and never changes; answers to
//! adjacent ranges do not always add up to that of both.

use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::ranges::ticks::{Tick, TickMechanism};
use crate::ranges::workload::Spread;
use crate::work::{Paced, poll};
use std::iter::successors;
use std::ops::Range;

/// Levels of nodes over the counts, with their noise.
#[derive(Debug, Clone)]
pub struct CausalTree {
    horizon: usize,
    /// The number of counts of a node, by level; at most the horizon.
    widths: Vec<usize>,
    measurements: Measurements,
    /// Of the nodes' estimates, by level.
    variances: Vec<f64>,
    /// How much its own measurement weighs in a node's estimate, by level.
    own_weights: Vec<f64>,
}

impl CausalTree {
    /// The most levels, the lowest of single counts: no node is larger than the horizon.
    pub fn most_levels(horizon: usize, branching: usize) -> usize {
        widths(branching).take_while(|&width| width <= horizon).count()
    }

    /// `calibration`: of each level, from the lowest on.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If there is no level, or are more than fit, the branching factor is below 2, or the
    /// calibration is not one of so many groups.
    pub fn new(
        horizon: usize,
        branching: usize,
        levels: usize,
        calibration: &Calibration,
    ) -> Result<CausalTree, ScaleError> {
        assert!(
            branching >= 2 && (1..=CausalTree::most_levels(horizon, branching)).contains(&levels)
        );
        let widths: Vec<usize> = widths(branching).take(levels).collect();
        let sizes = widths.iter().map(|width| horizon / width);
        let measurements = Measurements::one_of_each(sizes, calibration)?;
        let (mut variances, mut own_weights): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        for own in measurements.variances() {
            let of_children = variances.last().map(|variance| branching as f64 * variance);
            let variance = of_children.map_or(own, |children| 1.0 / (1.0 / own + 1.0 / children));
            variances.push(variance);
            own_weights.push(variance / own);
        }
        Ok(CausalTree { horizon, widths, measurements, variances, own_weights })
    }

    /// The sum of a range that is not empty, and its variance. `estimate`: of the node of a level
    /// that ends there.
    fn answer(&self, range: Range<usize>, estimate: impl Fn(usize, usize) -> f64) -> (f64, f64) {
        let mut end = range.start + 1;
        let (mut sum, mut variance) = (estimate(0, end), self.variances[0]);
        // with the estimate of the node of this level that ends there
        let mut covariance = variance;
        for level in 1..self.widths.len() {
            let (width, child) = (self.widths[level], self.widths[level - 1]);
            let last = end.next_multiple_of(width);
            if last > range.end {
                break;
            }
            let of_child = self.variances[level - 1];
            let after = (end + child..=last).step_by(child);
            let others = ((last - end) / child) as f64;
            let children = (last - width + child..=last).step_by(child);
            let children: f64 = children.map(|end| estimate(level - 1, end)).sum();
            sum += after.map(|end| estimate(level - 1, end)).sum::<f64>();
            let with_children = covariance + others * of_child;
            // y - S is what the node's estimate is off S by, over its weight; its variance
            let off = (estimate(level, last) - children) / self.own_weights[level];
            let of_off = (width / child) as f64 * of_child / self.own_weights[level];
            sum += with_children / of_off * off;
            variance += others * of_child - with_children * with_children / of_off;
            covariance = with_children * (1.0 - self.own_weights[level]);
            end = last;
        }
        for (level, end) in self.nodes(end..range.end) {
            sum += estimate(level, end);
            variance += self.variances[level];
        }
        (sum, variance)
    }

    /// The largest nodes side by side that a range is made of: their levels and where they end.
    fn nodes(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let mut start = range.start;
        std::iter::from_fn(move || {
            let fits = |width: &usize| start.is_multiple_of(*width) && start + width <= range.end;
            let level = self.widths.iter().rposition(fits)?;
            start += self.widths[level];
            Some((level, start))
        })
    }
}

/// Of the nodes of levels 0, 1, ...
fn widths(branching: usize) -> impl Iterator<Item = usize> {
    successors(Some(1usize), move |width| width.checked_mul(branching))
}

impl CountMechanism for CausalTree {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.horizon as u64
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        poll();
        let level =
            |width: &usize| counts.chunks_exact(*width).map(|node| node.iter().sum::<u64>());
        self.widths.iter().flat_map(level).map(|sum| sum as i64).collect()
    }
}

impl TickMechanism for CausalTree {
    fn horizon(&self) -> usize {
        self.horizon
    }

    fn measure_last(&self, counts: &[u64]) -> Vec<(usize, i64)> {
        let mut first_of_level = 0;
        let mut measured = Vec::new();
        for width in &self.widths {
            if counts.len().is_multiple_of(*width) {
                let node = &counts[counts.len() - width..];
                let place = first_of_level + counts.len() / width - 1;
                measured.push((place, node.iter().sum::<u64>() as i64));
            }
            first_of_level += self.horizon / width;
        }
        measured
    }

    /// Of the nodes that end here, by level.
    fn estimate_last(&self, before: &[Tick], noisy: &[i64]) -> Vec<f64> {
        let mut estimates: Vec<f64> = Vec::with_capacity(noisy.len());
        for (level, &noisy) in noisy.iter().enumerate() {
            let mut estimate = noisy as f64;
            if level > 0 {
                let (width, child) = (self.widths[level], self.widths[level - 1]);
                let end = before.len() + 1;
                let others = (end - width + child..end).step_by(child);
                let others = others.map(|end| before[end - 1].estimates[level - 1]);
                let children = others.sum::<f64>() + estimates[level - 1];
                estimate = children + self.own_weights[level] * (estimate - children);
            }
            estimates.push(estimate);
        }
        estimates
    }

    fn sum_of(&self, ticks: &[Tick], range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        self.answer(range, |level, end| ticks[end - 1].estimates[level]).0
    }

    fn variance_of(&self, range: Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        self.answer(range, |_, _| 0.0).1
    }

    /// A prefix has as many nodes of each level, from the highest on, as there is room for.
    fn spread_of_prefixes(&self) -> Spread {
        let variance = |end: usize| {
            let levels = self.widths.iter().zip(&self.variances).rev();
            let (_, variance) = levels.fold((end, 0.0), |(rest, sum), (width, variance)| {
                (rest % width, sum + (rest / width) as f64 * variance)
            });
            variance
        };
        Spread::of((1..=self.horizon).paced().map(variance))
    }
}
