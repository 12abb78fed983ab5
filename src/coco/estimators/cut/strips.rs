//! The cut: one measurement of which `Hc` and `Hg` are the two ends.
//!
//! # Two strips of a Young diagram
//!
//! Draw the group sizes as a Young diagram: a row for each group, a column for each size, a cell for
//! each entity. `Hc` counts by column, `Hg` by row. A cut T, from 0 to K, divides the diagram:
//!
//! - *columns*: a_i, the number of groups of size at most i, for 0 <= i < T;
//! - *rows*: b, the numbers max(size - T, 0) in descending order.
//!
//! T = K leaves no rows and is `Hc`; T = 0 leaves no columns and is `Hg`.
//!
//! # Sensitivity
//!
//! It is 1 for (a, b) together: let an entity join a group of size s, or of K or more, which changes
//! nothing. If s < T, the group leaves a_s and no other a_i, and max(s - T, 0) = max(s + 1 - T, 0)
//! leaves b as it was. If s >= T, all a_i with i < T stay; join the entity to the first group of
//! size s in the descending order, and the order stays with one entry raised by 1.
//!
//! *What is measured may follow from what was released before.* The columns are measured in turn and
//! the rows after them. How many rows are measured (M below) depends on the noisy columns, and so
//! may the cut: after each column the noisy ones so far can say that it was the last. For any given
//! output this fixes T and M, hence which numbers were measured: a prefix of a and a prefix of b.
//! The probability of the output is the product of those of its noise values, each given the ones
//! before; neighbours differ in one factor by at most e^(1/t). So with t = 1/epsilon the whole is
//! epsilon-differentially private, T and M included. With k entities the distances add up to k for
//! each fixed T and M, and t = k/epsilon.
//!
//! # Estimation
//!
//! The columns are fitted by isotonic regression in the L1 norm, after they were smoothed where the
//! released histogram of the region above says what to expect ([`prior`](super::prior)); let m = G - a^_(T-1) groups be at or
//! above the cut. Only the M = min(G, m + 4t + 3) largest rows are measured, so the noise costs
//! O(T + m + t) draws and not G. They are fitted by isotonic regression in the L2 norm. The m largest
//! get the size T + b^. Of the others those do for which b^ exceeds t ln(2M + 2), which M values of
//! noise alone seldom do, by more than the columns' cost grows when one group more is taken from
//! them: this weighs the likelihoods of the two measurements. (Without it, a cut far above most
//! groups had a multiple of the error.) All other groups get their sizes from the columns.
//!
//! Medians of the rows instead of means were better by 1 % at most where every region keeps its own
//! estimate, and worse at the root once regions are merged.
//!
//! Variances are those of Kuo et al., section 5.1, with the variance v of the noise that is used in
//! place of 2 t^2, for matching as in that paper (other estimators at some levels). But for a region
//! below another that of a row is v also where n rows were pooled: v / n is that of their mean, and the
//! sizes about it differ. Merged with it, the root's error was up to 20 % larger.

use super::cut_choice::cut_here;
use super::estimate::{Estimate, EstimatedRun};
use super::histogram::Coco;
use super::isotonic::{Block, MedianFit, isotonic_l1, isotonic_l2};
use super::prior::Prior;
use std::iter::repeat_n;

/// What is public about a node and the noise that is added to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Public {
    /// G
    pub groups: u64,
    /// K; larger groups are counted at it.
    pub max_size: u64,
    /// The noise's scale t and its variance.
    pub scale: f64,
    pub variance: f64,
}

/// The numbers of groups of size at most i, for i = 0 .. K - 1.
pub(super) fn columns(truth: &Coco, max_size: u64) -> impl Iterator<Item = i64> + '_ {
    let mut runs = truth.runs().iter().peekable();
    let mut below = 0;
    (0..max_size).map(move |size| {
        if let Some(run) = runs.next_if(|run| run.size == size) {
            below += run.groups as i64;
        }
        below
    })
}

/// By how much the largest groups, so many of them, exceed the cut: in ascending order.
fn rows(truth: &Coco, max_size: u64, cut: u64, count: u64) -> impl Iterator<Item = i64> + '_ {
    let mut others = truth.groups().saturating_sub(count);
    truth.capped(max_size).flat_map(move |run| {
        let skipped = run.groups.min(others);
        others -= skipped;
        repeat_n(run.size.saturating_sub(cut) as i64, (run.groups - skipped) as usize)
    })
}

