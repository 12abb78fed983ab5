//! The path of a region: the names of the regions that it lies in, from below the root, and its own.
//!
//! There may be millions of them, and most work with them is to compare them. So a path is one text,
//! each name followed by a NUL, which no text of PostgreSQL holds: paths are in the order of their
//! names, and a region lies in another if its path begins with that of the other.

use serde::{Deserialize, Serialize};
use std::fmt;

/// In the order of the names, one after the other.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path(Box<str>);

const END: char = '\0';

impl Path {
    /// From below the root on.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split_terminator(END)
    }

    /// The number of names: 0 for the root.
    pub fn depth(&self) -> usize {
        self.as_bytes().iter().filter(|byte| **byte == END as u8).count()
    }

    /// Different for different paths.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Those of two paths, where they differ, are in the order of the paths.
    pub fn first_bytes(&self) -> [u8; 16] {
        let mut first = [0; 16];
        let known = self.0.len().min(first.len());
        first[..known].copy_from_slice(&self.as_bytes()[..known]);
        first
    }

    /// The bytes of all names.
    pub fn name_bytes(&self) -> usize {
        self.0.len() - self.depth()
    }

    pub fn to_vec(&self) -> Vec<String> {
        self.names().map(String::from).collect()
    }

    /// Whether it is `other` or lies in it.
    pub fn is_within(&self, other: &Path) -> bool {
        self.0.starts_with(&*other.0)
    }

    /// So many of the first names, which it has.
    pub fn above(&self, depth: usize) -> Path {
        let mut ends = self.0.match_indices(END).map(|(place, _)| place + 1);
        let end = depth.checked_sub(1).map_or(Some(0), |names| ends.nth(names));
        Path(self.0[..end.unwrap_or(self.0.len())].into())
    }

    /// From below `root` on, if it lies in that.
    pub fn below(&self, root: &Path) -> Option<Path> {
        self.0.strip_prefix(&*root.0).map(|rest| Path(rest.into()))
    }

    /// The same below `root`.
    pub fn moved_below(&self, root: &Path) -> Path {
        Path([&*root.0, &*self.0].concat().into())
    }
}

/// A path as one text that people read, each as another: names joined by `/`, where `/` and `\` get a
/// `\` in front. The root, which has no name, is `(all)`.
pub fn label<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut label = String::new();
    let mut depth = 0;
    for name in names {
        if depth > 0 {
            label.push('/');
        }
        depth += 1;
        for character in name.chars() {
            if matches!(character, '/' | '\\') {
                label.push('\\');
            }
            label.push(character);
        }
    }
    match depth {
        0 => ROOT.to_string(),
        1 if label == ROOT => format!("\\{ROOT}"),
        _ => label,
    }
}

/// What the root is called among labels.
const ROOT: &str = "(all)";

/// Most paths are no longer, and need not grow.
const FEW_BYTES: usize = 32;

impl<S: AsRef<str>> FromIterator<S> for Path {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Path {
        let mut path = String::with_capacity(FEW_BYTES);
        for name in names {
            // a name that is not PostgreSQL's may hold one
            path.extend(name.as_ref().split(END));
            path.push(END);
        }
        Path(path.into())
    }
}

impl From<Vec<String>> for Path {
    fn from(names: Vec<String>) -> Path {
        names.iter().collect()
    }
}

impl From<&[String]> for Path {
    fn from(names: &[String]) -> Path {
        names.iter().collect()
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(
            prop::sample::select(vec![
                "",
                "a",
                "b",
                "ab",
                "a b",
                "ä",
                "a long name",
                "a long nape",
            ]),
            0..4,
        )
        .prop_map(|names| names.into_iter().map(String::from).collect())
    }

    #[test]
    fn labels_can_be_told_apart() {
        let mut seen = std::collections::HashMap::new();
        for text in ["", "/", "\\", "a", "a/b", "(all)", "\\(all)", "a\\", "/a", "ä/"] {
            for path in [vec![], vec![text], vec![text, "b"], vec!["a", text], vec![text, text]] {
                let of = label(path.iter().copied());
                let other = seen.insert(of.clone(), path.clone());
                assert!(other.is_none_or(|other| other == path), "{of:?}");
            }
        }
        let labelled = |names: &[&str]| label(names.iter().copied());
        assert_eq!(labelled(&[]), "(all)");
        assert_eq!(labelled(&["(all)"]), "\\(all)");
        assert_eq!(labelled(&["(all)", "b"]), "(all)/b");
        assert_eq!(labelled(&["a/b\\", "", "/"]), "a\\/b\\\\//\\/");
    }

    proptest! {
        #[test]
        fn paths_are_as_lists_of_names(a in names(), b in names(), levels in 0usize..4) {
            let paths = [&a, &b].map(|names| Path::from(names.as_slice()));
            prop_assert_eq!(paths[0].to_vec(), a.clone());
            prop_assert_eq!(paths[0].depth(), a.len());
            prop_assert_eq!(paths[0].name_bytes(), a.iter().map(String::len).sum::<usize>());
            prop_assert_eq!(paths[0].cmp(&paths[1]), a.cmp(&b));
            prop_assert_eq!(paths[0] == paths[1], a == b);
            if paths[0].first_bytes() != paths[1].first_bytes() {
                prop_assert_eq!(paths[0].first_bytes().cmp(&paths[1].first_bytes()), a.cmp(&b));
            }
            prop_assert_eq!(paths[0].is_within(&paths[1]), a.starts_with(&b));
            let below = a.strip_prefix(b.as_slice()).map(Path::from);
            prop_assert_eq!(paths[0].below(&paths[1]), below);
            prop_assert_eq!(paths[0].moved_below(&paths[1]).to_vec(), [b, a.clone()].concat());
            let levels = levels.min(a.len());
            prop_assert_eq!(paths[0].above(levels).to_vec(), &a[..levels]);
        }
    }

    #[test]
    fn the_root_is_not_a_region_without_a_name() {
        let nameless = Path::from(vec![String::new()]);
        assert_ne!(nameless, Path::default());
        assert_eq!(nameless.depth(), 1);
        assert_eq!(Path::from(vec!["a\0b".to_string()]), Path::from(vec!["ab".to_string()]));
    }
}
