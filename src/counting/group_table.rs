//! As many groups as fit into memory, with their sizes.

use super::group_key::{GroupKey, KeyHasher};
use super::group_row::GroupRow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Counts the entities of groups, up to so many groups.
pub(super) struct GroupTable {
    groups: HashMap<GroupKey, CountedGroup, KeyHasher>,
    most_groups: usize,
    /// Larger sizes count at it.
    max_size: u32,
}

pub(super) struct CountedGroup {
    pub region: u32,
    pub size: u32,
}

impl GroupTable {
    /// In so many bytes of memory, or little more.
    pub(super) fn new(memory: usize, max_size: u32, hasher: KeyHasher) -> GroupTable {
        // it has a power of two of places, one byte each to find it, and stays 1/8 empty
        let places = memory / (size_of::<(GroupKey, CountedGroup)>() + 1);
        let places = if places < 16 { 16 } else { 1 << places.ilog2() };
        let groups = HashMap::with_hasher(hasher);
        GroupTable { groups, most_groups: places / 8 * 7, max_size }
    }

    /// Whether there was room for it. There always is for rows of no group, which do not count.
    #[inline]
    pub(super) fn count(&mut self, row: GroupRow) -> bool {
        let most = self.max_size;
        let add = |group: &mut CountedGroup| {
            group.size = group.size.saturating_add(row.entities).min(most);
        };
        if self.groups.len() < self.most_groups {
            match (self.groups.entry(row.key), row.region) {
                (Entry::Occupied(mut group), _) => add(group.get_mut()),
                (Entry::Vacant(place), Some(region)) => {
                    place.insert(CountedGroup { region, size: row.entities.min(most) });
                }
                (Entry::Vacant(_), None) => {}
            }
        } else if let Some(group) = self.groups.get_mut(&row.key) {
            add(group);
        } else {
            return row.region.is_none();
        }
        true
    }

    pub(super) fn region(&self, key: &GroupKey) -> Option<u32> {
        self.groups.get(key).map(|group| group.region)
    }

    /// Takes all groups out, in no order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (GroupKey, CountedGroup)> {
        self.groups.drain()
    }

    /// One without groups, in so much memory.
    pub(super) fn with_memory(&self, memory: usize) -> GroupTable {
        GroupTable::new(memory, self.max_size, self.groups.hasher().clone())
    }
}
