//! What can be stored under a name: each kind of release says how it is written, and how it is read
//! again.

use super::content::{
    Content, Message, StoredBound, StoredNumbers, StoredRange, StoredRectangle, StoredRegion,
    StoredRegionSums, StoredSum,
};
use super::stored::{
    FoundBound, ReleasedRegions, read_answers, read_bounds, read_found_regions, read_grid,
    read_ranges, read_region_ranges, read_region_sums, read_regions,
};
use crate::hierarchy::KeptNumbers;
use crate::pg::errors::{Result, checked_name, invalid};
use crate::pg::ledger::account::Promise;
use crate::ranges::{DpGrid, DpRanges};
use serde_json::Value;

/// What is asked for by a name, if one is given: it needs a dataset, which it is a name in.
pub(crate) fn promised(
    name: Option<&str>,
    dataset: Option<&str>,
    parameters: Value,
) -> Result<Option<Promise>> {
    let Some(name) = name else { return Ok(None) };
    let name = checked_name(name, "name")?.to_string();
    if dataset.is_none() {
        return Err(invalid(
            format!("name: \"{name}\" needs a dataset to be stored with"),
            "Name the dataset whose budget is charged: dataset => '...'.",
        ));
    }
    Ok(Some(Promise { name, parameters, goes_on: false }))
}

/// What a release gives, and is stored as if it has a name.
pub(crate) trait Storable: Sized {
    fn content(&self) -> Content<'_>;

    /// What belongs to each region.
    fn add_regions(&self, _to: &mut Message) {}

    /// The stored release of that number.
    fn read(release: i64) -> Result<Self>;
}

/// A hierarchy; a single histogram is its root.
pub(crate) struct HierarchyRelease {
    pub(crate) regions: ReleasedRegions,
    pub(crate) level_epsilons: Vec<Option<f64>>,
    pub(crate) measurements: Vec<KeptNumbers>,
    /// What is told of a selection, once.
    pub(crate) selection: Option<String>,
}

impl Storable for HierarchyRelease {
    fn content(&self) -> Content<'_> {
        Content::Regions {
            level_epsilons: self.level_epsilons.clone(),
            measurements: self.measurements.iter().map(StoredNumbers::new).collect(),
        }
    }

    fn add_regions(&self, to: &mut Message) {
        for (path, histogram) in &self.regions {
            to.add(&StoredRegion::new(path, histogram));
        }
    }

    fn read(release: i64) -> Result<HierarchyRelease> {
        Ok(HierarchyRelease {
            regions: read_regions(release)?,
            level_epsilons: Vec::new(),
            measurements: Vec::new(),
            selection: None,
        })
    }
}

impl Storable for DpRanges {
    fn content(&self) -> Content<'_> {
        Content::Ranges(self.to_bytes().into())
    }

    fn read(release: i64) -> Result<DpRanges> {
        read_ranges(release)
    }
}

/// A release of bins for each region, level by level, with its path.
pub(crate) struct AllRegionRanges {
    pub(crate) regions: Vec<(Vec<String>, DpRanges)>,
}

impl Storable for AllRegionRanges {
    fn content(&self) -> Content<'_> {
        Content::RegionRanges
    }

    fn add_regions(&self, to: &mut Message) {
        for (path, ranges) in &self.regions {
            to.add(&StoredRegion::of_ranges(path, ranges));
        }
    }

    fn read(release: i64) -> Result<AllRegionRanges> {
        Ok(AllRegionRanges { regions: read_region_ranges(release)? })
    }
}

/// The paths of the lowest regions that were found, in their order.
pub(crate) struct FoundRegions {
    pub(crate) paths: Vec<Vec<String>>,
}

impl Storable for FoundRegions {
    fn content(&self) -> Content<'_> {
        Content::FoundRegions
    }

    fn add_regions(&self, to: &mut Message) {
        for path in &self.paths {
            to.add(path);
        }
    }

    fn read(release: i64) -> Result<FoundRegions> {
        Ok(FoundRegions { paths: read_found_regions(release)? })
    }
}

/// All candidates, in ascending order.
pub(crate) struct FoundBounds {
    pub(crate) bounds: Vec<FoundBound>,
    /// Whether any count stood out of the noise.
    pub(crate) is_seen: bool,
}

