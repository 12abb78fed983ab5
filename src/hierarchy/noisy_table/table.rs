//! The table, checked, as a tree and cells.

use super::error::{LARGEST_EXACT, NoisyTableError};
use super::filling::Filling;
use super::rows::RegionRows;
use crate::hierarchy::consistency::{MAX_CELLS, NoisyCounts, transposed};
use crate::hierarchy::tree::Tree;
use crate::work::poll;
use std::collections::{BTreeMap, BTreeSet};

/// Which numbers of groups are public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PublicTotals {
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

impl NoisyTable {
    /// `rows`: by path, the root's being empty; `totals`: public numbers of groups by path, of the
    /// root alone or of every region; regions of which there is a total need no rows.
    ///
    /// None: there are no rows. Errors: see [`NoisyTableError`].
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

        let mut cells = Filling::new(regions, sizes.len());
        let largest = NoisyCounts::largest(&tree);
        for level in 0..tree.depth() {
            let mut sum = 0.0;
            for region in tree.level(level) {
                let path = tree.regions()[region].path.to_vec();
                let Some(rows) = rows.get(&path) else { continue };
                sum += cells.enter(region, &path, rows, &sizes)?;
                if sum > largest {
                    return Err(NoisyTableError::LargeCounts { path, largest });
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

fn public_totals(
    tree: &Tree,
    totals: &BTreeMap<Vec<String>, f64>,
) -> Result<PublicTotals, NoisyTableError> {
    let mut counts = Vec::with_capacity(tree.regions().len());
    for region in tree.regions() {
        let path = region.path.to_vec();
        let Some(&groups) = totals.get(&path) else {
            return match counts.as_slice() {
                [root] if totals.len() == 1 => Ok(PublicTotals::Root(*root)),
                _ => Err(NoisyTableError::MissingTotal { path }),
            };
        };
        counts.push(whole(groups).ok_or(NoisyTableError::Total { path, groups })?);
    }
    for (region, &total) in tree.regions()[..tree.leaves().start].iter().zip(&counts) {
        let children = counts[region.children.clone()].iter().map(|&n| u128::from(n)).sum();
        if children != u128::from(total) {
            let path = region.path.to_vec();
            return Err(NoisyTableError::TotalsContradict { path, total, children });
        }
    }
    Ok(PublicTotals::Regions(counts))
}
