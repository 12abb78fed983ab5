//! What can be read off a released histogram. Post-processing: it costs no budget.

use crate::coco::{Coco, DpCoco, emd};
use crate::pg::errors::{Result, invalid, required};
use pgrx::prelude::*;

#[pg_extern(immutable, parallel_safe)]
fn dp_unnest_coco(h: DpCoco) -> TableIterator<'static, (name!(size, i64), name!(groups, i64))> {
    let rows: Vec<_> =
        h.histogram().runs().iter().map(|run| (run.size as i64, run.groups as i64)).collect();
    TableIterator::new(rows)
}

#[pg_extern(immutable, parallel_safe)]
fn dp_groups(h: DpCoco) -> i64 {
    h.histogram().groups() as i64
}

#[pg_extern(immutable, parallel_safe)]
fn dp_entities(h: DpCoco) -> i64 {
    h.histogram().entities() as i64
}

#[pg_extern(immutable, parallel_safe)]
fn dp_quantile(h: Option<DpCoco>, q: Option<f64>) -> Result<Option<i64>> {
    let Some(h) = h else { return Ok(None) };
    let size = h.histogram().quantile(required(q, "q")?).map_err(|error| {
        invalid(error.to_string(), "The median is q = 0.5, the largest size q = 1.")
    })?;
    Ok(size.map(|size| size as i64))
}

#[pg_extern(immutable, parallel_safe)]
fn dp_mean_size(h: DpCoco) -> Option<f64> {
    h.histogram().mean_size()
}

#[pg_extern(immutable, parallel_safe)]
fn dp_gini(h: DpCoco) -> Option<f64> {
    h.histogram().gini()
}

#[pg_extern(immutable, parallel_safe)]
fn dp_emd(released: DpCoco, exact: Coco) -> Result<i64> {
    let distance = emd(released.histogram(), &exact).map_err(|error| {
        invalid(error.to_string(), "Compare a release with the histogram that it was made from.")
    })?;
    Ok(distance as i64)
}
