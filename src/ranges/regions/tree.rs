//! The tree of regions, by numbers alone.

use crate::ranges::spending::MOST_PARTS;
use std::ops::Range;

/// Regions level by level, the root first. The children of a region stand together, in the order of
/// their parents, and all leaves are on the last level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionTree {
    /// of each region
    children: Vec<Range<usize>>,
    levels: Vec<Range<usize>>,
}

impl RegionTree {
    /// `fan_outs`: how many children each region has, for every level but the last, from the root
    /// down; for a root alone there are none.
    ///
    /// None if a region above the last level has no children, or a level lists other regions than
    /// there are, or there are more levels than a budget has parts.
    pub fn new(fan_outs: &[Vec<usize>]) -> Option<RegionTree> {
        if fan_outs.len() >= MOST_PARTS as usize {
            return None;
        }
        let mut levels: Vec<Range<usize>> = std::iter::once(0..1).collect();
        let mut children = Vec::new();
        let mut next = 1;
        for fan_outs in fan_outs {
            let first = next;
            if fan_outs.len() != levels.last()?.len() {
                return None;
            }
            for &fan_out in fan_outs {
                if fan_out == 0 {
                    return None;
                }
                children.push(next..next + fan_out);
                next += fan_out;
            }
            levels.push(first..next);
        }
        children.resize(next, 0..0);
        Some(RegionTree { children, levels })
    }

    /// How many regions there are.
    pub fn regions(&self) -> usize {
        self.children.len()
    }

    /// How many levels there are, the root's included.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The regions of a level.
    pub fn level(&self, level: usize) -> Range<usize> {
        self.levels[level].clone()
    }

    pub fn leaves(&self) -> Range<usize> {
        self.level(self.levels() - 1)
    }

    pub fn children(&self, region: usize) -> Range<usize> {
        self.children[region].clone()
    }

    /// The regions above the leaves, each with its level, from the root down.
    pub(super) fn parents(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let above = self.levels[..self.levels() - 1].iter().enumerate();
        above.flat_map(|(level, regions)| regions.clone().map(move |region| (level, region)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_numbered_level_by_level() {
        let tree = RegionTree::new(&[vec![2], vec![3, 1]]).unwrap();
        assert_eq!((tree.regions(), tree.levels()), (7, 3));
        assert_eq!((tree.level(0), tree.level(1), tree.leaves()), (0..1, 1..3, 3..7));
        assert_eq!([0, 1, 2, 3].map(|region| tree.children(region)), [1..3, 3..6, 6..7, 0..0]);
        assert_eq!(tree.parents().collect::<Vec<_>>(), [(0, 0), (1, 1), (1, 2)]);
        let root = RegionTree::new(&[]).unwrap();
        assert_eq!((root.regions(), root.levels(), root.leaves()), (1, 1, 0..1));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for fan_outs in [vec![vec![0]], vec![vec![]], vec![vec![2, 1]], vec![vec![2], vec![1]]] {
            assert_eq!(RegionTree::new(&fan_outs), None, "{fan_outs:?}");
        }
    }
}
