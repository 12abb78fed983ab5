//! Storing streams and their ticks, by the worker that stores releases.

use super::content::{StoredStream, StoredTick};
use crate::pg::errors::{Result, internal};
use crate::pg::server::settings::wait_without_end;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

/// What its name is stored for.
pub(super) fn insert_stream(release: i64, stream: &StoredStream) -> Result<()> {
    let (branching, levels) = stream.tree.unzip();
    Spi::run_with_args(
        "INSERT INTO dp.stream (release, time_column, value_type, time_zone, start_at, origin, \
                                width, horizon, branching, levels, entities, attnum) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            release.into(),
            stream.time_column.as_ref().into(),
            stream.value_type.as_ref().into(),
            stream.time_zone.as_deref().into(),
            stream.start.as_str().into(),
            stream.origin.into(),
            stream.width.into(),
            stream.horizon.into(),
            branching.map(i64::from).into(),
            levels.map(i64::from).into(),
            Oid::from(stream.entities).into(),
            stream.attnum.into(),
        ],
    )
    .map_err(internal)?;
    forget_attempts(release)
}

/// Attempts at the next ticks are counted anew.
fn forget_attempts(release: i64) -> Result<()> {
    Spi::run_with_args("UPDATE dp.release SET attempts = 0 WHERE id = $1", &[release.into()])
        .map_err(internal)
}

/// Stores ticks in the current transaction, all of them or none, and gives their release's number. None
/// if they are not those that follow the last one that is stored: what was measured of them is then
/// for nobody.
pub(super) fn insert_ticks(charge: i64, first: i64, ticks: &[StoredTick]) -> Result<Option<i64>> {
    Spi::run(
        "LOCK TABLE dp.release, dp.stream, dp.stream_tick, dp.stream_count IN ROW EXCLUSIVE MODE",
    )
    .map_err(internal)?;
    let release =
        Spi::connect_mut(|client| -> std::result::Result<Option<(i64, bool)>, pgrx::spi::Error> {
            // others wait here, until the next statement sees what these have stored; who drops the
            // dataset waits, too, and then finds all exact counts
            let rows = client.update(
                "SELECT r.id FROM dp.release AS r JOIN dp.stream AS s ON s.release = r.id \
                   JOIN dp.dataset AS d ON d.id = r.dataset \
                  WHERE r.charge = $1 AND r.released_at IS NOT NULL AND r.status <> 'retracted' \
                    AND d.dropped_at IS NULL FOR NO KEY UPDATE OF r FOR KEY SHARE OF d",
                None,
                &[charge.into()],
            )?;
            let Some(row) = rows.into_iter().next() else { return Ok(None) };
            let Some(release) = row.get::<i64>(1)? else { return Ok(None) };
            let rows = client.update(
                "SELECT t.stored = $2 AND t.stored + $3 <= s.horizon, t.stored + $3 = s.horizon \
                   FROM dp.stream AS s \
                  CROSS JOIN (SELECT coalesce(max(n) + 1, 0) \
                                FROM dp.stream_tick WHERE release = $1) AS t (stored) \
                  WHERE s.release = $1",
                None,
                &[release.into(), first.into(), (ticks.len() as i64).into()],
            )?;
            let Some(row) = rows.into_iter().next() else { return Ok(None) };
            let is = |column| Ok::<_, pgrx::spi::Error>(row.get::<bool>(column)?.unwrap_or(false));
            let is_last = is(2)?;
            Ok(is(1)?.then_some((release, is_last)))
        })
        .map_err(internal)?;
    let Some((release, is_last)) = release else { return Ok(None) };
    wait_without_end()?; // as a whole release
    insert_told(release, first, ticks)?;
    if is_last {
        // no tick follows that would be measured with them
        Spi::run_with_args("DELETE FROM dp.stream_count WHERE release = $1", &[release.into()])
            .map_err(internal)?;
    } else {
        insert_counts(release, first, ticks)?;
    }
    forget_attempts(release)?;
    Ok(Some(release))
}

fn insert_counts(release: i64, first: i64, ticks: &[StoredTick]) -> Result<()> {
    // far below the largest, as they are clamped
    let counts: Vec<i64> = ticks.iter().map(|tick| i64::from_le_bytes(tick.count)).collect();
    Spi::run_with_args(
        "INSERT INTO dp.stream_count (release, n, count) \
         SELECT $1, $2 + t.n - 1, t.count FROM unnest($3::int8[]) WITH ORDINALITY AS t (count, n)",
        &[release.into(), first.into(), counts.into()],
    )
    .map_err(internal)
}

fn insert_told(release: i64, first: i64, ticks: &[StoredTick]) -> Result<()> {
    let sql = "INSERT INTO dp.stream_tick (release, n, lower_bound, upper_bound, count, stddev, \
                                           total, total_stddev, noisy, estimates) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let types = [
        PgBuiltInOids::INT8OID.into(),
        PgBuiltInOids::INT8OID.into(),
        PgBuiltInOids::TEXTOID.into(),
        PgBuiltInOids::TEXTOID.into(),
        PgBuiltInOids::FLOAT8OID.into(),
        PgBuiltInOids::FLOAT8OID.into(),
        PgBuiltInOids::FLOAT8OID.into(),
        PgBuiltInOids::FLOAT8OID.into(),
        PgBuiltInOids::INT8ARRAYOID.into(),
        PgBuiltInOids::FLOAT8ARRAYOID.into(),
    ];
    let statement = Spi::connect_mut(|client| {
        client.prepare_mut(sql, &types).map(|statement| statement.keep())
    })
    .map_err(internal)?;
    for (n, tick) in (first..).zip(ticks) {
        pgrx::check_for_interrupts!();
        // a connection for each, which ends with the memory that its arguments take
        Spi::connect_mut(|client| {
            let arguments = [
                release.into(),
                n.into(),
                tick.lower.as_str().into(),
                tick.upper.as_str().into(),
                tick.sum.into(),
                tick.stddev.into(),
                tick.total.into(),
                tick.total_stddev.into(),
                tick.noisy.to_vec().into(),
                tick.estimates.to_vec().into(),
            ];
            client.update(&statement, None, &arguments).map(|_| ())
        })
        .map_err(internal)?;
    }
    Ok(())
}
