//! The budget ledger: every charge goes through [`charge`], before private data are read.

use super::catalog::{Dataset, execute};
use super::errors::{Result, error, internal};
use super::session::{current_role, role_name};
use crate::privacy::Epsilon;
use pgrx::prelude::*;

/// What a release costs, known from public arguments alone.
pub(super) struct Charge<'a> {
    pub(super) dataset: &'a Dataset,
    /// The SQL function that releases.
    pub(super) function: &'static str,
    pub(super) epsilon: Epsilon,
    /// What the mechanism will do, in its own words.
    pub(super) mechanism: serde_json::Value,
    /// The name that the release is stored under.
    pub(super) name: Option<&'a str>,
}

/// Checks that the budget suffices, takes the charge off it and records it, under a lock of the
/// dataset's budget row. Returns the number of the ledger's entry.
///
/// Amounts are added as decimals, so that ten charges of 0.1 fill a budget of 1 exactly; the
/// mechanisms are calibrated to stay within the decimal (see `privacy::Epsilon`).
///
/// Error: less than the charge is left; nothing is spent then.
pub(super) fn charge(charge: &Charge) -> Result<i64> {
    let who = role_name(current_role());
    let Charge { dataset, function, epsilon, mechanism, name } = charge;
    let mut parameters = mechanism.clone();
    parameters["name"] = (*name).into();
    let charged = execute(
        "UPDATE dp.dataset SET epsilon_spent = epsilon_spent + $2::numeric, \
                releases = releases + 1 \
         WHERE id = $1 AND dropped_at IS NULL AND epsilon_spent + $2::numeric <= epsilon_budget \
         RETURNING id",
        &[dataset.id.into(), epsilon.decimal().into()],
        |_| Ok(()),
    )?;
    if charged.is_none() {
        let left = execute(
            "SELECT trim_scale(epsilon_budget - epsilon_spent)::text FROM dp.dataset \
             WHERE id = $1 AND dropped_at IS NULL",
            &[dataset.id.into()],
            |row| row.get::<String>(1),
        )?
        .flatten();
        return Err(match left {
            Some(left) => error(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "epsilon {} exceeds what is left of the budget of dataset \"{}\": {left}",
                    epsilon.decimal(),
                    dataset.name
                ),
            )
            .set_hint("Nothing was spent. dp_budget shows the budget, dp.ledger every charge."),
            None => error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("dataset \"{}\" does not exist any more", dataset.name),
            )
            .set_hint("It was dropped while this release was waiting for it."),
        });
    }
    let entry = execute(
        "INSERT INTO dp.charge (dataset, charged_by, function, epsilon, delta, parameters) \
         VALUES ($1, $2, $3, $4::numeric, 0, $5::jsonb) RETURNING id",
        &[
            dataset.id.into(),
            who.into(),
            (*function).into(),
            epsilon.decimal().into(),
            parameters.to_string().into(),
        ],
        |row| row.get::<i64>(1),
    )?
    .flatten();
    entry.ok_or_else(|| internal("the ledger took no entry"))
}
