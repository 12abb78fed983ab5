//! Why a bound cannot be looked for.

use crate::noise::{ScaleError, shown};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoundError {
    Epsilon { value: f64 },
    Scale { value: f64, error: ScaleError },
    ReleaseEpsilon { value: f64 },
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundError::Epsilon { value } => {
                write!(f, "epsilon must be a positive, finite number, got {value}")
            }
            BoundError::Scale { value, error } => write!(f, "epsilon {} {error}", shown(*value)),
            BoundError::ReleaseEpsilon { value } => {
                write!(f, "release_epsilon must be a positive, finite number, got {value}")
            }
        }
    }
}

impl std::error::Error for BoundError {}

impl BoundError {
    /// What the caller can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            BoundError::Epsilon { .. } => "Typical values are 0.05 to 1: a fifth of all.",
            BoundError::Scale { .. } => {
                "The noise scale is the number of rows that a unit counts with over epsilon."
            }
            BoundError::ReleaseEpsilon { .. } => {
                "It is what the release will have that the bound is for; four times epsilon unless \
                 given."
            }
        }
    }
}
