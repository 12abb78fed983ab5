//! Tables that releases do not read themselves, as they lie elsewhere or are views: the dataset's
//! owner counts them, with rights of its own, into a table of leaves, and releases read that one.

use super::check::DATASET_OWNER;
use super::leaf_query::HISTOGRAM;
use super::one_region::no_region;
use super::part::Part;
use super::relation::Place;
use super::source::{Source, quoted};
use crate::pg::errors::{Result, error, internal, invalid};
use crate::pg::server::locality::is_of_citus;
use crate::pg::server::roles::{as_role, role_name};
use crate::pg::server::select::{as_of_now, extension_type, read_rows};
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
            hidden: None,
            group_key: vec![],
            hierarchy: self.hierarchy.clone(),
            size_column: Some(HISTOGRAM.to_string()),
            privacy_unit: self.privacy_unit.clone(),
            max_rows_per_unit: self.max_rows_per_unit,
            period: None,
            part: Part::default(),
        }
    }

    /// What has to hold of tables that are counted into that one. `self` is what is counted.
    ///
    /// Errors: they cannot be counted; the other one cannot hold the leaves.
    pub(super) fn check_counted_into(&self, leaves: Oid, owner: Oid) -> Result<()> {
        let into = Place::Here.open(leaves, "leaves")?;
        let (entities, groups) = (self.open_entities()?, self.open_groups()?);
        let mut read = [Some(&entities), groups.as_ref()].into_iter().flatten();
        read.try_for_each(|relation| relation.check_readable_by(owner, DATASET_OWNER))?;
        self.check_trusted_by(leaves, owner)?;
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
        self.check_has_sizes()?;
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

    /// Refuses tables of which another role decides what reading or writing them does: it happens
    /// with the rights of the dataset's owner. What a view reads counts, as a view is its owner's
    /// code, and what an empty table is can change.
    fn check_trusted_by(&self, leaves: Oid, owner: Oid) -> Result<()> {
        let tables = [("entities", Some(self.entities)), ("groups", self.groups)];
        for (argument, table) in tables.into_iter().chain([("leaves", Some(leaves))]) {
            let Some(table) = table else { continue };
            let sql = format!(
                "SELECT c.oid::regclass::text FROM dp.tables_behind({}) AS b \
                   JOIN pg_class AS c ON c.oid = b \
                  WHERE NOT pg_has_role(c.relowner, {}::oid, 'USAGE') ORDER BY 1 LIMIT 1",
                table.to_u32(),
                owner.to_u32()
            );
            let mut of_another: Option<String> = None;
            read_rows(&sql, |row| {
                of_another = row.get(1);
                Ok(())
            })?;
            if let Some(name) = of_another {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!(
                        "{argument}: {name} belongs to a role without the rights of {}",
                        role_name(owner)
                    ),
                )
                .set_hint(
                    "Leaves are counted with the rights of the dataset's owner, who has to own the \
                     tables, and what views read, or be a role that their owners are members of.",
                ));
            }
        }
        Ok(())
    }

    /// Counts, with the rights of the dataset's owner, and replaces what the other table holds,
    /// which stays locked against another count until the transaction ends. `unchanged` refuses
    /// tables that are not those that were declared.
    ///
    /// Errors: the transaction does not see what others commit; what is wrong with the tables, or
    /// has become so since they were declared; a group occurs twice.
    pub(super) fn count_into(
        &self,
        leaves: Oid,
        owner: Oid,
        unchanged: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if has_one_snapshot() {
            // rows that another count has written since would stay beside those of this one
            return Err(error(
                PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
                "leaves are counted in a transaction of isolation level READ COMMITTED",
            )
            .set_hint("BEGIN ISOLATION LEVEL READ COMMITTED, or CALL it without BEGIN."));
        }
        // locks, so that what is found from here on, by snapshots of then, stays so
        let into = Place::Here.open(leaves, "leaves")?.name;
        self.open_entities()?;
        self.open_groups()?;
        as_role(owner, || {
            run(&format!("LOCK TABLE {into} IN SHARE ROW EXCLUSIVE MODE"))?;
            let distributed = as_of_now(|| self.distributed())?;
            if !distributed.is_empty() {
                run(&format!("LOCK TABLE {} IN SHARE MODE", distributed.join(", ")))?;
            }
            unchanged()?;
            as_of_now(|| self.check_counted_into(leaves, owner))?;
            self.refill(&into, distributed.is_empty())
        })
    }

    /// `at_once`: whether a group that occurs twice is to be noticed by the statement that counts.
    fn refill(&self, into: &str, at_once: bool) -> Result<()> {
        run(&format!("DELETE FROM {into}"))?;
        if tells(&format!("SELECT EXISTS (SELECT FROM {into})"))? {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("leaves: {into} keeps rows that are deleted"),
            )
            .set_hint("What was counted before would count again: drop its rules and triggers."));
        }
        let columns = [quoted(&self.hierarchy), vec![HISTOGRAM.to_string()]].concat().join(", ");
        let count = format!("INSERT INTO {into} ({columns}) {}", self.leaf_query()?);
        let is_repeated = match as_of_now(|| self.repeated())? {
            Some(repeated) if at_once => {
                tells(&format!("WITH counted AS ({count}) SELECT EXISTS ({repeated})"))?
            }
            Some(repeated) => {
                run(&count)?;
                tells(&format!("SELECT EXISTS ({repeated})"))?
            }
            None => {
                run(&count)?;
                false
            }
        };
        // without a table of groups a row without a region counts nowhere
        let Some(groups) = self.open_groups()? else { return Ok(()) };
        if is_repeated {
            return Err(self.no_tree(&groups.name));
        }
        for (column, quoted) in self.hierarchy.iter().zip(quoted(&self.hierarchy)) {
            if tells(&format!("SELECT EXISTS (SELECT FROM {into} WHERE {quoted} IS NULL)"))? {
                return Err(no_region(column, &groups.name));
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

    /// The query that finds a group which occurs twice, whose entities would count twice; None where
    /// an index makes sure that there is none. It has to see what the count sees: it is part of the
    /// same statement, or the tables are locked.
    fn repeated(&self) -> Result<Option<String>> {
        let Some(groups) = self.open_groups()? else { return Ok(None) };
        if groups.has_unique_key(&self.group_key)? {
            return Ok(None);
        }
        Ok(Some(self.repeated_groups(&groups.name, &quoted(&self.group_key))))
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
