//! Where a dataset's private rows lie, as its owner declares it, and the parts of queries that
//! follow from that. What has to hold of it: `check`, `one_region`; how the rows are read: `leaf_reading`,
//! `bin_reading`; how they are counted where releases cannot read them: `leaf_count`.

use super::part::Part;
use super::relation::{Place, Relation};
use crate::bounds::Bounded;
use crate::pg::errors::Result;
use pgrx::pg_sys::Oid;
use pgrx::spi::{quote_identifier, quote_literal};
use std::collections::BTreeSet;

/// The most rows of a unit that may be declared.
pub(crate) const MOST_ROWS: i32 = Bounded::MOST_ROWS as i32;

/// The tables and columns that a dataset declares.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Where the two tables may lie.
    pub(crate) place: Place,
    /// The private table.
    pub(crate) entities: Oid,
    /// The public table of groups, one row per group; rows with a NULL key declare a region only.
    pub(crate) groups: Option<Oid>,
    /// Where groups are private, too; then there is no public table of them.
    pub(crate) hidden: Option<HiddenGroups>,
    pub(crate) group_key: Vec<String>,
    /// From the top level below the root down to the leaf.
    pub(crate) hierarchy: Vec<String>,
    /// `entities` has one row per group, with the group's size in this column, or, where it is of
    /// type coco, one row for many groups.
    pub(crate) size_column: Option<String>,
    /// The column of `entities` that tells whose a row is; None where each row is its own unit. Of
    /// histograms, the column of the rows that were counted.
    pub(crate) privacy_unit: Option<String>,
    /// How many rows of one unit are used.
    pub(crate) max_rows_per_unit: i32,
    /// The column of `entities` that tells to which period a row belongs, and its type.
    pub(crate) period: Option<(String, String)>,
    /// What is read.
    pub(crate) part: Part,
}

/// Groups whose number is private.
#[derive(Debug, Clone)]
pub(crate) struct HiddenGroups {
    /// The private table of groups, one row per group; None where the groups are those that occur.
    pub(crate) listed: Option<Oid>,
    /// The public table of leaf regions; None where the root is the only one.
    pub(crate) regions: Option<Oid>,
    /// The name of a region beside those, for all that are not there; None where their rows count
    /// nowhere.
    pub(crate) other: Option<String>,
    /// How many groups appear or vanish with a unit of privacy at most.
    pub(crate) per_unit: u32,
}

impl Source {
    pub(super) fn open_entities(&self) -> Result<Relation> {
        self.place.open(self.entities, "entities")
    }

    pub(super) fn open_groups(&self) -> Result<Option<Relation>> {
        self.groups.map(|oid| self.place.open(oid, "groups")).transpose()
    }

    /// The table of groups, public or private.
    pub(crate) fn listed_groups(&self) -> Option<Oid> {
        self.groups.or_else(|| self.hidden.as_ref()?.listed)
    }

    pub(super) fn open_listed_groups(&self) -> Result<Option<Relation>> {
        self.listed_groups().map(|oid| self.place.open(oid, "groups")).transpose()
    }

    /// The public table of regions, where groups are private.
    pub(super) fn open_regions(&self) -> Result<Option<Relation>> {
        let regions = self.hidden.as_ref().and_then(|hidden| hidden.regions);
        regions.map(|oid| self.place.open(oid, "regions")).transpose()
    }

    /// How many groups appear or vanish with a unit of privacy at most; None where they are public.
    pub(crate) fn groups_per_unit(&self) -> Option<u32> {
        self.hidden.as_ref().map(|hidden| hidden.per_unit)
    }

    /// Whether a row is a group, or several, whatever its key.
    pub(crate) fn rows_are_groups(&self) -> bool {
        self.listed_groups().is_none() && self.size_column.is_some()
    }

    /// How many entities a group has, in a query that groups the private table by key. Sums of
    /// sizes saturate.
    pub(super) fn entities_of_group(&self) -> String {
        match &self.size_column {
            None => "pg_catalog.count(*)".to_string(),
            Some(column) => format!(
                "least(pg_catalog.sum(greatest({}::bigint, 0)), {})::bigint",
                quote_identifier(column),
                i64::MAX
            ),
        }
    }

    /// The rows of the private table that count: all of the part that is read, or of each unit of
    /// privacy so many, chosen at random, afresh for each release. A row without a unit is nobody's
    /// and is left out. With a table of groups it takes that to tell in which region a row lies.
    ///
    /// Each row's rank must depend on no other unit's rows, or a unit would have an influence
    /// beyond its own rows. So the order is that of independent draws from the operating system's
    /// generator (gen_random_uuid), not of random(), which a caller can seed.
    pub(crate) fn used_rows(&self, entities: &str, columns: &[String]) -> String {
        self.rows_where(entities, columns, self.own_conditions())
    }

    /// The same, of those that meet the conditions.
    pub(super) fn rows_where(
        &self,
        entities: &str,
        columns: &[String],
        mut conditions: Vec<String>,
    ) -> String {
        let Some(unit) = &self.privacy_unit else {
            if conditions.is_empty() {
                return entities.to_string();
            }
            return format!("(SELECT * FROM {entities} WHERE {}) AS u", conditions.join(" AND "));
        };
        conditions.push(comparable(&[quote_identifier(unit)]));
        let unit = quote_identifier(unit);
        format!(
            "(SELECT * FROM (SELECT {}, pg_catalog.row_number() OVER (PARTITION BY {unit} \
                                                           ORDER BY pg_catalog.gen_random_uuid()) AS {RANK} \
                               FROM {entities} WHERE {unit} IS NOT NULL AND {}) AS r \
              WHERE {RANK} <= {}) AS u",
            columns.join(", "),
            conditions.join(" AND "),
            self.max_rows_per_unit
        )
    }

    /// What decides whether a row of the private table is in the part, if that is not the case for
    /// each: by its own columns.
    pub(super) fn own_conditions(&self) -> Vec<String> {
        let mut conditions = Vec::new();
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
}

/// The name of a region, as its column prints it; NULL where that is too long.
pub(crate) fn label(column: &str) -> String {
    format!("dp.region_name({}) COLLATE \"C\"", quote_identifier(column))
}

/// The name of the rank of a row among its unit's, such as no column has.
pub(super) const RANK: &str = "\"rank (pg_dp)\"";

pub(crate) fn quoted(columns: &[String]) -> Vec<String> {
    columns.iter().map(quote_identifier).collect()
}

/// The quoted columns of both lists, each once.
pub(crate) fn distinct(a: &[String], b: &[String]) -> Vec<String> {
    a.iter().chain(b).collect::<BTreeSet<_>>().into_iter().map(quote_identifier).collect()
}

/// Whether values are short enough to be compared whatever they are, which else could fail on a
/// row.
pub(crate) fn comparable(columns: &[String]) -> String {
    let conditions: Vec<String> = columns.iter().map(|c| format!("dp.is_short({c})")).collect();
    conditions.join(" AND ")
}

pub(crate) fn not_null(columns: &[String]) -> String {
    let conditions: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    if conditions.is_empty() { "true".to_string() } else { conditions.join(" AND ") }
}
