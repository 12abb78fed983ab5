//! How a release can fail once it is charged.
//!
//! Whether it does must not depend on private rows: an error that a row decides about would tell of
//! that row, however small epsilon is. So what follows a charge ends with a [`Failure`], each of
//! which has to say why it is none.

use super::problem::{not_carried_out, too_many_regions};
use super::report::internal;
use crate::counting::TooManyRegions;
use crate::hierarchy::ReleaseError;
use pgrx::pg_sys::panic::ErrorReport;
use std::fmt::Display;

/// All errors that follow a charge. `tests/attacks/charged` provokes each and holds the list.
pub(crate) enum Failure {
    /// Regions are public. With a table of groups they are known before the charge; without one,
    /// whoever declared the dataset has declared public which regions occur.
    Regions(TooManyRegions),
    /// As above: the method cannot hold all sizes of so many regions, or their groups are more than
    /// can be counted; the number of groups is public, too.
    Release(ReleaseError),
    /// The release cannot be stored: for want of space, or as somebody has changed the catalog. Then
    /// nothing of it is shown, but that it needed more space than there was, and it is noisy.
    Store(ErrorReport),
    /// A mistake in this extension. No row is known to lead here.
    Broken(String),
}

impl Failure {
    pub(crate) fn broken(what: impl Display) -> Failure {
        Failure::Broken(what.to_string())
    }
}

impl From<TooManyRegions> for Failure {
    fn from(problem: TooManyRegions) -> Failure {
        Failure::Regions(problem)
    }
}

impl From<ReleaseError> for Failure {
    fn from(problem: ReleaseError) -> Failure {
        Failure::Release(problem)
    }
}

impl From<Failure> for ErrorReport {
    fn from(failure: Failure) -> ErrorReport {
        match failure {
            Failure::Regions(problem) => too_many_regions(problem),
            Failure::Release(problem) => not_carried_out(problem),
            Failure::Store(report) => report,
            Failure::Broken(what) => internal(what),
        }
    }
}
