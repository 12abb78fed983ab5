//! Storing a named release, before anybody sees it: a worker does it in a transaction of its own,
//! which is committed whatever becomes of the caller's.

use super::content::{
    Content, Message, Regions, StoredBound, StoredNumbers, StoredRange, StoredRectangle, StoredSum,
    read,
};
use super::store_regions::{self, insert_found, insert_histograms, insert_ranges};
use super::store_stream::{insert_stream, insert_ticks};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, error, internal};
use crate::pg::ledger::telling::tell;
use crate::pg::server::locks::PrivateLock;
use crate::pg::server::relations::CatalogLocks;
use crate::pg::server::select::extension_type;
use crate::pg::server::settings::wait_without_end;
use crate::pg::server::worker::{Answer, Errand, Unanswered, Work, ask};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::borrow::Cow;
use std::time::Duration;

/// More patient than a charge: a release that cannot be stored has to be made anew.
const STORE: Errand =
    Errand { work: Work::Store, turn: PrivateLock::Store, patience: Duration::from_secs(10) };

/// What became of a release that was to be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    /// Another attempt at the same release was first. What this one measured is for nobody.
    OtherStored,
}

/// Stores a release under the name that it was charged for. Once the worker has begun it is stored,
/// also if the caller is cancelled.
///
/// Error: it could not be stored.
pub(super) fn store(
    dataset: &Dataset,
    name: &str,
    charge: i64,
    message: &Message,
) -> Result<Outcome> {
    let failed = |reason| not_stored(&dataset.name, name, reason);
    let answer = ask(&STORE, charge, message.bytes()).map_err(failed)?;
    Ok(if answer == STORED { Outcome::Stored } else { Outcome::OtherStored })
}

fn not_stored(dataset: &str, name: &str, reason: Unanswered) -> ErrorReport {
    let (code, why) = match reason {
        Unanswered::NoSlot => {
            (PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES, "no background worker is free")
        }
        Unanswered::Failed | Unanswered::Standby => {
            (PgSqlErrorCode::ERRCODE_IO_ERROR, "the server's log says why the worker failed")
        }
        Unanswered::Broken(report) => return *report,
    };
    error(
        code,
        format!(
            "release \"{name}\" of dataset \"{dataset}\" is charged, but could not be stored: {why}"
        ),
    )
    .set_hint("Ask again with the same parameters: it is made without another charge.")
}

const STORED: &[u8] = b"stored";
const OTHER_STORED: &[u8] = b"other";

/// Stores a release in the current transaction, as superuser.
pub(super) fn insert(message: &[u8]) -> Result<Answer> {
    let (charge, content, regions) = read(message)?;
    // before anything is written: from then on it waits without end, for nobody who waits for its caller
    CatalogLocks::take();
    let stored = match &content {
        Content::Ticks { first, ticks } => insert_ticks(charge, *first, ticks),
        content => insert_content(charge, content, regions),
    }?;
    let Some(release) = stored else {
        return Ok(Answer { bytes: OTHER_STORED.to_vec(), afterwards: None });
    };
    Ok(Answer { bytes: STORED.to_vec(), afterwards: Some(tell(vec![release])) })
}