impl Storable for FoundBounds {
    fn content(&self) -> Content<'_> {
        let stored = |bound: &FoundBound| StoredBound {
            candidate: bound.candidate.to_string(),
            above: bound.above,
            clipping: bound.clipping,
            noise: bound.noise,
            chosen: bound.chosen,
        };
        Content::Bounds { seen: self.is_seen, bounds: self.bounds.iter().map(stored).collect() }
    }

    fn read(release: i64) -> Result<FoundBounds> {
        let (bounds, is_seen) = read_bounds(release)?;
        Ok(FoundBounds { bounds, is_seen })
    }
}

impl Storable for DpGrid {
    fn content(&self) -> Content<'_> {
        Content::Grid(self.to_bytes().into())
    }

    fn read(release: i64) -> Result<DpGrid> {
        read_grid(release)
    }
}

/// What a stored answer is an answer to.
#[derive(Debug)]
pub(crate) struct AskedRange {
    /// How long it is: `day`, `month`, `10`.
    pub(crate) grain: String,
    pub(crate) lower: Option<String>,
    pub(crate) upper: Option<String>,
}

impl AskedRange {
    pub(crate) fn text(&self) -> String {
        let end = |end: &Option<String>| end.clone().unwrap_or_default();
        format!("[{},{})", end(&self.lower), end(&self.upper))
    }

    fn stored(&self) -> StoredRange<'_> {
        StoredRange {
            grain: self.grain.as_str().into(),
            lower: self.lower.as_deref().map(Into::into),
            upper: self.upper.as_deref().map(Into::into),
        }
    }
}

/// Sums over ranges and their standard deviations, in the order in which they were asked.
pub(crate) struct RangeSums<'a> {
    /// Empty where nothing is to be stored.
    pub(crate) asked: &'a [AskedRange],
    pub(crate) answers: Vec<(f64, f64)>,
}

impl Storable for RangeSums<'_> {
    fn content(&self) -> Content<'_> {
        let asked = self.asked.iter().zip(&self.answers);
        let sums =
            asked.map(|(asked, &(sum, stddev))| StoredSum { range: asked.stored(), sum, stddev });
        Content::RangeSums(sums.collect())
    }

    fn read(release: i64) -> Result<Self> {
        Ok(RangeSums { asked: &[], answers: read_answers("dp.release_sum", release)? })
    }
}

/// Sums over rectangles and their standard deviations, in the order in which they were asked.
pub(crate) struct RectangleSums<'a> {
    /// The ends of their rows and of their columns.
    pub(crate) asked: &'a [[(Option<i64>, Option<i64>); 2]],
    pub(crate) answers: Vec<(f64, f64)>,
}

impl Storable for RectangleSums<'_> {
    fn content(&self) -> Content<'_> {
        let asked = self.asked.iter().zip(&self.answers);
        let sums = asked.map(|(&[rows, columns], &(sum, stddev))| StoredRectangle {
            rows,
            columns,
            sum,
            stddev,
        });
        Content::Rectangles(sums.collect())
    }

    fn read(release: i64) -> Result<Self> {
        Ok(RectangleSums { asked: &[], answers: read_answers("dp.release_rectangle", release)? })
    }
}

/// What ranges have in a region.
pub(crate) struct RegionSums {
    pub(crate) path: Vec<String>,
    /// In the order in which the ranges were asked.
    pub(crate) sums: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
}

impl RegionSums {
    fn stored(&self) -> StoredRegionSums<'_> {
        StoredRegionSums {
            path: self.path.iter().map(String::as_str).collect(),
            sums: self.sums.as_slice().into(),
            deviations: self.deviations.as_slice().into(),
        }
    }
}

/// Sums over the same ranges in all regions, level by level.
pub(crate) struct AllRegionSums<'a> {
    /// Empty where nothing is to be stored.
    pub(crate) asked: &'a [AskedRange],
    pub(crate) regions: Vec<RegionSums>,
}

impl Storable for AllRegionSums<'_> {
    fn content(&self) -> Content<'_> {
        Content::RegionSums(self.asked.iter().map(AskedRange::stored).collect())
    }

    fn add_regions(&self, to: &mut Message) {
        for region in &self.regions {
            to.add(&region.stored());
        }
    }

    fn read(release: i64) -> Result<Self> {
        let region = |(path, sums, deviations)| RegionSums { path, sums, deviations };
        let regions = read_region_sums(release)?.into_iter().map(region).collect();
        Ok(AllRegionSums { asked: &[], regions })
    }
}
