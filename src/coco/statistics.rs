//! Numbers that sum a histogram up, and the distance of two.

use super::histogram::{Coco, LARGEST, Run};
use std::fmt;

/// Why a statistic of a histogram does not exist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatisticsError {
    QuantileOutOfRange { q: f64 },
    DifferentTotals,
}

impl fmt::Display for StatisticsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatisticsError::QuantileOutOfRange { q } => {
                write!(f, "q must be a number from 0 to 1, got {q}")
            }
            StatisticsError::DifferentTotals => {
                write!(f, "both histograms must hold the same number of groups")
            }
        }
    }
}

impl std::error::Error for StatisticsError {}

impl Coco {
    /// The number of entities in all groups, at most `i64::MAX`.
    pub fn entities(&self) -> u64 {
        let exact: u128 =
            self.runs().iter().map(|run| u128::from(run.size) * u128::from(run.groups)).sum();
        exact.min(u128::from(LARGEST)) as u64
    }

    /// The smallest size that at least a share q of the groups does not exceed; None without
    /// groups. Error: q outside 0 .. 1.
    pub fn quantile(&self, q: f64) -> Result<Option<u64>, StatisticsError> {
        let rank = self.quantile_rank(q)?;
        Ok(self.ranked(rank).map(|(run, _)| run.size))
    }

    /// How many groups make up a share q, at least 1. Error: q outside 0 .. 1.
    pub(crate) fn quantile_rank(&self, q: f64) -> Result<u64, StatisticsError> {
        if !(0.0..=1.0).contains(&q) {
            return Err(StatisticsError::QuantileOutOfRange { q });
        }
        Ok(((q * self.groups() as f64).ceil() as u64).clamp(1, self.groups().max(1)))
    }

    /// Where between one less than the size of the group of a rank and that size: by the share of the
    /// groups of that size up to it.
    pub(crate) fn place(&self, rank: u64) -> Option<f64> {
        self.ranked(rank)
            .map(|(run, rank)| run.size as f64 - (run.groups - rank) as f64 / run.groups as f64)
    }

    /// The groups of the size of a group, the smallest having rank 1, and its rank among these.
    fn ranked(&self, mut rank: u64) -> Option<(&Run, u64)> {
        self.runs().iter().find_map(|run| {
            let found = (rank <= run.groups).then_some((run, rank));
            rank = rank.saturating_sub(run.groups);
            found
        })
    }

    /// Entities per group; None without groups.
    pub fn mean_size(&self) -> Option<f64> {
        let groups = self.groups();
        let entities: f64 = self.runs().iter().map(|run| run.size as f64 * run.groups as f64).sum();
        (groups > 0).then(|| entities / groups as f64)
    }

    /// Gini's coefficient of the sizes, 0 (all equal) to 1; 0 if all are 0; None without groups.
    ///
    /// sum_i (2 i - G - 1) x_i / (G sum_i x_i) over the sizes x_1 <= ... <= x_G.
    pub fn gini(&self) -> Option<f64> {
        let groups = self.groups() as f64;
        let (mut below, mut weighted, mut entities) = (0.0, 0.0, 0.0);
        for run in self.runs() {
            let (size, count) = (run.size as f64, run.groups as f64);
            // the ranks below+1 ..= below+count have the mean below + (count + 1) / 2
            weighted += (2.0 * below + count - groups) * count * size;
            entities += count * size;
            below += count;
        }
        match (groups > 0.0, entities > 0.0) {
            (false, _) => None,
            (true, false) => Some(0.0),
            (true, true) => Some(weighted / (groups * entities)),
        }
    }
}

/// The earth mover's distance, `sum_i |Hc[i] - Hc'[i]|`: how many entities have to be added or
/// removed to turn one histogram into the other (Kuo et al., lemma 1). At most `i64::MAX`.
///
/// Error: the histograms differ in their numbers of groups.
pub fn emd(a: &Coco, b: &Coco) -> Result<u64, StatisticsError> {
    if a.groups() != b.groups() {
        return Err(StatisticsError::DifferentTotals);
    }
    Ok(emd_with_empty_groups(a, b))
}

/// The earth mover's distance of any two histograms, the one with fewer groups filled up with empty
/// ones: the sum over i of |S(i) - S'(i)|, S(i) being the number of groups of more than i entities.
pub(crate) fn emd_with_empty_groups(a: &Coco, b: &Coco) -> u64 {
    let [mut a, mut b] = [a, b].map(|histogram| histogram.runs().iter().rev().peekable());
    let (mut more, mut distance, mut last) = (0i128, 0u128, 0u64);
    while let Some(size) = a.peek().map(|run| run.size).max(b.peek().map(|run| run.size)) {
        // from here to the size before, which was larger, S and S' stay
        distance = distance
            .saturating_add(more.unsigned_abs().saturating_mul(last.saturating_sub(size).into()));
        more += a.next_if(|run| run.size == size).map_or(0, |run| i128::from(run.groups));
        more -= b.next_if(|run| run.size == size).map_or(0, |run| i128::from(run.groups));
        last = size;
    }
    let rest = more.unsigned_abs().saturating_mul(last.into());
    distance.saturating_add(rest).min(LARGEST.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::super::of_sizes;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the definitions on the sorted list of sizes.
        #[test]
        fn statistics_agree_with_their_definitions(
            mut sizes in prop::collection::vec(0u64..20, 1..15),
            others in prop::collection::vec(0u64..20, 15),
            q in 0.0f64..=1.0,
        ) {
            let histogram = of_sizes(&sizes);
            sizes.sort_unstable();
            let n = sizes.len();
            let sum: u64 = sizes.iter().sum();
            prop_assert_eq!(histogram.entities(), sum);
            prop_assert_eq!(histogram.mean_size(), Some(sum as f64 / n as f64));
            let rank = ((q * n as f64).ceil() as usize).max(1);
            prop_assert_eq!(histogram.quantile(q).unwrap(), Some(sizes[rank - 1]));
            let pairs: u64 = sizes
                .iter()
                .flat_map(|a| sizes.iter().map(move |b| a.abs_diff(*b)))
                .sum();
            let gini =
                if sum == 0 { 0.0 } else { pairs as f64 / (2.0 * n as f64 * sum as f64) };
            prop_assert!((histogram.gini().unwrap() - gini).abs() < 1e-12);
            // matching in order of size is the cheapest way to move one list into the other
            let mut others = others[..n].to_vec();
            let moved = emd(&histogram, &of_sizes(&others)).unwrap();
            others.sort_unstable();
            prop_assert_eq!(moved, sizes.iter().zip(&others).map(|(a, b)| a.abs_diff(*b)).sum::<u64>());
        }
    }

    #[test]
    fn empty_histograms_have_no_averages() {
        let empty = Coco::default();
        assert_eq!(empty.quantile(0.5), Ok(None));
        assert_eq!((empty.mean_size(), empty.gini(), empty.entities()), (None, None, 0));
        assert_eq!(emd(&empty, &empty), Ok(0));
        assert_eq!(emd(&empty, &of_sizes(&[1])), Err(StatisticsError::DifferentTotals));
        assert!(empty.quantile(f64::NAN).is_err());
    }

    #[test]
    fn astronomic_totals_saturate() {
        let run = |size, groups| [super::super::Run { size, groups }].into_iter().collect::<Coco>();
        assert_eq!(run(LARGEST, LARGEST).entities(), LARGEST);
        assert_eq!(emd(&run(0, LARGEST), &run(LARGEST, LARGEST)), Ok(LARGEST));
    }
}
