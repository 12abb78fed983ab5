//! Anyone's table of noisy counts as a hierarchy: its checks, its tree, its cells.

use super::noisy_counts::{NoisyCounts, transposed};
use super::plan::MAX_CELLS;
use super::tree::{Tree, path_text};
use crate::work::poll;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Rows between two calls of the caller's checkpoint.
const CHECKPOINT_EVERY: usize = 1 << 16;

/// The rows of one region: a size, the noisy number of groups of that size, and its variance where
/// the variances are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegionRows {
    pub sizes: Vec<f64>,
    pub groups: Vec<f64>,
    pub variances: Option<Vec<f64>>,
}

/// Which numbers of groups are public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicTotals {
    None,
    /// That of the root.
    Root(u64),
    /// One per region, in the tree's order; children sum to their parents.
    Regions(Vec<u64>),
}

/// A noisy hierarchy. A size that occurs anywhere has a cell in every region; where the table has
/// no row for it, 0 groups were measured, as accurately as the region's other cells on average.
#[derive(Debug, Clone)]
pub struct NoisyTable {
    pub(super) tree: Tree,
    /// Ascending.
    pub(super) sizes: Vec<u64>,
    /// In the order of [`NoisyCounts`].
    pub(super) values: Vec<f64>,
    /// Inverse variances, where these are known and not all the same.
    pub(super) weights: Option<Vec<f64>>,
    pub(super) totals: PublicTotals,
}

/// What is wrong with a table, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum NoisyTableError {
    MissingParent { path: Vec<String> },
    UnevenDepth { path: Vec<String>, depth: usize },
    Size { path: Vec<String>, size: f64 },
    DuplicateSize { path: Vec<String>, size: u64 },
    Count { path: Vec<String>, size: u64, groups: f64 },
    LargeCounts { path: Vec<String>, largest: f64 },
    Variance { path: Vec<String>, size: u64, variance: f64 },
    TooManyCells { regions: usize, sizes: usize },
    Total { path: Vec<String>, groups: f64 },
    MissingTotal { path: Vec<String> },
    TotalsContradict { path: Vec<String>, total: u64, children: u128 },
}

impl fmt::Display for NoisyTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoisyTableError::MissingParent { path } => {
                write!(f, "region {} has no parent", path_text(path))
            }
            NoisyTableError::UnevenDepth { path, depth } => write!(
                f,
                "region {} has no children, others go down to level {depth}",
                path_text(path)
            ),
            NoisyTableError::Size { path, size } => write!(
                f,
                "source: size must be a whole number from 0 to {LARGEST_EXACT}, got {size} in \
                 region {}",
                path_text(path)
            ),
            NoisyTableError::DuplicateSize { path, size } => {
                write!(f, "source: region {} has two rows of size {size}", path_text(path))
            }
            NoisyTableError::Count { path, size, groups } => write!(
                f,
                "source: groups must be finite, got {groups} in region {}, size {size}",
                path_text(path)
            ),
            NoisyTableError::LargeCounts { path, largest } => write!(
                f,
                "source: groups of a level must sum to {largest:e} in magnitude at most; with \
                 region {} they exceed it",
                path_text(path)
            ),
            NoisyTableError::Variance { path, size, variance } => write!(
                f,
                "source: variance must be positive and finite, got {variance} in region {}, \
                 size {size}",
                path_text(path)
            ),
            NoisyTableError::TooManyCells { regions, sizes } => write!(
                f,
                "source: {regions} regions with {sizes} different sizes exceed {MAX_CELLS} cells"
            ),
            NoisyTableError::Total { path, groups } => write!(
                f,
                "totals: groups must be a whole number from 0 to {LARGEST_EXACT}, got {groups} in \
                 region {}",
                path_text(path)
            ),
            NoisyTableError::MissingTotal { path } => {
                write!(f, "totals: region {} is missing", path_text(path))
            }
            NoisyTableError::TotalsContradict { path, total, children } => write!(
                f,
                "totals: region {} has {total} groups, its children have {children}",
                path_text(path)
            ),
        }
    }
}

impl std::error::Error for NoisyTableError {}