impl Public {
    /// Measures columns up to the cut and as many rows beyond it as are needed, and joins the two.
    /// Without a cut the columns themselves tell where it is. `prior`: of so many columns.
    ///
    /// `add_noise` gets every exact number that is measured.
    pub(super) fn estimate(
        &self,
        truth: &Coco,
        cut: Option<u64>,
        prior: Option<&Prior>,
        mut add_noise: impl FnMut(i64) -> i64,
    ) -> Estimate {
        let mut noisy = Vec::new();
        for column in columns(truth, cut.unwrap_or(u64::MAX).min(self.max_size)) {
            noisy.push(add_noise(column));
            if cut.is_none() && cut_here(self, &noisy) {
                break;
            }
        }
        let mut columns = isotonic_l1(&noisy);
        if let Some(prior) = prior {
            columns.values = isotonic_l1(&prior.columns(self, &noisy)).values;
        }
        let cut = noisy.len() as u64;
        let count = self.rows_to_measure(cut, self.above(&columns.values));
        let rows = isotonic_l2(rows(truth, self.max_size, cut, count).map(add_noise));
        self.joined(&columns, &rows, prior)
    }

    /// M. With the cut at K there is nothing beyond it.
    fn rows_to_measure(&self, cut: u64, above: u64) -> u64 {
        if cut == self.max_size {
            return 0;
        }
        above.saturating_add((4.0 * self.scale).ceil() as u64 + 3).min(self.groups)
    }

    /// m, from the fitted columns.
    fn above(&self, columns: &[i64]) -> u64 {
        self.groups - columns.last().map_or(0, |&below| self.clamped(below))
    }

    fn clamped(&self, below: i64) -> u64 {
        below.clamp(0, self.groups as i64) as u64
    }

    /// The estimate of G groups of sizes 0 ..= K from the fitted columns and the fitted largest rows.
    fn joined(&self, columns: &MedianFit, rows: &[Block], prior: Option<&Prior>) -> Estimate {
        let cut = columns.values.len() as u64;
        let above = self.above(&columns.values);
        let count: u64 = rows.iter().map(Block::count).sum();
        let improbable = self.scale * (2.0 * count as f64 + 2.0).ln();
        let largest = (self.max_size - cut) as i128;

        let mut runs = Vec::new();
        // with the cut at K, where the columns are most, nobody asks for them
        let no_rows = rows.is_empty();
        let costs = if no_rows { Default::default() } else { columns.costs_of_bounds() };
        let mut taken = 0;
        for block in rows.iter().rev() {
            let excess = block.rounded_mean().clamp(0, largest) as u64;
            let mut groups = block.count().min(above.saturating_sub(taken));
            while groups < block.count() {
                let bound = (self.groups - taken - groups - 1) as i64;
                if excess as f64 <= improbable + costs.of(bound) as f64 {
                    break;
                }
                groups += 1;
            }
            let variance = match prior {
                // the sizes in a block differ, by what noise hid
                Some(_) => self.variance,
                None => self.variance / block.count() as f64,
            };
            runs.push(EstimatedRun { size: cut + excess, variance, groups });
            taken += groups;
        }
        self.push_columns(&columns.values, self.groups - taken, &mut runs);
        Estimate::new(runs)
    }

