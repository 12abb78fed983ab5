//! The cut: one measurement of which `Hc` and `Hg` are the two ends.
//!
//! # Two strips of a Young diagram
//!
//! Draw the group sizes as a Young diagram: a row for each group, a column for each size, a cell
//! for each entity. `Hc` counts by column, `Hg` by row. A cut T, from 0 to K, divides the diagram:
//!
//! - *columns*: a_i, the number of groups of size at most i, for 0 <= i < T;
//! - *rows*: b, the numbers max(size - T, 0) in descending order.
//!
//! T = K leaves no rows and is `Hc`; T = 0 leaves no columns and is `Hg`.
//!
//! Suresh ("Differentially Private Anonymized Histograms", 2019: PrivHist) measured small groups by
//! columns and large ones by rows before, with T near the root of the number of entities. There a
//! group is on one side of T or the other, which made-up groups have to hide; here the rows of
//! small groups are 0, and nothing is to be hidden.
//!
//! # Sensitivity
//!
//! It is 1 for (a, b) together: let an entity join a group of size s, or of K or more, which
//! changes nothing. If s < T, the group leaves a_s and no other a_i, and
//! max(s - T, 0) = max(s + 1 - T, 0) leaves b as it was. If s >= T, all a_i with i < T stay; join
//! the entity to the first group of size s in the descending order, and the order stays with one
//! entry raised by 1.
//!
//! *What is measured may follow from what was released before.* The columns are measured in turn
//! and the rows after them. How many rows are measured (M below) depends on the noisy columns, and
//! so may the cut: after each column the noisy ones so far can say that it was the last. For any
//! given output this fixes T and M, hence which numbers were measured: a prefix of a and a prefix
//! of b. The probability of the output is the product of those of its noise values, each given the
//! ones before; neighbours differ in one factor by at most e^(1/t). So with t = 1/epsilon the whole
//! is epsilon-differentially private, T and M included. With k entities the distances add up to k
//! for each fixed T and M, and t = k/epsilon.
//!
//! # Estimation
//!
//! The columns are fitted by isotonic regression in the L1 norm, after they were smoothed where the
//! released histogram of the region above says what to expect ([`prior`](super::prior)); let
//! m = G - a^_(T-1) groups be at or above the cut. Only the M = min(G, m + 4t + 3) largest rows are
//! measured, so the noise costs O(T + m + t) draws and not G.
//!
//! *`cut`* then takes the medians of what columns and rows say together
//! ([`inference`](super::inference)), with the variances of the rows among it. Against the fits
//! that follow, the error of a root by itself was 0.71 to 0.94 with t = 7 to 10, 0.79 to 0.93 with
//! t = 2 to 3, 0.81 to 1 with t = 0.5; that of leaves 0.9 to 1. A node that is very unlike the region
//! above is inferred as if there were none. The same numbers can be inferred again below what other
//! nodes say, too ([`pool`](super::super::pool)).
//!
//! *`cut:T`, `Hc` and `Hg`*, and `cut` where columns or rows are too many: the rows are fitted by
//! isotonic regression in the L2 norm. The m largest get the size T + b^. Of the others those do
//! for which b^ exceeds t ln(2M + 2), which M values of noise alone seldom do, by more than the
//! columns' cost grows when one group more is taken from them: this weighs the likelihoods of the
//! two measurements. (Without it, a cut far above most groups had a multiple of the error.) All
//! other groups get their sizes from the columns. Variances are those of Kuo et al., section 5.1,
//! with the variance v of the noise that is used in place of 2 t^2, for matching as in that paper
//! (other estimators at some levels). But for a region below another that of a row is v also where
//! n rows were pooled: v / n is that of their mean, and the sizes about it differ. Merged with it,
//! the root's error was up to 20 % larger.

use super::choice::cut_here;
use super::inference::{MOST_PLACES, NoisyNumbers, can_be_inferred};
use super::prior::{ColumnPrior, Smoothed};
use crate::coco::estimate::{Estimate, EstimatedRun};
use crate::coco::estimators::columns::{columns, push_columns};
use crate::coco::estimators::node::NoisyNode;
use crate::coco::histogram::Coco;
use crate::fit::{Block, MedianFit, isotonic_l1, isotonic_l2};
use std::cell::OnceCell;
use std::iter::repeat_n;

/// By how much the largest groups, so many of them, exceed the cut: in ascending order.
fn rows(truth: &Coco, max_size: u64, cut: u64, count: u64) -> impl Iterator<Item = i64> + '_ {
    let mut others = truth.groups().saturating_sub(count);
    truth.capped(max_size).flat_map(move |run| {
        let skipped = run.groups.min(others);
        others -= skipped;
        repeat_n(run.size.saturating_sub(cut) as i64, (run.groups - skipped) as usize)
    })
}

/// How a node is measured in columns and rows.
pub(super) struct Strips<'a> {
    pub node: &'a NoisyNode<'a>,
    /// Of so many columns as there are.
    pub prior: Option<&'a ColumnPrior>,
    /// Whether the estimate is a posterior median, or a fit.
    pub inferred: bool,
}

