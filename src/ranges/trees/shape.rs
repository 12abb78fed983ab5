//! The tree over the bins that the hierarchical methods share.

use std::ops::Range;

/// A tree of branching factor b over N bins whose leaves, level 0, are the bins; node j of level l
/// covers the bins from j b^l on, b^l of them. What would lie beyond bin N - 1 is lacking, so the
/// *last* node of a level can cover fewer bins and have fewer children than the *regular* ones, all
/// of which are alike: whatever holds for a level is stated by two numbers.
///
/// The root is level h, the smallest h >= 1 with b^h >= N. (Qardaji et al. count the leaves as
/// level 1 and the root as level h + 1.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeShape {
    bins: usize,
    branching: usize,
    height: usize,
}

impl TreeShape {
    /// # Panics
    /// If there are no bins, or the branching factor is below 2.
    pub fn new(bins: usize, branching: usize) -> TreeShape {
        assert!(bins > 0 && branching > 1, "{bins} bins, branching {branching}");
        let mut height = 1;
        let mut width = branching;
        while width < bins {
            width = width.saturating_mul(branching);
            height += 1;
        }
        TreeShape { bins, branching, height }
    }

    /// N.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// b.
    pub fn branching(&self) -> usize {
        self.branching
    }

    /// h, the root's level.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The bins under a regular node; the root, which is no regular node, has min(b^h, N) or fewer.
    pub fn width(&self, level: usize) -> usize {
        self.branching.saturating_pow(level as u32)
    }

    /// The number of nodes of a level.
    pub fn nodes(&self, level: usize) -> usize {
        self.bins.div_ceil(self.width(level))
    }

    /// The number of nodes below the root.
    pub fn measured_nodes(&self) -> usize {
        (0..self.height).map(|level| self.nodes(level)).sum()
    }

    pub fn is_last(&self, level: usize, node: usize) -> bool {
        node + 1 == self.nodes(level)
    }

    /// The children of a node, as nodes of the level below; `level` > 0.
    pub fn children(&self, level: usize, node: usize) -> Range<usize> {
        let first = node * self.branching;
        first..(first + self.branching).min(self.nodes(level - 1))
    }

    /// The number of children of the level's last node; `level` > 0.
    pub fn children_of_last(&self, level: usize) -> usize {
        self.nodes(level - 1) - (self.nodes(level) - 1) * self.branching
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_trees_lack_the_rest() {
        let shape = TreeShape::new(11, 3);
        assert_eq!(shape.height(), 3);
        let nodes: Vec<usize> = (0..=3).map(|level| shape.nodes(level)).collect();
        assert_eq!(nodes, [11, 4, 2, 1]);
        assert_eq!(shape.children(1, 3), 9..11);
        assert_eq!(shape.children(2, 1), 3..4);
        assert_eq!(shape.children_of_last(2), 1);
        assert_eq!(shape.children(3, 0), 0..2);
    }

    #[test]
    fn every_node_but_the_root_is_a_child_once() {
        for bins in 1..80 {
            for branching in 2..12 {
                let shape = TreeShape::new(bins, branching);
                let height = shape.height() as u32;
                assert!(branching.pow(height) >= bins);
                assert!(height == 1 || branching.pow(height - 1) < bins);
                assert_eq!(shape.nodes(shape.height()), 1);
                for level in 1..=shape.height() {
                    let children: Vec<usize> = (0..shape.nodes(level))
                        .flat_map(|node| shape.children(level, node))
                        .collect();
                    assert_eq!(children, (0..shape.nodes(level - 1)).collect::<Vec<_>>());
                    let last = shape.children(level, shape.nodes(level) - 1);
                    assert_eq!(last.len(), shape.children_of_last(level));
                }
            }
        }
    }

    #[test]
    fn a_branching_factor_of_any_size_is_no_overflow() {
        let shape = TreeShape::new(1 << 24, usize::MAX);
        assert_eq!((shape.height(), shape.nodes(1)), (1, 1));
        assert_eq!(shape.children(1, 0), 0..1 << 24);
    }
}
