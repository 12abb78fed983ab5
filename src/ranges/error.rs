//! Why there is no plan.

use super::bucket_method::BucketMethod;
use super::limits::{MAX_BINS, MAX_WEIGHTED_BINS};
use super::method::RangeMethod;
use super::trees::budgets::LevelBudgets;
use super::workload::Workload;
use crate::noise::{ScaleError, shown};
use crate::privacy::ShareError;
use std::fmt;

/// What is planned for: ranges of a line of bins, or rectangles of a grid of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimensions {
    One,
    Two,
}

impl Dimensions {
    /// Those that have a form in so many dimensions.
    pub(super) fn methods(self) -> Vec<RangeMethod> {
        match self {
            Dimensions::One => RangeMethod::ALL.to_vec(),
            Dimensions::Two => {
                let mut methods = RangeMethod::ALL.to_vec();
                methods.retain(|method| method.is_for_grids());
                // of equally good ones, those without parameters come first
                methods.sort_by_key(|method| method.has_branching());
                methods
            }
        }
    }
}

/// Which argument cannot be planned with, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum RangePlanError {
    Bins {
        value: i64,
    },
    /// No bins, or more than the method finds buckets of.
    BucketBins {
        method: BucketMethod,
        value: i64,
    },
    /// A method that sees the data, where all is settled beforehand.
    Buckets {
        method: BucketMethod,
    },
    /// Buckets of sums that can be of amounts below 0.
    BucketsOfNegative {
        method: BucketMethod,
    },
    /// No counts, or more than [`MAX_WEIGHTED_BINS`].
    Horizon {
        value: i64,
    },
    /// No cells, or more than [`MAX_BINS`].
    Sides {
        rows: i64,
        columns: i64,
    },
    Epsilon {
        value: f64,
    },
    Delta {
        value: f64,
    },
    /// The method has Gaussian noise only.
    DeltaMissing {
        method: RangeMethod,
        dimensions: Dimensions,
    },
    /// No method, or not one for so many dimensions, or not with the words after it.
    Method {
        word: String,
        dimensions: Dimensions,
    },
    /// The same where buckets could be released, too.
    MethodOfRelease {
        word: String,
    },
    /// More bins than the method takes.
    MethodBins {
        method: RangeMethod,
        value: u32,
        most: usize,
    },
    /// More rows or columns than the method takes.
    MethodSides {
        method: RangeMethod,
        side: usize,
        most: usize,
    },
    Branching {
        value: i64,
        most: u32,
        dimensions: Dimensions,
    },
    /// Answers to adjacent ranges do not add up, as those of regions have to.
    NotAdding {
        method: RangeMethod,
    },
    ShareCount {
        got: usize,
        levels: usize,
    },
    Share(ShareError),
    /// More regions times cells than [`MAX_BINS`].
    Regions {
        regions: usize,
        cells: usize,
    },
    Scale {
        epsilon: f64,
        delta: f64,
        error: ScaleError,
    },
}

impl fmt::Display for RangePlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangePlanError::Bins { value } => {
                write!(f, "the number of bins must be from 1 to {MAX_BINS}, got {value}")
            }
            RangePlanError::BucketBins { method, value } => write!(
                f,
                "the number of bins for method \"{}\" must be from 1 to {}, got {value}",
                method.word(),
                method.most_bins()
            ),
            RangePlanError::Buckets { method } => write!(
                f,
                "method \"{}\" is one of dp_range_sums and dp_range_release alone",
                method.word()
            ),
            RangePlanError::BucketsOfNegative { method } => {
                write!(f, "method \"{}\" has no meaning for amounts below 0", method.word())
            }
            RangePlanError::Horizon { value } => {
                write!(f, "horizon must be from 1 to {MAX_WEIGHTED_BINS}, got {value}")
            }
            RangePlanError::Sides { rows, columns } => write!(
                f,
                "rows and columns must be at least 1 and have at most {MAX_BINS} cells, got {rows} \
                 and {columns}"
            ),
            RangePlanError::Epsilon { value } => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            RangePlanError::Delta { value } if *value > 0.0 && *value < 1.0 => {
                write!(f, "delta {} is too small to calibrate noise with", shown(*value))
            }
            RangePlanError::Delta { value } => {
                write!(f, "delta must be at least 0 and less than 1, got {value}")
            }
            RangePlanError::DeltaMissing { method, .. } => {
                write!(f, "delta must be positive for method \"{}\", got 0", method.word())
            }
            RangePlanError::Method { word, dimensions: Dimensions::One }
            | RangePlanError::MethodOfRelease { word } => {
                write!(f, "method: unknown word \"{word}\"")
            }
            RangePlanError::Method { word, dimensions: Dimensions::Two } => {
                write!(f, "method: unknown word \"{word}\" for two dimensions")
            }
            RangePlanError::MethodBins { method, value, most } => {
                let word = method.word();
                write!(
                    f,
                    "the number of bins for method \"{word}\" must be at most {most}, got {value}"
                )
            }
            RangePlanError::MethodSides { method, side, most } => {
                let word = method.word();
                write!(
                    f,
                    "rows and columns for method \"{word}\" must be at most {most} each, got {side}"
                )
            }
            RangePlanError::Branching { value, most, .. } => {
                write!(f, "branching must be from 2 to {most}, got {value}")
            }
            RangePlanError::NotAdding { method } => write!(
                f,
                "method \"{}\" has no meaning for regions: its answers to adjacent ranges do not \
                 add up",
                method.word()
            ),
            RangePlanError::ShareCount { got, levels } => write!(
                f,
                "budget_shares must hold one share for each of the {levels} levels, got {got}"
            ),
            RangePlanError::Share(error) => write!(f, "budget_shares {error}"),
            RangePlanError::Regions { regions, cells } => write!(
                f,
                "the number of regions times that of ranges must be at most {MAX_BINS}, got \
                 {regions} times {cells}"
            ),
            RangePlanError::Scale { epsilon, delta: 0.0, error } => {
                write!(f, "epsilon {} {error}", shown(*epsilon))
            }
            RangePlanError::Scale { epsilon, delta, error } => {
                write!(f, "epsilon {} with delta {} {error}", shown(*epsilon), shown(*delta))
            }
        }
    }
}

