//! Measuring all regions of a tree, on several threads.

use super::consistency::{CutNoise, Evidence, NoisyCells};
use super::measurement::{LevelMeasurement, Measured, RegionMeasurement};
use super::observer::Observer;
use super::plan::ReleasePlan;
use super::pooling::{Above, Pooling};
use super::tree::Tree;
use crate::coco::{Coco, Estimate, MeasuredNumbers, Profile, tells};
use crate::noise::{Key, RandomWords, ScaleError};
use crate::work::{poll, share_and_tell};
use std::iter::repeat_n;
use std::num::NonZeroUsize;

/// What was measured of all regions.
pub(super) struct MeasuredRegions {
    /// In the tree's order; as of no groups where a level was not measured.
    regions: Vec<Measured>,
    /// What that was, level by level.
    levels: Vec<Option<LevelMeasurement>>,
    /// The noisy numbers, if the plan keeps them.
    kept: Vec<KeptNumbers>,
}

/// Numbers of one region as they were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptNumbers {
    /// In the tree's order.
    pub region: usize,
    /// Whether a first look measured them, not the region's level.
    pub first_look: bool,
    /// Of the discrete Laplace noise: n has a probability in proportion to e^(-|n| / scale).
    pub scale: f64,
    pub numbers: MeasuredNumbers,
}

impl MeasuredRegions {
    /// What each level's measurement was calibrated to.
    pub(super) fn epsilons(&self) -> Vec<Option<f64>> {
        self.levels.iter().map(|level| level.as_ref().map(LevelMeasurement::epsilon)).collect()
    }

    /// The noisy numbers, if the plan keeps them.
    pub(super) fn take_kept(&mut self) -> Vec<KeptNumbers> {
        std::mem::take(&mut self.kept)
    }
}

/// What the plan's consistency method wants to know of every region. `truth`: in the tree's order.
///
/// A level that is adapted to one above, or to a first look, is measured after it: they compose
/// sequentially, and adaptively. All others are measured together with the one above, since one region
/// can be nearly all the work of a level, and keep a single thread busy.
///
/// Errors: a noise scale that cannot be sampled.
pub(super) fn measure<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: &[Coco],
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<MeasuredRegions, ScaleError> {
    let mut above = RegionsAbove::default();
    let mut kept = Vec::new();
    let levels = match plan.first_look() {
        Some(look) => {
            let (root, numbers) = look.release(&truth[0], words);
            if plan.keeps_measurements() {
                let scale = look.measurement().noise().scale().as_f64();
                let of_root = |numbers| KeptNumbers { region: 0, first_look: true, scale, numbers };
                kept.extend(numbers.into_iter().map(of_root));
            }
            above.look =
                Some(Profile::new(&root, plan.max_size(), look.measurement().noise().variance()));
            let levels = plan.levels_after(look, &root, tree, |region| truth[region].groups())?;
            let chosen = || (0..levels.len()).filter(|level| levels[*level].is_some());
            let regions = chosen().map(|level| tree.level(level).len()).sum();
            observer.levels_chosen(chosen().next().unwrap_or(0), regions);
            levels
        }
        None => plan.levels().to_vec(),
    };
    let mut measured: Vec<Measured> = Vec::with_capacity(truth.len());
    let of_levels: Vec<(usize, &LevelMeasurement)> = (0..)
        .zip(&levels)
        .filter_map(|(level, of_level)| Some((level, of_level.as_ref()?)))
        .collect();
    for together in of_levels.chunk_by(|_, (_, measurement)| !measurement.follows()) {
        let (first, measurement) = together[0];
        // nothing is measured of the levels in between
        measured.resize(tree.level(first).start, Measured::Estimate(Estimate::default()));
        let follows = measurement.follows();
        if follows {
            above.reach(first, tree, &measured, plan.max_size());
        }
        let mut regions = Vec::new();
        for &(number, level) in together {
            match level {
                LevelMeasurement::Regions(measurement) => {
                    let own = (0..).zip(tree.level(number));
                    regions.extend(own.map(|(place, region)| Unmeasured {
                        measurement,
                        truth: &truth[region],
                        parent: above.profile(place).filter(|_| level.follows()),
                    }));
                }
                LevelMeasurement::Chain(chain) => {
                    let rows = chain.release(&truth[tree.level(number)], words)?;
                    measured.extend(rows.into_iter().map(|row| {
                        observer.region_measured();
                        Measured::Row(row)
                    }));
                }
            }
        }
        // not with a level beside it that follows nothing
        let pools = follows && together.len() == 1 && regions.len() <= MOST_AT_ONCE;
        let pooling = measurement.of_regions().filter(|_| pools).and_then(|of_level| {
            let groups = regions.iter().map(|region| region.truth.groups()).collect();
            let (above, max_size) = (above.of_regions(), plan.max_size());
            Pooling { measurement: of_level, groups, above, max_size }.worthwhile()
        });
        let keeps = plan.keeps_measurements();
        for regions in regions.chunks(MOST_AT_ONCE) {
            let keep = keeps || pooling.is_some();
            let mut of_regions = measure_regions(regions, keep, words, threads, observer);
            if let Some(pooling) = &pooling {
                pooling.infer_again(&mut of_regions, threads);
            }
            for (unmeasured, (region, numbers)) in regions.iter().zip(of_regions) {
                let (region_number, scale) = (measured.len(), unmeasured.scale());
                kept.extend(numbers.into_iter().filter(|_| keeps).map(|numbers| KeptNumbers {
                    region: region_number,
                    first_look: false,
                    scale,
                    numbers,
                }));
                measured.push(region);
            }
        }
        for &(level, measurement) in together {
            let variance =
                measurement.of_regions().map_or(0.0, |r| r.of_histogram().noise().variance());
            above.measured = Some((level, variance));
            observer.level_measured(level, tree.level(level).len());
        }
    }
    Ok(MeasuredRegions { regions: measured, levels, kept })
}

