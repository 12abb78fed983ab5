//! How many groups of each size are to be expected: the prior of the inference.
//!
//! Sizes are looked at in the stretches of [`Profile`](super::super::profile::Profile), within
//! which a density hardly changes. The number of groups of a size is taken to be geometric with the
//! density d of its stretch as its mean. Where a region above was released, its densities in
//! proportion are a first guess. Where there is none, what the plain fit has; then a stretch of columns is
//! halved as long as one half has clearly more groups than the other. (Where sizes are few or end within a
//! stretch, the errors of single histograms were 0.61 to 0.96 times what they were without, those of others
//! 1.01 times at most.)
//!
//! *The region's own numbers correct them*: with the posterior under the densities so far a stretch
//! has e groups on average, and e over its width is the next guess, as in the EM algorithm. Where a
//! region above expects g groups, an exponential prior of mean g makes (e + 1) / (1 + 1 / g) of it:
//! what the noise of a few rows feigns is left to the region above, and comes to nothing where
//! there is nothing of that. But many groups speak for themselves: the next guess is the mean of
//! this and e with the weights [`FEW`]^2 and e^2. (With the first alone a child unlike its parent
//! had twice the error; with e alone, or the mean of e and g, a hierarchy with many small leaves up
//! to a third more at its root.) A few rounds do: with each pass the cells become smaller anyway.
//!
//! Under a flat prior a list of sizes would end with spurious large groups, which sums of many
//! regions add up; and a root with few sizes had up to 60 % more error.

use crate::coco::estimators::node::NoisyNode;
use crate::coco::estimators::profile::{Profile, edges};
use std::iter::repeat_n;
use std::mem::replace;

/// In every stretch there may be so many groups which nothing tells of.
const UNSEEN: f64 = 0.1;

/// So many groups in a stretch are about as much as noise feigns.
const FEW: f64 = 5.0;

/// How many times what noise makes of it the square of a difference of densities must be at least.
const BEYOND_NOISE: f64 = 4.0;

/// And what chance makes of it: where all groups are in one of two halves it is twice the number of sizes in
/// each half, so that stretches are halved down to the only size that there is.
const BEYOND_CHANCE: f64 = 1.5;

/// Stretches of sizes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretches {
    /// Where the first begins, and each ends.
    begin: u64,
    ends: Vec<u64>,
}

/// Numbers of groups in stretches of sizes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expected<'a> {
    stretches: &'a Stretches,
    groups: Vec<f64>,
}

impl Stretches {
    /// Those between these two edges.
    fn between(begin: u64, end: u64, max_size: u64) -> Stretches {
        // two for each power of two, and the last one, which is that of K alone
        let mut ends = Vec::with_capacity(2 * max_size.max(1).ilog2() as usize + 3);
        let all = edges(max_size).chain([max_size + 1]);
        ends.extend(all.skip_while(|edge| *edge <= begin).take_while(|edge| *edge <= end));
        Stretches { begin, ends }
    }

    /// Below so many columns.
    pub(super) fn of_columns(columns: usize, max_size: u64) -> Stretches {
        Stretches::between(0, columns as u64, max_size)
    }

    /// From an edge on.
    pub(super) fn from(begin: u64, max_size: u64) -> Stretches {
        Stretches::between(begin, max_size + 1, max_size)
    }

    /// Those of which one half is denser than the other are halved, and so are the halves: where sizes end
    /// or begin within a stretch, what is expected of the rest is not what a half has. `variance`: of the
    /// noise in a column.
    pub(super) fn halved(&self, columns: &[i64], variance: f64) -> Stretches {
        let upto =
            |size: u64| size.checked_sub(1).map_or(0.0, |last| columns[last as usize] as f64);
        let differ = |from: u64, middle: u64, to: u64| {
            let (low, high) = ((middle - from) as f64, (to - middle) as f64);
            let width = low + high;
            let density = (upto(to) - upto(from)) / width;
            // low * high times the difference of both densities
            let apart = width * upto(middle) - high * upto(from) - low * upto(to);
            let noise = variance * (width * width + high * high + low * low);
            // geometric numbers of groups have about their mean as standard deviation
            let chance = density * density * low * high * width;
            apart * apart > BEYOND_NOISE * noise + BEYOND_CHANCE * chance
        };
        let mut ends = Vec::with_capacity(self.ends.len());
        let (mut from, mut reached) = (self.begin, Vec::new());
        for &end in &self.ends {
            reached.push(end);
            while let Some(&to) = reached.last() {
                let middle = from + (to - from) / 2;
                if middle > from && differ(from, middle, to) {
                    reached.push(middle);
                } else {
                    ends.push(to);
                    from = to;
                    reached.pop();
                }
            }
        }
        Stretches { begin: self.begin, ends }
    }

