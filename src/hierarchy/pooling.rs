//! The regions of a level, inferred again once all are measured: those that lie in the same region above
//! say together what to expect of each, where they know it better than that one.
//!
//! Nothing is measured anew, so this is post-processing.

use super::measurement::{Measured, RegionMeasurement};
use crate::coco::{MOST_PLACES, MeasuredNumbers, Pool, Profile};
use crate::privacy::LaplaceMechanism;
use crate::work::{poll, share};
use std::num::NonZeroUsize;

/// With noise of less variance columns are not smoothed, and nothing shows which regions are alike.
const LEAST_VARIANCE: f64 = 1.0;

/// So many numbers are held at most, about.
const MOST_NUMBERS: f64 = (1 << 25) as f64;

/// Of two regions each would be told what to expect by its own noise.
const FEWEST: usize = 3;

/// A level whose regions follow what was released above them.
pub(super) struct Pooling<'a> {
    pub measurement: &'a RegionMeasurement,
    /// The public number of each region.
    pub groups: Vec<u64>,
    pub above: Above<'a>,
    /// K
    pub max_size: u64,
}

/// What is released of the regions above a level's.
pub(super) struct Above<'a> {
    /// Which of them holds each region.
    pub places: &'a [usize],
    /// As far as they have one.
    pub profiles: &'a [Profile],
}

