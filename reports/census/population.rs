//! A made-up census: nation, states, counties, and in each county so many groups of each size. No
//! row of it is anybody's; a seeded generator makes it anew wherever it is needed.
//!
//! What is published of the United States in 2010 sets the proportions: the households of each
//! state, its number of counties, the shares of household sizes. The rest is drawn, so that nothing
//! below a state resembles any place.

use pg_dp::coco::{Coco, Run};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Binomial, Distribution, LogNormal};
use std::iter::repeat_n;

/// Code, counties and county equivalents, households of the 50 states, the District of Columbia and
/// Puerto Rico: US Census Bureau, 2010 Census, Summary File 1 (table H3, occupied housing units,
/// and the list of counties of that census).
///
/// The counties of the 50 states and the District of Columbia are 3,143. The hierarchy of
/// Fioretto, Van Hentenryck and Zhu (2020) has 52 states, Puerto Rico among them, and 3,144
/// counties; how Puerto Rico's 78 municipios fit in they do not say. Here Puerto Rico is a single
/// county, which makes 3,144.
const STATES: [(&str, usize, u32); 52] = [
    ("AK", 29, 258_058),
    ("AL", 67, 1_883_791),
    ("AR", 75, 1_147_084),
    ("AZ", 15, 2_380_990),
    ("CA", 58, 12_577_498),
    ("CO", 64, 1_972_868),
    ("CT", 8, 1_371_087),
    ("DC", 1, 266_707),
    ("DE", 3, 342_297),
    ("FL", 67, 7_420_802),
    ("GA", 159, 3_585_584),
    ("HI", 5, 455_338),
    ("IA", 99, 1_221_576),
    ("ID", 44, 579_408),
    ("IL", 102, 4_836_972),
    ("IN", 92, 2_502_154),
    ("KS", 105, 1_112_096),
    ("KY", 120, 1_719_965),
    ("LA", 64, 1_728_360),
    ("MA", 14, 2_547_075),
    ("MD", 24, 2_156_411),
    ("ME", 16, 557_219),
    ("MI", 83, 3_872_508),
    ("MN", 87, 2_087_227),
    ("MO", 115, 2_375_611),
    ("MS", 82, 1_115_768),
    ("MT", 56, 409_607),
    ("NC", 100, 3_745_155),
    ("ND", 53, 281_192),
    ("NE", 93, 721_130),
    ("NH", 10, 518_973),
    ("NJ", 21, 3_214_360),
    ("NM", 33, 791_395),
    ("NV", 17, 1_006_250),
    ("NY", 62, 7_317_755),
    ("OH", 88, 4_603_435),
    ("OK", 77, 1_460_450),
    ("OR", 36, 1_518_938),
    ("PA", 67, 5_018_904),
    ("PR", 1, 1_376_531),
    ("RI", 5, 413_600),
    ("SC", 46, 1_801_181),
    ("SD", 66, 322_282),
    ("TN", 95, 2_493_552),
    ("TX", 254, 8_922_933),
    ("UT", 29, 877_692),
    ("VA", 134, 3_056_058),
    ("VT", 14, 256_442),
    ("WA", 39, 2_620_076),
    ("WI", 72, 2_279_768),
    ("WV", 55, 763_831),
    ("WY", 23, 226_879),
];

/// Households of 1 to 6 persons, and of 7 or more, in the 50 states and the District of Columbia:
/// 2010 Census, Summary File 1, table H13.
const HOUSEHOLDS: [u32; 6] = [31_204_909, 38_243_143, 18_758_985, 15_625_009, 7_538_631, 3_074_733];
const LARGER_HOUSEHOLDS: u32 = 2_270_882;

/// The share of group quarters (dormitories, nursing homes, prisons) among all groups, and their
/// least size. P(size >= s) falls like 1 / s, so at the default `max_size` their mean is 46 persons
/// and they hold about 8 million, as the group quarters of 2010 did.
const QUARTERS: f64 = 0.0015;
const SMALLEST_QUARTERS: u64 = 10;

/// How much places differ, as the standard deviation of a logarithm: the counties of a state in
/// their size, and counties in their shares of each household size and of group quarters.
const COUNTIES_DIFFER: f64 = 1.2;
const HOUSEHOLDS_DIFFER: f64 = 0.1;
const QUARTERS_DIFFER: f64 = 0.7;

/// Which census to make. [`Census::default`] is that of the whole nation.
#[derive(Debug, Clone)]
pub struct Census {
    pub seed: u64,
    /// 2: nation and states; 3: nation, states and counties. The former is the latter summed up.
    pub levels: usize,
    /// So many of the 52 states, the first in the order of their codes.
    pub states: usize,
    /// At most so many counties in each.
    pub counties: usize,
    /// The number of all groups; every group has at least one member.
    pub groups: u64,
    /// No group is larger.
    pub max_size: u64,
}

