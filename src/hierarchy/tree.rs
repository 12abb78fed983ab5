//! The tree of regions, built from the paths of its leaves.

use crate::coco::Coco;
use crate::path::Path;
use crate::work::done;
use std::fmt;
use std::ops::Range;

/// A region, and where its children stand in [`Tree::regions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub path: Path,
    pub children: Range<usize>,
}

/// All regions level by level, in the order of their paths within a level.
#[derive(Debug, Clone)]
pub struct Tree {
    regions: Vec<Region>,
    levels: Vec<Range<usize>>,
}

/// To compare two paths takes about as long as so many draws of noise.
const DRAWS_PER_PATH: u64 = 4;

/// A path as PostgreSQL prints it.
pub fn path_text<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted = |name: S| {
        let name = name.as_ref();
        let special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_whitespace();
        if name.is_empty() || name.eq_ignore_ascii_case("null") || name.contains(special) {
            format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
        } else {
            name.to_string()
        }
    };
    format!("{{{}}}", names.into_iter().map(quoted).collect::<Vec<_>>().join(","))
}

/// The leaf paths do not form a tree. Regions are public, so the path may be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeError {
    WrongDepth { path: Vec<String>, depth: usize },
    DuplicateLeaf { path: Vec<String> },
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::WrongDepth { path, depth } => {
                let (text, length) = (path_text(path), path.len());
                write!(f, "region {text} has {length} path elements, expected {depth}")
            }
            TreeError::DuplicateLeaf { path } => {
                write!(f, "region {} occurs twice", path_text(path))
            }
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// The tree whose leaves have these paths, each of `depth` elements, and what belongs to each
    /// leaf in the tree's order. A depth of 0 gives the root alone; it is then the only leaf.
    ///
    /// Errors: a path of another length; a path that occurs twice.
    pub fn from_leaves<P: Into<Path>, T>(
        depth: usize,
        leaves: Vec<(P, T)>,
    ) -> Result<(Tree, Vec<T>), TreeError> {
        let leaves = leaves.into_iter().map(|(path, value)| (path.into(), value));
        let mut leaves: Vec<(Path, T)> = leaves.collect();
        if let Some((path, _)) = leaves.iter().find(|(path, _)| path.depth() != depth) {
            return Err(TreeError::WrongDepth { path: path.to_vec(), depth });
        }
        let one_more = || done(DRAWS_PER_PATH);
        // most are told apart by that, which lies together as paths do not
        leaves.sort_by_cached_key(|(path, _)| {
            one_more();
            path.first_bytes()
        });
        leaves.sort_by(|a, b| {
            one_more();
            a.0.cmp(&b.0)
        });
        let mut pairs = leaves.windows(2).inspect(|_| one_more());
        if let Some(pair) = pairs.find(|pair| pair[0].0 == pair[1].0) {
            return Err(TreeError::DuplicateLeaf { path: pair[0].0.to_vec() });
        }

        let region = |path| Region { path, children: 0..0 };
        let mut regions = Vec::new();
        let mut levels = Vec::new();
        for level in 0..depth {
            let begin = regions.len();
            let mut last: Option<Path> = (level == 0).then(Path::default);
            for (path, _) in &leaves {
                one_more();
                if !last.as_ref().is_some_and(|last| path.is_within(last)) {
                    regions.extend(last.replace(path.above(level)).map(region));
                }
            }
            regions.extend(last.map(region));
            levels.push(begin..regions.len());
        }
        let begin = regions.len();
        regions.reserve_exact(leaves.len());
        let mut values = Vec::with_capacity(leaves.len());
        for (path, value) in leaves {
            regions.push(region(path));
            values.push(value);
        }
        if depth == 0 && values.is_empty() {
            regions.push(region(Path::default()));
        }
        levels.push(begin..regions.len());
        for pair in levels.windows(2) {
            // parents and children are both in the order of their paths
            let mut next = pair[1].start;
            for parent in pair[0].clone() {
                let first = next;
                while next < pair[1].end && regions[next].path.is_within(&regions[parent].path) {
                    one_more();
                    next += 1;
                }
                regions[parent].children = first..next;
            }
        }
        Ok((Tree { regions, levels }, values))
    }

    /// The same tree with that region for its root.
    pub fn moved_below(mut self, root: &[String]) -> Tree {
        if !root.is_empty() {
            let root = Path::from(root);
            for region in &mut self.regions {
                region.path = region.path.moved_below(&root);
            }
        }
        self
    }

    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The paths of all regions, in their order.
    pub fn into_paths(self) -> impl Iterator<Item = Path> {
        self.regions.into_iter().map(|region| region.path)
    }

    /// The number of levels, the root's included.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Where the regions of a level stand in [`Tree::regions`].
    pub fn level(&self, level: usize) -> Range<usize> {
        self.levels[level].clone()
    }

    /// The parent of each region of a level, in their order; None for the root.
    pub fn parents(&self, level: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        let root = (level == 0).then_some(None);
        let above = if level == 0 { 0..0 } else { self.level(level - 1) };
        let of_parent =
            |parent: usize| self.regions[parent].children.clone().map(move |_| Some(parent));
        root.into_iter().chain(above.flat_map(of_parent))
    }

    pub fn leaves(&self) -> Range<usize> {
        self.level(self.depth() - 1)
    }

    /// A histogram for every region from those of the leaves: each is the sum of its children.
    pub fn sums(&self, leaves: Vec<Coco>) -> Vec<Coco> {
        let mut sums = vec![Coco::default(); self.leaves().start];
        sums.extend(leaves);
        for region in (0..self.leaves().start).rev() {
            sums[region] = Coco::sum(&sums[self.regions[region].children.clone()]);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::watched;

    fn tree(depth: usize, leaves: &[&[&str]]) -> Result<Tree, TreeError> {
        let leaves = leaves.iter().map(|path| (path.iter().collect::<Path>(), ())).collect();
        Tree::from_leaves(depth, leaves).map(|(tree, _)| tree)
    }

    #[test]
    fn children_stand_together_below_their_parent() {
        let tree =
            tree(2, &[&["b", "x"], &["a", "y"], &["a", "x"], &["c", "x"], &["b", "a"]]).unwrap();
        let paths: Vec<String> = tree.regions().iter().map(|r| r.path.to_vec().join("/")).collect();
        assert_eq!(paths, ["", "a", "b", "c", "a/x", "a/y", "b/a", "b/x", "c/x"]);
        let children: Vec<_> = tree.regions().iter().map(|r| r.children.clone()).collect();
        assert_eq!(children[..4], [1..4, 4..6, 6..8, 8..9]);
        assert_eq!((tree.level(1), tree.leaves(), tree.depth()), (1..4, 4..9, 3));
        let parents = |level| tree.parents(level).collect::<Vec<_>>();
        assert_eq!(parents(0), [None]);
        assert_eq!(parents(1), [Some(0); 3]);
        assert_eq!(parents(2), [1, 1, 2, 2, 3].map(Some));
    }

    #[test]
    fn a_root_alone_and_a_root_without_leaves() {
        let alone = tree(0, &[&[]]).unwrap();
        assert_eq!((alone.depth(), alone.leaves()), (1, 0..1));
        let empty = tree(2, &[]).unwrap();
        assert_eq!((empty.regions().len(), empty.leaves()), (1, 1..1));
        assert_eq!(empty.sums(vec![]), [Coco::default()]);
    }

    #[test]
    fn many_leaves_can_be_given_up() {
        let names = (0..100_000u32).map(|i| (i * 7919 % 100_000).to_string());
        let leaves: Vec<_> = names.map(|name| (vec![name[..1].to_string(), name], ())).collect();
        let mut calls = 0;
        let (tree, _) = watched(&mut || calls += 1, || Tree::from_leaves(2, leaves)).unwrap();
        assert_eq!((tree.depth(), tree.leaves().len()), (3, 100_000));
        // one look at each for the pairs, and two for each of two levels
        assert!(calls >= 5 * 100_000 * DRAWS_PER_PATH / 100_000, "{calls}");
    }

    #[test]
    fn paths_that_are_no_tree_are_refused() {
        let owned = |path: &[&str]| path.iter().map(|s| s.to_string()).collect();
        assert_eq!(
            tree(2, &[&["a"]]).unwrap_err(),
            TreeError::WrongDepth { path: owned(&["a"]), depth: 2 }
        );
        assert_eq!(
            tree(1, &[&["a"], &["b"], &["a"]]).unwrap_err(),
            TreeError::DuplicateLeaf { path: owned(&["a"]) }
        );
    }
}
