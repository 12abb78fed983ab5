//! The methods that add noise: each takes the true histogram, whose number of groups is public, and
//! releases as many groups of at most `max_size` members.

use pg_dp::coco::{Coco, Run};
use pg_dp::noise::{DiscreteLaplace, RandomWords, Scale, ScaleError};
use std::iter::repeat_n;

/// Hay, Rastogi, Miklau and Suciu, "Boosting the Accuracy of Differentially Private Histograms
/// Through Consistency" (2010), section 3: noise on the sorted sizes, of which an entity changes
/// one by 1, and the non-decreasing sequence with the least sum of squares, each value rounded.
pub fn hay(
    truth: &Coco,
    max_size: u64,
    epsilon: f64,
    words: &mut impl RandomWords,
) -> Result<Coco, ScaleError> {
    let noise = DiscreteLaplace::new(Scale::new(1, epsilon)?);
    let fit = isotonic(sizes(truth).map(|size| size as i64 + noise.sample(words)));
    Ok(fit
        .into_iter()
        .map(|(mean, groups)| Run { size: rounded(mean, 0, max_size), groups })
        .collect())
}

/// Kohli and Laskowski, "Preserving Target Distributions With Differentially Private Count
/// Mechanisms" (PoPETs 2026), the cyclic Laplace mechanism: every number of groups of one size has
/// the noise of its own size added and that of the next one taken away, the first being next to the
/// last. An entity moves a group to the next size, as would 1 on one of the noises. Numbers below 0
/// are raised to it, and what is left is a distribution, here of the public number of groups.
pub fn cyclic(
    truth: &Coco,
    max_size: u64,
    epsilon: f64,
    words: &mut impl RandomWords,
) -> Result<Coco, ScaleError> {
    let noise = DiscreteLaplace::new(Scale::new(1, epsilon)?);
    let noises: Vec<i64> = (0..=max_size).map(|_| noise.sample(words)).collect();
    let mut counts: Vec<i64> =
        noises.iter().zip(noises.iter().cycle().skip(1)).map(|(own, next)| own - next).collect();
    for run in truth.runs() {
        counts[run.size as usize] += run.groups as i64;
    }
    let counts = counts.into_iter().map(|count| count.max(0));
    let total = counts.clone().sum::<i64>().max(1) as f64;
    // the running totals are rounded, so that the sum stays what it is
    let (mut sum, mut released) = (0, 0);
    let mut runs: Vec<Run> = Vec::new();
    for (size, count) in (0..).zip(counts) {
        sum += count;
        let below = (sum as f64 / total * truth.groups() as f64).round() as u64;
        runs.push(Run { size, groups: below - released });
        released = below;
    }
    Ok(with_groups(runs, truth.groups()))
}

/// The share of epsilon for the number of all members in [`privhist`].
const FOR_TOTAL: f64 = 0.1;

/// PrivHist of Suresh, "Differentially Private Anonymized Histograms" (2019), rebuilt from its
/// outline: a threshold T of about the root of the number of all members, cumulative numbers for
/// groups up to T, sorted sizes for those above, isotonic regression of both by least squares, and
/// some groups made up on both sides of the threshold, which hide on which side a group is. As many
/// are taken away again in the end, those nearest to the threshold.
///
/// *Loss.* An entity changes the number of all members by 1. Given that number, hence T, let S be
/// the groups up to T, and L those above, each with M made-up ones, of T and of T + 1 members. The
/// numbers of both are moved by a noise Z: S gets Z more of T, L gets Z less of the smallest (which
/// are of T + 1, and beyond the last one there are always more of these). An entity either moves a
/// group within S, which changes one of its cumulative numbers by 1; or within L, which changes one
/// size by 1 at most; or over the threshold, and with another Z, by 1, S and L are what they were.
/// So Z and the noise of S and L can have the same epsilon, all that the total leaves.
pub fn privhist(
    truth: &Coco,
    max_size: u64,
    epsilon: f64,
    words: &mut impl RandomWords,
) -> Result<Coco, ScaleError> {
    let for_parts = (1.0 - FOR_TOTAL) * epsilon;
    let of_total = DiscreteLaplace::new(Scale::new(1, FOR_TOTAL * epsilon)?);
    let noise = DiscreteLaplace::new(Scale::new(1, for_parts)?);

    let members: u64 = truth.runs().iter().map(|run| run.size * run.groups).sum();
    let members = (members as i64 + of_total.sample(words)).max(0) as f64;
    let threshold = ((members * epsilon.min(1.0)).sqrt().ceil() as u64).clamp(1, max_size - 1);
    // the noise exceeds it with a probability of about 1 / members^2
    let made_up = (2.0 * members.max(2.0).ln() / for_parts).ceil() as i64;
    let moved = noise.sample(words);

    // from T down to 1, the number of groups from there to T
    let mut small: Vec<i64> = vec![0; threshold as usize];
    for run in truth.runs().iter().filter(|run| (1..=threshold).contains(&run.size)) {
        small[(threshold - run.size) as usize] += run.groups as i64;
    }
    let mut sum = made_up + moved;
    for count in &mut small {
        sum += *count;
        *count = sum + noise.sample(words);
    }
    let mut runs = Vec::new();
    let (mut size, mut above) = (threshold, 0);
    for (mean, repeats) in isotonic(small.into_iter()) {
        let groups = rounded(mean, 0, u64::MAX);
        runs.push(Run { size, groups: groups - above });
        (size, above) = (size - repeats, groups);
    }

    let large: Vec<u64> = sizes(truth).filter(|size| *size > threshold).collect();
    let length = (large.len() as i64 + made_up - moved).max(0) as usize;
    let kept = length.min(large.len());
    let smallest = repeat_n(threshold + 1, length - kept);
    let large = smallest.chain(large[large.len() - kept..].iter().copied());
    for (mean, groups) in isotonic(large.map(|size| size as i64 + noise.sample(words))) {
        runs.push(Run { size: rounded(mean, threshold + 1, max_size), groups });
    }

    runs.sort_by_key(|run| (2 * run.size).abs_diff(2 * threshold + 1));
    let mut left = 2 * made_up as u64;
    for run in &mut runs {
        let removed = run.groups.min(left);
        run.groups -= removed;
        left -= removed;
    }
    Ok(with_groups(runs, truth.groups()))
}

