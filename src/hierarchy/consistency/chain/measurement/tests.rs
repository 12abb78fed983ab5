//! What neighbours differ by.

use super::*;
use crate::coco::of_sizes;
use crate::hierarchy::consistency::chain::running_totals;
use crate::hierarchy::consistency::noisy_counts::transposed;
use crate::hierarchy::consistency::pgsr::tests::*;
use crate::noise::{Scale, words_from_system};
use crate::work::watched;

fn chain(max_size: u64, rows_per_unit: u32, epsilon: f64) -> Result<ChainMeasurement, ScaleError> {
    ChainMeasurement::new(Estimator::Hc, max_size, rows_per_unit, epsilon)
}

fn distance(a: &[i64], b: &[i64]) -> u64 {
    assert_eq!(a.len(), b.len(), "the length is public");
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum()
}

/// The example of the module's documentation.
#[test]
fn the_papers_sensitivity_is_too_small() {
    const CLAIMED: u64 = 1;
    let measurement = chain(3, 1, 1.0).unwrap();
    let ny = of_sizes(&[1, 2]);
    let measure = |ga: &[u64]| measurement.measure(&[of_sizes(ga), ny.clone()]);
    let (here, there) = (measure(&[1, 1]), measure(&[1, 2]));
    // GA's sizes 0 to 3, NY's 0 to 2
    assert_eq!(here, [0, 2, 3, 4, 0, 3, 4]);
    assert_eq!(there, [0, 1, 3, 4, 0, 2, 4]);
    assert!(distance(&here, &there) > CLAIMED);
    assert_eq!(distance(&here, &there), measurement.noise(2).unwrap().sensitivity());
    assert_eq!(distance(&measure(&[1, 3]), &measure(&[1, 4])), 0, "both are counted at K");
}

/// All neighbours of random tables in random trees, for units of one entity and of two: every
/// level's distance is at most what is declared, which is attained wherever a group can grow.
#[test]
fn neighbours_differ_by_at_most_the_declared_sensitivity() {
    use rand::{Rng, SeedableRng};
    let mut random = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    let mut attained = 0;
    for _ in 0..200 {
        let mut below = |n: u64| random.next_u64() % n;
        let depth = below(4) as usize;
        let paths: std::collections::BTreeSet<Vec<u16>> = (0..if depth == 0 { 1 } else { 6 })
            .map(|_| (0..depth).map(|_| below(3) as u16).collect())
            .collect();
        let sizes: Vec<Vec<u64>> =
            paths.iter().map(|_| (0..below(4)).map(|_| below(5)).collect()).collect();
        let max_size = 1 + below(5);
        let tree = tree(depth, paths);
        let histograms =
            |sizes: &[Vec<u64>]| tree.sums(sizes.iter().map(|sizes| of_sizes(sizes)).collect());
        let with_one_entity_more = |sizes: &[Vec<u64>]| -> Vec<Vec<Vec<u64>>> {
            let groups = sizes.iter().enumerate();
            let groups = groups.flat_map(|(leaf, own)| (0..own.len()).map(move |g| (leaf, g)));
            let grow = |(leaf, group): (usize, usize)| {
                let mut more = sizes.to_vec();
                more[leaf][group] += 1;
                more
            };
            groups.map(grow).collect()
        };
        let one_more = with_one_entity_more(&sizes);
        let two_more = one_more.iter().flat_map(|more| with_one_entity_more(more)).collect();
        let here = histograms(&sizes);
        let can_grow = sizes.iter().flatten().any(|size| *size < max_size);
        for (entities, neighbours) in [(1, one_more), (2, two_more)] {
            let mut largest = vec![0; tree.depth()];
            for neighbour in neighbours {
                let there = histograms(&neighbour);
                for (level, largest) in largest.iter_mut().enumerate() {
                    let regions = tree.level(level);
                    let measurement = chain(max_size, entities, 1.0).unwrap();
                    let measure = |all: &[Coco]| measurement.measure(&all[regions.clone()]);
                    *largest = distance(&measure(&here), &measure(&there)).max(*largest);
                }
            }
            for (level, largest) in largest.into_iter().enumerate() {
                let noise = chain(max_size, entities, 1.0).unwrap().noise(tree.level(level).len());
                let declared = noise.unwrap().sensitivity();
                assert!(largest <= declared);
                if entities == 1 && can_grow {
                    assert_eq!(largest, declared);
                }
                attained += u32::from(entities == 2 && largest == declared);
            }
        }
    }
    assert!(attained > 100, "{attained}");
}

/// What is measured of a level is what [`running_totals`] are.
#[test]
fn the_measurement_is_the_running_totals_without_the_last() {
    let tree = regular_tree(&[2, 2]);
    let leaves = [&[0, 2, 9][..], &[1], &[], &[1, 2]].map(of_sizes);
    let truth = tree.sums(leaves.to_vec());
    let mut counts = vec![0; 4 * 7];
    for (region, histogram) in truth.iter().enumerate() {
        for run in histogram.runs() {
            counts[run.size.min(3) as usize * 7 + region] += run.groups as i64;
        }
    }
    let totals = transposed(&running_totals(&tree, &counts), 7);
    for level in 0..3 {
        let regions = tree.level(level);
        let measurement = chain(3, 1, 1e5).unwrap();
        let cells = &totals[regions.start * 4..regions.end * 4];
        let measured = measurement.measure(&truth[regions.clone()]);
        assert_eq!(measured, cells[..cells.len() - 1]);
        let mut words = words_from_system().unwrap();
        // noise has a probability below e^-25000
        let released = measurement.release(&truth[regions], &mut words).unwrap();
        let values: Vec<i64> = released.into_iter().flat_map(|row| row.values).collect();
        assert_eq!(values, cells);
    }
}

#[test]
fn scales_that_cannot_be_sampled_are_errors() {
    let scale = |regions, rows_per_unit, epsilon| {
        chain(10, rows_per_unit, epsilon)?.noise(regions).map(|noise| noise.scale())
    };
    assert_eq!(scale(5, 3, 0.5).unwrap(), Scale::new(15, 0.5).unwrap());
    for (regions, rows_per_unit, epsilon) in [
        (1 << 20, 1 << 12, 1.0),
        (1 << 20, 1 << 14, 8.0), // 2^34, which a u32 does not hold
        (usize::MAX, u32::MAX, 1e30),
        (0, 1, 1.0),
    ] {
        let error = scale(regions, rows_per_unit, epsilon).unwrap_err();
        assert!(matches!(error, ScaleError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn measuring_polls_throughout() {
    let measurement = chain(999, 1, 1.0).unwrap();
    let (mut calls, mut words) = (0, words_from_system().unwrap());
    watched(&mut || calls += 1, || {
        measurement.release(&vec![of_sizes(&[3]); 1000], &mut words).unwrap();
    });
    assert!(calls >= 20, "{calls}"); // a million draws
}
