//! Datasets as the catalog holds them, and who may use them.

use super::part::Part;
use super::relation::Place;
use super::source::{HiddenGroups, MOST_ROWS, Source};
use crate::bounds::Bounded;
use crate::pg::errors::{Result, error};
use crate::pg::ledger::account::{Account, ChargedPart, Promise};
use crate::pg::server::catalog::{execute, read_catalog};
use crate::pg::server::roles::{acts_for, as_reader, may_read_some};
use crate::pg::server::select::as_of_now;
use crate::pg::server::state::{DatabaseFiles, current_role, workers_of_session};
use crate::pg::values::bound::not_chosen;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use serde_json::{Map, Value};

/// A dataset that the current role may release from.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) owner: Oid,
    /// Whether the role that declared it is gone, or has another name: then a superuser is the owner.
    is_orphaned: bool,
    /// Those that the current role may use, its own first; none for the owner.
    grants: Vec<Grant>,
    /// What releases read.
    pub(crate) source: Source,
    /// The tables that its owner counts into that source's, where releases do not read them.
    pub(crate) counted: Option<Source>,
    /// Whether they were counted.
    has_leaves: bool,
    /// Where the bound on a unit's rows comes from.
    bound: RowsBound,
    /// Of all these tables, when they were declared or last confirmed.
    fingerprint: String,
    /// Whether that was in this database.
    is_of_here: bool,
}

/// What lets a role release that does not own the dataset.
#[derive(Debug)]
struct Grant {
    role: Oid,
    requires_name: bool,
}

/// Where the bound on a unit's rows comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsBound {
    Declared,
    /// By `dp_find_bound`.
    Chosen,
    /// It is still to be. Until then the source has the largest there is.
    Awaited,
}

impl Dataset {
    /// Looks a dataset up by name, for its owner or a role that it was granted to.
    ///
    /// Errors: it does not exist; the current role may not use it; how many rows of a unit are used is
    /// still to be chosen.
    pub(crate) fn open(name: &str) -> Result<Dataset> {
        Dataset::open_for(name, None)
    }

    /// The same, for a release of that name: one that is charged uses as many rows of a unit as it did
    /// then.
    pub(crate) fn open_for(name: &str, release: Option<&str>) -> Result<Dataset> {
        let dataset = Dataset::find(name, release)?.granted()?;
        dataset.check_bound()?;
        Ok(dataset)
    }

    /// The same where that is to be chosen, perhaps anew: what was chosen before is nothing of such a charge.
    pub(crate) fn open_awaiting(name: &str) -> Result<Dataset> {
        let mut dataset = Dataset::find(name, None)?.granted()?;
        if dataset.bound == RowsBound::Chosen {
            dataset.bound = RowsBound::Awaited;
        }
        Ok(dataset)
    }

    /// Error: the current role may not use it.
    fn granted(mut self) -> Result<Dataset> {
        if acts_for(self.owner) {
            return Ok(self);
        }
        let sql = format!(
            "SELECT grantee, require_name FROM dp.access \
              WHERE dataset = {} AND NOT revoked AND dp.role(grantee, grantee_name) = grantee \
              ORDER BY grantee <> {}, grantee",
            self.id,
            current_role().to_u32()
        );
        read_catalog(&sql, |row| {
            let role = row.get(1).unwrap_or(Oid::INVALID);
            let requires_name = row.get(2).unwrap_or(true);
            self.grants.push(Grant { role, requires_name });
            Ok(())
        })?;
        self.grants.retain(|grant| acts_for(grant.role));
        if self.grants.is_empty() {
            return Err(denied(&self.name, "Its owner can let your role release: dp_grant."));
        }
        Ok(self)
    }

    /// Error: how many rows of a unit are used is still to be chosen.
    fn check_bound(&self) -> Result<()> {
        match self.bound {
            RowsBound::Declared | RowsBound::Chosen => Ok(()),
            RowsBound::Awaited => Err(not_chosen(Bounded::Rows.word(), &self.name, None)),
        }
    }

    /// Whether the current role has the rights of its owner, and needs no grant.
    pub(crate) fn is_own(&self) -> bool {
        self.grants.is_empty()
    }

