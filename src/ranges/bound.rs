//! The error that no strategy can go below.

use super::methods::optimal::gram::{MAX_DENSE_BINS, gram_of_ranges};
use super::workload::Workload;
use crate::work::Paced;
use nalgebra::DMatrix;
use std::f64::consts::PI;

/// The singular value bound of Li & Miklau 2013 as a mean over the workload's ranges: of every
/// unbiased answering by a strategy with columns of L2 length at most 1 and noise of variance 1 on
/// each measurement, the mean variance is at least (the sum of the workload's singular values)^2 /
/// (N times the number of ranges). That holds for columns of L1 length at most 1, too, which are no
/// longer in L2.
///
/// None where the singular values have no closed form and the bins are more than
/// [`MAX_DENSE_BINS`]: the nodes of a tree that is not perfect.
pub fn svd_bound(workload: Workload, bins: usize) -> Option<f64> {
    let n = bins as f64;
    let sum_over_bins = |singular: &dyn Fn(f64) -> f64| -> f64 {
        (1..=bins).paced().map(|k| singular(k as f64)).sum()
    };
    let sum: f64 = match workload {
        // G is n + 1 times the inverse of the second-difference matrix
        Workload::All => {
            sum_over_bins(&|k| (n + 1.0).sqrt() / (2.0 * (PI * k / (2.0 * n + 2.0)).sin()))
        }
        Workload::Prefix => {
            sum_over_bins(&|k| 1.0 / (2.0 * (PI * (2.0 * k - 1.0) / (4.0 * n + 2.0)).sin()))
        }
        // the eigenvectors of G are Haar's: one that is constant on halves of 2^l bins has the
        // squares of its sums over the nodes of levels 0 ..= l, in units of its own length
        Workload::Nodes if bins.is_power_of_two() => {
            let levels = bins.ilog2();
            let wavelets = |level: u32| (bins >> (level + 1)) as f64;
            let of_level =
                |level: u32| wavelets(level) * (f64::from(level + 1).exp2() - 1.0).sqrt();
            (0..levels).map(of_level).sum::<f64>() + (2.0 * n - 1.0).sqrt()
        }
        Workload::Nodes if bins <= MAX_DENSE_BINS => {
            let gram = gram_of_ranges(bins, workload.ranges(bins));
            let gram = DMatrix::from_row_slice(bins, bins, &gram);
            gram.symmetric_eigenvalues().iter().map(|value| value.max(0.0).sqrt()).sum()
        }
        Workload::Nodes => return None,
    };
    let ranges = match workload {
        Workload::All => n * (n + 1.0) / 2.0,
        Workload::Prefix => n,
        Workload::Nodes => workload.ranges(bins).count() as f64,
    };
    Some(sum * sum / (n * ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_are_those_of_the_eigenvalues() {
        for bins in [1, 2, 3, 4, 7, 16, 32] {
            for (_, workload) in Workload::WORDS {
                let gram = gram_of_ranges(bins, workload.ranges(bins));
                let gram = DMatrix::from_row_slice(bins, bins, &gram);
                let singular = gram.symmetric_eigenvalues().map(|value| value.max(0.0).sqrt());
                let ranges = workload.ranges(bins).count() as f64;
                let dense = singular.sum().powi(2) / (bins as f64 * ranges);
                let bound = svd_bound(workload, bins).unwrap();
                assert!((bound - dense).abs() < 1e-9 * dense, "{workload:?} {bins}");
            }
        }
    }

    #[test]
    fn the_nodes_of_a_large_ragged_tree_have_none() {
        assert_eq!(svd_bound(Workload::Nodes, MAX_DENSE_BINS + 1), None);
        assert!(svd_bound(Workload::Nodes, 1 << 20).is_some());
    }
}
