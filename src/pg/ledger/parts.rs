//! Sums of the charges to parts of the data, as the catalog keeps them.

use super::message::{ChargeRequest, ChargedPart};
use super::sql::{SpiResult, first_row};
use crate::pg::errors::{Result, internal};
use crate::privacy::{Rule, Scope, Scopes, place};
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::spi::SpiClient;

/// What a dataset's rows of `dp.scope` hold, all in one value.
pub(crate) const ALL: &str = "string_agg(int8send(id) || place || sums, '')";

/// Reads what [`ALL`] selects; of a part, what counts there.
pub(crate) fn scopes(all: Option<Vec<u8>>, part: Option<(&Scope, &Rule)>) -> Result<Scopes> {
    let all = all.unwrap_or_default();
    match part {
        Some((scope, rule)) => Scopes::read_those_of(&all, scope, rule),
        None => Scopes::read(&all),
    }
    .ok_or_else(|| internal("sums of the charges to parts are damaged"))
}

/// Those of a dataset, which is locked.
pub(super) fn read_scopes(
    client: &mut SpiClient,
    dataset: i64,
    part: Option<(&Scope, &Rule)>,
) -> SpiResult<Scopes> {
    let sql = format!("SELECT {ALL} FROM dp.scope WHERE dataset = $1");
    let all = first_row(client, &sql, &[dataset.into()], |row| row.get::<Vec<u8>>(1))?;
    Ok(scopes(all.flatten(), part).unwrap_or_report())
}

/// Adds a charge to the sums of that part.
pub(super) fn add_to_part(
    client: &mut SpiClient,
    request: &ChargeRequest,
    part: &ChargedPart,
) -> SpiResult<()> {
    client.update(
        "INSERT INTO dp.scope AS s (dataset, tables, regions, within, period, period_text, place, \
                                    epsilon_sum, delta_sum, rho_sum, releases) \
         VALUES ($1, $2, $3, $4, int8range($5, $6), $7, $8, $9::numeric, $10::numeric, \
                 $11::numeric, 1) \
             ON CONFLICT (dataset, place) DO UPDATE \
            SET epsilon_sum = s.epsilon_sum + EXCLUDED.epsilon_sum, \
                delta_sum = s.delta_sum + EXCLUDED.delta_sum, \
                rho_sum = s.rho_sum + EXCLUDED.rho_sum, releases = s.releases + 1",
        None,
        &[
            request.dataset.into(),
            part.tables.as_str().into(),
            part.regions.clone().into(),
            part.within.clone().into(),
            part.lower.into(),
            part.upper.into(),
            part.period.clone().into(),
            place(&part.scope(), &part.rule()).into(),
            request.epsilon.as_str().into(),
            request.delta.as_str().into(),
            request.rho_decimal().into(),
        ],
    )?;
    Ok(())
}
