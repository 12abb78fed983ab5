//! One histogram by itself, against published mechanisms that release just that.

mod partitions;
mod published;
mod regions;
pub mod report;

use crate::parallel;
use crate::statistics::Mean;
use partitions::Exponential;
use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, emd};
use pg_dp::hierarchy::HistogramMechanism;
use pg_dp::noise::ScaleError;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
pub use regions::{Region, all, ends};
use std::error::Error;

pub const EPSILONS: [f64; 4] = [0.1, 0.3, 1.0, 2.0];
const SEED: u64 = 2016;

/// A method that adds noise: of the truth, `max_size` and epsilon.
type Release = fn(&Coco, u64, f64, &mut ChaCha20Rng) -> Result<Coco, ScaleError>;

const PUBLISHED: [(&str, Release); 3] = [
    ("Hay et al.", published::hay),
    ("PrivHist", published::privhist),
    ("cyclic Laplace", published::cyclic),
];

/// All that is measured of one region at one epsilon: emds.
pub struct Place {
    pub region: usize,
    pub epsilon: f64,
    /// Of the default, one per run.
    auto: Vec<f64>,
    /// Of each of [`PUBLISHED`], one per run.
    published: Vec<Vec<f64>>,
    /// What the exponential mechanism is expected to have, with half of epsilon in the exponent.
    exponential: f64,
    /// What it had, one per run.
    drawn: Vec<f64>,
    /// What is expected with the largest exponent that its loss of privacy allows.
    largest: f64,
}

pub struct Comparison {
    pub regions: Vec<Region>,
    pub runs: usize,
    /// All epsilons of the first region, then those of the next.
    pub places: Vec<Place>,
}

impl Comparison {
    pub fn measure(
        regions: Vec<Region>,
        epsilons: &[f64],
        runs: usize,
    ) -> Result<Comparison, String> {
        let (data, cells) = (regions.len(), epsilons.len());
        let places = parallel::measure("single histograms", data, cells, |region, number| {
            let (epsilon, stream) = (epsilons[number], ((region * cells + number) as u64) << 32);
            Place::measure(&regions[region], region, epsilon, runs, stream)
                .map_err(|error| format!("{}, ε = {epsilon}: {error}", regions[region].title))
        })?;
        Ok(Comparison { regions, runs, places })
    }

    /// All epsilons of a region.
    fn of_region(&self, region: usize) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.region == region)
    }

    fn epsilons(&self) -> impl Iterator<Item = f64> {
        self.of_region(0).map(|place| place.epsilon)
    }
}

impl Place {
    /// `stream`: the first of those that are this place's own.
    fn measure(
        of: &Region,
        region: usize,
        epsilon: f64,
        runs: usize,
        stream: u64,
    ) -> Result<Place, Box<dyn Error>> {
        let Region { truth, max_size, .. } = of;
        // so that one more method changes nothing for the others
        let words = |method: usize, run: usize| {
            let mut words = ChaCha20Rng::seed_from_u64(SEED);
            words.set_stream(stream + ((method as u64) << 16) + run as u64);
            words
        };
        let auto = (0..runs).map(|run| -> Result<f64, Box<dyn Error>> {
            let mechanism = HistogramMechanism::new(epsilon, "auto", *max_size as i64)?;
            let receipt = Receipt::uncharged(mechanism);
            let released = receipt.release(truth, &mut words(0, run), &mut ());
            Ok(emd(released.histogram(), truth)? as f64)
        });
        let exponential = Exponential::new(truth, *max_size, epsilon / 2.0);
        let drawn = (0..runs).map(|run| exponential.draw_distance(&mut words(1, run)) as f64);
        let published = (2..).zip(PUBLISHED).map(|(method, (_, release))| {
            let errors = (0..runs).map(|run| -> Result<f64, Box<dyn Error>> {
                let released = release(truth, *max_size, epsilon, &mut words(method, run))?;
                Ok(emd(&released, truth)? as f64)
            });
            errors.collect::<Result<Vec<f64>, _>>()
        });
        Ok(Place {
            region,
            epsilon,
            auto: auto.collect::<Result<_, _>>()?,
            published: published.collect::<Result<_, _>>()?,
            drawn: drawn.collect(),
            exponential: exponential.expected(),
            largest: Exponential::new(truth, *max_size, partitions::rate(epsilon)).expected(),
        })
    }

    /// The error of the default over an expected one.
    fn over_expected(&self, expected: f64) -> Mean {
        let auto = Mean::of(&self.auto);
        Mean { mean: auto.mean / expected, error: auto.error / expected }
    }

    pub fn over_exponential(&self) -> Mean {
        self.over_expected(self.exponential)
    }

    fn over_largest(&self) -> Mean {
        self.over_expected(self.largest)
    }
}
