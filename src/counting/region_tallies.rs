//! The histograms of regions that are known by their paths, also counted by several processes.
//!
//! Each process numbers the regions that it meets on its own. What it passes on are paths and
//! histograms, as bytes: for each region its path and its runs, as postcard writes them.

use super::group_key::{GroupKey, KeyColumn, KeyHasher, KeyMaker};
use super::key_numbers::KeyNumbers;
use super::tallies::Tallies;
use crate::coco::Coco;
use crate::coco::{CocoFormatError, take_histogram};
use crate::path::Path;
use crate::work::{Paced, done};
use rand::Rng;
use serde::Serialize;

/// Regions' paths from below the root, each with its histogram.
pub type RegionHistograms = Vec<(Path, Coco)>;

/// More than [`RegionTallies::MOST_REGIONS`] regions, or [`RegionTallies::MOST_NAME_BYTES`] in
/// their paths. Regions are public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyRegions;

/// Counts the groups of each region and size.
pub struct RegionTallies {
    /// By number.
    paths: Vec<Path>,
    numbers: KeyNumbers,
    keys: KeyMaker,
    tallies: Tallies,
    name_bytes: usize,
    most_regions: usize,
}

const _: () = assert!(RegionTallies::MOST_REGIONS <= KeyNumbers::MOST);

impl RegionTallies {
    pub fn new(words: &mut impl Rng) -> RegionTallies {
        RegionTallies {
            paths: Vec::new(),
            numbers: KeyNumbers::new(KeyHasher::new(words)),
            keys: KeyMaker::new(&[KeyColumn::Varying], words),
            tallies: Tallies::new(words),
            name_bytes: 0,
            most_regions: RegionTallies::MOST_REGIONS,
        }
    }

    /// The same for groups whose number is private.
    pub fn with_private_groups(self) -> RegionTallies {
        RegionTallies { tallies: self.tallies.with_private_groups(), ..self }
    }

    /// How many regions may occur. A release of so many with short names and few sizes takes 0.5 KB for
    /// each, 4 GB in all.
    pub const MOST_REGIONS: usize = 1 << 23;

    /// How many bytes their paths may take, 32 a region where there are most of them. With these
    /// and the pairs that [`Tallies`] hold, what [`write_histograms`] makes fits into a datum.
    pub const MOST_NAME_BYTES: usize = 1 << 28;

    /// The number of the region with that path; a new one if it did not occur before.
    ///
    /// Errors: the region is one too many.
    pub fn number(&mut self, path: Path) -> Result<u32, TooManyRegions> {
        let key = self.keys.of(path.as_bytes());
        self.number_with(key, path)
    }

    fn number_with(&mut self, key: GroupKey, path: Path) -> Result<u32, TooManyRegions> {
        let new = match self.numbers.find(key) {
            Ok(number) => return Ok(number),
            Err(new) => new,
        };
        let bytes = path.name_bytes();
        if self.paths.len() == self.most_regions || bytes > Self::MOST_NAME_BYTES - self.name_bytes
        {
            return Err(TooManyRegions);
        }
        self.name_bytes += bytes;
        self.paths.push(path);
        Ok(self.numbers.put(new))
    }

    /// The number of the region with that path, if there is one so far.
    pub fn known(&mut self, path: &Path) -> Option<u32> {
        self.numbers.find(self.keys.of(path.as_bytes())).ok()
    }

    /// The regions so far, by their numbers.
    pub fn regions(&self) -> &[Path] {
        &self.paths
    }

    /// Adds `groups` groups of one size to the region of that number; as [`Tallies::add`].
    #[inline]
    pub fn add(&mut self, region: u32, size: u32, groups: u64) {
        self.tallies.add(region, size, groups);
    }

