//! How a release can fail once it is charged.
//!
//! Whether it does must not depend on private rows: an error that a row decides about would tell of that
//! row, however small epsilon is. So what follows a charge ends with a [`Failure`], each of which has
//! to say why it is none, or is cancelled. Whatever else PostgreSQL may raise in between is hidden behind one
//! message, since that of PostgreSQL could quote a row.

use super::report::{Result, error, internal, invalid};
use crate::coco::TooManyRegions;
use crate::hierarchy::{PlanError, ReleaseError};
use crate::pg::dataset::leaves::too_many_regions;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;

/// All errors that follow a charge. `tests/attacks/charged` provokes each and holds the list.
pub(crate) enum Failure {
    /// Regions are public. With a table of groups they are known before the charge; without one, whoever
    /// declared the dataset has declared public which regions occur.
    Regions(TooManyRegions),
    /// As above: the method cannot hold all sizes of so many regions, or their groups are more than
    /// can be counted; the number of groups is public, too.
    Release(ReleaseError),
    /// The release cannot be stored: for want of space, or as somebody has changed the catalog. All that
    /// is stored is released already.
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

/// Why a plan does not fit, before or after the charge.
pub(crate) fn unfit(problem: PlanError) -> ErrorReport {
    match problem {
        PlanError::Cells { .. } => {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, problem.to_string())
                .set_hint(problem.hint())
        }
        _ => invalid(problem.to_string(), problem.hint()),
    }
}

pub(crate) fn not_carried_out(problem: ReleaseError) -> ErrorReport {
    match problem {
        ReleaseError::Plan(problem) => unfit(problem),
        ReleaseError::Groups { .. } => {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, problem.to_string())
                .set_hint("Histograms in size_column hold numbers of groups: are they meant so?")
        }
        other => internal(other),
    }
}

/// Runs what follows a charge.
pub(crate) fn after_charge<T>(
    action: impl FnOnce() -> std::result::Result<T, Failure>,
) -> Result<T> {
    PgTryBuilder::new(AssertUnwindSafe(|| action().map_err(ErrorReport::from)))
        .catch_others(|caught| match code(&caught) {
            // class 57: cancelled, a timeout, a shutdown
            PgSqlErrorCode::ERRCODE_QUERY_CANCELED
            | PgSqlErrorCode::ERRCODE_ADMIN_SHUTDOWN
            | PgSqlErrorCode::ERRCODE_CRASH_SHUTDOWN => caught.rethrow(),
            code => Err(error(code, "the release failed after it was charged").set_hint(
                "The SQLSTATE tells of what kind the failure is, such as memory or disk space; the \
                 message is withheld, since it could quote a private row.",
            )),
        })
        .execute()
}

fn code(caught: &CaughtError) -> PgSqlErrorCode {
    match caught {
        CaughtError::PostgresError(report)
        | CaughtError::ErrorReport(report)
        | CaughtError::RustPanic { ereport: report, .. } => report.sql_error_code(),
    }
}
