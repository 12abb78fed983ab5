//! A node of a hierarchy, as its estimator sees it.

use super::profile::Profile;

/// What is public about a node and the noise that is added to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoisyNode<'a> {
    /// G
    pub groups: u64,
    /// K; larger groups are counted at it.
    pub max_size: u64,
    /// The noise's scale t and its variance.
    pub scale: f64,
    pub variance: f64,
    /// The released region that it lies in, where that is known.
    pub parent: Option<&'a Profile>,
}

impl NoisyNode<'_> {
    /// A fitted number of groups as one that there can be.
    pub(super) fn clamped(&self, groups: i64) -> u64 {
        groups.clamp(0, self.groups as i64) as u64
    }
}