    /// Looks a dataset up by name, for its owner alone.
    pub(crate) fn open_as_owner(name: &str) -> Result<Dataset> {
        let dataset = Dataset::find(name, None)?;
        if acts_for(dataset.owner) {
            Ok(dataset)
        } else {
            Err(denied(name, "Only the dataset's owner and members of that role may do this."))
        }
    }

    fn find(name: &str, release: Option<&str>) -> Result<Dataset> {
        let sql = format!(
            "SELECT d.id, dp.role(d.owner, d.owner_name), d.entities, d.groups, d.group_key, \
                    d.hierarchy, d.size_column, d.privacy_unit, \
                    coalesce(d.max_rows_per_unit, {}, b.value::int), d.fingerprint, \
                    d.leaves, c.counted_at IS NOT NULL, d.period_column, d.period_type, \
                    d.groups_per_unit, d.regions, d.other_region, d.max_rows_per_unit IS NULL, \
                    pg_get_userbyid(d.owner) <> d.owner_name, d.database \
               FROM dp.dataset AS d LEFT JOIN dp.leaf_count AS c ON c.dataset = d.id \
               LEFT JOIN dp.chosen_bound AS b \
                      ON b.dataset = d.id AND b.bound = 'max_rows_per_unit' \
              WHERE d.name = {} AND d.dropped_at IS NULL",
            release.map_or("NULL".to_string(), rows_then),
            quote_literal(name)
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            let most_rows = row.get::<i32>(9);
            let bound = match (row.get(18).unwrap_or(true), most_rows) {
                (false, Some(_)) => RowsBound::Declared,
                (true, Some(_)) => RowsBound::Chosen,
                (_, None) => RowsBound::Awaited,
            };
            let most_rows = most_rows.unwrap_or(MOST_ROWS);
            // of groups that come and go with rows as many as rows are used
            let per_unit = row.get::<i32>(15).map(|groups| groups.min(most_rows));
            let listed = row.get::<Oid>(4);
            let declared = Source {
                place: Place::Here,
                entities: row.get(3).unwrap_or(Oid::INVALID),
                groups: listed.filter(|_| per_unit.is_none()),
                hidden: per_unit.map(|per_unit| HiddenGroups {
                    listed,
                    regions: row.get(16),
                    other: row.get(17),
                    per_unit: per_unit.unsigned_abs(),
                }),
                group_key: row.get(5).unwrap_or_default(),
                hierarchy: row.get(6).unwrap_or_default(),
                size_column: row.get(7),
                privacy_unit: row.get(8),
                max_rows_per_unit: most_rows,
                period: row.get(13).zip(row.get(14)),
                part: Part::default(),
            };
            let (source, counted) = declared.with_leaves(row.get(11));
            found = Some(Dataset {
                id: row.get(1).unwrap_or_default(),
                name: name.to_string(),
                owner: row.get(2).unwrap_or(Oid::INVALID),
                is_orphaned: row.get(19).unwrap_or(true),
                grants: Vec::new(),
                source,
                counted,
                has_leaves: row.get(12).unwrap_or(false),
                bound,
                fingerprint: row.get(10).unwrap_or_default(),
                is_of_here: row
                    .get::<String>(20)
                    .is_some_and(|text| DatabaseFiles::own().may_be(&text)),
            });
            Ok(())
        })?;
        found.ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                format!("dataset \"{name}\" does not exist"),
            )
            .set_hint("The view dp.datasets lists the datasets; dp_create_dataset makes one.")
        })
    }

    /// What a release by that function is charged to. `promise`: the name that it is stored under.
    /// `part`: what is charged by itself; None for all of the data. `about`: what the ledger's entry
    /// shows beside the mechanism.
    ///
    /// Error: the current role may make only releases with a name.
    pub(crate) fn account(
        &self,
        function: &'static str,
        promise: Option<Promise>,
        part: Option<ChargedPart>,
        mut about: Map<String, Value>,
    ) -> Result<Account> {
        self.check_is_itself()?;
        if self.bound == RowsBound::Chosen {
            about.insert("max_rows_per_unit".into(), self.source.max_rows_per_unit.into());
        }
        Ok(Account {
            dataset: self.id,
            dataset_name: self.name.clone(),
            grantee: self.grantee(promise.is_some())?,
            function,
            promise,
            part,
            about,
        })
    }

    /// The role whose grant such a release uses: the first that allows it. None for the owner.
    fn grantee(&self, is_named: bool) -> Result<Option<Oid>> {
        let allowing = self.grants.iter().find(|grant| is_named || !grant.requires_name);
        if allowing.is_none() && !self.grants.is_empty() {
            return Err(error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("your grant on dataset \"{}\" is for releases with a name", self.name),
            )
            .set_hint(
                "Nothing was spent. Ask with name => '...', so that nobody pays twice for the same \
                 answer; or ask the dataset's owner for dp_grant(..., require_name => false).",
            ));
        }
        Ok(allowing.map(|grant| grant.role))
    }

    /// The role that reads: see [`Source::reader`].
    fn reader(&self) -> Result<Oid> {
        self.check_is_itself()?;
        self.source.reader(self.owner)
    }

    /// Errors: it was declared in a database that this one is a copy of; its owner is gone, by whose
    /// rights it was. (A superuser who stands in may read everything.)
    fn check_is_itself(&self) -> Result<()> {
        if !self.is_of_here {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("dataset \"{}\" was declared in another database", self.name),
            )
            .set_hint(
                "Nothing was spent. This one is a copy of it, or was restored: what is released here \
                 is not taken off the budget there. Its owner confirms it with dp_confirm_dataset.",
            ));
        }
        if !self.is_orphaned {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "the owner of dataset \"{}\" was renamed or dropped, or has another number here",
                self.name
            ),
        )
        .set_hint("Nothing was spent. A superuser confirms the dataset: dp_confirm_dataset."))
    }

    /// Every leaf region's path with its public number of groups; None where only private rows
    /// tell.
    pub(crate) fn groups_per_leaf(&self) -> Result<Option<Vec<(Vec<String>, u64)>>> {
        as_reader(self.reader()?, || self.source.groups_per_leaf())
    }

    /// Refuses to store under the dataset's name what a caller has counted who cannot have counted
    /// its rows.
    pub(crate) fn check_may_count(&self, name: &str) -> Result<()> {
        if may_read_some(self.source.entities) {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!(
                "name: only who may read the private table of dataset \"{}\" may store what was \
                 counted elsewhere, got \"{name}\"",
                self.name
            ),
        )
        .set_hint(
            "Nothing was spent. dp_hierarchy_release, dp_range_sums and dp_rectangle_sums count \
             the rows.",
        ))
    }

    /// Refuses a source that is not what the owner declared any more, or whose public part is
    /// wrong. Reads public rows only, with the owner's rights; to be called before charging.
    /// Returns the role that reads.
    pub(crate) fn check_source(&self) -> Result<Oid> {
        if self.counted.is_some() && !self.has_leaves {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the leaves of dataset \"{}\" were not counted yet", self.name),
            )
            .set_hint("Its owner counts them: CALL dp_count_leaves."));
        }
        // locks the tables, so that what is found now holds for the reading
        let reader = self.reader()?;
        let workers = workers_of_session();
        as_reader(reader, || {
            self.check_unchanged()?;
            self.source.check_period()?;
            self.source.check(workers)
        })?;
        Ok(reader)
    }

    /// What a charge says of the part that is released; None for all of the data. To be called as the
    /// reader, after [`Dataset::check_source`].
    pub(crate) fn charged_part(&self) -> Result<Option<ChargedPart>> {
        self.source.charged_part(&self.fingerprint)
    }

    /// The same of a part that the caller says to have counted, who hands over what was counted: its
    /// region is that of the table of groups as it is now.
    ///
    /// Groups may have moved since the calling statement began: then it has counted the region as it
    /// was before. What an earlier statement has counted is for the caller to know.
    ///
    /// Errors: those of [`Dataset::check_source`]; no group lies in the region; groups have moved.
    pub(crate) fn counted_part(&self) -> Result<Option<ChargedPart>> {
        if self.source.part.is_all() {
            return Ok(None);
        }
        let (reader, part) = as_of_now(|| {
            let reader = self.check_source()?;
            let part = as_reader(reader, || {
                self.source.check_region()?;
                self.charged_part()
            })?;
            Ok::<_, ErrorReport>((reader, part))
        })?;
        let regions = as_reader(reader, || self.source.regions_digest())?;
        if part.as_ref().is_some_and(|part| part.regions != regions) {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "within: the table of groups was changed after this statement began to count",
            )
            .set_hint("Nothing was spent. Count again: groups may lie in other regions now."));
        }
        Ok(part)
    }

    /// Whether that is the fingerprint of the tables that were declared or last confirmed.
    pub(crate) fn is_unchanged(&self, fingerprint: &str) -> bool {
        self.fingerprint == fingerprint
    }

    fn check_unchanged(&self) -> Result<()> {
        let now = as_of_now(|| self.source.fingerprint_with(self.counted.as_ref()))?;
        if self.is_unchanged(&now) {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("the tables of dataset \"{}\" were changed", self.name),
        )
        .set_hint(
            "Its owner confirms with dp_confirm_dataset that it still means the same, or drops it.",
        ))
    }

    /// The numbers of the declared tables: of entities, of groups, of leaves, of regions.
    pub(crate) fn tables(&self) -> [Option<Oid>; 4] {
        let declared = self.counted.as_ref().unwrap_or(&self.source);
        let leaves = self.counted.as_ref().map(|_| self.source.entities);
        let regions = declared.hidden.as_ref().and_then(|hidden| hidden.regions);
        [Some(declared.entities), declared.listed_groups(), leaves, regions]
    }

    /// The declaration, with tables of these numbers in place of its own.
    pub(crate) fn with_tables(
        &self,
        [entities, groups, leaves, regions]: [Option<Oid>; 4],
    ) -> (Source, Option<Source>) {
        let mut declared = self.counted.as_ref().unwrap_or(&self.source).clone();
        declared.entities = entities.unwrap_or(Oid::INVALID);
        match &mut declared.hidden {
            Some(hidden) => (hidden.listed, hidden.regions) = (groups, regions),
            None => declared.groups = groups,
        }
        declared.with_leaves(leaves)
    }

    /// The query that counts the leaves of the declared tables.
    ///
    /// Errors: groups are private, which it would count as they are.
    pub(crate) fn leaf_query(&self) -> Result<String> {
        self.check_bound()?;
        self.source.check_groups_public(
            &self.name,
            "Their exact numbers are for releases alone: dp_hierarchy_release.",
        )?;
        self.counted.as_ref().unwrap_or(&self.source).leaf_query()
    }

    /// Counts the leaves, with the rights of the dataset's owner.
    ///
    /// Errors: the dataset has no table for them; the tables were changed; what is wrong with the
    /// tables.
    pub(crate) fn count_leaves(&self) -> Result<()> {
        let Some(counted) = &self.counted else {
            return Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("releases of dataset \"{}\" count its rows themselves", self.name),
            )
            .set_hint("Leaves are counted for datasets that were declared with leaves => '...'."));
        };
        self.check_is_itself()?;
        counted.count_into(self.source.entities, self.owner, || self.check_unchanged())?;
        execute(
            "INSERT INTO dp.leaf_count (dataset, counted_at, counted_by) \
             VALUES ($1, clock_timestamp(), pg_get_userbyid($2)) \
             ON CONFLICT (dataset) DO UPDATE \
                SET counted_at = excluded.counted_at, counted_by = excluded.counted_by",
            &[self.id.into(), current_role().into()],
            |_| Ok(()),
        )?;
        Ok(())
    }
}

/// As an expression over `dp.dataset AS d`: how many rows of a unit the release of that name uses, NULL
/// where none is charged or the number was declared.
fn rows_then(release: &str) -> String {
    format!(
        "(SELECT (c.parameters ->> {})::int FROM dp.release AS r \
            JOIN dp.charge AS c ON c.id = r.charge \
           WHERE r.dataset = d.id AND r.name = {})",
        quote_literal(Bounded::Rows.word()),
        quote_literal(release)
    )
}

fn denied(name: &str, hint: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied for dataset \"{name}\""),
    )
    .set_hint(hint)
}
