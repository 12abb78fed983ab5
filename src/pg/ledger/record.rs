//! The budget ledger from the worker's side: checks and records one charge.

use super::message::{Answer, Charge, ChargeRequest, Left, Refusal, Unresumable};
use super::parts::{Parts, add_to_part};
use super::promise::{begin_attempt, promise, standing};
use super::sql::{SpiResult, first_row};
use crate::pg::server::state::own_identity;
use crate::privacy::{Fullest, Limits, Totals, Views};
use pgrx::spi::SpiClient;

/// One charge. One of a release that was promised under the same name, and not stored, stands.
pub(super) fn check_and_record(
    client: &mut SpiClient,
    request: &ChargeRequest,
) -> SpiResult<Answer> {
    if let Some(named) = &request.promise
        && let Some(answer) = standing(client, request, named)?
    {
        if let Ok(charge) = &answer {
            begin_attempt(client, charge.id)?;
        }
        return Ok(answer);
    }
    if request.promise.as_ref().is_some_and(|named| named.goes_on) {
        // what goes on was charged before, or never is
        return Ok(Err(Refusal::Unresumable(Unresumable::Changed)));
    }
    let answer = charge(client, request, false)?;
    if let (Ok(charge), Some(named)) = (&answer, &request.promise) {
        promise(client, request.dataset, charge.id, named)?;
        begin_attempt(client, charge.id)?;
    }
    Ok(answer)
}

/// A new charge. A trial does without the ledger's entry, for which all other charges would wait.
pub(super) fn charge(
    client: &mut SpiClient,
    request: &ChargeRequest,
    is_trial: bool,
) -> SpiResult<Answer> {
    let left = match spend(client, request, &[request])? {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(left) => left,
    };
    let id = if is_trial { 0 } else { append(client, request)? };
    Ok(Ok(Charge { id, left }))
}

/// A new charge of several releases as one, whose entry comes before theirs. What counts is that of
/// the plan: of theirs the rest of the ledger takes no account. Answers with theirs.
pub(super) fn charge_plan(
    client: &mut SpiClient,
    plan: &ChargeRequest,
    members: &[&ChargeRequest],
    is_trial: bool,
) -> SpiResult<std::result::Result<Vec<Charge>, Refusal>> {
    let left = match spend(client, plan, members)? {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(left) => left,
    };
    let entry = if is_trial { 0 } else { append(client, plan)? };
    let mut charges = Vec::new();
    for member in members {
        let id = if is_trial {
            0
        } else {
            let mut member = (*member).clone();
            member.parameters[PLAN] = entry.into();
            append(client, &member)?
        };
        charges.push(Charge { id, left: left.clone() });
    }
    Ok(Ok(charges))
}

/// Under which an entry's parameters name the plan that it is charged with.
pub(super) const PLAN: &str = "plan";

/// Takes a charge off the budget and the role's limit, if both have room for it, and tells what that
/// leaves. `releases`: those that are made for it.
fn spend(
    client: &mut SpiClient,
    request: &ChargeRequest,
    releases: &[&ChargeRequest],
) -> SpiResult<std::result::Result<Option<Left>, Refusal>> {
    // every charge of the dataset waits here for the one before
    let room = match check_budget(client, request, releases)? {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(room) => room,
    };
    if let Some(grantee) = request.grantee {
        let grantee = i64::from(grantee);
        if let Err(refusal) = check_limit(client, request, grantee)? {
            return Ok(Err(refusal));
        }
        if let Some(refusal) = room.too_small {
            return Ok(Err(refusal));
        }
        client.update(
            "UPDATE dp.access SET epsilon_spent = epsilon_spent + $3::numeric \
              WHERE dataset = $1 AND grantee::bigint = $2",
            None,
            &[request.dataset.into(), grantee.into(), request.epsilon.as_str().into()],
        )?;
    }
    let Room { fullest, parts, .. } = room;
    add_up(client, request, parts, releases.len())?;
    left(client, request, &fullest).map(Ok)
}

