//! What a hierarchy release will do, settled from public arguments before any data are read.

use super::chain::ChainMechanism;
use super::consistency::Consistency;
use super::curve::Noise;
use super::selection::MAX_CANDIDATES;
use crate::coco::{CocoMechanism, MAX_SIZE_LIMIT, Method};
use crate::noise::ScaleError;
use crate::privacy::{Epsilon, ShareError, rho_of_pure};
use serde_json::json;
use std::fmt;

/// The largest number of levels, the root's included.
pub const MAX_LEVELS: usize = 10;

/// The largest number of cells, regions times sizes, for the methods that hold all of them at once.
pub const MAX_CELLS: usize = 1 << 26;

/// How the regions of one level are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelPlan {
    pub method: Method,
    /// What each region's measurement is calibrated to; the regions of a level hold disjoint
    /// entities and compose in parallel.
    pub epsilon: f64,
}

/// A hierarchy release: the estimator and budget of each level, the consistency method, K.
///
/// The levels that are measured compose sequentially, so the whole release satisfies
/// [`ReleasePlan::epsilon`]-differential privacy (Kuo et al., theorem 1).
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasePlan {
    epsilon: Epsilon,
    levels: Vec<Option<LevelPlan>>,
    consistency: Consistency,
    max_size: u64,
    rows_per_unit: u32,
}

