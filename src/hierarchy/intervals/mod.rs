//! Error bars of what was released.
//!
//! Regions are made up whose groups are drawn from what was released, and the mechanism releases
//! them again, a few times. By how much these replicates are off from what they are of says how far
//! the release is itself off from the data: a bootstrap ([`resampling`]). All of it is post-processing
//! of what was released, by any method. The random words follow from the release: the same one has
//! the same bars, but another has replicates of its own. Nine that happen to be close to what they
//! are of make the bars of one release too narrow, not those of all.
//!
//! At each size that was released a bar holds as many of the replicates' deviations there and at the
//! neighbouring sizes as was asked for. They are whole numbers, often the same: of those that are
//! just as far off as the bar's end half count, as in mid-p values, as otherwise bars where nearly
//! all numbers are exact would nearly always hold. Where more than nine in ten are asked for, they are
//! taken to fall off as Laplace's distribution does. Bars of what sums a region up are as many spreads
//! (roots of the mean square deviation) wide as Student's or Laplace's distribution says; those of
//! quantiles hold all sizes, too, that bars of the numbers of groups leave room for.
//!
//! Bars that hold for all sizes of a region at once are as wide as the numbers of a replicate were
//! off at most, in spreads of the other replicates, in all but the asked part of the replicates and
//! of a level's regions with about as many sizes; and no narrower than each by itself. How often bars
//! hold is in docs/coverage.md.

mod deviations;
mod resampling;
mod statistic;
mod student;

pub use statistic::Statistic;

use super::observer::Observer;
use super::release::ReleaseError;
use super::selection::Mechanism;
use super::tree::Tree;
use crate::coco::{Coco, DpCoco};
use crate::work::Paced;
use deviations::{Counted, Deviations};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use resampling::Resampling;
use std::array;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// How many replicates are made at least: the most that one of nine is off by holds for a tenth with
/// the probability of nine tenths.
const REPLICATES: usize = 9;

/// As many where no more than [`FEW_SIZES`] were released of all regions: there they take no time, and
/// there are few sizes to tell of each other.
const REPLICATES_OF_FEW: usize = 35;

const FEW_SIZES: usize = 1000;

/// How many replicates [`Replicated::new`] makes.
pub fn replicates(released: &[DpCoco]) -> usize {
    let sizes: usize = released.iter().map(|region| region.histogram().runs().len()).sum();
    if sizes > FEW_SIZES { REPLICATES } else { REPLICATES_OF_FEW }
}

/// How sure the bars are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    level: f64,
    simultaneous: bool,
}

impl Confidence {
    /// Beyond these, replicates say nothing.
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
    /// How many groups there can be.
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
        let interval = move |groups: u64, half: u64| {
            let [groups, half] = [groups, half].map(|number| number as f64);
            Interval::within(groups, [groups - half, groups + half], all)
        };
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

impl Interval {
    /// No number is below 0 or above what it can be at most, and what was released is in the bar.
    fn within(value: f64, [lower, upper]: [f64; 2], most: f64) -> Interval {
        // what is rounded up to 0 may be -0, which PostgreSQL would print
        let lower = lower.min(value).max(0.0) + 0.0;
        Interval { value, lower, upper: upper.min(most).max(value) + 0.0 }
    }
}

/// What was released again, a few times: of which the error bars of any confidence follow.
#[derive(Clone)]
pub struct Replicated<'a> {
    tree: &'a Tree,
    /// In the tree's order, as `regions`.
    released: Vec<Coco>,
    regions: Vec<Replicates>,
    max_size: u64,
    groups: KnownGroups,
}

/// What is public of how many groups a region has at most.
#[derive(Debug, Clone, Copy)]
enum KnownGroups {
    None,
    /// A method that does not keep the regions' numbers keeps the root's.
    OfAll(u64),
    OfEach,
}

impl KnownGroups {
    fn most(self, region: &Coco) -> f64 {
        match self {
            KnownGroups::None => f64::INFINITY,
            KnownGroups::OfAll(all) => all as f64,
            KnownGroups::OfEach => region.groups() as f64,
        }
    }
}