impl std::error::Error for RangePlanError {}

impl RangePlanError {
    /// What the caller can do about it.
    pub fn hint(&self) -> String {
        match self {
            RangePlanError::Bins { .. } | RangePlanError::BucketBins { .. } => {
                "Choose wider bins or narrower bounds.".into()
            }
            RangePlanError::Buckets { method } => {
                let pays = match method {
                    BucketMethod::Aware => {
                        " It pays below some ten rows times epsilon for each bin."
                    }
                    BucketMethod::StructureFirst => "",
                };
                format!(
                    "What it measures depends on the data, so nothing can be told of it beforehand, \
                     and it has no form for regions.{pays}"
                )
            }
            RangePlanError::BucketsOfNegative { .. } => {
                "Sum the magnitudes of negative amounts apart, or take another method.".into()
            }
            RangePlanError::Horizon { .. } => {
                "It is the number of bins that can ever be released: choose wider bins, or begin \
                 another stream, with a charge of its own, where this one ends."
                    .into()
            }
            RangePlanError::Sides { .. } => {
                "Choose wider bins or narrower bounds, or ask for fewer rectangles.".into()
            }
            RangePlanError::MethodBins { .. } => {
                "Choose wider bins, or one of the trees, which take more.".into()
            }
            RangePlanError::MethodSides { .. } => {
                "Choose wider bins, or one of the other methods, which take more.".into()
            }
            RangePlanError::Epsilon { .. } => "Typical values are 0.1 to 10.".into(),
            RangePlanError::Delta { .. } => {
                "Choose a delta far below one over the number of rows, such as 1e-9; 0 for pure \
                 epsilon."
                    .into()
            }
            RangePlanError::DeltaMissing { dimensions, .. } => {
                let pure = dimensions.methods().into_iter().filter(|method| method.is_pure());
                format!("Methods that need no delta: {}.", listed(pure))
            }
            RangePlanError::Method { dimensions, .. } => valid_methods(*dimensions, false),
            RangePlanError::MethodOfRelease { .. } => valid_methods(Dimensions::One, true),
            RangePlanError::Branching { dimensions: Dimensions::One, .. } => {
                "Leave it out for the one with the least mean variance over all ranges.".into()
            }
            RangePlanError::Branching { dimensions: Dimensions::Two, .. } => {
                "Leave it out for 2 (cascade), or for the one with the least mean variance over \
                 all rectangles (tree_consistent)."
                    .into()
            }
            RangePlanError::NotAdding { .. } => {
                let adding = RangeMethod::ALL.iter().copied().filter(|method| method.adds_up());
                format!("Valid methods: auto, {}.", listed(adding))
            }
            RangePlanError::ShareCount { .. } => {
                "Levels are counted from the root, which is a level of its own; leave \
                 budget_shares out to have it divided by exact variances."
                    .into()
            }
            RangePlanError::Share(_) => "Example for three levels: '{0.2,0.3,0.5}'.".into(),
            RangePlanError::Regions { .. } => {
                "Ask fewer ranges, or declare a hierarchy of coarser columns.".into()
            }
            RangePlanError::Scale { .. } => {
                "The noise scale of a level is the number of rows per unit over its share of \
                 the budget."
                    .into()
            }
        }
    }
}

fn valid_methods(dimensions: Dimensions, buckets: bool) -> String {
    let methods = dimensions.methods();
    let words = listed(methods.iter().copied());
    let mut branching: Vec<RangeMethod> = methods;
    branching.retain(|method| method.has_branching());
    let last = branching.pop().map_or("", RangeMethod::word);
    let branching = listed(branching);
    match dimensions {
        Dimensions::One => {
            let budgets = LevelBudgets::WORDS.map(|(word, _)| word).join(", ");
            let workloads = Workload::WORDS.map(|(word, _)| word).join(", ");
            let seeing = BucketMethod::ALL.map(BucketMethod::word);
            let (words, made_for) = match buckets {
                true => (
                    format!("{words}, {}", seeing.join(", ")),
                    format!("auto, optimal, minimax, {}", seeing.join(" and ")),
                ),
                false => (words, "auto, optimal and minimax".to_string()),
            };
            format!(
                "Valid methods: auto, {words}; {branching} and {last} also with a branching \
                 factor, trees with budgets ({budgets}), {made_for} with a \
                 workload ({workloads}), as in \"tree_consistent:16:optimised\" or \"optimal:prefix\"."
            )
        }
        Dimensions::Two => format!(
            "Valid methods: auto, {words}; {branching} and {last} also with a branching factor, as \
             in \"tree_consistent:8\"."
        ),
    }
}

fn listed(methods: impl IntoIterator<Item = RangeMethod>) -> String {
    methods.into_iter().map(RangeMethod::word).collect::<Vec<_>>().join(", ")
}
