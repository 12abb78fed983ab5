//! How far the bins of each possible bucket are from a uniform density.
//!
//! Possible buckets are those at multiples of their lengths, of few lengths. That of a bucket with the
//! counts x_1, ..., x_l and the widths w_1, ..., w_l is
//!
//! D = min over m of |x_1 - m w_1| + ... + |x_l - m w_l|, rounded down.
//!
//! *Sensitivity.* One row more in some bin moves that sum by at most 1 for every density m, so its
//! least by at most 1, and so what is left of that once it is rounded down. A bin lies in one bucket
//! of each length, so the row moves one measurement of each group by 1 at most, and no other.
//!
//! *Integers.* The least is where m is a median of the densities, x_k / w_k for some bin k, so D is
//! the quotient of the sum of |x_i w_k - x_k w_i| and w_k, rounded down: integers all the way.

use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::limits::MIN_AWARE_BINS;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::work::done;

/// Each length is so many times the one before; of bins that are buckets by themselves nothing is
/// asked.
pub(super) const FACTOR: usize = 4;

/// The longest buckets leave so many or more: to find longer ones would cost another length.
const FEWEST: usize = MIN_AWARE_BINS / FACTOR;

/// What is measured first.
#[derive(Debug)]
pub(super) struct Deviations {
    widths: Vec<u64>,
    lengths: Vec<usize>,
    measurements: Measurements,
}

/// The lengths of the buckets that are possible over so many bins, the shortest first; at least one
/// bin is left over of each length if that does not divide the bins.
pub(super) fn lengths(bins: usize) -> Vec<usize> {
    let lengths = std::iter::successors(Some(FACTOR), |length| length.checked_mul(FACTOR));
    lengths.take_while(|length| *length <= bins / FEWEST).collect()
}

impl Deviations {
    /// `widths`: of the bins, each at least 1.
    ///
    /// Errors: a noise that cannot be sampled.
    ///
    /// # Panics
    /// If the calibration is not one of a group for each length.
    pub(super) fn new(
        widths: Vec<u64>,
        calibration: &Calibration,
    ) -> Result<Deviations, ScaleError> {
        let lengths = lengths(widths.len());
        // the last bins, which are fewer, are no bucket
        let sizes = lengths.iter().map(|length| widths.len() / length);
        let measurements = Measurements::one_of_each(sizes, calibration)?;
        Ok(Deviations { widths, lengths, measurements })
    }

    pub(super) fn widths(&self) -> &[u64] {
        &self.widths
    }

    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}

impl CountMechanism for Deviations {
    fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    /// A deviation is at most the sum of its bucket, for m = 0.
    fn largest_count(&self) -> u64 {
        MEASURED_LIMIT / self.widths.len() as u64
    }

    fn measure(&self, counts: &[u64]) -> Vec<i64> {
        let mut measured = Vec::new();
        for &length in &self.lengths {
            let buckets = counts.chunks_exact(length).zip(self.widths.chunks_exact(length));
            measured.extend(buckets.map(|(counts, widths)| {
                done(length as u64 * u64::from(length.ilog2()));
                deviation(counts, widths)
            }));
        }
        measured
    }
}

/// D. Counts are at most 2^62, widths less than 2^63: no product or sum leaves 128 bits.
fn deviation(counts: &[u64], widths: &[u64]) -> i64 {
    let mut bins: Vec<(i128, i128)> =
        counts.iter().zip(widths).map(|(count, width)| (*count as i128, *width as i128)).collect();
    bins.sort_unstable_by(|(a, of_a), (b, of_b)| (a * of_b).cmp(&(b * of_a)));
    let all: i128 = bins.iter().map(|(_, width)| width).sum();
    let mut before = 0;
    let median = bins.iter().find(|(_, width)| {
        before += width;
        2 * before >= all
    });
    let Some(&(count, width)) = median else { return 0 };
    let off: i128 = bins.iter().map(|(other, of)| (other * width - count * of).abs()).sum();
    (off / width) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn deviations_by_hand() {
        let same = [1; 5];
        assert_eq!(deviation(&[7; 5], &same), 0);
        assert_eq!(deviation(&[0, 0, 9, 0, 0], &same), 9);
        assert_eq!(deviation(&[1, 2, 3, 4, 9], &same), 2 + 1 + 1 + 6);
        // of even density
        assert_eq!(deviation(&[2, 6, 10], &[1, 3, 5]), 0);
        // the median density is 4 / 3: |1 - 4/3| + 0 + |5 - 4 / 3|, rounded down
        assert_eq!(deviation(&[1, 4, 5], &[1, 3, 1]), 4);
        assert_eq!(lengths(1024), [4, 16, 64]);
        assert_eq!(lengths(63), [0; 0]);
        assert_eq!(lengths(64), [4]);
    }

    fn bins() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        (1usize..9).prop_flat_map(|bins| {
            (prop::collection::vec(0u64..12, bins), prop::collection::vec(1u64..5, bins))
        })
    }

    proptest! {
        /// Of all densities that could be the least, the best; with one row more it moves by 1.
        #[test]
        fn it_is_the_least_and_a_row_moves_it_by_1((counts, widths) in bins()) {
            let least = |counts: &[u64]| {
                let at = |(count, width): (&u64, &u64)| {
                    let off = |(x, w): (&u64, &u64)| (x * width).abs_diff(count * w);
                    counts.iter().zip(&widths).map(off).sum::<u64>() / width
                };
                counts.iter().zip(&widths).map(at).min().unwrap() as i64
            };
            let exact = deviation(&counts, &widths);
            prop_assert_eq!(exact, least(&counts));
            for bin in 0..counts.len() {
                let mut more = counts.clone();
                more[bin] += 1;
                prop_assert!((deviation(&more, &widths) - exact).abs() <= 1);
            }
        }

        #[test]
        fn the_largest_counts_fit(widths in prop::collection::vec(1u64..1 << 24, 64)) {
            let calibration = Calibration::per_group(vec![crate::ranges::NoiseParameter::Laplace {
                sensitivity: 1,
                epsilon: 1.0,
            }]);
            let mechanism = Deviations::new(widths, &calibration).unwrap();
            let mut counts = vec![0; 64];
            counts.iter_mut().step_by(2).for_each(|count| *count = mechanism.largest_count());
            prop_assert!(mechanism.measure(&counts).iter().all(|deviation| *deviation >= 0));
        }
    }
}
