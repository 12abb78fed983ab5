//! Questions as users write them: PostgreSQL's range types, over bins or over time.

use super::varlena::with_varlena;
use crate::pg::errors::{Result, error, invalid};
use crate::ranges::{BinBounds, BoundsError};
use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Interval, Range, RangeBound, UnboxDatum};
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{FromDatum, IntoDatum};
use std::ffi::CStr;

/// A range of integers, `upper` not included; None is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BinRange {
    pub(crate) lower: Option<i64>,
    pub(crate) upper: Option<i64>,
}

impl BinRange {
    /// How an empty range is shown: it ends where it begins, at 0.
    pub(crate) const EMPTY: BinRange = BinRange { lower: Some(0), upper: Some(0) };
}

/// A value of int8range, daterange, tsrange or tstzrange, with its ends as the integers that
/// PostgreSQL stores: numbers, days or microseconds since 2000.
#[derive(Clone)]
pub(crate) struct SqlRange {
    /// What follows the varlena's header, to be returned beside the answer.
    stored: Vec<u8>,
    ends: Range<i64>,
}

impl SqlRange {
    /// Where it begins and ends, the end not included; None if it is empty.
    pub(crate) fn half_open(&self) -> Option<BinRange> {
        let (lower, upper) = self.ends.as_ref()?;
        let from = |bound: &RangeBound<i64>, closed: bool| {
            let value = *bound.get()?;
            Some(if bound.is_inclusive() == closed { value } else { value.saturating_add(1) })
        };
        Some(BinRange { lower: from(lower, true), upper: from(upper, false) })
    }

    /// Where a range of values of that type begins and ends, the end not included; None if it is
    /// empty. Infinity is no limit.
    pub(crate) fn finite_ends(&self, type_oid: Oid) -> Option<BinRange> {
        match type_oid {
            pg_sys::INT8OID => self.half_open(),
            _ => self.finite(type_oid),
        }
    }

    /// Where a range of times begins and ends; infinity is no limit, and no time.
    fn finite(&self, type_oid: Oid) -> Option<BinRange> {
        let (before_all, after_all) = match type_oid {
            pg_sys::DATEOID => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        };
        let (from, to) = self.ends.as_ref()?;
        let (from, to) = (from.get().copied(), to.get().copied());
        if from.is_some_and(|from| from >= after_all) || to.is_some_and(|to| to <= before_all) {
            return None;
        }
        let BinRange { lower, upper } = self.half_open()?;
        Some(BinRange {
            lower: lower.filter(|_| from.is_some_and(|from| from > before_all)),
            upper: upper.filter(|_| to.is_some_and(|to| to < after_all)),
        })
    }
}

/// The ends of a range as text: numbers, or times as ISO 8601 has them, those with a time zone in
/// UTC. None where there is no limit.
pub(crate) struct RangeEnds {
    pub(crate) lower: Option<String>,
    pub(crate) upper: Option<String>,
}

impl SqlRange {
    /// Of a range of values of that type: bigint, date, timestamp or timestamptz.
    pub(crate) fn ends(&self, type_oid: Oid) -> RangeEnds {
        let BinRange { lower, upper } = self.finite_ends(type_oid).unwrap_or(BinRange::EMPTY);
        let text = |end: i64| match type_oid {
            pg_sys::INT8OID => end.to_string(),
            _ => iso_text(end, type_oid),
        };
        RangeEnds { lower: lower.map(text), upper: upper.map(text) }
    }

    pub(crate) fn text(&self, type_oid: Oid) -> String {
        let RangeEnds { lower, upper } = self.ends(type_oid);
        let begin = if lower.is_some() { '[' } else { '(' };
        format!("{begin}{},{})", lower.unwrap_or_default(), upper.unwrap_or_default())
    }
}

/// What a hint adds where a local day may be no bin.
fn of_clocks(type_oid: Oid) -> &'static str {
    match type_oid {
        pg_sys::TIMESTAMPTZOID => {
            " A day of a timestamptz is 24 hours, also where clocks are changed: bins of '1 hour' fit."
        }
        _ => "",
    }
}

/// A date or time as PostgreSQL's JSON writes it, whatever the session's settings are.
fn iso_text(value: i64, type_oid: Oid) -> String {
    let utc: std::ffi::c_int = 0;
    // SAFETY: dates and times are passed by value; the text is a new one that ends with a zero.
    let text = unsafe {
        let zone =
            if type_oid == pg_sys::TIMESTAMPTZOID { &raw const utc } else { std::ptr::null() };
        let datum = pg_sys::Datum::from(value);
        CStr::from_ptr(pg_sys::JsonEncodeDateTime(std::ptr::null_mut(), datum, type_oid, zone))
    };
    text.to_string_lossy().into_owned()
}

