//! Made-up hierarchies of two extremes: few large groups among very many small ones, and groups of
//! all sizes.

use pg_dp::coco::{Coco, Tally};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Geometric, LogNormal, Pareto};

const STATES: u64 = 30;
const COUNTIES_PER_STATE: u64 = 30;

/// The largest size of a group.
pub const SPARSE_MAX_SIZE: u64 = 10_000;
pub const DENSE_MAX_SIZE: u64 = 3_000;

/// About 4,000 groups per county: households, and one in a hundred of a heavy tail from 8 on.
pub fn sparse(seed: u64) -> Vec<(Vec<String>, Coco)> {
    let household = Geometric::new(0.4).expect("a probability");
    let institution = Pareto::new(8.0, 0.9).expect("positive parameters");
    counties(seed, 4000.0, |rng| {
        let size = match rng.random_bool(0.01) {
            true => institution.sample(rng) as u64,
            false => 1 + household.sample(rng),
        };
        size.min(SPARSE_MAX_SIZE)
    })
}

/// About 300 groups per county, with as many members as a lognormal law gives them.
pub fn dense(seed: u64) -> Vec<(Vec<String>, Coco)> {
    let members = LogNormal::new(3.5, 1.5).expect("a standard deviation");
    counties(seed, 300.0, |rng| (members.sample(rng) as u64).min(DENSE_MAX_SIZE))
}

/// Paths of two elements with histograms. Counties differ in their number of groups.
fn counties(
    seed: u64,
    groups: f64,
    mut size: impl FnMut(&mut ChaCha20Rng) -> u64,
) -> Vec<(Vec<String>, Coco)> {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let differences = LogNormal::new(0.0, 1.0).expect("a standard deviation");
    let mut leaves = Vec::new();
    for state in 0..STATES {
        for county in 0..COUNTIES_PER_STATE {
            let mut tally = Tally::default();
            for _ in 0..(groups * differences.sample(rng)) as u64 {
                tally.add(size(rng), 1);
            }
            let path = vec![format!("State {state:02}"), format!("County {county:02}")];
            leaves.push((path, tally.histogram()));
        }
    }
    leaves
}
