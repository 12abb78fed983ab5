//! What the view `dp.progress` shows.

use crate::pg::server::progress::{Reported, reported};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

#[pg_extern(stable, parallel_restricted)]
fn dp_backend_progress() -> TableIterator<
    'static,
    (
        name!(pid, i32),
        name!(datid, Oid),
        name!(function, Option<&'static str>),
        name!(dataset, Option<i64>),
        name!(phase, Option<&'static str>),
        name!(level, Option<i32>),
        name!(levels, Option<i32>),
        name!(done, Option<i64>),
        name!(total, Option<i64>),
    ),
> {
    TableIterator::new(reported().into_iter().map(|entry| {
        let Reported { pid, database, function, dataset, phase, level, levels, done, total } =
            entry;
        (pid, database, function, dataset, phase, level, levels, done, total)
    }))
}
