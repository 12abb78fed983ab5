//! Why a release cannot be planned as it was asked for.

use super::request::MAX_CANDIDATES;
use crate::coco::{Estimator, MAX_SIZE_LIMIT};
use crate::hierarchy::consistency::{Consistency, MAX_CELLS};
use crate::noise::{ScaleError, shown};
use crate::privacy::ShareError;
use std::fmt;

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
        name: String,
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
        name: String,
    },
    Consistency {
        name: String,
    },
    /// The consistency method makes nothing of what the estimator measures.
    Meaningless {
        estimator: Estimator,
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
    /// The words of a method whose measurements are not those of single regions.
    NothingToKeep {
        word: String,
    },
    /// Too many numbers to keep.
    Kept {
        max_size: u64,
        regions: usize,
    },
    /// What would tell more of the groups than their noisy numbers.
    PrivateGroups {
        word: String,
    },
    /// The numbers of groups would get noise of that scale.
    GroupsLost {
        epsilon: f64,
        scale: f64,
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
            PlanError::Scale { value, error } => write!(f, "epsilon {} {error}", shown(*value)),
            PlanError::Estimator { name } => write!(f, "estimators: unknown word \"{name}\""),
            PlanError::Cut { cut, max_size } => {
                write!(f, "\"cut:{cut}\" is beyond max_size {max_size}")
            }
            PlanError::EstimatorCount { got, levels } => write!(
                f,
                "estimators must name one for all levels or one for each of the {levels}, \
                 got {got}"
            ),
            PlanError::Selection { name } => write!(
                f,
                "estimators: \"{name}\" must be the only word and name 2 to {MAX_CANDIDATES} \
                 candidates"
            ),
            PlanError::Consistency { name } => write!(f, "consistency: unknown word \"{name}\""),
            PlanError::Meaningless { estimator, consistency } => write!(
                f,
                "estimators: \"{}\" has no meaning with consistency \"{}\"",
                estimator,
                consistency.name()
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
            PlanError::NothingToKeep { word } => {
                write!(f, "keep_measurements has no meaning with \"{word}\"")
            }
            PlanError::Kept { max_size, regions } => write!(
                f,
                "keep_measurements: max_size {max_size} is too large for {regions} regions"
            ),
            PlanError::PrivateGroups { word } => {
                write!(f, "{word} has no meaning where the number of groups is private")
            }
            PlanError::GroupsLost { epsilon, scale } => write!(
                f,
                "epsilon {epsilon} is too small: the private numbers of groups would be off by \
                 {scale:.0} each"
            ),
            PlanError::Cells { max_size, regions, consistency } => write!(
                f,
                "max_size {max_size} is too large for {regions} regions with consistency \"{}\", \
                 which holds every size of every region at once",
                consistency.name()
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
                let names = joined(&estimator_names(|_| true));
                format!("Valid estimators: {names}; for a choice of several: select:cut|Hc|Hg.")
            }
            PlanError::Selection { .. } => {
                "Example: '{select:cut|Hc|Hg}'; a candidate for three levels: Hc/Hc/Hg.".into()
            }
            PlanError::Cut { .. } => "cut:0 is Hg, a cut at max_size is Hc.".into(),
            PlanError::Consistency { .. } => format!(
                "Valid consistency methods: {}.",
                joined(&Consistency::ALL.map(Consistency::name))
            ),
            PlanError::Meaningless { consistency, .. } => {
                let meant = estimator_names(|estimator| consistency.takes(estimator));
                format!("Estimators with a meaning: {}.", joined(&meant))
            }
            PlanError::EstimatorCount { .. } => {
                "Levels are counted from the root, which is a level of its own.".into()
            }
            PlanError::ShareCount { .. } => {
                "Levels are counted from the root, which is a level of its own; leave \
                 budget_shares out for the default."
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
            PlanError::NothingToKeep { .. } => {
                "It keeps what is measured of each region by size, as cut, Hc, Hc_l2 and H do: not \
                 a number for each group, running totals over all regions, or what several \
                 candidates measured."
                    .into()
            }
            PlanError::Kept { .. } => "Choose a smaller max_size.".into(),
            PlanError::PrivateGroups { .. } => {
                "Leave it out: what is measured is of histograms with the released numbers of \
                 groups."
                    .into()
            }
            PlanError::GroupsLost { .. } => {
                "They are measured with a quarter of epsilon. Choose a larger one.".into()
            }
            PlanError::Cells { regions, .. } => {
                let matching = Consistency::Matching.name();
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

fn joined(names: &[&str]) -> String {
    names.join(", ")
}

/// The names of the estimators that are meant; T stands for any number.
pub fn estimator_names(meant: impl Fn(Estimator) -> bool) -> Vec<&'static str> {
    let mut names: Vec<_> = Estimator::NAMES
        .iter()
        .filter(|(_, estimator)| meant(*estimator))
        .map(|(name, _)| *name)
        .collect();
    names.extend(meant(Estimator::CutAt(0)).then_some("cut:T"));
    names.push(Consistency::AUTO);
    names
}
