//! Error bars of what was released.
//!
//! A release is taken as if it were the data, and its mechanism releases it again, a few times. By
//! how much these replicates are off from it says how far it is itself off from the data: a
//! parametric bootstrap. All of it is post-processing of what was released, by any method.
//!
//! At each size that was released the spread of a number is the root of the mean square deviation
//! of the replicates there and at the neighbouring sizes, bias included. The bars are as many
//! spreads wide as Student's or Laplace's distribution says. Nine sizes in a row are off nearly
//! alike and count as three in the degrees of freedom: so about nine bars of 0.9 in ten held, on
//! hierarchies of sparse and of dense data and on flights (docs/coverage.md has another, too).
//!
//! Bars that hold for all sizes of a region at once are as wide as the numbers of a replicate were
//! off at most, in spreads of the other replicates, in all but the asked part of the replicates and
//! of a level's regions with about as many sizes; and then a fifth wider. Released histograms are smoother than true ones, and
//! what is smooth is released with less error: on the same data a fifth mostly made up for that.

mod deviations;
mod statistic;
mod student;

pub use statistic::Statistic;

use super::observer::Observer;
use super::release::ReleaseError;
use super::selection::Mechanism;
use super::tree::Tree;
use crate::coco::{Coco, DpCoco};
use deviations::{Counted, Deviations, whole};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::array;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// How many releases of the release are made. The most that one of nine is off by holds for a tenth
/// with the probability of nine tenths.
pub const REPLICATES: usize = 9;

/// What bars that hold at once are wider by than those of the replicates.
const SMOOTHER: f64 = 1.2;

/// How sure the bars are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    level: f64,
    simultaneous: bool,
}

impl Confidence {
    /// Beyond these few replicates say nothing.
    pub const LEVELS: [f64; 2] = [0.5, 0.99];

    /// `level`: the probability that what is true lies within the bars. `simultaneous`: whether
    /// that is for all sizes of a region at once, not for each.
    ///
    /// None: a level outside of [`Confidence::LEVELS`].
    pub fn new(level: f64, simultaneous: bool) -> Option<Confidence> {
        let [least, most] = Confidence::LEVELS;
        (least..=most).contains(&level).then_some(Confidence { level, simultaneous })
    }
}

/// A released number and between which numbers the true one may be expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub value: f64,
    pub lower: f64,
    pub upper: f64,
}

/// The error bars of one region.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionIntervals {
    released: Coco,
    /// How many groups there can be: those that were released, unless their number is off, too.
    most_groups: f64,
    /// Groups, on either side, at each size that was released.
    of_size: Vec<u64>,
    up_to_size: Vec<u64>,
    /// In the order of [`Statistic::ALL`]; None without groups, whose number of entities is known.
    statistics: [Option<Interval>; Statistic::ALL.len()],
}

/// Of the groups of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeIntervals {
    pub size: u64,
    pub of_size: Interval,
    pub up_to_size: Interval,
}

impl RegionIntervals {
    /// At each size that was released, in ascending order.
    pub fn sizes(&self) -> impl Iterator<Item = SizeIntervals> + '_ {
        let all = self.most_groups;
        let interval = move |groups: u64, half: u64| around(groups as f64, half as f64, all);
        let mut up_to = 0;
        let halves = self.of_size.iter().zip(&self.up_to_size);
        self.released.runs().iter().zip(halves).map(move |(run, (of_size, up_to_size))| {
            up_to += run.groups;
            SizeIntervals {
                size: run.size,
                of_size: interval(run.groups, *of_size),
                up_to_size: interval(up_to, *up_to_size),
            }
        })
    }

    /// Those that the region has.
    pub fn statistics(&self) -> impl Iterator<Item = (Statistic, Interval)> + '_ {
        let pairs = Statistic::ALL.into_iter().zip(self.statistics);
        pairs.filter_map(|(statistic, interval)| Some((statistic, interval?)))
    }
}

/// No number is below 0 or above what it can be at most.
fn around(value: f64, half: f64, most: f64) -> Interval {
    Interval { value, lower: (value - half).max(0.0), upper: (value + half).min(most).max(value) }
}

