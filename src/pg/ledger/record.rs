//! The budget ledger from the worker's side: checks and records one charge.

use super::grantees;
use super::message::{Answer, Charge, ChargeRequest, Left, Refusal, Unresumable};
use super::parts::{Parts, add_to_part};
use super::periods::{self, Tightest};
use super::promise::{begin_attempt, promise, standing};
use super::room::{Account, account, before_charge, budget_exceeded, zcdp_decimal};
use super::sql::{SpiResult, first_row};
use crate::pg::server::locks::{PrivateLock, lock_until_end};
use crate::pg::server::state::own_identity;
use crate::privacy::{Fullest, Totals};
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
        periods::spend(client, request, grantee)?;
    }
    let Room { fullest, tightest, parts, .. } = room;
    add_up(client, request, parts, releases.len())?;
    left(client, request, &fullest, tightest.as_ref()).map(Ok)
}

/// A budget that has room for a charge.
struct Room {
    /// What is spent with the charge, where least is left.
    fullest: Fullest,
    /// The same of opened periods.
    tightest: Option<Tightest>,
    /// What it was found out by.
    parts: Parts,
    /// Why the charge is too small for a role with a grant, if it is.
    too_small: Option<Refusal>,
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
    if fullest.exceeds {
        let before = before_charge(&limits, account.delta_room_before, request);
        let before = parts.fullest(request, &before);
        return budget_exceeded(client, request, &before, None).map(Err);
    }
    let tightest = match periods::check(client, request, &account, &parts, false)? {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(tightest) => tightest,
    };

    // As many charges of this size as the budget has smallest ones must use up each view: a
    // Gaussian release with a minute delta has hardly any rho, whatever its epsilon.
    let Account { large_epsilon, times, smallest, .. } = account;
    let least = releases.iter().map(|release| release.rho).fold(f64::INFINITY, f64::min);
    let alike = Totals { epsilon_sum: 0.0, rho: least * times, delta_sum: 0.0 };
    let zcdp = alike.zcdp(limits.delta_budget);
    let large = large_epsilon && zcdp.is_none_or(|e| e >= limits.epsilon_budget);
    let too_small = Refusal::TooSmall { smallest, rho_alone: large_epsilon };
    Ok(Ok(Room { fullest, tightest, parts, too_small: (!large).then_some(too_small) }))
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
                trim_scale(greatest(epsilon_limit - epsilon_spent, 0))::text, \
                epsilon_limit IS NULL, period_limit IS NULL, \
                delta_limit IS NULL OR delta_spent + $4::numeric <= delta_limit, \
                trim_scale(greatest(delta_limit - delta_spent, 0))::text \
           FROM dp.access \
          WHERE dataset = $1 AND grantee::bigint = $2 AND NOT revoked FOR NO KEY UPDATE",
        &[
            request.dataset.into(),
            grantee.into(),
            request.epsilon.as_str().into(),
            request.delta.as_str().into(),
        ],
        |row| {
            let is_within = |column| Ok::<_, pgrx::spi::Error>(row.get(column)?.unwrap_or(false));
            let has = |column| Ok::<_, pgrx::spi::Error>(!row.get(column)?.unwrap_or(true));
            let left = |column| Ok::<_, pgrx::spi::Error>(row.get(column)?.unwrap_or_default());
            Ok(GrantLimits {
                epsilon_left: (!is_within(1)?).then(|| left(2)).transpose()?,
                has_epsilon: has(3)?,
                has_period: has(4)?,
                delta_left: (!is_within(5)?).then(|| left(6)).transpose()?,
            })
        },
    )?;
    let Some(limit) = limit else { return Ok(Err(Refusal::NoGrant)) };
    // how often a role can ask is to be bounded by what it spends
    if !limit.has_epsilon {
        if limit.has_period && !periods::is_opened(client, request)? {
            return Ok(Err(Refusal::NotOpened));
        }
        if !limit.has_period && request.part.is_some() {
            return Ok(Err(Refusal::NoLimit));
        }
    }
    if let Some(left) = limit.epsilon_left {
        return Ok(Err(Refusal::LimitExceeded { left, period: None }));
    }
    if let Some(left) = limit.delta_left {
        return Ok(Err(Refusal::DeltaLimitExceeded { left }));
    }
    if limit.has_period
        && let Some((period, left)) = periods::limit_exceeded(client, request, grantee)?
    {
        return Ok(Err(Refusal::LimitExceeded { left, period: Some(period) }));
    }
    Ok(Ok(()))
}

