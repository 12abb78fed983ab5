//! The sum of a bounded amount of every row, for every bin of an interval.

use super::bounds::BinBounds;
use crate::ranges::amounts::AmountBounds;
use crate::ranges::cells::RangeCells;

/// Exact sums of amounts over consecutive bins. Confidential.
///
/// Whatever a row holds, and however large the sums are, it moves one of them, by an amount within
/// the bounds: each stays at the end of `u64` by itself. Amounts below 0 are summed apart, lest it
/// matter in which order rows come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinSums {
    bounds: BinBounds,
    amounts: AmountBounds,
    sums: SignedSums,
}

/// Sums of positive and of negative amounts, of places in whatever order: bins, cells, cells of
/// regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedSums {
    pub(in crate::ranges) above: Vec<u64>,
    /// Magnitudes; None where no amount may be negative.
    pub(in crate::ranges) below: Option<Vec<u64>>,
}

impl SignedSums {
    /// Of no row.
    pub fn empty(places: usize, amounts: AmountBounds) -> SignedSums {
        let above = vec![0; places];
        let below = amounts.has_negative().then(|| above.clone());
        SignedSums { above, below }
    }

    /// Adds an amount that is within the bounds which the sums were made for.
    #[inline]
    pub fn add(&mut self, place: usize, amount: i64) {
        let sum = match &mut self.below {
            Some(below) if amount < 0 => &mut below[place],
            _ => &mut self.above[place],
        };
        *sum = sum.saturating_add(amount.unsigned_abs());
    }

    /// Of other places, each list by itself.
    pub(in crate::ranges) fn map(&self, of: impl Fn(&[u64]) -> Vec<u64>) -> SignedSums {
        SignedSums { above: of(&self.above), below: self.below.as_deref().map(of) }
    }
}

impl BinSums {
    /// Of no row.
    pub fn empty(bounds: BinBounds, amounts: AmountBounds) -> BinSums {
        BinSums { bounds, amounts, sums: SignedSums::empty(bounds.bins(), amounts) }
    }

    pub fn bounds(&self) -> BinBounds {
        self.bounds
    }

    /// Adds a row's amount, or the bound that it is beyond, to a bin; to the first or the last one
    /// if that lies outside of the bounds.
    #[inline]
    pub fn add(&mut self, bin: i64, amount: i64) {
        self.sums.add(self.bounds.nearest(bin), self.amounts.clamped(amount));
    }

    /// Of the positive amounts, or the rows.
    pub(in crate::ranges) fn counts(&self) -> &[u64] {
        &self.sums.above
    }

    /// The sums of the cells.
    pub fn of_cells(&self, cells: &RangeCells) -> SignedSums {
        self.sums.map(|sums| cells.sums(sums))
    }
}