/// A budget that has room for a charge.
struct Room {
    /// What is spent with the charge, where least is left.
    fullest: Fullest,
    /// What it was found out by.
    parts: Parts,
    /// Why the charge is too small for a role with a grant, if it is.
    too_small: Option<Refusal>,
}

/// A dataset with what was charged to all of its data, the charge that is asked for included.
struct Account {
    limits: Limits,
    /// [`Limits::delta_room`] without it.
    delta_room_before: i128,
    /// Whether no release has an epsilon below the smallest charge.
    large_epsilon: bool,
    /// How many smallest charges there are in the budget.
    times: f64,
    smallest: String,
    /// See [`Parts::read`].
    summits: Option<Vec<u8>>,
}

/// Whether the dataset's budget has room for the charge. Locks the dataset.
fn check_budget(
    client: &mut SpiClient,
    request: &ChargeRequest,
    releases: &[&ChargeRequest],
) -> SpiResult<std::result::Result<Room, Refusal>> {
    let Some(mut account) = account(client, request, releases)? else {
        return Ok(Err(Refusal::NoDataset));
    };
    let limits = account.limits;
    let parts = Parts::read(client, request, account.summits.take())?;
    // either view may bound what is spent (see privacy::accounting), in each cell by itself (see
    // privacy::scopes); the sum of epsilons is compared as the decimal that it is
    let fullest = parts.fullest(request, &limits);
    // what may fail is charged to all of the data, of datasets without parts: there is one cell
    let no_delta = request.may_fail && fullest.views.basic.is_none();
    if fullest.exceeds || no_delta {
        let before = parts.fullest(request, &before_charge(&account, request));
        return budget_exceeded(client, request, &before).map(Err);
    }

    // As many charges of this size as the budget has smallest ones must use up each view: a
    // Gaussian release with a minute delta has hardly any rho, whatever its epsilon.
    let Account { large_epsilon, times, smallest, .. } = account;
    let least = releases.iter().map(|release| release.rho).fold(f64::INFINITY, f64::min);
    let alike = Totals { epsilon_sum: 0.0, rho: least * times, delta_sum: 0.0 };
    let zcdp = alike.zcdp(limits.delta_budget);
    let large = large_epsilon && zcdp.is_none_or(|e| e >= limits.epsilon_budget);
    let too_small = Refusal::TooSmall { smallest, rho_alone: large_epsilon };
    Ok(Ok(Room { fullest, parts, too_small: (!large).then_some(too_small) }))
}

fn account(
    client: &mut SpiClient,
    request: &ChargeRequest,
    releases: &[&ChargeRequest],
) -> SpiResult<Option<Account>> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    let epsilons: Vec<String> = releases.iter().map(|release| release.epsilon.clone()).collect();
    // in the units of what is charged to parts
    let units = |left: &str, digits: i32| {
        format!("greatest(least(floor(({left}) * 1e{digits}), 1e38), -1e38)::text")
    };
    let sql = format!(
        "SELECT {}, {}, {}, epsilon_budget::float8, delta_budget::float8, \
                (rho_sum + $3::numeric)::float8, (epsilon_sum + $2::numeric)::float8, \
                (delta_sum + $4::numeric)::float8, smallest_charge <= ALL ($5::numeric[]), \
                least(epsilon_budget / smallest_charge, 1e300)::float8, \
                trim_scale(smallest_charge)::text, summits \
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
            let room = |column| {
                let room = row.get::<String>(column)?.and_then(|room| room.parse().ok());
                Ok::<i128, pgrx::spi::Error>(room.unwrap_or(-1))
            };
            Ok(Account {
                limits: Limits {
                    everywhere: Totals {
                        epsilon_sum: row.get(7)?.unwrap_or(f64::INFINITY),
                        rho: row.get(6)?.unwrap_or(f64::INFINITY),
                        delta_sum: row.get(8)?.unwrap_or(f64::INFINITY),
                    },
                    room: room(1)?,
                    delta_room: room(2)?,
                    epsilon_budget: row.get(4)?.unwrap_or(0.0),
                    delta_budget: row.get(5)?.unwrap_or(0.0),
                },
                delta_room_before: room(3)?,
                large_epsilon: row.get(9)?.unwrap_or(false),
                times: row.get(10)?.unwrap_or(0.0),
                smallest: row.get(11)?.unwrap_or_default(),
                summits: row.get(12)?,
            })
        },
    )
}

