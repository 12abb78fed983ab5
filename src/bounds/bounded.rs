//! What is bounded, and what follows from that.

use crate::coco::MAX_SIZE_LIMIT;

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    /// Of each unit of privacy, how many are used.
    Rows,
    /// Of each row, in units.
    Amounts,
    /// Of groups.
    Sizes,
}

impl Bounded {
    /// The largest number of rows of a unit that can be declared.
    pub const MOST_ROWS: u32 = 1_000_000;

    /// The argument that it is given by.
    pub fn word(self) -> &'static str {
        match self {
            Bounded::Rows => "max_rows_per_unit",
            Bounded::Amounts => "max_amount",
            Bounded::Sizes => "max_size",
        }
    }

    pub const ALL: [Bounded; 3] = [Bounded::Rows, Bounded::Amounts, Bounded::Sizes];

    pub fn parse(word: &str) -> Option<Bounded> {
        Bounded::ALL.into_iter().find(|bounded| bounded.word() == word)
    }

    /// The largest that a release can be asked for with. `rows`: those of a unit that are used.
    pub(super) fn most(self, rows: u32) -> u64 {
        match self {
            Bounded::Rows => Bounded::MOST_ROWS.into(),
            // what a unit adds at most has to fit
            Bounded::Amounts => u64::from(u32::MAX / rows.max(1)),
            Bounded::Sizes => MAX_SIZE_LIMIT,
        }
    }

    /// How far a unit moves what is counted: see the module.
    pub(super) fn sensitivity(self, rows: u32) -> u64 {
        match self {
            Bounded::Rows => 1,
            Bounded::Amounts | Bounded::Sizes => rows.into(),
        }
    }

    /// What is counted in the classes, for the ledger.
    pub(super) fn counted(self) -> &'static str {
        match self {
            Bounded::Rows => "units by their number of rows",
            Bounded::Amounts => "rows by their amount",
            Bounded::Sizes => "entities by their place in their group",
        }
    }

    /// How far off a release with that bound is by its noise, about: the mean magnitude of that of one
    /// number, which is the bound times the rows of a unit over epsilon. Of sizes the noise of all of
    /// a histogram, of which smoothing leaves what grows with the square root of its length.
    pub(super) fn noise(self, bound: u64, rows: u32, epsilon: f64) -> f64 {
        let (bound, rows) = (bound as f64, f64::from(rows));
        match self {
            Bounded::Rows => bound / epsilon,
            Bounded::Amounts => bound * rows / epsilon,
            Bounded::Sizes => bound.sqrt() * rows / epsilon,
        }
    }

    /// How far off a release is that leaves so much out and has noise of that mean magnitude. A sum has
    /// Laplace noise around what is left out; a histogram lacks what is left out, and is off elsewhere.
    pub(super) fn error(self, clipping: f64, noise: f64) -> f64 {
        match self {
            Bounded::Rows | Bounded::Amounts => clipping + noise * (-clipping / noise).exp(),
            Bounded::Sizes => clipping + noise,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_arguments() {
        assert_eq!(Bounded::parse("max_size"), Some(Bounded::Sizes));
        assert_eq!(Bounded::parse("size"), None);
    }
}
