//! `dp_hierarchy_consistent`: post-processing of a table of the caller's, with the caller's rights.

use super::release_rows::ReleaseRows;
use super::watch::Watch;
use crate::coco::DpCoco;
use crate::hierarchy::{
    Consistency, Consistent, NoisyRows, NoisyTable, NoisyTableError, path_text,
};
use crate::pg::dataset::stream::stream;
use crate::pg::errors::{Result, error, invalid, required};
use crate::pg::server::progress::{Function, Phase, Progress};
use crate::pg::server::select::read_rows;
use crate::pg::server::settings::threads;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_identifier;
use std::collections::BTreeMap;

/// The share of the squared distance that a solution which is not the best one must waste for the
/// caller to be told. Rounding to integers costs as much.
const NOTABLE_GAP: f64 = 1e-3;

#[pg_extern(stable, parallel_restricted)]
fn dp_hierarchy_consistent(
    source: Option<Oid>,
    consistency: Option<&str>,
    totals: Option<Oid>,
) -> Result<ReleaseRows> {
    let progress = Progress::start(Function::HierarchyConsistent, Phase::Reading);
    let source = CallerTable::named(required(source, "source")?, "source")?;
    let word = required(consistency, "consistency")?;
    let method = Consistency::parse(word).filter(|method| *method != Consistency::None);
    let method = method.ok_or_else(|| {
        let names = Consistency::ALL.map(Consistency::name);
        let others: Vec<&str> = names.into_iter().filter(|name| *name != "none").collect();
        invalid(
            format!("consistency: unknown word \"{word}\""),
            format!("Valid consistency methods: {}.", others.join(", ")),
        )
    })?;
    let totals = totals.map(|oid| CallerTable::named(oid, "totals")?.read_totals()).transpose()?;
    let counts = source.read_counts()?;
    let table = NoisyTable::new(counts, totals).map_err(|problem| {
        let code = match problem {
            NoisyTableError::TooManyCells { .. } => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            _ => PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        };
        error(code, problem.to_string()).set_hint(problem.hint())
    })?;
    let Some(table) = table else { return Ok(ReleaseRows(vec![])) };
    let mut watch = Watch::consistency(&progress, method, table.tree());
    let (tree, Consistent { histograms, gap }) = table.consistent(method, threads(), &mut watch);
    if gap > NOTABLE_GAP {
        warning!(
            "cumulative: weights this different are hard to fit; up to {:.1} % of the squared \
             distance could be saved",
            100.0 * gap
        );
    }
    let histograms = histograms.into_iter().map(DpCoco::new);
    Ok(ReleaseRows(tree.into_paths().zip(histograms).collect()))
}

/// A table, view or the like that the caller names, read with the caller's rights and search_path.
/// What the queries here use of PostgreSQL's own is qualified.
struct CallerTable {
    /// The argument that names it.
    argument: &'static str,
    /// Quoted, and qualified by the schema where it has to be.
    name: String,
    columns: Vec<CallerColumn>,
}

struct CallerColumn {
    name: String,
    /// A domain's is that of its base.
    type_oid: Oid,
    is_array: bool,
}

