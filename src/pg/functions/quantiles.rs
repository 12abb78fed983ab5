//! Quantiles of released ranges.

use super::estimates::forged;
use crate::pg::errors::{Result, all_required, invalid, required};
use crate::ranges::DpRanges;
use pgrx::prelude::*;

type QuantileRow = (name!(quantile, f64), name!(value, f64), name!(lower, f64), name!(upper, f64));

#[pg_extern(immutable, parallel_safe)]
fn dp_quantiles(
    r: Option<DpRanges>,
    quantiles: Option<Vec<Option<f64>>>,
) -> Result<
    TableIterator<
        'static,
        (name!(quantile, f64), name!(value, f64), name!(lower, f64), name!(upper, f64)),
    >,
> {
    let released = required(r, "r")?;
    let quantiles = all_required(required(quantiles, "quantiles")?, "quantiles")?;
    if let Some(value) = quantiles.iter().find(|quantile| !(0.0..=1.0).contains(*quantile)) {
        return Err(invalid(
            format!("quantiles must be numbers from 0 to 1, got {value}"),
            "The median is 0.5.",
        ));
    }
    let found = released.release().quantiles(&quantiles).ok_or_else(forged)?;
    let bin = |position: usize| (released.bounds().lo() + position as i64) as f64;
    let rows = quantiles
        .into_iter()
        .zip(found)
        .map(|(quantile, found)| (quantile, bin(found.value), bin(found.lower), bin(found.upper)));
    Ok(TableIterator::new(rows.collect::<Vec<QuantileRow>>()))
}