/// Less than the charge is left in its part. `fullest`: of that, before the charge.
fn budget_exceeded(
    client: &mut SpiClient,
    request: &ChargeRequest,
    fullest: &Fullest,
) -> SpiResult<Refusal> {
    let Fullest { spent, views, .. } = fullest;
    let left = first_row(
        client,
        "SELECT trim_scale(greatest(epsilon_budget \
                                    - least(CASE WHEN $3 THEN epsilon_sum + $2::numeric END, \
                                            $4::numeric), 0))::text, \
                trim_scale(greatest(delta_budget / 2 - delta_sum - $5::numeric, 0))::text \
           FROM dp.dataset WHERE id = $1",
        &[
            request.dataset.into(),
            spent.epsilon_decimal().into(),
            views.basic.is_some().into(),
            zcdp_decimal(views).into(),
            spent.delta_decimal().into(),
        ],
        |row| Ok((row.get(1)?.unwrap_or_default(), row.get(2)?.unwrap_or_default())),
    )?;
    let (left, delta_left) = left.unwrap_or_default();
    Ok(Refusal::BudgetExceeded { left, delta_left })
}

/// What is asked of cells without the charge, for a message.
fn before_charge(account: &Account, request: &ChargeRequest) -> Limits {
    let Account { limits, delta_room_before, .. } = account;
    let Totals { epsilon_sum, rho, delta_sum } = limits.everywhere;
    let epsilon = request.epsilon.parse().unwrap_or(0.0);
    let everywhere = Totals {
        epsilon_sum: (epsilon_sum - epsilon).max(0.0),
        rho: (rho - request.rho).max(0.0),
        delta_sum,
    };
    Limits { everywhere, room: i128::MAX, delta_room: *delta_room_before, ..*limits }
}

/// As dp_budget shows it, but for the digits of a bound that no decimal is.
fn zcdp_decimal(views: &Views) -> Option<String> {
    views.zcdp.map(|epsilon| ((epsilon * 1e6).ceil() / 1e6).to_string())
}

/// Whether a role's limit has room for the charge. Locks the grant.
fn check_limit(
    client: &mut SpiClient,
    request: &ChargeRequest,
    grantee: i64,
) -> SpiResult<std::result::Result<(), Refusal>> {
    let limit = first_row(
        client,
        "SELECT epsilon_limit IS NULL OR epsilon_spent + $3::numeric <= epsilon_limit, \
                trim_scale(epsilon_limit - epsilon_spent)::text, epsilon_limit IS NULL \
           FROM dp.access \
          WHERE dataset = $1 AND grantee::bigint = $2 AND NOT revoked FOR NO KEY UPDATE",
        &[request.dataset.into(), grantee.into(), request.epsilon.as_str().into()],
        |row| {
            let has_none = row.get(3)?.unwrap_or(true);
            Ok((row.get(1)?.unwrap_or(false), row.get(2)?.unwrap_or_default(), has_none))
        },
    )?;
    Ok(match limit {
        None => Err(Refusal::NoGrant),
        // how often a role can ask is to be bounded by what it spends
        Some((.., true)) if request.part.is_some() => Err(Refusal::NoLimit),
        Some((false, left, _)) => Err(Refusal::LimitExceeded { left }),
        Some((true, ..)) => Ok(()),
    })
}

/// Adds a charge for so many releases to the sums of the dataset, or of a part of it.
fn add_up(
    client: &mut SpiClient,
    request: &ChargeRequest,
    parts: Parts,
    releases: usize,
) -> SpiResult<()> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    if let Some(part) = &request.part {
        return add_to_part(client, request, part, parts, releases);
    }
    client.update(
        "UPDATE dp.dataset SET epsilon_sum = epsilon_sum + $2::numeric, \
                delta_sum = delta_sum + $3::numeric, rho_sum = rho_sum + $4::numeric, \
                releases = releases + $5 WHERE id = $1",
        None,
        &[
            (*dataset).into(),
            epsilon.as_str().into(),
            delta.as_str().into(),
            request.rho_decimal().into(),
            (releases as i64).into(),
        ],
    )?;
    Ok(())
}

