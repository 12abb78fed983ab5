//! The candidates among which a bound is chosen, and what is counted between them.

/// Candidates in ascending order: 1 to 8, 10, 12, 14, 16, 20 and so on, four for each doubling as soon as
/// there are so many numbers, up to a number that is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    candidates: Vec<u64>,
}

impl Grid {
    /// Up to `most`, which is at least 1, and the last candidate.
    pub fn up_to(most: u64) -> Grid {
        let powers = (0..u64::BITS - 1).map(|n| 1u64 << n);
        let steps = powers.flat_map(|power| {
            let quarter = (power / 4).max(1);
            (0..(power / quarter)).map(move |step| power + step * quarter)
        });
        let mut candidates: Vec<u64> = steps.take_while(|candidate| *candidate < most).collect();
        candidates.push(most.max(1));
        Grid { candidates }
    }

    pub fn candidates(&self) -> &[u64] {
        &self.candidates
    }

    /// How many classes there are: up to the first candidate, between two, and above the last.
    pub fn classes(&self) -> usize {
        self.candidates.len() + 1
    }

    /// The class of a value: the number of candidates that are below it.
    fn class(&self, value: u64) -> usize {
        self.candidates.partition_point(|candidate| *candidate < value)
    }

    /// The largest value of a class, or of the last one about the middle: nothing is beyond it.
    pub(super) fn upper(&self, class: usize) -> f64 {
        let last = self.candidates.last().map_or(1.0, |last| *last as f64);
        self.candidates.get(class).map_or(1.5 * last, |upper| *upper as f64)
    }

    /// What is taken for a value of a class: the middle.
    pub(super) fn middle(&self, class: usize) -> f64 {
        let lower = if class == 0 { 0.0 } else { self.upper(class - 1) };
        (lower + 1.0 + self.upper(class)) / 2.0
    }
}

/// What was counted in each class. Confidential.
#[derive(Debug, Clone)]
pub struct Tally {
    grid: Grid,
    counts: Vec<u64>,
}

impl Tally {
    pub(super) fn new(grid: Grid) -> Tally {
        let counts = vec![0; grid.classes()];
        Tally { grid, counts }
    }

    /// Counts a value in its class: the rows of a unit, or the amount of a row.
    pub fn add(&mut self, value: u64) {
        let class = self.grid.class(value);
        self.counts[class] = self.counts[class].saturating_add(1);
    }

    /// Counts the entities of so many groups of a size, each in its layer.
    pub fn add_groups(&mut self, size: u64, groups: u64) {
        let mut below = 0;
        for (class, count) in self.counts.iter_mut().enumerate() {
            let upper = self.grid.candidates.get(class).copied().unwrap_or(u64::MAX).min(size);
            *count = count.saturating_add((upper - below).saturating_mul(groups));
            below = upper;
            if upper == size {
                break;
            }
        }
    }

    /// As they get noise: where there are more than an `i64` holds, that many.
    pub(super) fn counts(&self) -> impl Iterator<Item = i64> + '_ {
        self.counts.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_four_for_each_doubling() {
        assert_eq!(Grid::up_to(20).candidates(), [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20]);
        assert_eq!(Grid::up_to(9).candidates(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(Grid::up_to(1).candidates(), [1]);
        assert_eq!(Grid::up_to(0).candidates(), [1]);
        let all = Grid::up_to(u64::MAX);
        assert!(all.candidates().is_sorted_by(|a, b| a < b) && all.candidates().len() == 248);
    }

    #[test]
    fn values_are_in_the_class_up_to_the_next_candidate() {
        let mut tally = Tally::new(Grid::up_to(12));
        [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, u64::MAX]
            .iter()
            .for_each(|value| tally.add(*value));
        assert_eq!(tally.counts, [2, 1, 1, 1, 1, 1, 0, 1, 2, 1, 2]);
    }

    #[test]
    fn entities_are_in_layers() {
        let mut tally = Tally::new(Grid::up_to(10));
        tally.add_groups(0, 5);
        tally.add_groups(1, 2);
        tally.add_groups(7, 1);
        tally.add_groups(20, 3);
        assert_eq!(tally.counts, [6, 4, 4, 4, 4, 4, 4, 3, 6, 30]);
        tally.add_groups(u64::MAX, u64::MAX);
        assert_eq!(tally.counts().max(), Some(i64::MAX));
    }
}
