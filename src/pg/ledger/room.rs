//! What is left of a budget: that of a dataset, or of an opened period.

use super::message::{ChargeRequest, Refusal};
use super::sql::{SpiResult, first_row};
use crate::privacy::{Fullest, Limits, Totals, Views};
use pgrx::spi::{SpiClient, SpiHeapTupleData};

/// A dataset with what was charged to all of its data, the charge that is asked for included.
pub(super) struct Account {
    pub(super) limits: Limits,
    /// [`Limits::delta_room`] without it.
    pub(super) delta_room_before: i128,
    /// Whether no release has an epsilon below the smallest charge.
    pub(super) large_epsilon: bool,
    /// How many smallest charges there are in the budget.
    pub(super) times: f64,
    pub(super) smallest: String,
    /// See [`Parts::read`](super::parts::Parts::read).
    pub(super) summits: Option<Vec<u8>>,
    /// By what rows are told apart now, as in a [`Rule`](crate::privacy::Rule).
    pub(super) tables: String,
}

/// An expression in the units of what is charged to parts.
pub(super) fn units(left: &str, digits: i32) -> String {
    format!("greatest(least(floor(({left}) * 1e{digits}), 1e38), -1e38)::text")
}

/// What [`units`] selected; what cannot be read leaves nothing.
pub(super) fn room(row: &SpiHeapTupleData, column: usize) -> SpiResult<i128> {
    let room = row.get::<String>(column)?.and_then(|room| room.parse().ok());
    Ok(room.unwrap_or(-1))
}

/// What the charge for those releases finds. Locks the dataset, so that every charge waits for the one before.
pub(super) fn account(
    client: &mut SpiClient,
    request: &ChargeRequest,
    releases: &[&ChargeRequest],
) -> SpiResult<Option<Account>> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    let epsilons: Vec<String> = releases.iter().map(|release| release.epsilon.clone()).collect();
    let sql = format!(
        "SELECT {}, {}, {}, epsilon_budget::float8, delta_budget::float8, \
                (rho_sum + $3::numeric)::float8, (epsilon_sum + $2::numeric)::float8, \
                (delta_sum + $4::numeric)::float8, smallest_charge <= ALL ($5::numeric[]), \
                least(epsilon_budget / smallest_charge, 1e300)::float8, \
                trim_scale(smallest_charge)::text, summits, {TABLES} \
           FROM dp.dataset WHERE id = $1 AND dropped_at IS NULL FOR NO KEY UPDATE",
        units("epsilon_budget - epsilon_sum - $2::numeric", 24),
        units("delta_budget / 2 - delta_sum - $4::numeric", 36),
        units("delta_budget / 2 - delta_sum", 36),
    );
    first_row(
        client,
        &sql,
        &[
            (*dataset).into(),
            epsilon.as_str().into(),
            request.rho_decimal().into(),
            delta.as_str().into(),
            format!("{{{}}}", epsilons.join(",")).into(),
        ],
        |row| {
            Ok(Account {
                limits: Limits {
                    everywhere: Totals {
                        epsilon_sum: row.get(7)?.unwrap_or(f64::INFINITY),
                        rho: row.get(6)?.unwrap_or(f64::INFINITY),
                        delta_sum: row.get(8)?.unwrap_or(f64::INFINITY),
                    },
                    room: room(row, 1)?,
                    delta_room: room(row, 2)?,
                    epsilon_budget: row.get(4)?.unwrap_or(0.0),
                    delta_budget: row.get(5)?.unwrap_or(0.0),
                    needs_delta: request.may_fail,
                },
                delta_room_before: room(row, 3)?,
                large_epsilon: row.get(9)?.unwrap_or(false),
                times: row.get(10)?.unwrap_or(0.0),
                smallest: row.get(11)?.unwrap_or_default(),
                summits: row.get(12)?,
                tables: row.get(13)?.unwrap_or_default(),
            })
        },
    )
}

/// Of a row of `dp.dataset`, what a charge to a part has of the tables.
pub(crate) const TABLES: &str = "encode(sha256(convert_to(fingerprint, 'UTF8')), 'hex')";

/// Less than the charge is left in its part, or in an opened period. `fullest`: of that, before the
/// charge.
pub(super) fn budget_exceeded(
    client: &mut SpiClient,
    request: &ChargeRequest,
    fullest: &Fullest,
    period: Option<(i64, &str)>,
) -> SpiResult<Refusal> {
    let Fullest { spent, views, .. } = fullest;
    let left = first_row(
        client,
        "SELECT trim_scale(greatest(coalesce(p.epsilon_budget, d.epsilon_budget) \
                                    - least(CASE WHEN $3 THEN epsilon_sum + $2::numeric END, \
                                            $4::numeric), 0))::text, \
                trim_scale(greatest(coalesce(p.delta_budget, d.delta_budget) / 2 - delta_sum \
                                    - $5::numeric, 0))::text \
           FROM dp.dataset AS d LEFT JOIN dp.period AS p ON p.id = $6 WHERE d.id = $1",
        &[
            request.dataset.into(),
            spent.epsilon_decimal().into(),
            views.basic.is_some().into(),
            zcdp_decimal(views).into(),
            spent.delta_decimal().into(),
            period.map(|(id, _)| id).into(),
        ],
        |row| Ok((row.get(1)?.unwrap_or_default(), row.get(2)?.unwrap_or_default())),
    )?;
    let (left, delta_left) = left.unwrap_or_default();
    let period = period.map(|(_, text)| text.to_string());
    Ok(Refusal::BudgetExceeded { left, delta_left, period })
}

/// What is asked of cells without the charge, for a message.
pub(super) fn before_charge(
    limits: &Limits,
    delta_room_before: i128,
    request: &ChargeRequest,
) -> Limits {
    let Totals { epsilon_sum, rho, delta_sum } = limits.everywhere;
    let epsilon = request.epsilon.parse().unwrap_or(0.0);
    let everywhere = Totals {
        epsilon_sum: (epsilon_sum - epsilon).max(0.0),
        rho: (rho - request.rho).max(0.0),
        delta_sum,
    };
    Limits { everywhere, room: i128::MAX, delta_room: delta_room_before, ..*limits }
}

/// As dp_budget shows it, but for the digits of a bound that no decimal is.
pub(super) fn zcdp_decimal(views: &Views) -> Option<String> {
    views.zcdp.map(|epsilon| ((epsilon * 1e6).ceil() / 1e6).to_string())
}
