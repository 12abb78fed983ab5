//! Trees over bins, listed breadth first.

use crate::ranges::limits::MAX_BINS;
use num_rational::Ratio;
use num_traits::CheckedAdd;
use std::fmt;
use std::ops::Range;

/// The most children that a node of a [`TreeOverBins`] can have.
pub const MAX_FAN_OUT: u32 = 1024;
/// The most levels below the root of a [`TreeOverBins`].
pub(crate) const MAX_DEPTH: u32 = 64;

/// A rooted tree whose leaves, from left to right, are the bins 0 .. n.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeOverBins {
    /// Nodes are numbered breadth first, so a node's children are the numbers from its entry here
    /// up to the next one's; the last entry is the number of nodes.
    first_child: Vec<u32>,
    /// The leftmost leaf below each node.
    first_bin: Vec<u32>,
    bins: usize,
    /// Both parts below [`MAX_PART`].
    sensitivity_squared: Ratio<u64>,
}

/// Leaves room for products with the weights of contrasts, whose parts are below 2^30. The largest
/// part that a balanced tree leads to is below 2^29.
const MAX_PART: u64 = 1 << 34;

/// Why there is no such tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeOverBinsError {
    /// No bins, or more than [`MAX_BINS`].
    Bins,
    /// A node with more children than [`MAX_FAN_OUT`], or a balanced tree of fan-out below 2.
    FanOut,
    /// More levels than [`MAX_DEPTH`].
    Depth,
    /// A list of fan-outs that describes no tree: it ends too early or goes on too long.
    Listing,
    /// So many different fan-outs on one path that the sensitivity has no small fraction.
    Irregular,
}

impl fmt::Display for TreeOverBinsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeOverBinsError::Bins => write!(f, "the number of bins must be 1 to {MAX_BINS}"),
            TreeOverBinsError::FanOut => write!(f, "the branching must be 2 to {MAX_FAN_OUT}"),
            TreeOverBinsError::Depth => write!(f, "the tree is deeper than {MAX_DEPTH} levels"),
            TreeOverBinsError::Listing => {
                write!(f, "the numbers of children do not describe a tree")
            }
            TreeOverBinsError::Irregular => {
                write!(f, "a path has too many different numbers of children")
            }
        }
    }
}

impl std::error::Error for TreeOverBinsError {}

impl TreeOverBins {
    /// Groups of `fan_out` neighbouring bins, groups of `fan_out` neighbouring groups and so on up
    /// to one root; the last group of a level may be smaller. All bins are on the last level.
    pub fn balanced(bins: usize, fan_out: u32) -> Result<TreeOverBins, TreeOverBinsError> {
        if !(1..=MAX_BINS).contains(&bins) {
            return Err(TreeOverBinsError::Bins);
        }
        if !(2..=MAX_FAN_OUT).contains(&fan_out) {
            return Err(TreeOverBinsError::FanOut);
        }
        let mut widths = vec![bins];
        while let Some(&width @ 2..) = widths.last() {
            widths.push(width.div_ceil(fan_out as usize));
        }
        let inner = widths.windows(2).rev().flat_map(|level| {
            let (below, width) = (level[0], level[1]);
            let last = below - (width - 1) * fan_out as usize;
            (1..width).map(move |_| fan_out).chain([last as u32])
        });
        TreeOverBins::from_fan_outs(inner.chain((0..bins).map(|_| 0)))
    }

