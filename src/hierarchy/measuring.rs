//! Measuring all regions of a tree, on several threads.

use super::consistency::{CutNoise, Evidence, NoisyCells};
use super::measurement::{LevelMeasurement, Measured, RegionMeasurement};
use super::observer::Observer;
use super::plan::ReleasePlan;
use super::threads::share;
use super::tree::Tree;
use crate::coco::{Coco, Estimate, Profile};
use crate::noise::{Key, RandomWords, ScaleError};
use crate::work::{poll, watched};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the plan's consistency method wants to know of every region. `truth`: in the tree's order.
///
/// A level that is adapted to the one above is measured after it: the levels compose sequentially,
/// and adaptively. All others are measured together with the one above, since one region can be
/// nearly all the work of a level, and keep a single thread busy.
///
/// Errors: a noise scale that cannot be sampled.
pub(super) fn measure<R: RandomWords + ?Sized>(
    plan: &ReleasePlan,
    tree: &Tree,
    truth: &[Coco],
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<Measured>, ScaleError> {
    let mut measured: Vec<Measured> = Vec::with_capacity(truth.len());
    let levels: Vec<(usize, &LevelMeasurement)> = (0..)
        .zip(plan.levels())
        .filter_map(|(level, measurement)| Some((level, measurement.as_ref()?)))
        .collect();
    for together in levels.chunk_by(|_, (level, _)| !follows(plan, *level)) {
        let first = together[0].0;
        // nothing is measured of the levels in between
        measured.resize(tree.level(first).start, Measured::Estimate(Estimate::default()));
        let above = if follows(plan, first) { tree.level(first - 1) } else { 0..0 };
        let profiles = profiles(plan, &measured[above.clone()]);
        let mut regions = Vec::new();
        for &(number, level) in together {
            match level {
                LevelMeasurement::Regions(measurement) => {
                    let own = tree.level(number).zip(tree.parents(number));
                    regions.extend(own.map(|(region, parent)| Unmeasured {
                        measurement,
                        truth: &truth[region],
                        parent: parent.and_then(|p| profiles.get(p.checked_sub(above.start)?)),
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
        measured.extend(measure_regions(&regions, words, threads, observer));
        for &(level, _) in together {
            observer.level_measured(level, tree.level(level).len());
        }
    }
    Ok(measured)
}

/// Whether the measurements of a level's regions follow from what is released of the level above.
fn follows(plan: &ReleasePlan, level: usize) -> bool {
    let measured = |level: usize| plan.levels()[level].as_ref();
    measured(level).is_some_and(LevelMeasurement::follows)
        && level.checked_sub(1).and_then(measured).is_some()
}

/// The profiles of regions for those below them, where these [follow](follows).
fn profiles(plan: &ReleasePlan, regions: &[Measured]) -> Vec<Profile> {
    let profile = |region: &Measured| match region {
        Measured::Estimate(estimate) => Some(Profile::new(estimate, plan.max_size())),
        Measured::Row(_) => None,
    };
    regions.iter().filter_map(profile).collect()
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
}

/// What is released of regions, in their order. At most so many threads share them, which does not
/// change what comes out: the noise of each has a key of its own, drawn from `words` in the
/// regions' order.
///
/// The observer's functions are called on this thread alone.
fn measure_regions<R: RandomWords + ?Sized>(
    regions: &[Unmeasured],
    words: &mut R,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Vec<Measured> {
    let keys: Vec<Key> = regions.iter().map(|_| Key::draw(words)).collect();
    let work: Vec<u64> = regions.iter().map(Unmeasured::work).collect();
    let done = AtomicUsize::new(0);
    let measure_region = |number: usize| {
        poll();
        let Unmeasured { measurement, truth, parent } = regions[number];
        let measured = measurement.release(truth, parent, &mut keys[number].words());
        done.fetch_add(1, Ordering::Relaxed);
        measured
    };
    let mut told = 0;
    let mut tell = || {
        while told < done.load(Ordering::Relaxed) {
            observer.region_measured();
            told += 1;
        }
    };
    let measured = watched(&mut tell, || share(&work, threads, measure_region));
    tell();
    measured
}

/// All that was measured, as the plan's consistency method takes it.
pub(super) fn evidence(
    plan: &ReleasePlan,
    tree: &Tree,
    measured: Vec<Measured>,
) -> Evidence<'static> {
    let (mut estimates, mut rows) = (Vec::new(), Vec::new());
    for region in measured {
        match region {
            Measured::Estimate(estimate) => estimates.push(estimate),
            Measured::Row(row) => rows.push(row),
        }
    }
    if plan.consistency().is_dense() {
        Evidence::Cells { cells: NoisyCells::measured(tree, rows), sizes: None }
    } else {
        Evidence::Estimates { estimates, cut_noise: cut_noise(plan) }
    }
}

/// Of each level's estimates, where the cut measures all of them.
fn cut_noise(plan: &ReleasePlan) -> Option<Vec<CutNoise>> {
    let noise = |(level, measurement): (usize, &Option<LevelMeasurement>)| {
        let measurement = measurement.as_ref().filter(|measurement| measurement.follows())?;
        let variance = measurement.of_regions()?.of_histogram().noise().variance();
        Some(CutNoise { variance, smoothed: level > 0, max_size: plan.max_size() })
    };
    plan.levels().iter().enumerate().map(noise).collect()
}
