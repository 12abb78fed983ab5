//! What `dp_publish`, `dp_publish_check` and `dp_plan_cost` are made of: they are written in SQL,
//! around these.

use super::budget::totals;
use crate::charge::Cost;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, check_new_name, checked_name, invalid, required};
use crate::pg::ledger::publication::{self, Publication, Tried};
use crate::pg::values::jsonb_argument::JsonbArgument;
use crate::privacy::{PrivacyLoss, composed_epsilon, gdp_mu, shown_bound, zcdp_epsilon};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

#[pg_extern(immutable, parallel_safe)]
fn dp_check_published(function: Option<&str>) -> Result<()> {
    publication::check_function(required(function, "function")?)
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_quote_start() {
    publication::start();
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_quote_next(is_next: bool) -> i32 {
    publication::quote_next(is_next) as i32
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_charge_quoted(
    name: Option<&str>,
    releases: Option<JsonbArgument>,
    delta: Option<f64>,
) -> Result<()> {
    let (publication, delta) = (publication_of(name, releases)?, publication_delta(delta)?);
    // also of those that are stored and not asked for
    for dataset in publication.datasets() {
        Dataset::open_awaiting(dataset)?;
    }
    for notice in publication.charge_all(delta)? {
        pgrx::notice!("{notice}");
    }
    Ok(())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_try_quoted(
    name: Option<&str>,
    releases: Option<JsonbArgument>,
    delta: Option<f64>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(epsilon, String),
            name!(problem, Option<String>),
            name!(epsilon_left, Option<String>),
        ),
    >,
> {
    let tried = publication_of(name, releases)?.try_charge(publication_delta(delta)?)?;
    let rows = tried.into_iter().map(|Tried { epsilon, problem, left }| {
        let told = |report: ErrorReport| match report.hint() {
            Some(hint) => format!("{}. {hint}", report.message()),
            None => report.message().to_string(),
        };
        (epsilon, problem.map(told), left)
    });
    Ok(TableIterator::new(rows.collect::<Vec<_>>()))
}

/// What all that was quoted, from one dataset, comes to at that delta, else at its delta budget.
#[pg_extern(volatile, parallel_unsafe)]
fn dp_cost_of_quoted(
    dataset: Option<&str>,
    delta: Option<f64>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(epsilon_exact, Option<f64>),
            name!(epsilon_zcdp, Option<f64>),
            name!(delta, f64),
            name!(mu, Option<f64>),
            name!(epsilons, Vec<String>),
            name!(deltas, Vec<String>),
        ),
    >,
> {
    let dataset = Dataset::open_awaiting(required(dataset, "dataset")?)?;
    let otherwise = "Without it the dataset's delta_budget is taken.";
    let delta = match checked_delta(delta, "at_delta", otherwise)? {
        Some(delta) => delta,
        None => totals(&dataset)?.2,
    };
    let costs = publication::quoted();
    let decimals = |decimal: fn(&Cost) -> String| costs.iter().map(decimal).collect::<Vec<_>>();
    let (epsilons, deltas) =
        (decimals(|cost| cost.epsilon.decimal()), decimals(|cost| cost.delta.to_string()));
    let loss = PrivacyLoss::of_all(costs.into_iter().map(|cost| cost.loss));
    let zcdp = loss.delta_left(delta).and_then(|left| zcdp_epsilon(loss.rho(), left));
    let [exact, zcdp, mu] =
        [composed_epsilon(&loss, delta), zcdp, gdp_mu(&loss)].map(|bound| bound.map(shown_bound));
    Ok(TableIterator::once((exact, zcdp, delta, mu, epsilons, deltas)))
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_show_publication(name: Option<&str>) -> Result<bool> {
    publication::show(required(name, "name")?)
}

fn publication_delta(delta: Option<f64>) -> Result<Option<f64>> {
    checked_delta(delta, "delta", "Without it each release is charged by itself.")
}

/// At which releases are composed.
fn checked_delta(delta: Option<f64>, argument: &str, otherwise: &str) -> Result<Option<f64>> {
    match delta {
        Some(delta) if !(delta > 0.0 && delta < 1.0) => Err(invalid(
            format!("{argument} must be above 0 and below 1, got {delta}"),
            format!("Such as 1e-9. {otherwise}"),
        )),
        delta => Ok(delta),
    }
}

fn publication_of(name: Option<&str>, releases: Option<JsonbArgument>) -> Result<Publication> {
    let name = checked_name(required(name, "name")?, "name")?;
    if let Err(unfit) = check_new_name(name, "name")
        && !publication::is_begun(name)?
    {
        return Err(unfit);
    }
    Publication::new(name, &required(releases, "releases")?.read("releases")?)
}