/// The error bars of all regions, in the tree's order. The same arguments give the same bars: the
/// words for the noise are those of generators with fixed seeds.
///
/// `mechanism`: by which all was released, with the levels' epsilons that it took: see
/// [`Mechanism::with_levels`]. `released`: one histogram for each region of the tree, in its order.
/// `threads`: the most that measure regions at a time.
///
/// Errors: those of a release.
pub fn intervals(
    mechanism: &Mechanism,
    tree: &Tree,
    released: &[DpCoco],
    confidence: Confidence,
    threads: NonZeroUsize,
    observer: &mut dyn Observer,
) -> Result<Vec<RegionIntervals>, ReleaseError> {
    let released: Vec<Coco> = released.iter().map(|region| region.histogram().clone()).collect();
    let mut regions: Vec<Replicates> = released.iter().map(Replicates::new).collect();
    for round in 0..REPLICATES as u32 {
        let words = &mut ChaCha20Rng::seed_from_u64(round.into());
        let again = mechanism.release_sums(tree, &released, words, threads, &mut ())?;
        for ((region, released), again) in regions.iter_mut().zip(&released).zip(&again.histograms)
        {
            region.add(released, again.histogram());
        }
        observer.simulated(round + 1);
    }
    let mut bars = Vec::with_capacity(regions.len());
    let mut released = released.into_iter();
    for level in 0..tree.depth() {
        let of_level = &regions[tree.level(level)];
        let at_once = Counted::BOTH.map(|counted| at_once(of_level, counted, confidence));
        for (region, released) in of_level.iter().zip(&mut released) {
            let spreads = at_once.each_ref().map(|by_class| {
                let each = student::widest_quantile::<{ 3 * REPLICATES }>(confidence.level);
                // at once they are never narrower than each by itself
                by_class.get(&region.size_class).map_or(each, |all| all.max(each))
            });
            bars.push(region.bars(released, mechanism, confidence, spreads));
        }
    }
    Ok(bars)
}

/// Regions of a class have about as many sizes, of which the largest deviation is one.
fn size_class(released: &Coco) -> Option<u32> {
    released.runs().len().checked_ilog2()
}

/// How many spreads wide the bars of a level's regions have to be to hold at once, by the regions'
/// class; none where that is not asked.
fn at_once(
    regions: &[Replicates],
    counted: Counted,
    confidence: Confidence,
) -> BTreeMap<Option<u32>, f64> {
    let mut widest: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
    if confidence.simultaneous {
        for region in regions {
            let of_class = widest.entry(region.size_class).or_default();
            of_class.extend(region.deviations(counted).widest());
        }
    }
    let quantile = |widest| SMOOTHER * upper_quantile(widest, confidence.level);
    widest.into_iter().map(|(class, widest)| (class, quantile(widest))).collect()
}

/// What one more number like these is at most with this probability. One or more numbers.
fn upper_quantile(mut numbers: Vec<f64>, level: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    // one more is among the k least of n + 1 with the probability k / (n + 1)
    let ranks = numbers.len() as f64 + 1.0;
    let rank = (ranks * level - 1e-9).ceil() as usize;
    let largest = numbers.last().copied().unwrap_or(0.0);
    match numbers.get(rank.saturating_sub(1)) {
        Some(number) => *number,
        // too few for that
        None => {
            let levels = [level, 1.0 - 1.0 / ranks];
            let [asked, had] = levels.map(student::widest_quantile::<REPLICATES>);
            largest * asked / had
        }
    }
}

/// What the replicates of a region say of it.
struct Replicates {
    size_class: Option<u32>,
    of_size: Deviations,
    up_to_size: Deviations,
    /// The squares of what their statistics are off by, added up.
    squares: [f64; Statistic::ALL.len()],
}

impl Replicates {
    fn new(released: &Coco) -> Replicates {
        let [of_size, up_to_size] = Counted::BOTH.map(Deviations::new);
        let size_class = size_class(released);
        Replicates { size_class, of_size, up_to_size, squares: Default::default() }
    }

    fn deviations(&self, counted: Counted) -> &Deviations {
        match counted {
            Counted::OfSize => &self.of_size,
            Counted::UpToSize => &self.up_to_size,
        }
    }

    fn add(&mut self, released: &Coco, again: &Coco) {
        self.of_size.add(released, again);
        self.up_to_size.add(released, again);
        for (sum, statistic) in self.squares.iter_mut().zip(Statistic::ALL) {
            let [number, again] = [released, again].map(|h| statistic.of(h).unwrap_or(0.0));
            *sum += (again - number).powi(2);
        }
    }

    fn bars(
        &self,
        released: Coco,
        mechanism: &Mechanism,
        confidence: Confidence,
        spreads: [f64; 2],
    ) -> RegionIntervals {
        let most_groups =
            if mechanism.has_private_groups() { f64::INFINITY } else { released.groups() as f64 };
        let t = student::widest_quantile::<REPLICATES>(confidence.level);
        let statistics = array::from_fn(|number| {
            let statistic = Statistic::ALL[number];
            let half = t * (self.squares[number] / REPLICATES as f64).sqrt();
            let half = if statistic.is_whole() { whole(half) } else { half };
            let value = statistic.of(&released)?;
            Some(around(value, half, statistic.most(most_groups, mechanism.max_size())))
        });
        RegionIntervals {
            of_size: self.of_size.half_widths(spreads[0]),
            up_to_size: self.up_to_size.half_widths(spreads[1]),
            released,
            most_groups,
            statistics,
        }
    }
}

#[cfg(test)]
mod tests;