/// The number under which a whole release is stored; None if another attempt at it was first.
fn insert_content(charge: i64, content: &Content, regions: Regions) -> Result<Option<i64>> {
    // Whoever holds one of the tables is waited for before anything is written: what a store that
    // fails has written could be measured.
    Spi::run(
        "LOCK TABLE dp.release, dp.release_region, dp.release_measurement, dp.release_sum, \
                    dp.release_bins, dp.release_range, dp.release_region_sums, \
                     dp.release_region_bins, dp.release_rectangle, dp.release_grid, \
                     dp.release_found_region, dp.release_bound, dp.stream \
          IN ROW EXCLUSIVE MODE",
    )
    .map_err(internal)?;
    let level_epsilons = match content {
        Content::Regions { level_epsilons, .. } if !level_epsilons.is_empty() => {
            Some(level_epsilons.clone())
        }
        _ => None,
    };
    let seen = match content {
        Content::Bounds { seen, .. } => Some(*seen),
        _ => None,
    };
    let release =
        Spi::connect_mut(|client| -> std::result::Result<Option<i64>, pgrx::spi::Error> {
            let rows = client.update(
                "UPDATE dp.release SET released_at = t.now, status_since = t.now, \
                        level_epsilons = $2, seen = $3 \
               FROM (SELECT clock_timestamp()) AS t (now) \
              WHERE charge = $1 AND released_at IS NULL \
                AND dataset IN (SELECT id FROM dp.dataset WHERE dropped_at IS NULL) RETURNING id",
                None,
                &[charge.into(), level_epsilons.into(), seen.into()],
            )?;
            rows.into_iter().next().map_or(Ok(None), |row| row.get(1))
        })
        .map_err(internal)?;
    let Some(release) = release else { return Ok(None) };
    // What a store has written that fails would show in the size of tables: from here on nobody who holds
    // a lock, of a catalog say, lets it fail. (Before, the wait must end by itself: the lock may be that of
    // the session which waits for this worker.)
    wait_without_end()?;
    match content {
        Content::Regions { measurements, .. } => {
            insert_histograms(release, regions.each())?;
            insert_measurements(release, measurements)?;
        }
        Content::RangeSums(sums) => insert_sums(release, sums)?,
        Content::RegionSums(ranges) => {
            insert_asked(release, ranges)?;
            store_regions::insert_sums(release, regions.each())?;
        }
        Content::Ranges(bytes) => {
            insert_value(release, bytes, "dp_ranges", "dp.release_bins (release, ranges)")?;
        }
        Content::Grid(bytes) => {
            insert_value(release, bytes, "dp_grid", "dp.release_grid (release, grid)")?;
        }
        Content::RegionRanges => insert_ranges(release, regions.each())?,
        Content::FoundRegions => insert_found(release, regions.each())?,
        Content::Bounds { bounds, .. } => insert_bounds(release, bounds)?,
        Content::Rectangles(sums) => insert_rectangles(release, sums)?,
        Content::Stream(stream) => insert_stream(release, stream)?,
        Content::Ticks { .. } => {} // no whole release
    }
    Ok(Some(release))
}

fn insert_measurements(release: i64, measurements: &[StoredNumbers]) -> Result<()> {
    let sql = "INSERT INTO dp.release_measurement \
                   (release, n, first_look, kind, first_place, \"values\", scale) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    for numbers in measurements {
        pgrx::check_for_interrupts!();
        Spi::connect_mut(|client| {
            let arguments = [
                release.into(),
                numbers.region.into(),
                numbers.first_look.into(),
                numbers.kind.as_ref().into(),
                numbers.first.into(),
                numbers.values.to_vec().into(),
                numbers.scale.into(),
            ];
            client.update(sql, None, &arguments).map(|_| ())
        })
        .map_err(internal)?;
    }
    Ok(())
}

/// The grains of ranges, their lower and their upper ends.
fn texts<'a>(
    ranges: impl Iterator<Item = &'a StoredRange<'a>> + Clone,
) -> [Vec<Option<String>>; 3] {
    let text = |end: &Option<Cow<str>>| end.as_deref().map(str::to_string);
    [
        ranges.clone().map(|range| Some(range.grain.to_string())).collect(),
        ranges.clone().map(|range| text(&range.lower)).collect(),
        ranges.map(|range| text(&range.upper)).collect(),
    ]
}

fn insert_sums(release: i64, sums: &[StoredSum]) -> Result<()> {
    let [grains, lowers, uppers] = texts(sums.iter().map(|sum| &sum.range));
    let values: Vec<f64> = sums.iter().map(|sum| sum.sum).collect();
    let deviations: Vec<f64> = sums.iter().map(|sum| sum.stddev).collect();
    Spi::run_with_args(
        "INSERT INTO dp.release_sum (release, n, grain, lower_bound, upper_bound, sum, stddev) \
         SELECT $1, t.n - 1, t.grain, t.lower, t.upper, t.sum, t.stddev \
           FROM unnest($2::text[], $3::text[], $4::text[], $5::float8[], $6::float8[]) \
                WITH ORDINALITY AS t (grain, lower, upper, sum, stddev, n)",
        &[
            release.into(),
            grains.into(),
            lowers.into(),
            uppers.into(),
            values.into(),
            deviations.into(),
        ],
    )
    .map_err(internal)
}

