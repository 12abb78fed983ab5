//! A region's groups shared among its children, down the tree.
//!
//! The region's groups and the children's are taken in ascending order of sizes, and each child's
//! group gets the size of the region's group of its turn (the matching of Kuo et al., lemma 5,
//! which moves the children's groups least). Where several children hold groups of the size whose
//! turn it is and there are more of these than places, the places are shared by least squares:
//! every child gets what its own curve has up to the region's size, and a part of what is missing
//! or left over in proportion to its uncertainty. That is the variance of smoothed columns
//! ([`curve`](super::curve)), which grows with the square root of the number of groups. (Shared in
//! proportion to these numbers, as by Kuo et al., the error below the root was up to 5 % larger;
//! without the fractions of groups in the curves up to 20 %.)

use super::curve::Step;
use crate::coco::{Coco, Run};
use crate::work::done;
use std::collections::BTreeMap;

/// To weigh a claim against others takes about as long as so many draws.
const DRAWS_PER_CLAIM: u64 = 10;

/// One histogram per child, from the steps of its curve. They sum to the region's; each has as many
/// groups as its curve, and these together as many as the region.
pub(super) fn shared(region: &Coco, children: &[impl AsRef<[Step]>]) -> Vec<Coco> {
    // most have no more sizes than before
    let mut shares: Vec<Vec<Run>> =
        children.iter().map(|steps| Vec::with_capacity(steps.as_ref().len())).collect();
    let mut cursors: Vec<CurveCursor> =
        children.iter().map(|steps| CurveCursor::new(steps.as_ref())).collect();
    // the children whose turn it is with groups of a size
    let mut by_size: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (child, cursor) in cursors.iter().enumerate() {
        cursor.size().into_iter().for_each(|size| by_size.entry(size).or_default().push(child));
    }

    let mut claims = Vec::new();
    for run in region.runs() {
        let mut places = run.groups;
        while places > 0
            && let Some((_, mut holders)) = by_size.pop_first()
        {
            holders.sort_unstable();
            claims.clear();
            claims.extend(holders.iter().map(|&child| cursors[child].claim(run.size)));
            done(DRAWS_PER_CLAIM * claims.len() as u64);
            let taken = allot(&claims, places);
            for (&child, groups) in holders.iter().zip(taken) {
                if groups > 0 {
                    match shares[child].last_mut() {
                        Some(last) if last.size == run.size => last.groups += groups,
                        _ => shares[child].push(Run { size: run.size, groups }),
                    }
                    cursors[child].take(groups);
                    places -= groups;
                }
                let next = cursors[child].size();
                next.into_iter().for_each(|size| by_size.entry(size).or_default().push(child));
            }
        }
    }
    shares.into_iter().map(|runs| Coco::from_ascending(runs.into_iter())).collect()
}

/// A child's groups that have no place yet, the smallest first.
struct CurveCursor<'a> {
    /// From the first step on that is not all placed.
    rest: &'a [Step],
    placed: u64,
    /// The last step up to the region's size, and those after it.
    reached: Step,
    ahead: &'a [Step],
}

impl<'a> CurveCursor<'a> {
    fn new(steps: &'a [Step]) -> CurveCursor<'a> {
        let mut cursor =
            CurveCursor { rest: steps, placed: 0, reached: Step::default(), ahead: steps };
        cursor.take(0);
        cursor
    }

    fn size(&self) -> Option<u64> {
        self.rest.first().map(|step| step.size)
    }

    /// To places of this size, which is not less than that of any claim before.
    fn claim(&mut self, size: u64) -> Claim {
        while let Some((step, ahead)) = self.ahead.split_first()
            && step.size <= size
        {
            (self.reached, self.ahead) = (*step, ahead);
        }
        Claim {
            wanted: self.reached.above(self.placed),
            groups: self.rest.first().map_or(0, |step| step.groups() - self.placed),
        }
    }

    fn take(&mut self, groups: u64) {
        self.placed += groups;
        while let Some((step, rest)) = self.rest.split_first()
            && step.groups() == self.placed
        {
            self.rest = rest;
        }
    }
}

/// A child's to places of one size.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// As many as its curve has; perhaps less than none.
    wanted: f64,
    /// All that it has of the size whose turn it is.
    groups: u64,
}

