//! The table, checked, as a tree and cells.

use super::error::{LARGEST_EXACT, NoisyTableError};
use super::filling::Filling;
use super::rows::NoisyRows;
use crate::hierarchy::consistency::MAX_CELLS;
use crate::hierarchy::tree::Tree;
use crate::path::Path;
use crate::work::{Paced, poll};
use std::collections::{BTreeMap, HashSet};

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
    /// Those of a region together.
    pub(super) values: Vec<f64>,
    /// Inverse variances likewise, where these are known and not all the same.
    pub(super) weights: Option<Vec<f64>>,
    pub(super) totals: PublicTotals,
}

impl NoisyTable {
    /// `totals`: public numbers of groups by path, the root's being empty, of the root alone or of
    /// every region; regions of which there is a total need no rows.
    ///
    /// None: there are no rows. Errors: see [`NoisyTableError`].
    pub fn new(
        rows: NoisyRows,
        totals: Option<BTreeMap<Vec<String>, f64>>,
    ) -> Result<Option<NoisyTable>, NoisyTableError> {
        let sizes = sizes_of(&rows)?;
        if sizes.is_empty() {
            return Ok(None);
        }
        let of_totals = totals.iter().flat_map(|totals| totals.keys()).map(|path| path.as_slice());
        let (tree, leaves) = tree_of(&rows, of_totals.map(Path::from))?;
        let regions = tree.regions().len();
        if regions.saturating_mul(sizes.len()) > MAX_CELLS {
            return Err(NoisyTableError::TooManyCells { regions, sizes: sizes.len() });
        }
        let mut cells = Filling::new(&tree, &sizes, rows.variances.is_some());
        cells.enter(&rows, &leaves)?;
        drop(rows);
        let totals = match totals {
            Some(totals) => public_totals(&tree, &totals)?,
            None => PublicTotals::None,
        };
        poll();
        let weights = cells.weights();
        let values = cells.into_values();
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

/// The sizes that occur, ascending.
fn sizes_of(rows: &NoisyRows) -> Result<Vec<u64>, NoisyTableError> {
    let mut sizes: HashSet<u64> = HashSet::new();
    for (&region, &size) in rows.regions.iter().zip(&rows.sizes).paced() {
        let error = || NoisyTableError::Size { path: rows.path(region), size };
        sizes.insert(whole(size).ok_or_else(error)?);
    }
    poll();
    let mut sizes: Vec<u64> = sizes.into_iter().collect();
    sizes.sort_unstable();
    Ok(sizes)
}

/// The tree of which these, and the paths of the rows, are all regions; and each leaf's number among the rows'
/// regions, if it has rows.
fn tree_of(
    rows: &NoisyRows,
    others: impl Iterator<Item = Path>,
) -> Result<(Tree, Vec<Option<u32>>), NoisyTableError> {
    let others: HashSet<Path> = others.filter(|path| !rows.paths.contains(path)).collect();
    let exists = |path: &Path| rows.paths.contains(path) || others.contains(path);
    // as they occur: regions that follow one another mostly lie in the same one, and if that is their
    // order, there is nothing to sort
    let of_rows = || (0..).zip(&rows.paths).map(|(number, path)| (path, Some(number)));
    let all = || of_rows().chain(others.iter().map(|path| (path, None)));
    let paths = || all().map(|(path, _)| path).paced();
    let depth = paths().map(Path::depth).max().unwrap_or(0);
    let mut parents = HashSet::new();
    // of several that are wrong, the first in the order of their paths
    let mut orphan: Option<&Path> = None;
    let mut last: Option<Path> = None;
    for path in paths() {
        let Some(above) = path.depth().checked_sub(1) else { continue };
        if last.as_ref().is_some_and(|last| last.depth() == above && path.is_within(last)) {
            continue;
        }
        let parent = path.above(above);
        if !exists(&parent) {
            orphan = orphan.into_iter().chain([path]).min();
            continue;
        }
        parents.insert(parent.clone());
        last = Some(parent);
    }
    if let Some(path) = orphan {
        return Err(NoisyTableError::MissingParent { path: path.to_vec() });
    }
    let childless = |path: &&Path| path.depth() < depth && !parents.contains(*path);
    if let Some(path) = paths().filter(childless).min() {
        return Err(NoisyTableError::UnevenDepth { path: path.to_vec(), depth });
    }
    drop(parents);
    let leaves = all().filter(|(path, _)| path.depth() == depth);
    // distinct paths of one length make a tree
    Tree::from_leaves(depth, leaves.map(|(path, number)| (path.clone(), number)).collect())
        .map_err(|_| NoisyTableError::UnevenDepth { path: vec![], depth })
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
