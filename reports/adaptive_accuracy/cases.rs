//! What is released, and how far off the answers are.

use crate::dawa;
use crate::histograms::Histogram;
use crate::{DELTA, EPSILON, SEED};
use pg_dp::charge::Receipt;
use pg_dp::ranges::{RangePlanError, ReleaseChoice, ReleasePlan, ReleaseRequest};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::ops::Range;

/// Epsilon times rows.
pub const SIGNALS: [f64; 5] = [1e2, 1e3, 1e4, 1e5, 1e6];

/// The ranges that are asked, other than prefixes.
const RANGES: usize = 1000;
/// Of those, the ones whose intervals are looked at.
const INTERVALS: usize = 10;

/// The factor of a standard deviation in an interval of 90 %.
const OF_90_PERCENT: f64 = 1.6449;

/// A budget and what is asked of it.
pub struct Case {
    pub prefixes: bool,
    pub delta: f64,
    /// How many bins of the histogram are one.
    pub joined: usize,
}

/// Sums over all answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// Squares.
    pub adaptive: f64,
    pub unbiased: f64,
    /// Of buckets, with their own answers and with adaptive ones.
    pub aware: f64,
    pub aware_adaptive: f64,
    /// 0 where there is a delta.
    pub dawa: f64,
    /// Also of buckets, and of `unbiased` what the same releases had; 0 where there is a delta.
    pub structure_first: f64,
    pub unbiased_beside: f64,
    /// Intervals that hold the truth, adaptive ones and those of buckets, and all of each.
    pub inside: u32,
    pub aware_inside: u32,
    pub aware_adaptive_inside: u32,
    pub intervals: u32,
    pub structure_first_inside: u32,
    pub structure_first_intervals: u32,
}

impl Errors {
    pub fn add(&mut self, other: Errors) {
        self.adaptive += other.adaptive;
        self.unbiased += other.unbiased;
        self.aware += other.aware;
        self.aware_adaptive += other.aware_adaptive;
        self.dawa += other.dawa;
        self.structure_first += other.structure_first;
        self.unbiased_beside += other.unbiased_beside;
        self.inside += other.inside;
        self.aware_inside += other.aware_inside;
        self.aware_adaptive_inside += other.aware_adaptive_inside;
        self.intervals += other.intervals;
        self.structure_first_inside += other.structure_first_inside;
        self.structure_first_intervals += other.structure_first_intervals;
    }
}

pub fn cases() -> Vec<Case> {
    let of = |delta| [true, false].map(|prefixes| Case { prefixes, delta, joined: 1 });
    let coarser = [4, 16].map(|joined| Case { prefixes: false, delta: 0.0, joined });
    [0.0, DELTA].into_iter().flat_map(of).chain(coarser).collect()
}

impl Case {
    pub fn method(&self) -> &'static str {
        if self.prefixes { "auto:prefix" } else { "auto" }
    }

    pub fn aware(&self) -> &'static str {
        if self.prefixes { "aware:prefix" } else { "aware" }
    }

    pub fn structure_first(&self) -> &'static str {
        if self.prefixes { "structure_first:prefix" } else { "structure_first" }
    }

    fn plan(&self, bins: usize, method: &str) -> Result<ReleasePlan, RangePlanError> {
        ReleasePlan::new(ReleaseRequest {
            bins: bins as i64,
            widths: None,
            epsilon: EPSILON,
            delta: self.delta,
            rows_per_unit: 1,
            negative: false,
            choice: ReleaseChoice::parse(method)?,
        })
    }

    /// `place`: which release it is, that its random words may be its own. `with_structure_first`: it
    /// takes more time than all others together.
    pub fn release(
        &self,
        histogram: &Histogram,
        signal: f64,
        place: u64,
        with_structure_first: bool,
    ) -> Result<Errors, String> {
        let mut random = ChaCha20Rng::seed_from_u64(SEED);
        random.set_stream(place);
        let counts = histogram.sample((signal / EPSILON) as u64, &mut random)?;
        let counts: Vec<u64> = counts.chunks(self.joined).map(|bins| bins.iter().sum()).collect();
        let bins = counts.len();
        let released = |method: &str, random: &mut ChaCha20Rng| {
            let plan = self.plan(bins, method).map_err(|e| e.to_string())?;
            Ok::<_, String>(Receipt::uncharged(plan).release(&counts, random))
        };
        let release = released(self.method(), &mut random)?;
        let of_buckets = released(self.aware(), &mut random)?;
        let widths = vec![1.0; bins];
        let adaptive = release.adaptive(&widths).ok_or("no estimate")?;
        let aware = of_buckets.adaptive(&widths).ok_or("no estimate")?;
        let dawa = if self.delta == 0.0 {
            Some(dawa::prefix_sums(&counts, EPSILON, self.method(), &mut random)?)
        } else {
            None
        };
        let exact: Vec<f64> = std::iter::once(0)
            .chain(counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            }))
            .map(|sum| sum as f64)
            .collect();

        let ranges = self.ranges(bins, &mut random);
        let structure_first = match self.delta {
            0.0 if with_structure_first => Some(released(self.structure_first(), &mut random)?),
            _ => None,
        };
        let mut errors = Errors::default();
        for range in &ranges {
            let truth = exact[range.end] - exact[range.start];
            let square = |sum: f64| (sum - truth).powi(2);
            errors.adaptive += square(adaptive.sum(range.clone()));
            errors.unbiased += square(release.sum(range.clone()));
            errors.aware += square(of_buckets.sum(range.clone()));
            errors.aware_adaptive += square(aware.sum(range.clone()));
            if let Some(structure_first) = &structure_first {
                errors.structure_first += square(structure_first.sum(range.clone()));
                errors.unbiased_beside += square(release.sum(range.clone()));
            }
            errors.dawa += dawa.as_ref().map_or(0.0, |d| square(d[range.end] - d[range.start]));
        }
        for range in ranges.iter().skip(ranges.len() / 20).step_by(ranges.len() / INTERVALS) {
            let truth = exact[range.end] - exact[range.start];
            let holds = |sum: f64, variance: f64| {
                u32::from((sum - truth).abs() <= OF_90_PERCENT * variance.sqrt())
            };
            let of = |range: &Range<usize>| range.clone();
            errors.inside += holds(adaptive.sum(of(range)), adaptive.variance(of(range)));
            let variance = of_buckets.variance(of(range)).ok_or("no variance")?;
            errors.aware_inside += holds(of_buckets.sum(of(range)), variance);
            errors.aware_adaptive_inside += holds(aware.sum(of(range)), aware.variance(of(range)));
            if let Some(release) = &structure_first {
                let variance = release.variance(of(range)).ok_or("no variance")?;
                errors.structure_first_inside += holds(release.sum(of(range)), variance);
                errors.structure_first_intervals += 1;
            }
            errors.intervals += 1;
        }
        Ok(errors)
    }

    fn ranges(&self, bins: usize, random: &mut ChaCha20Rng) -> Vec<Range<usize>> {
        if self.prefixes {
            return (1..=bins).map(|end| 0..end).collect();
        }
        let random_range = |_| {
            let (a, b) = (random.random_range(0..=bins), random.random_range(0..=bins));
            a.min(b)..a.max(b)
        };
        (0..RANGES).map(random_range).collect()
    }
}
