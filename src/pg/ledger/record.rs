//! The budget ledger from the worker's side: checks and records one charge.

use super::message::{Answer, Charge, ChargeRequest, Left, Refusal, Unresumable};
use super::promise::{begin_attempt, promise, standing};
use super::sql::{SpiResult, first_row};
use crate::privacy::{Totals, Views};
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
    // every charge of the dataset waits here for the one before
    let room = match check_budget(client, request)? {
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
    add_up(client, request)?;
    let id = if is_trial { 0 } else { append(client, request)? };
    Ok(Ok(Charge { id, left: left(client, request, &room.spent)? }))
}

/// A budget that has room for a charge.
struct Room {
    /// What is spent with the charge.
    spent: Views,
    /// Why the charge is too small for a role with a grant, if it is.
    too_small: Option<Refusal>,
}

/// Whether the dataset's budget has room for the charge. Locks the dataset.
fn check_budget(
    client: &mut SpiClient,
    request: &ChargeRequest,
) -> SpiResult<std::result::Result<Room, Refusal>> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    let checked = first_row(
        client,
        "SELECT epsilon_sum + $2::numeric <= epsilon_budget, \
                trim_scale(epsilon_budget - epsilon_sum)::text, \
                epsilon_budget::float8, delta_budget::float8, \
                (rho_sum + $3::numeric)::float8, (epsilon_sum + $2::numeric)::float8, \
                (delta_sum + $4::numeric)::float8, \
                trim_scale(greatest(delta_budget / 2 - delta_sum, 0))::text, \
                $2::numeric >= smallest_charge, \
                least(epsilon_budget / smallest_charge, 1e300)::float8, \
                trim_scale(smallest_charge)::text \
           FROM dp.dataset WHERE id = $1 AND dropped_at IS NULL FOR NO KEY UPDATE",
        &[
            (*dataset).into(),
            epsilon.as_str().into(),
            request.rho_decimal().into(),
            delta.as_str().into(),
        ],
        |row| {
            let within_sum = row.get::<bool>(1)?.unwrap_or(false);
            let left = row.get::<String>(2)?.unwrap_or_default();
            let delta_left = row.get::<String>(8)?.unwrap_or_default();
            let budget = row.get::<f64>(3)?.unwrap_or(0.0);
            let delta_budget = row.get::<f64>(4)?.unwrap_or(0.0);
            let after = Totals {
                epsilon_sum: row.get(6)?.unwrap_or(f64::INFINITY),
                rho: row.get(5)?.unwrap_or(f64::INFINITY),
                delta_sum: row.get(7)?.unwrap_or(f64::INFINITY),
            };
            // either view may bound what is spent (see privacy::accounting); the sum of epsilons is
            // compared as the decimal that it is
            let spent = after.views(delta_budget);
            let basic = spent.basic.is_some() && within_sum;
            if !basic && spent.zcdp.is_none_or(|epsilon| epsilon > budget) {
                return Ok(Err(Refusal::BudgetExceeded { left, delta_left }));
            }

            // As many charges of this size as the budget has smallest ones must use up each view: a
            // Gaussian release with a minute delta has hardly any rho, whatever its epsilon.
            let times = row.get::<f64>(10)?.unwrap_or(0.0);
            let alike = Totals { epsilon_sum: 0.0, rho: request.rho * times, delta_sum: 0.0 };
            let zcdp = alike.zcdp(delta_budget);
            let large_epsilon = row.get(9)?.unwrap_or(false);
            let large = large_epsilon && zcdp.is_none_or(|e| e >= budget);
            let smallest = row.get(11)?.unwrap_or_default();
            let too_small = Refusal::TooSmall { smallest, rho_alone: large_epsilon };
            Ok(Ok(Room { spent, too_small: (!large).then_some(too_small) }))
        },
    )?;
    Ok(checked.unwrap_or(Err(Refusal::NoDataset)))
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
                trim_scale(epsilon_limit - epsilon_spent)::text \
           FROM dp.access \
          WHERE dataset = $1 AND grantee::bigint = $2 AND NOT revoked FOR NO KEY UPDATE",
        &[request.dataset.into(), grantee.into(), request.epsilon.as_str().into()],
        |row| Ok((row.get(1)?.unwrap_or(false), row.get(2)?.unwrap_or_default())),
    )?;
    Ok(match limit {
        None => Err(Refusal::NoGrant),
        Some((false, left)) => Err(Refusal::LimitExceeded { left }),
        Some((true, _)) => Ok(()),
    })
}

/// Adds the charge to the dataset's sums.
fn add_up(client: &mut SpiClient, request: &ChargeRequest) -> SpiResult<()> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    client.update(
        "UPDATE dp.dataset SET epsilon_sum = epsilon_sum + $2::numeric, \
                delta_sum = delta_sum + $3::numeric, rho_sum = rho_sum + $4::numeric, \
                releases = releases + 1 WHERE id = $1",
        None,
        &[
            (*dataset).into(),
            epsilon.as_str().into(),
            delta.as_str().into(),
            request.rho_decimal().into(),
        ],
    )?;
    Ok(())
}

/// Adds the ledger's entry, and returns its number.
fn append(client: &mut SpiClient, request: &ChargeRequest) -> SpiResult<i64> {
    // one chain over all datasets: whoever adds a link has to see the last one
    client.update("LOCK TABLE dp.charge IN SHARE ROW EXCLUSIVE MODE", None, &[])?;
    client.update(
        "INSERT INTO dp.epoch (identity) \
         SELECT dp.identity() WHERE dp.identity() IS DISTINCT FROM \
             (SELECT identity FROM dp.epoch ORDER BY n DESC LIMIT 1)",
        None,
        &[],
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
/// is less. `spent`: of the budget, with the charge.
fn left(client: &mut SpiClient, request: &ChargeRequest, spent: &Views) -> SpiResult<Option<Left>> {
    // as dp_budget shows it, but for the digits of a bound that no decimal is
    let zcdp = spent.zcdp.map(|epsilon| ((epsilon * 1e6).ceil() / 1e6).to_string());
    first_row(
        client,
        "SELECT trim_scale(epsilon)::text, trim_scale(whole)::text, is_limit \
           FROM (SELECT epsilon_budget - least(CASE WHEN $3 THEN epsilon_sum END, $4::numeric), \
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
            spent.basic.is_some().into(),
            zcdp.into(),
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
