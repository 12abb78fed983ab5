//! How errors are told: an SQLSTATE, a message that names the argument, a hint (`report`); what the
//! mechanisms find wrong (`problem`); and what a release may fail with once it is charged
//! (`failure`).

mod failure;
mod problem;
mod report;

pub(crate) use failure::Failure;
pub(crate) use problem::{not_carried_out, too_many_regions, unfit, unfit_ranges};
pub(crate) use report::{
    Result, all_required, check_new_name, checked_name, error, internal, invalid, required,
};