impl FromDatum for SqlRange {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: Oid,
    ) -> Option<SqlRange> {
        if is_null {
            return None;
        }
        // SAFETY: PostgreSQL gives a datum of one of the four types that the SQL functions declare;
        // the ends of all of them are integers that are passed by value.
        unsafe {
            let stored = with_varlena(datum, <[u8]>::to_vec);
            Range::from_datum(datum, false).map(|ends| SqlRange { stored, ends })
        }
    }
}

impl IntoDatum for SqlRange {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        self.stored.into_datum()
    }

    fn type_oid() -> Oid {
        pg_sys::INT8RANGEOID
    }
}

// SAFETY: it is taken from the datum as `FromDatum` says.
unsafe impl UnboxDatum for SqlRange {
    type As<'src> = SqlRange;

    unsafe fn unbox<'src>(datum: Datum<'src>) -> SqlRange
    where
        SqlRange: 'src,
    {
        // SAFETY: the caller's promise: a datum of one of these types.
        unsafe { SqlRange::from_datum(datum.sans_lifetime(), false) }
            .expect("the datum is not NULL")
    }
}

// SAFETY: as above.
unsafe impl<'fcx> ArgAbi<'fcx> for SqlRange {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> SqlRange {
        // SAFETY: the caller's promise: an argument of one of these types.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("the argument is not NULL")
    }
}

// SAFETY: it is returned as the bytes that it was made of.
unsafe impl BoxRet for SqlRange {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        match self.into_datum() {
            // SAFETY: a value of the type that it came with, which the function returns.
            Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
            None => fcinfo.return_null(),
        }
    }
}

/// How values of a column become bins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    /// Integers are bins.
    Number,
    Time(TimeAxis),
}

/// Bin 0 begins at `origin`, microseconds since 2000; each bin is `width` microseconds wide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeAxis {
    /// Of the column: date, timestamp or timestamptz.
    pub(crate) type_oid: Oid,
    pub(crate) origin: i128,
    pub(crate) width: i128,
}

impl Axis {
    /// The type of its values; all integers count as bigint.
    pub(crate) fn type_oid(self) -> Oid {
        match self {
            Axis::Number => pg_sys::INT8OID,
            Axis::Time(axis) => axis.type_oid,
        }
    }

    /// The bin of a value as PostgreSQL stores it, the nearest one within the bounds. Infinite
    /// times are stored as the largest and smallest numbers.
    #[inline]
    pub(crate) fn bin(self, value: i64, bounds: BinBounds) -> i64 {
        const MICROSECONDS_PER_DAY: i128 = 86_400_000_000;
        let Axis::Time(TimeAxis { type_oid, origin, width }) = self else { return value };
        let time = match type_oid {
            pg_sys::DATEOID => i128::from(value) * MICROSECONDS_PER_DAY,
            _ => i128::from(value),
        };
        let first = origin + i128::from(bounds.lo()) * width;
        let last = origin + i128::from(bounds.hi()) * width - 1;
        // within the bounds, so it is an i64
        bounds.lo() + ((time.clamp(first, last) - first) / width) as i64
    }
}

/// What is asked about a column: the bins of each range, None for an empty one, within bounds.
pub(crate) struct Questions {
    pub(crate) axis: Axis,
    pub(crate) bins: Vec<Option<BinRange>>,
    pub(crate) bounds: BinBounds,
}

impl Questions {
    /// Questions about a column of integers. `argument`: that of the bounds.
    pub(crate) fn of_numbers(
        ranges: &[SqlRange],
        bounds: Option<&SqlRange>,
        argument: &str,
    ) -> Result<Questions> {
        let bins: Vec<_> = ranges.iter().map(SqlRange::half_open).collect();
        let bounds = match bounds {
            Some(bounds) => {
                let (lo, hi) = both_ends(bounds.half_open(), argument)?;
                named_bounds(argument, lo, hi)?
            }
            None => {
                let (lo, hi) = around(&bins, argument)?;
                let ranges = argument.replace("bounds", "ranges");
                named_bounds(&ranges, lo.saturating_sub(1), hi.saturating_add(1))?
            }
        };
        Ok(Questions { axis: Axis::Number, bins, bounds })
    }

