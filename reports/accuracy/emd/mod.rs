//! The comparison of Kuo et al. (2018), section 6: the earth mover's distance of a region's
//! released histogram from the true one, the mean over the regions of a level, for hierarchies of
//! three and of two levels.

pub mod figures;
mod methods;
pub mod report;

use crate::data::Data;
use crate::parallel;
use crate::releases::{DEFAULT, check, checked_release};
use crate::statistics::Mean;
use methods::{Compared, ESTIMATORS, How, compared};
use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Estimate, Estimator, HistogramMeasurement, emd};
use pg_dp::hierarchy::matched;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::error::Error;
use std::num::NonZeroUsize;

/// Of each level.
pub const EPSILONS: [f64; 5] = [0.05, 0.1, 0.5, 1.0, 2.0];
const SEED: u64 = 2018;

/// One data set, released with all its levels and without its leaves.
pub struct Hierarchies {
    /// Two levels, then three.
    pub by_depth: [Data; 2],
}

/// What is compared, and all errors.
pub struct Comparison<'a> {
    pub hierarchies: &'a [Hierarchies],
    pub epsilons: &'a [f64],
    pub runs: usize,
    /// Those for each depth.
    pub methods: [Vec<Compared>; 2],
    /// Of every run, data set and epsilon, in this order.
    cells: Vec<Cell>,
}

/// The mean errors of a level's regions, `[depth][method][level]`.
type Cell = [Vec<Vec<f64>>; 2];

/// A hierarchy at an epsilon, in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub data: usize,
    /// 0 for two levels, 1 for three.
    pub depth: usize,
    pub level: usize,
    pub epsilon: usize,
}

impl Hierarchies {
    pub fn new(all: Data) -> Result<Hierarchies, Box<dyn Error>> {
        Ok(Hierarchies { by_depth: [all.without_leaves()?, all] })
    }

    pub fn all(&self) -> &Data {
        &self.by_depth[1]
    }
}

impl<'a> Comparison<'a> {
    pub fn measure(
        hierarchies: &'a [Hierarchies],
        epsilons: &'a [f64],
        runs: usize,
    ) -> Result<Comparison<'a>, String> {
        let methods = [0, 1].map(|depth| {
            let levels = hierarchies.first().map_or(0, |h| h.by_depth[depth].tree.depth());
            compared(levels)
        });
        let cells = hierarchies.len() * epsilons.len();
        let cells = parallel::measure("group sizes", runs, cells, |run, cell| {
            let data = &hierarchies[cell / epsilons.len()];
            let epsilon = epsilons[cell % epsilons.len()];
            let streams = Streams { first: ((run * cells + cell) as u64) << 16 };
            measure_cell(data, &methods, epsilon, streams)
                .map_err(|error| format!("{}: {error}", data.all().title))
        })?;
        Ok(Comparison { hierarchies, epsilons, runs, methods, cells })
    }

    /// The errors of a method at a place, one per run.
    pub fn errors(&self, place: Place, method: usize) -> Vec<f64> {
        let per_run = self.hierarchies.len() * self.epsilons.len();
        let cell = place.data * self.epsilons.len() + place.epsilon;
        self.cells
            .iter()
            .skip(cell)
            .step_by(per_run)
            .map(|cell| cell[place.depth][method][place.level])
            .collect()
    }

    pub fn mean(&self, place: Place, method: usize) -> Mean {
        Mean::of(&self.errors(place, method))
    }

    /// All places of a data set and depth at one epsilon, from the root down.
    pub fn levels(&self, data: usize, depth: usize, epsilon: usize) -> impl Iterator<Item = Place> {
        let levels = self.hierarchies[data].by_depth[depth].tree.depth();
        (0..levels).map(move |level| Place { data, depth, level, epsilon })
    }

    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        (0..self.hierarchies.len()).flat_map(move |data| {
            (0..2).rev().flat_map(move |depth| {
                (0..self.epsilons.len()).flat_map(move |epsilon| self.levels(data, depth, epsilon))
            })
        })
    }

    /// What a release does that is told nothing but epsilon.
    pub fn default(&self, depth: usize) -> usize {
        let default = self.methods[depth].iter().position(Compared::is_default);
        default.expect("one is the default")
    }

    /// One of those that are compared, by its name.
    pub fn method(&self, depth: usize, name: &str) -> usize {
        let known = self.methods[depth].iter().position(|method| method.name == name);
        known.expect("it is compared")
    }

    /// The combinations of Kuo et al.
    pub fn published(&self, depth: usize) -> impl Iterator<Item = usize> + '_ {
        let methods = self.methods[depth].iter().enumerate();
        methods.filter(|(_, method)| method.is_published()).map(|(index, _)| index)
    }

    /// The combination of Kuo et al. with the least mean error at a place.
    pub fn best_published(&self, place: Place) -> usize {
        let mean = |method: &usize| self.mean(place, *method).mean;
        let best = self.published(place.depth).min_by(|a, b| mean(a).total_cmp(&mean(b)));
        best.expect("there are combinations")
    }

    /// The error of what is released by default over that of the best published combination.
    pub fn ratio(&self, place: Place) -> Mean {
        Mean::ratio(
            &self.errors(place, self.default(place.depth)),
            &self.errors(place, self.best_published(place)),
        )
    }

    /// Kuo et al., section 6.2: the expected error of who knows which sizes occur in each region,
    /// the mean over a level's regions.
    pub fn omniscient(&self, place: Place) -> f64 {
        let data = &self.hierarchies[place.data].by_depth[place.depth];
        let regions = &data.truth[data.tree.level(place.level)];
        let sizes: usize = regions.iter().map(|region| region.runs().len()).sum();
        2f64.sqrt() / self.epsilons[place.epsilon] * sizes as f64 / regions.len() as f64
    }
}