/// Which argument cannot be planned with, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    Epsilon {
        value: f64,
    },
    Scale {
        value: f64,
        error: ScaleError,
    },
    Estimator {
        word: String,
    },
    /// A cut where no group can be.
    Cut {
        cut: u64,
        max_size: u64,
    },
    EstimatorCount {
        got: usize,
        levels: usize,
    },
    /// A choice of estimators that is none.
    Selection {
        word: String,
    },
    Consistency {
        word: String,
    },
    /// The consistency method makes nothing of what the estimator measures.
    Meaningless {
        estimator: Method,
        consistency: Consistency,
    },
    ShareCount {
        got: usize,
        levels: usize,
    },
    Share(ShareError),
    SharesWithoutLevels,
    MaxSize {
        value: i64,
    },
    /// Too many cells for a method that holds all of them at once.
    Cells {
        max_size: u64,
        regions: usize,
        consistency: Consistency,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Epsilon { value } => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            PlanError::Scale { value, error } => write!(f, "epsilon {value} {error}"),
            PlanError::Estimator { word } => write!(f, "estimators: unknown word \"{word}\""),
            PlanError::Cut { cut, max_size } => {
                write!(f, "\"cut:{cut}\" is beyond max_size {max_size}")
            }
            PlanError::EstimatorCount { got, levels } => write!(
                f,
                "estimators must name one for all levels or one for each of the {levels}, \
                 got {got}"
            ),
            PlanError::Selection { word } => write!(
                f,
                "estimators: \"{word}\" must be the only word and name 2 to {MAX_CANDIDATES} candidates"
            ),
            PlanError::Consistency { word } => write!(f, "consistency: unknown word \"{word}\""),
            PlanError::Meaningless { estimator, consistency } => write!(
                f,
                "estimators: \"{}\" has no meaning with consistency \"{}\"",
                estimator,
                consistency.word()
            ),
            PlanError::ShareCount { got, levels } => write!(
                f,
                "budget_shares must hold one share for each of the {levels} levels, got {got}"
            ),
            PlanError::Share(error) => write!(f, "budget_shares {error}"),
            PlanError::SharesWithoutLevels => {
                write!(f, "budget_shares has no meaning with consistency \"bottom_up\"")
            }
            PlanError::MaxSize { value } => {
                write!(f, "max_size must be from 1 to {MAX_SIZE_LIMIT}, got {value}")
            }
            PlanError::Cells { max_size, regions, consistency } => write!(
                f,
                "max_size {max_size} is too large for {regions} regions with consistency \"{}\", \
                 which holds every size of every region at once",
                consistency.word()
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl PlanError {
    /// What the caller can do about it.
    pub fn hint(&self) -> String {
        match self {
            PlanError::Epsilon { .. } => "Typical values are 0.1 to 10.".into(),
            PlanError::Scale { .. } => {
                "The noise scale of a level is its estimator's sensitivity over its share of \
                 epsilon."
                    .into()
            }
            PlanError::Estimator { .. } => {
                let words = words(&estimator_words(|_| true));
                format!("Valid estimators: {words}; for a choice of several: select:cut|Hc|Hg.")
            }
            PlanError::Selection { .. } => {
                "Example: '{select:cut|Hc|Hg}'; a candidate for three levels: Hc/Hc/Hg.".into()
            }
            PlanError::Cut { .. } => "cut:0 is Hg, a cut at max_size is Hc.".into(),
            PlanError::Consistency { .. } => format!(
                "Valid consistency methods: {}.",
                words(&Consistency::WORDS.map(|(word, _)| word))
            ),
            PlanError::Meaningless { consistency, .. } => {
                let meant = estimator_words(|method| consistency.takes(method));
                format!("Estimators with a meaning: {}.", words(&meant))
            }
            PlanError::EstimatorCount { .. } => {
                "Levels are counted from the root, which is a level of its own.".into()
            }
            PlanError::ShareCount { .. } => {
                "Levels are counted from the root, which is a level of its own; without \
                 budget_shares every level gets the same share."
                    .into()
            }
            PlanError::Share(_) => "Example for three levels: '{0.2,0.3,0.5}'.".into(),
            PlanError::SharesWithoutLevels => {
                "\"bottom_up\" spends all of epsilon at the leaves: leave budget_shares out.".into()
            }
            PlanError::MaxSize { .. } => {
                "Choose a public bound that few groups exceed; larger groups are counted at it."
                    .into()
            }
            PlanError::Cells { regions, .. } => {
                let matching = Consistency::Matching.word();
                let most = MAX_CELLS / (*regions).max(1);
                match most.checked_sub(1).filter(|most| *most > 0) {
                    Some(most) => format!(
                        "Choose a max_size of {most} or less, or consistency \"{matching}\"."
                    ),
                    None => format!("Choose consistency \"{matching}\"."),
                }
            }
        }
    }
}

fn words(words: &[&str]) -> String {
    words.join(", ")
}

/// The words for the estimators that are meant; T stands for any number.
pub fn estimator_words(meant: impl Fn(Method) -> bool) -> Vec<&'static str> {
    let mut words: Vec<_> =
        Method::WORDS.iter().filter(|(_, method)| meant(*method)).map(|(word, _)| *word).collect();
    words.extend(meant(Method::CutAt(0)).then_some("cut:T"));
    words.push(Consistency::AUTO);
    words
}

impl ReleasePlan {
    /// `levels`: their number with the root's, at least 1. `estimators`: one word for all levels or
    /// one per level. `shares`: of epsilon, one per level; equal ones if None. `rows_per_unit`: how
    /// many entities one unit of privacy owns at most in the whole hierarchy.
    ///
    /// Errors: see [`PlanError`]; each names its argument.
    pub fn new(
        levels: usize,
        epsilon: f64,
        estimators: &[String],
        consistency: &str,
        max_size: i64,
        shares: Option<&[f64]>,
        rows_per_unit: u32,
    ) -> Result<ReleasePlan, PlanError> {
        let budget = Epsilon::new(epsilon).map_err(|_| PlanError::Epsilon { value: epsilon })?;
        let consistency = Consistency::parse(consistency)
            .ok_or_else(|| PlanError::Consistency { word: consistency.to_string() })?;
        let max_size = u64::try_from(max_size)
            .ok()
            .filter(|size| (1..=MAX_SIZE_LIMIT).contains(size))
            .ok_or(PlanError::MaxSize { value: max_size })?;
        let methods = estimators
            .iter()
            .map(|word| {
                let unknown = || PlanError::Estimator { word: word.clone() };
                match consistency.estimator(word).ok_or_else(unknown)? {
                    Method::CutAt(cut) if cut > max_size => Err(PlanError::Cut { cut, max_size }),
                    method => Ok(method),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(&estimator) = methods.iter().find(|method| !consistency.takes(**method)) {
            return Err(PlanError::Meaningless { estimator, consistency });
        }
        let method_of = |level: usize| match methods.as_slice() {
            [one] => Ok(*one),
            many if many.len() == levels => Ok(many[level]),
            many => Err(PlanError::EstimatorCount { got: many.len(), levels }),
        };

        let parts = match shares {
            Some(_) if consistency == Consistency::BottomUp => {
                return Err(PlanError::SharesWithoutLevels);
            }
            Some(shares) if shares.len() != levels => {
                return Err(PlanError::ShareCount { got: shares.len(), levels });
            }
            Some(shares) => budget.split(shares).map_err(PlanError::Share)?,
            None if consistency == Consistency::BottomUp => vec![budget.whole(); levels],
            None => budget.split_equally(levels),
        };
        let levels = (0..levels)
            .map(|level| {
                let plan = LevelPlan { method: method_of(level)?, epsilon: parts[level] };
                Ok(consistency.measures(level, levels).then_some(plan))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let plan = ReleasePlan { epsilon: budget, levels, consistency, max_size, rows_per_unit };
        // A scale that cannot be sampled is refused here, before anything is charged. A chain's grows
        // with the regions, which are not known yet; there is at least one.
        for level in plan.levels.iter().flatten() {
            let outcome = match consistency {
                Consistency::Chain => plan.chain_mechanism(level, 1).map(drop),
                _ => plan.mechanism(level, 0).map(drop),
            };
            outcome.map_err(|error| PlanError::Scale { value: epsilon, error })?;
        }
        Ok(plan)
    }

    /// The whole budget: what is charged.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The zero-concentrated loss of the whole release: the sum over its levels, which is less than
    /// that of the sum of their epsilons.
    pub fn rho(&self) -> f64 {
        self.levels.iter().flatten().map(|level| rho_of_pure(level.epsilon)).sum::<f64>().next_up()
    }

    /// One entry per level from the root down; None where nothing is measured.
    pub fn levels(&self) -> &[Option<LevelPlan>] {
        &self.levels
    }

    pub fn consistency(&self) -> Consistency {
        self.consistency
    }

    pub fn max_size(&self) -> u64 {
        self.max_size
    }

    pub fn rows_per_unit(&self) -> u32 {
        self.rows_per_unit
    }

    /// The mechanism for a region of a measured level with a public number of groups.
    ///
    /// The entities of one unit can lie in several regions of a level. The noise of each region is
    /// that of all of them together, so that the level's regions, taken as one vector, have the
    /// sensitivity that the noise is calibrated to.
    pub fn mechanism(&self, level: &LevelPlan, groups: u64) -> Result<CocoMechanism, ScaleError> {
        CocoMechanism::new(level.method, groups, self.max_size, self.rows_per_unit, level.epsilon)
    }

    /// The mechanism for a measured level with so many regions, where consistency is "chain".
    pub fn chain_mechanism(
        &self,
        level: &LevelPlan,
        regions: usize,
    ) -> Result<ChainMechanism, ScaleError> {
        ChainMechanism::new(regions, self.max_size, self.rows_per_unit, level.epsilon)
    }

    /// Of each level's estimates, where the cut measures all of them.
    pub(super) fn noise_of_cuts(&self) -> Option<Vec<Noise>> {
        let noise = |(level, measured): (usize, &Option<LevelPlan>)| {
            let measured = measured.as_ref().filter(|measured| measured.method == Method::Cut)?;
            let variance = self.mechanism(measured, 0).ok()?.variance();
            Some(Noise { variance, smoothed: level > 0, max_size: self.max_size })
        };
        self.levels.iter().enumerate().map(noise).collect()
    }

    /// Whether the plan can be carried out on a tree with so many regions on each level.
    ///
    /// Errors: [`PlanError::Cells`]; [`PlanError::Scale`] for a chain over too many regions.
    pub fn check_regions(&self, per_level: &[usize]) -> Result<(), PlanError> {
        let (max_size, consistency) = (self.max_size, self.consistency);
        let regions = per_level.iter().fold(0, |sum: usize, level| sum.saturating_add(*level));
        let cells = regions.saturating_mul(max_size as usize + 1);
        if consistency.is_dense() && cells > MAX_CELLS {
            return Err(PlanError::Cells { max_size, regions, consistency });
        }
        if consistency == Consistency::Chain {
            for (level, &regions) in self.levels.iter().zip(per_level) {
                let Some(level) = level else { continue };
                let value = self.epsilon.value();
                self.chain_mechanism(level, regions.max(1))
                    .map_err(|error| PlanError::Scale { value, error })?;
            }
        }
        Ok(())
    }

    /// What will be measured and how, for the ledger's readers.
    pub fn describe(&self) -> serde_json::Value {
        let level = |level: &LevelPlan| {
            let sensitivity = match self.consistency {
                Consistency::Chain => {
                    json!(format!("{} x regions of the level", self.rows_per_unit))
                }
                _ => json!(u64::from(level.method.sensitivity()) * u64::from(self.rows_per_unit)),
            };
            json!({
                "estimator": level.method.to_string(),
                "sensitivity": sensitivity,
                "epsilon": level.epsilon,
            })
        };
        let mut description = json!({
            "levels": self.levels.iter().map(|l| l.as_ref().map(level)).collect::<Vec<_>>(),
            "consistency": self.consistency.word(),
            "max_size": self.max_size,
            "rows_per_unit": self.rows_per_unit,
        });
        if self.consistency == Consistency::Chain {
            description["note"] = json!(ChainMechanism::NOTE);
        }
        description
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(
        levels: usize,
        epsilon: f64,
        estimators: &[&str],
        consistency: &str,
        max_size: i64,
        shares: Option<&[f64]>,
    ) -> Result<ReleasePlan, PlanError> {
        let estimators: Vec<String> = estimators.iter().map(|s| s.to_string()).collect();
        ReleasePlan::new(levels, epsilon, &estimators, consistency, max_size, shares, 1)
    }

    #[test]
    fn the_parts_of_all_levels_stay_within_epsilon() {
        let plan = plan(3, 1.0, &["H", "Hc", "Hg"], "matching", 10, None).unwrap();
        let methods: Vec<Method> = plan.levels().iter().flatten().map(|p| p.method).collect();
        assert_eq!(methods, [Method::H, Method::Hc, Method::Hg]);
        let total: f64 = plan.levels().iter().flatten().map(|p| p.epsilon).sum();
        assert!(total <= 1.0 && total > 1.0 - 1e-14);
    }

    #[test]
    fn bottom_up_spends_everything_at_the_leaves() {
        let plan = plan(3, 1.0, &["Hc"], "bottom_up", 10, None).unwrap();
        assert!(plan.levels()[..2].iter().all(Option::is_none));
        assert!(plan.levels()[2].unwrap().epsilon > 1.0 - 1e-14);
    }

    #[test]
    fn each_bad_argument_has_its_own_error() {
        let estimator = |word: &str| PlanError::Estimator { word: word.into() };
        for (outcome, error) in [
            (plan(3, -1.0, &["Hc"], "none", 10, None), PlanError::Epsilon { value: -1.0 }),
            (plan(3, 1.0, &["hc"], "none", 10, None), estimator("hc")),
            (plan(3, 1.0, &["cut:"], "none", 10, None), estimator("cut:")),
            (plan(3, 1.0, &["cut:+4"], "none", 10, None), estimator("cut:+4")),
            (plan(3, 1.0, &["cut:11"], "none", 10, None), PlanError::Cut { cut: 11, max_size: 10 }),
            (
                plan(3, 1.0, &["Hc", "Hc"], "none", 10, None),
                PlanError::EstimatorCount { got: 2, levels: 3 },
            ),
            (plan(3, 1.0, &[], "none", 10, None), PlanError::EstimatorCount { got: 0, levels: 3 }),
            (
                plan(3, 1.0, &["Hc"], "median", 10, None),
                PlanError::Consistency { word: "median".into() },
            ),
            (
                plan(2, 1.0, &["Hc", "H"], "chain", 10, None),
                PlanError::Meaningless { estimator: Method::H, consistency: Consistency::Chain },
            ),
            (plan(3, 1.0, &["Hc"], "none", 0, None), PlanError::MaxSize { value: 0 }),
            (plan(3, 1.0, &["Hc"], "none", -4, None), PlanError::MaxSize { value: -4 }),
            (
                plan(3, 1.0, &["Hc"], "none", 10, Some(&[1.0])),
                PlanError::ShareCount { got: 1, levels: 3 },
            ),
            (
                plan(2, 1.0, &["Hc"], "none", 10, Some(&[0.5, 0.6])),
                PlanError::Share(ShareError::SumNotOne { sum: 1.1 }),
            ),
            (
                plan(2, 1.0, &["Hc"], "bottom_up", 10, Some(&[0.5, 0.5])),
                PlanError::SharesWithoutLevels,
            ),
        ] {
            assert_eq!(outcome.unwrap_err(), error);
        }
        for epsilon in [f64::NAN, f64::INFINITY, 0.0] {
            let error = plan(1, epsilon, &["Hc"], "none", 10, None).unwrap_err();
            assert!(matches!(error, PlanError::Epsilon { .. }));
        }
        for (epsilon, consistency) in [(1e-9, "none"), (1e8, "none"), (1e-9, "chain")] {
            let error = plan(3, epsilon, &["Hc"], consistency, 10, None).unwrap_err();
            assert!(matches!(error, PlanError::Scale { .. }), "{error}");
        }
    }

    #[test]
    fn a_chain_takes_cumulative_counts() {
        for estimator in ["Hc", "Hc_l2", "auto"] {
            assert!(plan(3, 1.0, &[estimator], "chain", 10, None).is_ok());
        }
        let error = plan(3, 1.0, &["Hg"], "chain", 10, None).unwrap_err();
        assert_eq!(error.hint(), "Estimators with a meaning: Hc, Hc_l2, auto.");
        let error = plan(3, 1.0, &["auto", "cut", "cut"], "cumulative", 10, None).unwrap_err();
        assert_eq!(error.hint(), "Estimators with a meaning: Hc, Hc_l2, auto.");
    }

    #[test]
    fn every_estimator_can_be_written_as_it_is_recorded() {
        for word in ["H", "Hc", "Hc_l2", "Hg", "cut", "cut:0", "cut:7", "cut:10"] {
            let plan = plan(1, 1.0, &[word], "matching", 10, None).unwrap();
            assert_eq!(plan.describe()["levels"][0]["estimator"], word);
        }
        for (consistency, meant) in [("matching", Method::Cut), ("cumulative", Method::Hc)] {
            let plan = plan(1, 1.0, &["auto"], consistency, 10, None).unwrap();
            assert_eq!(plan.levels()[0].unwrap().method, meant);
        }
    }

    #[test]
    fn a_chains_record_says_that_its_sensitivity_depends_on_the_regions() {
        let estimators = ["Hc".to_string()];
        let describe = |consistency| {
            let plan = ReleasePlan::new(2, 1.0, &estimators, consistency, 10, None, 3).unwrap();
            plan.describe()
        };
        let chain = describe("chain");
        assert_eq!(chain["levels"][1]["sensitivity"], "3 x regions of the level");
        assert!(chain["note"].as_str().unwrap().contains("not private"));
        let matching = describe("matching");
        assert_eq!(matching["levels"][1]["sensitivity"], 3);
        assert!(matching.get("note").is_none());
    }

    /// The suggested max_size is the largest that is taken.
    #[test]
    fn dense_methods_refuse_too_many_cells() {
        let with_max_size = |max_size| plan(2, 1.0, &["Hc"], "pgsr", max_size, None).unwrap();
        let most = MAX_CELLS / 3200;
        assert_eq!(with_max_size(most as i64 - 1).check_regions(&[1, 3199]), Ok(()));
        let error = with_max_size(most as i64).check_regions(&[1, 3199]).unwrap_err();
        assert!(matches!(error, PlanError::Cells { regions: 3200, .. }));
        assert!(error.hint().contains(&format!(" {} or less", most - 1)));
        assert!(with_max_size(1).check_regions(&[1, usize::MAX]).is_err());
        let hint = with_max_size(1).check_regions(&[1, MAX_CELLS - 1]).unwrap_err().hint();
        assert_eq!(hint, "Choose consistency \"matching\".");
        let matching = plan(2, 1.0, &["Hc"], "matching", 5_000_000, None).unwrap();
        assert_eq!(matching.check_regions(&[1, 1_000_000]), Ok(()));
    }
}
