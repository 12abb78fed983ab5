//! How far off a release is.

use super::tree::Tree;
use crate::coco::{Coco, DpCoco, emd_with_empty_groups};
use crate::work::poll;

/// How many entities would have to be added to or removed from a region's groups to turn what was
/// released into the truth: the earth mover's distance. Where a consistency method does not keep
/// a region's number of groups, those that are missing count as empty. At most `i64::MAX`.
///
/// *Sensitivity.* With S(i) the number of groups of more than i entities, it is the sum over i of
/// |S'(i) - S(i)|, S' being released. An entity more takes one group from size s to s + 1, which
/// raises S(s) by 1 and changes no other S(i). So for a fixed release the distances from two
/// neighbouring truths differ by at most 1; the bounds on sizes and sums can only shrink that.
fn region_error(released: &DpCoco, truth: &Coco) -> u64 {
    emd_with_empty_groups(released.histogram(), truth)
}

/// The sum over the regions of a level. At most `i64::MAX`.
///
/// *Sensitivity.* An entity lies in one region of the level: 1.
pub(super) fn level_error(level: usize, tree: &Tree, released: &[DpCoco], truth: &[Coco]) -> i64 {
    let of_region = |region: usize| {
        poll();
        region_error(&released[region], &truth[region])
    };
    let sum: u128 = tree.level(level).map(|region| u128::from(of_region(region))).sum();
    i64::try_from(sum).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::coco::of_sizes;

    /// Every list of up to `groups` sizes up to 2, ascending.
    pub(crate) fn multisets(groups: usize) -> Vec<Vec<u64>> {
        let mut all = vec![vec![]];
        let mut longest = all.clone();
        for _ in 0..groups {
            let longer = |sizes: &Vec<u64>| {
                let least = sizes.last().copied().unwrap_or(0);
                (least..=2).map(|size| [sizes.as_slice(), &[size]].concat()).collect::<Vec<_>>()
            };
            longest = longest.iter().flat_map(longer).collect();
            all.extend(longest.iter().cloned());
        }
        all
    }

    #[test]
    fn missing_groups_count_as_empty() {
        let error =
            |released, truth| region_error(&DpCoco::new(of_sizes(released)), &of_sizes(truth));
        assert_eq!(error(&[2, 2, 2], &[2, 2, 2, 2]), 2);
        assert_eq!(error(&[1, 2, 2, 2, 2], &[2, 2, 2, 2]), 1);
        assert_eq!(error(&[0, 0, 2, 2, 2, 2], &[2, 2, 2, 2]), 0);
        assert_eq!(error(&[], &[]), 0);
    }

    /// All neighbours of all small histograms, and all that could be released of them.
    #[test]
    fn an_entity_changes_the_error_of_a_region_by_at_most_one() {
        for sizes in multisets(3) {
            let truth = of_sizes(&sizes);
            for group in 0..sizes.len() {
                let mut more = sizes.clone();
                more[group] += 1;
                let more = of_sizes(&more);
                for released in multisets(4) {
                    let released = DpCoco::new(of_sizes(&released));
                    let errors = [&truth, &more].map(|truth| region_error(&released, truth));
                    assert_eq!(errors[0].abs_diff(errors[1]), 1, "{sizes:?} {released:?}");
                }
            }
        }
    }
}
