//! How often bars hold what is true.

use super::KINDS;
use pg_dp::coco::Coco;
use pg_dp::hierarchy::{Interval, RegionIntervals, SizeIntervals, Statistic};
use std::collections::BTreeMap;

/// Bands of sizes begin at 0 and at these.
pub const BANDS: [u64; 3] = [10, 100, 1000];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    OfSize,
    UpToSize,
}

/// Bars of a kind.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    pub bars: u64,
    pub hold: u64,
    /// From end to end, added up.
    pub width: f64,
    /// How often the released number is off by so much.
    off: BTreeMap<u64, u64>,
    /// The share of bars that hold, of each release that was merged.
    shares: Vec<f64>,
}

impl Bars {
    fn add(&mut self, interval: Interval, truth: f64) {
        let slack = 1e-9 * truth.abs(); // of statistics that are sums in another order
        let holds = (interval.lower - slack..=interval.upper + slack).contains(&truth);
        self.bars += 1;
        self.hold += u64::from(holds);
        self.width += interval.upper - interval.lower;
        *self.off.entry((interval.value - truth).abs() as u64).or_default() += 1;
    }

    /// Those of one more release.
    fn merge(&mut self, other: &Bars) {
        self.shares.push(other.hold as f64 / other.bars.max(1) as f64);
        self.bars += other.bars;
        self.hold += other.hold;
        self.width += other.width;
        for (off, count) in &other.off {
            *self.off.entry(*off).or_default() += count;
        }
    }

    /// The standard error of the share that holds. The bars of one release are off together, so it is
    /// that between releases.
    pub fn standard_error(&self) -> f64 {
        let n = self.shares.len() as f64;
        let mean = self.shares.iter().sum::<f64>() / n;
        let squares: f64 = self.shares.iter().map(|share| (share - mean).powi(2)).sum();
        (squares / (n - 1.0) / n).sqrt()
    }

    /// The width of bars of one width that hold as often, found with the truth known.
    pub fn constant_width(&self) -> f64 {
        let mut held = 0;
        let half = self.off.iter().find(|(_, count)| {
            held += **count;
            held >= self.hold
        });
        half.map_or(0.0, |(half, _)| 2.0 * *half as f64)
    }
}

/// The bars of one level.
#[derive(Debug, Clone, Default)]
pub struct LevelTally {
    /// By kind and band; None for all together.
    pub sizes: BTreeMap<(Kind, Option<usize>), Bars>,
    /// By kind and number of a higher confidence.
    pub higher: BTreeMap<(Kind, usize), Bars>,
    pub statistics: BTreeMap<&'static str, Bars>,
    /// Regions, and in how many of them the bars of all sizes hold at once.
    pub regions: u64,
    pub at_once: BTreeMap<Kind, u64>,
}

impl LevelTally {
    pub fn merge(&mut self, other: LevelTally) {
        for (key, bars) in &other.sizes {
            self.sizes.entry(*key).or_default().merge(bars);
        }
        for (key, bars) in &other.higher {
            self.higher.entry(*key).or_default().merge(bars);
        }
        for (key, bars) in &other.statistics {
            self.statistics.entry(key).or_default().merge(bars);
        }
        self.regions += other.regions;
        for (key, held) in other.at_once {
            *self.at_once.entry(key).or_default() += held;
        }
    }

    pub fn sizes(&mut self, truth: &Coco, bars: impl Iterator<Item = SizeIntervals>) {
        for (kind, size, interval, truth) in of_kinds(truth, bars) {
            let band = BANDS.iter().filter(|begin| size >= **begin).count();
            for band in [Some(band), None] {
                self.sizes.entry((kind, band)).or_default().add(interval, truth);
            }
        }
    }

    /// `number`: that of the confidence.
    pub fn higher(
        &mut self,
        number: usize,
        truth: &Coco,
        bars: impl Iterator<Item = SizeIntervals>,
    ) {
        for (kind, _, interval, truth) in of_kinds(truth, bars) {
            self.higher.entry((kind, number)).or_default().add(interval, truth);
        }
    }

    pub fn statistics(&mut self, truth: &Coco, bars: impl Iterator<Item = (Statistic, Interval)>) {
        for (statistic, interval) in bars {
            if let Some(truth) = statistic.of(truth) {
                self.statistics.entry(statistic.name()).or_default().add(interval, truth);
            }
        }
    }

    pub fn at_once(&mut self, truth: &Coco, bars: &RegionIntervals) {
        self.regions += 1;
        for kind in KINDS {
            let mut of_kind = of_kinds(truth, bars.sizes()).filter(|(of, ..)| *of == kind);
            let hold = of_kind.all(|(_, _, bar, truth)| (bar.lower..=bar.upper).contains(&truth));
            *self.at_once.entry(kind).or_default() += u64::from(hold);
        }
    }
}

/// Each bar at a size, with the true number.
fn of_kinds<'a>(
    truth: &'a Coco,
    bars: impl Iterator<Item = SizeIntervals> + 'a,
) -> impl Iterator<Item = (Kind, u64, Interval, f64)> + 'a {
    with_truth(truth, bars).flat_map(|(bars, [of_size, up_to])| {
        [
            (Kind::OfSize, bars.size, bars.of_size, of_size as f64),
            (Kind::UpToSize, bars.size, bars.up_to_size, up_to as f64),
        ]
    })
}

/// The true numbers of groups of each size and of at most that size.
fn with_truth<'a>(
    truth: &'a Coco,
    bars: impl Iterator<Item = SizeIntervals> + 'a,
) -> impl Iterator<Item = (SizeIntervals, [u64; 2])> + 'a {
    let mut runs = truth.runs().iter().peekable();
    let mut up_to = 0;
    bars.map(move |bars| {
        let mut of_size = 0;
        while let Some(run) = runs.next_if(|run| run.size <= bars.size) {
            up_to += run.groups;
            of_size = if run.size == bars.size { run.groups } else { 0 };
        }
        (bars, [of_size, up_to])
    })
}
