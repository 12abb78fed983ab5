//! How uneven merged bins are, as far as the deviations tell: what answers that cut a bucket are off by
//! besides their noise.
//!
//! A bucket consists of nodes of each shorter length. What a node deviates by, beyond what its parts
//! deviate by together, is a difference between its parts; how it is spread over them is not known.
//! Say that each of the [`PARTS`] is above or below the even share by its part of it, at random: then a
//! range that holds the share s of the node is off by s (1 - s) E^2 / PARTS in the mean square, where E
//! is that excess. Single excesses are below the noise, so what is known is their mean over all nodes of
//! a length in buckets: too low, as what measured little was merged, so its standard error is added and
//! it is taken times [`OF_MERGED`].
//!
//! Where there are few rows that is noise, far above what can be: a node deviates by no more than its rows,
//! and one that deviates by much more than the scale b of its noise is seldom merged. So E^2 is at most of
//! the order of b times the rows of a node, in the mean, or what it is for certain.

use super::deviations::{Deviations, FACTOR as PARTS};
use crate::ranges::buckets::{Buckets, Uneven, WHOLE};
use crate::ranges::measurements::CountMechanism;
use crate::ranges::noise::MeasurementNoise;

/// Mean squares are larger than squares of means: by 2 if excesses were exponentially distributed, by
/// more on real data.
const OF_SQUARES: f64 = 4.0;

/// Where buckets were chosen by the same measurements. Found like [`OF_ROWS`].
const OF_MERGED: f64 = 2.0;

/// What E^2 / [`PARTS`] is at most, over b times the rows of a node. Found on 126 columns of R's example
/// data, so that about 90 % of intervals of 90 % hold the truth at each of seven signals;
/// reports/adaptive_accuracy tells it on others.
const OF_ROWS: f64 = 0.035;

/// So many standard errors less than what is measured is certain.
const CERTAIN: f64 = 3.0;

/// For each length, E^2 / [`PARTS`]. `rows`: of all bins, as far as that is known.
pub(super) fn within(
    deviations: &Deviations,
    noisy: &[i64],
    buckets: &Buckets,
    rows: f64,
) -> Vec<Uneven> {
    let per_bin = rows.max(0.0) / buckets.bins() as f64;
    // of the means of the length before, and the variance of their errors
    let (mut rest, mut of_parts, mut variance_of_parts) = (noisy, 0.0, 0.0);
    let groups = deviations.lengths().iter().zip(deviations.measurements().groups());
    let squares = groups.map(|(&length, group)| {
        let (own, others) = rest.split_at(group.measurements);
        rest = others;
        let merged =
            own.iter().enumerate().filter(|(node, _)| buckets.merges(node * length, length));
        let (sum, count) =
            merged.fold((0.0, 0.0f64), |(sum, count), (_, y)| (sum + *y as f64, count + 1.0));
        if count == 0.0 {
            return Uneven { length: length as u32, square: 0.0 };
        }
        let (mean, variance) = ((sum / count).max(0.0), group.noise.variance() / count);
        let excess = (mean - PARTS as f64 * of_parts).max(0.0);
        let error = (variance + square(PARTS as f64) * variance_of_parts).sqrt();
        (of_parts, variance_of_parts) = (mean, variance);
        let likely = OF_MERGED * of_excess(excess + variance.sqrt());
        let certain = OF_MERGED * of_excess((excess - CERTAIN * error).max(0.0));
        // of discrete Laplace noise with that variance, or nearly
        let scale = (group.noise.variance() / 2.0).sqrt();
        let most = OF_ROWS * scale * per_bin * length as f64;
        Uneven { length: length as u32, square: likely.min(most.max(certain)) }
    });
    squares.collect()
}

fn of_excess(excess: f64) -> f64 {
    OF_SQUARES * square(excess) / PARTS as f64
}

fn square(number: f64) -> f64 {
    number * number
}

/// Where each bucket's own deviation is measured, once there are buckets: the same with their mean, over
/// those that are longer than a bin.
pub(super) fn of_whole(lengths: &[usize], noisy: &[i64], noise: &MeasurementNoise) -> Uneven {
    let longer = lengths.iter().zip(noisy).filter(|(length, _)| **length > 1);
    let (sum, count) = longer.fold((0.0, 0.0), |(sum, n), (_, y)| (sum + *y as f64, n + 1.0f64));
    let excess = match count {
        0.0 => 0.0,
        _ => (sum / count).max(0.0) + (noise.variance() / count).sqrt(),
    };
    Uneven { length: WHOLE, square: of_excess(excess) }
}
