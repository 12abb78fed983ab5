//! Deeds: by one an owner adds to a dataset's budget. It is an entry of the ledger, in the chain with
//! the charges, so that whoever reads what was spent reads who allowed more of it, when and why.

use super::account::{CHARGE, not_charged};
use super::message::{ChargeRequest, Deed, Message};
use super::record::append;
use super::sql::{SpiResult, first_row};
use crate::pg::errors::{Result, error, internal};
use crate::pg::server::locality::refuse_worker_node;
use crate::pg::server::roles::role_name;
use crate::pg::server::state::current_role;
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker::ask;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::prelude::*;
use pgrx::spi::SpiClient;

/// The function that a deed's entry names, which is no release.
const RAISE: &str = "dp_raise_budget";

/// Adds to the budget of a dataset that the current role owns, for good, whatever becomes of the
/// caller's transaction, as charges may follow at once. `epsilon`, `delta`: decimals.
pub(crate) fn raise(
    dataset: i64,
    name: &str,
    reason: &str,
    epsilon: String,
    delta: String,
) -> Result<()> {
    check_surroundings()?;
    refuse_worker_node()?;
    let who = role_name(current_role());
    let deed = Deed { dataset, who, reason: reason.to_string(), epsilon, delta };
    let message = serde_json::to_vec(&Message::Raise(deed)).map_err(internal)?;
    let answer = ask(&CHARGE, dataset, &message).map_err(not_charged)?;
    let raised: Option<String> = serde_json::from_slice(&answer).map_err(internal)?;
    if let Some(raised) = raised {
        pgrx::notice!("the budget of dataset \"{name}\" is {raised}");
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("the budget of dataset \"{name}\" was not raised"),
    )
    .set_hint(
        "The dataset is not committed, was dropped, or its delta_budget would not be below 1, or its \
         epsilon_budget above 1e300.",
    ))
}

/// The worker's side: the budget that the dataset has now, if it could be raised, and had before.
pub(super) fn record(client: &mut SpiClient, deed: &Deed) -> SpiResult<Option<String>> {
    let Deed { dataset, who, reason, epsilon, delta } = deed;
    // the row is locked, as by every charge, before the end of the chain
    let parameters = first_row(
        client,
        // budgets as text, which keeps each digit
        "UPDATE dp.dataset SET epsilon_budget = epsilon_budget + $2::numeric, \
                delta_budget = delta_budget + $3::numeric \
          WHERE id = $1 AND dropped_at IS NULL AND delta_budget + $3::numeric < 1 \
            AND epsilon_budget + $2::numeric <= 1e300 \
      RETURNING jsonb_build_object( \
                    'reason', $4, \
                    'epsilon_budget', jsonb_build_array( \
                        trim_scale(epsilon_budget - $2::numeric)::text, \
                        trim_scale(epsilon_budget)::text), \
                    'delta_budget', jsonb_build_array( \
                        trim_scale(delta_budget - $3::numeric)::text, \
                        trim_scale(delta_budget)::text))::text, \
                'epsilon ' || trim_scale(epsilon_budget) || ', delta ' || trim_scale(delta_budget) \
                || '; before: epsilon ' || trim_scale(epsilon_budget - $2::numeric) \
                || ', delta ' || trim_scale(delta_budget - $3::numeric)",
        &[
            (*dataset).into(),
            epsilon.as_str().into(),
            delta.as_str().into(),
            reason.as_str().into(),
        ],
        |row| Ok((row.get::<String>(1)?.unwrap_or_default(), row.get::<String>(2)?)),
    )?;
    let Some((parameters, raised)) = parameters else { return Ok(None) };
    let entry = ChargeRequest {
        dataset: *dataset,
        grantee: None,
        who: who.clone(),
        function: RAISE.to_string(),
        epsilon: "0".to_string(),
        delta: "0".to_string(),
        rho: 0.0,
        may_fail: false,
        part: None,
        parameters: serde_json::from_str(&parameters).map_err(internal).unwrap_or_report(),
        promise: None,
    };
    append(client, &entry)?;
    Ok(raised)
}
