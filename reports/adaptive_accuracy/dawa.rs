//! DAWA (Li, Hay, Miklau, Wang 2014) with pure differential privacy, as a rival: a partition of the
//! bins into buckets that are nearly uniform, then noisy sums of buckets, spread over their bins.
//!
//! With the noise that its proof needs: one row moves the sum of the deviations from the mean of a
//! bucket of l bins by up to 2 (1 - 1 / l), and those that are compared with it by up to
//! 2 (1 - 1 / n), so noise of scale (2 (1 - 1 / l) + 2 (1 - 1 / n)) / epsilon is needed, for buckets of
//! one bin, too. What a minimum over so many noisy costs chooses is noise more than buckets, as printed
//! in the paper: it is worse than no partition. Two things that leave the proof as it is help most of
//! those that were tried: buckets lie at multiples of their lengths, and each costs the scale of the
//! noise more. (To take no noisy cost for less than 0 would help more, but the proof shifts the noise
//! of the bucket that holds a row by what the row moves, which a cost that stays at 0 does not follow.)
//! The second step is the best that there is here, not the greedy tree of the paper. Noise is simulated
//! in floating point: nothing of this is ever released.

use pg_dp::charge::Receipt;
use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// Of epsilon, for the partition.
const SHARE: f64 = 0.25;

/// The estimated sums of the first 0 ..= n bins.
pub fn prefix_sums(
    counts: &[u64],
    epsilon: f64,
    method: &str,
    random: &mut ChaCha20Rng,
) -> Result<Vec<f64>, String> {
    let ends = partition(counts, epsilon, random);
    let method = MethodChoice::parse(method).map_err(|e| e.to_string())?;
    let bins = ends.len() as i64 - 1;
    let epsilon = epsilon * (1.0 - SHARE);
    let request = RangeRequest { bins, epsilon, delta: 0.0, rows_per_unit: 1, method };
    let plan = RangePlan::new(request).map_err(|e| e.to_string())?;
    let sums: Vec<u64> = ends.windows(2).map(|w| counts[w[0]..w[1]].iter().sum()).collect();
    let release = Receipt::uncharged(plan).release(&sums, random);
    let mut prefixes = vec![0.0];
    for (bucket, ends) in ends.windows(2).enumerate() {
        let (before, sum) = (release.sum(0..bucket), release.sum(0..bucket + 1));
        let width = (ends[1] - ends[0]) as f64;
        let until = |bin: usize| before + (sum - before) * (bin - ends[0]) as f64 / width;
        prefixes.extend((ends[0] + 1..=ends[1]).map(until));
    }
    Ok(prefixes)
}

/// Where the buckets begin, and the number of bins: those of the least noisy cost, with lengths that
/// are powers of two, at multiples of those.
fn partition(counts: &[u64], epsilon: f64, random: &mut ChaCha20Rng) -> Vec<usize> {
    let (bins, first) = (counts.len(), epsilon * SHARE);
    let largest = 2.0 * (1.0 - 1.0 / bins as f64);
    let per_bucket = 1.0 / (epsilon * (1.0 - SHARE)) + 2.0 * largest / first;
    // of the first bins, the least cost and the length of the last bucket
    let mut best = vec![(0.0, 0)];
    for end in 1..=bins {
        let lengths = std::iter::successors(Some(1), |length| Some(2 * length));
        let costs = lengths.take_while(|length| end % length == 0).map(|length| {
            let scale = (2.0 * (1.0 - 1.0 / length as f64) + largest) / first;
            let noisy = deviation(&counts[end - length..end]) + laplace(scale, random);
            (best[end - length].0 + noisy + per_bucket, length)
        });
        best.push(costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 1)));
    }
    let before = |end: &usize| (*end > 0).then(|| end - best[*end].1);
    let mut ends: Vec<usize> = std::iter::successors(Some(bins), before).collect();
    ends.reverse();
    ends
}

fn deviation(bucket: &[u64]) -> f64 {
    let mean = bucket.iter().sum::<u64>() as f64 / bucket.len() as f64;
    bucket.iter().map(|count| (*count as f64 - mean).abs()).sum()
}

fn laplace(scale: f64, random: &mut ChaCha20Rng) -> f64 {
    let uniform: f64 = random.random_range(-0.5..0.5);
    -scale * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln()
}