    /// Adds histograms, of one region or of several. Sizes above `max_size` count at it.
    ///
    /// Errors: as for `number`.
    pub fn add_histograms(
        &mut self,
        histograms: RegionHistograms,
        max_size: u32,
    ) -> Result<(), TooManyRegions> {
        let mut keys = Vec::with_capacity(AT_A_TIME);
        let mut rest = histograms.into_iter();
        while !rest.as_slice().is_empty() {
            let some = rest.as_slice().iter().take(AT_A_TIME);
            keys.clear();
            keys.extend(some.map(|(path, _)| self.keys.of(path.as_bytes())));
            self.numbers.fetch(&keys);
            for (&key, (path, histogram)) in keys.iter().zip(&mut rest) {
                let region = self.number_with(key, path)?;
                for run in histogram.runs() {
                    let size = u32::try_from(run.size).unwrap_or(u32::MAX).min(max_size);
                    self.add(region, size, run.groups);
                }
                done(histogram.runs().len() as u64);
            }
        }
        Ok(())
    }

    /// The histograms of all regions, by their numbers.
    pub fn by_number(self) -> Vec<Coco> {
        self.tallies.histograms(self.paths.len())
    }

    /// The histograms of all regions, with their paths.
    pub fn histograms(self) -> RegionHistograms {
        drop(self.numbers); // as large as what follows
        let histograms = self.tallies.histograms(self.paths.len());
        self.paths.into_iter().zip(histograms).collect()
    }
}

/// So many regions' places are fetched at a time.
const AT_A_TIME: usize = 64;

/// Histograms as bytes, after a first one. A run of a size up to 5,000,000 and of less than 128
/// groups takes at most 5.
pub fn write_histograms(histograms: &RegionHistograms, first: u8) -> Vec<u8> {
    let mut bytes = vec![first];
    for (path, histogram) in histograms {
        bytes = extended(bytes, path);
        bytes = extended(bytes, &histogram.runs().len());
        bytes = histogram.runs().iter().paced().fold(bytes, extended);
    }
    bytes
}

fn extended<T: Serialize + ?Sized>(bytes: Vec<u8>, value: &T) -> Vec<u8> {
    // writing into a growing vector cannot fail
    postcard::to_extend(value, bytes).unwrap_or_default()
}

