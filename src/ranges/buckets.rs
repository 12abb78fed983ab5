//! Runs of bins that are released as one, and how their sums are spread over their bins.

use crate::work::{Paced, done};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// More than there are powers of 4 among the bins: whoever forges a release would have every answer
/// take longer.
const MOST_LENGTHS: usize = 16;

/// What two nodes of a length take to be found, in units of [`done`].
const UNITS_PER_LENGTH: u64 = 4;

/// The length of [`Uneven`] nodes that are whole buckets, as long as each is.
pub(super) const WHOLE: u32 = 0;

/// What a place between bins takes to be found and answered up to, in units of [`done`].
const UNITS_PER_PLACE: u64 = 8;

/// No release has such values, which could add up to no number.
pub(super) const BEYOND_RELEASES: f64 = 1e300;

/// Buckets side by side, each with one bin or more; within one the rows are taken to be spread evenly.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Buckets {
    /// where the buckets begin, and the number of bins
    ends: Vec<usize>,
    /// how wide the first 0 ..= N bins are together; None where each is as wide
    widths: Option<Vec<u64>>,
    /// of nodes of some lengths, what [`within`](super::aware) tells
    uneven: Vec<Uneven>,
}

/// Nodes of a bucket, at multiples of their length, or [`WHOLE`]: a range that holds the share s of one, by width, is
/// off by s (1 - s) times the square, in the mean square.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Uneven {
    pub(super) length: u32,
    pub(super) square: f64,
}

/// A place between bins: so much of a bucket lies before it, and all buckets before that one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    bucket: usize,
    /// from 0 to less than 1
    share: f64,
}

impl Buckets {
    /// `lengths`: how many bins each has. `widths`: of the bins.
    ///
    /// # Panics
    /// If the buckets have others than those bins.
    pub(super) fn new(lengths: impl IntoIterator<Item = usize>, widths: &[u64]) -> Buckets {
        let ends: Vec<usize> = sums(lengths);
        assert_eq!(ends.last(), Some(&widths.len()), "buckets of other bins");
        Buckets { ends, widths: Some(sums(widths.iter().copied())), uneven: Vec::new() }
    }

    /// With what is known of how uneven they are.
    pub(super) fn with(self, uneven: Vec<Uneven>) -> Buckets {
        Buckets { uneven, ..self }
    }

    /// How wide the bins from one to another are together.
    fn width(&self, from: usize, to: usize) -> u64 {
        self.widths.as_ref().map_or((to - from) as u64, |widths| widths[to] - widths[from])
    }

    /// Of a bin.
    fn bucket(&self, bin: usize) -> usize {
        self.ends.partition_point(|end| *end <= bin) - 1
    }

    /// Whether so many bins from there on are of one bucket, which is longer than one.
    pub(super) fn merges(&self, bin: usize, length: usize) -> bool {
        let bucket = self.bucket(bin);
        length > 1 && bin + length <= self.ends[bucket + 1]
    }

    /// The mean square of what a range is off by besides noise, as it holds parts of buckets.
    pub(super) fn bias(&self, range: &Range<usize>) -> f64 {
        if range.is_empty() {
            return 0.0;
        }
        let of_node = |node: &Range<usize>, square: f64| {
            if node.end > self.bins() || !self.merges(node.start, node.len()) {
                return 0.0;
            }
            let inside = node.start.max(range.start)..node.end.min(range.end);
            let width = |bins: &Range<usize>| self.width(bins.start, bins.end) as f64;
            let share = width(&inside) / width(node);
            square * share * (1.0 - share)
        };
        let of_length = |uneven: &Uneven| {
            let node = |bin: usize| match uneven.length {
                WHOLE => {
                    let bucket = self.bucket(bin);
                    self.ends[bucket]..self.ends[bucket + 1]
                }
                length => {
                    let start = bin - bin % length as usize;
                    start..start + length as usize
                }
            };
            let (first, last) = (node(range.start), node(range.end - 1));
            let rest = if last != first { of_node(&last, uneven.square) } else { 0.0 };
            of_node(&first, uneven.square) + rest
        };
        done(UNITS_PER_LENGTH * self.uneven.len() as u64);
        self.uneven.iter().map(of_length).sum()
    }

    pub(super) fn uneven(&self) -> &[Uneven] {
        &self.uneven
    }