    /// The tree whose nodes, breadth first from the root, have these numbers of children, 0 for a
    /// leaf. Leaves may be on any level.
    pub fn from_fan_outs(
        fan_outs: impl IntoIterator<Item = u32>,
    ) -> Result<TreeOverBins, TreeOverBinsError> {
        let (mut first_child, mut next) = (Vec::new(), 1u32);
        let (mut depth, mut level_end, mut bins) = (0, 1, 0);
        for fan_out in fan_outs {
            // a node that no one before it has as a child
            if first_child.len() as u32 == next {
                return Err(TreeOverBinsError::Listing);
            }
            if first_child.len() as u32 == level_end {
                (depth, level_end) = (depth + 1, next);
            }
            first_child.push(next);
            next += fan_out;
            bins += usize::from(fan_out == 0);
            if fan_out > MAX_FAN_OUT {
                return Err(TreeOverBinsError::FanOut);
            }
            if depth > MAX_DEPTH {
                return Err(TreeOverBinsError::Depth);
            }
            // nodes that are announced have at least one leaf below each
            if bins + next as usize - first_child.len() > MAX_BINS {
                return Err(TreeOverBinsError::Bins);
            }
        }
        if first_child.len() as u32 != next {
            return Err(TreeOverBinsError::Listing);
        }
        first_child.push(next);
        let one = Ratio::from(1);
        let mut tree =
            TreeOverBins { first_child, first_bin: Vec::new(), bins, sensitivity_squared: one };
        tree.first_bin = tree.first_bins();
        tree.sensitivity_squared = tree.largest_path_sum().ok_or(TreeOverBinsError::Irregular)?;
        Ok(tree)
    }

    fn first_bins(&self) -> Vec<u32> {
        let mut leaves = vec![1; self.nodes()];
        for node in (0..self.nodes()).rev().filter(|&node| !self.is_leaf(node)) {
            leaves[node] = self.children(node).map(|child| leaves[child]).sum();
        }
        // in the same array: the numbers of leaves become sums over those before
        leaves[0] = 0;
        for node in 0..self.nodes() {
            let mut bin = leaves[node];
            for child in self.children(node) {
                bin += std::mem::replace(&mut leaves[child], bin);
            }
        }
        leaves
    }

    fn largest_path_sum(&self) -> Option<Ratio<u64>> {
        let mut largest = Ratio::from(0);
        let mut open = vec![(0, Ratio::from(1))];
        while let Some((node, sum)) = open.pop() {
            let m = self.children(node).len() as u64;
            if m == 0 {
                largest = sum.max(largest);
            } else {
                let below = sum.checked_add(&Ratio::new(m - 1, m + 1))?;
                if *below.numer().max(below.denom()) >= MAX_PART {
                    return None;
                }
                open.extend(self.children(node).map(|child| (child, below)));
            }
        }
        Some(largest)
    }

    /// 1 + the largest sum, over the ancestors of a leaf, of (m-1)/(m+1), m being their numbers of
    /// children; see [`Cascade`](super::line::Cascade) for what it measures.
    pub fn sensitivity_squared(&self) -> Ratio<u64> {
        self.sensitivity_squared
    }

    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Nodes are 0 .. this, breadth first; 0 is the root.
    pub fn nodes(&self) -> usize {
        self.first_child.len() - 1
    }

    /// Empty for a leaf.
    pub fn children(&self, node: usize) -> Range<usize> {
        self.first_child[node] as usize..self.first_child[node + 1] as usize
    }

    pub fn is_leaf(&self, node: usize) -> bool {
        self.children(node).is_empty()
    }

    /// The leftmost leaf below a node; the node itself if it is a leaf.
    pub fn first_bin(&self, node: usize) -> usize {
        self.first_bin[node] as usize
    }

    /// The bins below each node.
    pub fn node_bins(&self) -> Vec<Range<usize>> {
        let mut all = vec![0..self.bins; self.nodes()];
        for node in 0..self.nodes() {
            for (child, bins) in self.spans(node, all[node].end) {
                all[child] = bins;
            }
        }
        all
    }

