//! `dp_budget`: what is spent of a dataset's budget, and what is left.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, required};
use crate::pg::server::catalog::read_catalog;
use crate::privacy::Totals;
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
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    let (totals, delta_budget) = totals(&dataset)?;
    let views = totals.views(delta_budget);
    let or_null = |epsilon: Option<f64>, column: &str| {
        epsilon.map_or("NULL".to_string(), |epsilon| column.replace("{}", &epsilon.to_string()))
    };
    // the basic view's own epsilon is the exact sum
    let (basic, zcdp) = (or_null(views.basic, "epsilon_sum"), or_null(views.zcdp, "{}::numeric"));
    let zcdp_delta = Totals::zcdp_delta(delta_budget);
    let mut rows = Vec::new();
    read_catalog(
        &format!(
            "SELECT trim_scale(epsilon_budget), trim_scale(spent), \
                    trim_scale(epsilon_budget - spent), trim_scale(delta_budget), \
                    trim_scale(CASE WHEN spent = {basic} THEN delta_sum ELSE {zcdp_delta} END), \
                    releases, trim_scale(epsilon_sum) \
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
                Some(totals.rho),
            ));
            Ok(())
        },
    )?;
    Ok(TableIterator::new(rows))
}

/// What all charges come to, and the delta budget.
pub(super) fn totals(dataset: &Dataset) -> Result<(Totals, f64)> {
    let mut loss = None;
    read_catalog(
        &format!(
            "SELECT rho_sum::float8, epsilon_sum::float8, delta_sum::float8, delta_budget::float8 \
               FROM dp.dataset WHERE id = {}",
            dataset.id
        ),
        |row| {
            let sums = [1, 2, 3, 4].map(|column| row.get(column).unwrap_or(f64::INFINITY));
            loss = Some(sums);
            Ok(())
        },
    )?;
    let [rho, epsilon_sum, delta_sum, delta_budget] = loss.unwrap_or([f64::INFINITY; 4]);
    Ok((Totals { epsilon_sum, rho, delta_sum }, delta_budget))
}
