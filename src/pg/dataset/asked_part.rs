//! The part of a dataset that a caller asks for.

use super::catalog::Dataset;
use super::part::{Part, PeriodRange, TYPES};
use crate::hierarchy::path_text;
use crate::pg::errors::{Result, all_required, error, internal, invalid, required};
use crate::pg::ledger::account::OpenPeriod;
use crate::pg::server::select::read_rows;
use crate::pg::values::interval::{BinRange, RangeEnds, SqlRange};
use pgrx::pg_sys::panic::CaughtError;
use pgrx::spi::quote_literal;
use pgrx::{PgSqlErrorCode, PgTryBuilder};
use std::panic::AssertUnwindSafe;

/// The longest path of a region that a part can be of, in bytes: the ledger keeps it.
const LONGEST_PATH: usize = 2000;

impl Dataset {
    /// The same, of which that part is released.
    ///
    /// Errors: the dataset has no such region's level, no period column, no table of groups; a range
    /// that is empty; its rows are not what is hidden.
    pub(crate) fn of_part(
        mut self,
        within: Option<Vec<Option<String>>>,
        period: Option<&str>,
    ) -> Result<Dataset> {
        let within = all_required(required(within, "within")?, "within")?;
        let levels = self.source.hierarchy.len();
        if !within.is_empty() || period.is_some() {
            self.source.check_groups_public(
                &self.name,
                "Which of them lie in a part is private, too: within and period need public groups.",
            )?;
        }
        if within.len() > levels {
            let hint = match levels {
                0 => "Its hierarchy is empty: there is the root alone, so leave within out.",
                _ => "Name a region by its path, from the top level down, such as '{Ohio}'.",
            };
            return Err(invalid(
                format!(
                    "within: {} has {} names, and the dataset {levels} levels below the root",
                    path_text(&within),
                    within.len()
                ),
                hint,
            ));
        }
        if within.iter().map(String::len).sum::<usize>() > LONGEST_PATH {
            return Err(invalid(
                format!("within: the names take more than {LONGEST_PATH} bytes"),
                "Nothing was spent.",
            ));
        }
        let period = period.map(|period| self.period(period)).transpose()?.flatten();
        let part = Part { within, period };
        if !part.is_all() && self.counted.is_some() {
            return Err(invalid(
                "within and period have no meaning for a dataset with leaves",
                "They are for datasets whose rows are the entities, or count those of a group.",
            ));
        }
        if !part.within.is_empty() && self.source.groups.is_none() {
            return Err(invalid(
                format!("within: dataset \"{}\" has no table of groups", self.name),
                "Without one private rows alone tell which regions there are, and their names can \
                 change. Declare the dataset with groups => '...', a public table.",
            ));
        }
        self.source.part = part;
        Ok(self)
    }

    /// Error: periods of the dataset cannot have budgets or limits of their own, which `argument`
    /// asks for.
    pub(crate) fn check_periods(&self, argument: &str) -> Result<()> {
        if self.source.privacy_unit.is_some() {
            return Err(invalid(
                format!("{argument}: dataset \"{}\" has a privacy_unit", self.name),
                "A unit's rows can lie in several periods, so that each charge counts in all of them. \
                 The dataset has one budget.",
            ));
        }
        if self.source.period.is_none() {
            return Err(invalid(
                format!("{argument}: dataset \"{}\" has no period column", self.name),
                "Declare it with dp_create_dataset(..., period_column => '...').",
            ));
        }
        Ok(())
    }

