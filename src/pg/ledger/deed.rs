//! Deeds: by one an owner adds to a dataset's budget, or gives a period one of its own. It is an entry
//! of the ledger, in the chain with the charges, so that whoever reads what was spent reads who allowed
//! more of it, when and why.

use super::account::{CHARGE, not_charged};
use super::message::{ChargeRequest, Deed, DeedAnswer, DeedRefusal, Message, OpenPeriod, Opening};
use super::parts::{read_scopes, scopes};
use super::record::append;
use super::room::{TABLES, room, units, zcdp_decimal};
use super::sql::{SpiResult, first_row};
use crate::pg::errors::{Result, error, internal};
use crate::pg::server::locality::refuse_worker_node;
use crate::pg::server::roles::role_name;
use crate::pg::server::state::current_role;
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker::ask;
use crate::privacy::{Fullest, Limits, Period, Rule, Scope, Totals};
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;
use pgrx::spi::SpiClient;

/// The functions that deeds' entries name, which are no releases.
const RAISE: &str = "dp_raise_budget";
const OPEN: &str = "dp_open_period";

/// Adds to the budget of a dataset that the current role owns, or of a period of it, for good, whatever
/// becomes of the caller's transaction, as charges may follow at once. `epsilon`, `delta`: decimals.
pub(crate) fn raise(
    dataset: i64,
    name: &str,
    reason: &str,
    epsilon: String,
    delta: String,
    period: Option<OpenPeriod>,
) -> Result<()> {
    let whose = of_what(name, period.as_ref());
    let who = role_name(current_role());
    let deed = Deed { dataset, who, reason: reason.to_string(), epsilon, delta, period };
    let raised =
        do_deed(dataset, &Message::Raise(deed))?.map_err(|why| not_raised(&whose, &why))?;
    pgrx::notice!("the budget of {whose} is {raised}");
    Ok(())
}

/// Opens a period of a dataset that the current role owns, in the same way. None: as the dataset has.
pub(crate) fn open(
    dataset: i64,
    name: &str,
    period: OpenPeriod,
    epsilon: Option<String>,
    delta: Option<String>,
) -> Result<()> {
    let whose = of_what(name, Some(&period));
    let opening = Opening { dataset, who: role_name(current_role()), period, epsilon, delta };
    let opened =
        do_deed(dataset, &Message::Open(opening))?.map_err(|why| not_opened(&whose, &why))?;
    pgrx::notice!("the budget of {whose} is {opened}");
    Ok(())
}

fn do_deed(dataset: i64, deed: &Message) -> Result<DeedAnswer> {
    check_surroundings()?;
    refuse_worker_node()?;
    let message = serde_json::to_vec(deed).map_err(internal)?;
    let answer = ask(&CHARGE, dataset, &message).map_err(not_charged)?;
    serde_json::from_slice(&answer).map_err(internal)
}

fn of_what(dataset: &str, period: Option<&OpenPeriod>) -> String {
    let period = period.map_or(String::new(), |period| format!("period {} of ", period.text));
    format!("{period}dataset \"{dataset}\"")
}

fn not_raised(whose: &str, why: &DeedRefusal) -> ErrorReport {
    let state = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    let what = format!("the budget of {whose} was not raised");
    match why {
        DeedRefusal::NoPeriod => error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("{whose} is not opened"),
        )
        .set_hint("dp_budget_periods shows which are: name one by just the same range."),
        DeedRefusal::IsDatasets => {
            error(state, what).set_hint("It has none of its own: raise that of the dataset.")
        }
        DeedRefusal::AboveDataset(of, most) => error(state, what).set_hint(format!(
            "Its {of} would be more than the dataset's {of}_budget, {most}, which can be raised first."
        )),
        _ => error(state, what).set_hint(
            "The dataset is not committed, was dropped, or its delta_budget would not be below 1, or \
             its epsilon_budget above 1e300.",
        ),
    }
}

