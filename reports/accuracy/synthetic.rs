//! Made-up hierarchies after the descriptions that Kuo et al. (2018), section 6.1, give of theirs:
//! few large groups among very many small ones, groups of all sizes, and groups of hundreds.

use pg_dp::coco::{Coco, Tally};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Gamma, Geometric, LogNormal, Pareto};

/// Paths of two elements with their histograms.
type Leaves = Vec<(Vec<String>, Coco)>;

/// The public largest sizes of groups.
pub const SPARSE_MAX_SIZE: u64 = 10_000;
pub const RACE_MAX_SIZE: u64 = 5_000;
pub const TAXI_MAX_SIZE: u64 = 10_000;
pub const SCHOOLS_MAX_SIZE: u64 = 1000;
pub const GAP_MAX_SIZE: u64 = 1_000;
pub const ROOMS_MAX_SIZE: u64 = 100;
pub const FEW_MAX_SIZE: u64 = 1_000;

/// How many states there are, and counties in each.
#[derive(Debug, Clone, Copy)]
pub struct Geography {
    pub states: usize,
    pub counties: usize,
}

/// Housing: a median of 4,000 groups per county, households and one in a hundred of a heavy tail
/// from 8 on.
pub fn sparse(seed: u64, geography: Geography) -> Leaves {
    let household = Geometric::new(0.4).expect("a probability");
    let institution = Pareto::new(8.0, 0.9).expect("positive parameters");
    counties(seed, geography, 4000.0, |rng| {
        let size = match rng.random_bool(0.01) {
            true => institution.sample(rng) as u64,
            false => 1 + household.sample(rng),
        };
        size.min(SPARSE_MAX_SIZE)
    })
}

/// Blocks, and how many of their inhabitants say that they are white: a median of 2,170 per county,
/// which in 52 states of 60 counties makes 11 million. In 45 of 100 there are none.
pub fn race(seed: u64, geography: Geography) -> Leaves {
    let inhabitants = LogNormal::new(2.9, 1.2).expect("a standard deviation");
    counties(seed, geography, 2170.0, |rng| {
        let size = match rng.random_bool(0.45) {
            true => 0,
            false => 1 + inhabitants.sample(rng) as u64,
        };
        size.min(RACE_MAX_SIZE)
    })
}

/// Manhattan's taxis and their pick-ups in a year: 12,888 taxis with a mean of 363 in each of 28
/// neighbourhoods, which differ in how many people take taxis there.
pub fn taxi(seed: u64) -> Leaves {
    const TAXIS: u64 = 12_888;
    const MEAN: f64 = 363.0;
    const HALVES: [(&str, usize); 2] = [("Lower", 14), ("Upper", 14)];
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let differences = LogNormal::new(0.0, 0.6).expect("a standard deviation");
    let popularity: Vec<f64> =
        HALVES.iter().flat_map(|half| 0..half.1).map(|_| differences.sample(rng)).collect();
    let mean = popularity.iter().sum::<f64>() / popularity.len() as f64;
    let mut leaves = Vec::new();
    let mut popularity = popularity.into_iter();
    for (half, neighbourhoods) in HALVES {
        for (number, popularity) in (1..).zip(popularity.by_ref().take(neighbourhoods)) {
            let pickups = Gamma::new(4.0, MEAN * popularity / mean / 4.0).expect("positive");
            let mut tally = Tally::default();
            for _ in 0..TAXIS {
                tally.add((pickups.sample(rng).ceil() as u64).min(TAXI_MAX_SIZE), 1);
            }
            leaves.push((
                vec![half.to_string(), format!("Neighbourhood {number:02}")],
                tally.histogram(),
            ));
        }
    }
    leaves
}

/// No group has less than six members.
pub fn gap(seed: u64) -> Leaves {
    let members = LogNormal::new(3.0, 0.9).expect("a standard deviation");
    counties(seed, Geography { states: 4, counties: 4 }, 3000.0, |rng| {
        (6 + members.sample(rng) as u64).min(GAP_MAX_SIZE)
    })
}

/// Many regions, no group of more than seven, and a largest size far beyond that.
pub fn rooms(seed: u64) -> Leaves {
    let others = Geometric::new(0.42).expect("a probability");
    counties(seed, Geography { states: 10, counties: 13 }, 900.0, |rng| {
        (1 + others.sample(rng)).min(7)
    })
}

/// Three regions of two each.
pub fn few(seed: u64) -> Leaves {
    let members = LogNormal::new(1.5, 1.0).expect("a standard deviation");
    counties(seed, Geography { states: 3, counties: 2 }, 10_000.0, |rng| {
        (members.sample(rng) as u64).min(FEW_MAX_SIZE)
    })
}

/// Counties of fifteen schools, one of which, or two, is empty; all others have 8 to 47 pupils.
pub fn schools() -> Leaves {
    const COUNTIES: u64 = 40;
    let county = |county: u64| {
        let mut tally = Tally::default();
        for school in (1..=600).filter(|school| school % COUNTIES == county) {
            tally.add(if school <= 550 { 8 + (school / COUNTIES * 7 + school) % 40 } else { 0 }, 1);
        }
        (vec![format!("State {}", county / 10), format!("County {county:02}")], tally.histogram())
    };
    (0..COUNTIES).map(county).collect()
}

/// Counties differ in their number of groups, whose median is given.
fn counties(
    seed: u64,
    geography: Geography,
    groups: f64,
    mut size: impl FnMut(&mut ChaCha20Rng) -> u64,
) -> Leaves {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let differences = LogNormal::new(0.0, 1.0).expect("a standard deviation");
    let mut leaves = Vec::new();
    for state in 0..geography.states {
        for county in 0..geography.counties {
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
