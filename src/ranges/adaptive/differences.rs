//! The differences of a binary tree over the bins: of each node, how much denser its left half is
//! than its right one.
//!
//! With halves of width L and R (in what is uniform where nothing is known, such as days), that is
//! a l - b r of the halves' sums l and r, with a = 2 R / (L + R) and b = 2 L / (L + R): 0 where both
//! are equally dense, and l - r where they are as wide. Together with the total they determine every
//! bin.

use crate::ranges::trees::shape::TreeShape;
use crate::work::Paced;
use std::ops::Range;

/// H, a row for each node with two halves, level by level from the leaves' parents up to the root.
pub(super) struct Differences {
    shape: TreeShape,
    levels: Vec<Level>,
}

/// The rows of one level of nodes.
pub(super) struct Level {
    pub(super) rows: Range<usize>,
    /// The bins of each node, but for the last one.
    pub(super) bins: usize,
    /// a and b of each row.
    pub(super) weights: Vec<(f64, f64)>,
}

impl Differences {
    /// `widths`: of the bins.
    pub(super) fn new(widths: &[f64]) -> Differences {
        let shape = TreeShape::new(widths.len(), 2);
        let (mut next, mut halves) = (0, widths.to_vec());
        let levels = (1..=shape.height()).map(|level| {
            let weights = halves.chunks_exact(2).paced().map(|halves| {
                let both = halves[0] + halves[1];
                (2.0 * halves[1] / both, 2.0 * halves[0] / both)
            });
            let weights: Vec<_> = weights.collect();
            let rows = next..next + weights.len();
            next = rows.end;
            halves = sums_of_halves(&halves);
            Level { rows, bins: shape.width(level), weights }
        });
        let levels = levels.collect();
        Differences { shape, levels }
    }

    pub(super) fn len(&self) -> usize {
        self.levels.last().map_or(0, |level| level.rows.end)
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// H x.
    pub(super) fn of(&self, bins: &[f64]) -> Vec<f64> {
        let mut differences = Vec::with_capacity(self.len());
        let mut sums = bins.to_vec();
        for level in &self.levels {
            let rows = sums.chunks_exact(2).zip(&level.weights).paced();
            differences.extend(rows.map(|(halves, (a, b))| a * halves[0] - b * halves[1]));
            sums = sums_of_halves(&sums);
        }
        differences
    }

    /// H' y.
    pub(super) fn transposed(&self, differences: &[f64]) -> Vec<f64> {
        let mut above = vec![0.0; self.shape.nodes(self.levels.len())];
        for (index, level) in self.levels.iter().enumerate().rev() {
            let mut below = Vec::with_capacity(self.shape.nodes(index));
            let rows = differences[level.rows.clone()].iter().zip(&level.weights).paced();
            for (node, (difference, (a, b))) in above.iter().zip(rows) {
                below.extend([node + a * difference, node - b * difference]);
            }
            // the last node may be its only half
            below.extend(above.get(level.weights.len()));
            above = below;
        }
        above
    }
}

fn sums_of_halves(halves: &[f64]) -> Vec<f64> {
    halves.chunks(2).paced().map(|halves| halves.iter().sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(bins: usize) -> Vec<f64> {
        (0..bins).map(|bin| 1.0 + (bin * 7 % 5) as f64).collect()
    }

    #[test]
    fn what_is_as_dense_everywhere_has_no_differences() {
        for bins in 1..=40 {
            let differences = Differences::new(&widths(bins));
            assert!(differences.of(&widths(bins)).iter().all(|d| d.abs() < 1e-12), "{bins}");
        }
        let differences = Differences::new(&[1.0; 5]).of(&[5.0, 2.0, 4.0, 4.0, 9.0]);
        assert_eq!(differences[..3], [3.0, 0.0, -1.0]);
        // of four bins with 15 and of one with 9
        assert!((differences[3] - (0.4 * 15.0 - 1.6 * 9.0)).abs() < 1e-12);
    }

    /// y' H x = (H' y)' x, and no two rows are the same: as many as the bins less the total.
    #[test]
    fn the_transposed_is_that_of_the_same_rows() {
        for bins in 1..=40 {
            let differences = Differences::new(&widths(bins));
            let x: Vec<f64> = (0..bins).map(|bin| (bin * bin % 11) as f64).collect();
            let y: Vec<f64> = (0..differences.len()).map(|row| (row % 7) as f64 - 2.5).collect();
            let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
            let (left, right) =
                (dot(&y, &differences.of(&x)), dot(&differences.transposed(&y), &x));
            assert!((left - right).abs() < 1e-9, "{bins}: {left} {right}");
            assert_eq!(differences.len(), bins - 1, "{bins}");
        }
    }

    #[test]
    fn levels_follow_each_other() {
        let differences = Differences::new(&[1.0; 11]);
        let levels = differences.levels().iter().map(|level| (level.rows.clone(), level.bins));
        let wanted = [(0..5, 2), (5..8, 4), (8..9, 8), (9..10, 16)];
        assert!(levels.eq(wanted));
    }
}