fn not_opened(whose: &str, why: &DeedRefusal) -> ErrorReport {
    let state = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    match why {
        DeedRefusal::Overlaps(other) => error(
            state,
            format!("{whose} overlaps one that is opened: {other}"),
        )
        .set_hint(
            "Each row has one budget at most, and a period stays opened: dp_budget_periods shows \
             them. dp_raise_budget adds to a period's budget.",
        ),
        DeedRefusal::AboveDataset(of, most) => error(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{of} must be at most the dataset's {of}_budget for {whose}: {most}"),
        )
        .set_hint("Leave it out for as much. The dataset's budget holds in all periods."),
        DeedRefusal::Spent(spent) => error(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("rows in {whose} were charged more than that budget already: epsilon {spent}"),
        )
        .set_hint(
            "What was spent stays spent: open it with a larger epsilon, or delta, that has room for \
             it.",
        ),
        _ => error(state, format!("{whose} was not opened"))
            .set_hint("The dataset is not committed, or was dropped."),
    }
}

/// The worker's side of a deed that raises.
pub(super) fn record(client: &mut SpiClient, deed: &Deed) -> SpiResult<DeedAnswer> {
    match &deed.period {
        Some(period) => raise_period(client, deed, period),
        None => Ok(raise_dataset(client, deed)?.ok_or(DeedRefusal::NotDone)),
    }
}

/// The budget that the dataset has now, if it could be raised, and had before.
fn raise_dataset(client: &mut SpiClient, deed: &Deed) -> SpiResult<Option<String>> {
    let Deed { dataset, who, reason, epsilon, delta, .. } = deed;
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
    add_entry(client, *dataset, who, RAISE, &parameters)?;
    Ok(raised)
}

fn raise_period(client: &mut SpiClient, deed: &Deed, period: &OpenPeriod) -> SpiResult<DeedAnswer> {
    let Deed { dataset, who, reason, epsilon, delta, .. } = deed;
    if lock(client, *dataset)?.is_none() {
        return Ok(Err(DeedRefusal::NotDone));
    }
    let arguments = [
        (*dataset).into(),
        epsilon.as_str().into(),
        delta.as_str().into(),
        period.lower.into(),
        period.upper.into(),
    ];
    // nothing is more than NULL, the dataset's
    let found = first_row(
        client,
        "SELECT p.id, $2::numeric > 0 AND p.epsilon_budget IS NULL \
                      OR $3::numeric > 0 AND p.delta_budget IS NULL, \
                CASE WHEN p.epsilon_budget + $2::numeric > d.epsilon_budget THEN 'epsilon' \
                     WHEN p.delta_budget + $3::numeric > d.delta_budget THEN 'delta' END, \
                trim_scale(d.epsilon_budget)::text, trim_scale(d.delta_budget)::text \
           FROM dp.period AS p JOIN dp.dataset AS d ON d.id = p.dataset \
          WHERE p.dataset = $1 AND p.period = int8range($4, $5)",
        &arguments,
        |row| {
            let most = |of: &str| row.get::<String>(if of == "epsilon" { 4 } else { 5 });
            let above = match row.get::<String>(3)? {
                Some(of) => Some((most(&of)?.unwrap_or_default(), of)),
                None => None,
            };
            Ok((row.get::<i64>(1)?.unwrap_or_default(), row.get(2)?.unwrap_or(false), above))
        },
    )?;
    let id = match found {
        None => return Ok(Err(DeedRefusal::NoPeriod)),
        Some((_, true, _)) => return Ok(Err(DeedRefusal::IsDatasets)),
        Some((.., Some((most, of)))) => return Ok(Err(DeedRefusal::AboveDataset(of, most))),
        Some((id, ..)) => id,
    };
    let raised = first_row(
        client,
        &format!(
            "WITH old AS (SELECT id, epsilon_budget, delta_budget FROM dp.period WHERE id = $1) \
             UPDATE dp.period AS p SET epsilon_budget = p.epsilon_budget + $2::numeric, \
                    delta_budget = p.delta_budget + $3::numeric \
               FROM old, dp.dataset AS d WHERE p.id = old.id AND d.id = p.dataset \
          RETURNING ({} || jsonb_build_object('reason', $4))::text, {} || '; before: ' || {}",
            entry_of_period("old.epsilon_budget", "old.delta_budget"),
            in_words("p"),
            in_words("old"),
        ),
        &[id.into(), epsilon.as_str().into(), delta.as_str().into(), reason.as_str().into()],
        |row| Ok((row.get::<String>(1)?.unwrap_or_default(), row.get::<String>(2)?)),
    )?;
    let Some((parameters, Some(raised))) = raised else { return Ok(Err(DeedRefusal::NotDone)) };
    add_entry(client, *dataset, who, RAISE, &parameters)?;
    Ok(Ok(raised))
}

