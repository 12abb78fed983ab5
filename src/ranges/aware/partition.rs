//! Which buckets are released, from noisy deviations: the partition of least cost.
//!
//! A bucket costs the standard deviation of a count of the second stage, and what it deviates by, as
//! measured, less one and a half scales of that noise, at 0 at least: most of what little is measured
//! is noise, and to merge what holds unevenly costs a bias once, where noise is in every answer. A bin
//! by itself deviates by nothing.

use super::deviations::Deviations;
use crate::ranges::buckets::Buckets;
use crate::ranges::measurements::CountMechanism;
use crate::work::Paced;

/// How many scales of its noise a deviation is lowered by. Found, like the eighth of the budget and
/// the lengths, on 40 columns of R's example data; reports/adaptive_accuracy tells it on others.
const LOWERED_BY: f64 = 1.5;

/// A run of bins, with the least cost of its buckets.
#[derive(Debug, Clone, Copy)]
struct Part {
    cost: f64,
    buckets: usize,
}

/// `noisy`: what is measured of `deviations`. `per_bucket`: what each costs.
pub(super) fn partition(deviations: &Deviations, noisy: &[i64], per_bucket: f64) -> Buckets {
    let bins = deviations.widths().len();
    let mut parts = vec![Part { cost: per_bucket, buckets: 1 }; bins];
    // the lengths of the buckets chosen so far, those of each part one after another
    let mut chosen = vec![1; bins];
    let (mut rest, mut shorter) = (noisy, 1);
    for (&length, group) in deviations.lengths().iter().zip(deviations.measurements().groups()) {
        let (own, others) = rest.split_at(group.measurements);
        rest = others;
        // the scale of discrete Laplace noise with that variance, or nearly
        let lowered_by = LOWERED_BY * (group.noise.variance() / 2.0).sqrt();
        let cost_of = |measured: i64| (measured as f64 - lowered_by).max(0.0) + per_bucket;
        let (mut longer_parts, mut longer) = (Vec::new(), Vec::new());
        let mut next = 0;
        // the last parts, which are fewer, stay as they are
        let mut measured = own.iter();
        for parts in parts.chunks(length / shorter).paced() {
            let apart = parts.iter().fold(Part { cost: 0.0, buckets: 0 }, |sum, part| Part {
                cost: sum.cost + part.cost,
                buckets: sum.buckets + part.buckets,
            });
            let merged = measured.next().map(|measured| cost_of(*measured));
            match merged.filter(|merged| *merged <= apart.cost) {
                Some(cost) => {
                    longer_parts.push(Part { cost, buckets: 1 });
                    longer.push(length);
                }
                None => {
                    longer_parts.push(apart);
                    longer.extend_from_slice(&chosen[next..next + apart.buckets]);
                }
            }
            next += apart.buckets;
        }
        (parts, chosen, shorter) = (longer_parts, longer, length);
    }
    Buckets::new(chosen, deviations.widths())
}
