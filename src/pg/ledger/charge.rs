//! The budget ledger: every charge goes through [`charge`], before private data are read.
//!
//! A charge is recorded by a worker in a transaction of its own, so that nothing the caller does
//! afterwards (rollback, cancel, crash) returns it. The message, its checking and its recording
//! are all in this file; how it reaches the worker is `worker`'s business.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::locality::refuse_worker_node;
use crate::pg::server::session::{current_role, role_name};
use crate::pg::server::surroundings::check_surroundings;
use crate::pg::server::worker;
use crate::privacy::{Epsilon, Totals};
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::{SpiClient, SpiHeapTupleData};
use serde::{Deserialize, Serialize};

/// What a release costs, known from public arguments alone.
pub(crate) struct Charge<'a> {
    pub(crate) dataset: &'a Dataset,
    /// The SQL function that releases.
    pub(crate) function: &'static str,
    pub(crate) epsilon: Epsilon,
    /// 0 for a pure release.
    pub(crate) delta: f64,
    /// The zero-concentrated loss, for the ledger's second view.
    pub(crate) rho: f64,
    /// What the mechanism will do, in its own words.
    pub(crate) mechanism: serde_json::Value,
    /// The name that the release is stored under.
    pub(crate) name: Option<&'a str>,
}

/// A charge on its way to the worker. Amounts of epsilon and delta are decimals: they add up as
/// users see them, ten times 0.1 being 1; mechanisms are calibrated to stay within the decimal.
#[derive(Serialize, Deserialize)]
struct Request {
    dataset: i64,
    /// The role that a grant allows to release, unless the owner releases.
    grantee: Option<u32>,
    who: String,
    function: String,
    epsilon: String,
    delta: String,
    rho: f64,
    parameters: serde_json::Value,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Charged { entry: i64 },
    BudgetExceeded { left: String, delta_left: String },
    LimitExceeded { left: String },
    TooSmall { smallest: String, rho_alone: bool },
    NoDataset,
    NoGrant,
}

/// Charges a dataset's budget, durably. Returns the number of the ledger's entry.
///
/// Errors: less than the charge is left, or it is smaller than a role with a grant may ask for
/// (nothing is spent then); the dataset or the grant is gone or not committed yet; the worker could
/// not do it; nothing can be released here (see [`check_surroundings`]);
/// another node of a cluster has the ledger.
pub(crate) fn charge(charge: &Charge) -> Result<i64> {
    check_surroundings()?;
    refuse_worker_node()?;
    let Charge { dataset, function, epsilon, delta, rho, mechanism, name } = charge;
    let mut parameters = mechanism.clone();
    parameters["name"] = (*name).into();
    let request = Request {
        dataset: dataset.id,
        grantee: dataset.grantee.map(|role| role.to_u32()),
        who: role_name(current_role()),
        function: function.to_string(),
        epsilon: epsilon.decimal(),
        delta: delta.to_string(),
        rho: *rho,
        parameters,
    };
    let message = serde_json::to_vec(&request).map_err(internal)?;
    let answer = serde_json::from_slice(&worker::ask(dataset.id, &message)?).map_err(internal)?;

    let (epsilon, name) = (epsilon.decimal(), &dataset.name);
    let exceeded = |whose: &str, left: String| {
        error(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!("epsilon {epsilon} exceeds what is left of {whose} dataset \"{name}\": {left}"),
        )
        .set_hint(
            "Nothing was spent. dp_budget shows the budget, dp.grants each role's limit, and to the \
             owner dp.ledger every charge.",
        )
    };
    match answer {
        Answer::Charged { entry } => Ok(entry),
        Answer::BudgetExceeded { left, .. } if *delta == 0.0 => {
            Err(exceeded("the budget of", left))
        }
        Answer::BudgetExceeded { left, delta_left } => Err(error(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!(
                "epsilon {epsilon} with delta {delta} exceeds what is left of the budget of dataset \
                 \"{name}\": epsilon {left}, delta {delta_left}"
            ),
        )
        .set_hint(
            "Nothing was spent. Deltas add up to at most half of the dataset's delta_budget, or \
             the zCDP bound at the other half has to fit: dp_budget shows both.",
        )),
        Answer::LimitExceeded { left } => Err(exceeded("your limit on", left)),
        Answer::TooSmall { smallest, rho_alone: false } => Err(invalid(
            format!(
                "epsilon {epsilon} is below the smallest charge to dataset \"{name}\" by a role with \
                 a grant: {smallest}"
            ),
            "Nothing was spent. Ask with a larger epsilon; the dataset's owner can lower the bound \
             with dp_set_smallest_charge.",
        )),
        Answer::TooSmall { smallest, rho_alone: true } => Err(invalid(
            format!(
                "epsilon {epsilon}: its zCDP loss, rho {rho}, is below the smallest charge to dataset \
                 \"{name}\" by a role with a grant, {smallest} and the same share of what its \
                 delta_budget allows of rho"
            ),
            "Nothing was spent. Ask with a larger epsilon: up to some dozen times the smallest one \
             may be needed. The dataset's owner can lower the bound with dp_set_smallest_charge.",
        )),
        Answer::NoDataset => Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("dataset \"{name}\" cannot be charged: it is not committed, or was dropped"),
        )
        .set_hint("Commit dp_create_dataset before the first release.")),
        Answer::NoGrant => Err(error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for dataset \"{name}\""),
        )
        .set_hint("The grant is not committed, or was revoked.")),
    }
}

