//! `dp_budget`: what is spent of a dataset's budget, and what is left.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, internal, required};
use crate::pg::ledger::parts::{self, ALL};
use crate::pg::server::catalog::read_catalog;
use crate::privacy::{Fullest, Limits, Period, Scope, Scopes, Spent, Summits, Totals, Views};
use pgrx::prelude::*;

/// Both views of what is spent (see `privacy::accounting`), and what the smaller one leaves.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_budget(
    dataset: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(epsilon_budget, Option<AnyNumeric>),
            name!(epsilon_spent, Option<AnyNumeric>),
            name!(epsilon_left, Option<AnyNumeric>),
            name!(delta_budget, Option<AnyNumeric>),
            name!(delta_spent, Option<AnyNumeric>),
            name!(releases, Option<i64>),
            name!(epsilon_sum, Option<AnyNumeric>),
            name!(epsilon_zcdp, Option<f64>),
            name!(rho, Option<f64>),
        ),
    >,
> {
    let dataset = Dataset::open_awaiting(required(dataset, "dataset")?)?;
    let limits = limits(&dataset)?;
    // of the data as a whole the fullest cell tells what is left
    let Fullest { spent, views, .. } = match summits(&dataset)? {
        Some(summits) => summits.fullest(&limits),
        None => scopes(&dataset)?.fullest(&Scope::ALL, None, &limits),
    };
    let [sum, basic, zcdp] = epsilons(&spent, &views);
    let (zcdp_delta, delta) = (Totals::zcdp_delta(limits.delta_budget), spent.delta_decimal());
    let rho = limits.everywhere.rho + spent.rho();
    let mut rows = Vec::new();
    read_catalog(
        &format!(
            "SELECT trim_scale(epsilon_budget), trim_scale(spent), \
                    trim_scale(epsilon_budget - spent), trim_scale(delta_budget), \
                    trim_scale(CASE WHEN spent = {basic} THEN delta_sum + {delta}::numeric \
                                    ELSE {zcdp_delta} END), \
                    releases, trim_scale({sum}) \
               FROM dp.dataset, LATERAL (SELECT least({basic}, {zcdp}) AS spent) AS s \
              WHERE id = {}",
            dataset.id
        ),
        |row| {
            let (budget, spent, left) = (row.get(1), row.get(2), row.get(3));
            let (delta_budget, delta_sum) = (row.get(4), row.get(5));
            let (releases, sum) = (row.get(6), row.get(7));
            rows.push((
                budget,
                spent,
                left,
                delta_budget,
                delta_sum,
                releases,
                sum,
                views.zcdp,
                Some(rho),
            ));
            Ok(())
        },
    )?;
    Ok(TableIterator::new(rows))
}

type CellRow = (
    name!(within, Vec<String>),
    name!(period, Option<String>),
    name!(epsilon_spent, Option<AnyNumeric>),
    name!(epsilon_left, Option<AnyNumeric>),
    name!(releases, i64),
    name!(picture, Option<String>),
);

/// What is spent where most is, of all the data and of each part that was charged.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_budget_cells(
    dataset: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(within, Vec<String>),
            name!(period, Option<String>),
            name!(epsilon_spent, Option<AnyNumeric>),
            name!(epsilon_left, Option<AnyNumeric>),
            name!(releases, i64),
            name!(picture, Option<String>),
        ),
    >,
> {
    let dataset = Dataset::open_awaiting(required(dataset, "dataset")?)?;
    let (limits, scopes) = (limits(&dataset)?, scopes(&dataset)?);
    let mut parts = vec![(Scope::ALL, None, 0)];
    // those by an earlier table of groups are parts of the same names
    read_catalog(
        &format!(
            "SELECT within, lower(period), upper(period), period_text, sum(releases)::bigint \
               FROM dp.scope WHERE dataset = {} \
              GROUP BY within, period, period_text ORDER BY within, period",
            dataset.id
        ),
        |row| {
            let period = Period { lower: row.get(2), upper: row.get(3) };
            let scope = Scope { within: row.get(1).unwrap_or_default(), period };
            parts.push((scope, row.get(4), row.get(5).unwrap_or_default()));
            Ok(())
        },
    )?;
    let cells = scopes.cells(None);
    // as arrays: those of the parts' fullest cells
    let (mut sums, mut zcdps, mut releases) = (Vec::new(), Vec::new(), Vec::new());
    for (scope, _, charges) in &parts {
        pgrx::check_for_interrupts!();
        let Fullest { spent, views, .. } = cells.fullest(scope, &limits);
        let null = || "NULL".to_string();
        sums.push(views.basic.map_or_else(null, |_| spent.epsilon_decimal()));
        zcdps.push(views.zcdp.map_or_else(null, |epsilon| epsilon.to_string()));
        releases.push(charges.to_string());
    }
    let (sums, zcdps, releases) = (sums.join(","), zcdps.join(","), releases.join(","));
    let sql = format!(
        "SELECT trim_scale(s.spent), trim_scale(epsilon_budget - s.spent), \
                CASE WHEN n = 1 THEN d.releases - sum(p.releases) OVER () ELSE p.releases END::bigint, \
                rpad(repeat('#', ceil(20 * s.spent / epsilon_budget)::int), 20, '.') \
           FROM dp.dataset AS d, \
                unnest('{{{sums}}}'::numeric[], '{{{zcdps}}}'::numeric[], '{{{releases}}}'::bigint[]) \
                    WITH ORDINALITY AS p (sum, zcdp, releases, n), \
                LATERAL (SELECT least(epsilon_sum + p.sum, p.zcdp) AS spent) AS s \
          WHERE id = {} ORDER BY n",
        dataset.id
    );
    let mut parts = parts.into_iter();
    let mut rows: Vec<CellRow> = Vec::new();
    read_catalog(&sql, |row| {
        let (scope, period, _) = parts.next().ok_or_else(|| internal("a part too many"))?;
        let (spent, left, releases) = (row.get(1), row.get(2), row.get(3).unwrap_or_default());
        rows.push((scope.within, period, spent, left, releases, row.get(4)));
        Ok(())
    })?;
    Ok(TableIterator::new(rows))
}

