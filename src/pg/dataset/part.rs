//! The part of a dataset that a release reads and is charged for: a region's subtree, a range of
//! periods. What makes the charges to parts that share no row cost what one costs is in
//! [`scopes`](crate::privacy::Scopes); here is seen to what that rests on: a release reads rows of
//! its part alone, and its charge says by what rows are told apart.
//!
//! Rows of a unit can lie in several parts, so where there is a privacy unit each charge counts
//! everywhere.

use super::catalog::Dataset;
use super::relation::Relation;
use super::source::{Source, comparable, label, quoted};
use crate::hierarchy::path_text;
use crate::pg::errors::{Result, all_required, error, internal, invalid, required};
use crate::pg::ledger::account::ChargedPart;
use crate::pg::server::select::read_rows;
use crate::pg::values::interval::{BinRange, RangeEnds, SqlRange};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use serde_json::{Map, Value};

/// All of the data by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// A region's path.
    pub(crate) within: Vec<String>,
    period: Option<PeriodRange>,
}

/// A range of the period column's values, with an end at least.
#[derive(Debug, Clone)]
struct PeriodRange {
    /// As PostgreSQL stores them.
    ends: BinRange,
    /// As text of the column's type.
    lower: Option<String>,
    upper: Option<String>,
}

impl PeriodRange {
    fn text(&self) -> String {
        let end = |end: &Option<String>| end.clone().unwrap_or_default();
        format!("[{},{})", end(&self.lower), end(&self.upper))
    }
}

/// The types of periods: as they are called, and their ranges.
const TYPES: [(Oid, &str, &str); 4] = [
    (pg_sys::INT8OID, "int8", "int8range"),
    (pg_sys::DATEOID, "date", "daterange"),
    (pg_sys::TIMESTAMPOID, "timestamp", "tsrange"),
    (pg_sys::TIMESTAMPTZOID, "timestamptz", "tstzrange"),
];

/// The longest path of a region that a part can be of, in bytes: the ledger keeps it.
const LONGEST_PATH: usize = 2000;

impl Part {
    pub(crate) fn is_all(&self) -> bool {
        self.within.is_empty() && self.period.is_none()
    }

    /// What the ledger's entry shows, and a name is asked for with.
    pub(crate) fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        if !self.within.is_empty() {
            about.insert("within".into(), self.within.clone().into());
        }
        if let Some(period) = &self.period {
            about.insert("period".into(), period.text().into());
        }
        about
    }

    /// For messages.
    fn shown(&self) -> String {
        let region = (!self.within.is_empty()).then(|| path_text(&self.within));
        let period = self.period.as_ref().map(|period| format!("period {}", period.text()));
        region.into_iter().chain(period).collect::<Vec<_>>().join(" in ")
    }
}

