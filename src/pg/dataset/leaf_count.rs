//! Tables that releases do not read themselves, as they lie elsewhere or are views: their owner
//! counts them, with rights of its own, into a table of leaves, and releases read that one.

use super::check::no_region;
use super::leaf_query::HISTOGRAM;
use super::relation::Place;
use super::source::{Source, quoted};
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::locality::is_of_citus;
use crate::pg::server::select::{extension_type, read_rows};
use crate::pg::server::state::has_one_snapshot;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

impl Source {
    /// What releases read, and what is counted into that: with a table of leaves, all that was
    /// declared.
    pub(crate) fn with_leaves(self, leaves: Option<Oid>) -> (Source, Option<Source>) {
        let Some(leaves) = leaves else { return (self, None) };
        let counted = Source { place: Place::Anywhere, ..self };
        (counted.counted_into(leaves), Some(counted))
    }

    fn counted_into(&self, leaves: Oid) -> Source {
        Source {
            place: Place::Here,
            entities: leaves,
            groups: None,
            group_key: vec![],
            hierarchy: self.hierarchy.clone(),
            size_column: Some(HISTOGRAM.to_string()),
            privacy_unit: self.privacy_unit.clone(),
            max_rows_per_unit: self.max_rows_per_unit,
        }
    }

    /// What has to hold of tables that are counted into that one. `self` is what is counted.
    ///
    /// Errors: they cannot be counted; the other one cannot hold the leaves.
    pub(super) fn check_counted_into(&self, leaves: Oid, owner: Oid) -> Result<()> {
        let into = Place::Here.open(leaves, "leaves")?;
        let (entities, groups) = (self.open_entities()?, self.open_groups()?);
        let mut read = [Some(&entities), groups.as_ref()].into_iter().flatten();
        read.try_for_each(|relation| relation.check_readable_by(owner))?;
        if [Some(self.entities), self.groups].contains(&Some(leaves)) {
            return Err(invalid(
                format!("leaves: {} is counted itself", into.name),
                "Create a table for the leaves, which dp_count_leaves fills.",
            ));
        }
        if !into.is_plain {
            return Err(invalid(
                format!("leaves: {} is no plain table", into.name),
                "dp_count_leaves writes it: create a table without partitions.",
            ));
        }
        self.check_columns()?;
        if into.column("leaves", HISTOGRAM)?.family() != extension_type("coco")?
            || self.hierarchy.iter().any(|column| column == HISTOGRAM)
        {
            return Err(invalid(
                format!("leaves: column \"{HISTOGRAM}\" of {} is not of type coco", into.name),
                "It holds the histograms; those of the hierarchy have other names.",
            ));
        }
        let regions = groups.as_ref().unwrap_or(&entities);
        for name in &self.hierarchy {
            let (from, to) = (regions.column("hierarchy", name)?, into.column("leaves", name)?);
            let fits = if from.equality_is_of_bytes() {
                from.family() == to.family()
            } else {
                to.family() == pg_sys::TEXTOID
            };
            if !fits || !to.equality_is_of_bytes() {
                return Err(invalid(
                    format!(
                        "leaves: column \"{name}\" of {} does not hold what that of {} does",
                        into.name, regions.name
                    ),
                    "Give it the same type; text, if values can be equal and print differently, as \
                     those of numeric and citext.",
                ));
            }
        }
        Ok(())
    }

    /// Counts, with the rights of the current role, and replaces what the other table holds, which
    /// stays locked against another count until the transaction ends.
    ///
    /// Errors: the transaction does not see what others commit; a group occurs twice.
    pub(super) fn count_into(&self, leaves: Oid) -> Result<()> {
        if has_one_snapshot() {
            // rows that another count has written since would stay beside those of this one
            return Err(error(
                PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
                "leaves are counted in a transaction of isolation level READ COMMITTED",
            )
            .set_hint("BEGIN ISOLATION LEVEL READ COMMITTED, or CALL it without BEGIN."));
        }
        let into = Place::Here.open(leaves, "leaves")?.name;
        let columns = [quoted(&self.hierarchy), vec![HISTOGRAM.to_string()]].concat().join(", ");
        let count = format!("INSERT INTO {into} ({columns}) {}", self.leaf_query()?);
        run(&format!("LOCK TABLE {into} IN SHARE ROW EXCLUSIVE MODE"))?;
        let distributed = self.distributed()?;
        if !distributed.is_empty() {
            run(&format!("LOCK TABLE {} IN SHARE MODE", distributed.join(", ")))?;
        }
        run(&format!("DELETE FROM {into}"))?;
        match self.repeated()? {
            None => run(&count)?,
            Some((groups, repeated)) => {
                let is_tree = if distributed.is_empty() {
                    !tells(&format!("WITH counted AS ({count}) SELECT EXISTS ({repeated})"))?
                } else {
                    run(&count)?;
                    !tells(&format!("SELECT EXISTS ({repeated})"))?
                };
                if !is_tree {
                    return Err(self.no_tree(&groups));
                }
            }
        }
        for (column, quoted) in self.hierarchy.iter().zip(quoted(&self.hierarchy)) {
            if tells(&format!("SELECT EXISTS (SELECT FROM {into} WHERE {quoted} IS NULL)"))? {
                return Err(no_region(column, "the table of groups"));
            }
        }
        Ok(())
    }

    /// The tables that Citus distributes: their shards are read under a snapshot each, so that a row
    /// which moves could be counted twice, if they were not locked.
    fn distributed(&self) -> Result<Vec<String>> {
        let mut distributed = Vec::new();
        for relation in [Some(self.entities), self.groups].into_iter().flatten() {
            let sql = format!(
                "SELECT b, b::regclass::text FROM dp.tables_behind({}) AS b",
                relation.to_u32()
            );
            read_rows(&sql, |row| {
                let name = row.get::<Oid>(1).filter(|behind| is_of_citus(*behind));
                distributed.extend(name.and_then(|_| row.get::<String>(2)));
                Ok(())
            })?;
        }
        Ok(distributed)
    }

    /// The table of groups, and the query that finds one that occurs twice, whose entities would
    /// count twice; None where an index makes sure. It has to see what the count sees: it is part of
    /// the same statement, or the tables are locked.
    fn repeated(&self) -> Result<Option<(String, String)>> {
        let Some(groups) = self.open_groups()? else { return Ok(None) };
        if groups.has_unique_key(&self.group_key)? {
            return Ok(None);
        }
        let repeated = self.repeated_groups(&groups.name, &quoted(&self.group_key));
        Ok(Some((groups.name, repeated)))
    }
}

/// With the rights of the current role.
fn run(sql: &str) -> Result<()> {
    Spi::run(sql).map_err(internal)
}

/// What a statement of one boolean tells, with the rights of the current role.
fn tells(sql: &str) -> Result<bool> {
    let told = Spi::connect_mut(|client| client.update(sql, None, &[])?.first().get_one::<bool>());
    Ok(told.map_err(internal)?.unwrap_or(false))
}