    /// Nothing, except what is in all stretches.
    fn nothing(&self) -> Expected<'_> {
        Expected { stretches: self, groups: vec![UNSEEN; self.ends.len()] }
    }

    /// Groups of these sizes, which are not below the first stretch.
    pub(super) fn with_sizes(&self, sizes: impl Iterator<Item = u64>) -> Expected<'_> {
        let mut expected = self.nothing();
        for size in sizes {
            let stretch = self.ends.partition_point(|end| *end <= size);
            if let Some(sum) = expected.groups.get_mut(stretch) {
                *sum += 1.0;
            }
        }
        expected
    }

    /// What a released region with the same largest size says of one within it.
    pub(super) fn below(&self, parent: &Profile, node: &NoisyNode) -> Expected<'_> {
        let share = parent.share(node.groups);
        let of_parent = parent.stretches().iter().skip_while(|(end, _)| *end <= self.begin);
        let groups = of_parent.map(|(_, groups)| (UNSEEN + *groups as f64) * share);
        let mut expected = self.nothing();
        expected.groups.iter_mut().zip(groups).for_each(|(sum, groups)| *sum = groups);
        expected
    }

    /// From the numbers of groups of size at most 0, 1, 2, ...
    pub(super) fn with_columns(&self, columns: &[i64]) -> Expected<'_> {
        let mut expected = self.nothing();
        let mut below = 0;
        for (sum, end) in expected.groups.iter_mut().zip(&self.ends) {
            let upto = columns[*end as usize - 1];
            *sum += (upto - below) as f64;
            below = upto;
        }
        expected
    }
}

impl<'a> Expected<'a> {
    /// Of each stretch.
    pub(super) fn groups(&self) -> &[f64] {
        &self.groups
    }

    /// With what was found under these: of each stretch. `first`: the guess from the region above.
    pub(super) fn corrected(&self, found: &[f64], first: Option<&Expected>) -> Expected<'a> {
        let groups = found.iter().enumerate().map(|(stretch, found)| match first {
            Some(first) => {
                let own = found * found / (found * found + FEW * FEW);
                own * found + (1.0 - own) * (found + 1.0) / (1.0 + 1.0 / first.groups[stretch])
            }
            None => found + UNSEEN,
        });
        Expected { groups: groups.collect(), ..*self }
    }

    /// Begin, end and density of each stretch.
    fn densities(&self) -> impl Iterator<Item = (u64, u64, f64)> + '_ {
        let mut begin = self.stretches.begin;
        self.stretches.ends.iter().zip(&self.groups).map(move |(&end, groups)| {
            let from = replace(&mut begin, end);
            (from, end, groups / (end - from) as f64)
        })
    }

    /// The weights of a group's sizes, as they exceed the begin: below an end each.
    pub(super) fn weights(&self) -> Vec<(i64, f64)> {
        let weight = |(_, end, density): (u64, u64, f64)| {
            ((end - self.stretches.begin) as i64, density / (1.0 + density))
        };
        self.densities().map(weight).collect()
    }

    /// The number of groups of each size.
    pub(super) fn by_size(&self) -> Vec<f64> {
        let of_stretch = |(begin, end, density)| repeat_n(density, (end - begin) as usize);
        self.densities().flat_map(of_stretch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_counted_by_stretch() {
        let sizes = [3, 3, 3, 3, 5, 5, 20];
        let stretches = Stretches::from(3, 20);
        let expected = stretches.with_sizes(sizes.into_iter());
        // 3, 4 and 5, 6 and 7, 8 to 11, 12 to 15, 16 to 19, 20
        assert_eq!(stretches.ends, [4, 6, 8, 12, 16, 20, 21]);
        assert_eq!(expected.groups, [4.1, 2.1, 0.1, 0.1, 0.1, 0.1, 1.1]);
        let density = expected.by_size();
        assert_eq!(density.len(), 18);
        assert_eq!((density[1], density[2], density[17]), (1.05, 1.05, 1.1));
        let stretches = Stretches::of_columns(4, 20);
        let columns = stretches.with_columns(&[5, 5, 8, 12]);
        assert_eq!(columns.groups, [5.1, 0.1, 3.1, 4.1]);
    }

    #[test]
    fn stretches_are_halved_where_their_halves_differ() {
        let stretches = Stretches::of_columns(32, 100);
        let columns = |size: fn(u64) -> i64| -> Vec<i64> { (0..32).map(size).collect() };
        // 100 groups of each size from 16 to 20
        let ending = columns(|size| 100 * (size as i64 - 15).clamp(0, 5));
        let halved = stretches.halved(&ending, 2.0);
        assert_eq!(halved.ends, [1, 2, 3, 4, 6, 8, 12, 16, 20, 21, 22, 24, 32]);
        assert_eq!(halved.with_columns(&ending).by_size()[19..22], [100.025, 100.1, 0.1]);
        // alike, or all noise
        assert_eq!(stretches.halved(&columns(|size| 100 * size as i64), 2.0), stretches);
        assert_eq!(stretches.halved(&ending, 1e6), stretches);
    }

    /// Many groups speak for themselves; a few, where the region above has none, are noise.
    #[test]
    fn a_region_above_rules_out_what_noise_feigns() {
        let stretches = Stretches::from(0, 4);
        let first = stretches.with_sizes([0; 50].into_iter());
        let corrected = first.corrected(&[200.0, 200.0, 1.0, 0.0, 0.0], Some(&first));
        let [of_many, unlike, few, ..] = corrected.groups[..] else { panic!() };
        assert!((of_many - 200.0).abs() < 1.0 && (unlike - 200.0).abs() < 1.0, "{corrected:?}");
        assert!(few < 0.25, "{corrected:?}");
        // nothing above: as it was found
        let alone = first.corrected(&[200.0, 200.0, 1.0, 0.0, 0.0], None);
        assert_eq!(alone.groups[2], 1.1);
    }
}
