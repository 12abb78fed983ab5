//! How much each row of the root is measured.
//!
//! A weight is one over the variance of a row's noise. The weights that make the largest variance
//! of A = E T D the least were sought numerically for 32 to 1024 bins, one by one (by the gradient
//! of the mean of a high power of the variances). Over the position x = t / n they came out the same
//! for all n, up to a factor and but for the first and last rows: for prefixes
//! sqrt(x + c) sqrt(1 - x), with a small c that rises slowly with n; for all ranges sqrt(1 - x)
//! times something that falls with the power -5/4 of x on the left and rises with x on the right.
//! The constants below are fitted, to make the worst case the least over 4 to 4096 bins (prefixes)
//! and 8 to 512 (all ranges). A weight off the best one costs accuracy, which is stated, and nothing
//! else.
//!
//! How good they are can be said of all strategies: a lower bound on the largest variance of any
//! strategy is (the sum of the singular values of Q W L)^2, with the workload's matrix W and any
//! diagonal Q and L whose squares sum up to 1. For the best Q and L that were found, and so from
//! what is possible at all, the strategies without rounding are this far off:
//!
//! | bins | prefixes | all ranges |
//! |--:|--:|--:|
//! | 4 | 0.9 % | 4.6 % |
//! | 16 | 1.1 % | 3.1 % |
//! | 64 | 1.1 % | 2.6 % |
//! | 256 | 1.1 % | 2.3 % |
//! | 512 | 1.1 % | 2.2 % |
//! | 1024 | 1.1 % | |
//!
//! The best weights that were found, one by one, are 0.4 % off for prefixes and 1.6 % for all
//! ranges.

use crate::ranges::workload::Workload;

/// For bins 0 .. `bins`, up to a factor. For prefixes, or for all ranges, of which every other
/// workload is a part.
pub(in crate::ranges) fn weights(workload: Workload, bins: usize) -> impl Iterator<Item = f64> {
    let n = bins as f64;
    (0..bins).map(move |bin| {
        // t = 1 .. n
        let (before, after) = (bin as f64, (bins - 1 - bin) as f64);
        match workload {
            Workload::Prefix => {
                let start = 0.33 + (0.024 + 0.0016 * n.ln()) * n;
                ((before + start) * (after + 1.1)).sqrt()
            }
            Workload::All | Workload::Nodes => {
                let left = ((before + 1.139) / n).powf(-1.25);
                let right = 5.02 * (before + 1.0) / n;
                (after + 1.517).sqrt() * left.hypot(right)
            }
        }
    })
}
