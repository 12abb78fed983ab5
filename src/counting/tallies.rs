//! The histograms of many regions at once, from groups in any order.
//!
//! Most groups are small: those are counted in an array for each region. The others are counted in
//! a hash table that stays small, and put into sorted lists whenever it is full. Each list is at
//! least twice as long as the next, so a count is moved as often as the logarithm of their number
//! says.
//!
//! What is held is bounded by public numbers alone, and never by an error, which would tell how
//! many different sizes there are. Pairs of a region and a size are at most as many as groups.
//! Where there are more groups than [`Tallies::MOST_PAIRS`], sizes count at most at [`bound`],
//! which follows from the number of regions: then there are not more pairs than that either.
//! Numbers of regions are public, and numbers of groups, too, so one entity more or less still changes
//! one size by one. Where the number of groups is private, sizes count at most at a bound however many
//! groups there are: a bound that came with one group more would change many sizes, by much. It is one
//! for more pairs ([`Tallies::MOST_PRIVATE_PAIRS`]), since it cuts sizes of small tables, too.

use super::group_key::KeyHasher;
use crate::coco::{Coco, Run};
use crate::work::{Paced, poll};
use rand::Rng;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter::repeat;

/// Counts the groups of each region and size.
pub struct Tallies {
    /// Groups that are not counted yet. Counting many in a row lets the processor fetch the places
    /// of several at once.
    waiting: Vec<Groups>,
    /// For each region, the groups of each small size.
    small: Vec<[u64; SMALL]>,
    recent: HashMap<u64, u64, KeyHasher>,
    sorted: Vec<Vec<RegionCount>>,
    /// All groups so far.
    groups: u64,
    groups_are_private: bool,
    most_pairs: usize,
}

struct Groups {
    region: u32,
    size: u32,
    groups: u64,
}

/// How many groups wait to be counted.
const MOST_WAITING: usize = 1 << 10;

/// Sizes below this are small.
const SMALL: usize = 16;

/// How many counts are in the hash table before they are sorted, which takes milliseconds.
const MOST_RECENT: usize = 1 << 16;

/// The groups of one region and size. By the first, they are in the order of regions, then of
/// sizes.
type RegionCount = (u64, u64);

fn place(region: u32, size: u32) -> u64 {
    u64::from(region) << 32 | u64::from(size)
}

/// The largest size that is told apart where there may be more groups than `most_pairs`. Small ones
/// always are.
fn bound(most_pairs: usize, regions: usize) -> u32 {
    let sizes = most_pairs / regions.max(1);
    u32::try_from(sizes).unwrap_or(u32::MAX).max(SMALL as u32)
}

impl Tallies {
    /// How many pairs of a region and a size are held at the most, but for small sizes. While lists
    /// are merged, a pair takes up to 48 bytes, in each process that counts.
    pub const MOST_PAIRS: usize = 1 << 27;

    /// The same where the number of groups is private: twice the memory at the most, in one process.
    pub const MOST_PRIVATE_PAIRS: usize = 1 << 28;

    pub fn new(words: &mut impl Rng) -> Tallies {
        Tallies {
            waiting: Vec::with_capacity(MOST_WAITING),
            small: Vec::new(),
            recent: HashMap::with_hasher(KeyHasher::new(words)),
            sorted: Vec::new(),
            groups: 0,
            groups_are_private: false,
            most_pairs: Tallies::MOST_PAIRS,
        }
    }

    /// The same for groups whose number is private.
    pub fn with_private_groups(self) -> Tallies {
        Tallies { groups_are_private: true, most_pairs: Tallies::MOST_PRIVATE_PAIRS, ..self }
    }

    /// Adds `groups` groups of one size to a region; their number saturates. Regions are numbered
    /// from 0; each one up to the largest number takes 128 bytes.
    #[inline]
    pub fn add(&mut self, region: u32, size: u32, groups: u64) {
        self.waiting.push(Groups { region, size, groups });
        if self.waiting.len() == MOST_WAITING {
            self.count();
        }
    }

    /// Counts the groups that wait.
    fn count(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let regions = waiting.iter().map(|groups| groups.region as usize + 1).max().unwrap_or(0);
        if regions > self.small.len() {
            self.small.resize(regions, [0; SMALL]);
        }
        for Groups { region, size, groups } in waiting.drain(..) {
            let count = match self.small[region as usize].get_mut(size as usize) {
                Some(count) => count,
                None => self.recent.entry(place(region, size)).or_default(),
            };
            *count = count.saturating_add(groups);
            self.groups = self.groups.saturating_add(groups);
        }
        self.waiting = waiting;
        if self.recent.len() >= MOST_RECENT {
            self.sort_recent();
            // a pair may be in several lists; half as many again as may stay, as merging takes time
            if self.sorted.iter().map(Vec::len).sum::<usize>() > self.most_pairs / 2 * 3 {
                self.merge_all();
                self.bound_sizes(self.small.len());
            }
        }
    }

