//! What a charge says of the part of the data that a release reads. What makes the charges to parts
//! that share no row cost what one costs is in [`scopes`](crate::privacy::Scopes); here is seen to
//! what that rests on: by what rows are told apart. That a release reads rows of its part alone is
//! seen to by [`Source`].
//!
//! Rows of a unit can lie in several parts, so where there is a privacy unit each charge counts
//! everywhere.

use super::part::{Part, PeriodRange, TYPES};
use super::relation::Relation;
use super::source::{Source, label, quoted};
use crate::hierarchy::path_text;
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::ledger::account::ChargedPart;
use crate::pg::server::select::read_rows;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;

impl Source {
    /// The type of a column of periods.
    ///
    /// Errors: there is no such column, or it is of none of the types; rows are groups, or regions.
    pub(crate) fn period_type(&self, column: &str) -> Result<&'static str> {
        if self.size_column.is_some() && self.groups.is_none() {
            return Err(invalid(
                "period_column has no meaning with leaves, nor with size_column without groups",
                "Periods tell entities apart, or rows that count some of a group's. Which groups \
                 there are in a period would be told without noise: groups => '...', a public table.",
            ));
        }
        let family = self.open_entities()?.column("period_column", column)?.value_family();
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

    /// Error: a part is asked for, and the column of periods is not what was declared any more. By
    /// it charges of before were told apart.
    pub(super) fn check_period(&self) -> Result<()> {
        let Some((column, kind)) = self.period.as_ref().filter(|_| !self.part.is_all()) else {
            return Ok(());
        };
        let found = self.open_entities()?.column("period_column", column).ok();
        let now = found.and_then(|found| {
            TYPES
                .iter()
                .find(|(of_type, ..)| *of_type == found.value_family())
                .map(|(_, name, _)| *name)
        });
        if now == Some(kind.as_str()) {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("period: column \"{column}\" was declared as {kind}, which it is not now"),
        )
        .set_hint(
            "Nothing was spent. Give the column its name and type back, or declare the dataset anew.",
        ))
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
        self.check_period()?;
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

    /// Which region each group lies in, as one hash; None where it does not matter.
    ///
    /// That of the rows' hashes, in their order, by their first bytes, so that none of the lists is
    /// too long for a value. Sums of hashes would do for tables that come about by chance, but not
    /// for those that somebody looks for who may write the table: with 1,280 groups to choose from
    /// it took seconds to find some that can all move while two sums of 64 bits stay (Wagner 2002,
    /// "A generalized birthday problem").
    pub(super) fn regions_digest(&self) -> Result<Option<String>> {
        let Some(groups) = self.open_groups()?.filter(|_| !self.part.within.is_empty()) else {
            return Ok(None);
        };
        let labels = self.hierarchy.iter().map(|column| label(column));
        let columns: Vec<String> = labels.chain(quoted(&self.group_key)).collect();
        let hash = |text: &str| {
            format!("pg_catalog.sha256(pg_catalog.convert_to({text}::pg_catalog.text, 'UTF8'))")
        };
        digest(&format!(
            "coalesce((SELECT pg_catalog.string_agg(list, NULL ORDER BY list) FROM \
                 (SELECT pg_catalog.substr(hash, 1, 1) OPERATOR(pg_catalog.||) pg_catalog.sha256( \
                             pg_catalog.string_agg(hash, NULL ORDER BY hash)) AS list \
                    FROM (SELECT {} AS hash FROM {}) AS h \
                   GROUP BY pg_catalog.substr(hash, 1, 1)) AS l), '')::pg_catalog.text",
            hash(&format!("ROW({})", columns.join(", "))),
            groups.name
        ))
        .map(Some)
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
    pub(crate) fn check_region(&self) -> Result<()> {
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
        "SELECT pg_catalog.encode(pg_catalog.sha256( \
             pg_catalog.convert_to({text}, 'UTF8')), 'hex')"
    );
    let mut digest = None;
    read_rows(&sql, |row| {
        digest = row.get(1);
        Ok(())
    })?;
    digest.ok_or_else(|| internal("a text was not hashed"))
}
