//! What is known of a dataset without its private rows: when it is declared, and for those who ask
//! what a release would be like.

use super::names::too_long_name;
use super::source::{Source, label, not_null, quoted};
use super::tables::DatasetTables;
use crate::pg::errors::Result;
use crate::pg::server::roles::as_reader;
use crate::pg::server::select::{as_of_now, read_rows};
use crate::pg::server::state::workers_of_session;
use pgrx::pg_sys::Oid;

impl Source {
    /// Checks a declaration, and of what the source is counted, if it is. Returns the fingerprint of
    /// both as they are now.
    pub(crate) fn declare(&self, counted: Option<&Source>, owner: Oid) -> Result<String> {
        if let Some(counted) = counted {
            as_of_now(|| counted.check_counted_into(self.entities, owner))?;
        }
        let workers = workers_of_session();
        as_reader(self.reader(owner)?, || {
            as_of_now(|| {
                self.validate(workers)?;
                self.fingerprint_with(counted)
            })
        })
    }

    /// The fingerprint of the source and of what it is counted from.
    pub(super) fn fingerprint_with(&self, counted: Option<&Source>) -> Result<String> {
        let of_counted = counted.map(Source::fingerprint).transpose()?.unwrap_or_default();
        Ok(self.fingerprint()? + &of_counted)
    }

    /// Checks a declaration, as the reader. Its creator may read the tables: without a table of
    /// groups the check that every group lies in one region reads private rows.
    fn validate(&self, workers: i32) -> Result<()> {
        self.check(workers)?;
        if self.groups.is_none() && self.hidden.is_none() {
            self.check_tree(workers)?;
        }
        if self.has_bins(&self.open_entities()?)? {
            return self.known_regions(&DatasetTables::open(self)?).map(|_| ());
        }
        self.prepare_leaves(1, 0).map(|_| ())
    }

    /// Every leaf region's path with its public number of groups; None without a table of groups.
    pub(crate) fn groups_per_leaf(&self) -> Result<Option<Vec<(Vec<String>, u64)>>> {
        let Some(groups) = self.open_groups()? else { return Ok(None) };
        let groups = groups.name;
        let labels: Vec<String> = self.hierarchy.iter().map(|column| label(column)).collect();
        let sql = format!(
            "SELECT ARRAY[{}]::text[], count(*) FILTER (WHERE {}) FROM {groups} {}",
            labels.join(", "),
            not_null(&quoted(&self.group_key)),
            if labels.is_empty() { "" } else { "GROUP BY 1" }
        );
        let mut leaves = Vec::new();
        read_rows(&sql, |row| {
            let path: Vec<Option<String>> = row.get(1).unwrap_or_default();
            let path = path.into_iter().collect::<Option<_>>().ok_or_else(too_long_name)?;
            let groups: i64 = row.get(2).unwrap_or_default();
            leaves.push((path, groups.unsigned_abs()));
            Ok(())
        })?;
        Ok(Some(leaves))
    }
}