/// Adds the ledger's entry, and returns its number.
pub(super) fn append(client: &mut SpiClient, request: &ChargeRequest) -> SpiResult<i64> {
    // one chain over all datasets: whoever adds a link has to see the last one
    client.update("LOCK TABLE dp.charge IN SHARE ROW EXCLUSIVE MODE", None, &[])?;
    client.update(
        "INSERT INTO dp.epoch (identity) \
         SELECT $1 WHERE $1 IS DISTINCT FROM \
             (SELECT identity FROM dp.epoch ORDER BY n DESC LIMIT 1)",
        None,
        &[own_identity().into()],
    )?;
    let entry = first_row(
        client,
        "WITH link AS ( \
             SELECT coalesce(max(id), 0) + 1 AS id, clock_timestamp() AS charged_at, \
                    (SELECT max(n) FROM dp.epoch) AS epoch, \
                    (SELECT hash FROM dp.charge ORDER BY id DESC LIMIT 1) AS previous, \
                    gen_random_uuid() AS nonce \
               FROM dp.charge) \
         INSERT INTO dp.charge (id, epoch, charged_at, charged_by, dataset, function, \
                                epsilon, delta, rho, parameters, nonce, hash) \
         SELECT id, epoch, charged_at, $2, $1, $3, $4::numeric, $5::numeric, $6::numeric, \
                $7::jsonb, nonce, \
                dp.charge_hash(previous, id, epoch, charged_at, $2, $1, $3, \
                               $4::numeric, $5::numeric, $6::numeric, $7::jsonb, nonce) \
           FROM link RETURNING id",
        &[
            request.dataset.into(),
            request.who.as_str().into(),
            request.function.as_str().into(),
            request.epsilon.as_str().into(),
            request.delta.as_str().into(),
            request.rho_decimal().into(),
            request.parameters.to_string().into(),
        ],
        |row| Ok(row.get::<i64>(1)?.unwrap_or_default()),
    )?;
    // an INSERT ... SELECT from an aggregate returns one row
    Ok(entry.unwrap_or_default())
}

/// What the charge leaves to the role that asked: of its limit or of the dataset's budget, whichever
/// is less. `fullest`: where most of the budget is spent, with the charge.
fn left(
    client: &mut SpiClient,
    request: &ChargeRequest,
    fullest: &Fullest,
) -> SpiResult<Option<Left>> {
    let Fullest { spent, views, .. } = fullest;
    // the dataset's sums have what is charged everywhere
    let to_part = if request.part.is_some() { &request.epsilon } else { "0" };
    first_row(
        client,
        "SELECT trim_scale(epsilon)::text, trim_scale(whole)::text, is_limit \
           FROM (SELECT epsilon_budget - least(CASE WHEN $3 THEN epsilon_sum + $5::numeric \
                                                           + $6::numeric END, $4::numeric), \
                        epsilon_budget, false \
                   FROM dp.dataset WHERE id = $1 \
                 UNION ALL \
                 SELECT epsilon_limit - epsilon_spent, epsilon_limit, true \
                   FROM dp.access \
                  WHERE dataset = $1 AND grantee::bigint = $2 AND epsilon_limit IS NOT NULL \
                ) AS bounds (epsilon, whole, is_limit) \
          ORDER BY epsilon, is_limit LIMIT 1",
        &[
            request.dataset.into(),
            request.grantee.map(i64::from).into(),
            views.basic.is_some().into(),
            zcdp_decimal(views).into(),
            spent.epsilon_decimal().into(),
            to_part.into(),
        ],
        |row| {
            Ok(Left {
                epsilon: row.get(1)?.unwrap_or_default(),
                of: row.get(2)?.unwrap_or_default(),
                is_limit: row.get(3)?.unwrap_or_default(),
            })
        },
    )
}