/// What [`write_histograms`] has written after the first byte.
pub fn read_histograms(mut bytes: &[u8]) -> Result<RegionHistograms, CocoFormatError> {
    let mut histograms = Vec::new();
    while !bytes.is_empty() {
        let (path, histogram);
        (path, bytes) = postcard::take_from_bytes(bytes).map_err(|_| CocoFormatError::Corrupt)?;
        (histogram, bytes) = take_histogram(bytes)?;
        histograms.push((path, histogram));
    }
    Ok(histograms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coco::{LARGEST, Run};
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeMap;

    type Groups = (Path, u32, u64);

    fn tallies(seed: u64) -> RegionTallies {
        RegionTallies::new(&mut ChaCha20Rng::seed_from_u64(seed))
    }

    fn counted(seed: u64, groups: &[Groups]) -> RegionHistograms {
        let mut tallies = tallies(seed);
        for (path, size, groups) in groups {
            let region = tallies.number(path.clone()).unwrap();
            tallies.add(region, *size, *groups);
        }
        tallies.histograms()
    }

    /// Some groups in regions of two levels, of which some read alike when joined, or are empty.
    fn groups() -> impl Strategy<Value = Vec<Groups>> {
        let path = prop::collection::vec(prop::sample::select(vec!["", "a", "b", "ab", "ä"]), 2);
        let path = path.prop_map(|path| path.into_iter().collect::<Path>());
        let size = prop_oneof![0..20u32, 0..100_000u32, Just(u32::MAX)];
        prop::collection::vec((path, size, 1..3u64), 0..2000)
    }

    proptest! {
        #[test]
        fn parts_that_processes_pass_on_add_up_to_the_whole(
            groups in groups(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(groups.len() + 1)).collect();
            cuts.extend([0, groups.len()]);
            cuts.sort_unstable();
            let mut whole = tallies(0);
            for (seed, cut) in (1..).zip(cuts.windows(2)) {
                let part = write_histograms(&counted(seed, &groups[cut[0]..cut[1]]), 1);
                let part = read_histograms(&part[1..]).unwrap();
                prop_assert_eq!(whole.add_histograms(part, u32::MAX), Ok(()));
            }
            let mut expected = BTreeMap::<Path, Vec<Run>>::new();
            for (path, size, groups) in groups {
                expected.entry(path).or_default().push(Run { size: size.into(), groups });
            }
            let expected: BTreeMap<_, Coco> =
                expected.into_iter().map(|(path, runs)| (path, runs.into_iter().collect())).collect();
            prop_assert_eq!(BTreeMap::from_iter(whole.histograms()), expected);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_valid_histograms(
            groups in groups(),
            place in any::<prop::sample::Index>(),
            change in 1..=255u8,
            end in any::<prop::sample::Index>(),
        ) {
            let mut bytes = write_histograms(&counted(1, &groups), 1).split_off(1);
            prop_assume!(!bytes.is_empty());
            let place = place.index(bytes.len());
            bytes[place] ^= change;
            bytes.truncate(end.index(bytes.len() + 1));
            if let Ok(histograms) = read_histograms(&bytes) {
                for (_, histogram) in histograms {
                    prop_assert_eq!(Coco::from_sorted_runs(histogram.runs().to_vec()), Some(histogram));
                }
            }
        }
    }

    #[test]
    fn as_many_pairs_as_there_may_be_fit_into_a_datum_with_the_names() {
        // each pair with 127 groups: 17 billion in all
        let run = Run { size: 5_000_000, groups: 127 };
        let length = |runs| {
            let histograms = vec![(Path::default(), Coco::from_ascending(runs))];
            write_histograms(&histograms, 1).len()
        };
        let taken = length(vec![run].into_iter()) - length(vec![].into_iter());
        let lengths = 8 * RegionTallies::MOST_REGIONS; // of paths, names and histograms
        let names = RegionTallies::MOST_NAME_BYTES + lengths;
        assert!(taken * Tallies::MOST_PAIRS + names < (1 << 30) - (1 << 20));
    }

    #[test]
    fn too_many_regions_are_an_error() {
        let path = |name: &str| [name].into_iter().collect::<Path>();
        let mut tallies = RegionTallies { most_regions: 2, ..tallies(1) };
        let numbers = ["a", "b", "a", "c", "b"].map(|name| tallies.number(path(name)));
        assert_eq!(numbers, [Ok(0), Ok(1), Ok(0), Err(TooManyRegions), Ok(1)]);
        let other = vec![(path("c"), Coco::default())];
        assert_eq!(tallies.add_histograms(other, 7), Err(TooManyRegions));
        let name_bytes = RegionTallies::MOST_NAME_BYTES - 2;
        let mut tallies = RegionTallies { name_bytes, ..super::tests::tallies(1) };
        let numbers = ["", "ab", "c", "ab"].map(|name| tallies.number(path(name)));
        assert_eq!(numbers, [Ok(0), Ok(1), Err(TooManyRegions), Ok(1)]);
    }

    #[test]
    fn numbers_of_groups_and_sizes_saturate() {
        let path: Path = ["r"].into_iter().collect();
        let of = |size, groups| {
            vec![(path.clone(), Coco::from_ascending([Run { size, groups }].into_iter()))]
        };
        let mut tallies = tallies(1);
        for part in [of(LARGEST, LARGEST), of(1 << 40, 7)] {
            assert_eq!(tallies.add_histograms(part, u32::MAX), Ok(()));
        }
        // with so many groups sizes count at a bound
        assert_eq!(tallies.histograms(), of(Tallies::MOST_PAIRS as u64, LARGEST));
    }
}
