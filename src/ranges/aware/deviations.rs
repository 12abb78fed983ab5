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
//!
//! *Time.* Buckets of a length are sorted by merging those of the length before, which are their parts.
//! A merge makes as many steps whatever is counted, and looks for no end of either half: a sort that
//! saw runs would tell whether a row breaks one.

use crate::noise::ScaleError;
use crate::ranges::calibration::Calibration;
use crate::ranges::limits::MIN_AWARE_BINS;
use crate::ranges::measurements::{CountMechanism, MEASURED_LIMIT, Measurements};
use crate::work::{Paced, done};

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

/// The lengths of the buckets that are possible over so many bins, the shortest first.
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
        let mut bins = Bin::all(counts, &self.widths);
        let mut merged = bins.clone();
        let (mut sorted, mut measured) = (1, Vec::new());
        for &length in &self.lengths {
            while sorted < length {
                // what is left over is in no bucket
                let pairs = bins.chunks_exact(2 * sorted).zip(merged.chunks_exact_mut(2 * sorted));
                for (halves, merged) in pairs {
                    done(merged.len() as u64);
                    merge(halves, merged);
                }
                std::mem::swap(&mut bins, &mut merged);
                sorted *= 2;
            }
            measured.extend(bins.chunks_exact(length).paced().map(deviation));
        }
        measured
    }
}

/// Counts are at most 2^62, widths less than 2^63: no product or sum leaves 128 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bin {
    pub(super) count: i128,
    pub(super) width: i128,
}

impl Bin {
    pub(super) fn all(counts: &[u64], widths: &[u64]) -> Vec<Bin> {
        let bins = counts.iter().zip(widths);
        bins.map(|(&count, &width)| Bin { count: count.into(), width: width.into() }).collect()
    }
}

/// Two halves, each by density, into one.
fn merge(halves: &[Bin], merged: &mut [Bin]) {
    let (left, right) = halves.split_at(halves.len() / 2);
    let last = left.len() - 1;
    let (mut i, mut j) = (0, 0);
    for place in merged {
        let (a, b) = (left[i.min(last)], right[j.min(last)]);
        let is_less = a.count * b.width <= b.count * a.width;
        let takes_left = (j > last) | ((i <= last) & is_less);
        *place = if takes_left { a } else { b };
        i += usize::from(takes_left);
        j += usize::from(!takes_left);
    }
}

/// D of bins that are sorted by density.
fn deviation(bins: &[Bin]) -> i64 {
    let all: i128 = bins.iter().map(|bin| bin.width).sum();
    let mut before = 0;
    // those that end before half of the width: all are looked at, wherever the median is
    let median = bins.iter().map(|bin| {
        before += bin.width;
        usize::from(2 * before < all)
    });
    let Bin { count, width } = bins[median.sum::<usize>()];
    let off: i128 = bins.iter().map(|bin| (bin.count * width - count * bin.width).abs()).sum();
    (off / width) as i64
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition, sorted otherwise.
    pub(in crate::ranges::aware) fn deviation(counts: &[u64], widths: &[u64]) -> i64 {
        let mut bins = Bin::all(counts, widths);
        bins.sort_by(|a, b| (a.count * b.width).cmp(&(b.count * a.width)));
        super::deviation(&bins)
    }

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

        /// Merged from length to length, as sorted anew, with bins left over or not.
        #[test]
        fn buckets_are_those_of_their_bins(
            (counts, widths) in (64usize..600).prop_flat_map(|bins| {
                let counts = prop_oneof![Just(0), 0u64..5, 0u64..1000];
                (prop::collection::vec(counts, bins), prop::collection::vec(1u64..9, bins))
            }),
        ) {
            let noise = crate::ranges::NoiseParameter::Laplace { sensitivity: 1, epsilon: 1.0 };
            let calibration = Calibration::per_group(vec![noise; lengths(counts.len()).len()]);
            let mechanism = Deviations::new(widths.clone(), &calibration).unwrap();
            let one_by_one = lengths(counts.len()).into_iter().flat_map(|length| {
                let buckets = counts.chunks_exact(length).zip(widths.chunks_exact(length));
                buckets.map(|(counts, widths)| deviation(counts, widths)).collect::<Vec<_>>()
            });
            prop_assert_eq!(mechanism.measure(&counts), one_by_one.collect::<Vec<_>>());
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