    /// The smallest groups, so many, with the sizes that fitted columns give them.
    ///
    /// A cell of n groups is the difference of two columns: 2 v over its n groups; v alone for the
    /// first and the last cell, whose other end (0, or G) is known.
    pub(super) fn push_columns(&self, columns: &[i64], groups: u64, runs: &mut Vec<EstimatedRun>) {
        let mut below = 0;
        for (size, value) in (0..).zip(columns.iter().copied().chain([self.groups as i64])) {
            let upto = self.clamped(value).min(groups);
            let groups = upto.saturating_sub(below);
            if groups > 0 {
                let ends = if size == 0 || size == self.max_size { 1.0 } else { 2.0 };
                let variance = ends * self.variance / groups as f64;
                runs.push(EstimatedRun { size, variance, groups });
                below = upto;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::tests::of_sizes;
    use super::super::{CocoMechanism, Method, Run};
    use super::*;
    use crate::noise::words_from_system;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn estimate(truth: &Coco, method: Method, epsilon: f64) -> Estimate {
        let mechanism = CocoMechanism::new(method, truth.groups(), 50, 1, epsilon).unwrap();
        mechanism.release(truth, &mut ChaCha20Rng::seed_from_u64(1))
    }

    #[test]
    fn the_ends_are_hc_and_hg() {
        let truth = of_sizes(&[0, 1, 1, 1, 3, 3, 8, 8, 8, 30, 49, 50, 70]);
        for epsilon in [0.05, 0.3, 1.0, 5.0] {
            for (end, cut) in [(Method::Hc, 50), (Method::Hg, 0)] {
                assert_eq!(
                    estimate(&truth, end, epsilon),
                    estimate(&truth, Method::CutAt(cut), epsilon)
                );
            }
        }
    }

    /// Of 100,000 groups, 40 lie beyond a cut at 20, and 43 + 4t rows with the noise's allowance.
    #[test]
    fn few_numbers_are_measured() {
        let large = (0..40).map(|i| Run { size: 21 + i % 25, groups: 1 });
        let truth: Coco = [Run { size: 2, groups: 99_960 }].into_iter().chain(large).collect();
        for method in [Method::CutAt(20), Method::Cut] {
            let mechanism = CocoMechanism::new(method, 100_000, 50, 1, 1.0).unwrap();
            let mut sizes = Vec::new();
            mechanism.estimate(&truth, |exact| {
                sizes.push(exact);
                exact
            });
            let columns = sizes.iter().filter(|number| **number >= 99_960).count();
            let rows = sizes.len() - sizes.iter().position(|n| *n >= 99_960).unwrap() - columns;
            assert!(rows <= 40 + 4 + 3 && columns <= 20, "{method}: {columns}, {rows}");
        }
    }

    /// Three groups in a cell between two columns; a row alone and a block of two.
    #[test]
    fn variances_are_those_of_cells_and_blocks() {
        let truth = of_sizes(&[2, 2, 2, 9, 9, 30]);
        let mechanism = CocoMechanism::new(Method::CutAt(4), 6, 50, 1, 0.5).unwrap();
        let v = mechanism.variance();
        let run = |size, variance, groups| EstimatedRun { size, variance, groups };
        let expected = [run(2, 2.0 * v / 3.0, 3), run(9, v / 2.0, 2), run(30, v, 1)];
        assert_eq!(mechanism.estimate(&truth, |exact| exact).runs(), expected);
    }

    /// The columns miss a group by noise, and its row is far beyond what noise makes of a 0.
    #[test]
    fn a_large_row_is_above_the_cut_whatever_the_columns_say() {
        let truth = of_sizes(&[1, 1, 1, 1, 1, 45]);
        let mechanism = CocoMechanism::new(Method::CutAt(4), 6, 50, 1, 1.0).unwrap();
        let of_columns = |noise: i64| {
            let mut measured = 0;
            let estimate = mechanism.estimate(&truth, |exact| {
                measured += 1;
                if (2..=4).contains(&measured) { exact + noise } else { exact }
            });
            estimate.histogram()
        };
        assert_eq!(of_columns(1), truth);
        // one too many: it stays at the cut
        assert_eq!(of_columns(-1), of_sizes(&[1, 1, 1, 1, 4, 45]));
    }

    #[test]
    fn half_of_all_noise_is_no_reason_for_large_groups() {
        let truth = of_sizes(&[1; 400]);
        let mut words = words_from_system().unwrap();
        let mechanism = CocoMechanism::new(Method::CutAt(4000), 400, 5000, 1, 1.0).unwrap();
        for _ in 0..20 {
            let estimate = mechanism.release(&truth, &mut words);
            // 4,000 columns of scale 1 say that nothing is beyond them; each of 11 rows would have
            // to exceed about 1,900
            assert!(estimate.runs().iter().all(|run| run.size < 4000 || run.groups == 0));
        }
    }
}