impl<'a> Replicated<'a> {
    /// The same arguments give the same replicates: the words for the noise follow from what was
    /// released.
    ///
    /// `mechanism`: by which all was released, with the levels' epsilons that it took: see
    /// [`Mechanism::with_levels`]. `released`: one histogram for each region of the tree, in its order.
    /// `threads`: the most that measure regions at a time.
    ///
    /// Errors: those of a release.
    pub fn new(
        mechanism: &Mechanism,
        tree: &'a Tree,
        released: &[DpCoco],
        threads: NonZeroUsize,
        observer: &mut dyn Observer,
    ) -> Result<Replicated<'a>, ReleaseError> {
        let replicates = replicates(released);
        let released: Vec<Coco> =
            released.iter().map(|region| region.histogram().clone()).collect();
        let mut regions: Vec<Replicates> = released.iter().map(Replicates::new).collect();
        let resampling = Resampling::new(tree, &released);
        let mut words = ChaCha20Rng::seed_from_u64(seed(&released));
        let mut keeps_groups = true;
        for round in 0..replicates as u32 {
            words.set_stream(round.into());
            words.set_word_pos(0);
            let words = &mut words;
            let drawn = resampling.draw(words);
            let again = mechanism.release_sums(tree, &drawn, words, threads, &mut ())?;
            let pairs = drawn.iter().zip(&again.histograms);
            for ((region, released), (drawn, again)) in regions.iter_mut().zip(&released).zip(pairs)
            {
                region.add(released, drawn, again.histogram());
                keeps_groups &= drawn.groups() == again.histogram().groups();
            }
            observer.simulated(round + 1);
        }
        let groups = match () {
            () if mechanism.has_private_groups() => KnownGroups::None,
            () if keeps_groups => KnownGroups::OfEach,
            () => KnownGroups::OfAll(released.first().map_or(0, Coco::groups)),
        };
        Ok(Replicated { tree, released, regions, max_size: mechanism.max_size(), groups })
    }

    /// The error bars of all regions, in the tree's order.
    pub fn bars(self, confidence: Confidence) -> Vec<RegionIntervals> {
        let mut bars = Vec::with_capacity(self.regions.len());
        let mut released = self.released.into_iter();
        for level in 0..self.tree.depth() {
            let of_level = &self.regions[self.tree.level(level)];
            let at_once = Counted::BOTH.map(|counted| at_once(of_level, counted, confidence));
            for (region, released) in of_level.iter().zip(&mut released) {
                let spreads =
                    |counted: Counted| at_once[counted as usize].get(&region.size_class).copied();
                let limits = Limits { groups: self.groups.most(&released), size: self.max_size };
                bars.push(region.bars(released, limits, confidence, spreads));
            }
        }
        bars
    }
}

/// Of another release, another one.
fn seed(released: &[Coco]) -> u64 {
    let runs = released.iter().flat_map(Coco::runs).paced();
    let numbers = runs.flat_map(|run| [run.size, run.groups]);
    numbers.fold(0, |seed, number| (seed ^ number).wrapping_mul(ODD).rotate_left(29))
}

/// 2^64 over the golden ratio: a product's upper bits depend on all of a factor's.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

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
    let quantile = |widest| upper_quantile(widest, confidence.level);
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
            let [asked, had] =
                levels.map(|level| student::widest_quantile(numbers.len() | 1, level));
            largest * asked / had
        }
    }
}

/// What a region's groups, and a group's size, are at most.
#[derive(Debug, Clone, Copy)]
struct Limits {
    groups: f64,
    size: u64,
}

/// What the replicates of a region say of it.
#[derive(Clone)]
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

    /// `drawn`: of which this is a release.
    fn add(&mut self, released: &Coco, drawn: &Coco, again: &Coco) {
        self.of_size.add(released, drawn, again);
        self.up_to_size.add(released, drawn, again);
        for (sum, statistic) in self.squares.iter_mut().zip(Statistic::ALL) {
            let [place, again] = [drawn, again].map(|h| statistic.place(h).unwrap_or(0.0));
            *sum += (again - place).powi(2);
        }
    }

    /// `spreads`: how wide the bars of a kind are at least, if they are to hold at once.
    fn bars(
        &self,
        released: Coco,
        limits: Limits,
        confidence: Confidence,
        spreads: impl Fn(Counted) -> Option<f64>,
    ) -> RegionIntervals {
        let [of_size, up_to_size] =
            Counted::BOTH.map(|counted| self.deviations(counted).half_widths(confidence.level));
        let replicates = self.of_size.replicates();
        let t = student::widest_quantile(replicates, confidence.level);
        let statistics = array::from_fn(|number| {
            let statistic = Statistic::ALL[number];
            let half = t * (self.squares[number] / replicates as f64).sqrt();
            let ends = statistic.ends(&released, half, &up_to_size)?;
            let most = statistic.most(limits.groups, limits.size);
            Some(Interval::within(statistic.of(&released)?, ends, most))
        });
        let at_once = |counted, each: Vec<u64>| -> Vec<u64> {
            let Some(spreads) = spreads(counted) else { return each };
            let at_once = self.deviations(counted).half_widths_of(spreads);
            each.into_iter().zip(at_once).map(|(each, at_once)| each.max(at_once)).collect()
        };
        let of_size = at_once(Counted::OfSize, of_size);
        let mut up_to_size = at_once(Counted::UpToSize, up_to_size);
        let largest = released.runs().last().is_some_and(|run| run.size == limits.size);
        if largest && limits.groups == released.groups() as f64 {
            // all groups, of which the number is public
            up_to_size.last_mut().into_iter().for_each(|half| *half = 0);
        }
        RegionIntervals { of_size, up_to_size, released, most_groups: limits.groups, statistics }
    }
}

#[cfg(test)]
mod tests;