    /// The children of a node that ends before bin `end`, each with its bins.
    pub(super) fn spans(
        &self,
        node: usize,
        end: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>)> {
        let children = self.children(node);
        let last = children.end;
        children.map(move |child| {
            let child_end = if child + 1 < last { self.first_bin(child + 1) } else { end };
            (child, self.first_bin(child)..child_end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::contrasts::contrast_weight;
    use super::*;

    #[test]
    fn a_balanced_tree_groups_neighbours() {
        let tree = TreeOverBins::balanced(7, 3).unwrap();
        assert_eq!(tree.nodes(), 1 + 3 + 7);
        assert_eq!(tree.node_bins()[..4], [0..7, 0..3, 3..6, 6..7]);
        assert!((0..7).all(|bin| tree.first_bin(4 + bin) == bin && tree.is_leaf(4 + bin)));
        assert_eq!(TreeOverBins::balanced(1, 2).unwrap().nodes(), 1);
        assert_eq!(TreeOverBins::balanced(5, 2).unwrap().nodes(), 1 + 2 + 3 + 5);
    }

    #[test]
    fn leaves_may_be_on_any_level() {
        // the root's children are a bin, a pair and a chain to a bin
        let tree = TreeOverBins::from_fan_outs([3, 0, 2, 1, 0, 0, 0]).unwrap();
        assert_eq!(tree.bins(), 4);
        assert_eq!(tree.node_bins(), [0..4, 0..1, 1..3, 3..4, 1..2, 2..3, 3..4]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for (listing, error) in [
            (vec![], TreeOverBinsError::Listing),
            (vec![0, 0], TreeOverBinsError::Listing),
            (vec![2, 0], TreeOverBinsError::Listing),
            (vec![MAX_FAN_OUT + 1], TreeOverBinsError::FanOut),
            (vec![1; MAX_DEPTH as usize + 2], TreeOverBinsError::Depth),
        ] {
            assert_eq!(TreeOverBins::from_fan_outs(listing), Err(error));
        }
        assert!(TreeOverBins::from_fan_outs((0..MAX_DEPTH).map(|_| 1).chain([0])).is_ok());
        // denominators 1, 2, 3, ...: their least common multiple goes on growing
        let below = (2..49).flat_map(|m| (1..m).map(|_| 0).chain([m + 1])).chain([0; 49]);
        let various = [2].into_iter().chain(below);
        assert_eq!(TreeOverBins::from_fan_outs(various), Err(TreeOverBinsError::Irregular));
        // parts of 41 bits: the products with the weights of 1024 children would have up to 70
        let path = [16, 18, 22, 28, 36, 42, 46];
        let below = path.windows(2).flat_map(|m| (1..m[0]).map(|_| 0).chain([m[1]]));
        let beside = [12, MAX_FAN_OUT].into_iter().chain([0; 10]).chain([16]);
        let various = beside.chain([0; MAX_FAN_OUT as usize]).chain(below).chain([0; 46]);
        assert_eq!(TreeOverBins::from_fan_outs(various), Err(TreeOverBinsError::Irregular));
        let endless = (0..).map(|_| MAX_FAN_OUT);
        assert_eq!(TreeOverBins::from_fan_outs(endless), Err(TreeOverBinsError::Bins));
        assert_eq!(TreeOverBins::balanced(0, 2), Err(TreeOverBinsError::Bins));
        assert_eq!(TreeOverBins::balanced(MAX_BINS + 1, 2), Err(TreeOverBinsError::Bins));
        assert_eq!(TreeOverBins::balanced(8, 1), Err(TreeOverBinsError::FanOut));
        assert_eq!(TreeOverBins::balanced(8, MAX_FAN_OUT + 1), Err(TreeOverBinsError::FanOut));
    }

    #[test]
    fn products_of_the_sensitivity_and_a_weight_do_not_overflow() {
        for (m, j) in (2..=MAX_FAN_OUT as usize).flat_map(|m| (1..m).map(move |j| (m, j))) {
            let weight = contrast_weight(m, j);
            let part = *weight.numer().max(weight.denom());
            assert!(MAX_PART.checked_mul(part).is_some(), "{m} {j}");
        }
    }
}