    /// A period that can have a budget of its own.
    ///
    /// Errors: those of [`check_periods`](Self::check_periods); a range that is empty, or lacks an end.
    pub(crate) fn period_to_open(&self, period: &str) -> Result<OpenPeriod> {
        self.check_periods("period")?;
        let Some(range) = self.period(period)? else {
            return Err(invalid(
                format!("period must have an end, got {period:.100}"),
                "All of the data have the dataset's budget. Such as '[2026-01-01,2026-04-01)', the end \
                 not included.",
            ));
        };
        let text = range.text();
        // it stays for ever, and no later period could be opened
        if range.ends.lower.is_none() || range.ends.upper.is_none() {
            return Err(invalid(
                format!("period must have both ends, got {text}"),
                "An opened period stays, and no other may overlap it. Such as \
                 '[2026-01-01,2026-04-01)', the end not included.",
            ));
        }
        Ok(OpenPeriod { lower: range.ends.lower, upper: range.ends.upper, text })
    }

    /// Error: a period is asked for, and no table says which groups there are.
    pub(crate) fn check_groups_listed(&self) -> Result<()> {
        if self.source.groups.is_some() {
            return Ok(());
        }
        // that groups occur at all is what their owner declared public, not when
        Err(invalid(
            format!("period: dataset \"{}\" has no table of groups", self.name),
            "Which groups there are in a period would be told without noise. Declare the dataset \
             with groups => '...', a public table.",
        ))
    }

    /// None for a range without an end.
    fn period(&self, period: &str) -> Result<Option<PeriodRange>> {
        let Some((_, kind)) = &self.source.period else {
            return Err(invalid(
                format!("period: dataset \"{}\" has no period column", self.name),
                "Declare it with dp_create_dataset(..., period_column => '...').",
            ));
        };
        let of_type = TYPES.iter().find(|(_, name, _)| name == kind);
        let &(type_oid, _, range) = of_type.ok_or_else(|| internal("a period of no type"))?;
        let given = read_range(period, range)?;
        let ends = given.finite_ends(type_oid).filter(|ends| match (ends.lower, ends.upper) {
            (Some(lower), Some(upper)) => lower < upper,
            _ => true,
        });
        let Some(ends) = ends else {
            return Err(invalid(
                format!("period must not be empty, got {period:.100}"),
                "Such as '[2026-01-01,2026-04-01)', the end not included.",
            ));
        };
        let RangeEnds { lower, upper } = given.ends(type_oid);
        let is_all = ends == BinRange { lower: None, upper: None };
        Ok((!is_all).then_some(PeriodRange { ends, lower, upper }))
    }
}

/// Refuses a part of what is of no dataset.
pub(crate) fn check_no_part(within: Option<&[Option<String>]>, period: Option<&str>) -> Result<()> {
    if within.is_some_and(<[_]>::is_empty) && period.is_none() {
        return Ok(());
    }
    Err(invalid(
        "within and period have no meaning without a dataset",
        "They say of which part of a dataset the rows are that were counted, and that is charged: \
         dataset => '...'.",
    ))
}

/// The value of that type of ranges that is written so.
///
/// Error: none is.
fn read_range(period: &str, range: &str) -> Result<SqlRange> {
    let sql = format!("SELECT {}::pg_catalog.{range}", quote_literal(period));
    let mut given: Option<SqlRange> = None;
    let read = || {
        read_rows(&sql, |row| {
            given = row.get(1);
            Ok(())
        })
    };
    // Only PostgreSQL knows which texts are ranges. It does not know what they were written for.
    PgTryBuilder::new(AssertUnwindSafe(read))
        .catch_others(|caught| match caught {
            CaughtError::PostgresError(report) if is_data_exception(report.sql_error_code()) => {
                Err(error(
                    report.sql_error_code(),
                    format!("period: {:.200}, for {range}", report.message()),
                )
                .set_hint("Such as '[2026-01-01,2026-04-01)', in the type of period_column."))
            }
            caught => caught.rethrow(),
        })
        .execute()?;
    given.ok_or_else(|| internal("a range was not read"))
}

/// Whether it is of class 22, of values that are none.
fn is_data_exception(code: PgSqlErrorCode) -> bool {
    // five characters of six bits, of which the first are the lowest
    let class = |code: PgSqlErrorCode| code as i32 & 0xfff;
    class(code) == class(PgSqlErrorCode::ERRCODE_DATA_EXCEPTION)
}
