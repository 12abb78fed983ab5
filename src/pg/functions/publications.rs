//! What `dp_publish` and `dp_publish_check` are made of: they are written in SQL, around these.

use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, checked_name, required};
use crate::pg::ledger::publication::{self, Publication, Tried};
use pgrx::JsonB;
use pgrx::prelude::*;

#[pg_extern(volatile, parallel_unsafe)]
fn dp_quote_start() {
    publication::start();
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_quote_next(is_next: bool) -> i32 {
    publication::quote_next(is_next) as i32
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_charge_quoted(name: Option<&str>, releases: Option<JsonB>) -> Result<()> {
    let publication = publication_of(name, releases)?;
    // also of those that are stored and not asked for
    for dataset in publication.datasets() {
        Dataset::open(dataset)?;
    }
    for notice in publication.charge_all()? {
        pgrx::notice!("{notice}");
    }
    Ok(())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_try_quoted(
    name: Option<&str>,
    releases: Option<JsonB>,
) -> Result<TableIterator<'static, (name!(epsilon, String), name!(problem, Option<String>))>> {
    let tried = publication_of(name, releases)?.try_charge()?;
    let rows = tried.into_iter().map(|Tried { epsilon, problem }| {
        (epsilon, problem.map(|report| report.message().to_string()))
    });
    Ok(TableIterator::new(rows.collect::<Vec<_>>()))
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_show_publication(name: Option<&str>) -> Result<bool> {
    publication::show(required(name, "name")?)
}

fn publication_of(name: Option<&str>, releases: Option<JsonB>) -> Result<Publication> {
    let name = checked_name(required(name, "name")?, "name")?;
    Publication::new(name, &required(releases, "releases")?.0)
}
