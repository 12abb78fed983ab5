//! `dp_hierarchy_consistent`: post-processing of a table of the caller's, with the caller's rights.

use super::errors::{Result, error, invalid, required};
use super::hierarchy::rows;
use super::session::read_rows;
use crate::coco::DpCoco;
use crate::hierarchy::{
    Consistency, Consistent, NoisyTable, NoisyTableError, RegionRows, path_text,
};
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
) -> Result<
    TableIterator<
        'static,
        (name!(level, i32), name!(path, Vec<String>), name!(size, i64), name!(groups, i64)),
    >,
> {
    let source = Table::named(required(source, "source")?, "source")?;
    let word = required(consistency, "consistency")?;
    let method = Consistency::parse(word).filter(|method| *method != Consistency::None);
    let method = method.ok_or_else(|| {
        let words = Consistency::WORDS.map(|(word, _)| word);
        let others: Vec<&str> = words.into_iter().filter(|word| *word != "none").collect();
        invalid(
            format!("consistency: unknown word \"{word}\""),
            format!("Valid consistency methods: {}.", others.join(", ")),
        )
    })?;
    let totals = totals.map(|oid| Table::named(oid, "totals")?.read_totals()).transpose()?;
    let table = NoisyTable::new(source.read_counts()?, totals).map_err(|problem| {
        let code = match problem {
            NoisyTableError::TooManyCells { .. } => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            _ => PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        };
        error(code, problem.to_string()).set_hint(problem.hint())
    })?;
    let Some(table) = table else { return Ok(rows(vec![])) };
    let Consistent { histograms, gap } = table.consistent(method, &mut || {
        pgrx::check_for_interrupts!();
    });
    if gap > NOTABLE_GAP {
        warning!(
            "cumulative: weights this different are hard to fit; up to {:.1} % of the squared \
             distance could be saved",
            100.0 * gap
        );
    }
    let paths = table.tree().regions().iter().map(|region| region.path.clone());
    Ok(rows(paths.zip(histograms.into_iter().map(DpCoco::new)).collect()))
}

/// A table, view or the like that the caller names.
struct Table {
    /// The argument that names it.
    argument: &'static str,
    /// Quoted, and qualified by the schema.
    name: String,
    /// Names and type categories of its columns.
    columns: Vec<(String, String)>,
}

impl Table {
    fn named(oid: Oid, argument: &'static str) -> Result<Table> {
        let mut table = Table { argument, name: String::new(), columns: vec![] };
        let sql = format!(
            "SELECT {0}::regclass::text, a.attname::text, t.typcategory::text \
               FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid \
              WHERE a.attrelid = {0} AND a.attnum > 0 AND NOT a.attisdropped",
            oid.to_u32()
        );
        read_rows(&sql, |row| {
            table.name = row.get(1).unwrap_or_default();
            table.columns.push((row.get(2).unwrap_or_default(), row.get(3).unwrap_or_default()));
            Ok(())
        })?;
        Ok(table)
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| name == column)
    }

    /// A column as an expression of a type, if it is of one of that type's category.
    fn column(&self, column: &str, category: &str, cast_to: &str) -> Result<String> {
        let Some((_, found)) = self.columns.iter().find(|(name, _)| name == column) else {
            return Err(error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{}: column \"{column}\" of {} does not exist", self.argument, self.name),
            )
            .set_hint(match self.argument {
                "source" => {
                    "The columns are path text[], size bigint, groups and, if known, variance."
                }
                _ => "The columns are path text[] and groups.",
            }));
        };
        if found != category {
            return Err(error(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "{}: column \"{column}\" of {} must be {}",
                    self.argument,
                    self.name,
                    if category == "A" { "an array of text" } else { "a number" }
                ),
            )
            .set_hint(format!("It is read as {cast_to}.")));
        }
        Ok(format!("{}::{cast_to}", quote_identifier(column)))
    }

    /// One row of the result per region: few, and short to hand over.
    fn read_counts(&self) -> Result<BTreeMap<Vec<String>, RegionRows>> {
        let path = self.column("path", "A", "text[]")?;
        let size = self.column("size", "N", "float8")?;
        let groups = self.column("groups", "N", "float8")?;
        let variance = match self.has("variance") {
            true => format!("array_agg({})", self.column("variance", "N", "float8")?),
            false => "NULL::float8[]".to_string(),
        };
        let sql = format!(
            "SELECT {path}, array_agg({size}), array_agg({groups}), {variance} FROM {} GROUP BY 1",
            self.name
        );
        let mut regions = BTreeMap::new();
        read_rows(&sql, |row| {
            pgrx::check_for_interrupts!();
            let path = self.path(row.get(1))?;
            let complete = |column: &str, values: Vec<Option<f64>>| {
                values
                    .into_iter()
                    .collect::<Option<Vec<f64>>>()
                    .ok_or_else(|| self.null(column, &path))
            };
            let rows = RegionRows {
                sizes: complete("size", row.get(2).unwrap_or_default())?,
                groups: complete("groups", row.get(3).unwrap_or_default())?,
                variances: row.get(4).map(|values| complete("variance", values)).transpose()?,
            };
            regions.insert(path, rows);
            Ok(())
        })?;
        Ok(regions)
    }

    fn read_totals(&self) -> Result<BTreeMap<Vec<String>, f64>> {
        let path = self.column("path", "A", "text[]")?;
        let groups = self.column("groups", "N", "float8")?;
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
                format!("{}: a path of {} is NULL or holds NULL", self.argument, self.name),
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