impl Pooling<'_> {
    /// `None` where it can change nothing, or takes too much room.
    pub(super) fn worthwhile(self) -> Option<Self> {
        let noise = self.noise();
        let columns = |groups: &u64| (*groups).min(self.max_size);
        // rows are three times as many as columns at most; where groups are few the cut is recognised after some
        // times the noise's scale, and so many more rows are measured
        let rows = |groups: &u64| (*groups).min(self.max_size.saturating_mul(3));
        let numbers =
            |groups: &u64| (columns(groups) + rows(groups)) as f64 + 24.0 * noise.scale().as_f64();
        let fits = self.groups.iter().map(numbers).sum::<f64>() <= MOST_NUMBERS
            && self.groups.iter().map(columns).all(|columns| columns <= MOST_PLACES);
        let mut regions = self.pools().into_iter().enumerate();
        let knows = regions.any(|(place, regions)| self.knows_more(place, regions));
        (fits && noise.variance() >= LEAST_VARIANCE && knows).then_some(self)
    }

    fn noise(&self) -> &LaplaceMechanism {
        self.measurement.of_histogram().noise()
    }

    /// How many regions with groups lie in each region above. Of others nothing is measured.
    fn pools(&self) -> Vec<usize> {
        let mut counts = Vec::new();
        for (&place, &groups) in self.above.places.iter().zip(&self.groups) {
            if counts.len() <= place {
                counts.resize(place + 1, 0);
            }
            counts[place] += usize::from(groups > 0);
        }
        counts
    }

    /// Whether so many regions know more together than the one above that they lie in.
    fn knows_more(&self, place: usize, regions: usize) -> bool {
        let variance = regions as f64 * self.noise().variance();
        let above = self.above.profiles.get(place);
        regions >= FEWEST && above.is_none_or(|above| variance < above.variance())
    }

    /// `of_regions`: all of the level, with the numbers that they were made of.
    pub(super) fn infer_again(
        &self,
        of_regions: &mut [(Measured, Vec<MeasuredNumbers>)],
        threads: NonZeroUsize,
    ) {
        let pools = self.pools().into_iter().enumerate();
        let mut pools: Vec<Option<Pool>> = pools
            .map(|(place, regions)| {
                let pool = || Pool::new(self.max_size, self.noise().variance());
                self.knows_more(place, regions).then(pool)
            })
            .collect();
        for (number, (measured, numbers)) in of_regions.iter().enumerate() {
            poll();
            let pool = &mut pools[self.above.places[number]];
            if let (Measured::Estimate(estimate), Some(pool)) = (measured, pool)
                && self.groups[number] > 0
            {
                pool.add(estimate, numbers);
            }
        }
        let work: Vec<u64> = pools.iter().map(|pool| pool.as_ref().map_or(0, Pool::work)).collect();
        let profiles: Vec<Option<Profile>> = share(&work, threads, |place| {
            poll();
            pools[place].as_ref().map(Pool::profile)
        });
        let again = |number: usize| {
            poll();
            let below = profiles[self.above.places[number]].as_ref()?;
            self.measurement.again(self.groups[number], &of_regions[number].1, below)
        };
        let work = self.groups.iter().map(|groups| self.measurement.work(*groups, true));
        let inferred = share(&work.collect::<Vec<_>>(), threads, again);
        for ((measured, _), again) in of_regions.iter_mut().zip(inferred) {
            if let Some(estimate) = again {
                *measured = Measured::Estimate(estimate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::charge::Receipt;
    use crate::coco::{Coco, Estimator, HistogramMeasurement, Run, Tally, emd};
    use crate::hierarchy::{Mechanism, ReleaseRequest, Tree};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;
    use std::num::NonZeroUsize;

    const MAX_SIZE: u64 = 100;

    /// The mean errors of the root and of all leaves together, where the leaves alone are measured:
    /// released, and each leaf inferred by itself.
    fn errors(leaves: &[Coco], epsilon: f64) -> [[f64; 2]; 2] {
        let paths = (0..).map(|leaf| vec![format!("{leaf:03}")]);
        let leaves = paths.zip(leaves.iter().cloned()).collect();
        let (tree, leaves) = Tree::from_leaves(1, leaves).unwrap();
        let request = ReleaseRequest::new(2, epsilon).by(&["cut"], "bottom_up");
        let mechanism = Mechanism::new(&request.up_to(MAX_SIZE as i64)).unwrap();
        let alone = HistogramMeasurement::new(Estimator::Cut, MAX_SIZE, 1, epsilon).unwrap();
        let error = |released: &Coco, truth: &Coco| emd(released, truth).unwrap() as f64;
        let mut sums = [[0.0; 2]; 2];
        for seed in 0..20 {
            let words = &mut ChaCha20Rng::seed_from_u64(seed);
            let receipt = Receipt::uncharged(mechanism.clone());
            let one = NonZeroUsize::MIN;
            let released = receipt.release(&tree, leaves.clone(), words, one, &mut ()).unwrap();
            let released = released.histograms.iter().map(|released| released.histogram().clone());
            let by_themselves = leaves.iter().map(|leaf| {
                let measurement = alone.of_groups(leaf.groups());
                Receipt::uncharged(measurement).estimate(leaf, words).released().histogram().clone()
            });
            let both: [Vec<Coco>; 2] = [released.skip(1).collect(), by_themselves.collect()];
            for (sums, own) in sums.iter_mut().zip(both) {
                sums[0] += error(&Coco::sum(&own), &Coco::sum(&leaves));
                sums[1] += own.iter().zip(&leaves).map(|(own, leaf)| error(own, leaf)).sum::<f64>();
            }
        }
        sums
    }

    /// (The words are fixed: no random failures.)
    #[test]
    fn regions_that_are_alike_are_released_with_less_error() {
        let leaf = |number: u64| -> Coco {
            let of = |size: u64| 300 + 40 * (number % 5) - 40 * size;
            (1..8).map(|size| Run { size, groups: of(size) }).collect()
        };
        let [[root, leaves], [root_alone, leaves_alone]] =
            errors(&(0..60).map(leaf).collect::<Vec<_>>(), 0.1);
        assert!(root < 0.7 * root_alone, "{root} and {root_alone}");
        assert!(leaves < 0.8 * leaves_alone, "{leaves} and {leaves_alone}");
    }

    #[test]
    fn regions_unlike_each_other_are_left_as_they_are() {
        let leaf = |number: u64| -> Coco {
            let mut sizes = Tally::default();
            (0..300).for_each(|group| sizes.add(1 + 7 * number + group % (2 + number), 1));
            sizes.histogram()
        };
        for epsilon in [0.1, 1.0] {
            let [[root, leaves], [root_alone, leaves_alone]] =
                errors(&(0..12).map(leaf).collect::<Vec<_>>(), epsilon);
            assert!(root < 1.05 * root_alone, "{epsilon}: {root} and {root_alone}");
            assert!(leaves < 1.05 * leaves_alone, "{epsilon}: {leaves} and {leaves_alone}");
        }
    }
}