impl NoisyTableError {
    /// What the caller can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            NoisyTableError::MissingParent { .. } => {
                "Every region needs a row on every level above it; the root's path is '{}'."
            }
            NoisyTableError::UnevenDepth { .. } => {
                "All regions without children must lie on one level."
            }
            NoisyTableError::Size { .. } => "Sizes count the entities of a group.",
            NoisyTableError::DuplicateSize { .. } => "A region has one row for each size at most.",
            NoisyTableError::Count { .. } => "Leave out what was not measured.",
            NoisyTableError::LargeCounts { .. } => "All sums have to fit a bigint.",
            NoisyTableError::Variance { .. } => {
                "Leave the column variance out if the variances are not known."
            }
            NoisyTableError::TooManyCells { .. } => "Join the rare large sizes to a few.",
            NoisyTableError::Total { .. } => "Totals are public and exact.",
            NoisyTableError::MissingTotal { .. } => {
                "Give the root's total alone, or that of every region."
            }
            NoisyTableError::TotalsContradict { .. } => {
                "The numbers of groups of a region's children must sum to its own."
            }
        }
    }
}

impl NoisyTable {
    /// `rows`: by path, the root's being empty; `totals`: public numbers of groups by path, of the
    /// root alone or of every region; regions of which there is a total need no rows.
    ///
    /// `checkpoint` is called every few milliseconds; it may unwind. None: there are no rows. Errors:
    /// see [`NoisyTableError`].
    pub fn new(
        rows: BTreeMap<Vec<String>, RegionRows>,
        totals: Option<BTreeMap<Vec<String>, f64>>,
    ) -> Result<Option<NoisyTable>, NoisyTableError> {
        let mut sizes = Vec::new();
        for (path, region) in &rows {
            poll();
            for &size in &region.sizes {
                let error = || NoisyTableError::Size { path: path.clone(), size };
                sizes.push(whole(size).ok_or_else(error)?);
            }
        }
        if sizes.is_empty() {
            return Ok(None);
        }
        poll();
        sizes.sort_unstable();
        sizes.dedup();
        poll();
        let tree = tree_of(rows.keys().chain(totals.iter().flat_map(|t| t.keys())).collect())?;
        let regions = tree.regions().len();
        if regions.saturating_mul(sizes.len()) > MAX_CELLS {
            return Err(NoisyTableError::TooManyCells { regions, sizes: sizes.len() });
        }

        let mut cells = Cells::new(regions, sizes.len());
        let largest = NoisyCounts::largest(&tree);
        for level in 0..tree.depth() {
            let mut sum = 0.0;
            for region in tree.level(level) {
                let path = &tree.regions()[region].path;
                let Some(rows) = rows.get(path) else { continue };
                sum += cells.enter(region, path, rows, &sizes)?;
                if sum > largest {
                    return Err(NoisyTableError::LargeCounts { path: path.clone(), largest });
                }
            }
        }
        let totals = match totals {
            Some(totals) => public_totals(&tree, &totals)?,
            None => PublicTotals::None,
        };
        poll();
        let weights = cells.weights(&tree).map(|weights| transposed(&weights, sizes.len()));
        let values = transposed(&cells.values, sizes.len());
        Ok(Some(NoisyTable { tree, sizes, values, weights, totals }))
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// Up to here every whole number is an `f64` of its own, and none is rounded to it.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

fn whole(number: f64) -> Option<u64> {
    let range = 0.0..=LARGEST_EXACT as f64;
    (number.fract() == 0.0 && range.contains(&number)).then_some(number as u64)
}

/// The tree of which these are all regions.
fn tree_of(paths: BTreeSet<&Vec<String>>) -> Result<Tree, NoisyTableError> {
    let depth = paths.iter().map(|path| path.len()).max().unwrap_or(0);
    let mut parents = BTreeSet::new();
    for path in &paths {
        if let Some((_, parent)) = path.split_last() {
            if !paths.contains(&parent.to_vec()) {
                return Err(NoisyTableError::MissingParent { path: path.to_vec() });
            }
            parents.insert(parent);
        }
    }
    let childless = |path: &&&Vec<String>| path.len() < depth && !parents.contains(path.as_slice());
    if let Some(path) = paths.iter().find(childless) {
        return Err(NoisyTableError::UnevenDepth { path: path.to_vec(), depth });
    }
    let leaves = paths.into_iter().filter(|path| path.len() == depth);
    // distinct paths of one length make a tree
    let tree = Tree::from_leaves(depth, leaves.map(|path| (path.clone(), ())).collect());
    tree.map(|(tree, _)| tree).map_err(|_| NoisyTableError::UnevenDepth { path: vec![], depth })
}

/// The dense cells while they are filled: (region, size) is at `region * sizes + size`.
struct Cells {
    sizes: usize,
    values: Vec<f64>,
    /// NaN: not known.
    variances: Vec<f64>,
    entered: Vec<bool>,
}

impl Cells {
    fn new(regions: usize, sizes: usize) -> Cells {
        let cells = regions * sizes;
        Cells {
            sizes,
            values: vec![0.0; cells],
            variances: vec![f64::NAN; cells],
            entered: vec![false; cells],
        }
    }

    /// Enters a region's rows, and returns the sum of their magnitudes.
    fn enter(
        &mut self,
        region: usize,
        path: &[String],
        rows: &RegionRows,
        sizes: &[u64],
    ) -> Result<f64, NoisyTableError> {
        let mut sum = 0.0;
        for (i, (&size, &groups)) in rows.sizes.iter().zip(&rows.groups).enumerate() {
            if i.is_multiple_of(CHECKPOINT_EVERY) {
                poll();
            }
            let (path, size) = (|| path.to_vec(), size as u64);
            if !groups.is_finite() {
                return Err(NoisyTableError::Count { path: path(), size, groups });
            }
            let column = sizes.partition_point(|&known| known < size);
            let cell = region * self.sizes + column;
            if std::mem::replace(&mut self.entered[cell], true) {
                return Err(NoisyTableError::DuplicateSize { path: path(), size });
            }
            self.values[cell] = groups;
            sum += groups.abs();
            if let Some(variances) = &rows.variances {
                let variance = variances[i];
                if !(variance > 0.0 && variance.is_finite()) {
                    return Err(NoisyTableError::Variance { path: path(), size, variance });
                }
                self.variances[cell] = variance;
            }
        }
        Ok(sum)
    }

    /// Inverse variances, or None where all are the same or unknown. A cell without a row gets its
    /// region's mean, in a region without rows its level's.
    fn weights(&self, tree: &Tree) -> Option<Vec<f64>> {
        let known: Vec<f64> = self.variances.iter().copied().filter(|v| !v.is_nan()).collect();
        let mut known_weights = NoisyCounts::inverse_variances(&known).into_iter();
        // 0 for those that are not known
        let known: Vec<f64> = self
            .variances
            .iter()
            .map(|v| if v.is_nan() { 0.0 } else { known_weights.next().unwrap_or(0.0) })
            .collect();
        let mean = |cells: &[f64]| -> Option<f64> {
            let cells = cells.iter().filter(|weight| **weight > 0.0);
            let (sum, count) = cells.fold((0.0, 0.0), |(sum, n), weight| (sum + weight, n + 1.0));
            (count > 0.0).then_some(sum / count)
        };
        let all = mean(&known)?;
        let mut weights = known.clone();
        for level in 0..tree.depth() {
            let regions = tree.level(level);
            let cells = regions.start * self.sizes..regions.end * self.sizes;
            let of_level = mean(&known[cells.clone()]);
            for row in weights[cells].chunks_mut(self.sizes) {
                let of_region = mean(row).or(of_level).unwrap_or(all);
                row.iter_mut().filter(|weight| **weight == 0.0).for_each(|w| *w = of_region);
            }
        }
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        (!alike).then_some(weights)
    }
}

fn public_totals(
    tree: &Tree,
    totals: &BTreeMap<Vec<String>, f64>,
) -> Result<PublicTotals, NoisyTableError> {
    let mut counts = Vec::with_capacity(tree.regions().len());
    for region in tree.regions() {
        let path = || region.path.clone();
        let Some(&groups) = totals.get(&region.path) else {
            return match counts.as_slice() {
                [root] if totals.len() == 1 => Ok(PublicTotals::Root(*root)),
                _ => Err(NoisyTableError::MissingTotal { path: path() }),
            };
        };
        counts.push(whole(groups).ok_or_else(|| NoisyTableError::Total { path: path(), groups })?);
    }
    for (region, &total) in tree.regions()[..tree.leaves().start].iter().zip(&counts) {
        let children = counts[region.children.clone()].iter().map(|&n| u128::from(n)).sum();
        if children != u128::from(total) {
            let path = region.path.clone();
            return Err(NoisyTableError::TotalsContradict { path, total, children });
        }
    }
    Ok(PublicTotals::Regions(counts))
}