    /// Where there may be more groups than pairs, lets larger sizes count at the bound. With
    /// more regions it gets smaller, so that doing so early changes nothing of the result. To be
    /// called when there is one list.
    fn bound_sizes(&mut self, regions: usize) {
        if !self.groups_are_private && self.groups <= self.most_pairs as u64 {
            return;
        }
        let bound = u64::from(bound(self.most_pairs, regions));
        for list in &mut self.sorted {
            for (place, _) in list.iter_mut().paced() {
                *place = *place >> 32 << 32 | (*place & u64::from(u32::MAX)).min(bound);
            }
            list.dedup_by(|next, last| {
                let same = next.0 == last.0;
                last.1 = if same { last.1.saturating_add(next.1) } else { last.1 };
                same
            });
        }
    }

    fn sort_recent(&mut self) {
        let mut list: Vec<RegionCount> = self.recent.drain().collect();
        list.sort_unstable();
        poll();
        while let Some(longer) = self.sorted.pop_if(|last| last.len() < 2 * list.len()) {
            list = merged(&longer, &list);
        }
        self.sorted.push(list);
    }

    /// Leaves one list, or none.
    fn merge_all(&mut self) {
        let shortest_first = std::mem::take(&mut self.sorted).into_iter().rev();
        let all = shortest_first.reduce(|short, long| merged(&long, &short));
        self.sorted.extend(all);
    }

    /// The histograms of the first `regions` regions; there is none with a larger number.
    pub fn histograms(mut self, regions: usize) -> Vec<Coco> {
        self.count();
        self.sort_recent();
        self.merge_all();
        self.bound_sizes(regions);
        let counts = self.sorted.pop().unwrap_or_default();
        self.small.resize(regions, [0; SMALL]);
        let mut rest = counts.as_slice();
        let of_region = |(region, small): (usize, &[u64; SMALL])| {
            let end = rest.partition_point(|&(place, _)| place >> 32 <= region as u64);
            let (own, others) = rest.split_at(end);
            rest = others;
            let small = (0..).zip(small).filter(|(_, groups)| **groups > 0);
            let small = small.map(|(size, &groups)| Run { size, groups });
            let large = own
                .iter()
                .map(|&(place, groups)| Run { size: place & u64::from(u32::MAX), groups });
            // as long as it has to be from the beginning, as it need not be copied then
            let mut runs = Vec::with_capacity(small.clone().count() + own.len());
            runs.extend(small.chain(large));
            Coco::from_ascending(runs.into_iter())
        };
        self.small.iter().enumerate().map(of_region).collect()
    }
}

