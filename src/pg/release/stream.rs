//! Streams: counters that are released tick by tick. A stream is a release with a name, charged for
//! all its ticks and stored when it is begun; each tick is stored before anything of it is told.

use super::content::{Content, StoredStream, StoredTick};
use super::named::Storable;
use super::order::Asked;
use super::published::check_not_retracted;
use super::running::{Running, keep, take};
use super::ticking::{Ticking, type_of};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::source::Source;
use crate::pg::dataset::time_column::TimeColumn;
use crate::pg::errors::{Failure, Result, error, internal, unfit_ranges};
use crate::pg::ledger::account::{CHARGE, Promise, SealedRows, others_stream};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::progress::{Phase, Progress};
use crate::pg::server::roles::{acts_for, as_reader, role_name};
use crate::pg::server::select::{as_of_now, exists, read_rows};
use crate::pg::server::state::{current_role, own_identity};
use crate::pg::server::worker::start_early;
use crate::pg::values::interval::{Axis, TimeAxis};
use crate::ranges::{BinBounds, CountStream, StreamPlan, StreamRequest, Tick};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use serde_json::Value;

/// The function that charges a stream.
pub(crate) const CREATE: &str = "dp_stream_create";

/// A stream that is begun.
pub(crate) struct NewStream {
    pub(crate) ticking: Ticking,
    pub(crate) counted: TimeColumn,
    pub(crate) tree: Option<(u32, u32)>,
}

impl Storable for NewStream {
    fn content(&self) -> Content<'_> {
        let NewStream { ticking, counted, tree } = self;
        Content::Stream(StoredStream {
            time_column: ticking.column.as_str().into(),
            entities: counted.entities.to_u32(),
            attnum: counted.number,
            value_type: ticking.type_name().into(),
            time_zone: ticking.time_zone.as_deref().map(Into::into),
            start: ticking.axis.text(0),
            // 64 bits hold both, as the axis was made
            origin: ticking.axis.origin as i64,
            width: ticking.axis.width as i64,
            horizon: ticking.horizon,
            tree: *tree,
        })
    }

    fn read(release: i64) -> Result<NewStream> {
        let stream = Stream::find(&format!("r.id = {release}"), "", "")?;
        let Stream { ticking, counted, tree, .. } = stream;
        Ok(NewStream { ticking, counted, tree })
    }
}

/// A stored stream.
pub(crate) struct Stream {
    pub(crate) release: i64,
    name: String,
    pub(crate) ticking: Ticking,
    /// What its ticks so far were counted by.
    counted: TimeColumn,
    parameters: Value,
    request: StreamRequest,
    tree: Option<(u32, u32)>,
    /// The role that it was charged to.
    charged_to: String,
    /// Of the ledger's entry, which no other has.
    nonce: String,
    is_retracted: bool,
}

