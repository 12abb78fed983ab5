//! How errors are told: all that users can see of one.

mod failure;
mod report;

pub(crate) use failure::{Failure, after_charge, not_carried_out, unfit};
pub(crate) use report::{Result, all_required, checked_name, error, internal, invalid, required};