impl Default for Census {
    /// As many groups and sizes as the census of Fioretto, Van Hentenryck and Zhu (2020).
    fn default() -> Census {
        let (levels, states, counties) = (3, STATES.len(), usize::MAX);
        Census { seed: 2010, levels, states, counties, groups: 117_630_445, max_size: 1000 }
    }
}

impl Census {
    /// The path and the histogram of every region of the lowest level.
    pub fn leaves(&self) -> Vec<(Vec<String>, Coco)> {
        let rng = &mut ChaCha20Rng::seed_from_u64(self.seed);
        let states = &STATES[..self.states.min(STATES.len())];
        let households: Vec<f64> = states.iter().map(|state| f64::from(state.2)).collect();
        let mut leaves = Vec::new();
        for (&(code, counties, _), groups) in
            states.iter().zip(share_out(self.groups, &households, rng))
        {
            let weights = variations(COUNTIES_DIFFER, counties.min(self.counties), rng);
            let counties: Vec<Coco> = share_out(groups, &weights, rng)
                .into_iter()
                .map(|groups| self.histogram(groups, rng))
                .collect();
            if self.levels == 2 {
                let state = counties.iter().flat_map(|county| county.runs().to_vec()).collect();
                leaves.push((vec![code.to_string()], state));
            } else {
                leaves.extend((1..).zip(counties).map(|(number, county)| {
                    (vec![code.to_string(), format!("County {number:03}")], county)
                }));
            }
        }
        leaves
    }

    /// The groups of one county.
    fn histogram(&self, groups: u64, rng: &mut impl Rng) -> Coco {
        let shares = self.shares(rng);
        (1..)
            .zip(share_out(groups, &shares, rng))
            .map(|(size, groups)| Run { size, groups })
            .collect()
    }

    /// What share of a county's groups has each size from 1 to `max_size`.
    ///
    /// From 6 persons on, each household size is rarer than the last by the same ratio, as in
    /// section 11 of Fioretto, Van Hentenryck and Zhu (2020); here it is the one with which all
    /// sizes from 7 on have their published sum.
    fn shares(&self, rng: &mut impl Rng) -> Vec<f64> {
        let [.., six] = HOUSEHOLDS.map(f64::from);
        let larger = f64::from(LARGER_HOUSEHOLDS);
        let ratio = larger / (six + larger);
        let tail = (1..).map(|steps| six * ratio.powi(steps));
        let all = f64::from(HOUSEHOLDS.iter().sum::<u32>() + LARGER_HOUSEHOLDS);

        let known = HOUSEHOLDS.len();
        let mut differences = variations(HOUSEHOLDS_DIFFER, known + 1, rng);
        let beyond = differences[known];
        differences.extend(repeat_n(beyond, self.max_size as usize));
        let [quarters] = variations(QUARTERS_DIFFER, 1, rng)[..] else { unreachable!() };
        let scale = QUARTERS * quarters * SMALLEST_QUARTERS as f64;
        let of_quarters = |size: u64| match size < SMALLEST_QUARTERS {
            true => 0.0,
            false => scale / (size as f64 * (size as f64 + 1.0)),
        };
        HOUSEHOLDS
            .into_iter()
            .map(f64::from)
            .chain(tail)
            .zip(differences)
            .zip(1..=self.max_size)
            .map(|((households, difference), size)| {
                households / all * difference + of_quarters(size)
            })
            .collect()
    }
}

/// Factors of mean 1 whose logarithms have this standard deviation.
fn variations(sigma: f64, count: usize, rng: &mut impl Rng) -> Vec<f64> {
    let law = LogNormal::new(-sigma * sigma / 2.0, sigma)
        .expect("the standard deviations above are finite");
    law.sample_iter(rng).take(count).collect()
}

/// A multinomial draw: everything goes to one of the weights, with a probability in proportion.
fn share_out(total: u64, weights: &[f64], rng: &mut impl Rng) -> Vec<u64> {
    let mut weight_left: f64 = weights.iter().sum();
    let mut left = total;
    let mut parts = Vec::with_capacity(weights.len());
    for (i, weight) in weights.iter().enumerate() {
        let part = if i + 1 == weights.len() {
            left
        } else {
            let probability = (weight / weight_left).clamp(0.0, 1.0);
            Binomial::new(left, probability).expect("a probability").sample(rng)
        };
        parts.push(part);
        left -= part;
        weight_left -= weight;
    }
    parts
}