fn insert_asked(release: i64, ranges: &[StoredRange]) -> Result<()> {
    let [grains, lowers, uppers] = texts(ranges.iter());
    Spi::run_with_args(
        "INSERT INTO dp.release_range (release, n, grain, lower_bound, upper_bound) \
         SELECT $1, t.n - 1, t.grain, t.lower, t.upper \
           FROM unnest($2::text[], $3::text[], $4::text[]) \
                WITH ORDINALITY AS t (grain, lower, upper, n)",
        &[release.into(), grains.into(), lowers.into(), uppers.into()],
    )
    .map_err(internal)
}

fn insert_bounds(release: i64, bounds: &[StoredBound]) -> Result<()> {
    let candidates: Vec<&str> = bounds.iter().map(|bound| bound.candidate.as_str()).collect();
    let above: Vec<i64> = bounds.iter().map(|bound| bound.above).collect();
    let clipping: Vec<f64> = bounds.iter().map(|bound| bound.clipping).collect();
    let noise: Vec<f64> = bounds.iter().map(|bound| bound.noise).collect();
    let chosen: Vec<bool> = bounds.iter().map(|bound| bound.chosen).collect();
    Spi::run_with_args(
        "INSERT INTO dp.release_bound (release, n, candidate, above, clipping, noise, chosen) \
         SELECT $1, t.n - 1, t.candidate::numeric, t.above, t.clipping, t.noise, t.chosen \
           FROM unnest($2::text[], $3::int8[], $4::float8[], $5::float8[], $6::bool[]) \
                WITH ORDINALITY AS t (candidate, above, clipping, noise, chosen, n)",
        &[
            release.into(),
            candidates.into(),
            above.into(),
            clipping.into(),
            noise.into(),
            chosen.into(),
        ],
    )
    .map_err(internal)
}

/// One value of a type of the extension, into that table and its columns.
fn insert_value(release: i64, bytes: &[u8], type_name: &str, target: &str) -> Result<()> {
    let value_type = extension_type(type_name)?;
    // SAFETY: the bytes are those of a value of that type, which on disk has these bytes.
    let value = unsafe { DatumWithOid::new(bytes, value_type) };
    let sql = format!("INSERT INTO {target} VALUES ($1, $2)");
    Spi::run_with_args(&sql, &[release.into(), value]).map_err(internal)
}

fn insert_rectangles(release: i64, sums: &[StoredRectangle]) -> Result<()> {
    let ends = |end: fn(&StoredRectangle) -> Option<i64>| -> Vec<Option<i64>> {
        sums.iter().map(end).collect()
    };
    let values: Vec<f64> = sums.iter().map(|sum| sum.sum).collect();
    let deviations: Vec<f64> = sums.iter().map(|sum| sum.stddev).collect();
    Spi::run_with_args(
        "INSERT INTO dp.release_rectangle (release, n, row_lower, row_upper, column_lower, \
                                           column_upper, sum, stddev) \
         SELECT $1, t.n - 1, t.row_lower, t.row_upper, t.column_lower, t.column_upper, t.sum, \
                t.stddev \
           FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::float8[], $7::float8[]) \
                WITH ORDINALITY \
                AS t (row_lower, row_upper, column_lower, column_upper, sum, stddev, n)",
        &[
            release.into(),
            ends(|sum| sum.rows.0).into(),
            ends(|sum| sum.rows.1).into(),
            ends(|sum| sum.columns.0).into(),
            ends(|sum| sum.columns.1).into(),
            values.into(),
            deviations.into(),
        ],
    )
    .map_err(internal)
}
