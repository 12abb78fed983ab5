//! `dp_budget_periods`: what is spent of the budgets of opened periods, and what is left.

use super::budget::{limits, scopes};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, required};
use crate::pg::ledger::room::TABLES;
use crate::pg::server::catalog::read_catalog;
use crate::privacy::{Fullest, Limits, Period, Rule, Scope};
use pgrx::prelude::*;

/// What is spent where most is, in each opened period.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_budget_periods(
    dataset: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(period, Option<String>),
            name!(epsilon_budget, Option<AnyNumeric>),
            name!(epsilon_spent, Option<AnyNumeric>),
            name!(epsilon_left, Option<AnyNumeric>),
            name!(delta_budget, Option<AnyNumeric>),
            name!(picture, Option<String>),
        ),
    >,
> {
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    let (everywhere, scopes) = (limits(&dataset)?, scopes(&dataset)?);
    let mut tables = String::new();
    let mut opened = Vec::new();
    read_catalog(
        &format!(
            "SELECT p.id, lower(p.period), upper(p.period), b.epsilon::float8, b.delta::float8, \
                    greatest(floor((b.delta / 2 - d.delta_sum) * 1e36), -1)::text, {TABLES} \
               FROM dp.period AS p JOIN dp.dataset AS d ON d.id = p.dataset, \
                    LATERAL (SELECT coalesce(p.epsilon_budget, d.epsilon_budget), \
                                    coalesce(p.delta_budget, d.delta_budget)) AS b (epsilon, delta) \
              WHERE p.dataset = {} ORDER BY p.period",
            dataset.id
        ),
        |row| {
            let delta_room = row.get::<String>(6).and_then(|room| room.parse().ok()).unwrap_or(-1);
            let limits = Limits {
                epsilon_budget: row.get(4).unwrap_or(0.0),
                delta_budget: row.get(5).unwrap_or(0.0),
                delta_room,
                ..everywhere
            };
            let period = Period { lower: row.get(2), upper: row.get(3) };
            opened.push((row.get::<i64>(1).unwrap_or_default(), period, limits));
            tables = row.get(7).unwrap_or_default();
            Ok(())
        },
    )?;
    let cells = scopes.cells(Some(&Rule { tables, regions: None }));
    // as arrays: those of the periods' fullest cells
    let (mut ids, mut sums, mut zcdps) = (Vec::new(), Vec::new(), Vec::new());
    for (id, period, limits) in opened {
        pgrx::check_for_interrupts!();
        let scope = Scope { within: Vec::new(), period };
        let Fullest { spent, views, .. } = cells.fullest(&scope, &limits);
        let null = || "NULL".to_string();
        ids.push(id.to_string());
        sums.push(views.basic.map_or_else(null, |_| spent.epsilon_decimal()));
        zcdps.push(views.zcdp.map_or_else(null, |epsilon| epsilon.to_string()));
    }
    let (ids, sums, zcdps) = (ids.join(","), sums.join(","), zcdps.join(","));
    let mut rows = Vec::new();
    read_catalog(
        &format!(
            "SELECT p.period_text, trim_scale(b.epsilon), trim_scale(s.spent), \
                    trim_scale(b.epsilon - s.spent), trim_scale(b.delta), \
                    rpad(repeat('#', least(ceil(20 * s.spent / b.epsilon), 20)::int), 20, '.') \
               FROM unnest('{{{ids}}}'::bigint[], '{{{sums}}}'::numeric[], '{{{zcdps}}}'::numeric[]) \
                        WITH ORDINALITY AS c (id, sum, zcdp, n) \
               JOIN dp.period AS p ON p.id = c.id JOIN dp.dataset AS d ON d.id = p.dataset, \
                    LATERAL (SELECT coalesce(p.epsilon_budget, d.epsilon_budget), \
                                    coalesce(p.delta_budget, d.delta_budget)) AS b (epsilon, delta), \
                    LATERAL (SELECT least(d.epsilon_sum + c.sum, c.zcdp)) AS s (spent) \
              ORDER BY c.n"
        ),
        |row| {
            rows.push((row.get(1), row.get(2), row.get(3), row.get(4), row.get(5), row.get(6)));
            Ok(())
        },
    )?;
    Ok(TableIterator::new(rows))
}
