//! What the mechanisms find wrong, as errors.

use super::report::{error, internal, invalid};
use crate::counting::{RegionTallies, TooManyRegions};
use crate::hierarchy::{PlanError, ReleaseError};
use crate::ranges::RangePlanError;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// Why a plan does not fit, before or after the charge.
pub(crate) fn unfit(problem: PlanError) -> ErrorReport {
    match problem {
        PlanError::Cells { .. } | PlanError::Kept { .. } => {
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

/// Why a plan of range sums does not fit.
pub(crate) fn unfit_ranges(problem: RangePlanError) -> ErrorReport {
    match problem {
        RangePlanError::Regions { .. } => {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, problem.to_string())
                .set_hint(problem.hint())
        }
        _ => invalid(problem.to_string(), problem.hint()),
    }
}

pub(crate) fn too_many_regions(_: TooManyRegions) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "there are too many different regions",
    )
    .set_hint(format!(
        "The lowest level may have {}, whose names may take {} bytes in all. Declare a hierarchy \
         of coarser columns.",
        RegionTallies::MOST_REGIONS,
        RegionTallies::MOST_NAME_BYTES
    ))
}