/// The worker's side of a deed that opens a period.
pub(super) fn record_opening(client: &mut SpiClient, opening: &Opening) -> SpiResult<DeedAnswer> {
    let Opening { dataset, who, period, epsilon, delta } = opening;
    let Some(tables) = lock(client, *dataset)? else { return Ok(Err(DeedRefusal::NotDone)) };
    let other = first_row(
        client,
        "SELECT period_text FROM dp.period WHERE dataset = $1 AND period && int8range($2, $3) \
          ORDER BY period LIMIT 1",
        &[(*dataset).into(), period.lower.into(), period.upper.into()],
        |row| row.get::<String>(1),
    )?;
    if let Some(other) = other {
        return Ok(Err(DeedRefusal::Overlaps(other.unwrap_or_default())));
    }
    if let Some(refusal) = too_little_or_much(client, opening, tables)? {
        return Ok(Err(refusal));
    }
    let opened = first_row(
        client,
        &format!(
            "WITH p AS ( \
                 INSERT INTO dp.period (dataset, period, period_text, epsilon_budget, delta_budget) \
                 VALUES ($1, int8range($2, $3), $4, $5::numeric, $6::numeric) RETURNING *) \
             SELECT {}::text, {} FROM p JOIN dp.dataset AS d ON d.id = p.dataset",
            entry_of_period("NULL::numeric", "NULL::numeric"),
            in_words("p"),
        ),
        &[
            (*dataset).into(),
            period.lower.into(),
            period.upper.into(),
            period.text.as_str().into(),
            epsilon.as_deref().into(),
            delta.as_deref().into(),
        ],
        |row| Ok((row.get::<String>(1)?.unwrap_or_default(), row.get::<String>(2)?)),
    )?;
    let Some((parameters, Some(opened))) = opened else { return Ok(Err(DeedRefusal::NotDone)) };
    add_entry(client, *dataset, who, OPEN, &parameters)?;
    Ok(Ok(opened))
}