/// So many regions at a time, or what they come to would be held twice, and a key for each of them.
const MOST_AT_ONCE: usize = 1 << 17;

/// What is released of the regions above those that are to be measured.
#[derive(Default)]
struct RegionsAbove {
    /// The root by a first look, which stands for a level where none is measured.
    look: Option<Profile>,
    /// The lowest level that is measured, and the variance of its noise.
    measured: Option<(usize, f64)>,
    /// Of its regions.
    profiles: Vec<Profile>,
    /// Which of them holds each region that is to be measured.
    places: Vec<usize>,
}

impl RegionsAbove {
    /// The regions of a level are next. `regions`: what was measured above it.
    fn reach(&mut self, level: usize, tree: &Tree, regions: &[Measured], max_size: u64) {
        let Some((measured, variance)) = self.measured else {
            self.profiles = self.look.iter().cloned().collect();
            self.places = vec![0; tree.level(level).len()];
            return;
        };
        let profile = |region: &Measured| match region {
            Measured::Estimate(estimate) => Some(Profile::new(estimate, max_size, variance)),
            Measured::Row(_) => None,
        };
        self.profiles = regions[tree.level(measured)].iter().filter_map(profile).collect();
        self.places = (0..tree.level(measured).len()).collect();
        for level in measured..level {
            let children = tree.level(level).map(|region| tree.regions()[region].children.len());
            let places = self.places.iter().zip(children);
            self.places = places.flat_map(|(place, count)| repeat_n(*place, count)).collect();
        }
    }

    /// Those that the regions of the level lie in.
    fn of_regions(&self) -> Above<'_> {
        Above { places: &self.places, profiles: &self.profiles }
    }

    /// Of the region that one of the level lies in, by its place in it.
    fn profile(&self, place: usize) -> Option<&Profile> {
        self.profiles.get(*self.places.get(place)?)
    }
}

/// A region that is to be measured.
struct Unmeasured<'a> {
    measurement: &'a RegionMeasurement,
    truth: &'a Coco,
    /// The profile of the region that it lies in, where its cut follows from that.
    parent: Option<&'a Profile>,
}

impl Unmeasured<'_> {
    fn work(&self) -> u64 {
        self.measurement.work(self.truth.groups(), self.parent.is_some())
    }

    /// Of its noise.
    fn scale(&self) -> f64 {
        self.measurement.of_histogram().noise().scale().as_f64()
    }
}

/// What is released of regions, in their order, with the noisy numbers if they are to be kept. At
/// most so many threads share them, which does not change what comes out: the noise of each has a key
/// of its own, drawn from `words` in the regions' order.
///
/// The observer's functions are called on this thread alone.
fn measure_regions<R: RandomWords + ?Sized>(
    regions: &[Unmeasured],
    keep: bool,
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Vec<(Measured, Vec<MeasuredNumbers>)> {
    let keys: Vec<Key> = regions.iter().map(|_| Key::draw(words)).collect();
    let work: Vec<u64> = regions.iter().map(Unmeasured::work).collect();
    let measure_region = |number: usize| {
        poll();
        let Unmeasured { measurement, truth, parent } = regions[number];
        let words = &mut keys[number].words();
        match keep {
            true => measurement.release_with_numbers(truth, parent, words),
            false => (measurement.release(truth, parent, words), vec![]),
        }
    };
    share_and_tell(&work, threads, measure_region, || observer.region_measured())
}

/// All that was measured, as the plan's consistency method takes it.
pub(super) fn evidence(
    plan: &ReleasePlan,
    tree: &Tree,
    measured: MeasuredRegions,
) -> Evidence<'static> {
    let cut_noise = cut_noise(plan, tree, &measured.levels);
    let (mut estimates, mut rows) = (Vec::new(), Vec::new());
    for region in measured.regions {
        match region {
            Measured::Estimate(estimate) => estimates.push(estimate),
            Measured::Row(row) => rows.push(row),
        }
    }
    if plan.consistency().is_dense() {
        Evidence::Cells { cells: NoisyCells::measured(tree, rows), sizes: None }
    } else {
        Evidence::Estimates { estimates, cut_noise }
    }
}

/// Of the estimates of each level that is measured, where the cut measures all of these. (What a first look tells
/// the first of them, and regions each other, is left out: it is not known how alike they are.)
fn cut_noise(
    plan: &ReleasePlan,
    tree: &Tree,
    levels: &[Option<LevelMeasurement>],
) -> Option<Vec<Option<CutNoise>>> {
    if levels.iter().flatten().any(|level| !level.follows()) {
        return None;
    }
    let mut above: Option<(f64, f64)> = None;
    let noise = |(level, measurement): (usize, &Option<LevelMeasurement>)| {
        let variance = measurement.as_ref()?.of_regions()?.of_histogram().noise().variance();
        let regions = tree.level(level).len() as f64;
        let smoothed = above.is_some_and(|(other, count)| tells(count / regions, other, variance));
        above = Some((variance, regions));
        Some(CutNoise { variance, smoothed, max_size: plan.max_size() })
    };
    Some(levels.iter().enumerate().map(noise).collect())
}