/// The worker's part: checks and records one charge in the current transaction, as superuser.
pub(crate) fn record(message: &[u8]) -> Result<Vec<u8>> {
    let request: Request = serde_json::from_slice(message).map_err(internal)?;
    let answer = Spi::connect_mut(|client| check_and_record(client, &request)).map_err(internal)?;
    serde_json::to_vec(&answer).map_err(internal)
}

fn check_and_record(
    client: &mut SpiClient,
    request: &Request,
) -> std::result::Result<Answer, pgrx::spi::Error> {
    let Request { dataset, grantee, who, function, epsilon, delta, rho, parameters } = request;
    let (epsilon, delta) = (epsilon.as_str(), delta.as_str());
    // the shortest decimal of an f64 may lie below it, by less than the next f64 lies above
    let rho_decimal = rho.next_up().to_string();

    // every charge of the dataset waits here for the one before
    let budget = first_row(
        client,
        "SELECT epsilon_sum + $2::numeric <= epsilon_budget, \
                trim_scale(epsilon_budget - epsilon_sum)::text, \
                epsilon_budget::float8, delta_budget::float8, \
                (rho_sum + $3::numeric)::float8, (epsilon_sum + $2::numeric)::float8, \
                (delta_sum + $4::numeric)::float8, \
                trim_scale(greatest(delta_budget / 2 - delta_sum, 0))::text, \
                $2::numeric >= smallest_charge, least(epsilon_budget / smallest_charge, 1e300)::float8, \
                trim_scale(smallest_charge)::text \
           FROM dp.dataset WHERE id = $1 AND dropped_at IS NULL FOR NO KEY UPDATE",
        &[(*dataset).into(), epsilon.into(), rho_decimal.as_str().into(), delta.into()],
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
            let views = after.views(delta_budget);
            let basic = views.basic.is_some() && within_sum;
            let within = basic || views.zcdp.is_some_and(|epsilon| epsilon <= budget);

            // As many charges of this size as the budget has smallest ones must use up each view: a
            // Gaussian release with a minute delta has hardly any rho, whatever its epsilon.
            let times = row.get::<f64>(10)?.unwrap_or(0.0);
            let alike = Totals { epsilon_sum: 0.0, rho: rho * times, delta_sum: 0.0 };
            let zcdp = alike.zcdp(delta_budget);
            let large_epsilon = row.get(9)?.unwrap_or(false);
            let large = large_epsilon && zcdp.is_none_or(|e| e >= budget);
            let too_small = (!large).then_some(Answer::TooSmall {
                smallest: row.get(11)?.unwrap_or_default(),
                rho_alone: large_epsilon,
            });
            Ok((within, left, delta_left, too_small))
        },
    )?;
    let too_small = match budget {
        None => return Ok(Answer::NoDataset),
        Some((false, left, delta_left, _)) => {
            return Ok(Answer::BudgetExceeded { left, delta_left });
        }
        Some((true, _, _, too_small)) => too_small,
    };
    let grantee = grantee.map(i64::from);
    if grantee.is_some() {
        let limit = first_row(
            client,
            "SELECT epsilon_limit IS NULL OR epsilon_spent + $3::numeric <= epsilon_limit, \
                    trim_scale(epsilon_limit - epsilon_spent)::text \
               FROM dp.access WHERE dataset = $1 AND grantee::bigint = $2 AND NOT revoked FOR NO KEY UPDATE",
            &[(*dataset).into(), grantee.into(), epsilon.into()],
            |row| Ok((row.get(1)?.unwrap_or(false), row.get(2)?.unwrap_or_default())),
        )?;
        match limit {
            None => return Ok(Answer::NoGrant),
            Some((false, left)) => return Ok(Answer::LimitExceeded { left }),
            Some((true, _)) => {}
        }
        if let Some(answer) = too_small {
            return Ok(answer);
        }
        client.update(
            "UPDATE dp.access SET epsilon_spent = epsilon_spent + $3::numeric \
              WHERE dataset = $1 AND grantee::bigint = $2",
            None,
            &[(*dataset).into(), grantee.into(), epsilon.into()],
        )?;
    }
    client.update(
        "UPDATE dp.dataset SET epsilon_sum = epsilon_sum + $2::numeric, \
                delta_sum = delta_sum + $3::numeric, rho_sum = rho_sum + $4::numeric, \
                releases = releases + 1 WHERE id = $1",
        None,
        &[(*dataset).into(), epsilon.into(), delta.into(), rho_decimal.as_str().into()],
    )?;

    // one chain over all datasets: whoever adds a link has to see the last one
    client.update("LOCK TABLE dp.charge IN SHARE ROW EXCLUSIVE MODE", None, &[])?;
    client.update(
        "INSERT INTO dp.epoch (identity) SELECT dp.identity() WHERE dp.identity() IS DISTINCT FROM \
             (SELECT identity FROM dp.epoch ORDER BY n DESC LIMIT 1)",
        None,
        &[],
    )?;
    let entry = first_row(
        client,
        "WITH link AS ( \
             SELECT coalesce(max(id), 0) + 1 AS id, clock_timestamp() AS charged_at, \
                    (SELECT max(n) FROM dp.epoch) AS epoch, \
                    (SELECT hash FROM dp.charge ORDER BY id DESC LIMIT 1) AS previous \
               FROM dp.charge) \
         INSERT INTO dp.charge (id, epoch, charged_at, charged_by, dataset, function, \
                                epsilon, delta, rho, parameters, hash) \
         SELECT id, epoch, charged_at, $2, $1, $3, $4::numeric, $5::numeric, $6::numeric, $7::jsonb, \
                dp.charge_hash(previous, id, epoch, charged_at, $2, $1, $3, \
                               $4::numeric, $5::numeric, $6::numeric, $7::jsonb) \
           FROM link RETURNING id",
        &[
            (*dataset).into(),
            who.as_str().into(),
            function.as_str().into(),
            epsilon.into(),
            delta.into(),
            rho_decimal.as_str().into(),
            parameters.to_string().into(),
        ],
        |row| Ok(row.get::<i64>(1)?.unwrap_or_default()),
    )?;
    // an INSERT ... SELECT from an aggregate returns one row
    Ok(entry.map_or(Answer::NoDataset, |entry| Answer::Charged { entry }))
}

fn first_row<T>(
    client: &mut SpiClient,
    sql: &str,
    arguments: &[DatumWithOid],
    read: impl FnOnce(&SpiHeapTupleData) -> std::result::Result<T, pgrx::spi::Error>,
) -> std::result::Result<Option<T>, pgrx::spi::Error> {
    client.update(sql, None, arguments)?.next().map(|row| read(&row)).transpose()
}