impl Stream {
    /// The dataset's stream of that name.
    ///
    /// Error: there is none, or it was retracted.
    pub(crate) fn of(dataset: &Dataset, name: &str) -> Result<Stream> {
        let which = format!("r.dataset = {} AND r.name = {}", dataset.id, quote_literal(name));
        let stream = Stream::find(&which, &dataset.name, name)?;
        if !stream.is_retracted {
            return Ok(stream);
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("stream \"{name}\" of dataset \"{}\" was retracted", dataset.name),
        )
        .set_hint(
            "It goes on no more, and tells nothing, unless the dataset's owner publishes it again \
             with dp_set_status.",
        ))
    }

    /// A stream that the caller may read, also if its dataset was dropped.
    ///
    /// Errors: there is none, or it was retracted; the caller may not read `dp.stream_ticks`.
    pub(crate) fn published(dataset: &str, name: &str) -> Result<Stream> {
        // with the caller's rights: who may read the ticks may read what follows from them
        read_rows("SELECT tick, count, stddev FROM dp.stream_ticks WHERE false", |_| Ok(()))?;
        let which = format!("= ({}, {})", quote_literal(dataset), quote_literal(name));
        let sql = format!("SELECT FROM dp.streams WHERE (dataset, stream) {which}");
        let shown = as_of_now(|| exists(&sql))?;
        if !shown {
            check_not_retracted(dataset, name)?;
        }
        let which =
            format!("{shown} AND r.status <> 'retracted' AND (r.dataset_name, r.name) {which}");
        Stream::find(&which, dataset, name)
    }

    fn find(which: &str, dataset: &str, name: &str) -> Result<Stream> {
        let sql = format!(
            "SELECT r.id, s.time_column, s.value_type, s.origin, s.width, s.time_zone, s.horizon, \
                    s.branching, s.levels, (r.parameters ->> 'epsilon')::float8, \
                    (r.parameters ->> 'delta')::float8, d.max_rows_per_unit, r.parameters::text, \
                    c.nonce::text, c.charged_by, s.entities, s.attnum, r.status = 'retracted' \
               FROM dp.release AS r \
               JOIN dp.stream AS s ON s.release = r.id \
               JOIN dp.charge AS c ON c.id = r.charge \
               JOIN dp.dataset AS d ON d.id = r.dataset \
              WHERE r.released_at IS NOT NULL AND {which}"
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            let value_type: String = row.get(3).unwrap_or_default();
            let type_oid = type_of(&value_type);
            let origin = row.get::<i64>(4).unwrap_or_default().into();
            let width = row.get::<i64>(5).unwrap_or_default().into();
            let horizon = row.get(7).unwrap_or_default();
            let number = |column| row.get::<i64>(column).and_then(|n| u32::try_from(n).ok());
            let parameters: String = row.get(13).unwrap_or_default();
            found = Some(Stream {
                release: row.get(1).unwrap_or_default(),
                name: name.to_string(),
                ticking: Ticking {
                    column: row.get(2).unwrap_or_default(),
                    axis: TimeAxis { type_oid, origin, width },
                    time_zone: row.get(6),
                    horizon,
                },
                request: StreamRequest {
                    horizon,
                    epsilon: row.get(10).unwrap_or_default(),
                    delta: row.get(11).unwrap_or_default(),
                    rows_per_unit: row.get::<i32>(12).unwrap_or(1).unsigned_abs(),
                },
                parameters: serde_json::from_str(&parameters).map_err(internal)?,
                tree: number(8).zip(number(9)),
                nonce: row.get(14).unwrap_or_default(),
                charged_to: row.get(15).unwrap_or_default(),
                counted: TimeColumn {
                    entities: row.get(16).unwrap_or(Oid::INVALID),
                    number: row.get(17).unwrap_or_default(),
                },
                is_retracted: row.get(18).unwrap_or(true),
            });
            Ok(())
        })?;
        found.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("stream \"{name}\" of dataset \"{dataset}\" does not exist"),
            )
            .set_hint("The view dp.streams lists the streams; dp_stream_create begins one.")
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The dataset, of which the stream's part is released.
    ///
    /// Errors: those of a release of it.
    pub(crate) fn of_its_part(&self, dataset: Dataset) -> Result<Dataset> {
        let part = &self.parameters;
        let within = part["within"].as_array().map_or(&[][..], Vec::as_slice);
        let within = within.iter().map(|name| name.as_str().map(str::to_string)).collect();
        dataset.of_part(Some(within), part["period"].as_str())
    }

    /// Error: the current role neither owns the dataset nor was charged. It would learn when others
    /// make ticks, and could use up the attempts at them.
    pub(crate) fn check_may_tick(&self, dataset: &Dataset) -> Result<()> {
        if dataset.is_own() || self.charged_to == role_name(current_role()) {
            return Ok(());
        }
        Err(others_stream(&dataset.name, &self.name))
    }

    /// How many ticks are stored.
    pub(crate) fn ticks(&self) -> Result<i64> {
        let sql = format!("SELECT max(n) + 1 FROM dp.stream_tick WHERE release = {}", self.release);
        let mut ticks = None;
        read_catalog(&sql, |row| {
            ticks = row.get(1);
            Ok(())
        })?;
        Ok(ticks.unwrap_or(0))
    }

    /// Stores all ticks that have ended after the ones that are known to be stored, in their order,
    /// where nobody else has. Tells nothing of them.
    ///
    /// Errors: those of a release, of which none follows a charge.
    pub(crate) fn go_on(&self, dataset: &Dataset, known: i64, progress: &Progress) -> Result<()> {
        let ended = self.ticking.ended()?;
        if known >= ended {
            return Ok(());
        }
        let promise =
            Promise { name: self.name.clone(), parameters: self.parameters.clone(), goes_on: true };
        let asked = Asked::new(dataset, progress, None, self.ticking.about());
        asked.next_of(CREATE, promise, |asked| {
            let stored = self.ticks()?;
            if stored >= ended {
                return Ok(());
            }
            start_early(&CHARGE)?;
            progress.phase(Phase::Planning);
            let Running { plan, counted } = self.running()?;
            progress.phase(Phase::Checking);
            let next = |source: &Source| {
                self.check_counted(source)?;
                // what lies before and after them is in a bin of its own
                let bounds = BinBounds::new(stored - 1, ended + 1).map_err(internal)?;
                let axis = Axis::Time(self.ticking.axis);
                Ok((plan, source.prepare_bins(&self.ticking.column, axis, bounds, None)?))
            };
            let made = asked.of_rows(next, |rows, receipt, words| {
                let Some(ticks) = self.counted(counted.open(&receipt), stored)? else {
                    return Ok(NextTicks::OthersStored);
                };
                progress.phase(Phase::Measuring);
                let mut stream = receipt.stream(ticks);
                stream.tick_inner_bins(&rows, words);
                Ok(NextTicks::Made {
                    axis: self.ticking.axis,
                    first: stored,
                    stream: Box::new(stream),
                })
            })?;
            if let NextTicks::Made { stream, .. } = made {
                let (plan, mut ticks) = stream.into_parts();
                if ended == self.ticking.horizon {
                    ticks.clear();
                }
                keep(&self.nonce, Running { plan, counted: SealedRows::new(ticks) });
            }
            Ok(())
        })
    }

    /// Error: the rows that were counted may have other times now, by which they would count again;
    /// or there is no column of that name and type any more.
    fn check_counted(&self, source: &Source) -> Result<()> {
        let Stream { ticking, counted, name, .. } = self;
        if source.time_column(&ticking.column, ticking.axis).is_ok_and(|now| now == *counted) {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "stream \"{name}\" does not go on: its table has no column \"{}\" of type {} that \
                 is the one that it counted by",
                ticking.column,
                ticking.type_name()
            ),
        )
        .set_hint(
            "Nothing was told or spent. If it was renamed or has another type, give it back what it \
             had. If it is another column, and no row that was counted will count again, the \
             dataset's owner says so with dp_stream_confirm.",
        ))
    }

    /// Has it go on, on this server and with the column as it is now.
    ///
    /// Errors: the dataset's tables are not what was declared; they are none for a stream.
    pub(crate) fn confirm(&self, dataset: &Dataset) -> Result<()> {
        let TimeColumn { entities, number } = as_of_now(|| {
            let reader = dataset.check_source()?;
            as_reader(reader, || {
                dataset.source.time_column(&self.ticking.column, self.ticking.axis)
            })
        })?;
        execute(
            "UPDATE dp.stream SET identity = $4, entities = $2, attnum = $3 \
              WHERE release = $1",
            &[self.release.into(), entities.into(), number.into(), own_identity().into()],
            |_| Ok(()),
        )?;
        Ok(())
    }

    /// The sums of ranges of ticks so far, and their standard deviations. `ranges`: from and up to
    /// a tick, not included.
    pub(crate) fn sums(
        &self,
        ranges: impl Iterator<Item = (Option<i64>, Option<i64>)>,
    ) -> Result<Vec<(f64, f64)>> {
        let ticks = self.told()?;
        let running = self.running()?;
        let plan = &running.plan;
        let place = |tick: i64| usize::try_from(tick.max(0)).unwrap_or(usize::MAX);
        let answers = ranges
            .map(|(lower, upper)| {
                let range = lower.map_or(0, place)..upper.map_or(usize::MAX, place);
                let variance = plan.variance(ticks.len(), range.clone());
                (plan.sum(&ticks, range), variance.sqrt())
            })
            .collect();
        keep(&self.nonce, running);
        Ok(answers)
    }

    /// The plan, and what the session knows of the ticks.
    fn running(&self) -> Result<Running> {
        match take(&self.nonce) {
            Some(running) => Ok(running),
            None => {
                let plan = StreamPlan::again(self.request, self.tree).map_err(unfit_ranges)?;
                Ok(Running { plan, counted: SealedRows::new(Vec::new()) })
            }
        }
    }

    /// All ticks so far, without their counts.
    fn told(&self) -> Result<Vec<Tick>> {
        let mut ticks = Vec::new();
        let sql = format!(
            "SELECT estimates FROM dp.stream_tick WHERE release = {} ORDER BY n",
            self.release
        );
        read_catalog(&sql, |row| {
            ticks.push(Tick::told(row.get(1).unwrap_or_default()));
            Ok(())
        })?;
        Ok(ticks)
    }

    /// So many ticks with their exact counts, of which the first ones are known. For who has a
    /// receipt. None if no tick follows any more: then they are deleted.
    fn counted(
        &self,
        mut ticks: Vec<Tick>,
        stored: i64,
    ) -> std::result::Result<Option<Vec<Tick>>, Failure> {
        if ticks.len() as i64 > stored {
            ticks.clear();
        }
        if (ticks.len() as i64) < stored {
            self.read_counted(&mut ticks, stored).map_err(|_| missing())?;
        }
        if ticks.len() as i64 == stored {
            Ok(Some(ticks))
        } else if self.has_ended().map_err(|_| missing())? {
            Ok(None)
        } else {
            Err(missing())
        }
    }

    /// Whether its last tick is stored, or its dataset was dropped.
    fn has_ended(&self) -> Result<bool> {
        let sql = format!(
            "SELECT FROM dp.dataset AS d JOIN dp.release AS r ON r.dataset = d.id \
              WHERE r.id = {} AND d.dropped_at IS NOT NULL",
            self.release
        );
        let mut is_dropped = false;
        read_catalog(&sql, |_| {
            is_dropped = true;
            Ok(())
        })?;
        Ok(is_dropped || self.ticks()? >= self.ticking.horizon)
    }

    /// Reads the ticks after those that are there.
    fn read_counted(&self, ticks: &mut Vec<Tick>, stored: i64) -> Result<()> {
        // one table after the other: to join them before they are analysed may take long
        let next = format!(
            "WHERE release = {} AND n >= {} AND n < {stored} ORDER BY n",
            self.release,
            ticks.len()
        );
        let mut counts = Vec::new();
        read_catalog(&format!("SELECT count FROM dp.stream_count {next}"), |row| {
            counts.push(row.get::<i64>(1).unwrap_or(0).unsigned_abs());
            Ok(())
        })?;
        let mut counts = counts.into_iter();
        read_catalog(&format!("SELECT noisy, estimates FROM dp.stream_tick {next}"), |row| {
            ticks.extend(counts.next().map(|count| {
                let (noisy, estimates) = (row.get(1), row.get(2));
                Tick::stored(count, noisy.unwrap_or_default(), estimates.unwrap_or_default())
            }));
            Ok(())
        })
    }
}

