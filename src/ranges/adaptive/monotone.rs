//! Sums that no bin makes smaller.

use crate::work::Paced;

/// Makes the sums of the first 1, 2, ... bins the nearest ones, in the sum of squares, that begin at 0 or
/// above and never fall: by isotonic regression, where neighbours that fall are pooled (Ayer, Brunk,
/// Ewing, Reid, Silverman 1955).
///
/// Counts are not below 0, so the true sums are such a list. These are a convex set, and what is nearest
/// to an estimate in such a set is nearer to all of it than the estimate, whatever that is: over all
/// prefixes together, the error gets less or stays.
pub(super) fn make_monotone(sums: &mut [f64]) {
    // runs of equal sums, and how many there are in each
    let mut runs: Vec<(f64, usize)> = Vec::new();
    for &sum in sums.iter().paced() {
        let mut run = (sum, 1);
        while let Some((before, many)) = runs.pop_if(|(before, _)| *before >= run.0) {
            let both = many + run.1;
            run = (before + (run.0 - before) * (run.1 as f64 / both as f64), both);
        }
        runs.push(run);
    }
    let pooled = runs.into_iter().flat_map(|(sum, many)| std::iter::repeat_n(sum.max(0.0), many));
    sums.iter_mut().zip(pooled).for_each(|(sum, pooled)| *sum = pooled);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn monotone(sums: &[f64]) -> Vec<f64> {
        let mut sums = sums.to_vec();
        make_monotone(&mut sums);
        sums
    }

    #[test]
    fn what_falls_is_pooled() {
        assert_eq!(monotone(&[]), [0.0; 0]);
        assert_eq!(monotone(&[1.0, 2.0, 2.0, 5.0]), [1.0, 2.0, 2.0, 5.0]);
        assert_eq!(monotone(&[-3.0, 1.0, -1.0, 4.0]), [0.0, 0.0, 0.0, 4.0]);
        assert_eq!(monotone(&[4.0, 6.0, 2.0, 1.0, 7.0]), [3.25, 3.25, 3.25, 3.25, 7.0]);
    }

    proptest! {
        /// The nearest of a convex cone: what was taken away is orthogonal to what is left, and at no
        /// acute angle to any other of the cone, of which the steps from each place on are the edges.
        #[test]
        fn it_is_the_nearest(sums in prop::collection::vec(-9.0..9.0f64, 1..30)) {
            let nearest = monotone(&sums);
            prop_assert!(nearest[0] >= 0.0 && nearest.is_sorted());
            let taken = || sums.iter().zip(&nearest).map(|(sum, near)| sum - near);
            let along: f64 = taken().zip(&nearest).map(|(taken, near)| taken * near).sum();
            prop_assert!(along.abs() < 1e-9);
            for place in 0..sums.len() {
                prop_assert!(taken().skip(place).sum::<f64>() < 1e-9);
            }
        }
    }
}