impl Claim {
    fn weight(&self) -> f64 {
        (self.groups as f64).sqrt()
    }

    /// What it gets at this level: between nothing and all.
    fn at(&self, level: f64) -> f64 {
        (self.wanted + level * self.weight()).clamp(0.0, self.groups as f64)
    }
}

/// So many places, or fewer where the children have fewer groups, as the whole numbers nearest to
/// what all get at one level; by largest remainders, and ties go to the first. Every claim has a
/// group.
fn allot(claims: &[Claim], places: u64) -> Vec<u64> {
    if claims.iter().map(|claim| claim.groups).sum::<u64>() <= places {
        return claims.iter().map(|claim| claim.groups).collect();
    }
    let level = level(claims, places as f64);
    let exact: Vec<f64> = claims.iter().map(|claim| claim.at(level)).collect();
    // not more than all, which floating point may round up
    let floor = |(groups, claim): (&f64, &Claim)| (*groups as u64).min(claim.groups);
    let mut taken: Vec<u64> = exact.iter().zip(claims).map(floor).collect();
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let mut missing = places as i128 - taken.iter().map(|groups| i128::from(*groups)).sum::<i128>();
    for &child in &order {
        if missing > 0 && taken[child] < claims[child].groups {
            taken[child] += 1;
            missing -= 1;
        }
    }
    // what floating point got wrong, in numbers beyond its precision
    for &child in &order {
        let most = (claims[child].groups - taken[child]) as i128;
        let more = missing.clamp(-(taken[child] as i128), most);
        taken[child] = (taken[child] as i128 + more) as u64;
        missing -= more;
    }
    taken
}

/// At which all claims get so many places together, which is less than all that they have.
fn level(claims: &[Claim], places: f64) -> f64 {
    // where one begins to get something, and where it has all: the slope of the sum changes there
    let bends = claims.iter().flat_map(|claim| {
        let at = |groups: f64| (groups - claim.wanted) / claim.weight();
        [(at(0.0), claim.weight()), (at(claim.groups as f64), -claim.weight())]
    });
    let mut bends: Vec<(f64, f64)> = bends.collect();
    bends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut level, mut sum, mut slope) = (f64::NEG_INFINITY, 0.0, 0.0);
    for (bend, change) in bends {
        let next = if slope > 0.0 { sum + slope * (bend - level) } else { sum };
        if slope > 0.0 && next >= places {
            return level + (places - sum) / slope;
        }
        (level, sum, slope) = (bend, next, slope + change);
    }
    level
}

#[cfg(test)]
mod tests {
    use super::super::curve::Curve;
    use super::super::curve::tests::curve;
    use super::*;
    use proptest::prelude::*;