/// Random words for everything in a cell that draws some, so that one more method changes nothing
/// for the others.
struct Streams {
    first: u64,
}

impl Streams {
    fn get(&self, number: usize) -> ChaCha20Rng {
        let mut words = ChaCha20Rng::seed_from_u64(SEED);
        words.set_stream(self.first + number as u64);
        words
    }
}

fn measure_cell(
    hierarchies: &Hierarchies,
    methods: &[Vec<Compared>; 2],
    epsilon: f64,
    streams: Streams,
) -> Result<Cell, Box<dyn Error>> {
    let all = hierarchies.all();
    let mut measured: Vec<Vec<Estimate>> = Vec::new();
    for level in 0..all.tree.depth() {
        for estimator in ESTIMATORS {
            let mut words = streams.get(measured.len());
            let measurement = HistogramMeasurement::new(estimator, all.max_size, 1, epsilon)?;
            let estimate = |region: &Coco| {
                let of_region = measurement.of_groups(region.groups());
                Receipt::uncharged(of_region).estimate(region, &mut words)
            };
            let regions = all.truth[all.tree.level(level)].iter();
            measured.push(regions.map(estimate).collect());
        }
    }
    let mut cell = [vec![], vec![]];
    for (depth, data) in hierarchies.by_depth.iter().enumerate() {
        for (number, method) in methods[depth].iter().enumerate() {
            let mut words = streams.get(1000 * (depth + 1) + number);
            let released = released(data, method, epsilon, &measured, &mut words)?;
            cell[depth].push(errors(data, &released)?);
        }
    }
    Ok(cell)
}

/// `measured`: the estimates of every level's regions by each of [`ESTIMATORS`].
fn released(
    data: &Data,
    method: &Compared,
    epsilon: f64,
    measured: &[Vec<Estimate>],
    words: &mut ChaCha20Rng,
) -> Result<Vec<Coco>, Box<dyn Error>> {
    let levels = data.tree.depth();
    let of_all = epsilon * levels as f64;
    match &method.how {
        How::Default => checked_release(data, of_all, DEFAULT, None, words),
        How::Released(asked) => {
            let equal = vec![1.0 / levels as f64; levels];
            let shares = (asked.consistency != "bottom_up").then_some(&equal[..]);
            checked_release(data, of_all, *asked, shares, words)
        }
        How::Measured { estimators, merge } => {
            let of_level = |(level, estimator): (usize, &Estimator)| {
                let place = ESTIMATORS.iter().position(|measured| measured == estimator);
                measured[level * ESTIMATORS.len() + place.expect("what is combined is measured")]
                    .clone()
            };
            let estimates: Vec<Estimate> =
                estimators.iter().enumerate().flat_map(of_level).collect();
            let released = match merge {
                Some(merge) => matched(&data.tree, estimates, *merge, NonZeroUsize::MIN, &mut ()),
                None => estimates.iter().map(|e| e.released().histogram().clone()).collect(),
            };
            check(data, &released, merge.is_some(), true)
                .map_err(|broken| format!("{}: {broken}", method.name))?;
            Ok(released)
        }
    }
}

/// For each level the mean error of a region.
fn errors(data: &Data, released: &[Coco]) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut errors = Vec::new();
    for level in 0..data.tree.depth() {
        let regions = data.tree.level(level);
        let mut sum = 0.0;
        for region in regions.clone() {
            sum += emd(&released[region], &data.truth[region])? as f64;
        }
        errors.push(sum / regions.len() as f64);
    }
    Ok(errors)
}
