//! The table as it is read.

use crate::hierarchy::consistency::MAX_CELLS;
use crate::path::Path;
use indexmap::IndexSet;

/// The rows of a table, in any order: a region, a size, the noisy number of its groups of that size,
/// and its variance where variances are known.
///
/// There may be millions: a region's path is kept once.
#[derive(Debug, Clone)]
pub struct NoisyRows {
    /// Each in the place of its number.
    pub(super) paths: IndexSet<Path>,
    pub(super) regions: Vec<u32>,
    pub(super) sizes: Vec<f64>,
    pub(super) groups: Vec<f64>,
    pub(super) variances: Option<Vec<f64>>,
}

impl NoisyRows {
    /// The most that there can be: with more, some are of one region and size, or there are too many
    /// regions and sizes.
    pub const MOST: usize = MAX_CELLS;

    /// None yet.
    pub fn new(with_variances: bool) -> NoisyRows {
        NoisyRows {
            paths: IndexSet::new(),
            regions: vec![],
            sizes: vec![],
            groups: vec![],
            variances: with_variances.then(Vec::new),
        }
    }

    /// The number of a region, by which its rows are added.
    pub fn region(&mut self, path: Path) -> u32 {
        self.paths.insert_full(path).0 as u32
    }

    pub fn len(&self) -> usize {
        self.regions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The variance counts where there are variances.
    pub fn add(&mut self, region: u32, size: f64, groups: f64, variance: f64) {
        self.regions.push(region);
        self.sizes.push(size);
        self.groups.push(groups);
        if let Some(variances) = &mut self.variances {
            variances.push(variance);
        }
    }

    /// The path of a region, for errors.
    pub(super) fn path(&self, region: u32) -> Vec<String> {
        self.paths.get_index(region as usize).map(Path::to_vec).unwrap_or_default()
    }
}