/// The largest groups, so many, or all and empty ones.
fn with_groups(mut runs: Vec<Run>, groups: u64) -> Coco {
    runs.sort_by_key(|run| run.size);
    let mut left = groups;
    for run in runs.iter_mut().rev() {
        run.groups = run.groups.min(left);
        left -= run.groups;
    }
    runs.push(Run { size: 0, groups: left });
    runs.into_iter().collect()
}

/// In ascending order.
fn sizes(truth: &Coco) -> impl Iterator<Item = u64> + '_ {
    truth.runs().iter().flat_map(|run| repeat_n(run.size, run.groups as usize))
}

fn rounded(value: f64, low: u64, high: u64) -> u64 {
    value.round().clamp(low as f64, high as f64) as u64
}

/// The non-decreasing sequence with the least sum of squared distances, by pooling adjacent
/// violators: values, and how often each is repeated.
fn isotonic(values: impl Iterator<Item = i64>) -> Vec<(f64, u64)> {
    let mut blocks: Vec<(i64, u64)> = Vec::new();
    for value in values {
        let (mut sum, mut count) = (value, 1);
        while let Some(&(before, repeats)) = blocks.last() {
            if i128::from(before) * i128::from(count) < i128::from(sum) * i128::from(repeats) {
                break;
            }
            blocks.pop();
            (sum, count) = (sum + before, count + repeats);
        }
        blocks.push((sum, count));
    }
    blocks.into_iter().map(|(sum, count)| (sum as f64 / count as f64, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn example() -> Coco {
        let runs = [(0, 7), (1, 50), (2, 30), (3, 11), (9, 4), (40, 1), (77, 2), (100, 1)];
        runs.into_iter().map(|(size, groups)| Run { size, groups }).collect()
    }

    /// At this epsilon there is some with probability 1e-12.
    #[test]
    fn without_noise_the_truth_is_released() {
        let words = &mut ChaCha20Rng::seed_from_u64(1);
        let epsilon = 40.0;
        assert_eq!(hay(&example(), 100, epsilon, words).unwrap(), example());
        assert_eq!(cyclic(&example(), 100, epsilon, words).unwrap(), example());
        assert_eq!(privhist(&example(), 100, epsilon, words).unwrap(), example());
    }

    #[test]
    fn releases_have_the_public_groups_and_sizes() {
        let words = &mut ChaCha20Rng::seed_from_u64(2);
        for epsilon in [0.01, 0.1, 1.0] {
            for max_size in [100, 150] {
                for release in [
                    hay(&example(), max_size, epsilon, words).unwrap(),
                    cyclic(&example(), max_size, epsilon, words).unwrap(),
                    privhist(&example(), max_size, epsilon, words).unwrap(),
                ] {
                    assert_eq!(release.groups(), example().groups());
                    assert!(release.runs().iter().all(|run| run.size <= max_size));
                }
            }
        }
    }

    #[test]
    fn neighbours_that_decrease_are_pooled() {
        let fit = isotonic([1, 4, 2, 3, 9, 8, 20].into_iter());
        assert_eq!(fit, [(1.0, 1), (3.0, 3), (8.5, 2), (20.0, 1)]);
    }
}