/// What was charged everywhere, and the budget.
pub(super) fn limits(dataset: &Dataset) -> Result<Limits> {
    let (everywhere, epsilon_budget, delta_budget) = totals(dataset)?;
    let mut delta_room = None;
    let sql = "SELECT greatest(floor((delta_budget / 2 - delta_sum) * 1e36), -1)::text \
                 FROM dp.dataset WHERE id = ";
    read_catalog(&format!("{sql}{}", dataset.id), |row| {
        delta_room = row.get::<String>(1).and_then(|room| room.parse().ok());
        Ok(())
    })?;
    // what is within the budget was found out when it was charged
    let (room, delta_room) = (i128::MAX, delta_room.unwrap_or(-1));
    let needs_delta = false;
    Ok(Limits { everywhere, room, delta_room, epsilon_budget, delta_budget, needs_delta })
}

/// What is kept of all parts of the data, if it is.
fn summits(dataset: &Dataset) -> Result<Option<Summits>> {
    let mut kept: Option<Vec<u8>> = None;
    read_catalog(&format!("SELECT summits FROM dp.dataset WHERE id = {}", dataset.id), |row| {
        kept = row.get(1);
        Ok(())
    })?;
    kept.map(|kept| parts::read_summits(&kept)).transpose()
}

/// Checks what is kept: what follows from the bytes of all parts. NULL where nothing is.
#[pg_extern(immutable, parallel_safe)]
fn dp_summits(parts: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(Summits::of(&parts::scopes(parts, None)?).map(|summits| summits.bytes()))
}

/// What was charged to parts of the data.
pub(super) fn scopes(dataset: &Dataset) -> Result<Scopes> {
    let mut all: Option<Vec<u8>> = None;
    read_catalog(&format!("SELECT {ALL} FROM dp.scope WHERE dataset = {}", dataset.id), |row| {
        all = row.get(1);
        Ok(())
    })?;
    parts::scopes(&all.unwrap_or_default(), None)
}

/// As expressions over `dp.dataset`: the sum, whose decimals are exact, the same if it is a bound,
/// and the other bound.
fn epsilons(spent: &Spent, views: &Views) -> [String; 3] {
    let sum = format!("(epsilon_sum + {})", spent.epsilon_decimal());
    let basic = if views.basic.is_some() { sum.clone() } else { "NULL".to_string() };
    let zcdp = views.zcdp.map_or("NULL".to_string(), |epsilon| format!("{epsilon}::numeric"));
    [sum, basic, zcdp]
}

/// What all charges come to that count everywhere, and the budgets of epsilon and delta.
pub(super) fn totals(dataset: &Dataset) -> Result<(Totals, f64, f64)> {
    let mut loss = None;
    read_catalog(
        &format!(
            "SELECT rho_sum::float8, epsilon_sum::float8, delta_sum::float8, delta_budget::float8, \
                    epsilon_budget::float8 \
               FROM dp.dataset WHERE id = {}",
            dataset.id
        ),
        |row| {
            let sums = [1, 2, 3, 4, 5].map(|column| row.get(column).unwrap_or(f64::INFINITY));
            loss = Some(sums);
            Ok(())
        },
    )?;
    let [rho, epsilon_sum, delta_sum, delta_budget, epsilon_budget] =
        loss.unwrap_or([f64::INFINITY; 5]);
    Ok((Totals { epsilon_sum, rho, delta_sum }, epsilon_budget, delta_budget))
}
