//! Numbers of groups that are public.

/// What a hierarchy's histograms have to sum to.
#[derive(Debug, Clone, Copy)]
pub enum KnownTotals<'a> {
    /// The root's alone; how many of them each other region has is part of a fit.
    Root(u64),
    /// Every region's, in the tree's order; children sum to parents.
    Regions(&'a [u64]),
}

impl KnownTotals<'_> {
    /// Of the root, which is a region of every tree.
    pub(super) fn root(self) -> u64 {
        match self {
            KnownTotals::Root(total) => total,
            KnownTotals::Regions(totals) => totals[0],
        }
    }

    /// Of a region, if it is known.
    pub(super) fn of(self, region: usize) -> Option<u64> {
        match self {
            KnownTotals::Root(total) => (region == 0).then_some(total),
            KnownTotals::Regions(totals) => Some(totals[region]),
        }
    }
}