impl CallerTable {
    fn named(oid: Oid, argument: &'static str) -> Result<CallerTable> {
        let mut table = CallerTable { argument, name: String::new(), columns: vec![] };
        let sql = format!(
            "SELECT {0}::pg_catalog.regclass::pg_catalog.text, a.attname::pg_catalog.text, \
                    CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' \
                         THEN t.typbasetype ELSE t.oid END, \
                    t.typcategory OPERATOR(pg_catalog.=) 'A' \
               FROM pg_catalog.pg_attribute AS a \
               JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) a.atttypid \
              WHERE a.attrelid OPERATOR(pg_catalog.=) {0} \
                AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped",
            oid.to_u32()
        );
        read_rows(&sql, |row| {
            table.name = row.get(1).unwrap_or_default();
            table.columns.push(CallerColumn {
                name: row.get(2).unwrap_or_default(),
                type_oid: row.get(3).unwrap_or(Oid::INVALID),
                is_array: row.get(4).unwrap_or_default(),
            });
            Ok(())
        })?;
        if table.columns.is_empty() {
            return Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                format!("{argument}: the relation with OID {} has no columns", oid.to_u32()),
            )
            .set_hint("Name a table or view."));
        }
        Ok(table)
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|found| found.name == column)
    }

    fn column(&self, column: &str) -> Result<&CallerColumn> {
        self.columns.iter().find(|found| found.name == column).ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{}: column \"{column}\" of {} does not exist", self.argument, self.name),
            )
            .set_hint(match self.argument {
                "source" => "The columns are path text[], size, groups and, if known, variance.",
                _ => "The columns are path text[] and groups.",
            })
        })
    }

    fn mistyped(&self, column: &str, wanted: &str) -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            format!("{}: column \"{column}\" of {} must be {wanted}", self.argument, self.name),
        )
        .set_hint("Cast it in a view.")
    }

    /// The path of a row, NULL where it is an array of arrays.
    fn path_column(&self) -> Result<String> {
        if !self.column("path")?.is_array {
            return Err(self.mistyped("path", "an array of text"));
        }
        Ok("CASE WHEN pg_catalog.array_ndims(path) OPERATOR(pg_catalog.>) 1 THEN NULL \
                 ELSE path::pg_catalog.text[] END"
            .to_string())
    }

    /// A number of a row as float8; one that does not fit is infinite.
    fn number(&self, column: &str) -> Result<String> {
        let quoted = quote_identifier(column);
        match self.column(column)?.type_oid {
            pg_sys::INT2OID
            | pg_sys::INT4OID
            | pg_sys::INT8OID
            | pg_sys::FLOAT4OID
            | pg_sys::FLOAT8OID => Ok(format!("{quoted}::pg_catalog.float8")),
            pg_sys::NUMERICOID => Ok(format!(
                "CASE WHEN pg_catalog.abs({quoted}) OPERATOR(pg_catalog.>) 1e300 \
                       AND {quoted} OPERATOR(pg_catalog.<) 'Infinity' \
                      THEN 'Infinity' ELSE {quoted}::pg_catalog.float8 END"
            )),
            _ => Err(self.mistyped(column, "a number")),
        }
    }

    fn read_counts(&self) -> Result<NoisyRows> {
        let mut columns =
            [self.path_column()?, self.number("size")?, self.number("groups")?].to_vec();
        if self.has("variance") {
            columns.push(self.number("variance")?);
        }
        let mut rows = NoisyRows::new(self.has("variance"));
        // of the row before: mostly those of a region follow one another
        let (mut path_bytes, mut region) = (Vec::new(), None);
        stream(&format!("SELECT {} FROM {}", columns.join(", "), self.name), |row| {
            if rows.len() == NoisyRows::MOST {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    format!("source: {} has more than {} rows", self.name, NoisyRows::MOST),
                )
                .set_hint(
                    "Leave out regions or sizes, or make parts of it consistent one by one.",
                ));
            }
            let of_row = match region {
                Some(region) if row.has_all(0..1) && row.with_bytes(0, |b| *b == *path_bytes) => {
                    region
                }
                _ => {
                    // arrays that differ in their bounds are one path
                    let number = rows.region(self.path(row.get(0))?.into());
                    path_bytes = row.with_bytes(0, <[u8]>::to_vec);
                    *region.insert(number)
                }
            };
            let number = |column: usize, name: &str| {
                let path = || self.path(row.get(0));
                row.get::<f64>(column).map_or_else(|| Err(self.null(name, &path()?)), Ok)
            };
            let (size, groups) = (number(1, "size")?, number(2, "groups")?);
            let variance = if columns.len() > 3 { number(3, "variance")? } else { f64::NAN };
            rows.add(of_row, size, groups, variance);
            Ok(())
        })?;
        Ok(rows)
    }

    fn read_totals(&self) -> Result<BTreeMap<Vec<String>, f64>> {
        let (path, groups) = (self.path_column()?, self.number("groups")?);
        let mut totals = BTreeMap::new();
        read_rows(&format!("SELECT {path}, {groups} FROM {}", self.name), |row| {
            let path = self.path(row.get(1))?;
            let groups = row.get(2).ok_or_else(|| self.null("groups", &path))?;
            match totals.insert(path.clone(), groups) {
                None => Ok(()),
                Some(_) => Err(error(
                    PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION,
                    format!("{}: region {} occurs twice", self.argument, path_text(&path)),
                )
                .set_hint("Give one number of groups for each region.")),
            }
        })?;
        Ok(totals)
    }

    fn path(&self, path: Option<Vec<Option<String>>>) -> Result<Vec<String>> {
        let names = path.and_then(|path| path.into_iter().collect::<Option<Vec<String>>>());
        names.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "{}: a path of {} is NULL, holds NULL or is an array of arrays",
                    self.argument, self.name
                ),
            )
            .set_hint("The root's path is the empty array, '{}'.")
        })
    }

    fn null(&self, column: &str, path: &[String]) -> ErrorReport {
        error(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("{}: {column} is NULL in region {}", self.argument, path_text(path)),
        )
        .set_hint("Leave out what was not measured.")
    }
}
