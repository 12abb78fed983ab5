//! The measurements of M_H (Fioretto, Van Hentenryck, Zhu 2020, section 5) before any consistency.

use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Estimator, HistogramMeasurement};
use pg_dp::hierarchy::Tree;
use pg_dp::noise::{RandomWords, ScaleError};

/// The number of groups of each size 0 ..= `max_size` in every region, with noise for equal shares
/// of epsilon per level, and the variance of that noise. Cell (region, size) is at
/// `size * regions + region`.
///
/// Errors: epsilon leads to a scale that cannot be sampled.
pub fn noisy_counts(
    tree: &Tree,
    truth: &[Coco],
    max_size: u64,
    epsilon: f64,
    words: &mut impl RandomWords,
) -> Result<(Vec<i64>, f64), ScaleError> {
    let share = epsilon / tree.depth() as f64;
    let measurement = HistogramMeasurement::new(Estimator::H, max_size, 1, share)?;
    let mut counts = vec![0; truth.len() * (max_size as usize + 1)];
    for (number, region) in truth.iter().enumerate() {
        let of_region = Receipt::uncharged(measurement.of_groups(region.groups()));
        let noisy = of_region.counts(region, words);
        let cells = counts.iter_mut().skip(number).step_by(truth.len());
        cells.zip(noisy).for_each(|(cell, count)| *cell = count);
    }
    Ok((counts, measurement.variance_of_counts()))
}