/// Columns as they were measured, and what they are taken to be.
struct Columns<'a> {
    /// The node, by itself where they are unlike those of the region above.
    node: NoisyNode<'a>,
    noisy: &'a [i64],
    /// By a region above.
    smoothed: Option<Smoothed>,
    is_unlike: bool,
    /// Made when it is asked for.
    fit: OnceCell<MedianFit>,
}

impl Columns<'_> {
    fn fit(&self) -> &MedianFit {
        self.fit.get_or_init(|| isotonic_l1(self.noisy))
    }

    fn values(&self) -> &[i64] {
        self.smoothed.as_ref().map_or_else(|| &self.fit().values, |smoothed| &smoothed.values)
    }
}

impl Strips<'_> {
    /// Measures columns up to the cut and as many rows beyond it as are needed, and joins the two.
    /// Without a cut the columns themselves tell where it is.
    ///
    /// `add_noise` gets every exact number that is measured.
    pub(super) fn estimate(
        &self,
        truth: &Coco,
        cut: Option<u64>,
        mut add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        let node = self.node;
        // without a cut they are as many as noise says
        let known = cut.map_or(0, |cut| cut.min(node.max_size).min(MOST_PLACES));
        let mut noisy = Vec::with_capacity(known as usize);
        for column in columns(truth, cut.unwrap_or(u64::MAX).min(node.max_size)) {
            noisy.push(add_noise(column));
            if cut.is_none() && cut_here(node, &noisy) {
                break;
            }
        }
        let columns = self.columns(&noisy);
        let cut = noisy.len() as u64;
        let count = self.rows_to_measure(cut, self.above(columns.values()));
        let measured = rows(truth, node.max_size, cut, count).map(add_noise);
        if !self.inferred || !can_be_inferred(&columns.node, cut, count) {
            return self.joined(&columns, &isotonic_l2(measured));
        }
        let mut rows = Vec::with_capacity(count as usize);
        rows.extend(measured);
        self.infer(&columns, &rows)
    }

    /// The estimate by columns and rows that were measured before. `None` where the columns are unlike
    /// what is expected, or the numbers are too many or too noisy to be inferred.
    pub(super) fn again(&self, noisy: &[i64], rows: &[i64]) -> Option<Estimate> {
        let columns = self.columns(noisy);
        let can_be = can_be_inferred(&columns.node, noisy.len() as u64, rows.len() as u64);
        (can_be && !columns.is_unlike).then(|| self.infer(&columns, rows))
    }

    fn columns<'n>(&'n self, noisy: &'n [i64]) -> Columns<'n> {
        let smoothed = self.prior.and_then(|prior| prior.columns(self.node, noisy));
        let is_unlike = self.prior.is_some() && smoothed.is_none();
        let parent = self.node.parent.filter(|_| !is_unlike);
        let node = NoisyNode { parent, ..*self.node };
        Columns { node, noisy, smoothed, is_unlike, fit: OnceCell::new() }
    }

    fn infer(&self, columns: &Columns, rows: &[i64]) -> Estimate {
        let above = self.above(columns.values());
        let numbers = NoisyNumbers { node: &columns.node, columns: columns.noisy, rows, above };
        let estimate = numbers.estimate(columns.smoothed.as_ref());
        estimate.unwrap_or_else(|| self.joined(columns, &isotonic_l2(rows.iter().copied())))
    }

    /// M. With the cut at K there is nothing beyond it.
    fn rows_to_measure(&self, cut: u64, above: u64) -> u64 {
        if cut == self.node.max_size {
            return 0;
        }
        above.saturating_add((4.0 * self.node.scale).ceil() as u64 + 3).min(self.node.groups)
    }

    /// m, from the fitted columns.
    fn above(&self, columns: &[i64]) -> u64 {
        self.node.groups - columns.last().map_or(0, |&below| self.node.clamped(below))
    }

    /// The estimate of G groups of sizes 0 ..= K from the columns and the fitted largest rows.
    fn joined(&self, columns: &Columns, rows: &[Block]) -> Estimate {
        let node = self.node;
        let cut = columns.noisy.len() as u64;
        let above = self.above(columns.values());
        let count: u64 = rows.iter().map(Block::count).sum();
        let improbable = node.scale * (2.0 * count as f64 + 2.0).ln();
        let largest = (node.max_size - cut) as i128;

        let mut runs = Vec::new();
        // with the cut at K, where the columns are most, nobody asks for them
        let no_rows = rows.is_empty();
        let costs = if no_rows { Default::default() } else { columns.fit().costs_of_bounds() };
        let mut taken = 0;
        for block in rows.iter().rev() {
            let excess = block.rounded_mean().clamp(0, largest) as u64;
            let mut groups = block.count().min(above.saturating_sub(taken));
            while groups < block.count() {
                let bound = (node.groups - taken - groups - 1) as i64;
                if excess as f64 <= improbable + costs.of(bound) as f64 {
                    break;
                }
                groups += 1;
            }
            let variance = match columns.smoothed {
                // the sizes in a block differ, by what noise hid
                Some(_) => node.variance,
                None => node.variance / block.count() as f64,
            };
            runs.push(EstimatedRun { size: cut + excess, variance, groups });
            taken += groups;
        }
        push_columns(node, columns.values(), node.groups - taken, &mut runs);
        Estimate::new(runs)
    }
}