/// The store has what was never written there.
fn missing() -> Failure {
    Failure::broken("ticks of a stream are missing")
}

/// The next ticks of a stream.
enum NextTicks {
    Made {
        axis: TimeAxis,
        first: i64,
        stream: Box<CountStream>,
    },
    /// Others were first: theirs are told.
    OthersStored,
}

impl Storable for NextTicks {
    fn content(&self) -> Content<'_> {
        let NextTicks::Made { axis, first, stream } = self else {
            return Content::Ticks { first: 0, ticks: Vec::new() };
        };
        let stored = |(place, tick): (usize, &Tick)| {
            let n = place as i64;
            StoredTick {
                lower: axis.text(n),
                upper: axis.text(n + 1),
                count: tick.count().to_le_bytes(),
                noisy: tick.noisy().to_vec().into(),
                estimates: tick.estimates().to_vec().into(),
                sum: stream.sum(place..place + 1),
                stddev: stream.variance(place..place + 1).sqrt(),
                total: stream.sum(0..place + 1),
                total_stddev: stream.variance(0..place + 1).sqrt(),
            }
        };
        let ticks = stream.ticks().iter().enumerate().skip(*first as usize);
        Content::Ticks { first: *first, ticks: ticks.map(stored).collect() }
    }

    fn read(_: i64) -> Result<NextTicks> {
        Ok(NextTicks::OthersStored)
    }
}

/// A tick as it was told.
pub(crate) type ToldTick = (i64, String, String, f64, f64, f64, f64);

/// The ticks of a stream from that one on, as far as `dp.stream_ticks` shows them to the current role
/// now: a draft to its owner alone, what was retracted to nobody.
pub(crate) fn told_since(stream: &Stream, dataset: &Dataset, first: i64) -> Result<Vec<ToldTick>> {
    let sql = format!(
        "SELECT t.n, t.lower_bound, t.upper_bound, t.count, t.stddev, t.total, t.total_stddev \
           FROM dp.stream_tick AS t JOIN dp.release AS r ON r.id = t.release \
          WHERE t.release = {} AND t.n >= {first} \
            AND (r.status = 'published' OR r.status = 'draft' AND {}) ORDER BY t.n",
        stream.release,
        acts_for(dataset.owner)
    );
    let mut ticks = Vec::new();
    read_catalog(&sql, |row| {
        let text = |column| row.get::<String>(column).unwrap_or_default();
        let number = |column| row.get::<f64>(column).unwrap_or_default();
        let n = row.get(1).unwrap_or_default();
        ticks.push((n, text(2), text(3), number(4), number(5), number(6), number(7)));
        Ok(())
    })?;
    Ok(ticks)
}
