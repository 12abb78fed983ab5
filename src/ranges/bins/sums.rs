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

/// Sums of positive and of negative amounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedSums {
    pub(in crate::ranges) above: Vec<u64>,
    /// Magnitudes; None where no amount may be negative.
    pub(in crate::ranges) below: Option<Vec<u64>>,
}

impl BinSums {
    /// Of no row.
    pub fn empty(bounds: BinBounds, amounts: AmountBounds) -> BinSums {
        let zeros = vec![0; bounds.bins()];
        let below = amounts.has_negative().then(|| zeros.clone());
        BinSums { bounds, amounts, sums: SignedSums { above: zeros, below } }
    }

    pub fn bounds(&self) -> BinBounds {
        self.bounds
    }

    /// Adds a row's amount, or the bound that it is beyond, to a bin; to the first or the last one
    /// if that lies outside of the bounds.
    #[inline]
    pub fn add(&mut self, bin: i64, amount: i64) {
        let amount = self.amounts.clamped(amount);
        let bin = self.bounds.nearest(bin);
        let sum = match &mut self.sums.below {
            Some(below) if amount < 0 => &mut below[bin],
            _ => &mut self.sums.above[bin],
        };
        *sum = sum.saturating_add(amount.unsigned_abs());
    }

    /// The sums of the cells.
    pub fn of_cells(&self, cells: &RangeCells) -> SignedSums {
        let SignedSums { above, below } = &self.sums;
        SignedSums {
            above: cells.sums(above),
            below: below.as_ref().map(|below| cells.sums(below)),
        }
    }
}
