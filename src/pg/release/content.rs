//! What is stored of a named release, on its way to the worker that stores it.

use crate::coco::DpCoco;
use crate::hierarchy::KeptNumbers;
use crate::path::Path;
use crate::pg::errors::{Result, internal};
use crate::ranges::DpRanges;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// All that is stored of a release as a whole but what its charge tells: dataset, name and parameters.
#[derive(Serialize, Deserialize)]
struct StoredContent<'a> {
    /// The ledger's entry.
    charge: i64,
    #[serde(borrow)]
    content: Content<'a>,
}

/// What belongs to each region follows the content in the message, region by region.
#[derive(Serialize, Deserialize)]
pub(crate) enum Content<'a> {
    /// A [`StoredRegion`] with a histogram each.
    Regions {
        /// What each level's measurement was calibrated to, None for one that was not measured. No
        /// levels where one release was chosen among several.
        level_epsilons: Vec<Option<f64>>,
        /// What was measured, if it is kept.
        #[serde(borrow)]
        measurements: Vec<StoredNumbers<'a>>,
    },
    /// Answers to ranges that were asked.
    #[serde(borrow)]
    RangeSums(Vec<StoredSum<'a>>),
    /// Ranges to which there are answers in many regions, a [`StoredRegionSums`] each.
    #[serde(borrow)]
    RegionSums(Vec<StoredRange<'a>>),
    /// A `dp_ranges`, as it lies on disk.
    #[serde(borrow)]
    Ranges(Cow<'a, [u8]>),
    /// A [`StoredRegion`] with a `dp_ranges` each.
    RegionRanges,
    /// The path of each region that was found.
    FoundRegions,
    /// Candidates for a bound, of which one is chosen.
    Bounds {
        /// Whether any count stood out of the noise.
        seen: bool,
        bounds: Vec<StoredBound>,
    },
    /// Answers to rectangles that were asked.
    Rectangles(Vec<StoredRectangle>),
    /// A stream that is begun.
    #[serde(borrow)]
    Stream(StoredStream<'a>),
    /// The next ticks of a stream.
    Ticks {
        /// The number of the first of them.
        first: i64,
        ticks: Vec<StoredTick<'a>>,
    },
    /// A `dp_grid`, as it lies on disk.
    #[serde(borrow)]
    Grid(Cow<'a, [u8]>),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredStream<'a> {
    #[serde(borrow)]
    pub(super) time_column: Cow<'a, str>,
    /// The table and the number of that column.
    pub(super) entities: u32,
    pub(super) attnum: i16,
    #[serde(borrow)]
    pub(super) value_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) time_zone: Option<Cow<'a, str>>,
    pub(super) start: String,
    /// In microseconds since 2000.
    pub(super) origin: i64,
    /// In microseconds.
    pub(super) width: i64,
    pub(super) horizon: i64,
    /// Branching factor and levels of what is measured, if that is a tree.
    pub(super) tree: Option<(u32, u32)>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredTick<'a> {
    pub(super) lower: String,
    pub(super) upper: String,
    /// Exact, the one number that is stored apart: as bytes, so many whatever it is.
    pub(super) count: [u8; 8],
    pub(super) noisy: Cow<'a, [i64]>,
    pub(super) estimates: Cow<'a, [f64]>,
    /// Of the tick.
    pub(super) sum: f64,
    pub(super) stddev: f64,
    /// Of all up to it.
    pub(super) total: f64,
    pub(super) total_stddev: f64,
}

/// Compact, about three bytes for each size: a census has millions.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRegion<'a> {
    #[serde(borrow)]
    pub(super) path: Vec<&'a str>,
    /// As a `dp_coco`, or a `dp_ranges`, lies on disk.
    #[serde(borrow)]
    pub(super) histogram: Cow<'a, [u8]>,
}

/// Numbers of one region as they were measured.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredNumbers<'a> {
    /// Its place among the regions.
    pub(super) region: i64,
    pub(super) first_look: bool,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) first: i64,
    pub(super) values: Cow<'a, [i64]>,
    pub(super) scale: f64,
}

/// A range that was asked.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRange<'a> {
    #[serde(borrow)]
    pub(super) grain: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) lower: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) upper: Option<Cow<'a, str>>,
}

/// A region's answers, in the ranges' order.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRegionSums<'a> {
    #[serde(borrow)]
    pub(super) path: Vec<&'a str>,
    pub(super) sums: Cow<'a, [f64]>,
    pub(super) deviations: Cow<'a, [f64]>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredSum<'a> {
    #[serde(borrow)]
    pub(super) range: StoredRange<'a>,
    pub(super) sum: f64,
    pub(super) stddev: f64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredBound {
    /// A decimal number.
    pub(super) candidate: String,
    pub(super) above: i64,
    pub(super) clipping: f64,
    pub(super) noise: f64,
    pub(super) chosen: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRectangle {
    pub(super) rows: (Option<i64>, Option<i64>),
    pub(super) columns: (Option<i64>, Option<i64>),
    pub(super) sum: f64,
    pub(super) stddev: f64,
}

impl<'a> StoredRegion<'a> {
    pub(super) fn new(path: &'a Path, histogram: &DpCoco) -> StoredRegion<'a> {
        StoredRegion {
            path: path.names().collect(),
            histogram: histogram.histogram().to_bytes().into(),
        }
    }

    pub(super) fn of_ranges(path: &'a [String], ranges: &DpRanges) -> StoredRegion<'a> {
        let path = path.iter().map(String::as_str).collect();
        StoredRegion { path, histogram: ranges.to_bytes().into() }
    }
}

impl<'a> StoredNumbers<'a> {
    pub(super) fn new(kept: &'a KeptNumbers) -> StoredNumbers<'a> {
        StoredNumbers {
            region: kept.region as i64,
            first_look: kept.first_look,
            kind: kept.numbers.kind.name().into(),
            first: kept.numbers.first as i64,
            values: kept.numbers.values.as_slice().into(),
            scale: kept.scale,
        }
    }
}

/// What the worker is sent. Regions are added to it, and read from it, one by one: there may be millions,
/// of which no list is made for it.
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Without regions. `charge`: the ledger's entry.
    pub(super) fn new(charge: i64, content: Content) -> Message {
        let mut message = Message(Vec::new());
        message.add(&StoredContent { charge, content });
        message
    }

    /// What belongs to the next region, as its [`Content`] says.
    pub(super) fn add(&mut self, region: &impl Serialize) {
        // writing into a growing vector cannot fail; if it did, what follows would be read as the content
        self.0 = postcard::to_extend(region, std::mem::take(&mut self.0)).unwrap_or_default();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What a message brings: the ledger's entry, the content, and what belongs to each region.
pub(super) fn read(message: &[u8]) -> Result<(i64, Content<'_>, Regions<'_>)> {
    let (StoredContent { charge, content }, rest) =
        postcard::take_from_bytes(message).map_err(internal)?;
    Ok((charge, content, Regions(rest)))
}

/// What belongs to each region, as it was [added](Message::add). It is read when some is written, so it must
/// not fail: this library wrote it, with names that are UTF8.
pub(super) struct Regions<'a>(&'a [u8]);

impl<'a> Regions<'a> {
    pub(super) fn each<R: Deserialize<'a>>(self) -> impl Iterator<Item = Result<R>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let taken = postcard::take_from_bytes(std::mem::take(&mut rest)).map_err(internal);
            Some(taken.map(|(region, after)| {
                rest = after;
                region
            }))
        })
    }
}
