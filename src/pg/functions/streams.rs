//! Streams: counters that are charged once, and released tick by tick as time goes on.

use super::ranges::some_ranges;
use crate::pg::dataset::catalog::Dataset;
use crate::pg::errors::{Result, checked_name, error, invalid, required, unfit_ranges};
use crate::pg::release::named::promised;
use crate::pg::release::order::Asked;
use crate::pg::release::stream::{NewStream, Stream, told_since};
use crate::pg::release::ticking::Ticking;
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::roles::as_reader;
use crate::pg::server::select::{as_of_now, read_rows};
use crate::pg::values::interval::{SqlRange, TimeAxis};
use crate::ranges::{MAX_WEIGHTED_BINS, RangePlanError, StreamPlan, StreamRequest};
use pgrx::datum::{Date, Interval, Timestamp, TimestampWithTimeZone};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

macro_rules! create_of {
    ($name:ident, $start:ty, $type:expr, $stored:expr) => {
        #[pg_extern(volatile, parallel_unsafe)]
        #[allow(clippy::too_many_arguments)] // the SQL function's arguments
        fn $name(
            dataset: Option<&str>,
            stream: Option<&str>,
            time_column: Option<&str>,
            start: Option<$start>,
            bin_width: Option<Interval>,
            horizon: Option<i64>,
            epsilon: Option<f64>,
            delta: Option<f64>,
            within: Option<Vec<Option<String>>>,
            period: Option<&str>,
        ) -> Result<()> {
            let start = start.map($stored);
            let part = (within, period);
            create(
                $type,
                dataset,
                part,
                stream,
                time_column,
                start,
                bin_width,
                horizon,
                epsilon,
                delta,
            )
        }
    };
}

create_of!(dp_stream_create_of_dates, Date, pg_sys::DATEOID, |date| {
    i64::from(date.to_pg_epoch_days())
});
create_of!(dp_stream_create_of_timestamps, Timestamp, pg_sys::TIMESTAMPOID, i64::from);
create_of!(
    dp_stream_create_of_timestamptzs,
    TimestampWithTimeZone,
    pg_sys::TIMESTAMPTZOID,
    i64::from
);