    fn of(runs: &[(u64, u64)]) -> Coco {
        runs.iter().map(|&(size, groups)| Run { size, groups }).collect()
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_region_and_children_keep_their_groups(
            groups in prop::collection::vec((0u64..9, 0u64..9, 0usize..4, 1u64..50), 0..12),
        ) {
            let region = of(&groups.iter().map(|g| (g.0, g.3)).collect::<Vec<_>>());
            let of_child = |child| -> Vec<(u64, u64)> {
                groups.iter().filter(|g| g.2 == child).map(|g| (g.1, g.3)).collect()
            };
            let children: Vec<Curve> = (0..4).map(|child| curve(&of_child(child), 2.0, &[])).collect();
            let shares = shared(&region, &children);
            for (child, share) in shares.iter().enumerate() {
                prop_assert_eq!(share.groups(), of(&of_child(child)).groups());
            }
            let sum: Coco = shares.iter().flat_map(|share| share.runs().to_vec()).collect();
            prop_assert_eq!(&sum, &region);
            // where nothing is missing and nothing is left over, all keep what they have
            let sum: Coco = children.iter().flat_map(|child| child.histogram().runs().to_vec()).collect();
            for (share, child) in super::shared(&sum, &children).iter().zip(&children) {
                prop_assert_eq!(share, &child.histogram());
            }
        }

        /// Everyone's place is within 1 of what it gets at the level, which fills all places.
        #[test]
        fn places_are_allotted_at_one_level(
            claims in prop::collection::vec((-30.0..60.0f64, 1u64..40), 1..9),
            share in 0.0..1.0f64,
        ) {
            let claims: Vec<Claim> =
                claims.into_iter().map(|(wanted, groups)| Claim { wanted, groups }).collect();
            let all: u64 = claims.iter().map(|claim| claim.groups).sum();
            let places = (all as f64 * share) as u64;
            done(DRAWS_PER_CLAIM * claims.len() as u64);
            let taken = allot(&claims, places);
            prop_assert_eq!(taken.iter().sum::<u64>(), places);
            let level = level(&claims, places as f64);
            let sum: f64 = claims.iter().map(|claim| claim.at(level)).sum();
            prop_assert!((sum - places as f64).abs() < 1e-6);
            for (claim, taken) in claims.iter().zip(taken) {
                prop_assert!(taken <= claim.groups);
                prop_assert!((taken as f64 - claim.at(level)).abs() < 1.0 + 1e-6);
            }
        }

        /// Numbers that floating point does not tell apart.
        #[test]
        fn as_many_places_as_there_are_are_allotted(
            groups in prop::collection::vec(1..1u64 << 60, 1..7),
            places in 0..1u64 << 60,
        ) {
            let claims: Vec<Claim> =
                groups.iter().map(|&groups| Claim { wanted: groups as f64, groups }).collect();
            let all: u64 = groups.iter().sum();
            // also where nearly all get all that they have, which is then rounded up
            for places in [places, all - 1 - places % all.min(100)] {
                done(DRAWS_PER_CLAIM * claims.len() as u64);
            let taken = allot(&claims, places);
                prop_assert_eq!(taken.iter().sum::<u64>(), places.min(all));
                prop_assert!(taken.iter().zip(&groups).all(|(taken, groups)| taken <= groups));
            }
        }
    }

    /// One group of size 5 too many: it is that of the child whose curve has the larger fraction.
    #[test]
    fn fractions_tell_who_gets_a_place() {
        // the mean of both has 10.5 groups of size 5, of 20, less what the children are preferred
        let child = |fives| {
            let below = curve(&[(5, fives), (6, 20 - fives)], 2.0, &[]);
            curve(&[(5, 10), (6, 10)], 2.0, &[below])
        };
        for (others, expected) in [([10, 11], [(10, 10), (11, 9)]), ([11, 10], [(11, 9), (10, 10)])]
        {
            let children = others.map(child);
            let shares = shared(&of(&[(5, 21), (6, 19)]), &children);
            let shares: Vec<Coco> = shares.into_iter().collect();
            for (share, (five, six)) in shares.iter().zip(expected) {
                assert_eq!(*share, of(&[(5, five), (6, six)]));
            }
        }
    }

    /// What is left over is left by all in proportion to the root of what they have.
    #[test]
    fn a_deficit_is_shared_by_the_square_root() {
        let children = [100, 400, 2500].map(|groups| curve(&[(5, groups)], 2.0, &[]));
        let shares = shared(&of(&[(5, 2920), (6, 80)]), &children);
        let left: Vec<u64> = shares.iter().map(|share| share.runs()[1].groups).collect();
        assert_eq!(left, [10, 20, 50]);
    }
}