/// Both lists in one; what is counted in both is added up.
fn merged(a: &[RegionCount], b: &[RegionCount]) -> Vec<RegionCount> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let [mut a, mut b] = [a, b].map(|list| list.iter().copied().peekable());
    let mut merges = repeat(()).paced();
    while let (Some(&next_a), Some(&next_b)) = (a.peek(), b.peek()) {
        merges.next();
        let order = next_a.0.cmp(&next_b.0);
        all.push(match order {
            Ordering::Less => next_a,
            Ordering::Greater => next_b,
            Ordering::Equal => (next_a.0, next_a.1.saturating_add(next_b.1)),
        });
        a.next_if(|_| order.is_le());
        b.next_if(|_| order.is_ge());
    }
    all.extend(a.chain(b));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn tallies() -> Tallies {
        Tallies::new(&mut ChaCha20Rng::seed_from_u64(1))
    }

    /// The histograms of the first `regions` regions, made one by one.
    fn expected(regions: u32, groups: &[(u32, u32, u64)]) -> Vec<Coco> {
        let of_region = |region| {
            let own = groups.iter().filter(move |groups| groups.0 == region);
            own.map(|&(_, size, groups)| Run { size: size.into(), groups }).collect()
        };
        (0..regions).map(of_region).collect()
    }

    fn counted(regions: usize, groups: &[(u32, u32, u64)]) -> Vec<Coco> {
        let mut tallies = tallies();
        for &(region, size, groups) in groups {
            tallies.add(region, size, groups);
        }
        tallies.histograms(regions)
    }

    #[test]
    fn regions_without_groups_have_empty_histograms() {
        assert_eq!(counted(2, &[]), [Coco::default(), Coco::default()]);
        let groups = [(1, 3, 1), (1, 40, 2)];
        assert_eq!(counted(4, &groups), expected(4, &groups));
    }

    #[test]
    fn more_counts_than_the_table_holds_are_sorted_and_merged() {
        // each of 300,000 pairs three times, in an order that comes back to each much later
        let pairs = (0..900_000u64).map(|i| i * 7919 % 300_000);
        let groups: Vec<_> = pairs.map(|i| ((i % 3) as u32, (i / 3) as u32, 1)).collect();
        let all: Coco = (0..100_000).map(|size| Run { size, groups: 3 }).collect();
        assert_eq!(counted(3, &groups), vec![all; 3]);
    }

    #[test]
    fn numbers_saturate() {
        let largest = i64::MAX as u64;
        for size in [1, 1_000] {
            let groups = [(0, size, u64::MAX), (0, size, 5), (0, size + 1, 1)];
            let run = Run { size: size.into(), groups: largest };
            assert_eq!(counted(1, &groups)[0].runs(), [run]);
        }
    }

    #[test]
    fn with_many_groups_sizes_count_at_a_bound_that_follows_from_public_numbers() {
        // 600,000 pairs in two regions, which come up again and again, in lists that are merged
        // early
        let rows = |rows: u32| (0..rows).map(|i| (i % 2, i / 2 % 300_000 + SMALL as u32));
        let counted = |most_pairs, all| {
            let mut tallies = Tallies { most_pairs, ..tallies() };
            rows(all).for_each(|(region, size)| tallies.add(region, size, 1));
            tallies.histograms(3)
        };
        let at_most = |all, bound| {
            let groups: Vec<_> = rows(all).map(|(r, size)| (r, size.min(bound), 1)).collect();
            expected(3, &groups)
        };
        // as many groups as there may be pairs
        assert_eq!(counted(900_000, 900_000), at_most(900_000, u32::MAX));
        // one more, of three regions, one of which has none
        assert_eq!(counted(900_000, 900_001), at_most(900_001, 300_000));
        assert_eq!(counted(100_000, 900_000), at_most(900_000, 33_333));
        assert_eq!(counted(3, 900_000), at_most(900_000, SMALL as u32));
    }

    /// One group more never brings a bound that was not there.
    #[test]
    fn where_groups_are_private_the_bound_is_there_however_many_there_are() {
        let counted = |groups: u32| {
            let mut tallies = Tallies { most_pairs: 300, ..tallies().with_private_groups() };
            (0..groups).for_each(|i| tallies.add(i % 3, 90 + i, 1));
            tallies.histograms(3)
        };
        for groups in [1, 20, 299, 300, 301, 400] {
            let bounded: Vec<_> = (0..groups).map(|i| (i % 3, (90 + i).min(100), 1)).collect();
            assert_eq!(counted(groups), expected(3, &bounded), "{groups}");
        }
        // and is never below the largest size that a release may have, where regions are few
        let most = Tallies::MOST_PRIVATE_PAIRS;
        assert_eq!(tallies().with_private_groups().most_pairs, most);
        assert!(bound(most, 53) > 5_000_000);
    }

    #[test]
    fn no_more_pairs_are_held_than_there_may_be() {
        let mut tallies = Tallies { most_pairs: 100_000, ..tallies() };
        for i in 0..2_000_000u32 {
            tallies.add(i % 7, i, 1);
            let held: usize = tallies.sorted.iter().map(Vec::len).sum();
            assert!(held <= 150_000, "{held}");
        }
    }

    proptest! {
        #[test]
        fn random_groups_are_counted_as_one_region_at_a_time(
            groups in prop::collection::vec((0..4u32, 0..40u32, 0..3u64), 0..3000),
        ) {
            prop_assert_eq!(counted(4, &groups), expected(4, &groups));
        }

        #[test]
        fn merged_lists_hold_the_counts_of_both(
            a in prop::collection::btree_map(0..60u64, 1..9u64, 0..40),
            b in prop::collection::btree_map(0..60u64, 1..9u64, 0..40),
        ) {
            let lists = [&a, &b].map(|map| map.iter().map(|(&k, &n)| (k, n)).collect::<Vec<_>>());
            let mut sum = a.clone();
            b.iter().for_each(|(&place, &groups)| *sum.entry(place).or_default() += groups);
            let sum: Vec<_> = sum.into_iter().collect();
            prop_assert_eq!(merged(&lists[0], &lists[1]), sum);
        }
    }
}
