//! What has to hold of the tables and columns that a dataset declares.

use super::kinship::check_apart;
use super::one_region::no_region;
use super::relation::Relation;
use super::source::Source;
use crate::hierarchy::MAX_LEVELS;
use crate::pg::errors::{Result, error, invalid};
use crate::pg::server::roles::has_rights_of;
use crate::pg::server::select::{extension_type, read_rows};
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::collections::BTreeSet;

/// Which role has to be able to read all of a dataset's tables.
pub(super) const DATASET_OWNER: &str = "the dataset's owner";

impl Source {
    /// The role that reads: the owner of the private table, so that what may run when a table is
    /// read (output functions, expressions of indexes, constraints) runs with its own owner's
    /// rights, whoever owns the dataset. Locks the tables.
    ///
    /// Errors: the dataset's owner may not read the tables; the tables' owners do not trust each
    /// other.
    pub(crate) fn reader(&self, dataset_owner: Oid) -> Result<Oid> {
        let entities = self.open_entities()?;
        entities.check_readable_by(dataset_owner, DATASET_OWNER)?;
        entities.check_reached_by(entities.owner)?;
        entities.check_trusted_by(entities.owner, "entities")?;
        let others = [("groups", self.open_listed_groups()?), ("regions", self.open_regions()?)];
        for (argument, other) in others {
            let Some(other) = other else { continue };
            other.check_readable_by(dataset_owner, DATASET_OWNER)?;
            other.check_readable_by(entities.owner, "the owner of entities")?;
            other.check_reached_by(entities.owner)?;
            if !has_rights_of(other.owner, entities.owner) {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("{argument}: {} must have the owner of {}", other.name, entities.name),
                )
                .set_hint(
                    "Both are read with the rights of one role, the owner of entities: make a copy \
                     that is that role's.",
                ));
            }
            other.check_trusted_by(entities.owner, argument)?;
        }
        Ok(entities.owner)
    }

    /// What has to hold at every release, known from public rows alone: the columns can be used,
    /// every group of the public table lies in one region. `workers`: as of
    /// [`Source::prepare_leaves`].
    pub(crate) fn check(&self, workers: i32) -> Result<()> {
        self.check_columns()?;
        match (&self.groups, &self.hidden) {
            (Some(_), _) => self.check_tree(workers),
            (None, Some(_)) => self.check_hidden_groups(),
            (None, None) => Ok(()),
        }
    }

    /// Errors: the public table of regions lacks a column, holds NULL, or shares rows with a private
    /// table; no index makes sure that no group occurs twice.
    fn check_hidden_groups(&self) -> Result<()> {
        let (entities, listed) = (self.open_entities()?, self.open_listed_groups()?);
        if let Some(regions) = self.open_regions()? {
            check_apart(&entities, &regions, "regions")?;
            if let Some(listed) = &listed {
                check_apart(listed, &regions, "regions")?;
            }
            for column in &self.hierarchy {
                regions.column("hierarchy", column)?;
            }
            if let Some(column) = self.null_region(&regions)? {
                return Err(no_region(column, &regions.name));
            }
        }
        let Some(listed) = listed else { return Ok(()) };
        if listed.has_unique_key(&self.group_key)? {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("groups: {} is private and has no unique index on the group key", listed.name),
        )
        .set_hint(
            "A group that occurred twice would count its entities twice, and only private rows \
             would else tell: CREATE UNIQUE INDEX on the columns of group_key.",
        ))
    }

    /// Error: groups are private, of which that would tell the number.
    pub(crate) fn check_groups_public(&self, name: &str, hint: &str) -> Result<()> {
        if self.hidden.is_none() {
            return Ok(());
        }
        Err(invalid(format!("the groups of dataset \"{name}\" are private"), hint))
    }

    pub(super) fn check_columns(&self) -> Result<()> {
        let (entities, groups) = (self.open_entities()?, self.open_listed_groups()?);
        if let Some(groups) = &groups {
            check_apart(&entities, groups, "groups")?;
        }
        self.check_lists()?;
        let regions = groups.as_ref().unwrap_or(&entities);
        for column in &self.hierarchy {
            regions.column("hierarchy", column)?;
        }
        for column in &self.group_key {
            check_key(column, &entities, groups.as_ref())?;
        }
        self.check_size_column(&entities)?;
        self.check_privacy_unit(&entities)
    }

    /// How many columns there are in the lists, and that each is there once.
    fn check_lists(&self) -> Result<()> {
        if self.hierarchy.len() >= MAX_LEVELS {
            return Err(invalid(
                format!(
                    "hierarchy must have at most {} levels below the root, got {}",
                    MAX_LEVELS - 1,
                    self.hierarchy.len()
                ),
                "Leave out the levels that nobody asks for.",
            ));
        }
        if self.group_key.is_empty() && !self.rows_are_groups() {
            return Err(invalid(
                "group_key must name at least one column",
                "The group key tells which group an entity belongs to, for example \
                 '{household_id}'.",
            ));
        }
        for (argument, columns) in [("group_key", &self.group_key), ("hierarchy", &self.hierarchy)]
        {
            let distinct: BTreeSet<_> = columns.iter().collect();
            if distinct.len() < columns.len() {
                return Err(invalid(
                    format!("{argument} names a column twice"),
                    "Name each column once.",
                ));
            }
        }
        Ok(())
    }

    /// Whether a row stands for many groups.
    pub(super) fn has_histograms(&self, entities: &Relation) -> Result<bool> {
        let Some(column) = &self.size_column else { return Ok(false) };
        Ok(entities.column("size_column", column)?.value_family() == extension_type("coco")?)
    }

    /// Whether a row holds counts of values of many entities.
    pub(super) fn has_bins(&self, entities: &Relation) -> Result<bool> {
        let Some(column) = &self.size_column else { return Ok(false) };
        Ok(entities.column("size_column", column)?.value_family() == extension_type("bins")?)
    }

    /// Error: the rows tell of values, not of groups' sizes.
    pub(crate) fn check_has_sizes(&self) -> Result<()> {
        if !self.has_bins(&self.open_entities()?)? {
            return Ok(());
        }
        Err(invalid(
            "group sizes have no meaning for a dataset with a size_column of type bins",
            "Its rows hold counts of values, which dp_region_range_release releases.",
        ))
    }

    fn check_size_column(&self, entities: &Relation) -> Result<()> {
        let Some(column) = &self.size_column else { return Ok(()) };
        let family = entities.column("size_column", column)?.value_family();
        if self.hidden.is_some() && family != pg_sys::INT8OID {
            return Err(invalid(
                format!("size_column: column \"{column}\" is not of an integer type"),
                "Where groups are private each row counts one of them, or entities of one.",
            ));
        }
        if self.has_bins(entities)? {
            if self.groups.is_none() && !self.hierarchy.is_empty() {
                return Err(invalid(
                    format!(
                        "size_column: column \"{column}\" of type bins needs a table of groups, or \
                         an empty hierarchy"
                    ),
                    "Only private rows would else tell which regions there are: groups => '...', a \
                     public table with the region of each group.",
                ));
            }
        } else if self.has_histograms(entities)? {
            if self.groups.is_some() {
                return Err(invalid(
                    format!(
                        "size_column: column \"{column}\" of type coco has no meaning with a table \
                         of groups"
                    ),
                    "Its rows stand for many groups each, a row of that table for one.",
                ));
            }
        } else if family != pg_sys::INT8OID {
            return Err(invalid(
                format!("size_column: column \"{column}\" is not of an integer type, coco or bins"),
                "Use smallint, integer or bigint for the size of one group, coco for the \
                 histogram of many, bins for counts of values.",
            ));
        }
        Ok(())
    }

    fn check_privacy_unit(&self, entities: &Relation) -> Result<()> {
        let Some(column) = &self.privacy_unit else { return Ok(()) };
        if self.has_histograms(entities)? || self.has_bins(entities)? {
            return check_unit_of_histograms(column, entities);
        }
        entities.column("privacy_unit", column)?;
        if self.size_column.is_some() {
            return Err(invalid(
                "privacy_unit has no meaning with a size_column of integers",
                "A row that holds a whole group's size cannot be told apart by person.",
            ));
        }
        if self.groups.is_none() && self.hidden.is_none() {
            return Err(invalid(
                "privacy_unit needs a table of groups",
                "Which groups occur would else depend on the choice of a person's rows. Where that is \
                 private, too: groups_private => true.",
            ));
        }
        Ok(())
    }

    /// What identifies the relations and columns that are used: it changes when a table is dropped
    /// and created again, or a column is replaced or gets another type.
    pub(crate) fn fingerprint(&self) -> Result<String> {
        let of_entities = [&self.group_key[..], self.size_column.as_slice()].concat();
        let of_entities = [of_entities, self.privacy_unit.iter().cloned().collect()].concat();
        let period = self.period.iter().map(|(column, _)| column.clone());
        let of_entities = [of_entities, period.collect()].concat();
        let mut parts = match self.listed_groups() {
            Some(groups) => vec![
                (self.entities, of_entities),
                (groups, [&self.group_key[..], &self.hierarchy[..]].concat()),
            ],
            None => vec![(self.entities, [of_entities, self.hierarchy.clone()].concat())],
        };
        let regions = self.hidden.as_ref().and_then(|hidden| hidden.regions);
        parts.extend(regions.map(|regions| (regions, self.hierarchy.clone())));
        let mut fingerprint = String::new();
        for (relation, columns) in parts {
            let names: Vec<String> = columns.iter().map(pgrx::spi::quote_literal).collect();
            let sql = format!(
                "SELECT format('%s %s: %s; ', {0}, {0}::regclass, \
                               string_agg(format('%I %s %s %s %s', attname, attnum, atttypid, \
                                                 atttypmod, attcollation), \
                                          ', ' ORDER BY attnum)) \
                   FROM pg_attribute WHERE attrelid = {0} AND attnum > 0 AND NOT attisdropped \
                    AND attname::text = ANY (ARRAY[{1}]::text[])",
                relation.to_u32(),
                names.join(", ")
            );
            read_rows(&sql, |row| {
                fingerprint += &row.get::<String>(1).unwrap_or_default();
                Ok(())
            })?;
        }
        Ok(fingerprint)
    }
}

