//! The search for a bound, as a mechanism that is charged.

use super::bounded::Bounded;
use super::choice::{Choice, choose};
use super::error::BoundError;
use super::grid::{Grid, Tally};
use crate::charge::{Cost, Costs, Receipt};
use crate::noise::RandomWords;
use crate::privacy::{Epsilon, LaplaceMechanism, PrivacyLoss};
use serde_json::json;

/// A search for a bound. It is carried out by a receipt:
///
/// ```
/// use pg_dp::bounds::{BoundSearch, Bounded};
/// use pg_dp::charge::Receipt;
/// use pg_dp::noise::words_from_system;
///
/// let search = BoundSearch::new(Bounded::Rows, 1.0, None, 1)?;
/// let mut tally = search.tally();
/// (0..10_000).for_each(|unit| tally.add(1 + unit % 4));
/// let found = Receipt::uncharged(search).find(&tally, &mut words_from_system()?);
/// // 4, or somewhat more where noise feigns larger numbers
/// assert!(found.candidates.iter().find(|candidate| candidate.chosen).unwrap().bound >= 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoundSearch {
    bounded: Bounded,
    grid: Grid,
    epsilon: Epsilon,
    release_epsilon: f64,
    rows: u32,
    /// Of each count.
    noise: LaplaceMechanism,
}

impl BoundSearch {
    /// How many times epsilon a release is expected to have, unless it is said.
    pub const RELEASE: f64 = 4.0;

    /// `release_epsilon`: what the release will have that the bound is for. `rows`: those of a unit
    /// that the dataset declares; of no meaning where they are what is bounded.
    ///
    /// Errors: as they say.
    pub fn new(
        bounded: Bounded,
        epsilon: f64,
        release_epsilon: Option<f64>,
        rows: u32,
    ) -> Result<BoundSearch, BoundError> {
        let value = epsilon;
        let epsilon = Epsilon::new(value).map_err(|_| BoundError::Epsilon { value })?;
        let noise = LaplaceMechanism::new(bounded.sensitivity(rows), epsilon.whole())
            .map_err(|error| BoundError::Scale { value, error })?;
        let release_epsilon = release_epsilon.unwrap_or(BoundSearch::RELEASE * value);
        if !(release_epsilon.is_finite() && release_epsilon > 0.0) {
            return Err(BoundError::ReleaseEpsilon { value: release_epsilon });
        }
        let grid = Grid::up_to(bounded.most(rows));
        Ok(BoundSearch { bounded, grid, epsilon, release_epsilon, rows, noise })
    }

    pub fn release_epsilon(&self) -> f64 {
        self.release_epsilon
    }

    /// The largest candidate.
    pub fn most(&self) -> u64 {
        self.grid.candidates().last().copied().unwrap_or(1)
    }

    /// For what is to be counted.
    pub fn tally(&self) -> Tally {
        Tally::new(self.grid.clone())
    }
}

impl Costs for BoundSearch {
    fn cost(&self) -> Cost {
        Cost {
            epsilon: self.epsilon,
            delta: 0.0,
            mechanism: json!({
                "selection": format!("of {}", self.bounded.word()),
                "counted": self.bounded.counted(),
                "candidates": self.grid.candidates().len(),
                "largest_candidate": self.most(),
                "release_epsilon": self.release_epsilon,
                "sensitivity": self.noise.sensitivity(),
            }),
            loss: PrivacyLoss::of_pure([self.noise.epsilon()]),
        }
    }
}

impl<P> Receipt<BoundSearch, P> {
    /// All candidates, of which one is chosen.
    pub fn find<R: RandomWords + ?Sized>(self, tally: &Tally, words: &mut R) -> Choice {
        let (search, noisy) = self.measure(tally, words);
        let BoundSearch { bounded, grid, release_epsilon, rows, noise, .. } = search;
        let scale = noise.scale().as_f64();
        choose(bounded, &grid, &noisy, scale, (rows, release_epsilon))
    }

    /// All that is seen of the counts.
    pub(super) fn measure<R: RandomWords + ?Sized>(
        self,
        tally: &Tally,
        words: &mut R,
    ) -> (BoundSearch, Vec<i64>) {
        let search = self.into_mechanism();
        let noisy = tally.counts().map(|count| search.noise.add(count, words)).collect();
        (search, noisy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged() {
        let cost = BoundSearch::new(Bounded::Amounts, 0.5, None, 3).unwrap().cost();
        assert_eq!((cost.epsilon.value(), cost.delta, cost.loss.failure()), (0.5, 0.0, 0.0));
        assert_eq!(cost.mechanism["sensitivity"], 3);
        assert_eq!(cost.mechanism["largest_candidate"], u32::MAX / 3);
        assert_eq!(cost.mechanism["release_epsilon"], 2.0);
        let cost = BoundSearch::new(Bounded::Rows, 0.5, Some(1.0), 3).unwrap().cost();
        assert_eq!((&cost.mechanism["sensitivity"], cost.loss.rho() > 0.0), (&json!(1), true));
    }

    #[test]
    fn what_cannot_be_looked_for_is_refused() {
        for (epsilon, release, message) in [
            (0.0, None, "epsilon must be a positive, finite number, got 0"),
            (f64::NAN, None, "epsilon must be a positive, finite number, got NaN"),
            (1e-12, None, "epsilon 0.000000000001 leads to"),
            (1.0, Some(0.0), "release_epsilon must be a positive, finite number, got 0"),
            (
                1.0,
                Some(f64::INFINITY),
                "release_epsilon must be a positive, finite number, got inf",
            ),
        ] {
            let error = BoundSearch::new(Bounded::Sizes, epsilon, release, 1).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
}
