//! The first of many paths, in their order.

use super::RegionTallies;
use std::collections::BTreeSet;

/// Paths in their order, the first of all that are inserted, up to as many as there can be regions.
///
/// Where regions are found by coins, an error in place of the others would follow from coins that are
/// not shown, and be seen of each attempt that goes on under one charge. In which order paths are
/// inserted makes no difference: what was once too much, and all behind it, is never among the first.
pub struct FirstPaths {
    paths: BTreeSet<Vec<String>>,
    bytes: usize,
    /// The first of those that were too much.
    beyond: Option<Vec<String>>,
    most: usize,
    most_bytes: usize,
}

impl Default for FirstPaths {
    fn default() -> FirstPaths {
        FirstPaths::up_to(RegionTallies::MOST_REGIONS, RegionTallies::MOST_NAME_BYTES)
    }
}

impl FirstPaths {
    fn up_to(most: usize, most_bytes: usize) -> FirstPaths {
        FirstPaths { paths: BTreeSet::new(), bytes: 0, beyond: None, most, most_bytes }
    }

    /// `path`: none that was inserted before.
    pub fn insert(&mut self, path: Vec<String>) {
        if self.beyond.as_ref().is_some_and(|beyond| path >= *beyond) {
            return;
        }
        self.bytes += bytes(&path);
        self.paths.insert(path);
        while self.paths.len() > self.most || self.bytes > self.most_bytes {
            let Some(last) = self.paths.pop_last() else { return };
            self.bytes -= bytes(&last);
            self.beyond = Some(last);
        }
    }

    pub fn into_sorted(self) -> Vec<Vec<String>> {
        self.paths.into_iter().collect()
    }
}

fn bytes(path: &[String]) -> usize {
    path.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In any order: the longest beginning of all in their order that is within both limits.
        #[test]
        fn the_first_are_kept(
            paths in prop::collection::hash_set(prop::collection::vec("[ab]{0,4}", 2), 0..20),
            most in 0usize..12, most_bytes in 0usize..60,
        ) {
            let mut first = FirstPaths::up_to(most, most_bytes);
            paths.iter().for_each(|path| first.insert(path.clone())); // as they are hashed
            let mut sorted: Vec<_> = paths.into_iter().collect();
            sorted.sort();
            let mut room = most_bytes;
            let fits = |path: &Vec<String>| {
                let left = room.checked_sub(bytes(path));
                room = left.unwrap_or(0);
                left.is_some()
            };
            let expected: Vec<_> = sorted.into_iter().take(most).take_while(fits).collect();
            prop_assert_eq!(first.into_sorted(), expected);
        }
    }
}