impl Dataset {
    /// The same, of which that part is released.
    ///
    /// Errors: the dataset has no such region's level, no period column; a range that is empty; its
    /// rows are not what is hidden.
    pub(crate) fn of_part(
        mut self,
        within: Option<Vec<Option<String>>>,
        period: Option<&str>,
    ) -> Result<Dataset> {
        let within = all_required(required(within, "within")?, "within")?;
        let levels = self.source.hierarchy.len();
        if within.len() > levels {
            return Err(invalid(
                format!(
                    "within: {} has {} names, and the dataset {levels} levels below the root",
                    path_text(&within),
                    within.len()
                ),
                "Name a region by its path, from the top level down, such as '{Ohio}'.",
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
        if !part.is_all() && (self.source.size_column.is_some() || self.counted.is_some()) {
            return Err(invalid(
                "within and period have no meaning for a dataset with size_column or leaves",
                "They are for datasets whose rows are the entities.",
            ));
        }
        self.source.part = part;
        Ok(self)
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
        let mut given: Option<SqlRange> = None;
        let sql = format!("SELECT {}::pg_catalog.{range}", quote_literal(period));
        read_rows(&sql, |row| {
            given = row.get(1);
            Ok(())
        })?;
        let given = given.ok_or_else(|| internal("a range was not read"))?;
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

impl Source {
    /// The type of a column of periods.
    ///
    /// Errors: there is no such column, or it is of none of the types; rows are groups.
    pub(crate) fn period_type(&self, column: &str) -> Result<&'static str> {
        if self.size_column.is_some() {
            return Err(invalid(
                "period_column has no meaning with size_column or leaves",
                "Periods tell rows apart that are the entities.",
            ));
        }
        let family = self.open_entities()?.column("period_column", column)?.family();
        let of_type = TYPES.iter().find(|(of_type, ..)| *of_type == family);
        of_type.map(|(_, name, _)| *name).ok_or_else(|| {
            invalid(
                format!(
                    "period_column: column \"{column}\" is not of an integer type, date, timestamp \
                     or timestamptz"
                ),
                "Store a column that says to which period a row belongs.",
            )
        })
    }

    /// What a charge says of the part; None where it is all of the data, or counts everywhere. As
    /// the reader, under the snapshot under which rows will be read.
    ///
    /// Errors: the tables are not fit for parts.
    pub(crate) fn charged_part(&self, fingerprint: &str) -> Result<Option<ChargedPart>> {
        let Part { within, period } = &self.part;
        if self.part.is_all() {
            return Ok(None);
        }
        let entities = self.open_entities()?;
        if entities.is_materialized {
            return Err(invalid(
                format!(
                    "within and period: {} is a materialized view, of which no part can be charged \
                     by itself",
                    entities.name
                ),
                "Each REFRESH may move its rows elsewhere. Declare a dataset on a table.",
            ));
        }
        if let Some((column, kind)) = &self.period
            && self.period_type(column)? != kind
        {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("period: column \"{column}\" was declared as {kind}, which it is not now"),
            )
            .set_hint("Nothing was spent. Declare the dataset anew."));
        }
        if self.privacy_unit.is_some() {
            return Ok(None);
        }
        let ends = period.as_ref().map(|period| period.ends);
        Ok(Some(ChargedPart {
            within: within.clone(),
            lower: ends.and_then(|ends| ends.lower),
            upper: ends.and_then(|ends| ends.upper),
            period: period.as_ref().map(PeriodRange::text),
            tables: digest(&quote_literal(fingerprint))?,
            regions: self.regions_digest()?,
            shown: self.part.shown(),
        }))
    }

    /// Which region each group lies in, all in one number; None where it does not matter.
    ///
    /// Names of regions are compared as they are printed, keys as their type compares them: a sum
    /// of hashes of 64 bits by two different seeds.
    fn regions_digest(&self) -> Result<Option<String>> {
        if self.part.within.is_empty() {
            return Ok(None);
        }
        let Some(groups) = self.open_groups()? else {
            // the row's own columns, which are among the tables' digest
            return Ok(Some("of rows".to_string()));
        };
        let labels = self.hierarchy.iter().map(|column| label(column));
        let columns: Vec<String> = labels.chain(quoted(&self.group_key)).collect();
        let columns = columns.join(", ");
        let sum = |seed: u32| {
            format!(
                "coalesce(pg_catalog.sum(pg_catalog.hash_record_extended(ROW({columns}), {seed}) \
                                         ::pg_catalog.numeric), 0)::pg_catalog.text"
            )
        };
        digest(&format!(
            "(SELECT pg_catalog.concat_ws(' ', pg_catalog.count(*), {}, {}) FROM {})",
            sum(1),
            sum(2),
            groups.name
        ))
        .map(Some)
    }

    /// What decides whether a row of the private table is in the part, if that is not the case for
    /// each: by its own columns.
    pub(super) fn own_conditions(&self) -> Vec<String> {
        let mut conditions = Vec::new();
        if self.groups.is_none() {
            conditions.extend(self.is_within());
        }
        if let (Some(period), Some((column, kind))) = (&self.part.period, &self.period) {
            let column = quote_identifier(column);
            let mut compared = |operator: &str, end: &Option<String>| {
                let end = end.as_ref().map(quote_literal);
                conditions.extend(end.map(|end| {
                    format!("{column} OPERATOR(pg_catalog.{operator}) {end}::pg_catalog.{kind}")
                }));
            };
            compared(">=", &period.lower);
            compared("<", &period.upper);
        }
        conditions
    }

    /// What decides it by the group that a row belongs to.
    pub(super) fn condition_of_groups(&self, groups: Option<&Relation>) -> Vec<String> {
        let Some(groups) = groups.filter(|_| !self.part.within.is_empty()) else { return vec![] };
        let key = quoted(&self.group_key);
        let (listed, short) = (key.join(", "), comparable(&key));
        vec![
            short.clone(),
            format!(
                "({listed}) IN (SELECT {listed} FROM {} WHERE {short} AND {})",
                groups.name,
                self.is_within().join(" AND ")
            ),
        ]
    }

    /// The rows of the table of groups that are in the part.
    pub(super) fn groups_within(&self, groups: &Relation) -> String {
        if self.part.within.is_empty() {
            return groups.name.clone();
        }
        format!("(SELECT * FROM {} WHERE {}) AS w", groups.name, self.is_within().join(" AND "))
    }

    fn is_within(&self) -> Vec<String> {
        let names = self.hierarchy.iter().zip(&self.part.within);
        names.map(|(column, name)| format!("{} = {}", label(column), quote_literal(name))).collect()
    }

    /// Error: no group of the public table lies there.
    pub(super) fn no_such_region(&self, groups: &Relation) -> Result<()> {
        Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!(
                "within: {} has no group in region {}",
                groups.name,
                path_text(&self.part.within)
            ),
        )
        .set_hint("Nothing was spent. Name a region by its path, as releases show it."))
    }

    /// Where there is a table of groups: whether it has one in the region.
    pub(super) fn check_region(&self) -> Result<()> {
        let Some(groups) = self.open_groups()?.filter(|_| !self.part.within.is_empty()) else {
            return Ok(());
        };
        let mut any = false;
        read_rows(&format!("SELECT FROM {} LIMIT 1", self.groups_within(&groups)), |_| {
            any = true;
            Ok(())
        })?;
        if any { Ok(()) } else { self.no_such_region(&groups) }
    }
}

/// What some text hashes to.
fn digest(text: &str) -> Result<String> {
    let sql = format!(
        "SELECT pg_catalog.left(pg_catalog.encode(pg_catalog.sha256( \
             pg_catalog.convert_to({text}, 'UTF8')), 'hex'), 32)"
    );
    let mut digest = None;
    read_rows(&sql, |row| {
        digest = row.get(1);
        Ok(())
    })?;
    digest.ok_or_else(|| internal("a text was not hashed"))
}