/// Histograms were made of rows of so many per unit at most, elsewhere: the column is not here. If it
/// is, a row is one unit's, and who counted has not left out what is beyond the bound.
fn check_unit_of_histograms(column: &str, entities: &Relation) -> Result<()> {
    if entities.column("privacy_unit", column).is_err() {
        return Ok(());
    }
    Err(invalid(
        format!(
            "privacy_unit: column \"{column}\" of {} is that of histograms, not of the rows that \
             they count",
            entities.name
        ),
        "Name the column of the counted rows, of which the query that counts uses max_rows_per_unit \
         per value, as that of dp_leaf_query does.",
    ))
}

/// A column of the key: one equality decides to which group an entity belongs.
fn check_key(column: &str, entities: &Relation, groups: Option<&Relation>) -> Result<()> {
    let in_entities = entities.column("group_key", column)?;
    if !in_entities.has_one_equality()? {
        return Err(invalid(
            format!("group_key: column \"{column}\" is of a type with an equality of its own"),
            "Use a type of PostgreSQL's own, such as text or bigint.",
        ));
    }
    if let Some(groups) = groups
        && !groups.column("group_key", column)?.matches(&in_entities)
    {
        return Err(invalid(
            format!(
                "group_key: column \"{column}\" differs in type or collation between {} and {}",
                entities.name, groups.name
            ),
            "One entity must belong to one group: give both columns the same type and collation.",
        ));
    }
    Ok(())
}