    /// Of bins that are as wide. None if a bucket has no bin, or there is none, or there are too many
    /// bins, or what is uneven is not.
    pub(super) fn of_lengths(lengths: &[u32], uneven: Vec<Uneven>, most: usize) -> Option<Buckets> {
        let bins = lengths.iter().try_fold(0usize, |sum, length| {
            let sum = sum + *length as usize;
            (*length > 0 && sum <= most).then_some(sum)
        })?;
        let lengths = lengths.iter().map(|length| *length as usize);
        let is_square = |uneven: &Uneven| (0.0..BEYOND_RELEASES).contains(&uneven.square);
        // each longer than the one before, the first longer than a bin
        let nodes = std::iter::once(1).chain(uneven.iter().map(|uneven| uneven.length));
        let whole = matches!(*uneven, [Uneven { length: WHOLE, .. }]);
        let fit = bins > 0
            && uneven.len() <= MOST_LENGTHS
            && (whole || nodes.is_sorted_by(|a, b| a < b))
            && uneven.iter().all(is_square);
        // a few bytes can be of a million bins: nothing is made for each
        fit.then(|| Buckets { ends: sums(lengths), widths: None, uneven })
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// N.
    pub(super) fn bins(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    /// How many bins each has.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.ends.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// The buckets that have a part of a range of bins.
    pub(super) fn around(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.ends.partition_point(|end| *end <= range.start) - 1;
        if range.is_empty() {
            return first..first;
        }
        first..self.ends.partition_point(|end| *end < range.end)
    }

    /// The sums over the bins of each.
    pub(super) fn totals(&self, bins: &[f64]) -> Vec<f64> {
        self.ends.windows(2).map(|ends| bins[ends[0]..ends[1]].iter().sum()).collect()
    }

    /// The buckets' counts from the bins'; sums beyond `u64` stay at its end.
    pub(super) fn counts(&self, counts: &[u64]) -> Vec<u64> {
        let buckets = self.ends.windows(2).paced().map(|ends| &counts[ends[0]..ends[1]]);
        let sum = |bins: &[u64]| bins.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        buckets.map(sum).collect()
    }

    fn place(&self, bin: usize) -> Place {
        done(UNITS_PER_PLACE);
        let bucket = self.bucket(bin);
        let start = self.ends[bucket];
        let Some(end) = self.ends.get(bucket + 1) else { return Place { bucket, share: 0.0 } };
        Place { bucket, share: self.width(start, bin) as f64 / self.width(start, *end) as f64 }
    }

    /// The sum of the first so many bins. `up_to`: of the first so many buckets.
    pub(super) fn sum_up_to(&self, bin: usize, up_to: impl Fn(usize) -> f64) -> f64 {
        let Place { bucket, share } = self.place(bin);
        let before = up_to(bucket);
        if share == 0.0 { before } else { before + share * (up_to(bucket + 1) - before) }
    }

    /// How much of each bucket lies in a range of bins.
    pub(super) fn shares(&self, range: &Range<usize>) -> Shares {
        let (start, end) = (self.place(range.start), self.place(range.end));
        if start.share == 0.0 && end.share == 0.0 {
            return Shares::Whole(start.bucket..end.bucket);
        }
        let mut shares = vec![0.0; self.count()];
        shares[start.bucket..end.bucket].fill(1.0);
        if end.share > 0.0 {
            shares[end.bucket] = end.share;
        }
        if start.share > 0.0 {
            shares[start.bucket] -= start.share;
        }
        Shares::Parts(shares)
    }

    /// The variance of a range's sum, from those of whole buckets side by side, whose sums add up: of
    /// six, so that one answer takes no time in proportion to the buckets.
    pub(super) fn variance(&self, range: &Range<usize>, of: impl Fn(Range<usize>) -> f64) -> f64 {
        let (start, end) = (self.place(range.start), self.place(range.end));
        let (a, b) = (start.bucket, end.bucket);
        if start.share == 0.0 && end.share == 0.0 {
            return of(a..b);
        }
        if a == b {
            let share = end.share - start.share;
            return share * share * of(a..a + 1);
        }
        // so much of the bucket a, all between, and so much of b
        let (of_a, of_b) = (1.0 - start.share, end.share);
        let (first, between, both) = (of(a..a + 1), of(a + 1..b), of(a..b));
        let mut variance = of_a * of_a * first + between + of_a * (both - first - between);
        if of_b > 0.0 {
            let (last, to_last, all) = (of(b..b + 1), of(a + 1..b + 1), of(a..b + 1));
            variance += of_b * of_b * last + of_b * (to_last - between - last);
            variance += of_a * of_b * (all - both - to_last + between);
        }
        variance.max(0.0)
    }

    /// Of the place before each of 0 ..= N: the bucket that holds it, and what of it lies before.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, f64)> {
        (0..=self.bins()).paced().map(|bin| {
            let Place { bucket, share } = self.place(bin);
            (bucket, share)
        })
    }

    /// Of what single bins are off by, from the variances of the buckets.
    pub(super) fn variances_of_bins(&self, of_buckets: &[f64]) -> Vec<f64> {
        let of_bin = |bin: usize| {
            let Place { bucket, .. } = self.place(bin);
            let of = self.width(self.ends[bucket], self.ends[bucket + 1]) as f64;
            let share = self.width(bin, bin + 1) as f64 / of;
            share * share * of_buckets[bucket] + self.bias(&(bin..bin + 1))
        };
        (0..self.bins()).paced().map(of_bin).collect()
    }
}

/// What a range is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shares {
    /// These buckets.
    Whole(Range<usize>),
    /// Of each bucket.
    Parts(Vec<f64>),
}

/// The sums of the first 0, 1, 2, ... values.
fn sums<T: Copy + Default + std::ops::Add<Output = T>>(
    values: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let mut sum = T::default();
    let next = |value| {
        sum = sum + value;
        sum
    };
    std::iter::once(T::default()).chain(values.into_iter().map(next)).collect()
}
