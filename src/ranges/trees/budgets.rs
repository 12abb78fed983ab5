//! How the levels of a tree share a budget.

use super::shape::TreeShape;

/// The division of a budget among a tree's levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelBudgets {
    Equal,
    /// In proportion to what is best for the sum of the variances of all nodes, which on each level
    /// are b times as many as on the one above: a level's epsilon is b^(1/3) times its parent's
    /// (Cormode et al. 2012), its rho b^(1/2) times.
    Geometric,
    /// What minimises the mean variance over all ranges, starting from equal shares (Qardaji et
    /// al., section 3.5).
    Optimised,
}

/// How the variance of noise falls with the share of the budget that it is calibrated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ranges) enum Decay {
    /// Of an epsilon: as its inverse square.
    InverseSquare,
    /// Of a rho: as its inverse.
    Inverse,
}

impl Decay {
    fn power(self) -> f64 {
        match self {
            Decay::InverseSquare => 2.0,
            Decay::Inverse => 1.0,
        }
    }

    /// The shares, summing to 1, that minimise the sum of weight times variance (a Lagrange
    /// multiplier makes weight / share^(power + 1) the same for all).
    fn best_shares(self, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let shares: Vec<f64> =
            weights.map(|weight| weight.powf(1.0 / (self.power() + 1.0))).collect();
        let sum: f64 = shares.iter().sum();
        shares.into_iter().map(|share| share / sum).collect()
    }
}

impl LevelBudgets {
    /// Every word that a user can write, with its meaning.
    pub const WORDS: [(&'static str, LevelBudgets); 3] = [
        (LevelBudgets::Equal.word(), LevelBudgets::Equal),
        (LevelBudgets::Geometric.word(), LevelBudgets::Geometric),
        (LevelBudgets::Optimised.word(), LevelBudgets::Optimised),
    ];

    pub fn parse(word: &str) -> Option<LevelBudgets> {
        LevelBudgets::WORDS.iter().find(|(known, _)| *known == word).map(|(_, budgets)| *budgets)
    }

    pub const fn word(self) -> &'static str {
        match self {
            LevelBudgets::Equal => "equal",
            LevelBudgets::Geometric => "geometric",
            LevelBudgets::Optimised => "optimised",
        }
    }

    /// The levels' shares, from the leaves up; they sum to 1. `mean`: the mean variance over all
    /// ranges from the levels' node variances.
    pub(in crate::ranges) fn shares(
        self,
        shape: TreeShape,
        decay: Decay,
        mean: impl Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let levels = shape.height();
        match self {
            LevelBudgets::Equal => vec![1.0 / levels as f64; levels],
            LevelBudgets::Geometric => {
                let branching = shape.branching() as f64;
                decay.best_shares((0..levels).map(|level| branching.powi(-(level as i32))))
            }
            LevelBudgets::Optimised => optimised(levels, decay, mean),
        }
    }
}

/// Shares of which a small change lowers the mean variance no further.
///
/// Answers are linear in the measurements, so the mean variance is a sum of coefficients times the
/// levels' variances, and the coefficients are its derivatives, as those that least squares chooses
/// are themselves optimal. In turn the best shares for the coefficients and the best coefficients
/// for the shares are taken; neither step can raise the variance. The continuous noise's variance
/// is minimised, from which that of the discrete one's differs by a constant and by less than 1 %
/// where the level's epsilon is below 1.
fn optimised(levels: usize, decay: Decay, mean: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    /// Relative gain per round below which it ends.
    const GAIN: f64 = 1e-7;
    const ROUNDS: usize = 100;
    /// Of a variance, for differences; the mean is nearly linear, so that it can be large.
    const STEP: f64 = 1e-4;
    let variances = |shares: &[f64]| -> Vec<f64> {
        shares.iter().map(|share| share.powf(-decay.power())).collect()
    };
    let mut best = vec![1.0 / levels as f64; levels];
    let mut least = mean(&variances(&best));
    for _ in 0..ROUNDS {
        let at = variances(&best);
        let coefficient = |level: usize| {
            let moved = |factor: f64| {
                let mut variances = at.clone();
                variances[level] *= factor;
                mean(&variances)
            };
            (moved(1.0 + STEP) - moved(1.0 - STEP)) / (2.0 * STEP * at[level])
        };
        let shares = decay.best_shares((0..levels).map(coefficient));
        let reached = mean(&variances(&shares));
        let gain = least - reached;
        if gain.is_nan() || gain <= 0.0 {
            break;
        }
        (best, least) = (shares, reached);
        if gain < GAIN * least {
            break;
        }
    }
    best
}
