//! How uneven merged bins are, as far as the deviations tell: what answers that cut a bucket are off by
//! besides their noise.
//!
//! A bucket consists of nodes of each shorter length. What a node deviates by, beyond what its parts
//! deviate by together, is a difference between its parts; how it is spread over them is not known.
//! Say that each of the [`PARTS`] is above or below the even share by its part of it, at random: then a
//! range that holds the share s of the node is off by s (1 - s) E^2 / PARTS in the mean square, where E
//! is that excess. Single excesses are below the noise, so what is known is their mean over all nodes of
//! a length in buckets. That is low, as what measured little was merged: its standard error is added.

use super::deviations::{Deviations, FACTOR as PARTS};
use crate::ranges::buckets::{Buckets, Uneven, WHOLE};
use crate::ranges::measurements::CountMechanism;
use crate::ranges::noise::MeasurementNoise;

/// Mean squares are larger than squares of means: by 2 if excesses were exponentially distributed, by
/// more on real data; reports/adaptive_accuracy tells how often intervals hold the truth with this.
const OF_SQUARES: f64 = 4.0;

/// For each length, E^2 / [`PARTS`].
pub(super) fn within(deviations: &Deviations, noisy: &[i64], buckets: &Buckets) -> Vec<Uneven> {
    let (mut rest, mut of_parts) = (noisy, 0.0);
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
        let mean = (sum / count).max(0.0);
        let error = (group.noise.variance() / count).sqrt();
        let excess = (mean - PARTS as f64 * of_parts).max(0.0) + error;
        of_parts = mean;
        Uneven { length: length as u32, square: square(excess) }
    });
    squares.collect()
}

fn square(excess: f64) -> f64 {
    OF_SQUARES * excess * excess / PARTS as f64
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
    Uneven { length: WHOLE, square: square(excess) }
}