/// Limits of a role, with what is left of one that a charge exceeds.
struct GrantLimits {
    epsilon_left: Option<String>,
    delta_left: Option<String>,
    has_epsilon: bool,
    has_period: bool,
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
    // whoever holds these is waited for before others wait for the ledger
    client.update("LOCK TABLE dp.epoch, dp.charge IN ROW EXCLUSIVE MODE", None, &[])?;
    // one chain over all datasets: whoever adds a link has to see the last one
    lock_until_end(PrivateLock::Ledger);
    let identity = own_identity();
    let restored = first_row(client, grantees::RESTORED, &[identity.as_str().into()], |row| {
        row.get::<bool>(1)
    })?;
    if restored.flatten() == Some(true) {
        client.update(&grantees::away(), None, &[])?;
        client.update(&grantees::to_names(), None, &[request.dataset.into()])?;
    }
    client.update(
        "INSERT INTO dp.epoch (identity) \
         SELECT $1 WHERE $1 IS DISTINCT FROM \
             (SELECT identity FROM dp.epoch ORDER BY n DESC LIMIT 1)",
        None,
        &[identity.into()],
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

/// What is left now to the role that asks, of what such a release is charged to. None where it cannot
/// be charged at all.
pub(super) fn left_now(client: &mut SpiClient, request: &ChargeRequest) -> SpiResult<Option<Left>> {
    let nothing = ChargeRequest {
        epsilon: "0".to_string(),
        delta: "0".to_string(),
        rho: 0.0,
        may_fail: false,
        ..request.clone()
    };
    let Some(mut account) = account(client, &nothing, &[])? else { return Ok(None) };
    let parts = Parts::read(client, &nothing, account.summits.take())?;
    let fullest = parts.fullest(&nothing, &account.limits);
    match periods::check(client, &nothing, &account, &parts, true)? {
        // it has more than its budget already
        Err(Refusal::BudgetExceeded { left: epsilon, period, .. }) => Ok(Some(Left {
            of: epsilon.clone(),
            epsilon,
            is_limit: false,
            period,
            is_least: false,
        })),
        Err(_) => Ok(None),
        Ok(tightest) => left(client, &nothing, &fullest, tightest.as_ref()),
    }
}

/// What the charge leaves to the role that asked: of its limits, of the dataset's budget or of an
/// opened period's, whichever is least. `fullest`: where most of the budget is spent, with the charge.
fn left(
    client: &mut SpiClient,
    request: &ChargeRequest,
    fullest: &Fullest,
    tightest: Option<&Tightest>,
) -> SpiResult<Option<Left>> {
    let Fullest { spent, views, .. } = fullest;
    // the dataset's sums have what is charged everywhere
    let to_part = if request.part.is_some() { &request.epsilon } else { "0" };
    let part = request.part.as_ref();
    let of_period = tightest.map(|tightest| &tightest.fullest);
    let period_sum = of_period.and_then(|Fullest { spent, views, .. }| {
        views.basic.is_some().then(|| spent.epsilon_decimal())
    });
    let period_zcdp = of_period.and_then(|fullest| zcdp_decimal(&fullest.views));
    first_row(
        client,
        &format!(
            "SELECT trim_scale(greatest(epsilon, 0))::text, trim_scale(whole)::text, is_limit, \
                    period, is_least \
               FROM (SELECT epsilon_budget - least(CASE WHEN $3 THEN epsilon_sum + $5::numeric \
                                                               + $6::numeric END, $4::numeric), \
                            epsilon_budget, false, NULL, false \
                       FROM dp.dataset WHERE id = $1 \
                     UNION ALL \
                     SELECT epsilon_limit - epsilon_spent, epsilon_limit, true, NULL, false \
                       FROM dp.access \
                      WHERE dataset = $1 AND grantee::bigint = $2 AND epsilon_limit IS NOT NULL \
                     UNION ALL \
                     SELECT b.epsilon - least(d.epsilon_sum + $8::numeric + $6::numeric, \
                                              $11::numeric), b.epsilon, false, p.period_text, $12 \
                       FROM dp.period AS p JOIN dp.dataset AS d ON d.id = p.dataset, \
                            coalesce(p.epsilon_budget, d.epsilon_budget) AS b (epsilon) \
                      WHERE p.id = $7 \
                     UNION ALL \
                     {} \
                    ) AS bounds (epsilon, whole, is_limit, period, is_least) \
              ORDER BY epsilon, is_limit, period NULLS FIRST LIMIT 1",
            periods::limits_left()
        ),
        &[
            request.dataset.into(),
            request.grantee.map(i64::from).into(),
            views.basic.is_some().into(),
            zcdp_decimal(views).into(),
            spent.epsilon_decimal().into(),
            to_part.into(),
            tightest.map(|tightest| tightest.period.id).into(),
            period_sum.into(),
            part.and_then(|part| part.lower).into(),
            part.and_then(|part| part.upper).into(),
            period_zcdp.into(),
            tightest.is_some_and(|tightest| !tightest.is_exact).into(),
        ],
        |row| {
            Ok(Left {
                epsilon: row.get(1)?.unwrap_or_default(),
                of: row.get(2)?.unwrap_or_default(),
                is_limit: row.get(3)?.unwrap_or_default(),
                period: row.get(4)?,
                is_least: row.get(5)?.unwrap_or_default(),
            })
        },
    )
}