/// Why a period cannot have that budget: the dataset's is less, or a cell of it has spent more.
fn too_little_or_much(
    client: &mut SpiClient,
    opening: &Opening,
    tables: String,
) -> SpiResult<Option<DeedRefusal>> {
    let Opening { dataset, period, epsilon, delta, .. } = opening;
    let sql = format!(
        "SELECT CASE WHEN $2::numeric > epsilon_budget THEN 'epsilon' \
                     WHEN $3::numeric > delta_budget THEN 'delta' END, \
                trim_scale(epsilon_budget)::text, trim_scale(delta_budget)::text, \
                {}, {}, coalesce($2::numeric, epsilon_budget)::float8, \
                coalesce($3::numeric, delta_budget)::float8, \
                epsilon_sum::float8, rho_sum::float8, delta_sum::float8 \
           FROM dp.dataset WHERE id = $1",
        units("coalesce($2::numeric, epsilon_budget) - epsilon_sum", 24),
        units("coalesce($3::numeric, delta_budget) / 2 - delta_sum", 36),
    );
    let arguments = [(*dataset).into(), epsilon.as_deref().into(), delta.as_deref().into()];
    let found = first_row(client, &sql, &arguments, |row| {
        let above = match row.get::<String>(1)? {
            Some(of) => {
                let most = row.get(if of == "epsilon" { 2 } else { 3 })?;
                Some(DeedRefusal::AboveDataset(of, most.unwrap_or_default()))
            }
            None => None,
        };
        let limits = Limits {
            everywhere: Totals {
                epsilon_sum: row.get(8)?.unwrap_or(f64::INFINITY),
                rho: row.get(9)?.unwrap_or(f64::INFINITY),
                delta_sum: row.get(10)?.unwrap_or(f64::INFINITY),
            },
            room: room(row, 4)?,
            delta_room: room(row, 5)?,
            epsilon_budget: row.get(6)?.unwrap_or(0.0),
            delta_budget: row.get(7)?.unwrap_or(0.0),
            // what was charged there and may fail was plans, which the zCDP view covers without their
            // delta: what it does not cover is charged to datasets without periods
            needs_delta: false,
        };
        Ok((above, limits))
    })?;
    let Some((above, limits)) = found else { return Ok(Some(DeedRefusal::NotDone)) };
    if above.is_some() || epsilon.is_none() && delta.is_none() {
        return Ok(above);
    }
    let all = read_scopes(client, "", &[(*dataset).into()])?;
    let all = scopes(&all, None).unwrap_or_report();
    let range = Period { lower: period.lower, upper: period.upper };
    let scope = Scope { within: Vec::new(), period: range };
    let fullest = all.fullest(&scope, Some(&Rule { tables, regions: None }), &limits);
    if !fullest.exceeds {
        return Ok(None);
    }
    let Fullest { spent, views, .. } = &fullest;
    // where the deltas of the sum are too many, that bound is none
    let sum = views.basic.is_some() || views.zcdp.is_none();
    let spent = first_row(
        client,
        "SELECT trim_scale(least(CASE WHEN $3 THEN epsilon_sum + $2::numeric END, \
                                 $4::numeric))::text FROM dp.dataset WHERE id = $1",
        &[
            (*dataset).into(),
            spent.epsilon_decimal().into(),
            sum.into(),
            zcdp_decimal(views).into(),
        ],
        |row| row.get::<String>(1),
    )?;
    Ok(Some(DeedRefusal::Spent(spent.flatten().unwrap_or_default())))
}

/// Locks a dataset, as every charge does, before the end of the chain. By what its rows are told apart;
/// None if it is not there.
fn lock(client: &mut SpiClient, dataset: i64) -> SpiResult<Option<String>> {
    let sql = format!(
        "SELECT {TABLES} FROM dp.dataset WHERE id = $1 AND dropped_at IS NULL FOR NO KEY UPDATE"
    );
    first_row(client, &sql, &[dataset.into()], |row| Ok(row.get(1)?.unwrap_or_default()))
}

/// What the entry says of the period `p`, with its budgets before and now as text, which keeps each
/// digit. dp_verify_ledger reads it.
fn entry_of_period(epsilon_before: &str, delta_before: &str) -> String {
    let now = "trim_scale(p.epsilon_budget)::text";
    let delta_now = "trim_scale(p.delta_budget)::text";
    format!(
        "jsonb_build_object( \
             'period', p.period_text, 'lower', lower(p.period), 'upper', upper(p.period), \
             'epsilon_budget', jsonb_build_array(trim_scale({epsilon_before})::text, {now}), \
             'delta_budget', jsonb_build_array(trim_scale({delta_before})::text, {delta_now}))"
    )
}

/// A period's budget, for messages; NULL is that of the dataset `d`.
fn in_words(period: &str) -> String {
    format!(
        "'epsilon ' || trim_scale(coalesce({period}.epsilon_budget, d.epsilon_budget)) \
         || ', delta ' || trim_scale(coalesce({period}.delta_budget, d.delta_budget))"
    )
}

/// Adds a deed's entry.
fn add_entry(
    client: &mut SpiClient,
    dataset: i64,
    who: &str,
    function: &str,
    parameters: &str,
) -> SpiResult<()> {
    let entry = ChargeRequest {
        dataset,
        grantee: None,
        who: who.to_string(),
        function: function.to_string(),
        epsilon: "0".to_string(),
        delta: "0".to_string(),
        rho: 0.0,
        may_fail: false,
        part: None,
        parameters: serde_json::from_str(parameters).map_err(internal).unwrap_or_report(),
        promise: None,
    };
    append(client, &entry)?;
    Ok(())
}