    /// Questions about a column of that type: date, timestamp or timestamptz.
    pub(crate) fn of_times(
        type_oid: Oid,
        ranges: &[SqlRange],
        bounds: Option<&SqlRange>,
        bin_width: Interval,
    ) -> Result<Questions> {
        let width = fixed_width(bin_width)?;
        let unit = unit_of(type_oid);
        let times: Vec<_> = ranges.iter().map(|range| range.finite(type_oid)).collect();
        let given =
            bounds.map(|bounds| both_ends(bounds.finite(type_oid), "bounds")).transpose()?;
        let (start, end) = given.map_or_else(|| around(&times, "bounds"), Ok)?;
        let bin = |argument: &str, time: i64| {
            let since = (i128::from(time) - i128::from(start)) * unit;
            if since % width != 0 {
                return Err(invalid(
                    format!(
                        "{argument}: the end {} lies inside of a bin",
                        iso_text(time, type_oid)
                    ),
                    format!(
                        "Bins begin at the lower end of bounds, or else at the least end of the \
                         ranges. Choose ends that lie whole bins apart, or a smaller bin_width.{}",
                        of_clocks(type_oid)
                    ),
                ));
            }
            let bin = since / width;
            Ok(i64::try_from(bin).unwrap_or(if bin < 0 { i64::MIN } else { i64::MAX }))
        };
        let end_bin = |time: Option<i64>| time.map(|time| bin("ranges", time)).transpose();
        let bins = times.into_iter().map(|range| {
            let of = |range: BinRange| -> Result<BinRange> {
                Ok(BinRange { lower: end_bin(range.lower)?, upper: end_bin(range.upper)? })
            };
            range.map(of).transpose()
        });
        let bins = bins.collect::<Result<_>>()?;
        let bounds = match given {
            Some(_) => named_bounds("bounds", 0, bin("bounds", end)?)?,
            None => named_bounds("ranges", -1, bin("ranges", end)?.saturating_add(1))?,
        };
        let axis = TimeAxis { type_oid, origin: i128::from(start) * unit, width };
        Ok(Questions { axis: Axis::Time(axis), bins, bounds })
    }

    /// Which ranges are not empty and lie outside of the bounds, where all that lies around them has no
    /// bins of its own.
    pub(crate) fn outside(&self) -> impl Iterator<Item = usize> {
        let ranges = self.bins.iter().enumerate();
        ranges
            .filter(|(_, range)| range.is_some_and(|range| self.is_outside(range)))
            .map(|(n, _)| n)
    }

    /// Whether that range is empty, or outside of the bounds.
    pub(crate) fn has_no_row(&self, n: usize) -> bool {
        self.bins[n].is_none_or(|range| self.is_outside(range))
    }

    fn is_outside(&self, range: BinRange) -> bool {
        range.upper.is_some_and(|upper| upper <= self.bounds.lo())
            || range.lower.is_some_and(|lower| lower >= self.bounds.hi())
    }

    pub(crate) fn bounds_text(&self) -> String {
        match self.axis {
            Axis::Number => self.bounds.to_string(),
            Axis::Time(axis) => {
                let [lo, hi] = [self.bounds.lo(), self.bounds.hi()].map(|bin| axis.text(bin));
                format!("[{lo},{hi})")
            }
        }
    }
}

/// In microseconds.
fn fixed_width(bin_width: Interval) -> Result<i128> {
    let width = bin_width.micros() as i128 + i128::from(bin_width.days()) * MICROS_PER_DAY;
    if bin_width.months() != 0 || width <= 0 {
        return Err(invalid(
            format!("bin_width must be a positive interval without months, got {bin_width}"),
            "Months and years have no fixed length: use days, hours, minutes or seconds.",
        ));
    }
    Ok(width)
}

impl TimeAxis {
    /// Whether its bins are shorter than a minute.
    pub(crate) fn is_fine(&self) -> bool {
        self.width < 60_000_000
    }

    /// That of a stream of so many ticks, a bin each. `start`: where the first one begins, as
    /// PostgreSQL stores it.
    ///
    /// Errors: what is no width, or of a date no whole days; ticks that are no times any more.
    pub(crate) fn of_ticks(
        type_oid: Oid,
        start: i64,
        bin_width: Interval,
        horizon: i64,
    ) -> Result<TimeAxis> {
        // those that PostgreSQL takes for timestamps
        const TIMES: std::ops::RangeInclusive<i128> =
            -211_813_488_000_000_000..=9_223_371_331_199_999_999;
        let width = fixed_width(bin_width)?;
        let unit = unit_of(type_oid);
        if width % unit != 0 {
            return Err(invalid(
                "bin_width must be whole days for a column of dates",
                "Use days, or a column of type timestamp or timestamptz.",
            ));
        }
        if i64::try_from(width).is_err() {
            return Err(invalid(
                "bin_width must be less than 106751992 days",
                "Choose narrower bins.",
            ));
        }
        let origin = i128::from(start) * unit;
        if !TIMES.contains(&origin) {
            return Err(invalid(
                "start must be a time of the years from 4713 BC to 294276, and finite",
                "Tick 0 begins there.",
            ));
        }
        if !TIMES.contains(&(origin + i128::from(horizon) * width)) {
            return Err(invalid(
                format!("horizon: {horizon} ticks of that bin_width end after the year 294276"),
                "Choose narrower bins, or fewer.",
            ));
        }
        Ok(TimeAxis { type_oid, origin, width })
    }