#[allow(clippy::too_many_arguments)] // the SQL functions' arguments
fn create(
    type_oid: Oid,
    dataset: Option<&str>,
    (within, period): (Option<Vec<Option<String>>>, Option<&str>),
    stream: Option<&str>,
    time_column: Option<&str>,
    start: Option<i64>,
    bin_width: Option<Interval>,
    horizon: Option<i64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> Result<()> {
    let progress = Progress::start(Function::StreamCreate, Phase::Checking);
    let dataset_name = required(dataset, "dataset")?;
    let dataset = Dataset::open(dataset_name)?.of_part(within, period)?;
    progress.dataset(dataset.id);
    let name = checked_name(required(stream, "stream")?, "stream")?;
    let column = required(time_column, "time_column")?;
    let start = required(start, "start")?;
    let bin_width = required(bin_width, "bin_width")?;
    let horizon = required(horizon, "horizon")?;
    let (epsilon, delta) = (required(epsilon, "epsilon")?, required(delta, "delta")?);
    if !(1..=MAX_WEIGHTED_BINS as i64).contains(&horizon) {
        return Err(unfit_ranges(RangePlanError::Horizon { value: horizon }));
    }
    let axis = TimeAxis::of_ticks(type_oid, start, bin_width, horizon)?;
    if axis.is_fine() && !dataset.is_own() {
        return Err(invalid(
            "bin_width must be a minute or longer for a role with a grant",
            "Each tick can have the private rows read, and that can be timed. The dataset's owner \
             may begin a stream with shorter ticks.",
        ));
    }
    let ticking =
        Ticking { column: column.to_string(), axis, time_zone: time_zone(type_oid)?, horizon };
    let mut parameters = ticking.parameters(epsilon, delta);
    parameters.extend(dataset.source.part.about());
    let promise = promised(Some(name), Some(dataset_name), parameters.into())?;

    let asked = Asked::new(&dataset, &progress, promise, ticking.about());
    asked.once(|asked| {
        let source = &asked.dataset.source;
        let (counted, part) = as_of_now(|| {
            let reader = asked.dataset.check_source()?;
            as_reader(reader, || {
                let counted = source.time_column(column, axis)?;
                source.check_region()?;
                Ok::<_, ErrorReport>((counted, asked.dataset.charged_part()?))
            })
        })?;
        progress.phase(Phase::Planning);
        let rows_per_unit = source.max_rows_per_unit.unsigned_abs();
        let request = StreamRequest { horizon, epsilon, delta, rows_per_unit };
        let plan = StreamPlan::new(request).map_err(unfit_ranges)?;
        let tree = plan.parameters().tree();
        // no row is read yet
        asked.of_given(plan, part, |_, _| Ok(NewStream { ticking, counted, tree }))
    })?;
    if Stream::of(&dataset, name).is_ok_and(|stream| stream.check_may_tick(&dataset).is_err()) {
        pgrx::notice!("stream \"{name}\" was charged to another role, which makes its ticks");
    }
    Ok(())
}

/// That of the session, by whose clock ticks of a column without one will end.
fn time_zone(type_oid: Oid) -> Result<Option<String>> {
    if type_oid == pg_sys::TIMESTAMPTZOID {
        return Ok(None);
    }
    let mut zone = None;
    read_rows("SELECT pg_catalog.current_setting('TimeZone')", |row| {
        zone = row.get(1);
        Ok(())
    })?;
    Ok(zone)
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_stream_tick(
    dataset: Option<&str>,
    stream: Option<&str>,
) -> Result<
    TableIterator<
        'static,
        (
            name!(tick, i64),
            name!(lower_bound, String),
            name!(upper_bound, String),
            name!(count, f64),
            name!(stddev, f64),
            name!(total, f64),
            name!(total_stddev, f64),
        ),
    >,
> {
    let progress = Progress::start(Function::StreamTick, Phase::Checking);
    let dataset = Dataset::open(required(dataset, "dataset")?)?;
    progress.dataset(dataset.id);
    let stream = Stream::of(&dataset, required(stream, "stream")?)?;
    let dataset = stream.of_its_part(dataset)?;
    // before anything that depends on what others do
    stream.check_may_tick(&dataset)?;
    let before = stream.ticks()?;
    if before == stream.ticking.horizon {
        pgrx::notice!(
            "stream \"{}\" has reached its horizon of {before} ticks: none follows",
            stream.name()
        );
    }
    stream.go_on(&dataset, before, &progress)?;
    // what is stored, whoever has made it
    Ok(TableIterator::new(told_since(&stream, &dataset, before)?))
}

macro_rules! sums_of {
    ($name:ident, $type:expr) => {
        #[pg_extern(volatile, parallel_unsafe)]
        fn $name(
            dataset: Option<&str>,
            stream: Option<&str>,
            ranges: Option<Vec<Option<SqlRange>>>,
        ) -> Result<
            TableIterator<'static, (name!(range, SqlRange), name!(sum, f64), name!(stddev, f64))>,
        > {
            Ok(TableIterator::new(sums($type, dataset, stream, ranges)?))
        }
    };
}

sums_of!(dp_stream_sums_of_dates, pg_sys::DATEOID);
sums_of!(dp_stream_sums_of_timestamps, pg_sys::TIMESTAMPOID);
sums_of!(dp_stream_sums_of_timestamptzs, pg_sys::TIMESTAMPTZOID);

fn sums(
    type_oid: Oid,
    dataset: Option<&str>,
    stream: Option<&str>,
    ranges: Option<Vec<Option<SqlRange>>>,
) -> Result<Vec<(SqlRange, f64, f64)>> {
    let _progress = Progress::start(Function::StreamSums, Phase::Checking);
    let dataset = required(dataset, "dataset")?;
    let name = required(stream, "stream")?;
    let ranges = some_ranges(ranges, "ranges")?;
    let stream = Stream::published(dataset, name)?;
    let axis = stream.ticking.axis;
    if axis.type_oid != type_oid {
        return Err(invalid(
            format!("ranges: the column of stream \"{name}\" is of another type"),
            "Ask a date with daterange[], a timestamp with tsrange[], a timestamptz with \
             tstzrange[].",
        ));
    }
    let asked = ranges.iter().map(|range| {
        // an empty range has no tick
        let ticks = axis.ticks(range)?;
        Ok(ticks.map_or((Some(0), Some(0)), |ticks| (ticks.lower, ticks.upper)))
    });
    let asked = asked.collect::<Result<Vec<_>>>()?;
    let answers = stream.sums(asked.into_iter())?;
    Ok(ranges.into_iter().zip(answers).map(|(range, (sum, stddev))| (range, sum, stddev)).collect())
}

#[pg_extern(volatile, parallel_unsafe)]
fn dp_stream_confirm(
    dataset: Option<&str>,
    stream: Option<&str>,
    ticks: Option<i64>,
) -> Result<()> {
    let dataset = Dataset::open_as_owner(required(dataset, "dataset")?)?;
    let name = required(stream, "stream")?;
    let stream = Stream::of(&dataset, name)?;
    let (ticks, stored) = (required(ticks, "ticks")?, stream.ticks()?);
    if ticks != stored {
        return Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("ticks: stream \"{name}\" has {stored} ticks here, got {ticks}"),
        )
        .set_hint(
            "A tick that was told and is missing would be measured twice: then begin another \
             stream.",
        ));
    }
    stream.confirm(&dataset)
}