    /// Where a tick begins, as text of the axis's type: see [`SqlRange::ends`].
    pub(crate) fn text(&self, tick: i64) -> String {
        let begin = (self.origin + i128::from(tick) * self.width) / unit_of(self.type_oid);
        // within the times of the type, as the axis was made
        iso_text(begin as i64, self.type_oid)
    }

    /// The ticks of a range, counted from the axis's origin on; None if it is empty.
    ///
    /// Error: it does not begin and end where ticks do.
    pub(crate) fn ticks(&self, range: &SqlRange) -> Result<Option<BinRange>> {
        let unit = unit_of(self.type_oid);
        let tick = |time: i64| {
            let since = i128::from(time) * unit - self.origin;
            if since % self.width != 0 {
                return Err(invalid(
                    format!(
                        "ranges: the end {} lies inside of a tick",
                        iso_text(time, self.type_oid)
                    ),
                    format!(
                        "dp.streams shows where a stream begins, and how wide its ticks are. Choose \
                         ends that lie whole ticks from its start.{}",
                        of_clocks(self.type_oid)
                    ),
                ));
            }
            let tick = since / self.width;
            Ok(i64::try_from(tick).unwrap_or(if tick < 0 { i64::MIN } else { i64::MAX }))
        };
        let ticks = |range: BinRange| {
            let [lower, upper] = [range.lower, range.upper].map(|end| end.map(tick).transpose());
            Ok(BinRange { lower: lower?, upper: upper? })
        };
        range.finite(self.type_oid).map(ticks).transpose()
    }

    /// How many of the first so many ticks have ended by then.
    pub(crate) fn ended(&self, now: i128, horizon: i64) -> i64 {
        let ended = (now - self.origin).div_euclid(self.width);
        ended.clamp(0, horizon.into()) as i64
    }
}

/// Of a value of the type, in microseconds.
fn unit_of(type_oid: Oid) -> i128 {
    if type_oid == pg_sys::DATEOID { MICROS_PER_DAY } else { 1 }
}

const MICROS_PER_DAY: i128 = 86_400_000_000;

/// Errors: it is empty, or lacks an end.
pub(crate) fn both_ends(bounds: Option<BinRange>, argument: &str) -> Result<(i64, i64)> {
    match bounds {
        Some(BinRange { lower: Some(lo), upper: Some(hi) }) => Ok((lo, hi)),
        Some(_) => Err(invalid(format!("{argument} must have two ends"), BOUNDS_HINT)),
        None => Err(invalid(format!("{argument} must not be empty"), BOUNDS_HINT)),
    }
}

const BOUNDS_HINT: &str = "They are public: choose them without looking, for ages '[0,100)'.";

/// The least and the greatest end of all ranges.
fn around(ranges: &[Option<BinRange>], argument: &str) -> Result<(i64, i64)> {
    let ends = || ranges.iter().flatten().flat_map(|range| [range.lower, range.upper]).flatten();
    ends().min().zip(ends().max()).ok_or_else(|| {
        invalid(
            format!("{argument} must be given where no range has an end"),
            "Without bounds, the bins are those from the least to the greatest end of the ranges. For a \
             count of all rows that have a value any bounds do, of integers '[0,1)': a row outside counts at \
             the nearer end.",
        )
    })
}

/// The bounds that the arguments `lo` and `hi` give.
pub(crate) fn checked_bounds(lo: i64, hi: i64) -> Result<BinBounds> {
    BinBounds::new(lo, hi).map_err(|problem| no_bounds("", problem))
}

/// The bounds that one argument gives, or what it asks for.
pub(crate) fn named_bounds(argument: &str, lo: i64, hi: i64) -> Result<BinBounds> {
    BinBounds::new(lo, hi).map_err(|problem| no_bounds(&format!("{argument}: "), problem))
}

fn no_bounds(of: &str, problem: BoundsError) -> ErrorReport {
    match problem {
        BoundsError::Empty { .. } => invalid(
            format!("{of}{problem}"),
            "The bins are lo, lo + 1, ..., hi - 1: for ages up to 99, lo is 0 and hi is 100.",
        ),
        BoundsError::TooMany { .. } => {
            error(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, format!("{of}{problem}"))
                .set_hint("Use wider bins, for example bin / 10, or closer bounds.")
        }
    }
}
